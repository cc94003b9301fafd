"""What a number of seeds can show: noise floor, smallest effect that can be resolved, seeds needed.

All for the two-sided paired t test over seeds, by the noncentral t distribution (Cohen 1988, chapter 2). They take the
deviation of the paired differences for known; from a pilot of three seeds it is known to within a factor of 0.5 to 6
(95 %), and the answers are no better than that.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, stats

from reports.statistics import LEVEL, Interval, summarise

POWER = 0.8
"""How often an effect of the wanted size is to be found."""

MANY = 10**9
"""More seeds than this are called none at all."""


def noise_floor(base: ArrayLike) -> float | None:
    """Sample deviation of the base over its seeds, in the metric's unit; None for one seed.

    Raises ValueError without a value and for values that are not finite.
    """
    return summarise(base).deviation


def deviation_interval(deviation: float, n: int, *, level: float = LEVEL) -> Interval | None:
    """Where the true deviation lies, given the sample deviation of n normal values; None below two values.

    s * sqrt((n - 1) / q), q the quantiles of chi-square on n - 1 degrees of freedom at both ends of the level. Raises
    ValueError for a negative or infinite deviation.
    """
    _check_deviation(deviation)
    if n < 2:
        return None
    low, high = deviation * np.sqrt((n - 1) / stats.chi2.isf([(1 - level) / 2, (1 + level) / 2], n - 1))
    return float(low), float(high)


def power_of_test(effect: float, deviation: float, n: int, *, level: float = LEVEL) -> float:
    """How often n >= 2 seeds show a true `effect` of paired differences of this deviation (> 0): p < 1 - level."""
    critical = stats.t.ppf((1 + level) / 2, n - 1)
    centre = abs(effect) / deviation * np.sqrt(n)
    # the wrong side by symmetry: scipy's cdf is NaN where it is next to nothing
    return float(stats.nct.sf(critical, n - 1, centre) + stats.nct.sf(critical, n - 1, -centre))


def smallest_effect(sd_of_differences: float, n: int, power: float = POWER, *, level: float = LEVEL) -> float | None:
    """The effect that n seeds show with the wanted power, in the metric's unit.

    None below two seeds, which show nothing. 0 for a deviation of 0: seeds that all differ by the same amount show any
    effect, as far as they can be believed. Raises ValueError for a negative or infinite deviation and for a power that
    does not lie between 1 - level and 1.
    """
    _check(sd_of_differences, power, level)
    if n < 2:
        return None
    upper = 1.0
    while power_of_test(upper, 1.0, n, level=level) < power:
        upper *= 2
    found = optimize.brentq(lambda d: power_of_test(d, 1.0, n, level=level) - power, 0.0, upper, xtol=1e-14)
    return float(found) * sd_of_differences


def seeds_needed(effect: float, sd_of_differences: float, power: float = POWER, *, level: float = LEVEL) -> int | None:
    """The fewest seeds, at least two, that show this effect with the wanted power.

    None where no number does: an effect of 0, and one that would take more than MANY. Two for a deviation of 0. Raises
    ValueError as `smallest_effect` does, and for an effect that is not finite.
    """
    _check(sd_of_differences, power, level)
    if not np.isfinite(effect):
        raise ValueError(f"the effect must be a finite number: {effect}")
    if effect == 0:
        return None
    # what normal deviates would need is a seed or three fewer than what t needs
    wanted = stats.norm.ppf((1 + level) / 2) + stats.norm.ppf(power)
    n = max(2, int(min((wanted * sd_of_differences / effect) ** 2, MANY)))
    while n <= MANY and not _enough(n, effect, sd_of_differences, power, level):
        n += 1
    while n > 2 and _enough(n - 1, effect, sd_of_differences, power, level):
        n -= 1
    return n if n <= MANY else None


def _enough(n: int, effect: float, deviation: float, power: float, level: float) -> bool:
    # far out the noncentral t is 1 to all digits, and slow or undefined to compute
    if abs(effect) * np.sqrt(n) > 100 * deviation * stats.t.ppf((1 + level) / 2, n - 1):
        return True
    return power_of_test(effect, deviation, n, level=level) >= power


def _check(deviation: float, power: float, level: float) -> None:
    _check_deviation(deviation)
    if not 1 - level < power < 1:
        raise ValueError(f"the power must lie between {1 - level:g} and 1: {power}")


def _check_deviation(deviation: float) -> None:
    if not 0 <= deviation < np.inf:
        raise ValueError(f"the deviation must be a finite number of at least 0: {deviation}")
