"""Do two studies say the same of a variant? Values and effects of one minus those of the other, as a table."""

from collections.abc import Iterator, Mapping, Sequence
from math import isnan
from typing import Any, Literal, NamedTuple, get_args

import pandas as pd

from reports.experiment import Experiment
from reports.frames import records
from reports.pages.matches import Match
from reports.sequential import look_level, strictest
from reports.statistics import LEVEL, paired_effect, summarise, welch_interval
from reports.table import describe_counts
from reports.values import by_seed

Agreement = Literal["identical", "agree", "differ in size", "opposite", "differ", "undecided", "no interval"]
"""What two effects of one variant are to each other, see `agreement`."""

AGREEMENTS: tuple[Agreement, ...] = get_args(Agreement)

SIDE = ("mean", "n", "runs", "effect", "effect_low", "effect_high")
COLUMNS = (
    *("experiment", "metric", "variant", "is_base"),
    *(f"first_{name}" for name in SIDE),
    *(f"second_{name}" for name in SIDE),
    *("difference", "low", "high", "method", "n_seeds", "change", "change_low", "change_high", "agreement"),
)
"""`difference`: second minus first; `change`: effect in the second minus effect in the first."""

BySeed = Mapping[int, float]


class Gap(NamedTuple):
    """Second minus first."""

    difference: float
    low: float
    high: float
    """Interval; NaN where there is none."""
    method: str
    """paired or Welch"""
    n_seeds: int
    """Pairs of seeds; without pairs the smaller number of seeds."""
    equal: bool
    """No seed differs."""


NO_GAP = Gap(float("nan"), float("nan"), float("nan"), "", 0, False)


def comparison_table(found: Sequence[Match]) -> pd.DataFrame:
    """A row for each matched experiment, headline metric of both and matched variant (COLUMNS)."""
    rows = [row for match in found for row in _rows(match)]
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    numbers = [c for c in COLUMNS if c.endswith(("mean", "effect", "low", "high", "difference", "change"))]
    return table.astype({**dict.fromkeys(numbers, float), "is_base": bool})


def _rows(match: Match) -> Iterator[dict[str, Any]]:
    counts = [_counts(experiment) for experiment in (match.first, match.second)]
    for metric in [m for m in match.first.metrics if m in match.second.metrics]:
        values = [by_seed(e.values, e.name, metric) for e in (match.first, match.second)]
        effects = [_of_variant(e.tables.effects, metric) for e in (match.first, match.second)]
        for names in match.variants:
            a, b = (of.get(name, {}) for of, name in zip(values, names, strict=True))
            first, second = (of.get(name) for of, name in zip(effects, names, strict=True))
            whole = gap(a, b, paired=same_data(match, names), level=level_of(match))
            change = _change(match, metric, names)
            yield {
                "experiment": match.name,
                "metric": metric,
                "variant": names[0],
                "is_base": names[0] == match.first.base,
                **_side("first", a, first, counts[0][names[0]]),
                **_side("second", b, second, counts[1][names[1]]),
                **{name: value for name, value in whole._asdict().items() if name != "equal"},
                "change": change.difference,
                "change_low": change.low,
                "change_high": change.high,
                "agreement": agreement(first, second, change) if first and second else "",
            }


def _counts(experiment: Experiment) -> dict[str, str]:
    return {row["variant"]: describe_counts(row) for row in records(experiment.tables.variants)}


def _of_variant(effects: pd.DataFrame, metric: str) -> dict[str, dict[str, Any]]:
    return {row["variant"]: row for row in records(effects[effects["metric"] == metric])}


def _side(side: str, values: BySeed, effect: Mapping[str, Any] | None, runs: str) -> dict[str, Any]:
    shown = effect or {"difference": None, "low": None, "high": None}
    return {
        f"{side}_mean": summarise(list(values.values())).mean if values else None,
        f"{side}_n": len(values),
        f"{side}_runs": runs,
        f"{side}_effect": shown["difference"],
        f"{side}_effect_low": shown["low"],
        f"{side}_effect_high": shown["high"],
    }


def _change(match: Match, metric: str, names: tuple[str, str]) -> Gap:
    """Effect in the second minus effect in the first: paired where both the variant and the base are."""
    bases = match.first.base, match.second.base
    sides = [_differences(e, metric, name) for e, name in zip((match.first, match.second), names, strict=True)]
    return gap(*sides, paired=same_data(match, names) and same_data(match, bases), level=level_of(match))


def _differences(experiment: Experiment, metric: str, variant: str) -> dict[int, float]:
    rows = experiment.tables.differences
    rows = rows[(rows["metric"] == metric) & (rows["variant"] == variant)]
    return {int(seed): float(d) for seed, d in zip(rows["seed"], rows["difference"], strict=True)}


def level_of(match: Match) -> float:
    """Level of intervals between the studies: the higher of the two, where seeds were added in one."""
    return look_level(strictest(e.looks for e in (match.first, match.second)))


def gap(first: BySeed, second: BySeed, *, paired: bool, level: float = LEVEL) -> Gap:
    """Mean of the second minus mean of the first, over the seeds that both have where they are paired.

    The interval is that of the paired differences, or Welch's. Where all pairs differ by the same there is none.
    """
    if not first or not second:
        return NO_GAP
    seeds = sorted(first.keys() & second.keys()) if paired else []
    a, b = ([side[s] for s in seeds] if seeds else list(side.values()) for side in (first, second))
    if seeds:
        found = paired_effect(a, b, level=level)
        interval = None if found.low is None or found.high is None else (found.low, found.high)
        difference = found.difference
    else:
        interval, difference = welch_interval(a, b, level=level), summarise(b).mean - summarise(a).mean
    low, high = interval or (float("nan"), float("nan"))
    method = "paired" if seeds else "Welch"
    return Gap(difference, low, high, method, min(len(a), len(b)), bool(seeds) and a == b)


def same_data(match: Match, names: tuple[str, str]) -> bool:
    """Whether a variant was trained and tested on the same data in both studies, seed by seed, as far as both have it.

    Then a seed stands for the same order of the same batches, and its values can be paired.
    """
    sides = [_data(e, name) for e, name in zip((match.first, match.second), names, strict=True)]
    shared = sides[0].keys() & sides[1].keys()
    return bool(shared) and all(sides[0][seed] == sides[1][seed] and sides[0][seed][1] for seed in shared)


def _data(experiment: Experiment, variant: str) -> dict[int, tuple[Any, Any]]:
    """Task and fingerprint of the data of each run of a variant, by seed."""
    configs = {row.seed: row.run["config"] for row in experiment.runs if row.variant == variant and row.run}
    return {seed: (config.get("task"), config.get("data")) for seed, config in configs.items()}


def agreement(first: Mapping[str, Any], second: Mapping[str, Any], change: Gap) -> Agreement:
    """What two effects of one variant are to each other.

    identical: no seed differs. agree: both intervals lie on the same side of zero, and that of the change holds zero;
    differ in size: it does not. opposite: they lie on different sides. differ: one or both hold zero, and the change
    does not. undecided: nor does the change: that one effect is certain and the other is not says nothing by itself
    (Gelman and Stern 2006). no interval: on either side, for want of seeds or since all give the same.
    """
    if change.equal:
        return "identical"
    if isnan(first["low"]) or isnan(second["low"]):
        return "no interval"
    sides = [(effect["low"] > 0) - (effect["high"] < 0) for effect in (first, second)]
    changed = change.low > 0 or change.high < 0
    if sides[0] and sides[1]:
        return "opposite" if sides[0] != sides[1] else "differ in size" if changed else "agree"
    return "differ" if changed else "undecided"
