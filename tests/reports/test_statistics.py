"""Statistics against scipy, values computed by hand, and simulation."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from reports.statistics import (
    binomial_interval,
    holm,
    holm_adjusted,
    paired_effect,
    same_sign,
    summarise,
    t_interval,
    t_tests,
    unanimous_half_width,
    welch_interval,
)

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
    assert effect.difference == pytest.approx(np.mean(VARIANT) - np.mean(BASE), rel=1e-10)
    assert (effect.low, effect.high) == pytest.approx((interval.low, interval.high), rel=1e-10)
    assert effect.p_value == pytest.approx(expected.pvalue, rel=1e-10)
    assert effect.correlation == pytest.approx(stats.pearsonr(BASE, VARIANT).statistic, rel=1e-10)
    assert effect.standardised == pytest.approx(expected.statistic / np.sqrt(5), rel=1e-10)
    assert effect.seed_variance == pytest.approx(np.var(np.subtract(VARIANT, BASE), ddof=1) / 5, rel=1e-10)
    assert effect.item_variance is None
    assert (effect.n_seeds, effect.all_equal, effect.successes) == (5, False, 5)


def test_welch_interval_is_scipys() -> None:
    interval = stats.ttest_ind(VARIANT, BASE, equal_var=False).confidence_interval(0.95)
    effect = paired_effect(BASE, VARIANT)
    assert (effect.welch_low, effect.welch_high) == pytest.approx((interval.low, interval.high), rel=1e-10)
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
    assert effect.seed_variance == 0.0
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


def test_test_items_widen_the_interval() -> None:
    effect = paired_effect(BASE, VARIANT, item_variance=4e-4)
    error = np.sqrt(np.var(np.subtract(VARIANT, BASE), ddof=1) / 5 + 4e-4)
    half = stats.t.ppf(0.975, 4) * error
    assert (effect.low, effect.high) == pytest.approx((effect.difference - half, effect.difference + half), rel=1e-10)
    assert effect.p_value == pytest.approx(2 * stats.t.sf(effect.difference / error, 4), rel=1e-10)
    without = paired_effect(BASE, VARIANT)
    assert effect.item_variance == 4e-4
    assert (effect.seed_variance, effect.standardised) == (without.seed_variance, without.standardised)
    none = paired_effect(BASE, VARIANT, item_variance=0.0)
    assert (none.low, none.high, none.p_value) == (without.low, without.high, without.p_value)


def test_equal_differences_leave_the_items_alone() -> None:
    effect = paired_effect([0.9, 0.8, 0.3], [0.6, 0.5, 0.0], item_variance=0.01)
    assert effect.all_equal
    assert (effect.low, effect.high) == pytest.approx((-0.3 - 0.430265273, -0.3 + 0.430265273), rel=1e-8)
    almost = paired_effect([0.9, 0.8, 0.3], [0.6, 0.5, 1e-9], item_variance=0.01)
    assert (almost.low, almost.high) == pytest.approx((effect.low, effect.high), abs=1e-8), "no jump"
    assert (effect.p_value, effect.standardised, effect.seed_variance) == (None, None, 0.0)
    alike = paired_effect([0.5, 0.5], [0.5, 0.5], item_variance=0.0)
    assert (alike.low, alike.high) == (None, None)


def test_items_give_one_seed_no_interval() -> None:
    effect = paired_effect([0.5], [0.75], item_variance=0.01)
    assert {effect.low, effect.high, effect.p_value, effect.standardised, effect.seed_variance} == {None}
    assert (effect.item_variance, effect.all_equal) == (0.01, False)


@pytest.mark.parametrize("variance", [-1e-9, float("nan"), float("inf")])
def test_a_variance_that_is_none_is_refused(variance: float) -> None:
    with pytest.raises(ValueError, match="item variance"):
        paired_effect(BASE, VARIANT, item_variance=variance)


@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize("item_variance", [None, 0.3])
def test_p_never_overrules_the_interval(level: float, item_variance: float | None) -> None:
    rng = np.random.default_rng(21)
    outside = 0
    for n in [2, 3, 7] * 100:
        base, variant = rng.normal(0, 1, n), rng.normal(2, 1, n)
        effect = paired_effect(base, variant, item_variance=item_variance, level=level)
        assert effect.low is not None
        assert effect.high is not None
        assert effect.p_value is not None
        leaves_out_zero = effect.low > 0 or effect.high < 0
        assert (effect.p_value < 1 - level) == leaves_out_zero
        outside += leaves_out_zero
    assert 20 < outside < 280


def test_many_studies_at_once_are_those_one_by_one() -> None:
    rng = np.random.default_rng(13)
    d, items = rng.normal(0.2, 1, (2, 7, 5)), rng.uniform(0, 0.5, (2, 7))
    d[1, 3] = 0.25
    items[1, 3] = 0.0
    low, high, p = t_tests(d, items, level=0.9)
    for i, j in np.ndindex(2, 7):
        effect = paired_effect(np.zeros(5), d[i, j], item_variance=float(items[i, j]), level=0.9)
        if (i, j) == (1, 3):
            assert (float(low[i, j]), float(high[i, j])) == (0.25, 0.25)
            assert np.isnan(p[i, j])
            assert (effect.low, effect.p_value) == (None, None)
            continue
        assert (low[i, j], high[i, j], p[i, j]) == pytest.approx((effect.low, effect.high, effect.p_value), rel=1e-12)
        assert effect.successes == same_sign(d)[i, j]
    assert same_sign(d)[1, 3] == 5


def test_holm_is_statsmodels_and_by_hand() -> None:
    p = [0.01, 0.04, 0.03, 0.005, 0.9]
    assert holm(p) == pytest.approx([0.04, 0.09, 0.09, 0.025, 0.9])
    families = np.random.default_rng(2).uniform(0, 1, (6, 7)) ** 3
    families[:, 3] = families[:, 5]
    adjusted = holm_adjusted(families)
    for family, found in zip(families, adjusted, strict=True):
        assert found == pytest.approx(multipletests(family, method="holm")[1], rel=1e-12)
        assert holm(family.tolist()) == found.tolist()


def test_what_has_no_p_does_not_count_in_the_family() -> None:
    assert holm([0.04, None, 0.01, float("nan")]) == [0.04, None, 0.02, None]
    assert (holm([]), holm([None]), holm([0.7, 0.8])) == ([], [None], [1.0, 1.0])
    with pytest.raises(ValueError, match="between 0 and 1"):
        holm([0.5, 1.5])


def test_successes_are_seeds_on_the_side_of_the_mean() -> None:
    effect = paired_effect([0.0, 0.0, 0.0, 0.0], [-1.0, -1.0, 0.5, -2.0])
    assert effect.successes == 3
    interval = stats.binomtest(3, 4).proportion_ci(method="exact")
    assert (effect.successes_low, effect.successes_high) == pytest.approx((interval.low, interval.high), rel=1e-10)


def test_a_mean_within_rounding_is_zero() -> None:
    effect = paired_effect([0.3, 1.0, 0.7], [0.1 + 0.2, 1.0, 0.7])
    assert effect.difference != 0
    assert (effect.all_equal, effect.successes) == (True, 3)


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


def test_t_interval_has_its_level() -> None:
    narrow, wide = t_interval(BASE, level=0.5), t_interval(BASE, level=0.99)
    assert narrow is not None
    assert wide is not None
    assert wide[0] < narrow[0] < np.mean(BASE) < narrow[1] < wide[1]


@pytest.mark.parametrize(("items", "error"), [(1, 0.025), (5, 0.05), (400, 0.025), (20_000, 0.0125)])
def test_the_width_of_a_share_that_is_all_or_nothing_is_that_of_clopper_and_pearson(items: int, error: float) -> None:
    exact = stats.binomtest(items, items).proportion_ci(1 - 2 * error, method="exact")
    assert unanimous_half_width(items, error) == pytest.approx(1 - exact.low, rel=1e-9)
    none = stats.binomtest(0, items).proportion_ci(1 - 2 * error, method="exact")
    assert unanimous_half_width(items, error) == pytest.approx(none.high, rel=1e-9)
    assert (1 - unanimous_half_width(items, error)) ** items == pytest.approx(error), "the chance at its end"


@pytest.mark.parametrize(("items", "error"), [(0, 0.05), (5, 0.0), (5, 1.0)])
def test_no_items_and_no_chance_have_no_width(items: int, error: float) -> None:
    with pytest.raises(ValueError, match="at least one item"):
        unanimous_half_width(items, error)
