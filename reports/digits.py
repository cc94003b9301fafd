"""How many digits a number is printed with: as many as the width of its interval is worth, and no effect as zero."""

from math import floor, isfinite, log10

FINEST = 9
"""Decimals beyond which an interval is taken for rounding."""


def decimals_for(half: float) -> int | None:
    """Decimals at which half the width of an interval has two digits; None where there is no width to go by."""
    if not isfinite(half) or half <= 0:
        return None
    found = 1 - floor(log10(half))
    return found if found <= FINEST else None


def with_interval(value: float, low: float | None, high: float | None) -> str:
    """A value and its interval, three digits or as many as tell them apart: `0.123 (0.100 to 0.146)`, `0.59012`."""
    has_interval = low is not None and high is not None and isfinite(low) and isfinite(high)
    if not has_interval:
        return digits(value)
    assert low is not None
    assert high is not None
    decimals = decimals_for((high - low) / 2)
    return f"{digits(value, decimals)} ({digits(low, decimals)} to {digits(high, decimals)})"


def digits(value: float, decimals: int | None = None) -> str:
    """A number to print: with so many decimals, and at least three digits; a proper minus sign, zero as 0."""
    if decimals is None or value == 0 or not isfinite(value):
        return f"{value + 0.0:.3g}".replace("-", "−")
    size = floor(log10(abs(value)))
    style = f".{max(3, size + 1 + decimals)}g" if size < -4 else f".{max(0, decimals, 2 - size)}f"
    return f"{value:{style}}".replace("-", "−")
