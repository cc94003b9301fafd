"""What a condition of a claim measures in each run: one number a seed, from the tables of a study.

at, minus_at, over_at    values at coordinates of the metric, within one run
less                     another metric of the run
exceeds                  1 or 0
over, summary            what is made of a curve: over a setting (runs of a grid), over a coordinate (one run)
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import isnan, nan

import numpy as np
import pandas as pd

from reports.metrics import LONG_RANGE, facts
from reports.paired import RunKey
from reports.register import TARGETS, Condition
from reports.rows import COUNTED, ITEMS, RunRow
from reports.statistics import ROUNDING, Interval
from reports.table import Tables
from reports.trends import SUMMARIES, Horizon, horizon, slope
from reports.values import SPLITS

MAIN = ""
"""Coordinate of a metric as a whole."""

ByCoordinate = Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class Point:
    """One point of a curve."""

    seed: int
    x: float
    y: float


@dataclass(frozen=True, kw_only=True)
class Share:
    """A share of right answers that is a term of a quantity."""

    sign: int
    """1, or -1 where it is subtracted."""
    value: float
    items: int
    """Independent test items that it is a share of."""


@dataclass(kw_only=True)
class Measured:
    """One variant of a condition: its quantity in each seed that has one."""

    values: dict[int, float] = field(default_factory=dict)
    censored: dict[int, int] = field(default_factory=dict)
    """Seeds whose value was cut off: 1 where the true one may be larger, -1 where it may be smaller."""
    brackets: dict[int, Interval] = field(default_factory=dict)
    """Seeds whose true value lies anywhere from the first to below the second: a horizon between points of a grid."""
    shares: dict[int, tuple[Share, ...]] = field(default_factory=dict)
    """Of seeds whose value is a sum of shares of known test items: its terms."""
    points: list[Point] = field(default_factory=list)


class Index:
    """The values of a study by run, split and metric, found without a search."""

    def __init__(self, tables: Tables) -> None:
        self.plan = tables.study.plan
        self.rows: dict[RunKey, RunRow] = {(row.experiment, row.variant, row.seed): row for row in tables.study.runs}
        self._values: dict[tuple[RunKey, str, str], dict[str, float]] = {}
        self._lost: dict[tuple[RunKey, str, str], list[str]] = {}
        self._drawn = tables.items
        far = tables.reported[tables.reported["metric"] == LONG_RANGE]
        frame = pd.concat([tables.values, far])
        names = ("experiment", "variant", "seed", "split", "metric", "coordinate", "value")
        for experiment, variant, seed, split, metric, at, value in zip(*(frame[name] for name in names), strict=True):
            key = ((experiment, variant, int(seed)), split, metric)
            if value is None or isnan(value):
                self._lost.setdefault(key, []).append(at)
            else:
                self._values.setdefault(key, {})[at] = float(value)

    def of(self, run: RunKey, split: str, metric: str) -> ByCoordinate:
        """A metric of one run by coordinate; {} where it has none.

        The values of a diverged run were fixed once, for the test set, and hold for validation and training too.
        """
        found = self._values.get((run, split, metric), {})
        if not found and self.state(run) == "diverged" and split in ("train", *SPLITS):
            return self._values.get((run, "test", metric), {})
        return found

    def lost(self, run: RunKey, split: str, metric: str) -> Sequence[str]:
        """Coordinates at which a run has the metric as no finite number."""
        return self._lost.get((run, split, metric), ())

    def reports(self, run: RunKey, split: str, metric: str) -> bool:
        """Whether a run has the metric, be it as no finite number."""
        return bool(self.of(run, split, metric) or self.lost(run, split, metric))

    def independent_items(self, run: RunKey, metric: str, at: Sequence[str]) -> int | None:
        """Number of independent test items at some coordinates of a share; None where it is not known.

        Several answers of one sequence are not: as many as a sequence has on average stand for one item.
        """
        whole, items = self._drawn.get(run, {}).get(metric), self.of(run, "test", ITEMS)
        if whole is None or whole.size is None:
            return None
        if list(at) == [MAIN]:
            return whole.size
        if MAIN not in items or not set(at) <= set(items):
            return None
        return int(sum(items[place] for place in at) // max(1.0, items[MAIN] / whole.size))

    def state(self, run: RunKey) -> str:
        """State of a planned run; `missing` for one that is none."""
        return self.rows[run].state if run in self.rows else "missing"

    def seeds(self, experiment: str, variant: str) -> list[int]:
        """Seeds that are planned, in ascending order."""
        return self._seeds.get((experiment, variant), [])

    def points_of(self, name: str) -> list[str]:
        """The experiment of this name, or all points of the grid of this name; [] where there is none."""
        plans = self.plan["experiments"]
        return [name] if name in plans else [point for point in plans if plans[point].get("family") == name]

    @cached_property
    def _seeds(self) -> dict[tuple[str, str], list[int]]:
        found: dict[tuple[str, str], list[int]] = {}
        for experiment, variant, seed in sorted(self.rows):
            found.setdefault((experiment, variant), []).append(seed)
        return found


def measure(index: Index, condition: Condition, experiments: Sequence[str], variant: str) -> Measured:
    """The quantity of a variant in every seed that has it; over a setting, `experiments` are the points of the grid.

    A run that lacks a place where another seed has one has no curve: a line through the rest would be bent. Nor has one
    that diverged, whose values were fixed at one level everywhere; its mean it has.
    """
    if condition.over_a_setting:
        return _over_settings(index, condition, experiments, variant)
    (experiment,) = experiments
    runs = [(experiment, variant, seed) for seed in index.seeds(experiment, variant)]
    places = _places(index, condition, runs) if condition.over else {}
    found = Measured()
    for run in runs:
        if terms := shares(index, condition, run):
            found.shares[run[2]] = terms
        is_mean = condition.summary == "beyond" and index.state(run) == "diverged"  # a value fixed at every place
        if condition.over and not is_mean:
            points = list(_along(condition.over, index.of(run, condition.split, condition.metric)))
            _take(found, condition, run[2], points, places, whole=len(places))
        elif condition.metric in TARGETS:
            _take_target(found, index, condition, run)
        elif (value := of_run(index, condition, run)) is not None:
            found.values[run[2]] = value
    return found


def of_run(index: Index, condition: Condition, run: RunKey) -> float | None:
    """The quantity of one run, no curve; None where it has not all that is wanted."""
    if condition.exceeds is not None and index.state(run) == "diverged":
        return 1.0
    value = _at(index, condition, run, condition.at)
    minus = 0.0 if condition.minus_at is None else _at(index, condition, run, (condition.minus_at,))
    over = 1.0 if condition.over_at is None else _at(index, condition, run, (condition.over_at,))
    less = 0.0 if condition.less is None else index.of(run, condition.split, condition.less).get(MAIN)
    if value is None or minus is None or less is None or not over:
        return None
    rest = value - minus - less
    is_rounding = abs(rest) <= ROUNDING * max(abs(value), abs(minus), abs(less))
    rest = 0.0 if is_rounding else rest / over
    return rest if condition.exceeds is None else float(rest > condition.exceeds)


def shares(index: Index, condition: Condition, run: RunKey) -> tuple[Share, ...]:
    """The terms of a run's quantity, where it is a sum of shares of known test items; else none."""
    changed = condition.over_at is not None or condition.less is not None or condition.exceeds is not None
    if changed or condition.split != "test" or not facts(condition.metric).share or condition.summary not in SUMS:
        return ()
    places = [condition.at if not condition.over else _from_threshold(index, condition, run)]
    places += [] if condition.minus_at is None else [(condition.minus_at,)]
    found = []
    for sign, at in zip((1, -1), places, strict=False):
        value = _at(index, condition, run, at) if at else None
        items = index.independent_items(run, condition.metric, at)
        if value is None or not items:
            return ()
        found.append(Share(sign=sign, value=value, items=items))
    return tuple(found)


