"""The files beside the page: CSV of everything, a page in Markdown, tables for a paper in LaTeX.

runs.csv   metrics.csv   curves.csv   variants.csv   effects.csv   claims.csv   report.md
variants.tex   effects.tex   verdicts.tex (where the study puts claims to the test)
fairness.csv (where experiments have been matched or tuned)
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from reports.experiment import Experiment
from reports.fairness import Fair, fairness_table
from reports.pages import latex, markdown
from reports.pages.verdicts import steps_by_claim
from reports.rows import write_text
from reports.table import Tables
from reports.verdicts import Verdict

OF_VERDICT = (
    *("id", "section", "kind", "steps", "experiment", "task", "statement", "outcome", "reason", "provisional"),
    *("counter_evidence", "note"),
)
OF_CONDITION = (
    *("text", "value", "low", "high", "region", "reference", "outcome", "reason", "n", "share", "scope", "held_equal"),
    *("compare", "metric", "split", "counted", "planned", "completed", "diverged"),
)
CLAIM_COLUMNS = (*OF_VERDICT, "condition", *(f"condition_{name}" for name in OF_CONDITION))
"""One row a condition, `condition` counted from 1; a verdict without conditions has one row, with condition 0."""

CONDITION_TEXTS = tuple(
    f"condition_{name}"
    for name in (
        *("text", "region", "outcome", "reason", "n", "share", "scope", "held_equal"),
        *("compare", "metric", "split"),
    )
)
TEXTS = (
    *("experiment", "variant", "base", "state", "split", "metric", "coordinate", "changes", "scope", "id", "folder"),
    *("section", "kind", "steps", "task", "statement", "outcome", "counter_evidence", "note"),
    *CONDITION_TEXTS,
    *("first_runs", "second_runs", "method", "agreement"),  # of two studies
    *("comparison", "settings", "verdict"),  # of fair comparisons
)
ORIGIN_TEXTS = ("reason", "commit", "host", "device", "started", "ended")
"""Columns of text that are missing in a run without a result."""


def write(
    tables: Tables,
    verdicts: Sequence[Verdict],
    folder: Path,
    measured: Sequence[str] = (),
    fair: Sequence[Fair] = (),
) -> list[str]:
    """Write every table of a study as CSV, and the report as Markdown and LaTeX; gives the names of the files.

    `folder` is made if need be; `measured` are the titles of figures of measurements, `fair` the experiments that have
    been made equal in some way. claims.csv is there without verdicts too, with its header alone, so that whatever reads
    it finds it; verdicts.tex and fairness.csv are not, and those of an earlier report are removed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    texts = {f"{name}.csv": csv_text(frame) for name, frame in frames(tables, verdicts, fair).items()}
    texts |= documents(tables, verdicts, measured, fair)
    for name, text in texts.items():
        write_text(folder / name, text)
    for name in {"verdicts.tex", "fairness.csv"} - texts.keys():
        (folder / name).unlink(missing_ok=True)
    return sorted(texts)


def documents(
    tables: Tables, verdicts: Sequence[Verdict], measured: Sequence[str], fair: Sequence[Fair] = ()
) -> dict[str, str]:
    """The files to be read by people, by name."""
    experiments = [Experiment(tables, name) for name in tables.study.plan["experiments"]]
    found = {
        "report.md": markdown.document(tables, experiments, verdicts, measured, fair),
        "variants.tex": latex.variants(experiments),
        "effects.tex": latex.effects(experiments),
    }
    return (
        {**found, "verdicts.tex": latex.verdicts(verdicts, steps_by_claim(tables.study, verdicts))}
        if verdicts
        else found
    )


def frames(tables: Tables, verdicts: Sequence[Verdict], fair: Sequence[Fair] = ()) -> dict[str, pd.DataFrame]:
    """The tables that are written, by the name of their file without its suffix."""
    return {
        "runs": tables.runs,
        "metrics": tables.values,
        "curves": tables.curves,
        "variants": tables.variants,
        "effects": tables.effects,
        "claims": claims_table(verdicts, steps_by_claim(tables.study, verdicts)),
        **({"fairness": fairness_table(fair)} if fair else {}),
    }


def claims_table(verdicts: Sequence[Verdict], steps: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Verdicts as rows, one a condition (CLAIM_COLUMNS); `steps` of the training by claim, as text."""
    found = [row for verdict in verdicts for row in _conditions(verdict, (steps or {}).get(verdict.id, ""))]
    rows = pd.DataFrame(found, columns=list(CLAIM_COLUMNS))
    numbers = ("value", "low", "high", "reference", "counted", "planned", "completed", "diverged")
    types = dict.fromkeys([f"condition_{name}" for name in numbers], float)
    return rows.astype({"condition": int, "provisional": bool, **types})


def _conditions(verdict: Verdict, steps: str) -> Iterator[dict[str, Any]]:
    shared = {name: steps if name == "steps" else getattr(verdict, name) for name in OF_VERDICT}
    if not verdict.conditions:
        yield {**shared, "condition": 0, **dict.fromkeys(CONDITION_TEXTS, "")}
    for number, judged in enumerate(verdict.conditions, 1):
        own = {name: len(judged.per_seed) if name == "counted" else getattr(judged, name) for name in OF_CONDITION}
        yield {**shared, "condition": number, **{f"condition_{name}": value for name, value in own.items()}}


def csv_text(frame: pd.DataFrame) -> str:
    """A table as CSV. All text is quoted where some holds a carriage return, which would end a row otherwise."""
    texts = frame.select_dtypes(exclude=["number", "bool"])
    odd = any("\r" in str(value) for column in texts for value in texts[column].unique())
    quoting: Literal[0, 2] = csv.QUOTE_NONNUMERIC if odd else csv.QUOTE_MINIMAL
    return frame.to_csv(index=False, lineterminator="\n", quoting=quoting)


def read(path: Path) -> pd.DataFrame:
    """Read a CSV of a report as it was written: names such as `None`, `NA` or `007` stay text, numbers are exact.

    By hand: `pandas.read_csv(path, keep_default_na=False)`, with a `dtype` for names that look like numbers, and
    `na_values` for columns of numbers in which some are missing.
    """
    columns = pd.read_csv(path, nrows=0).columns
    texts = {*TEXTS, *ORIGIN_TEXTS}
    optional = ORIGIN_TEXTS if path.stem == "runs" else ()
    empty = {column: [""] for column in columns if column not in texts or column in optional}
    types: dict[str, Any] = dict.fromkeys([c for c in columns if c in texts], "str")
    frame = pd.read_csv(path, keep_default_na=False, na_values=empty, dtype=types)
    return frame.astype({c: "Int64" for c in columns if c.endswith("_n") and c not in texts})
