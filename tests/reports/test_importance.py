"""Importance in designs whose answer is known: exact shares of the variance, and divergences written out."""

import logging
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

from reports import importance
from reports.factorials import f_tests
from reports.importance import importances

LEVELS: dict[str, list[Any]] = {"model.norm": ["layer", "none"], "lr": [0.1, 0.2, 0.4], "x": [None, "<img>"]}
BASE = {name: levels[0] for name, levels in LEVELS.items()}


def runs(value: Callable[..., float], n: int = 5, noise: float = 0.1, **levels: list[Any]) -> pd.DataFrame:
    chosen = levels or LEVELS
    rng = np.random.default_rng(4)
    cells = [(dict(zip(chosen, cell, strict=True)), seed) for cell in product(*chosen.values()) for seed in range(n)]
    return pd.DataFrame({**cell, "seed": s, "value": value(*cell.values()) + noise * rng.normal()} for cell, s in cells)


def by_norm(norm: str, lr: float, x: Any) -> float:
    return float(norm == "layer")


def test_the_one_factor_that_matters_has_it_all() -> None:
    pytest.importorskip("sklearn")
    norm, lr, x = importances(runs(by_norm, noise=0.01), BASE, better=1)
    assert [each.factor for each in (norm, lr, x)] == list(LEVELS)
    assert norm.fanova == pytest.approx(1, abs=0.01)
    assert (lr.fanova or 0.0) + (x.fanova or 0.0) < 0.01
    assert (norm.ped_anova or 0.0) > 0.7


@pytest.mark.parametrize(
    "value",
    [
        lambda norm, lr, x: 2.0 * (norm == "none") + 1.0 * (lr == 0.4),
        lambda norm, lr, x: 2.0 * (norm == "none") * (lr == 0.2) + 0.5 * (x is None),
        lambda norm, lr, x: 1.0 * ((norm == "none") != (x is None)),
    ],
)
def test_fanova_is_near_the_exact_shares(value: Callable[..., float]) -> None:
    pytest.importorskip("sklearn")
    data = runs(value)
    exact = {term.factors: term.share for term in f_tests(data, BASE)}
    for each in importances(data, BASE, better=1):
        assert each.fanova == pytest.approx(exact[each.factor,], abs=0.05)


def test_a_factor_over_which_the_best_runs_are_spread_as_all_are_has_no_part() -> None:
    """Of eight runs the best two are both at a = 1, and one each at b = 0 and 1."""
    data = pd.DataFrame(
        {"a": a, "b": b, "seed": s, "value": 5.0 * a + s} for a, b, s in product((0, 1), (0, 1), (0, 1))
    )
    a, b = importances(data, {"a": 0, "b": 0}, better=1)
    assert (a.ped_anova, b.ped_anova) == pytest.approx((1.0, 0.0))


@pytest.mark.parametrize("better", [1, -1])
def test_the_best_are_those_on_the_better_side(better: int) -> None:
    """Where more is better the best quarter are the runs of one cell; else they are of a = 0, with b as it comes."""
    data = runs(lambda a, b: 4.0 * a + 2.0 * a * b, noise=0.001, a=[0, 1], b=[0, 1])
    a, b = importances(data, {"a": 0, "b": 0}, better=better)
    assert (a.ped_anova or 0.0) + (b.ped_anova or 0.0) == pytest.approx(1)
    assert (b.ped_anova == pytest.approx(0.5)) == (better == 1)
    assert ((a.ped_anova or 0.0) > 0.75) == (better == -1)


def test_order_of_rows_changes_nothing_and_again_is_the_same() -> None:
    data = runs(lambda norm, lr, x: lr + 0.1 * (x is None))
    found = importances(data, BASE, better=-1)
    assert importances(data.sample(frac=1, random_state=7), BASE, better=-1) == found
    assert importances(data, BASE, better=-1) == found


def test_a_metric_without_a_better_side_has_no_best_runs() -> None:
    assert {each.ped_anova for each in importances(runs(by_norm), BASE, better=0)} == {None}


def test_equal_and_tied_values_say_nothing() -> None:
    equal = runs(lambda norm, lr, x: 0.25, noise=0.0)
    for each in importances(equal, BASE, better=1):
        assert (each.ped_anova, each.fanova) == (None, None)
    symmetric = runs(lambda a, b: float(a != b), n=3, noise=0.0, a=[0, 1], b=[0, 1])
    assert {each.ped_anova for each in importances(symmetric, {"a": 0, "b": 0}, better=1)} == {None}


def test_without_the_extra_there_is_no_forest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importance, "find_spec", lambda name: None)
    found = importances(runs(by_norm), BASE, better=1)
    assert {each.fanova for each in found} == {None}
    assert sum(each.ped_anova or 0.0 for each in found) == pytest.approx(1)


def test_nothing_is_said_and_the_level_of_others_is_left(capfd: pytest.CaptureFixture[str]) -> None:
    before = logging.getLogger("optuna").level
    importances(runs(by_norm), BASE, better=1)
    assert capfd.readouterr() == ("", "")
    assert logging.getLogger("optuna").level == before


def test_what_is_no_design_is_refused() -> None:
    data = runs(by_norm)
    with pytest.raises(ValueError, match="cells without any"):
        importances(data[(data["model.norm"] == "layer") | (data["lr"] == 0.1)], BASE, better=1)
