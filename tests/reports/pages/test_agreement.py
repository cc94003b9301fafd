"""Values and effects of two studies, one minus the other, against numbers worked out by hand and scipy."""

from collections.abc import Callable
from math import isnan
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from reports.experiment import Experiment
from reports.pages.agreement import COLUMNS, Gap, agreement, comparison_table, gap, same_data
from reports.pages.matches import matches
from reports.rows import read_study
from reports.table import make_tables

Maker = Callable[..., Any]


def experiments(study: Any) -> list[Experiment]:
    tables = make_tables(read_study(study.write()))
    return [Experiment(tables, name) for name in tables.study.plan["experiments"]]


def study_of(make: Maker, base: list[float], x: list[float], *, seeds: Any = (0, 1, 2), data: str = "") -> Any:
    """Loss of `base` and `x`, a value a seed; another fingerprint of the data where `data` is given."""
    study = make(seeds=seeds)
    study.experiment("e", {"x": {"model.norm": "none"}}, headline=["loss"])
    for variant, values in {"base": base, "x": x}.items():
        for seed, value in zip(seeds, values, strict=False):
            place = study.run("e", variant, seed, [("test", "loss", "", value)])
            if data:
                path = place / "run.json"
                path.write_text(path.read_text().replace("9f2c41d0", data))
    return study


def row_of(first: Any, second: Any, variant: str) -> dict[str, Any]:
    table = comparison_table(matches(experiments(first), experiments(second)))
    assert list(table.columns) == list(COLUMNS)
    (row,) = table[table["variant"] == variant].to_dict("records")
    return {str(name): value for name, value in row.items()}


A = ([1.0, 2.0, 3.0], [2.0, 3.5, 4.0])
B = ([1.5, 2.25, 3.5], [2.25, 4.5, 4.0])


def test_the_same_data_and_seeds_are_paired(make: Maker) -> None:
    row = row_of(study_of(make, *A), study_of(make, *B), "x")
    d = np.array([0.25, 1.0, 0.0])
    low, high = stats.t.interval(0.95, 2, d.mean(), stats.sem(d))
    np.testing.assert_allclose([row["difference"], row["low"], row["high"]], [d.mean(), low, high])
    assert (row["method"], row["n_seeds"]) == ("paired", 3)
    np.testing.assert_allclose([row["first_mean"], row["second_mean"]], [9.5 / 3, 10.75 / 3])
    np.testing.assert_allclose([row["first_effect"], row["second_effect"]], [3.5 / 3, 3.5 / 3])
    change = np.array([0.75 - 1.0, 2.25 - 1.5, 0.5 - 1.0])
    low, high = stats.t.interval(0.95, 2, change.mean(), stats.sem(change))
    np.testing.assert_allclose([row["change_low"], row["change_high"]], [low, high])
    assert row["agreement"] == "undecided"
    assert (row["first_runs"], row["is_base"]) == ("3 of 3", False)


@pytest.mark.parametrize("second", [{"data": "another1"}, {"seeds": (7, 8, 9)}])
def test_other_data_or_other_seeds_are_not(make: Maker, second: dict[str, Any]) -> None:
    row = row_of(study_of(make, *A), study_of(make, *B, **second), "x")
    expected = stats.ttest_ind(B[1], A[1], equal_var=False).confidence_interval()
    np.testing.assert_allclose([row["low"], row["high"]], [expected.low, expected.high])
    np.testing.assert_allclose(row["difference"], 10.75 / 3 - 9.5 / 3)
    assert row["method"] == "Welch"


def test_a_study_compared_with_itself_differs_in_nothing(make: Maker) -> None:
    study = study_of(make, *A)
    for variant in ("base", "x"):
        row = row_of(study, study, variant)
        assert row["difference"] == 0.0
        assert isnan(row["low"])
    assert row["change"] == 0.0
    assert row["agreement"] == "identical"


