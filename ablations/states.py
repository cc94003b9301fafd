"""`ablations status`: the runs of a study by state. Imports no torch."""

from collections import Counter
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from reports.rows import COUNTED, RunRow, read_study

STATES = ("completed", "diverged", "failed", "conflict", "running", "interrupted", "waiting")


def states(root: Path) -> dict[str, Any]:
    """State of every planned run. One that has begun and has no result is running while a sweep is at work."""
    study = read_study(root)
    begun = "running" if _at_work(root) else "interrupted"
    runs = [
        {
            "experiment": row.experiment,
            "variant": row.variant,
            "seed": row.seed,
            "id": row.id,
            "state": _state(row, begun),
            "reason": row.reason,
            "folder": str(row.folder),
        }
        for row in study.runs
    ]
    counts = Counter(run["state"] for run in runs)
    return {"study": study.plan["study"], "counts": {state: counts[state] for state in STATES}, "runs": runs}


def _state(row: RunRow, begun: str) -> str:
    if row.state != "missing":
        return row.state
    return "waiting" if row.run is None else begun


def _at_work(root: Path) -> bool:
    """Whether a sweep holds the lock of the study."""
    lock = root / ".lock"
    if not lock.exists():
        return False
    try:
        with FileLock(lock, timeout=0):
            return False
    except Timeout:
        return True


def show(found: dict[str, Any]) -> None:
    """Print counts by experiment and variant, then what failed and why."""
    there = [state for state in STATES if found["counts"][state]]
    table = Table(title=found["study"], title_justify="left")
    for column in ("experiment", "variant", *there):
        table.add_column(column, overflow="fold")
    cells: dict[tuple[str, str], Counter[str]] = {}
    for run in found["runs"]:
        cells.setdefault((run["experiment"], run["variant"]), Counter())[run["state"]] += 1
    for (experiment, variant), counts in cells.items():
        table.add_row(escape(experiment), escape(variant), *(str(counts[state] or "") for state in there))
    console = Console()
    console.print(table)
    for run in found["runs"]:
        if run["reason"]:
            console.print(
                f"{run['folder']}: {run['reason'].splitlines()[0]}", markup=False, highlight=False, soft_wrap=True
            )
    done = sum(found["counts"][state] for state in COUNTED)
    console.print(f"{done} of {len(found['runs'])} runs are done", highlight=False)
