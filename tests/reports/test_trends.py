"""Slopes and exponents against statsmodels and values computed by hand."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats

from reports.trends import exponent_over_seeds, slope_over_seeds

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
