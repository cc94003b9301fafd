"""Statistics over seeds.

The unit is one seed of one variant; a variant and its base are paired by seed, since both start from the same weights
where they share them and see the same data in the same order. Intervals are t intervals over seeds: they speak of new
seeds on the same test items, and of new test items too where the variance under resampling of the items is given
(`reports/resampling.py`). A percentile bootstrap over a handful of seeds covers far too little (75 % instead of 95 %
with three) and is not used.

What the intervals cover is simulated in tests/reports/test_coverage.py. Where a seed fails now and then (one in ten,
its value dropping to 0) no interval from three seeds can know of it: the t interval of the mean covers 27 % with three
seeds, 41 % with five, 65 % with ten. The share of seeds with its exact interval covers at least 95 %, and is printed
beside it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

LEVEL = 0.95
"""Level of every interval in a report."""

ROUNDING = 1e-12
"""Differences below this part of the values are taken for rounding."""

Floats = NDArray[np.float64]
Interval = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Summary:
    """One variant on one metric, over its seeds."""

    n: int
    mean: float
    deviation: float | None
    """Sample standard deviation (n - 1); None below two seeds."""
    low: float | None
    high: float | None
    """Interval of the mean; None below two seeds and where all are equal."""


@dataclass(frozen=True, kw_only=True)
class Effect:
    """How far a variant is from its base on one metric: variant minus base, in the metric's unit, seeds paired."""

    n_seeds: int
    difference: float
    """Mean over seeds."""
    low: float | None
    high: float | None
    """Paired t interval, the item part in it where it is known; None below two seeds. Where every seed gives the same
    difference it is from the item part alone, and None without one."""
    p_value: float | None
    """Two-sided paired t test by the standard error of the interval, so that p < 1 - level exactly where the interval
    leaves out zero; None below two seeds, and where every seed gives the same difference."""
    standardised: float | None
    """Difference in standard deviations of the paired differences; None where p_value is."""
    seed_variance: float | None
    """Variance of `difference` from seed to seed: sample variance of the paired differences / n; None for one seed."""
    item_variance: float | None
    """Variance of `difference` under resampling of the test items; None where items are not known."""
    correlation: float | None
    """Of variant and base over seeds: how much the pairing buys; None where either does not vary."""
    welch_low: float | None
    welch_high: float | None
    """Interval without the pairing (Welch); None where neither side varies."""
    all_equal: bool
    """Every seed gives the same difference, and there are at least two."""
    successes: int
    """Seeds whose difference has the sign of the mean (or is zero, as the mean is)."""
    successes_low: float
    successes_high: float
    """Exact binomial interval of the share of such seeds."""


def summarise(values: ArrayLike, *, level: float = LEVEL) -> Summary:
    """Mean, sample deviation and t interval of the mean of at least one value, one a seed."""
    x = _finite(values)
    interval = t_interval(x, level=level)
    return Summary(
        n=len(x),
        mean=float(x.mean()),
        deviation=float(x.std(ddof=1)) if len(x) > 1 else None,
        low=interval[0] if interval else None,
        high=interval[1] if interval else None,
    )


