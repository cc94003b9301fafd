"""`ablations plan`: the runs of a study, their size, what is done and how long the rest takes. Trains nothing.

What a whole sweep takes is the sum over its runs, for as many at a time as there are places, and constants for what it
does before the first and after the last. All of it is for a machine that does nothing else.
"""

import heapq
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

from ablations import screen
from ablations.calibrate import Calibration, predicted_flops, shape_key
from ablations.checks import with_data
from ablations.listing import Entries
from ablations.pace import duration
from ablations.screen import Column
from ablations.study import Run, Settings, Study
from ablations.train import task_shape
from datamodules.base import TaskData
from models.size import parameter_count
from reports.rows import final_results
from reports.wording import quantity

BEGIN = 8.0  # seconds until the first run begins: imports, here and in the server that runs are forked from
REPORT = 2.0  # seconds of a report without runs
REPORTED = 0.03  # seconds that each run adds to it, in the mean of the shipped studies

Variant = tuple[str, str]
"""Experiment and variant."""


def preview(study: Study, root: Path, kind: Literal["cpu", "cuda"] = "cpu") -> Entries:
    """Every run: what it is, its size, whether it is done, and what it takes (on a device of a kind). Reads the data.

    `predicted_seconds` are the mean of the variant's runs that are done (basis `measured`), else made from steps timed
    here (`calibrated`). Raises ConfigError or DataError as training would.
    """
    runs = study.runs()
    done = {run: result["cost"].get("wall_seconds") for run, result in final_results(root).items()}
    variants = _variants(runs, done, kind)
    return [
        {
            "experiment": run.experiment,
            "variant": run.variant,
            "seed": run.seed,
            "id": run.id,
            **variants[run.experiment, run.variant],
            "done": run.id in done,
            "seconds": done.get(run.id),
            "folder": run.folder,
        }
        for run in runs
    ]


def _variants(
    runs: Sequence[Run], done: Mapping[str, float | None], kind: Literal["cpu", "cuda"]
) -> dict[Variant, dict[str, Any]]:
    """What the runs of each variant have in common: devices, size, and what one of them takes."""
    settings = {(run.experiment, run.variant): run.settings for run in runs}
    prepared = dict(zip(settings, _prepared(settings.values()), strict=True))
    measured = _measured(runs, done)
    unknown = {(run.experiment, run.variant) for run in runs if run.id not in done} - measured.keys()
    calibration = Calibration(kind, len({shape_key(settings[v], prepared[v][0]) for v in unknown}))
    found = {}
    for variant, (data, setup) in prepared.items():
        takes, basis = measured.get(variant), "measured" if variant in measured else None
        if variant in unknown:
            takes, basis = setup + calibration.seconds(settings[variant], data), "calibrated"
        found[variant] = {**_size(settings[variant], data), "predicted_seconds": takes, "basis": basis}
    return found


def _measured(runs: Iterable[Run], done: Mapping[str, float | None]) -> dict[Variant, float]:
    """Mean seconds of the runs of a variant that are done."""
    seconds: dict[Variant, list[float]] = {}
    for run in runs:
        if taken := done.get(run.id):
            seconds.setdefault((run.experiment, run.variant), []).append(taken)
    return {variant: fmean(taken) for variant, taken in seconds.items()}


def _prepared(settings: Iterable[Settings]) -> Iterator[tuple[TaskData[Any], float]]:
    """The data of each of the settings, and the seconds that setting them up took."""
    took: dict[int, float] = {}
    began = time.process_time()  # other processes do not add to it
    for _, data in with_data(settings):
        yield data, took.setdefault(id(data), time.process_time() - began)  # at once, if not for the first time
        began = time.process_time()


def _size(settings: Settings, data: TaskData[Any]) -> dict[str, Any]:
    return {
        "devices": settings.train.devices,
        "parameters": parameter_count(settings.model, task_shape(data)),
        "predicted_flops": predicted_flops(settings, data),
    }


HEADS = (
    Column(name="experiment"),
    Column(name="variant"),
    Column(name="parameters", right=True, rank=2),
    Column(name="FLOPs a run", right=True, rank=3),
    Column(name="s a run", right=True, rank=1),
    Column(name="done", right=True),
)
"""Of the table that `show` prints."""


def show(study: Study, entries: Entries, places: int) -> None:
    """Print a line for each variant, and what is left to do with `places` runs at a time."""
    variants: dict[Variant, Entries] = {}
    for entry in entries:
        variants.setdefault((entry["experiment"], entry["variant"]), []).append(entry)
    screen.say(study.name)
    screen.show(HEADS, [_cells(variant, runs) for variant, runs in variants.items()], grouped=True)
    unique = {entry["id"]: entry for entry in entries}.values()  # what two variants share is trained once
    left = [entry for entry in unique if not entry["done"]]
    screen.say(f"{len(left)} of {len(unique)} runs to train{_time(left, len(unique), places)}")


def _cells(variant: Variant, runs: Entries) -> tuple[str, ...]:
    size = (f"{runs[0]['parameters']:,}", quantity(runs[0]["predicted_flops"]), _takes(runs[0]))
    return *variant, *size, f"{sum(run['done'] for run in runs)}/{len(runs)}"


def _takes(entry: Mapping[str, Any]) -> str:
    seconds = entry["predicted_seconds"]
    if seconds is None:
        return ""
    return f"{seconds:,.0f}" if seconds >= 10 else f"{seconds:.2g}"


def _time(left: Entries, runs: int, places: int) -> str:
    """How long a sweep takes that trains what is left and reports all of its `runs`."""
    if not left:
        return ""
    around = BEGIN + REPORT + REPORTED * runs
    alone = around + sum(entry["predicted_seconds"] * entry["devices"] for entry in left)
    wall = around + wall_seconds([(entry["predicted_seconds"], entry["devices"]) for entry in left], places)
    bases = {"measured": "runs that are done", "calibrated": "steps timed here"}
    basis = " and ".join(text for name, text in bases.items() if any(entry["basis"] == name for entry in left))
    took = f"{duration(alone)} for one at a time, about {duration(wall)} with {places} at a time"
    return f": {took}, start and report included (by {basis})"


def wall_seconds(runs: Iterable[tuple[float, int]], places: int) -> float:
    """Seconds until all runs are through, in the order of a sweep: those of several devices first, then the longest.

    Args:
        runs: seconds of each and how many places it takes at once (at most all are given to it).
        places: runs of one device that go at a time.
    """
    free_at = [0.0] * places
    for seconds, devices in sorted(runs, key=lambda run: (-run[1], -run[0])):
        taken = [heapq.heappop(free_at) for _ in range(min(devices, places))]
        for _ in taken:
            heapq.heappush(free_at, max(taken) + seconds)
    return max(free_at)
