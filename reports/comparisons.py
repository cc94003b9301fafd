"""How the sides of a condition are compared, by its word in the register: from values by seed to an estimate."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from reports import estimates
from reports.quantities import Measured
from reports.register import Condition
from reports.statistics import Interval, unanimous_half_width
from reports.verdicts import Estimate


@dataclass(frozen=True, kw_only=True)
class Known:
    """What the runs have for a condition."""

    condition: Condition
    seeds: Sequence[int]
    """Those that every side has."""
    sides: Sequence[Measured]
    """In the order of Condition.sides."""
    level: float
    item_variance: float | None = None
    """Of the mean over seeds, when other test items are drawn; None where it is not known."""
    items: int | None = None
    """Number of test items, where all runs have the same and what is compared is a share of them; else None."""
    oracles: Sequence[float] | None = None
    """For an excess: the oracle of each seed's run."""

    def values(self, side: int) -> np.ndarray:
        """(n,) of one side."""
        return np.array([self.sides[side].values[seed] for seed in self.seeds], dtype=np.float64)

    @property
    def base(self) -> np.ndarray:
        """(n,) of what the variant is compared with."""
        return self.values(1)

    @property
    def variant(self) -> np.ndarray:
        """(n,) of the variant."""
        return self.values(0)

    def cut(self, side: int, direction: int) -> int:
        """Seeds of a side whose true value may be larger (1) or smaller (-1)."""
        return sum(self.sides[side].censored.get(seed) == direction for seed in self.seeds)


def compared(known: Known) -> Estimate | None:
    """The estimate that a condition asks for; None where it cannot be made."""
    return COMPARE[known.condition.compare](known)


def _difference(known: Known) -> Estimate:
    found = estimates.difference(
        known.base,
        known.variant,
        item_variance=known.item_variance,
        unanimous=_unanimous(known, known.base, known.variant),
        level=known.level,
    )
    return _with_cut_off_ranges(known, found)


def _ratio(known: Known) -> Estimate:
    """What is below the floor counts as the floor, and so does what is below zero: the fall of a curve that rises."""
    floor = known.condition.floor
    assert floor is not None, "the register has one for each ratio"
    base, variant = (np.maximum(side, floor) for side in (known.base, known.variant))
    found = estimates.ratio(base, variant, floor=floor, item_variance=known.item_variance, level=known.level)
    return _with_cut_off_ranges(known, found)


def _times(known: Known) -> Estimate:
    """Times that were cut off count at what was used up, which makes the ratio smaller than it is on the slower side.

    A reference that was cut off makes it larger than it is.
    """
    found = estimates.ratio(known.base, known.variant, floor=float(np.finfo(float).tiny), level=known.level)
    return replace(found, censored=(known.cut(1, 1), known.cut(0, 1)), cut="time")


def _level(known: Known) -> Estimate:
    found = estimates.mean_level(
        known.variant,
        item_variance=known.item_variance,
        unanimous=_unanimous(known, None, known.variant),
        level=known.level,
    )
    return _with_cut_off_ranges(known, found)


def _excess(known: Known) -> Estimate | None:
    if known.oracles is None:
        return None
    unanimous = _unanimous(known, None, known.variant)
    return estimates.excess(known.variant, known.oracles, unanimous=unanimous, level=known.level)


def _interaction(known: Known) -> Estimate:
    """As one difference of sums, so that what is rounding is measured by the values and not by their differences."""
    variant, against, less_variant, less_against = (known.values(side) for side in range(4))
    found = estimates.difference(against + less_variant, variant + less_against, level=known.level)
    return _with_cut_off_ranges(known, found)


def _exact(known: Known) -> Estimate:
    values = known.variant - known.base if len(known.sides) > 1 else known.variant
    return _with_cut_off_ranges(known, estimates.worst(values, known.condition.region))


COMPARE: dict[str, Callable[[Known], Estimate | None]] = {
    "difference": _difference,
    "ratio": _ratio,
    "times": _times,
    "level": _level,
    "excess": _excess,
    "interaction": _interaction,
    "exact": _exact,
}
"""How each of register.COMPARISONS is computed."""


def _with_cut_off_ranges(known: Known, found: Estimate) -> Estimate:
    """Horizons beyond the range that was looked at: of the variant, and of what is subtracted or divided by."""
    signs = (1, -1, -1, 1)[: len(known.sides)]
    smaller = sum(known.cut(side, -sign) for side, sign in enumerate(signs))
    larger = sum(known.cut(side, sign) for side, sign in enumerate(signs))
    return replace(found, censored=(smaller, larger), cut="range") if smaller or larger else found


def _unanimous(known: Known, base: np.ndarray | None, variant: np.ndarray) -> Interval | None:
    """How far the true difference may lie below and above the one seen, where all seeds answer all items alike.

    Each side that is right, or wrong, on all items has a bound of its own, with half of the error each.
    """
    if known.items is None:
        return None
    half = unanimous_half_width(known.items, (1 - known.level) / 2)
    below = above = 0.0
    for values, sign in ((variant, 1), *([] if base is None else [(base, -1)])):
        if not np.isin(values, (0.0, 1.0)).all() or np.ptp(values):
            return None
        is_low = (values[0] == 1.0) == (sign == 1)
        below, above = (below + half, above) if is_low else (below, above + half)
    return below, above