def test_missing_seeds_are_counted_and_left_out(make: Maker) -> None:
    row = row_of(study_of(make, *A), study_of(make, B[0], B[1][:2]), "x")
    assert (row["second_runs"], row["second_n"], row["n_seeds"]) == ("2 of 3, 1 missing", 2, 2)
    np.testing.assert_allclose(row["difference"], (0.25 + 1.0) / 2)
    nothing = row_of(study_of(make, *A), study_of(make, B[0], []), "x")
    assert isnan(nothing["difference"])
    assert isnan(nothing["second_effect"])
    assert (nothing["second_runs"], nothing["agreement"]) == ("0 of 3, 3 missing", "")


def test_one_seed_has_no_interval(make: Maker) -> None:
    row = row_of(study_of(make, [1.0], [2.0], seeds=(0,)), study_of(make, [1.0], [2.5], seeds=(0,)), "x")
    assert row["difference"] == 0.5
    assert isnan(row["low"])
    assert row["agreement"] == "no interval"


def test_a_task_that_differs_is_other_data(make: Maker) -> None:
    first, second = study_of(make, *A), study_of(make, *B)
    (match,) = matches(experiments(first), experiments(second))
    assert same_data(match, ("x", "x"))
    for path in second.folder.glob("*/*/*/run.json"):
        path.write_text(path.read_text().replace('"max_phrases": 3', '"max_phrases": 5'))
    (match,) = matches(experiments(first), experiments(second))
    assert not same_data(match, ("x", "x"))


def test_without_a_fingerprint_nothing_is_paired(make: Maker) -> None:
    first, second = study_of(make, *A), study_of(make, *B)
    for study in (first, second):
        for path in study.folder.glob("*/*/*/run.json"):
            path.write_text(path.read_text().replace(', "data": "9f2c41d0"', ""))
    (match,) = matches(experiments(first), experiments(second))
    assert not same_data(match, ("x", "x"))


@pytest.mark.parametrize(
    ("first", "second", "change", "expected"),
    [
        ((1, 2), (1, 3), (-1, 2), "agree"),
        ((1, 2), (5, 6), (3, 5), "differ in size"),
        ((1, 2), (-2, -1), (-4, -2), "opposite"),
        ((-3, -2), (-2, -1), (0.5, 1.5), "differ in size"),
        ((1, 2), (-1, 1), (-2, -1), "differ"),
        ((1, 2), (-1, 1), (-2, 0.5), "undecided"),
        ((-1, 1), (-1, 2), (-1, 1), "undecided"),
        ((float("nan"),) * 2, (1, 2), (-1, 1), "no interval"),
    ],
)
def test_agreement(first: Any, second: Any, change: Any, expected: str) -> None:
    sides = [{"low": low, "high": high} for low, high in (first, second)]
    assert agreement(sides[0], sides[1], Gap(0.0, change[0], change[1], "paired", 3, False)) == expected


def test_pairs_that_differ_by_the_same_have_no_interval() -> None:
    found = gap({0: 1.0, 1: 2.0}, {0: 1.5, 1: 2.5}, paired=True)
    assert found.difference == 0.5
    assert isnan(found.low)
    assert not found.equal


def test_no_match_gives_an_empty_table() -> None:
    assert isinstance(comparison_table([]), pd.DataFrame)
    assert comparison_table([]).empty


@pytest.mark.parametrize("looked", [0, 1])
def test_where_seeds_were_added_in_one_study_the_level_is_that_of_a_look(make: Maker, looked: int) -> None:
    first, second = study_of(make, *A), study_of(make, *B)
    (first, second)[looked].plan["experiments"]["e"]["looks"] = [5, 10, 20]
    row = row_of(first, second, "x")
    for name, d in {"": np.array([0.25, 1.0, 0.0]), "change_": np.array([-0.25, 0.75, -0.5])}.items():
        expected = stats.t.interval(1 - 0.05 / 3, 2, d.mean(), stats.sem(d))
        np.testing.assert_allclose([row[f"{name}low"], row[f"{name}high"]], expected)
    second = study_of(make, *B, seeds=(7, 8, 9))
    second.plan["experiments"]["e"]["looks"] = [5, 10, 20]
    row = row_of(first, second, "x")
    welch = stats.ttest_ind(B[1], A[1], equal_var=False).confidence_interval(1 - 0.05 / 3)
    np.testing.assert_allclose([row["low"], row["high"]], [welch.low, welch.high])
