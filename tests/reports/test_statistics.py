"""Statistics against scipy, values computed by hand, and simulation."""

import numpy as np
import pytest
from scipy import stats

from reports.statistics import binomial_interval, paired_effect, summarise, t_interval, welch_interval

BASE = [0.31, 0.28, 0.35, 0.30, 0.33]
VARIANT = [0.42, 0.37, 0.49, 0.40, 0.45]


def test_deviation_and_interval_of_three_scores_by_hand() -> None:
    summary = summarise([21.0, 23.0, 25.0])
    assert (summary.n, summary.mean, summary.deviation) == (3, 23.0, 2.0)
    assert summary.high is not None
    assert summary.high - summary.mean == pytest.approx(4.968, abs=5e-4)
    assert summary.low == pytest.approx(23 - 4.9683, abs=1e-3)


def test_paired_effect_is_scipys() -> None:
    effect = paired_effect(BASE, VARIANT)
    expected = stats.ttest_rel(VARIANT, BASE)
    interval = expected.confidence_interval(0.95)
    assert effect.difference == pytest.approx(np.mean(VARIANT) - np.mean(BASE))
    assert (effect.low, effect.high) == pytest.approx((interval.low, interval.high))
    assert effect.p_value == pytest.approx(expected.pvalue)
    assert effect.correlation == pytest.approx(stats.pearsonr(BASE, VARIANT).statistic)
    assert effect.standardised == pytest.approx(expected.statistic / np.sqrt(5))
    assert (effect.n_seeds, effect.all_equal, effect.successes) == (5, False, 5)


def test_welch_interval_is_scipys() -> None:
    interval = stats.ttest_ind(VARIANT, BASE, equal_var=False).confidence_interval(0.95)
    effect = paired_effect(BASE, VARIANT)
    assert (effect.welch_low, effect.welch_high) == pytest.approx((interval.low, interval.high))
    unequal = stats.ttest_ind(VARIANT[:2], BASE, equal_var=False).confidence_interval(0.9)
    assert welch_interval(BASE, VARIANT[:2], level=0.9) == pytest.approx((unequal.low, unequal.high))


def test_pairing_is_by_position_and_shrinks_the_interval_where_seeds_agree() -> None:
    effect = paired_effect(BASE, VARIANT)
    shuffled = paired_effect(BASE, VARIANT[::-1])
    assert effect.high is not None
    assert effect.low is not None
    assert shuffled.high is not None
    assert shuffled.low is not None
    assert effect.high - effect.low < shuffled.high - shuffled.low
    assert (effect.welch_low, effect.welch_high) == pytest.approx((shuffled.welch_low, shuffled.welch_high))


def test_one_seed_has_a_difference_and_no_interval() -> None:
    effect = paired_effect([0.5], [0.75])
    assert (effect.n_seeds, effect.difference, effect.all_equal) == (1, 0.25, False)
    assert {effect.low, effect.high, effect.p_value, effect.standardised, effect.welch_low, effect.correlation} == {
        None
    }
    summary = summarise([0.5])
    assert (summary.mean, summary.deviation, summary.low, summary.high) == (0.5, None, None, None)


@pytest.mark.parametrize(
    ("base", "variant"),
    [([1.0, 1.0, 1.0], [1.0, 1.0, 1.0]), ([0.9, 0.8, 0.3], [0.6, 0.5, 0.0]), ([1.0, 1.0, 1.0], [0.5, 0.5, 0.5])],
)
def test_equal_differences_give_no_p_from_zero_spread_but_a_count(base: list[float], variant: list[float]) -> None:
    effect = paired_effect(base, variant)
    assert effect.all_equal
    assert {effect.low, effect.high, effect.p_value, effect.standardised} == {None}
    assert effect.successes == 3
    assert effect.successes_low == pytest.approx(0.025 ** (1 / 3))  # Clopper-Pearson for n of n
    assert effect.successes_high == 1.0


def test_equal_values_on_one_side_leave_an_interval_and_no_correlation() -> None:
    effect = paired_effect([1.0, 1.0, 1.0], [0.9, 0.7, 0.8])
    interval = stats.ttest_1samp([-0.1, -0.3, -0.2], 0).confidence_interval(0.95)
    assert (effect.low, effect.high) == pytest.approx((interval.low, interval.high))
    assert (effect.welch_low, effect.welch_high) == pytest.approx((interval.low, interval.high))
    assert effect.correlation is None


def test_tiny_values_are_not_taken_for_rounding() -> None:
    effect = paired_effect([3e-14, 2e-14, 1e-14], [9e-14, 7e-14, 5e-14])
    assert not effect.all_equal
    assert effect.low is not None
    assert effect.low > 0


def test_successes_are_seeds_on_the_side_of_the_mean() -> None:
    effect = paired_effect([0.0, 0.0, 0.0, 0.0], [-1.0, -1.0, 0.5, -2.0])
    assert effect.successes == 3
    interval = stats.binomtest(3, 4).proportion_ci(method="exact")
    assert (effect.successes_low, effect.successes_high) == pytest.approx((interval.low, interval.high))


def test_binomial_interval_is_made_of_beta_quantiles() -> None:
    expected = (stats.beta.ppf(0.05, 7, 5), stats.beta.ppf(0.95, 8, 4))
    assert binomial_interval(7, 11, level=0.9) == pytest.approx(expected)


@pytest.mark.parametrize("values", [[], [1.0, float("nan")], [1.0, float("inf")], [[1.0, 2.0]]])
def test_what_is_not_one_number_a_seed_is_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match="one finite value a seed"):
        summarise(values)


def test_arms_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match="base has 2 seeds and variant 3"):
        paired_effect([1.0, 2.0], [1.0, 2.0, 3.0])


@pytest.mark.parametrize("seeds", [2, 3, 5])
def test_interval_covers_as_often_as_it_says(seeds: int) -> None:
    rng = np.random.default_rng(17)
    tries = 2000
    intervals = (t_interval(rng.normal(0.3, 1.0, seeds)) for _ in range(tries))
    covered = sum(interval is not None and interval[0] < 0.3 < interval[1] for interval in intervals)
    assert covered / tries == pytest.approx(0.95, abs=0.015)


def test_t_interval_has_its_level() -> None:
    narrow, wide = t_interval(BASE, level=0.5), t_interval(BASE, level=0.99)
    assert narrow is not None
    assert wide is not None
    assert wide[0] < narrow[0] < np.mean(BASE) < narrow[1] < wide[1]
