"""Estimates against scipy and values worked out by hand."""

from math import exp, log

import numpy as np
import pytest
from scipy import stats

from reports import estimates
from reports.regions import Region


def test_a_difference_is_scipys_paired_interval() -> None:
    base, variant = [0.31, 0.28, 0.35], [0.42, 0.37, 0.49]
    found = estimates.difference(base, variant, level=0.9)
    expected = stats.ttest_rel(variant, base).confidence_interval(0.9)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    assert found.per_seed == pytest.approx((0.11, 0.09, 0.14))
    assert (found.scope, found.exact, found.censored) == ("seeds", False, (0, 0))


def test_items_widen_a_difference() -> None:
    """SE^2 = 1/3 + 2 = 7/3 for differences 2, 3, 4; t(2) at 95 % is 4.302653."""
    found = estimates.difference([1.0, 1.0, 1.0], [3.0, 4.0, 5.0], item_variance=2.0)
    assert found.high == pytest.approx(3 + 4.302653 * (7 / 3) ** 0.5, abs=1e-5)
    assert found.scope == "seeds and items"


def test_a_level_is_the_t_interval_of_the_mean() -> None:
    found = estimates.mean_level([21.0, 23.0, 25.0])
    assert (found.value, found.low) == pytest.approx((23, 23 - 4.9683), abs=1e-3)


def test_a_level_that_every_seed_shares_has_the_interval_of_its_items_or_none() -> None:
    assert estimates.mean_level([1.0, 1.0, 1.0]).low is None
    found = estimates.mean_level([0.9, 0.9, 0.9], item_variance=0.0004)
    assert (found.low, found.high) == pytest.approx((0.9 - 4.302653 * 0.02, 0.9 + 4.302653 * 0.02), abs=1e-6)


def test_an_excess_over_one_oracle_or_one_a_seed() -> None:
    assert estimates.excess([0.5, 0.7], 0.4).per_seed == pytest.approx((0.1, 0.3))
    assert estimates.excess([0.5, 0.7], [0.45, 0.5]).per_seed == pytest.approx((0.05, 0.2))


def test_a_ratio_is_the_geometric_mean_with_the_interval_of_the_logarithms() -> None:
    base, variant = [80.0, 96.0, 90.0], [4.0, 6.0, 9.0]
    found = estimates.ratio(base, variant, floor=0.1)
    logs = [log(4 / 80), log(6 / 96), log(9 / 90)]
    expected = stats.ttest_1samp(logs, 0).confidence_interval()
    assert found.value == pytest.approx((4 * 6 * 9 / (80 * 96 * 90)) ** (1 / 3))
    assert (found.low, found.high) == pytest.approx((exp(expected.low), exp(expected.high)))
    assert found.per_seed == pytest.approx((0.05, 0.0625, 0.1))


def test_zeros_of_a_ratio_count_at_the_floor() -> None:
    found = estimates.ratio([80.0, 50.0], [0.0, 0.05], floor=0.1)
    assert found.per_seed == pytest.approx((0.1 / 80, 0.1 / 50))


@pytest.mark.parametrize(("values", "floor"), [([1.0, -0.1], 0.1), ([1.0], 0.0), ([float("nan")], 0.1)])
def test_logarithms_of_what_is_no_amount_are_refused(values: list[float], floor: float) -> None:
    with pytest.raises(ValueError, match="at least 0"):
        estimates.floored_logs(values, floor)


@pytest.mark.parametrize(
    ("region", "value"),
    [(Region(high=1e-6), 3e-6), (Region(low=0.0, closed=False), 1e-9), (Region(low=-1, high=1), 3e-6)],
)
def test_the_worst_value_is_the_one_furthest_out(region: Region, value: float) -> None:
    found = estimates.worst(np.array([1e-9, 3e-6, 2e-7]), region)
    assert (found.value, found.exact, found.low) == (value, True, None)


def test_an_exact_interval_is_taken_only_where_neither_seeds_nor_items_have_spread() -> None:
    found = estimates.difference([0.0] * 3, [1.0] * 3, unanimous=(0.02, 0.01))
    assert (found.low, found.high, found.scope) == (0.98, 1.01, "seeds and items")
    assert estimates.mean_level([1.0] * 3, unanimous=(0.02, 0.0)).low == 0.98
    assert estimates.excess([1.0] * 3, 0.25, unanimous=(0.02, 0.0)).low == 0.73
    varied = estimates.difference([0.0, 0.1, 0.0], [1.0] * 3, unanimous=(0.02, 0.01))
    assert varied.low == estimates.difference([0.0, 0.1, 0.0], [1.0] * 3).low
    drawn = estimates.difference([0.0] * 3, [1.0] * 3, item_variance=0.01, unanimous=(0.02, 0.01))
    assert drawn.low == pytest.approx(1 - 0.4302653)
    assert estimates.difference([0.0], [1.0], unanimous=(0.02, 0.01)).low is None, "one seed"
