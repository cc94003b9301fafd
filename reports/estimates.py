"""What the runs say of a claim's quantity, as an estimate with one value a seed: differences, levels, ratios, slopes,
times, worst errors. The rule that judges them is in reports.verdicts.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reports.regions import Region
from reports.statistics import LEVEL, Interval, paired_effect
from reports.verdicts import Estimate

Floats = NDArray[np.float64]


def difference(
    base: ArrayLike,
    variant: ArrayLike,
    *,
    item_variance: float | None = None,
    unanimous: Interval | None = None,
    level: float = LEVEL,
) -> Estimate:
    """Variant minus base, (n,) each, the same seeds in the same order; `item_variance` as in `paired_effect`.

    `unanimous`: how far below and above the common difference of all seeds the true one may lie, where neither seeds
    nor draws of items have any spread and that is known all the same
    (statistics.unanimous_half_width).
    """
    effect = paired_effect(base, variant, item_variance=item_variance, level=level)
    values = np.asarray(variant, np.float64) - np.asarray(base, np.float64)
    found = Estimate(
        value=effect.difference,
        low=effect.low,
        high=effect.high,
        per_seed=tuple(values.tolist()),
        scope="seeds" if item_variance is None else "seeds and items",
    )
    if unanimous is None or not effect.all_equal or effect.low is not None:
        return found
    below, above = unanimous
    return replace(found, low=found.value - below, high=found.value + above, scope="seeds and items")


def mean_level(
    values: ArrayLike,
    *,
    item_variance: float | None = None,
    unanimous: Interval | None = None,
    level: float = LEVEL,
) -> Estimate:
    """A quantity of one variant by itself, (n,); `item_variance` is that of its mean over seeds."""
    nothing = np.zeros(np.shape(values))
    return difference(nothing, values, item_variance=item_variance, unanimous=unanimous, level=level)


def excess(
    values: ArrayLike, oracle: ArrayLike, *, unanimous: Interval | None = None, level: float = LEVEL
) -> Estimate:
    """How far a variant (n,) is above a known floor or oracle on the same items: one number, or one a seed."""
    known = np.broadcast_to(np.asarray(oracle, np.float64), np.shape(values))
    return difference(known, values, unanimous=unanimous, level=level)


def ratio(
    base: ArrayLike,
    variant: ArrayLike,
    *,
    floor: float,
    item_variance: float | None = None,
    unanimous: Interval | None = None,
    level: float = LEVEL,
) -> Estimate:
    """Variant over base, (n,) each: mean and interval of the differences of logarithms, taken back.

    What is below `floor` counts as the floor, which is fixed beforehand. `item_variance` is that of the mean difference
    of logarithms, and `unanimous` of it too.
    """
    logs = [floored_logs(side, floor) for side in (base, variant)]
    return _from_logs(difference(*logs, item_variance=item_variance, unanimous=unanimous, level=level))


def floored_logs(values: ArrayLike, floor: float) -> Floats:
    """Logarithms of values of at least zero, those below the floor counted there. ValueError for other values."""
    x = np.asarray(values, np.float64)
    if floor <= 0 or not np.isfinite(x).all() or (x < 0).any():
        raise ValueError("a ratio is of values that are at least 0, with a floor above 0")
    return np.log(np.maximum(x, floor))


def worst(values: ArrayLike, region: Region) -> Estimate:
    """The value, of at least one, that is furthest out of the region; inside it, the one nearest to an end of it."""
    x = np.asarray(values, np.float64)
    room = np.minimum(x - region.low, region.high - x)
    value = float(x[np.argmin(room)])
    return Estimate(value=value, low=None, high=None, per_seed=tuple(x.tolist()), exact=True)


def _from_logs(found: Estimate) -> Estimate:
    return replace(
        found,
        value=float(np.exp(found.value)),
        low=None if found.low is None else float(np.exp(found.low)),
        high=None if found.high is None else float(np.exp(found.high)),
        per_seed=tuple(float(np.exp(value)) for value in found.per_seed),
    )
