"""Regions: the values of a quantity that agree with a claim, fixed before the run."""

from dataclasses import dataclass
from math import inf, isclose, isfinite, isnan

ROUNDING = 1e-12
"""Part of an end of a region within which a value counts as equal to it: 0.3 - 0.1 is 0.2."""


@dataclass(frozen=True, kw_only=True)
class Region:
    """Values that agree with a claim: from `low` to `high`, either of which may be infinite.

    A ratio is judged as it stands, with the interval taken back from logarithms: the order is the same. ValueError
    for a region that is empty or holds everything, for a ratio that is not positive, for a number that is none.
    """

    low: float = -inf
    high: float = inf
    closed: bool = True
    """Whether the ends belong to it."""
    reference: float | None = None
    """Value that means "no effect": 0, or 1 for a ratio, unless given (chance, for a level)."""
    ratio: bool = False

    def __post_init__(self) -> None:
        if isnan(self.low) or isnan(self.high) or not isfinite(self.no_effect):
            raise ValueError("a region has numbers for ends and a finite reference")
        if self.low > self.high or (self.low == self.high and not self.closed):
            raise ValueError(f"from {brief(self.low)} to {brief(self.high)} there is nothing")
        if not (isfinite(self.low) or isfinite(self.high)):
            raise ValueError("a region with neither end holds everything")
        if self.ratio and (self.no_effect <= 0 or any(isfinite(end) and end <= 0 for end in (self.low, self.high))):
            raise ValueError("the ends of a ratio are above zero")

    @property
    def no_effect(self) -> float:
        """The reference."""
        return self.reference if self.reference is not None else float(self.ratio)

    @property
    def text(self) -> str:
        """The region in words: `at least 0.1`, `below 0`, `between −0.05 and 0.05`, `a ratio of at most 0.15`.

        One too narrow for the digits of its ends is `0.111 ± 1e−09`.
        """
        if self.low == self.high:
            words = f"exactly {brief(self.low)}"
        elif brief(self.low) == brief(self.high):
            words = f"{brief((self.low + self.high) / 2)} ± {brief((self.high - self.low) / 2)}"
        elif isfinite(self.low) and isfinite(self.high):
            words = f"between {brief(self.low)} and {brief(self.high)}"
        elif isfinite(self.low):
            words = f"{'at least' if self.closed else 'above'} {brief(self.low)}"
        else:
            words = f"{'at most' if self.closed else 'below'} {brief(self.high)}"
        return f"a ratio {'of ' if words.startswith('at') else ''}{words}" if self.ratio else words

    def holds(self, low: float, high: float) -> bool:
        """Whether all of an interval, or a point given twice, lies inside."""
        low, high = self.snapped(low), self.snapped(high)
        if self.closed:
            return self.low <= low and high <= self.high
        return self.low < low and high < self.high

    def meets(self, low: float, high: float) -> bool:
        """Whether any of it does."""
        low, high = self.snapped(low), self.snapped(high)
        if self.closed:
            return low <= self.high and self.low <= high
        return low < self.high and self.low < high

    def snapped(self, value: float) -> float:
        """The end of the region that a value is but for rounding, or the value itself; an end of 0 is exact."""
        return next((end for end in (self.low, self.high) if isclose(value, end, rel_tol=ROUNDING)), value)


def brief(value: float) -> str:
    """A number in running text: three digits, a proper minus sign, no minus zero."""
    return f"{value + 0.0:.3g}".replace("-", "−")
