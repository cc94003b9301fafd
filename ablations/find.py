"""RUN on the command line: the folder of a run, or the beginning of a run's id. Imports no torch."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from reports.rows import RowsError, read_run

WEIGHTS = Path("checkpoints/best.ckpt")
"""Where the weights lie in a run's folder, if they were kept."""
SINGLE = "train"
"""Name of the study that holds the runs of `ablations train`."""
SHOWN = 5
"""Candidates that a refusal names."""


def find_run(name: str, root: Path) -> Path:
    """Folder of a run: `name` itself, or the one below `root` whose id begins with `name`.

    Copies of a run have one id; one with weights is preferred. Raises RowsError, naming the candidates, where no run or
    more than one is meant.
    """
    if name and (Path(name) / "run.json").is_file():
        return Path(name)
    runs = _runs(root)
    found = {run_id: folders for run_id, folders in runs.items() if name and run_id.startswith(name)}
    if len(found) == 1:
        (copies,) = found.values()
        return next(filter(has_weights, copies), copies[0])
    if found:
        raise RowsError(f"run {name!r}: {len(found)} ids begin so: {_named(folders[0] for folders in found.values())}")
    known = [folder for folders in runs.values() for folder in folders]
    choices = [folder for folder in known if has_weights(folder)] or known
    there = (
        f"those with weights: {_named(choices)}" if choices and has_weights(choices[0]) else "none there has weights"
    )
    reason = there if known else "there is no run"
    raise RowsError(f"run {name!r}: neither a run's folder nor the beginning of the id of a run in {root}; {reason}")


def has_weights(folder: Path) -> bool:
    """Whether a run kept its weights."""
    return (folder / WEIGHTS).is_file()


def _runs(root: Path) -> dict[str, list[Path]]:
    """Folders of the runs below `root`, by id."""
    runs: dict[str, list[Path]] = {}
    for folder in sorted(_run_folders(root)):
        try:
            run = read_run(folder)
        except RowsError:
            continue
        if run is not None:
            runs.setdefault(str(run["id"]), []).append(folder)
    return runs


def _run_folders(root: Path) -> Iterator[Path]:
    """Folders with a run.json; neither hidden ones (caches) nor those within a run are looked into."""
    for folder, below, files in os.walk(root):
        if "run.json" in files:
            yield Path(folder)
        below[:] = [] if "run.json" in files else [name for name in below if not name.startswith(".")]


def _named(folders: Iterable[Path]) -> str:
    """Some of the folders, and how many there are besides."""
    names = [str(folder) for folder in folders]
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
