"""How often the intervals hold what they promise: 20,000 made-up studies for each of three seeds fixed beforehand.

The studies go through the functions that `paired_effect` and `holm` are made of, many at once; that these give what one
study at a time gives is tested in test_statistics.py. Letters: R studies, n seeds, M test items, m variants.

Only the variance over test items is not computed as the product does it, but in 400 studies: a bootstrap of 1,000
resamples for each would take hours. The bootstrap variance of a mean over items has a closed form, and the scatter that
1,000 resamples leave is drawn from its chi-square distribution; `test_closed_form_is_the_bootstrap` compares the two.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy import stats

from reports.items import Counted, Resampled
from reports.paired import Items, effects_table
from reports.resampling import RESAMPLES, item_variance, ratio, resample_counts
from reports.rows import RunRow, StudyRows
from reports.statistics import binomial_interval, holm_adjusted, paired_effect, same_sign, t_tests
from reports.values import VALUE_COLUMNS

Floats = NDArray[np.float64]
Method = Callable[[Floats], tuple[Floats, Floats]]

STUDIES = 20_000
SEEDS = (101, 202, 303)
"""Fixed before anything was simulated."""

FAILS = 0.1
"""How often a training of the bimodal variant fails."""


def t_method(differences: Floats) -> tuple[Floats, Floats]:
    """Interval of the product."""
    low, high, _ = t_tests(differences)
    return low, high


def percentile_bootstrap(differences: Floats) -> tuple[Floats, Floats]:
    """What the product must not use: percentiles of the means of 399 resamples of the seeds."""
    n = differences.shape[1]
    counts = resample_counts(n, np.random.default_rng(1), 399)
    means = np.sort(differences @ counts.T / n, axis=1)
    return means[:, 9], means[:, 389]  # the 10th from either end: 2.5 % of 399 + 1


def normal(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    return rng.normal(0, 1, shape)


def heavy(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Student's t with 8 degrees: an outlier now and then."""
    return rng.standard_t(8, shape)