def paired_effect(
    base: ArrayLike, variant: ArrayLike, *, item_variance: float | None = None, level: float = LEVEL
) -> Effect:
    """Effect of a variant against its base, both with one value a seed in the same order of seeds, at least one.

    item_variance: of the mean over these seeds of variant - base under resampling of the test items, as
    `resampling.item_variance` has it, in the square of the metric's unit.
    Raises ValueError for arms of different length, values that are not finite, and a negative or infinite variance.
    """
    b, v = _finite(base), _finite(variant)
    if len(b) != len(v):
        raise ValueError(f"base has {len(b)} seeds and variant {len(v)}: give the seeds that both have")
    if item_variance is not None and not 0 <= item_variance < np.inf:
        raise ValueError(f"the item variance must be a finite number of at least 0: {item_variance}")
    d = v - b
    rounding = ROUNDING * float(np.abs([b, v]).max())
    spread = not _all_equal(d, rounding)
    interval, p_value = _interval_and_p(d, spread, item_variance or 0.0, level)
    welch = welch_interval(b, v, level=level)
    successes = int(same_sign(d, rounding))
    share = binomial_interval(successes, len(d), level=level)
    return Effect(
        n_seeds=len(d),
        difference=float(d.mean()),
        low=interval[0] if interval else None,
        high=interval[1] if interval else None,
        p_value=p_value,
        standardised=float(d.mean() / d.std(ddof=1)) if spread else None,
        seed_variance=None if len(d) == 1 else float(d.var(ddof=1) / len(d)) if spread else 0.0,
        item_variance=item_variance,
        correlation=None if _all_equal(b) or _all_equal(v) else float(np.corrcoef(b, v)[0, 1]),
        welch_low=welch[0] if welch else None,
        welch_high=welch[1] if welch else None,
        all_equal=len(d) > 1 and not spread,
        successes=successes,
        successes_low=share[0],
        successes_high=share[1],
    )


def t_tests(
    differences: Floats, item_variance: ArrayLike = 0.0, *, level: float = LEVEL
) -> tuple[Floats, Floats, Floats]:
    """Mean of paired differences (..., n) over n >= 2 seeds, for many studies at once: low, high and p, each (...).

    SE^2 = sample variance / n + item_variance (...), with t on n - 1 degrees of freedom. The item part rests on many
    items, so that n - 1 is fewer than the sum deserves (Satterthwaite 1946): the interval errs to the wide side.
    low = high and p is NaN where SE is 0.
    """
    n, mean = differences.shape[-1], differences.mean(axis=-1)
    error = np.sqrt(differences.var(axis=-1, ddof=1) / n + np.asarray(item_variance, dtype=np.float64))
    half = stats.t.ppf((1 + level) / 2, n - 1) * error
    t = np.divide(np.abs(mean), error, out=np.full_like(error, np.nan), where=error > 0)
    return mean - half, mean + half, np.asarray(2 * stats.t.sf(t, n - 1))


def t_interval(values: ArrayLike, *, level: float = LEVEL, rounding: float | None = None) -> Interval | None:
    """Student's t interval of the mean; None below two values, and where all are equal: no spread says nothing.

    Values that lie within `rounding` count as equal; ROUNDING of the largest unless given.
    """
    x = _finite(values)
    if _all_equal(x, rounding):
        return None
    low, high, _ = t_tests(x, level=level)
    return float(low), float(high)


def welch_interval(base: ArrayLike, variant: ArrayLike, *, level: float = LEVEL) -> Interval | None:
    """Interval of mean(variant) - mean(base) from unpaired values of unequal variance (Welch 1947).

    None below two values on either side, and where neither side varies.
    """
    b, v = _finite(base), _finite(variant)
    if min(len(b), len(v)) < 2 or (_all_equal(b) and _all_equal(v)):
        return None
    parts = np.array([b.var(ddof=1) / len(b), v.var(ddof=1) / len(v)])
    freedom = parts.sum() ** 2 / (parts**2 / [len(b) - 1, len(v) - 1]).sum()
    half = stats.t.ppf((1 + level) / 2, freedom) * np.sqrt(parts.sum())
    return float(v.mean() - b.mean() - half), float(v.mean() - b.mean() + half)


@cache
def binomial_interval(successes: int, trials: int, *, level: float = LEVEL) -> Interval:
    """Exact interval of a share (Clopper & Pearson 1934)."""
    interval = stats.binomtest(successes, trials).proportion_ci(level, method="exact")
    return float(interval.low), float(interval.high)