SUMS = ("", "beyond")
"""Summaries that leave a share a share."""


def _from_threshold(index: Index, condition: Condition, run: RunKey) -> tuple[str, ...]:
    """Coordinates of a metric from the threshold on."""
    assert condition.threshold is not None, "the register has one for each such mean"
    found = index.of(run, condition.split, condition.metric)
    places = {coordinate: place for coordinate in found for place, _ in _along(condition.over, {coordinate: 0.0})}
    return tuple(coordinate for coordinate, place in places.items() if place >= condition.threshold)


def _at(index: Index, condition: Condition, run: RunKey, at: Sequence[str]) -> float | None:
    """The metric at a coordinate; at several, their mean weighted by the number of items.

    What was fixed for a diverged run is fixed at every coordinate.
    """
    found, items = index.of(run, condition.split, condition.metric), index.of(run, condition.split, ITEMS)
    fixed = index.state(run) == "diverged"
    values = [found.get(MAIN if fixed else coordinate) for coordinate in at]
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return None
    return float(np.average(known, weights=[items.get(coordinate, 1.0) for coordinate in at]))


def _over_settings(index: Index, condition: Condition, experiments: Sequence[str], variant: str) -> Measured:
    """A seed that lacks a point has no curve: one through the others would be bent."""
    places = {name: float(index.plan["experiments"][name].get("grid", {})[condition.over]) for name in experiments}
    found = Measured()
    for seed in sorted({seed for name in experiments for seed in index.seeds(name, variant)}):
        points = [(x, of_run(index, condition, (name, variant, seed))) for name, x in places.items()]
        _take(found, condition, seed, [(x, y) for x, y in points if y is not None], {}, whole=len(points))
    return found


