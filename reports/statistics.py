"""Statistics over seeds.

The unit is one seed of one variant; a variant and its base are paired by seed, since both start from the same weights
where they share them and see the same data in the same order. Intervals are t intervals over seeds: they speak of new
seeds on the same test items. A percentile bootstrap over a handful of seeds covers far too little (76 % instead of 95 %
with three) and is not used.
"""

from dataclasses import dataclass

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
    """Paired t interval; None below two seeds, and where every seed gives the same difference."""
    p_value: float | None
    """Two-sided paired t test; None where there is no interval."""
    standardised: float | None
    """Difference in standard deviations of the paired differences; None where there is no interval."""
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


def paired_effect(base: ArrayLike, variant: ArrayLike, *, level: float = LEVEL) -> Effect:
    """Effect of a variant against its base, both with one value a seed in the same order of seeds, at least one."""
    b, v = _finite(base), _finite(variant)
    if len(b) != len(v):
        raise ValueError(f"base has {len(b)} seeds and variant {len(v)}: give the seeds that both have")
    d = v - b
    rounding = ROUNDING * float(np.abs([b, v]).max())
    interval = None if _all_equal(d, rounding) else t_interval(d, level=level)
    welch = welch_interval(b, v, level=level)
    successes = _same_sign(d, rounding)
    share = binomial_interval(successes, len(d), level=level)
    return Effect(
        n_seeds=len(d),
        difference=float(d.mean()),
        low=interval[0] if interval else None,
        high=interval[1] if interval else None,
        p_value=float(stats.ttest_1samp(d, 0.0).pvalue) if interval else None,
        standardised=float(d.mean() / d.std(ddof=1)) if interval else None,
        correlation=None if _all_equal(b) or _all_equal(v) else float(np.corrcoef(b, v)[0, 1]),
        welch_low=welch[0] if welch else None,
        welch_high=welch[1] if welch else None,
        all_equal=len(d) > 1 and interval is None,
        successes=successes,
        successes_low=share[0],
        successes_high=share[1],
    )


def t_interval(values: ArrayLike, *, level: float = LEVEL) -> Interval | None:
    """Student's t interval of the mean; None below two values, and where all are equal: no spread says nothing."""
    x = _finite(values)
    if _all_equal(x):
        return None
    half = stats.t.ppf((1 + level) / 2, len(x) - 1) * x.std(ddof=1) / np.sqrt(len(x))
    return float(x.mean() - half), float(x.mean() + half)


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


def binomial_interval(successes: int, trials: int, *, level: float = LEVEL) -> Interval:
    """Exact interval of a share (Clopper & Pearson 1934)."""
    interval = stats.binomtest(successes, trials).proportion_ci(level, method="exact")
    return float(interval.low), float(interval.high)


def _finite(values: ArrayLike) -> Floats:
    x = np.asarray(values, dtype=np.float64)
    if x.ndim != 1 or not x.size or not np.isfinite(x).all():
        raise ValueError(f"one finite value a seed is wanted, at least one: {x!r}")
    return x


def _all_equal(x: Floats, rounding: float | None = None) -> bool:
    """Equal but for rounding: 0.9 - 0.6 and 0.8 - 0.5 are the same difference. True for one value."""
    return bool(np.ptp(x) <= (ROUNDING * np.abs(x).max() if rounding is None else rounding))


def _same_sign(d: Floats, rounding: float) -> int:
    """Number of differences on the side of their mean; what is within rounding of zero counts as zero."""
    signs = np.where(np.abs(d) <= rounding, 0.0, np.sign(d))
    side = 0.0 if abs(d.mean()) <= rounding else np.sign(d.mean())
    return int((signs == side).sum())
