"""Results of record as small as they can be, written as `ablations record` writes them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from reports.fairness import COLUMNS
from reports.pages.exports import CLAIM_COLUMNS, csv_text

Rows = Sequence[Mapping[str, Any]]

COUNTS = {"n_seeds": 3, "planned": 3, "completed": 3, "diverged": 0}
BASE_COUNTS = {"base_planned": 3, "base_completed": 3, "base_diverged": 0}


def effect(experiment: str, variant: str, metric: str, difference: float, **more: Any) -> dict[str, Any]:
    """A row of effects.csv; the interval is a half to either side."""
    return {
        "experiment": experiment,
        "variant": variant,
        "metric": metric,
        "split": "test",
        "base": "base",
        "difference": difference,
        "low": difference - 0.5,
        "high": difference + 0.5,
        "all_equal": False,
        "successes": 3,
        "successes_low": 0.29,
        "scope": "seeds",
        **COUNTS,
        **BASE_COUNTS,
        **more,
    }


def fair(variant: str, metric: str, comparison: str, verdict: str, **more: Any) -> dict[str, Any]:
    """A row of fairness.csv of the experiment `german`."""
    return {
        "experiment": "german",
        "metric": metric,
        "variant": variant,
        "comparison": comparison,
        "is_base": variant == "base",
        "verdict": verdict,
        "changed": False,
        "reason": "",
        "settings": "",
        "difference": 1.0,
        "value": 0.5,
        "n_seeds": 3,
        **more,
    }


def condition(name: str, number: int, outcome: str, **more: Any) -> dict[str, Any]:
    """A row of claims.csv."""
    return {
        "id": name,
        "section": "A section (1:00)",
        "kind": "speed",
        "experiment": "next",
        "statement": "It | is so.",
        "outcome": outcome,
        "reason": "",
        "provisional": False,
        "condition": number,
        "condition_text": "Accuracy",
        "condition_value": 0.5,
        "condition_low": 0.25,
        "condition_high": 0.75,
        "condition_region": "at least 0.2",
        "condition_outcome": outcome,
        "condition_n": "3 of 3 seeds",
        **more,
    }


def write_record(
    root: Path,
    study: str,
    *,
    effects: Rows = (),
    claims: Rows = (),
    fairness: Rows = (),
    values: Rows = (),
    **facts: Any,
) -> Path:
    """The folder of a record; tables without rows are left out."""
    folder = root / study
    folder.mkdir(parents=True)
    said = {"command": f"ablations run {study}", "runs": 12, "diverged": 0, "seeds": [3]}
    times = {"wall_seconds": 600, "busy_seconds": 1200.5}
    (folder / "record.json").write_text(json.dumps({**said, **times, **facts}), encoding="utf-8")
    if claims:
        (folder / "claims.csv").write_text(csv_text(pd.DataFrame(list(claims), columns=list(CLAIM_COLUMNS))), "utf-8")
    if effects:
        (folder / "effects.csv").write_text(csv_text(pd.DataFrame(list(effects))), "utf-8")
    if fairness:
        (folder / "fairness.csv").write_text(csv_text(pd.DataFrame(list(fairness), columns=list(COLUMNS))), "utf-8")
    if values:
        pd.DataFrame(list(values)).to_csv(folder / "metrics.csv.gz", index=False)
    return folder