def _places(index: Index, condition: Condition, runs: Sequence[RunKey]) -> dict[float, float]:
    """Where some run has the metric along a coordinate, be it as no number, with the number of items there."""
    found: dict[float, float] = {}
    for run in runs:
        items = dict(_along(condition.over, index.of(run, condition.split, ITEMS)))
        lost = dict.fromkeys(index.lost(run, condition.split, condition.metric), nan)
        places = _along(condition.over, {**lost, **index.of(run, condition.split, condition.metric)})
        found |= {place: items.get(place, 1.0) for place, _ in places}
    return dict(sorted(found.items()))


def _along(name: str, found: ByCoordinate) -> Iterator[tuple[float, float]]:
    for coordinate, value in found.items():
        axis, _, place = coordinate.partition("=")
        if axis == name:
            yield float(place), value


def _take(
    found: Measured,
    condition: Condition,
    seed: int,
    points: Sequence[tuple[float, float]],
    items: Mapping[float, float],
    whole: int = 2,
) -> None:
    """Add what the summary makes of a seed's curve, unless it has too few points, or none (a logarithm of zero)."""
    if len(points) < max(whole, 2):
        return
    points = sorted(points)
    x, y = [x for x, _ in points], [y for _, y in points]
    try:
        value = _summary(condition, x, y, [items.get(place, 1.0) for place in x])
    except ValueError:
        return
    found.points += [Point(seed=seed, x=x, y=y) for x, y in points]
    if isinstance(value, Horizon):
        _take_horizon(found, seed, value)
    else:
        found.values[seed] = value


def _take_horizon(found: Measured, seed: int, horizon: Horizon) -> None:
    """One outside of the range counts at its end and is cut off there; any other lies somewhere in its bracket."""
    found.values[seed] = horizon.x
    if horizon.beyond:
        found.censored[seed] = horizon.beyond
    else:
        found.brackets[seed] = (horizon.low, horizon.high)


def _summary(condition: Condition, x: list[float], y: list[float], items: list[float]) -> float | Horizon:
    """Of one curve. ValueError where it has none."""
    if condition.threshold is not None:  # as horizon and beyond have
        wanted = condition.threshold
        return horizon(x, y, wanted) if condition.summary == "horizon" else _beyond(x, y, items, wanted)
    return slope(x, y, items) if condition.summary == "slope" else SUMMARIES[condition.summary](x, y)


def _beyond(x: list[float], y: list[float], items: list[float], threshold: float) -> float:
    """Mean of y from x = threshold on, by the number of items. ValueError without a point there."""
    far = [place for place, at in enumerate(x) if at >= threshold]
    if not far:
        raise ValueError(f"no point from {threshold:g} on")
    return float(np.average([y[place] for place in far], weights=[items[place] for place in far]))


def _take_target(found: Measured, index: Index, condition: Condition, run: RunKey) -> None:
    """Steps, or operations, to a target; those that were used up where a run has ended without it."""
    seed, row = run[2], index.rows[run]
    value = index.of(run, condition.split, condition.metric).get(MAIN)
    if value is not None:
        found.values[seed] = value
    elif row.state in COUNTED and row.run and row.result:
        operations = row.result["cost"].get("training_flops")
        used = {"steps": row.run["config"]["train"]["steps"], "training_flops": operations}
        spent = used[TARGETS[condition.metric]]
        if spent:
            found.values[seed], found.censored[seed] = float(spent), 1
