"""`ablations clean`: what of a study takes disk, and its removal where that is asked for. Imports no torch.

Results (run.json, metrics.csv, outputs/, log.txt, result.json) of planned runs are never touched, nor anything of a run
that is running or, while a sweep is at work, has not ended, nor anything that a link leads to.
"""

import os
import shutil
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from ablations import screen
from ablations.find import SINGLE
from ablations.pace import shard_of, shards_at_work, sweep_lock
from ablations.progress import LOCK, PROGRESS, is_held
from ablations.screen import Column
from reports.rows import COUNTED, NOT_RUNS, Plan, RowsError, read_plan, read_run, status

KINDS = {
    "weights": "weights kept of runs that have ended; without them no `translate`, no `attention`",
    "checkpoints": "of runs that have not ended; without them they start anew",
    "foreign": "runs that the plan does not name, with their results",
    "leftovers": "locks that nobody holds, progress, temporary files, checkpoints of runs that have ended",
    "trials": "runs of a search for the best settings; what they came to stays in tune/trials.csv and its storage",
    "report": "can be made again: ablations report; event files too: ablations dashboard",
}
OLD = 60.0  # seconds after which a temporary file is not just being written by another machine
MEBIBYTE = 2**20

Found = dict[str, Any]


@dataclass(frozen=True)
class Item:
    """Something that can be removed: a file, a link or a whole folder."""

    kind: str
    path: Path
    bytes: int
    run: Path | None
    """Folder of the run that it belongs to; its lock is taken for the removal."""


def clean(root: Path, kinds: Collection[str] = ()) -> Found:
    """What can be removed from a study's folder, by kind, and, of the `kinds` given, what has been; as in --json.

    Raises RowsError where the folder has no plan that can be read, OSError where something cannot be removed.
    """
    plan = read_plan(root)
    busy = _busy(root, plan)
    items = [item for item in _items(root, plan) if item.run not in busy]
    taken = _size(root)
    asked = [item for item in items if item.kind in kinds]
    removed = _remove(asked)
    return {
        "study": plan["study"],
        "folder": str(root),
        "bytes": taken,
        "removable": _by_kind(items),
        "removed": _by_kind(removed),
        "busy": sorted(str(folder) for folder in busy),
    }


def _busy(root: Path, plan: Plan) -> set[Path]:
    """Run folders to stay away from: those that are running, and while a sweep is at work all that have not ended."""
    planned = {root / run["folder"] for run in plan["runs"]}
    sweeping = bool(shards_at_work(root))
    waiting = {folder for folder in planned if sweeping and not _ended(folder)}
    return waiting | {folder for folder in (*planned, *_foreign(root, plan)) if is_held(folder / LOCK)}


def _ended(folder: Path) -> bool:
    return status(folder) in COUNTED


def _items(root: Path, plan: Plan) -> Iterator[Item]:
    foreign = _foreign(root, plan)
    yield from (Item("foreign", folder, _size(folder), folder) for folder in foreign)
    planned = dict.fromkeys(root / run["folder"] for run in plan["runs"])
    for folder in planned:
        if _inside(folder, root):
            yield from _of_run(folder)
    yield from _of_study(root)


def _of_run(folder: Path) -> Iterator[Item]:
    """Parts of a run's folder that are no results."""
    kept = folder / "checkpoints"
    files = [] if kept.is_symlink() else _files(kept)
    if _ended(folder):
        needless = {path for path in files if path.match("step-*.ckpt") or path.name.startswith(".")}
        yield from (Item("weights", path, _size(path), folder) for path in files if path not in needless)
    else:
        needless = {path for path in files if path.name.startswith(".")}
        yield from (Item("checkpoints", path, _size(path), folder) for path in files if path not in needless)
    marks = [folder / LOCK, folder / PROGRESS]
    leftovers = [*needless, *(path for path in marks if path.is_file()), *_temporary(folder)]
    yield from (Item("leftovers", path, _size(path), folder) for path in sorted(leftovers))


def _of_study(root: Path) -> Iterator[Item]:
    """The report and event files, runs of a search, and what sweeps have left in the study's own folder."""
    for again in (root / "report", root / "events"):
        if again.is_dir() and not again.is_symlink():
            yield Item("report", again, _size(again), None)
    if not shards_at_work(root):
        trials = [path.parent for path in sorted(root.glob("tune/*/*/*/run.json"))]
        yield from (Item("trials", folder, _size(folder), folder) for folder in trials if _inside(folder, root))
    sweeps = [*root.glob(".lock-*-*"), *root.glob("sweep-*-*.json")]
    stale = [path for path in sweeps if not is_held(sweep_lock(root, shard_of(path)))]
    if not shards_at_work(root):
        stale += root.glob(".cluster-*")
    yield from (Item("leftovers", path, _size(path), None) for path in sorted([*stale, *_temporary(root)]))


