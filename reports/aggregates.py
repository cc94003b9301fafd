"""Numbers over several tasks: interquartile mean and probability of improvement (Agarwal et al. 2021).

Letters: S seeds, T tasks; scores (S, T) are on a common scale, larger is better. The paper takes its intervals from a
bootstrap of the seeds within each task. With a handful of seeds such an interval covers far too little, and where a
variant is better in every seed it has no width. What is used in its place:

- interquartile mean: one for each seed, over the tasks, then t over seeds. This is the mean of the interquartile means.
- probability of improvement: the bound of Hoeffding (1963) for means of numbers in [0, 1]. It holds for any
  distribution and any number of seeds, and is wide.

Both speak of new seeds on the same tasks.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, special, stats

from reports.statistics import LEVEL, Effect, Interval, paired_effect

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Improvement:
    """How often a run of the variant scores higher than a run of the base on the same task."""

    n_base: int
    n_variant: int
    """Seeds of either."""
    n_tasks: int
    probability: float
    """Mean over tasks; equal scores count half."""
    low: float | None
    high: float | None
    """Covers at least its level; None where one of them has one seed."""
    per_task: tuple[float, ...]


def interquartile_mean(scores: ArrayLike) -> float:
    """Mean of all scores, of any shape, without the lowest and the highest quarter (each rounded down)."""
    return float(stats.trim_mean(np.asarray(scores, dtype=np.float64), 0.25, axis=None))


def interquartile_mean_effect(base: ArrayLike, variant: ArrayLike, *, level: float = LEVEL) -> Effect:
    """Variant minus base of the seeds' interquartile means, both (S, T) of the same seeds and tasks, paired by seed.

    Raises ValueError for gaps and for different shapes.
    """
    b, v = _checked(base), _checked(variant)
    if b.shape != v.shape:
        raise ValueError(f"base and variant must have the same seeds and tasks: {b.shape} and {v.shape}")
    return paired_effect(_by_seed(b), _by_seed(v), level=level)


def probability_of_improvement(base: ArrayLike, variant: ArrayLike, *, level: float = LEVEL) -> Improvement:
    """Probability of improvement over tasks from scores (S, T) and (S', T) of the same tasks.

    On each task it is the share of pairs (run of the variant, run of the base) that the variant wins, which is U / S S'
    of Mann & Whitney (1947). Raises ValueError for gaps and for different tasks.

    Interval: the share over all pairs is the average, over all ways to pair the runs, of means of min(S, S') T
    independent numbers in [0, 1], and obeys their bound (Hoeffding 1963, theorem 1 and section 5). Runs are taken to be
    independent. Seeds shared by base and variant make their scores rise and fall together, and the share vary less.
    """
    b, v = _checked(base), _checked(variant)
    if b.shape[1] != v.shape[1]:
        raise ValueError(f"base has {b.shape[1]} tasks and variant {v.shape[1]}")
    wins = (np.sign(v[:, None] - b[None]) + 1).mean(axis=(0, 1)) / 2
    runs = min(len(b), len(v))
    interval = hoeffding_interval(float(wins.mean()), runs * b.shape[1], level=level) if runs > 1 else None
    return Improvement(
        n_base=len(b),
        n_variant=len(v),
        n_tasks=b.shape[1],
        probability=float(wins.mean()),
        low=interval[0] if interval else None,
        high=interval[1] if interval else None,
        per_task=tuple(wins.tolist()),
    )


def hoeffding_interval(mean: float, n: int, *, level: float = LEVEL) -> Interval:
    """Interval of the expected mean of n independent numbers in [0, 1] (Hoeffding 1963, equation 2.1).

    All m with n KL(mean, m) <= log(2 / (1 - level)), KL being that of two Bernoulli distributions. Covers at least
    `level` whatever the distribution. Equal to the interval of Clopper & Pearson for a mean of 0 or 1.
    """
    limit = np.log(2 / (1 - level)) / n

    def beyond(m: float) -> float:
        kept, rest = special.rel_entr(mean, m), special.rel_entr(1 - mean, 1 - m)
        return float(min(kept + rest, 1e9) - limit)

    low = optimize.brentq(beyond, 0.0, mean, xtol=1e-14) if mean > 0 else 0.0
    high = optimize.brentq(beyond, mean, 1.0, xtol=1e-14) if mean < 1 else 1.0
    return float(low), float(high)


def _by_seed(scores: Floats) -> Floats:
    """Interquartile mean over tasks of every seed, (S, T) to (S,)."""
    return np.array([interquartile_mean(of_seed) for of_seed in scores])


def _checked(scores: ArrayLike) -> Floats:
    x = np.asarray(scores, dtype=np.float64)
    if x.ndim != 2 or not x.size or not np.isfinite(x).all():
        raise ValueError(f"finite scores, seeds by tasks, are wanted: leave out seeds with gaps ({x.shape})")
    return x
