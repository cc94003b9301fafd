"""`ablations status`: the runs of a study by state, and how fast the sweeps at work are. Imports no torch."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any

from ablations import screen
from ablations.pace import Sweep, duration, read_sweeps, seconds_left
from ablations.progress import Progress, is_running, read_progress
from ablations.screen import Column
from reports.rows import COUNTED, RunRow, StudyRows, read_study

STATES = ("completed", "diverged", "failed", "conflict", "running", "interrupted", "waiting")
LOG = "log.txt"

Found = dict[str, Any]


def states(root: Path) -> Found:
    """State of every planned run, how far those at work are, and the sweeps at work, as in --json.

    A run is running while a process holds its lock; one that has begun, has no result and is not running was
    interrupted. Raises RowsError where the plan cannot be used.
    """
    study = read_study(root)
    runs = [_run(row) for row in study.runs]
    counts = Counter(run["state"] for run in runs)
    sweeps = [_sweep(sweep, study, runs) for sweep in read_sweeps(root)]
    return {
        "study": study.plan["study"],
        "counts": {state: counts[state] for state in STATES},
        "foreign": study.foreign,
        "throughput": _throughput(sweeps, runs),
        "seconds_left": _longest([sweep["seconds_left"] for sweep in sweeps]),
        "sweeps": sweeps,
        "runs": runs,
    }


def _run(row: RunRow) -> Found:
    state = _state(row)
    log = row.folder / _log_name(row.reason or "")
    progress = read_progress(row.folder) if state == "running" else None
    return {
        "experiment": row.experiment,
        "variant": row.variant,
        "seed": row.seed,
        "id": row.id,
        "state": state,
        "reason": row.reason,
        "folder": str(row.folder),
        "log": str(log) if log.is_file() else None,
        "progress": progress and asdict(progress),
    }


def _log_name(reason: str) -> str:
    """The log that tells most: that of the rank which is named as the first to fail."""
    rank = re.match(r"rank ([1-9]\d*) ", reason)
    return f"log-rank-{rank[1]}.txt" if rank else LOG


def _state(row: RunRow) -> str:
    if row.state != "missing":
        return row.state
    if is_running(row.folder):
        return "running"
    return "waiting" if row.run is None else "interrupted"


def _sweep(sweep: Sweep, study: StudyRows, runs: Sequence[Found]) -> Found:
    """A sweep at work: what it has done since it began, and how long it will take by that."""
    began = datetime.fromisoformat(sweep.started)
    ended = {row.id for row in study.runs if row.id in sweep.costs and _ended_since(row, began)}
    running = {run["id"]: Progress(**run["progress"]) for run in runs if run["progress"] and run["id"] in sweep.costs}
    return {
        "shard": sweep.shard,
        "host": sweep.host,
        "pid": sweep.pid,
        "started": sweep.started,
        "workers": sweep.workers,
        "runs": len(sweep.costs),
        "ended": len(ended),
        "runs_an_hour": len(ended) / sweep.seconds * 3600 if sweep.seconds > 0 else 0.0,
        "seconds_left": seconds_left(sweep.costs, ended, running, sweep.seconds, sweep.workers),
    }


def _ended_since(row: RunRow, began: datetime) -> bool:
    return row.result is not None and datetime.fromisoformat(row.result["ended"]) >= began


def _throughput(sweeps: Sequence[Found], runs: Sequence[Found]) -> dict[str, float | None]:
    """Of all sweeps at work together: None where there is none, or where no run says how fast it is."""
    rates = [run["progress"]["tokens_per_second"] for run in runs if run["progress"]]
    known = [rate for rate in rates if rate is not None]
    return {
        "runs_an_hour": sum(sweep["runs_an_hour"] for sweep in sweeps) if sweeps else None,
        "tokens_per_second": median(known) if known else None,
    }


def _longest(seconds: Sequence[float | None]) -> float | None:
    """The study waits for its slowest sweep; nothing is said while that of one is not known."""
    known = [one for one in seconds if one is not None]
    return max(known) if known and len(known) == len(seconds) else None


def show(found: Found) -> None:
    """Print counts by experiment and variant, what is at work, what failed and why, and how much is done."""
    screen.say(found["study"])
    _counts(found)
    running = [run for run in found["runs"] if run["state"] == "running"]
    if running:
        _running(running)
    for run in found["runs"]:
        if run["reason"]:
            screen.say(_failure(run), hang="  ")
    for sweep in found["sweeps"]:
        screen.say(_at_work(sweep), hang="  ")
    screen.say(_summary(found), hang="  ")


def _counts(found: Found) -> None:
    there = [state for state in STATES if found["counts"][state]]
    heads = [Column(name="experiment"), Column(name="variant"), *(Column(name=state, right=True) for state in there)]
    cells: dict[tuple[str, str], Counter[str]] = {}
    for run in found["runs"]:
        cells.setdefault((run["experiment"], run["variant"]), Counter())[run["state"]] += 1
    rows = [[*names, *(str(counts[state] or "") for state in there)] for names, counts in cells.items()]
    screen.show(heads, rows, grouped=True)


def _running(runs: Sequence[Found]) -> None:
    names = ("running", "step", "loss", "speed", "device")
    heads = [Column(name=name, right=rank > 0, rank=rank) for name, rank in zip(names, (0, 1, 2, 4, 3), strict=True)]
    screen.show(heads, [(_name(run), *_words(run["progress"])) for run in runs])


def _words(progress: Mapping[str, Any] | None) -> Sequence[str]:
    if progress is None:
        return "begins or ends", "", "", ""
    return *Progress(**progress).words(), progress["device"]


def _name(run: Found) -> str:
    return f"{run['experiment']} / {run['variant']} / seed {run['seed']}"


def _failure(run: Found) -> str:
    where = run["log"] or run["folder"]
    return f"{_name(run)}: {run['state']}: {run['reason'].splitlines()[0]}; see {where}"


def _at_work(sweep: Found) -> str:
    shard = "sweep" if sweep["shard"] == "1/1" else f"shard {sweep['shard']}"
    where = f"process {sweep['pid']} on {sweep['host']}, {sweep['workers']} at a time"
    return f"{shard} at work ({where}): {sweep['ended']} of its {sweep['runs']} runs have ended"


def _summary(found: Found) -> str:
    done = sum(found["counts"][state] for state in COUNTED)
    parts = [f"{done} of {len(found['runs'])} runs are done"]
    rates, left = found["throughput"], found["seconds_left"]
    if rates["runs_an_hour"]:
        parts.append(f"{rates['runs_an_hour']:,.0f} runs an hour")
    if rates["tokens_per_second"] is not None:
        parts.append(f"{rates['tokens_per_second']:,.0f} tokens/s a run (median)")
    if found["sweeps"]:
        parts.append("time left not known yet" if left is None else f"about {duration(left)} left")
    return ", ".join(parts)