def _temporary(folder: Path) -> list[Path]:
    """Files `.name.pid` of writers that are no more (of this machine's; another's may still be at it for a moment)."""
    found = [path for path in folder.glob(".*.*") if path.suffix[1:].isdecimal() and path.is_file()]
    return [path for path in found if not _alive(int(path.suffix[1:])) and _age(path) > OLD]


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _age(path: Path) -> float:
    return time.time() - path.lstat().st_mtime


def _foreign(root: Path, plan: Plan) -> list[Path]:
    """Folders of runs that the plan names neither by folder nor by id (a copy of a planned run is a result)."""
    if plan["study"] == SINGLE:
        return []  # its plan names the last of them alone
    folders = {root / run["folder"] for run in plan["runs"]}
    ids = {run["id"] for run in plan["runs"]}
    found = [path.parent for path in sorted(root.glob("*/*/*/run.json")) if path.parts[len(root.parts)] not in NOT_RUNS]
    return [folder for folder in found if folder not in folders and _inside(folder, root) and _id(folder) not in ids]


def _id(folder: Path) -> str | None:
    try:
        run = read_run(folder)
    except RowsError:
        return None
    return run["id"] if run else None


def _inside(folder: Path, root: Path) -> bool:
    """Whether a folder below `root` is really there, and not where a link or `..` leads."""
    return folder.is_dir() and folder.resolve() == root.resolve() / folder.relative_to(root)


def _remove(items: Iterable[Item]) -> list[Item]:
    """Remove what is not being worked on by now, and say what that was."""
    removed = []
    for item in items:
        with _alone_in(item.run) as alone:
            if alone:
                _delete(item.path)
                removed.append(item)
    return removed


@contextmanager
def _alone_in(run: Path | None) -> Iterator[bool]:
    """Hold the lock of a run, so that none begins there meanwhile; False where one has begun."""
    lock = FileLock(run / LOCK, timeout=0) if run and (run / LOCK).exists() else None
    try:
        if lock:
            lock.acquire()
    except Timeout:
        yield False
        return
    try:
        yield True
    finally:
        if lock:
            lock.release()


def _delete(path: Path) -> None:
    """Remove a file or a folder, and the folders above that are empty then (of runs and their checkpoints)."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    with suppress(OSError):  # not empty
        for above in path.parents[:2]:
            above.rmdir()


def _files(folder: Path) -> list[Path]:
    """Files and links below a folder; no link is followed."""
    return sorted(Path(place) / name for place, _, names in os.walk(folder) for name in names)


def _size(path: Path) -> int:
    """Bytes of a file, or of all files below a folder."""
    paths = _files(path) if path.is_dir() and not path.is_symlink() else [path]
    return sum(one.lstat().st_size for one in paths)


def _by_kind(items: Iterable[Item]) -> Found:
    listed = list(items)
    return {
        kind: {
            "number": sum(item.kind == kind for item in listed),
            "bytes": sum(item.bytes for item in listed if item.kind == kind),
            "paths": [str(item.path) for item in listed if item.kind == kind],
        }
        for kind in KINDS
    }


HEADS = (
    Column(name="kind"),
    Column(name="number", right=True),
    Column(name="MiB", right=True),
    Column(name="what it is"),
)
"""Of the table that `show` prints."""


def show(found: Found, kinds: Collection[str]) -> None:
    """Print what there is by kind, or what has been removed, and what was left alone."""
    rows = [
        (kind, str(there["number"]), _mebibytes(there["bytes"]), KINDS[kind])
        for kind, there in found["removable"].items()
    ]
    screen.say(f"{found['study']}: what can be removed")
    screen.show(HEADS, rows)
    for line in _lines(found, kinds):
        screen.say(line)


def _lines(found: Found, kinds: Collection[str]) -> Iterator[str]:
    rest = found["bytes"] - sum(there["bytes"] for there in found["removable"].values())
    yield f"{_mebibytes(rest)} MiB more in {found['folder']} always stay: results, and what running runs need"
    if found["busy"]:
        yield f"left alone, since they are running or waiting for a sweep: {len(found['busy'])} runs"
    for kind, gone in found["removed"].items():
        if kind in kinds:
            yield f"removed {kind}: {gone['number']}, {_mebibytes(gone['bytes'])} MiB"
    if not kinds:
        yield "nothing is removed; --remove KIND does it: one or more kinds with commas between, or all"


def _mebibytes(size: int) -> str:
    return f"{size / MEBIBYTE:.1f}"