def accuracy(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Accuracies around 0.88 with normal logits, against a base that does not vary: skewed to the left."""
    return 1 / (1 + np.exp(-rng.normal(2, 0.3, shape)))


DRAWS = {"normal": normal, "heavy": heavy, "accuracy": accuracy}
MEANS = {"normal": 0.0, "heavy": 0.0, "accuracy": stats.norm.expect(lambda z: 1 / (1 + np.exp(-z)), loc=2, scale=0.3)}


def check_coverage(method: Method, name: str, n: int) -> None:
    """Fails unless the interval covers the true mean difference in 95 +- 1 % of the studies of every seed."""
    for seed in SEEDS:
        low, high = method(DRAWS[name](np.random.default_rng(seed), (STUDIES, n)))
        covered = ((low <= MEANS[name]) & (MEANS[name] <= high)).mean()
        assert 0.94 <= covered <= 0.96, f"{name}, {n} seeds: {covered:.4f}"


@pytest.mark.parametrize("n", [3, 5, 10])
@pytest.mark.parametrize("name", DRAWS)
def test_near_normal_differences_are_covered(name: str, n: int) -> None:
    check_coverage(t_method, name, n)


@pytest.mark.parametrize(("n", "covers"), [(3, 0.76), (5, 0.84), (10, 0.90)])
def test_percentile_bootstrap_fails_the_same_check(n: int, covers: float) -> None:
    with pytest.raises(AssertionError, match=f"normal, {n} seeds: 0"):
        check_coverage(percentile_bootstrap, "normal", n)
    low, high = percentile_bootstrap(normal(np.random.default_rng(SEEDS[0]), (STUDIES, n)))
    assert ((low <= 0) & (high >= 0)).mean() == pytest.approx(covers, abs=0.015)


def bootstrap_variance(items: Floats, rng: np.random.Generator) -> Floats:
    """Variance over RESAMPLES resamples of the mean over items (..., M), without resampling."""
    exact = items.var(axis=-1) / items.shape[-1]
    return exact * rng.chisquare(RESAMPLES - 1, exact.shape) / (RESAMPLES - 1)


def study_of_items(
    rng: np.random.Generator, n: int, items: int, deviations: tuple[float, float, float]
) -> tuple[Floats, Floats]:
    """Differences by seed (R, n) and their item variance (R,): seed + item + the two together, items drawn anew."""
    seed, item, both = deviations
    differences, variances = [], []
    for _ in range(20):  # in parts: all items at once would not fit
        size = STUDIES // 20
        x = both * rng.standard_normal((size, n, items), dtype=np.float32)
        x += item * rng.standard_normal((size, 1, items), dtype=np.float32)
        x += seed * rng.standard_normal((size, n, 1), dtype=np.float32)
        differences.append(x.mean(axis=2, dtype=np.float64))
        variances.append(bootstrap_variance(x.mean(axis=1, dtype=np.float64), rng))
    return np.concatenate(differences), np.concatenate(variances)


@pytest.mark.parametrize("n", [3, 5, 10])
@pytest.mark.parametrize("deviations", [(1.0, 0.0, 3.0), (0.3, 2.0, 2.0), (0.05, 3.0, 0.5)])
def test_new_test_items_are_covered(n: int, deviations: tuple[float, float, float]) -> None:
    """Deviations: seed, item, both together; 47 items. Over seeds alone, the last two would cover far too little."""
    for seed in SEEDS:
        d, items = study_of_items(np.random.default_rng(seed), n, 47, deviations)
        low, high, _ = t_tests(d, items)
        assert ((low <= 0) & (high >= 0)).mean() >= 0.94
    if deviations[1]:
        low, high = t_method(d)
        assert ((low <= 0) & (high >= 0)).mean() < 0.9


@pytest.mark.parametrize("deviation", [0.0, 0.06])
@pytest.mark.parametrize("n", [2, 3])
def test_new_test_items_are_covered_where_all_seeds_are_equal(n: int, deviation: float) -> None:
    """30 % of 100 answers differ between base and variant, and more or less of them by the seed.

    Of the studies where all seeds have the same difference all the same: by chance, where the seeds do deviate. The
    normal quantile in place of t would cover 90 % of those.
    """
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        shift = rng.normal(0, deviation, (STUDIES, n, 1))
        answers = rng.choice([-1.0, 0.0, 1.0], (STUDIES, 1, 100), p=[0.2, 0.7, 0.1])
        answers = answers + np.sign(shift) * (rng.random((STUDIES, n, 100)) < np.abs(shift))
        d = answers.mean(axis=2)
        equal = np.ptp(d, axis=1) < 1e-9
        assert equal.sum() > 50
        variance = bootstrap_variance(answers[equal].mean(axis=1), rng)
        low, high, _ = t_tests(d[equal], variance)
        assert ((low <= -0.1) & (high >= -0.1)).mean() >= 0.94
        effect = paired_effect([0.5] * n, 0.5 + d[equal][0], item_variance=float(variance[0]))
        assert (effect.low, effect.high) == pytest.approx((low[0], high[0]))


def answers(rng: np.random.Generator, seeds: int, items: int) -> Floats:
    """Right and wrong ones (2, S, M), of a base and a variant: some items are hard, some of them for one side alone."""
    logits = rng.normal(0, 2, items) + rng.normal(0, 1.5, (2, 1, items)) + rng.normal(0, 0.1, (2, seeds, 1))
    logits += np.array([2.0, 1.2])[:, None, None]
    return (rng.random((2, seeds, items)) < 1 / (1 + np.exp(-2 * logits))).astype(np.float64)


def completed(experiment: str, variant: str, seed: int) -> RunRow:
    origin: dict[str, Any] = {"id": "", "folder": Path(), "reason": None, "run": None, "result": None}
    return RunRow(experiment=experiment, variant=variant, seed=seed, state="completed", **origin)


def test_the_table_of_effects_covers_new_seeds_and_new_items() -> None:
    """400 studies of 3 seeds and 60 items, end to end: what each run has of its items, draws, effects."""
    rng = np.random.default_rng(SEEDS[0])
    runs: list[RunRow] = []
    values: list[tuple[object, ...]] = []
    items: Items = {}
    plans: dict[str, Any] = {f"e{i}": {"base": "b", "variants": ["b", "v"], "changes": {}} for i in range(400)}
    for name in plans:
        for variant, of_variant in zip("bv", answers(rng, 3, 60), strict=True):
            for seed, right in enumerate(of_variant):
                runs.append(completed(name, variant, seed))
                values.append((name, variant, seed, "completed", "test", "accuracy", "", right.mean()))
                counted = Counted(items=7, statistics={"accuracy": ("ratio", np.stack([right, np.ones(60)], axis=1))})
                items[name, variant, seed] = {"accuracy": Resampled(7, counted.values(counted.draws())["accuracy"])}
    plan: Any = {"experiments": plans}
    study = StudyRows(folder=Path(), plan=plan, runs=tuple(runs), foreign=0)
    found = effects_table(study, pd.DataFrame(values, columns=list(VALUE_COLUMNS)), items)
    truth = float(np.subtract(*answers(rng, 1000, 1000).mean(axis=(1, 2))[::-1]))
    known = found[found["low"].notna()]
    assert len(known) > 390
    assert ((known["low"] <= truth) & (truth <= known["high"])).mean() >= 0.94
    half = stats.t.ppf(0.975, 2) * np.sqrt(known["seed_variance"])
    assert ((known["difference"] - truth).abs() <= half).mean() < 0.9, "over seeds alone"
    tested = found[found["p_value"].notna()]
    assert ((tested["p_value"] < 0.05) == ((tested["low"] > 0) | (tested["high"] < 0))).all()


def test_closed_form_is_the_bootstrap() -> None:
    """Both the variance and how much it scatters from one bootstrap to the next."""
    rng = np.random.default_rng(SEEDS[0])
    right = rng.integers(0, 2, (2, 3, 29)).astype(float)
    ones = np.ones(29)
    found = []
    for _ in range(200):
        counts = resample_counts(29, rng)
        scores = [[ratio(counts @ np.stack([x, ones], axis=1)) for x in arm] for arm in right]
        found.append(item_variance(*scores))
    closed = bootstrap_variance(np.tile((right[1] - right[0]).mean(axis=0), (2000, 1)), rng)
    assert np.mean(found) == pytest.approx(closed.mean(), rel=0.015)
    assert np.std(found) == pytest.approx(closed.std(), rel=0.2)


def adjusted_p(rng: np.random.Generator, n: int, shared: bool, true: int) -> Floats:
    """Holm's p (R, 8) of 8 variants, the first `true` of which do differ; all against one base, or each its own."""
    base = rng.normal(0, 1, (STUDIES, 1 if shared else 8, n))
    differences = rng.normal(0, 1, (STUDIES, 8, n)) - base
    differences[:, :true] += 4
    return holm_adjusted(t_tests(differences)[2])


@pytest.mark.parametrize("n", [3, 5, 10])
@pytest.mark.parametrize(("shared", "true"), [(True, 0), (False, 0), (False, 4)])
def test_one_family_in_twenty_has_a_false_positive(n: int, shared: bool, true: int) -> None:
    for seed in SEEDS:
        p = adjusted_p(np.random.default_rng(seed), n, shared, true)
        assert 0.01 < (p[:, true:] < 0.05).any(axis=1).mean() <= 0.053


def test_without_holm_every_third_family_has_one() -> None:
    rng = np.random.default_rng(SEEDS[0])
    p = t_tests(rng.normal(0, 1, (STUDIES, 8, 5)))[2]
    assert (p < 0.05).any(axis=1).mean() == pytest.approx(1 - 0.95**8, abs=0.01)


def bimodal(rng: np.random.Generator, n: int, noise: float) -> Floats:
    """Differences (R, n) to a base that never fails: the variant drops from 0.9 to 0 in one training of ten."""
    base, variant = 0.9 + noise * rng.normal(0, 1, (2, STUDIES, n))
    return np.where(rng.random((STUDIES, n)) < FAILS, 0.0, variant) - base


def share_on_the_side_of(mean: Floats, noise: float) -> Floats:
    """True share of seeds whose difference has the sign of the study's mean."""
    if noise:
        return np.where(mean < 0, FAILS + (1 - FAILS) / 2, (1 - FAILS) / 2)
    return np.where(mean < 0, FAILS, 1 - FAILS)


@pytest.mark.parametrize("n", [3, 5, 10])
@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_a_seed_that_fails_now_and_then_is_covered_by_the_share(n: int, noise: float) -> None:
    """k/n with its exact interval, as `paired_effect` prints it; every study counts, those without a failure too."""
    intervals = np.array([binomial_interval(k, n) for k in range(n + 1)])
    for seed in SEEDS:
        d = bimodal(np.random.default_rng(seed), n, noise)
        low, high = intervals[same_sign(d)].T
        share = share_on_the_side_of(d.mean(axis=1), noise)
        assert ((low <= share) & (share <= high)).mean() >= 0.95
        effect = paired_effect(np.zeros(n), d[0])
        assert (effect.successes_low, effect.successes_high) == (low[0], high[0])


@pytest.mark.parametrize(("n", "covers"), [(3, 0.27), (5, 0.41), (10, 0.65)])
def test_a_seed_that_fails_now_and_then_is_not_covered_by_t(n: int, covers: float) -> None:
    """As `reports.statistics` says: most studies of few seeds see no failure and cannot know of it."""
    for seed in SEEDS:
        low, high = t_method(bimodal(np.random.default_rng(seed), n, 0.01))
        mean = -0.9 * FAILS
        assert ((low <= mean) & (mean <= high)).mean() == pytest.approx(covers, abs=0.02)
