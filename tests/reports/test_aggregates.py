"""Interquartile means and probabilities of improvement against scipy, by hand and by simulation."""

import numpy as np
import pytest
from scipy import stats

from reports.aggregates import (
    hoeffding_interval,
    interquartile_mean,
    interquartile_mean_effect,
    probability_of_improvement,
)
from reports.statistics import binomial_interval

RNG = np.random.default_rng(6)
BASE = RNG.normal(0.5, 0.1, (3, 7))
VARIANT = RNG.normal(0.55, 0.1, (5, 7))


def test_interquartile_mean_by_hand() -> None:
    assert interquartile_mean([[0, 8, 2], [100, 4, 5], [7, -50, 6]]) == pytest.approx((2 + 4 + 5 + 6 + 7) / 5)
    assert interquartile_mean([1, 2, 6]) == 3


def test_effect_on_the_interquartile_mean_is_paired_by_seed() -> None:
    effect = interquartile_mean_effect(BASE, VARIANT[:3])
    base, variant = ([np.sort(of_seed)[1:-1].mean() for of_seed in scores] for scores in (BASE, VARIANT[:3]))
    interval = stats.ttest_rel(variant, base).confidence_interval(0.95)
    assert (effect.low, effect.high) == pytest.approx((interval.low, interval.high))


def test_probability_of_improvement_is_mann_whitneys() -> None:
    found = probability_of_improvement(BASE, VARIANT)
    expected = [stats.mannwhitneyu(v, b).statistic / (3 * 5) for b, v in zip(BASE.T, VARIANT.T, strict=True)]
    assert found.per_task == pytest.approx(expected, rel=1e-12)
    assert found.probability == pytest.approx(np.mean(expected), rel=1e-12)
    assert (found.n_base, found.n_variant, found.n_tasks) == (3, 5, 7)
    assert (found.low, found.high) == hoeffding_interval(found.probability, 3 * 7)


def test_equal_scores_count_half_and_one_seed_has_no_interval() -> None:
    found = probability_of_improvement([[1.0, 2.0]], [[1.0, 5.0], [1.0, 2.0], [0.0, 1.0]])
    assert found.per_task == pytest.approx((1 / 3, 0.5))
    assert (found.low, found.high) == (None, None)


def test_better_in_every_run_leaves_room_for_doubt() -> None:
    found = probability_of_improvement([[0.1], [0.2], [0.3]], [[0.7], [0.8], [0.9]])
    assert (found.probability, found.high) == (1.0, 1.0)
    assert found.low == pytest.approx(binomial_interval(3, 3)[0])


def test_interval_of_hoeffding_at_its_ends() -> None:
    n, mean = 12, 0.25
    for m in hoeffding_interval(mean, n, level=0.9):
        divergence = mean * np.log(mean / m) + (1 - mean) * np.log((1 - mean) / (1 - m))
        assert n * divergence == pytest.approx(np.log(20), rel=1e-9)
    low, high = hoeffding_interval(mean, n, level=0.9)
    assert 0 < low < mean < high < 1
    mirrored = hoeffding_interval(1 - mean, n, level=0.9)
    assert mirrored == pytest.approx((1 - high, 1 - low))
    assert hoeffding_interval(0.0, 5) == pytest.approx(binomial_interval(0, 5))


@pytest.mark.parametrize(("seeds", "shift"), [(3, 0.0), (3, 1.0), (5, 3.0)])
@pytest.mark.parametrize("shared", [0.0, 0.9])
def test_interval_of_the_probability_covers(seeds: int, shift: float, shared: float) -> None:
    """Base and variant may share what their seed does; the tasks are fixed, and the effect differs between them."""
    rng = np.random.default_rng(31)
    shifts = shift * np.array([0.5, 1.0, 1.5])
    true = stats.norm.cdf(shifts / np.sqrt(2)).mean()
    tries = 400
    covered = 0
    for common in rng.normal(0, np.sqrt(shared), (tries, seeds, 3)):
        own = rng.normal(0, np.sqrt(1 - shared), (2, seeds, 3))
        found = probability_of_improvement(common + own[0], common + own[1] + shifts)
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= true <= found.high
    assert covered / tries >= 0.95


def test_gaps_and_other_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match="finite scores, seeds by tasks"):
        interquartile_mean_effect([[1.0, float("nan")]], [[1.0, 2.0]])
    with pytest.raises(ValueError, match="finite scores, seeds by tasks"):
        probability_of_improvement([1.0, 2.0], BASE)
    with pytest.raises(ValueError, match="base has 7 tasks and variant 6"):
        probability_of_improvement(BASE, VARIANT[:, :6])
    with pytest.raises(ValueError, match="same seeds and tasks"):
        interquartile_mean_effect(BASE, VARIANT)
