"""How long a sweep still takes, and what it says of itself: sweep-I-N.json in the study's folder. Imports no torch.

A sweep is shard I of N; a whole one is 1 of 1. Its driver holds `.lock-I-N` for as long as it works.
"""

import json
import os
import platform
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from ablations.progress import Progress, is_held
from reports.rows import write_json

Shard = tuple[int, int]
"""I and N of shard I of N, from 1."""


@dataclass(frozen=True)
class Sweep:
    """What a sweep wrote when it began."""

    host: str
    pid: int
    shard: str
    """`I/N`"""
    started: str
    """ISO time in UTC."""
    workers: int
    """Runs at a time, at most."""
    costs: dict[str, float]
    """Predicted FLOPs of the training of each run that was to be trained, by id."""
    done: int
    """Runs that were done before."""

    @property
    def seconds(self) -> float:
        """Since it began."""
        return (datetime.now(UTC) - datetime.fromisoformat(self.started)).total_seconds()


def seconds_left(
    costs: Mapping[str, float], ended: Collection[str], running: Mapping[str, Progress], elapsed: float, workers: int
) -> float | None:
    """Seconds until a sweep is through, by the rate it has had so far; None while it has done nothing.

    The rate is work done since the sweep began, by `elapsed` seconds; what a run had done before it was resumed is no
    work of this sweep. The end waits for the longest run, which has the rate of one worker for itself.

    Args:
        costs: work of each run of this sweep, by id, in any unit; where all are 0 each run counts alike.
        ended: ids of those that have ended in this sweep, however they ended.
        running: how far each of those at work is, by id.
        elapsed: seconds since the sweep began.
        workers: runs at a time.
    """
    if not any(costs.values()):
        costs = dict.fromkeys(costs, 1.0)
    shares = {run: progress.share for run, progress in running.items()}
    rest = {run: cost * (1 - shares.get(run, 0.0)) for run, cost in costs.items() if run not in ended}
    work = sum(cost for run, cost in costs.items() if run in ended)
    work += sum(costs.get(run, 0.0) * progress.share_of_try for run, progress in running.items() if run not in ended)
    if not rest:
        return 0.0
    if work <= 0 or elapsed <= 0:
        return None
    rate = work / elapsed
    return max(sum(rest.values()), max(rest.values()) * min(workers, len(costs))) / rate


def duration(seconds: float) -> str:
    """Seconds for people: `40 s`, `12 min`, `3 h 10 min`, `2 d 3 h`."""
    if round(seconds) < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 100:
        return f"{minutes} min"
    if minutes < 48 * 60:
        return f"{minutes // 60} h {minutes % 60} min"
    hours = round(minutes / 60)
    return f"{hours // 24} d {hours % 24} h"


def sweep_lock(root: Path, shard: Shard) -> Path:
    """The lock that the driver of a shard holds."""
    return root / f".lock-{shard[0]}-{shard[1]}"


def sweep_file(root: Path, shard: Shard) -> Path:
    """What a shard says of itself."""
    return root / f"sweep-{shard[0]}-{shard[1]}.json"


def write_sweep(root: Path, shard: Shard, workers: int, costs: Mapping[str, float], done: int) -> Sweep:
    """Say that a sweep begins now; its driver holds the shard's lock already.

    Args:
        workers: runs at a time, at most.
        costs: predicted FLOPs of each run that is to be trained, by id.
        done: runs that are done already.
    """
    sweep = Sweep(
        host=platform.node(),
        pid=os.getpid(),
        shard=f"{shard[0]}/{shard[1]}",
        started=datetime.now(UTC).isoformat(timespec="seconds"),
        workers=workers,
        costs=dict(costs),
        done=done,
    )
    write_json(sweep_file(root, shard), asdict(sweep))
    return sweep


def shards_at_work(root: Path) -> list[Shard]:
    """The shards whose drivers are at work in a study's folder; a whole sweep is 1 of 1."""
    return sorted(shard_of(path) for path in root.glob(".lock-*-*") if is_held(path))


def read_sweeps(root: Path) -> list[Sweep]:
    """The sweeps that are at work in a study's folder. One that has just begun and has written nothing is left out."""
    found = (_read(sweep_file(root, shard)) for shard in shards_at_work(root))
    return [sweep for sweep in found if sweep is not None]


def shard_of(path: Path) -> Shard:
    """Of a file whose name ends in `-I-N`, with or without a suffix; (0, 0) where it does not."""
    _, _, rest = path.name.removesuffix(".json").partition("-")
    index, _, count = rest.partition("-")
    return (int(index), int(count)) if index.isdecimal() and count.isdecimal() else (0, 0)


def _read(path: Path) -> Sweep | None:
    try:
        return Sweep(**json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError):
        return None
