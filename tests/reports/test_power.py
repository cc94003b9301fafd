"""Power of the paired t test against statsmodels."""

from itertools import product

import numpy as np
import pytest
from statsmodels.stats.power import TTestPower

from reports.power import deviation_interval, noise_floor, power_of_test, seeds_needed, smallest_effect
from reports.statistics import t_tests


def test_power_is_statsmodels() -> None:
    for n, d, level in product([2, 3, 5, 10, 200], [0.0, 0.1, 0.8, 2.5], [0.9, 0.95]):
        expected = TTestPower().power(d, n, 1 - level)
        assert power_of_test(-3 * d, 3.0, n, level=level) == pytest.approx(expected, abs=1e-10)


def test_power_is_how_often_the_test_finds_the_effect() -> None:
    studies = np.random.default_rng(12).normal(1.5, 1.0, (20_000, 5))
    assert (t_tests(studies)[2] < 0.05).mean() == pytest.approx(power_of_test(1.5, 1.0, 5), abs=0.01)


@pytest.mark.parametrize("n", [3, 5, 10, 100])
def test_smallest_effect_is_statsmodels(n: int) -> None:
    found = smallest_effect(0.25, n)
    assert found is not None
    assert TTestPower().power(found / 0.25, n, 0.05) == pytest.approx(0.8, abs=1e-10)
    # its own solver stops earlier
    assert found / 0.25 == pytest.approx(TTestPower().solve_power(nobs=n, alpha=0.05, power=0.8), rel=1e-5)


def test_smallest_effect_of_two_seeds_and_of_none() -> None:
    found = smallest_effect(1.0, 2)
    assert found is not None
    assert power_of_test(found, 1.0, 2) == pytest.approx(0.8, abs=1e-10)
    assert (smallest_effect(1.0, 1), smallest_effect(1.0, 0)) == (None, None)
    assert smallest_effect(0.0, 3) == 0.0


@pytest.mark.parametrize(("effect", "deviation"), [(0.5, 1.0), (-0.5, 1.0), (2.0, 1.0), (0.01, 0.03), (0.001, 1.0)])
def test_seeds_needed_are_the_fewest(effect: float, deviation: float) -> None:
    n = seeds_needed(effect, deviation, power=0.9)
    assert n is not None
    assert power_of_test(effect, deviation, n) >= 0.9 > power_of_test(effect, deviation, n - 1)
    exact = TTestPower().solve_power(effect_size=abs(effect) / deviation, alpha=0.05, power=0.9)
    assert n == np.ceil(exact)


def test_seeds_needed_at_the_ends() -> None:
    assert (type(seeds_needed(0.5, 1.0)), seeds_needed(0.5, 1.0)) == (int, 34)  # Cohen 1988, table 2.4.1
    assert (seeds_needed(1e6, 1.0), seeds_needed(1.0, 0.0), seeds_needed(1e300, 1e-300)) == (2, 2, 2)
    assert (seeds_needed(0.0, 1.0), seeds_needed(0.0, 0.0), seeds_needed(1e-9, 1.0)) == (None, None, None)


def test_noise_floor_is_the_sample_deviation() -> None:
    assert noise_floor([21.0, 23.0, 25.0]) == 2.0
    assert noise_floor([21.0]) is None
    assert noise_floor([0.5, 0.5]) == 0.0


def test_what_has_no_power_is_refused() -> None:
    with pytest.raises(ValueError, match="deviation"):
        smallest_effect(-1.0, 3)
    with pytest.raises(ValueError, match="deviation"):
        seeds_needed(1.0, float("nan"))
    with pytest.raises(ValueError, match=r"power must lie between 0\.05 and 1"):
        smallest_effect(1.0, 3, power=0.05)
    with pytest.raises(ValueError, match="power"):
        seeds_needed(1.0, 1.0, power=1.0)
    with pytest.raises(ValueError, match="effect"):
        seeds_needed(float("inf"), 1.0)


def test_deviation_of_a_pilot_is_known_to_within_chi_square() -> None:
    """95 % of chi-square on 2 degrees of freedom lies between 0.0506356 and 7.3777589."""
    assert deviation_interval(3.0, 3) == pytest.approx((3 * (2 / 7.3777589) ** 0.5, 3 * (2 / 0.0506356) ** 0.5))
    assert deviation_interval(3.0, 1) is None
    assert deviation_interval(0.0, 3) == (0.0, 0.0)
    with pytest.raises(ValueError, match="deviation"):
        deviation_interval(-1.0, 3)


def test_interval_of_a_deviation_holds_the_true_one_as_often_as_it_says() -> None:
    pilots = np.random.default_rng(3).normal(0, 2, (4000, 4)).std(axis=1, ddof=1)
    found = np.array([deviation_interval(float(s), 4, level=0.9) for s in pilots])
    assert ((found[:, 0] <= 2) & (found[:, 1] >= 2)).mean() == pytest.approx(0.9, abs=0.015)
