"""The sequential procedure: by hand, and by simulation of its error rate and of what it saves."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from reports.sequential import (
    LOOKS,
    decided,
    level_text,
    levels_text,
    look_level,
    look_p_value,
    looks_sentence,
    next_look,
    strictest,
)
from reports.statistics import LEVEL, holm_adjusted, paired_effect, t_tests

STUDIES = 20_000
VARIANTS = 7

Floats = NDArray[np.float64]


def effects(differences: Floats) -> pd.DataFrame:
    """The columns of the table of effects that decide, for contrasts (m, n) at a look of n seeds."""
    low, high, p_value = t_tests(differences, level=look_level(LOOKS))
    return pd.DataFrame({"low": low, "high": high, "p_value": p_value, "all_equal": False, "successes_low": 0.0})


def stopped(differences: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Contrasts (m, 20) by the procedure: seeds that each is given, and its p value then, corrected for the looks."""
    seeds, p_values = np.zeros(len(differences), np.int64), np.ones(len(differences))
    running = np.arange(len(differences))
    for n in LOOKS:
        found = effects(differences[running, :n])
        seeds[running] = n
        p_values[running] = [look_p_value(p) for p in found["p_value"]]
        running = running[~decided(found).to_numpy()]
    assert (p_values[running] >= 0.05).all(), "what is undecided at the last look has no small p value"
    return seeds, p_values


def normal(rng: np.random.Generator, effect: float = 0.0) -> Floats:
    """Studies of VARIANTS that share a base, (STUDIES, VARIANTS, 20): differences, of deviation sqrt(2)."""
    base = rng.normal(size=(STUDIES, 1, LOOKS[-1]))
    return rng.normal(effect * np.sqrt(2), 1, (STUDIES, VARIANTS, LOOKS[-1])) - base


def failing(rng: np.random.Generator) -> Floats:
    """The same where on either side a seed fails now and then, one in ten."""
    base, variants = (0.05 * rng.normal(size=(STUDIES, n, LOOKS[-1])) for n in (1, VARIANTS))
    base -= rng.random(base.shape) < 0.1
    variants -= rng.random(variants.shape) < 0.1
    return np.asarray(variants - base)


@pytest.mark.parametrize("draw", [normal, failing])
def test_error_rate_over_all_looks(draw: Callable[[np.random.Generator], Floats]) -> None:
    """Of 20,000 studies without any effect: one contrast of each, and all of its contrasts together."""
    differences = draw(np.random.default_rng(7))
    _, p_values = stopped(differences.reshape(-1, LOOKS[-1]))
    of_study = p_values.reshape(STUDIES, VARIANTS)
    assert (of_study[:, 0] < 0.05).mean() <= 0.053
    assert (holm_adjusted(of_study) < 0.05).any(axis=1).mean() <= 0.053


def test_error_rate_is_not_bought_with_a_test_that_never_finds_anything() -> None:
    """Three looks at a third of 5 % each: between a third, if they went together, and all of it, if not at all."""
    _, p_values = stopped(normal(np.random.default_rng(8))[:, 0])
    assert 0.03 < (p_values < 0.05).mean() < 0.05


def test_looks_at_the_usual_level_would_be_wrong_too_often() -> None:
    differences = normal(np.random.default_rng(9))[:, 0]
    found = np.stack([t_tests(differences[:, :n])[2] < 0.05 for n in LOOKS])
    assert found.any(axis=0).mean() > 0.09


@pytest.mark.parametrize(("effect", "saved"), [(1.5, 0.3), (2.5, 0.5)])
def test_large_effects_save_runs(effect: float, saved: float) -> None:
    """Effects in deviations of the differences; against 20 seeds for all. The base has as many as any variant."""
    seeds, p_values = stopped(normal(np.random.default_rng(11), effect).reshape(-1, LOOKS[-1]))
    of_study = seeds.reshape(STUDIES, VARIANTS)
    runs = of_study.sum(axis=1) + of_study.max(axis=1)
    assert 1 - runs.mean() / (LOOKS[-1] * (VARIANTS + 1)) >= saved
    assert (p_values < 0.05).mean() > 0.99


