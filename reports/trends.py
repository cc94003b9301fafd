"""Slopes and exponents over seeds: accuracy against distance, time against length.

A line is fitted to every seed alone and the interval is that of the seeds' slopes. The residuals of one fit over all
points would say how straight the line is, and little of what a new seed would do.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reports.statistics import LEVEL, ROUNDING, t_interval

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Slope:
    """How much y changes for one unit of x, or the exponent e of y = c x^e."""

    n_seeds: int
    slope: float
    """Mean over seeds."""
    low: float | None
    high: float | None
    """t interval over seeds; None for one seed, and where all have the same slope."""
    per_seed: tuple[float, ...]


def slope_over_seeds(x: ArrayLike, y_by_seed: ArrayLike, *, level: float = LEVEL) -> Slope:
    """Least-squares slope of y (S, P), S seeds at the points x (P,), for each seed, and its mean over seeds.

    Raises ValueError for other shapes, values that are not finite, and fewer than two different points.
    """
    points, y = _checked(x, y_by_seed)
    centred = points - points.mean()
    slopes = y @ centred / (centred @ centred)
    rounding = ROUNDING * float(np.abs(y).max() / np.ptp(points))
    interval = t_interval(slopes, level=level, rounding=rounding)
    return Slope(
        n_seeds=len(slopes),
        slope=float(slopes.mean()),
        low=interval[0] if interval else None,
        high=interval[1] if interval else None,
        per_seed=tuple(slopes.tolist()),
    )


def exponent_over_seeds(x: ArrayLike, y_by_seed: ArrayLike, *, level: float = LEVEL) -> Slope:
    """Exponent of y = c x^e: the slope of log y on log x. Arguments and errors as for `slope_over_seeds`.

    Raises ValueError for zeros and negative numbers too: they have no logarithm, and leaving them out would bend the
    line.
    """
    points, y = _checked(x, y_by_seed)
    if not ((points > 0).all() and (y > 0).all()):
        raise ValueError("an exponent needs positive numbers throughout: some x or y is zero or negative")
    return slope_over_seeds(np.log(points), np.log(y), level=level)


def _checked(x: ArrayLike, y_by_seed: ArrayLike) -> tuple[Floats, Floats]:
    points, y = np.asarray(x, dtype=np.float64), np.asarray(y_by_seed, dtype=np.float64)
    if points.ndim != 1 or y.ndim != 2 or y.shape[1] != len(points) or not len(y):
        raise ValueError(f"y must be seeds by points, at least one seed: {y.shape} for {points.shape} points")
    if not (np.isfinite(points).all() and np.isfinite(y).all()):
        raise ValueError("a slope needs finite numbers: leave out points that not every seed has")
    if len(np.unique(points)) < 2:
        raise ValueError("a slope needs at least two different points")
    return points, y
