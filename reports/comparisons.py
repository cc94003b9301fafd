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
    """The estimate that a condition asks for; None where it cannot be made.

    Horizons between points of a grid may lie anywhere there. The least that is to be expected of the quantity is that
    with all of them at the end that makes it smallest, and the most that at the other end: the interval goes from the
    low end of the one's interval to the high end of the other's. The value stays that of the interpolated horizons.
    """
    compare = COMPARE[known.condition.compare]
    found = compare(known)
    if found is None or not any(side.brackets for side in known.sides):
        return found
    ends = [end for direction in (-1, 1) if (end := compare(_at_ends(known, direction))) is not None]
    return _with_ends(found, ends)


def _at_ends(known: Known, direction: int) -> Known:
    """With horizons at those ends of their brackets that make the quantity smallest (-1) or largest (1)."""
    sides = []
    for sign, side in zip(SIGNS, known.sides, strict=False):
        ends = {seed: bracket[sign * direction > 0] for seed, bracket in side.brackets.items()}
        sides.append(replace(side, values={**side.values, **ends}))
    return replace(known, sides=sides)


def _with_ends(found: Estimate, ends: Sequence[Estimate]) -> Estimate:
    """Seeds that all share an end have no interval there: the end itself stands for it."""
    spans = [_span(one) for one in (found, *ends)]
    span = min(low for low, _ in spans), max(high for _, high in spans)
    known = found.exact or any(one.low is not None for one in (found, *ends))
    return replace(found, low=span[0] if known else None, high=span[1] if known else None, ends=span, drawn=spans[0])


def _span(found: Estimate) -> Interval:
    if found.low is None or found.high is None:
        return found.value, found.value
    return found.low, found.high


def _difference(known: Known) -> Estimate:
    found = estimates.difference(
        known.base,
        known.variant,
        item_variance=known.item_variance,
        unanimous=_unanimous(known),
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
        unanimous=_unanimous(known),
        level=known.level,
    )
    return _with_cut_off_ranges(known, found)


def _excess(known: Known) -> Estimate | None:
    if known.oracles is None:
        return None
    return estimates.excess(known.variant, known.oracles, unanimous=_unanimous(known), level=known.level)


def _interaction(known: Known) -> Estimate:
    """As one difference of sums, so that what is rounding is measured by the values and not by their differences."""
    variant, against, less_variant, less_against = (known.values(side) for side in range(4))
    base, variant = against + less_variant, variant + less_against
    found = estimates.difference(base, variant, unanimous=_unanimous(known), level=known.level)
    return _with_cut_off_ranges(known, found)


def _exact(known: Known) -> Estimate:
    values = known.variant - known.base if len(known.sides) > 1 else known.variant
    return _with_cut_off_ranges(known, estimates.worst(values, known.condition.region))


SIGNS = (1, -1, -1, 1)
"""With which each side stands in the quantity, be it a difference, a ratio or a difference of differences."""

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
    signs = SIGNS[: len(known.sides)]
    smaller = sum(known.cut(side, -sign) for side, sign in enumerate(signs))
    larger = sum(known.cut(side, sign) for side, sign in enumerate(signs))
    return replace(found, censored=(smaller, larger), cut="range") if smaller or larger else found


def _unanimous(known: Known) -> Interval | None:
    """How far the true quantity may lie below and above the one seen, where all seeds answer all items alike.

    Each term that is right, or wrong, on all its items has a bound of its own, with its part of the error, half of it
    where there is one term alone. None where a term is neither, or its items are not the same number in all seeds.
    """
    terms = [
        (SIGNS[place] * term[0].sign, {share.value for share in term}, {share.items for share in term})
        for place, side in enumerate(known.sides)
        for term in zip(*(side.shares.get(seed, ()) for seed in known.seeds), strict=False)
    ]
    if not all(side.shares.get(seed) for side in known.sides for seed in known.seeds):
        return None
    below = above = 0.0
    for sign, values, items in terms:
        if len(values) > 1 or not values <= {0.0, 1.0} or len(items) > 1:
            return None
        half = unanimous_half_width(min(items), (1 - known.level) / max(2, len(terms)))
        is_low = (values == {1.0}) == (sign == 1)
        below, above = (below + half, above) if is_low else (below, above + half)
    return below, above