def test_mixed_studies_give_seeds_to_the_undecided_only() -> None:
    """Two variants of large effect, one of none: the first two stop early."""
    rng = np.random.default_rng(12)
    effect = np.array([4.0, 4.0, 0.0])[:, None]
    seeds, _ = stopped((rng.normal(size=(STUDIES, 3, LOOKS[-1])) + effect).reshape(-1, LOOKS[-1]))
    assert (seeds.reshape(STUDIES, 3).mean(axis=0) < [6, 6, 21]).all()
    assert seeds.reshape(STUDIES, 3)[:, 2].mean() > 19


def test_level_and_p_value_by_hand() -> None:
    assert look_level() == pytest.approx(0.983333333)
    assert look_level((5, 10)) == pytest.approx(0.975)
    assert look_level([]) == LEVEL
    assert look_p_value(0.01) == pytest.approx(0.03)
    assert [look_p_value(p, looks) for p, looks in ((0.4, LOOKS), (None, LOOKS), (0.01, []))] == [1.0, None, 0.01]


def test_the_level_as_text() -> None:
    plain, three, two = ("95\N{NO-BREAK SPACE}%", "98.3\N{NO-BREAK SPACE}%", "97.5\N{NO-BREAK SPACE}%")
    assert (level_text([]), level_text(LOOKS), level_text((5, 10))) == (plain, three, two)
    assert levels_text([]) == levels_text([[], []]) == plain
    assert levels_text([LOOKS, LOOKS]) == three
    assert levels_text([LOOKS, [], LOOKS]) == f"{plain} ({three} where seeds were added)"
    assert levels_text([LOOKS, (5, 10)]) == f"{two} and {three}"
    assert levels_text(iter([LOOKS, (), (5, 10)])) == f"{plain} ({two} and {three} where seeds were added)"


def test_the_strictest_looks_have_the_highest_level() -> None:
    assert strictest([[], [5, 10, 20], [5, 10]]) == [5, 10, 20]
    assert list(strictest(iter([]))) == list(strictest([[], []])) == []


def test_next_look_is_the_one_after_a_look() -> None:
    assert [next_look(n) for n in (4, 5, 7, 10, 20, 40)] == [None, 10, None, 20, None, None]


def test_decided_is_an_interval_that_leaves_out_zero() -> None:
    found = pd.DataFrame(
        {
            "low": [0.1, -0.2, -0.1, 0.0, None],
            "high": [0.2, -0.1, 0.1, 0.1, None],
            "all_equal": False,
            "successes_low": 0.9,
        }
    )
    assert list(decided(found)) == [True, True, False, False, False]


@pytest.mark.parametrize(("n", "expected"), [(5, False), (6, False), (7, True), (10, True)])
@pytest.mark.parametrize("difference", [0.0, 0.25])
def test_seeds_that_all_differ_by_the_same_amount_are_decided_by_their_number(
    n: int, expected: bool, difference: float
) -> None:
    effect = paired_effect([0.5] * n, [0.5 + difference] * n, level=look_level())
    assert list(decided(pd.DataFrame([vars(effect)]).astype({"low": float, "high": float}))) == [expected]


def test_an_interval_from_the_items_alone_decides_where_there_is_one() -> None:
    effect = paired_effect([0.5] * 10, [0.5] * 10, item_variance=0.01, level=look_level())
    assert list(decided(pd.DataFrame([vars(effect)]))) == [False]


def test_sentence_names_looks_level_and_factor() -> None:
    assert looks_sentence(()) == ""
    text = looks_sentence(LOOKS)
    assert "(5, 10 and 20 seeds)" in text
    assert "98.3\N{NO-BREAK SPACE}%" in text
    assert text.endswith("multiplied by 3.")
    assert "(5 seeds)" in looks_sentence((5,))
