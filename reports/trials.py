"""The trials of a study's searches for the best settings: tune/trials.csv, a row for each."""

import csv
import io
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast, get_args

import pandas as pd

from reports.rows import RowsError, write_text

TRIALS = "tune/trials.csv"
"""Below a study's folder."""

TrialState = Literal["waiting", "running", "completed", "pruned", "diverged", "failed"]
"""Pruned: ended early as hopeless. Only a completed one has a value."""


TYPES = {"number": "int64", "value": "float64", "seconds": "float64"}


class TrialRow(NamedTuple):
    """One point that was tried, or is to be."""

    experiment: str
    """The one whose variants are tuned, without `(tuned)`."""
    variant: str
    number: int
    """Of the point in its search, from 0."""
    state: TrialState
    value: float | None
    """Mean validation loss over the seeds of the search, in nats a token."""
    seconds: float | None
    """What its runs took, in all."""
    point: dict[str, Any]
    """Dotted path to value; JSON in the file."""


def write_trials(root: Path, rows: Iterable[TrialRow]) -> None:
    """Replace trials.csv of a study's folder in one step."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(TrialRow._fields)
    writer.writerows([*row[:-1], json.dumps(row.point)] for row in rows)
    (root / TRIALS).parent.mkdir(parents=True, exist_ok=True)
    write_text(root / TRIALS, text.getvalue())


def read_trials(root: Path) -> pd.DataFrame | None:
    """The trials of a study's folder; None where nothing was tuned. RowsError where the file cannot be used.

    Columns as in TrialRow: value and seconds are NaN where there is none, point is a dict.
    """
    path = root / TRIALS
    if not path.is_file():
        return None
    try:
        text = path.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise RowsError(f"{path}: cannot be read: {error}") from error
    lines = csv.reader(io.StringIO(text, newline=""))
    try:
        if tuple(next(lines, ())) != TrialRow._fields:
            raise RowsError(f"{path}: the columns must be {','.join(TrialRow._fields)}")
        return pd.DataFrame([_row(line) for line in lines], columns=TrialRow._fields).astype(TYPES)
    except RowsError:
        raise
    except (ValueError, IndexError, csv.Error) as error:
        raise RowsError(f"{path}: line {lines.line_num}: {error}") from error


def _row(line: list[str]) -> TrialRow:
    """Raises ValueError or IndexError for a line that is none."""
    experiment, variant, number, state, value, seconds, point = line
    if state not in get_args(TrialState):
        raise ValueError(f"state {state!r}: one of {', '.join(get_args(TrialState))}")
    return TrialRow(
        experiment=experiment,
        variant=variant,
        number=int(number),
        state=cast(TrialState, state),
        value=float(value) if value else None,
        seconds=float(seconds) if seconds else None,
        point=json.loads(point),
    )
