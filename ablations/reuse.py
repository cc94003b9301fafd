"""Runs that another study in the same output folder has: the same id is the same run, and is not trained twice."""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from ablations.results import write_run
from ablations.study import Run
from reports.rows import COUNTED, RowsError, read_result, run_folders


def take_shared(missing: Sequence[Run], root: Path, commit: str | None) -> dict[str, Path]:
    """Copy what other studies beside `root` have of these runs into it; gives where each was taken from, by id.

    An id does not hold the code, so only results of the very code that is here are taken: none where files of the
    checkout have been changed (`commit` ends in -dirty) or there is no checkout.
    """
    if commit is None or commit.endswith("-dirty"):
        return {}
    wanted = {run.id: run for run in missing}
    taken: dict[str, Path] = {}
    for place in _elsewhere(root):
        run = wanted.get(place.name.rpartition("-")[2])
        if run is not None and run.id not in taken and _is_result(place, run.id, commit):
            _copy(place, root / run.folder, run, commit)
            taken[run.id] = place
    return taken


def _elsewhere(root: Path) -> Iterator[Path]:
    """Folders of runs of the other studies."""
    for plan in sorted(root.parent.glob("*/plan.json")):
        if plan.parent.resolve() != root.resolve():
            yield from run_folders(plan.parent)


def _is_result(place: Path, run_id: str, commit: str) -> bool:
    try:
        result = read_result(place)
    except RowsError:
        return False
    if result is None or result["status"] not in COUNTED:
        return False
    return (result["id"], result["commit"]) == (run_id, commit)


def _copy(place: Path, target: Path, run: Run, commit: str) -> None:
    """Whole or not at all, in place of what an earlier try has left there."""
    target.parent.mkdir(parents=True, exist_ok=True)
    whole = target.with_name(f".{target.name}")
    shutil.rmtree(whole, ignore_errors=True)
    shutil.copytree(place, whole)
    write_run(run, whole, commit)  # the names that it has in this study
    shutil.rmtree(target, ignore_errors=True)
    whole.replace(target)
