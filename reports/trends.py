"""What is made of curves: slopes, exponents, areas, horizons. Accuracy against distance, time against length.

A line is fitted to every seed alone and the interval is that of the seeds' slopes. The residuals of one fit over all
points would say how straight the line is, and little of what a new seed would do.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

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


# What is made of one curve: y (P,) at the places x (P,), in any order, at least two different ones.


def slope(x: ArrayLike, y: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Least-squares slope; 0 where it is rounding. `weights` (P,) of the points, in the order of x; equal unless given.

    The weight of a mean is the number of items that it is one of.
    """
    points, values = _curve(x, y)
    shares = np.ones(len(points)) if weights is None else np.asarray(weights, np.float64)[np.argsort(x)]
    centred = points - np.average(points, weights=shares)
    found = float((shares * values) @ centred / ((shares * centred) @ centred))
    return 0.0 if abs(found) <= ROUNDING * float(np.abs(values).max() / np.ptp(points)) else found


def log_slope(x: ArrayLike, y: ArrayLike) -> float:
    """Slope of log10 y: decades for one unit of x. ValueError where some y is not positive."""
    return slope(x, np.log10(_positive("log_slope", y)))


def exponent(x: ArrayLike, y: ArrayLike) -> float:
    """Exponent e of y = c x^e: slope of log y on log x. ValueError where some x or y is not positive."""
    return slope(np.log(_positive("exponent", x)), np.log(_positive("exponent", y)))


def log_area(x: ArrayLike, y: ArrayLike) -> float:
    """Area under y against log10 x (trapezoids), in decades times the unit of y. ValueError unless x is positive."""
    points, values = _curve(np.log10(_positive("log_area", x)), y)
    return float(np.trapezoid(values, points))


def curvature(x: ArrayLike, y: ArrayLike) -> float:
    """The b of y = a x + b x^2, by least squares."""
    points, values = _curve(x, y)
    scale = float(np.abs(points).max())
    terms = np.stack([points / scale, (points / scale) ** 2], axis=1)
    return float(np.linalg.lstsq(terms, values, rcond=None)[0][1]) / scale**2


def last_doubling(x: ArrayLike, y: ArrayLike) -> float:
    """y at the largest x over y at half of it. ValueError without a point there, and where y is 0 there."""
    points, values = _curve(x, y)
    half = values[points == points[-1] / 2]
    if not len(half) or half[0] == 0:
        raise ValueError(f"last_doubling needs a y other than 0 at half of {points[-1]:g}")
    return float(values[-1] / half[0])


def fall(x: ArrayLike, y: ArrayLike) -> float:
    """y at the smallest x minus y at the largest."""
    _, values = _curve(x, y)
    return float(values[0] - values[-1])


SUMMARIES: dict[str, Callable[[ArrayLike, ArrayLike], float]] = {
    "slope": slope,
    "log_slope": log_slope,
    "exponent": exponent,
    "log_area": log_area,
    "curvature": curvature,
    "last_doubling": last_doubling,
    "fall": fall,
}
"""What can be made of a curve, `horizon` apart."""


class Horizon(NamedTuple):
    """How far a curve stays up."""

    x: float
    beyond: int
    """1 where the true one may be larger (it never falls), -1 where it may be smaller (below from the start), or 0."""
    low: float
    high: float
    """Where the true one lies: at or above the last good point, below the first bad one; from 0, or to infinity."""


def horizon(x: ArrayLike, y: ArrayLike, threshold: float) -> Horizon:
    """Largest x up to which y >= threshold at every point.

    Between the last such point and the next, below, it is where a line in log2 x crosses the threshold: one guess, for
    all that the points say is that the curve falls somewhere between them. The largest x if it never falls, the
    smallest if it is below from the start. What y does after it has fallen does not count. ValueError where some x is
    not positive.
    """
    points, values = _curve(_positive("horizon", x), y)
    below = values < threshold
    if not below.any():
        return Horizon(float(points[-1]), 1, float(points[-1]), inf)
    first = int(below.argmax())
    if first == 0:
        return Horizon(float(points[0]), -1, 0.0, float(points[0]))
    good, bad = points[first - 1 : first + 1].tolist()
    (left, right), (high, low) = np.log2((good, bad)), values[first - 1 : first + 1]
    crossing = float(2 ** (left + (right - left) * (high - threshold) / (high - low)))
    return Horizon(min(max(crossing, good), bad), 0, good, bad)


def _curve(x: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
    """Both by x."""
    points, values = _checked(x, np.atleast_2d(np.asarray(y, np.float64)))
    if len(np.unique(points)) < len(points):
        raise ValueError("a curve has one y at each x")
    order = points.argsort()
    return points[order], values[0, order]


def _positive(name: str, values: ArrayLike) -> Floats:
    found = np.asarray(values, np.float64)
    if not (found > 0).all():
        raise ValueError(f"{name} needs positive numbers: there is {found.min():g}")
    return found


def _checked(x: ArrayLike, y_by_seed: ArrayLike) -> tuple[Floats, Floats]:
    points, y = np.asarray(x, dtype=np.float64), np.asarray(y_by_seed, dtype=np.float64)
    if points.ndim != 1 or y.ndim != 2 or y.shape[1] != len(points) or not len(y):
        raise ValueError(f"y must be seeds by points, at least one seed: {y.shape} for {points.shape} points")
    if not (np.isfinite(points).all() and np.isfinite(y).all()):
        raise ValueError("a slope needs finite numbers: leave out points that not every seed has")
    if len(np.unique(points)) < 2:
        raise ValueError("a slope needs at least two different points")
    return points, y