def unanimous_half_width(items: int, error: float) -> float:
    """How far the share of all items there could be may lie from a share of 1, or of 0, of the M that were tested.

    1 - error^(1/M), which is the end of the exact interval for M of M (Clopper & Pearson 1934), `error` the chance
    that it is too short. Draws of such items say nothing: they are all alike. The bound holds for the mean over any
    number of seeds too, alike or not, on the same items: if seed s is right on a share p_s of all items, the chance
    that all are right on all of M is at most min(p_s)^M, so at most mean(p_s)^M; where that mean lies below
    error^(1/M) it is less than `error`. An item may be a sequence of several answers, as many in each: the share of
    wrong answers is then at most that of sequences with a wrong one, which the same bound holds for.

    Raises ValueError below one item, and unless 0 < error < 1.
    """
    if items < 1 or not 0 < error < 1:
        raise ValueError(f"at least one item, and a chance between 0 and 1: {items}, {error}")
    return -float(np.expm1(np.log(error) / items))


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """p values adjusted for their number, so that p < 0.05 anywhere is an error in 5 % of families (Holm 1979).

    One comes back for each, in the same order. None and NaN come back as None and do not count in the family. Raises
    ValueError for what lies outside 0 to 1.
    """
    known = [i for i, p in enumerate(p_values) if p is not None and not np.isnan(p)]
    p = np.array([p_values[i] for i in known], dtype=np.float64)
    if ((p < 0) | (p > 1)).any():
        raise ValueError(f"p values lie between 0 and 1: {list(p_values)}")
    adjusted: list[float | None] = [None] * len(p_values)
    for i, value in zip(known, holm_adjusted(p), strict=True):
        adjusted[i] = float(value)
    return adjusted


def holm_adjusted(p_values: Floats) -> Floats:
    """Holm's adjustment along the last axis: families (..., m) of p values, all known; see `holm`."""
    order = p_values.argsort(axis=-1, kind="stable")
    steps = np.take_along_axis(p_values, order, axis=-1) * np.arange(p_values.shape[-1], 0, -1)
    adjusted = np.empty_like(p_values)
    np.put_along_axis(adjusted, order, np.minimum(np.maximum.accumulate(steps, axis=-1), 1), axis=-1)
    return adjusted


def same_sign(differences: Floats, rounding: ArrayLike = 0.0) -> NDArray[np.int64]:
    """Of n differences (..., n), how many (...) lie on the side of their mean; within `rounding` (...) of zero is zero.

    These are the `successes` of an effect.
    """
    limit = np.asarray(rounding, dtype=np.float64)
    mean = differences.mean(axis=-1)
    signs = np.where(np.abs(differences) <= limit[..., None], 0.0, np.sign(differences))
    side = np.where(np.abs(mean) <= limit, 0.0, np.sign(mean))
    return (signs == side[..., None]).sum(axis=-1)


def _interval_and_p(
    d: Floats, spread: bool, item_variance: float, level: float
) -> tuple[Interval | None, float | None]:
    """Of the mean difference; from the items alone where every seed gives the same, with no p from zero spread.

    Then too with t on n - 1: few seeds may be equal by chance, most of all where a score is a count of few items.
    """
    if len(d) == 1 or not (spread or item_variance):
        return None, None
    low, high, p_value = t_tests(d if spread else np.full_like(d, d.mean()), item_variance, level=level)
    return (float(low), float(high)), float(p_value) if spread else None


def _finite(values: ArrayLike) -> Floats:
    x = np.asarray(values, dtype=np.float64)
    if x.ndim != 1 or not x.size or not np.isfinite(x).all():
        raise ValueError(f"one finite value a seed is wanted, at least one: {x!r}")
    return x


def _all_equal(x: Floats, rounding: float | None = None) -> bool:
    """Equal but for rounding: 0.9 - 0.6 and 0.8 - 0.5 are the same difference. True for one value."""
    return bool(np.ptp(x) <= (ROUNDING * np.abs(x).max() if rounding is None else rounding))
