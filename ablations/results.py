"""What a run leaves behind: run.json, metrics.csv, outputs/ and, last of all, result.json.

The schema is that of `reports.rows`; everything is written through it.
"""

import csv
import math
import platform
import subprocess
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pandas as pd
from lightning.pytorch.loggers.logger import Logger
from lightning.pytorch.utilities import rank_zero_only

from ablations.study import Run
from reports.rows import METRICS_COLUMNS, SCHEMA, write_json

VERSIONED = ("transformer-ablations", "torch", "lightning", "torchmetrics", "sacrebleu", "sentencepiece", "numpy")


@dataclass(frozen=True)
class Metric:
    """One measured number."""

    split: str
    metric: str
    coordinate: str
    value: float

    @classmethod
    def from_key(cls, key: str, value: float) -> "Metric":
        """Take apart the key of a logged value: `split/metric` or `split/metric@coordinate`."""
        split, _, rest = key.partition("/")
        metric, _, coordinate = rest.partition("@")
        return cls(split, metric, coordinate, value)

    def as_dict(self) -> dict[str, Any]:
        """For JSON, where a value that is no number is null."""
        value = self.value if math.isfinite(self.value) else None
        return {"split": self.split, "metric": self.metric, "coordinate": self.coordinate, "value": value}


class MetricsCsv(Logger):
    """Lightning logger that appends to `metrics.csv` in long form, one number a row, and holds no file open.

    A `new` one begins with the header alone.
    """

    def __init__(self, path: Path, *, new: bool) -> None:
        super().__init__()
        self.path = path
        if new:
            with path.open("w", newline="", encoding="utf-8") as file:
                csv.writer(file).writerow(METRICS_COLUMNS)

    @property
    def name(self) -> str:
        """Name that lightning shows."""
        return "metrics"

    @property
    def version(self) -> str:
        """A run's folder is its version."""
        return ""

    @rank_zero_only
    def log_hyperparams(self, params: dict[str, Any] | Namespace, *args: Any, **kwargs: Any) -> None:
        """Nothing: run.json holds the configuration."""

    @rank_zero_only
    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        """Append a row for each value, with the number of optimiser steps that it comes after."""
        rows = [Metric.from_key(key, float(value)) for key, value in metrics.items() if key != "epoch"]
        with self.path.open("a", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(
                [int(step or 0), row.split, row.metric, row.coordinate, repr(row.value)] for row in rows
            )


@dataclass
class Result:
    """What a run ends with."""

    status: str
    reason: str | None = None
    metrics: list[Metric] = field(default_factory=list)
    signatures: dict[str, str] = field(default_factory=dict)
    cost: dict[str, float | None] = field(default_factory=dict)
    device: str = "cpu"
    notes: Sequence[str] = ()
    """What a reader should know of the data, one line each."""
    references: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Floors, ceilings and oracles by metric and name."""
    log: str | None = None
    """The end of the run's log, where it has failed."""


def now() -> str:
    """Time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def signature(run: Run, commit: str | None) -> str:
    """One line that makes a number traceable: study, variant, seed, steps, data, versions, commit."""
    installed = versions()
    parts = {
        "study": run.study,
        "experiment": run.experiment,
        "variant": run.variant,
        "seed": run.seed,
        "steps": run.settings.train.steps,
        "data": run.settings.fingerprint,
        "torch": installed["torch"],
        "version": installed["transformer-ablations"],
        "commit": (commit or "none")[:8],
        "id": run.id,
    }
    return "|".join(f"{name}:{value}" for name, value in parts.items())


def write_run(run: Run, folder: Path, commit: str | None) -> None:
    """Write run.json: the resolved configuration and the signature."""
    config = {**run.settings.as_dict(), "seed": run.seed, "data": run.settings.fingerprint}
    write_json(
        folder / "run.json",
        {
            "schema": SCHEMA,
            "id": run.id,
            "study": run.study,
            "experiment": run.experiment,
            "variant": run.variant,
            "seed": run.seed,
            "comparison": run.comparison,
            "config": config,
            "signature": signature(run, commit),
        },
    )


def write_result(run: Run, folder: Path, result: Result, started: str, commit: str | None) -> None:
    """Write result.json, atomically; nothing is written into a run's folder after it."""
    write_json(
        folder / "result.json",
        {
            "schema": SCHEMA,
            "id": run.id,
            "status": result.status,
            "reason": result.reason,
            "log": result.log,
            "notes": list(result.notes),
            "references": {metric: dict(levels) for metric, levels in result.references.items()},
            "metrics": [metric.as_dict() for metric in result.metrics],
            "signatures": result.signatures,
            "cost": result.cost,
            "versions": versions(),
            "commit": commit,
            "host": platform.node(),
            "device": result.device,
            "started": started,
            "ended": now(),
        },
    )


def write_table(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write per-item outputs as a gzipped CSV whose bytes depend on the rows alone; nothing where there are none."""
    if rows:
        path.parent.mkdir(parents=True, exist_ok=True)
        # text is quoted: a carriage return inside of it would end the row
        packed = {"method": "gzip", "mtime": 0}
        pd.DataFrame(rows).to_csv(path, index=False, quoting=csv.QUOTE_NONNUMERIC, compression=packed)


def versions() -> dict[str, str]:
    """Installed versions of what decides a number."""
    found = {"python": platform.python_version()}
    for name in VERSIONED:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def current_commit() -> str | None:
    """Commit of the checkout that this file lies in, `-dirty` where files differ from it; None outside a checkout."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        described = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    except FileNotFoundError:  # no git on this machine
        return None
    return described.stdout.strip() or None
