"""Slopes and exponents against statsmodels and values computed by hand."""

from math import inf
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats

from reports.trends import (
    SUMMARIES,
    curvature,
    exponent,
    exponent_over_seeds,
    fall,
    horizon,
    last_doubling,
    log_area,
    log_slope,
    slope,
    slope_over_seeds,
)

X = [1.0, 2.0, 4.0, 8.0, 16.0]


def test_slope_of_each_seed_is_that_of_least_squares_and_the_interval_is_over_seeds() -> None:
    y = np.random.default_rng(4).normal(0.9, 0.1, (3, 5)) - 0.02 * np.array(X)
    found = slope_over_seeds(X, y)
    expected = [sm.OLS(of_seed, sm.add_constant(X)).fit().params[1] for of_seed in y]
    assert found.per_seed == pytest.approx(expected, rel=1e-10)
    interval = stats.ttest_1samp(expected, 0).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high), rel=1e-10)
    assert found.n_seeds == 3
    assert found.slope == pytest.approx(np.mean(expected), rel=1e-10)


def test_slope_by_hand_and_level() -> None:
    found = slope_over_seeds([0, 1, 2], [[0, 1, 2], [5, 8, 11], [1, 6, 11]], level=0.9)
    assert found.per_seed == pytest.approx((1, 3, 5))
    assert found.slope == pytest.approx(3)
    assert found.high == pytest.approx(3 + stats.t.ppf(0.95, 2) * 2 / np.sqrt(3))


def test_exponent_of_a_power_law() -> None:
    factor = np.array([[3.0], [0.2], [7.0]])
    exponent = np.array([[2.0], [1.9], [2.1]])
    found = exponent_over_seeds(X, factor * np.array(X) ** exponent)
    assert found.per_seed == pytest.approx((2.0, 1.9, 2.1), rel=1e-12)
    assert found.high is not None
    assert found.high - found.slope == pytest.approx(stats.t.ppf(0.975, 2) * 0.1 / np.sqrt(3))


def test_one_seed_has_a_slope_and_no_interval() -> None:
    found = slope_over_seeds([0, 3], [[1, 7]])
    assert (found.n_seeds, found.slope, found.low, found.high) == (1, 2.0, None, None)


@pytest.mark.parametrize("y", [[[0.3] * 5] * 3, [np.array(X) * 0.1 + c for c in (0.1, 0.7, 1.3)]])
def test_equal_slopes_give_no_interval_from_rounding(y: list[list[float]]) -> None:
    found = slope_over_seeds(X, y)
    assert (found.low, found.high) == (None, None)


def test_flat_lines_have_no_slope_from_rounding() -> None:
    found = slope_over_seeds([0.1, 0.2, 0.7], [[0.9] * 3, [0.7] * 3, [0.6] * 3])
    assert len(set(found.per_seed)) > 1
    assert found.slope == pytest.approx(0, abs=1e-15)
    assert (found.low, found.high) == (None, None)


@pytest.mark.parametrize(("x", "y"), [([0, 1], [[1, 2]]), ([1, 2], [[0, 2]]), ([1, 2], [[1, -2]])])
def test_exponents_of_zeros_and_negatives_are_refused(x: list[float], y: list[list[float]]) -> None:
    with pytest.raises(ValueError, match="positive"):
        exponent_over_seeds(x, y)


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([1, 1], [[1, 2]], "two different points"),
        ([1], [[1]], "two different points"),
        ([1, 2], [[1, 2, 3]], "seeds by points"),
        ([1, 2], [1, 2], "seeds by points"),
        ([1, 2], np.empty((0, 2)), "seeds by points"),
        ([1, 2], [[1, float("nan")]], "finite"),
    ],
)
def test_what_has_no_slope_is_refused(x: list[float], y: list[list[float]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        slope_over_seeds(x, y)


# What is made of one curve.

Y = [0.95, 0.9, 0.7, 0.65, 0.2]


def test_a_weighted_slope_is_that_of_weighted_least_squares() -> None:
    weights = [9.0, 5.0, 3.0, 2.0, 1.0]
    expected = sm.WLS(Y, sm.add_constant(X), weights=weights).fit().params[1]
    assert slope(X, Y, weights) == pytest.approx(expected, rel=1e-10)
    assert slope(X, Y, [7.0] * 5) == pytest.approx(slope(X, Y), rel=1e-10)
    assert slope(X, Y) == pytest.approx(stats.linregress(X, Y).slope, rel=1e-10)
    repeated = [x for x, times in zip(X, weights, strict=True) for _ in range(int(times))]
    of_each = [y for y, times in zip(Y, weights, strict=True) for _ in range(int(times))]
    assert slope(X, Y, weights) == pytest.approx(stats.linregress(repeated, of_each).slope), (
        "as if each item stood alone"
    )


def test_the_summaries_by_hand() -> None:
    assert log_slope([1, 3, 5], [100, 1, 0.01]) == pytest.approx(-1)
    assert exponent([1, 2, 4, 8], [3, 12, 48, 192]) == pytest.approx(2)
    assert log_area([1e-3, 1e-2, 1e-1], [1.0, 0.5, 0.0]) == pytest.approx(0.75 + 0.25)
    assert log_area([3e-4, 1e-3], [0.4, 0.4]) == pytest.approx(0.4 * np.log10(10 / 3))
    assert curvature([1, 2, 5], [3 * x + 0.25 * x * x for x in (1, 2, 5)]) == pytest.approx(0.25)
    assert curvature([16, 1024], [16 * 7, 1024 * 7]) == pytest.approx(0, abs=1e-12)
    assert last_doubling([1, 2, 4], [5.0, 3.0, 12.0]) == 4.0
    assert fall([1, 2, 4], [5.0, 9.0, 2.0]) == 3.0
    assert fall([1, 2], [2.0, 5.0]) == -3.0


def test_curvature_is_least_squares_without_a_constant() -> None:
    rng = np.random.default_rng(3)
    x = np.array([64.0, 128.0, 256.0, 512.0, 1024.0])
    y = 40 * x + 0.3 * x**2 + rng.normal(0, 50, 5)
    expected = sm.OLS(y, np.stack([x, x**2], axis=1)).fit().params[1]
    assert curvature(x, y) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("name", SUMMARIES)
def test_the_order_of_points_does_not_matter(name: str) -> None:
    order = [3, 0, 4, 2, 1]
    turned = SUMMARIES[name]([X[place] for place in order], [Y[place] for place in order])
    assert turned == pytest.approx(SUMMARIES[name](X, Y), rel=1e-12)
    weights = np.array([9.0, 5.0, 3.0, 2.0, 1.0])
    if name == "slope":
        shuffled = slope([X[place] for place in order], [Y[place] for place in order], weights[order])
        assert shuffled == pytest.approx(slope(X, Y, weights), rel=1e-12)


@pytest.mark.parametrize(
    ("summary", "x", "y"),
    [
        *((log_slope, [1, 2], [1, 0]), (exponent, [1, 2], [1, -1]), (exponent, [0, 2], [1, 1])),
        *((log_area, [0, 1], [1, 1]), (last_doubling, [1, 3], [1, 1]), (last_doubling, [1, 2], [0, 1])),
        *((fall, [1, 1], [1, 2]), (slope, [1, 2, 1], [1, 2, 3]), (slope, [1], [1])),
    ],
)
def test_what_has_no_such_summary_is_refused(summary: Any, x: list[float], y: list[float]) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        summary(x, y)


def test_a_flat_line_has_no_slope_from_rounding() -> None:
    assert slope([0.1, 0.2, 0.7], [0.7] * 3) == 0.0
    assert exponent([1, 3, 7], [0.7] * 3) == 0.0


@pytest.mark.parametrize(
    ("y", "x", "beyond", "low", "high"),
    [
        ([1.0, 0.95, 0.5], 2 ** (4 + 2 / 9), 0, 16, 64),
        ([1.0, 0.9, 0.9], 64, 1, 64, inf),
        ([0.9, 0.8, 1.0], 4, 0, 4, 16),
        ([0.89, 1.0, 1.0], 4, -1, 0, 4),
        ([1.0, 0.8, 1.0], 8, 0, 4, 16),
    ],
)
def test_a_horizon_is_where_the_curve_first_falls_below(
    y: list[float], x: float, beyond: int, low: float, high: float
) -> None:
    """Over 4, 16, 64: it falls below 0.9 half way from 1.0 to 0.8, one doubling of the two from 4 to 16."""
    for found in (horizon([4, 16, 64], y, 0.9), horizon([64, 4, 16], [y[2], y[0], y[1]], 0.9)):
        assert found.x == pytest.approx(x)
        assert found.beyond == beyond
        assert (found.low, found.high) == (low, high)
        assert found.low <= found.x <= found.high


def test_a_horizon_has_no_place_at_zero() -> None:
    with pytest.raises(ValueError, match="horizon needs positive numbers"):
        horizon([0, 4], [1.0, 0.5], 0.9)
