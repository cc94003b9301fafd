"""A variant over several experiments."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from scipy import stats

from reports.experiment import Experiment
from reports.pages.grids import Grid
from reports.pages.overall import overall_grid
from reports.rows import read_study
from reports.table import make_tables

Maker = Callable[..., Any]
CHANGES = {"none": {"model.norm": "none"}, "rms": {"model.norm": "rms"}}


def grid_of(study: Any) -> Grid | None:
    tables = make_tables(read_study(study.write()))
    return overall_grid([Experiment(tables, name) for name in study.plan["experiments"]])


def losses(study: Any, experiment: str, values: Mapping[str, Sequence[float]]) -> None:
    for variant, of_seed in values.items():
        for seed, value in zip(study.seeds, of_seed, strict=False):
            study.run(experiment, variant, seed, [("test", "loss", "", value)])


def test_the_middle_of_the_changes_and_the_share_of_runs_that_beat_the_base(make: Maker) -> None:
    study = make()
    base = {"a": [1.0, 1.1, 1.2], "b": [2.0, 2.2, 2.1]}
    other = {"a": [1.5, 1.7, 1.6], "b": [1.9, 2.25, 2.5]}
    for name in base:
        study.experiment(name, CHANGES, headline=["loss"])
        losses(study, name, {"base": base[name], "none": other[name]})
    grid = grid_of(study)
    assert grid is not None
    ((metric, variant, experiments, seeds, change, wins),) = grid.rows
    assert [cell.text for cell in (metric, variant, experiments, seeds)] == ["Loss", "none", "2", "3"]
    differences = (np.array([other["a"], other["b"]]) - np.array([base["a"], base["b"]])).mean(0)
    interval = stats.ttest_1samp(differences, 0).confidence_interval()
    assert change.text == f"+{differences.mean():.3f}"
    assert change.note == f"+{interval.low:.3f} to +{interval.high:.3f}"
    # a: none of 9 pairs is better (lower); b: 1.9 beats three of the base, 2.25 and 2.5 none
    assert wins.text == f"{(0 / 9 + 3 / 9) / 2:.2f}"
    low, high = map(float, wins.note.split(" to "))
    assert low < 1 / 6 < high < 0.75


def test_only_what_experiments_share_is_there(make: Maker) -> None:
    study = make()
    study.experiment("a", CHANGES, headline=["loss"])
    study.experiment("b", {"none": {"model.norm": "none"}, "rms": {"train.lr": 0.1}}, headline=["loss"])
    for name in "ab":
        losses(study, name, {"base": [1.0, 1.5, 2.0], "none": [2.0, 2.5], "rms": [1.0, 1.0, 1.0]})
    grid = grid_of(study)
    assert grid is not None
    assert [(row[1].text, row[3].text) for row in grid.rows] == [("none", "2")]


@pytest.mark.parametrize("grid", [{}, {"grid": {"train.lr": 0.1}, "family": "a"}], ids=["alone", "grid"])
def test_one_experiment_and_the_points_of_a_grid_have_no_such_table(grid: dict[str, Any], make: Maker) -> None:
    study = make()
    for name in ("a", "b") if grid else ("a",):
        study.experiment(name, CHANGES, headline=["loss"], **grid)
        losses(study, name, {"base": [1.0, 1.5, 2.0], "none": [2.0, 2.5, 2.5]})
    assert grid_of(study) is None


def test_where_seeds_were_added_in_one_of_them_the_level_is_that_of_a_look(make: Maker) -> None:
    study = make()
    base, other = [1.0, 1.1, 1.2], {"a": [1.5, 1.7, 1.6], "b": [1.9, 2.25, 2.5]}
    for name, looks in (("a", []), ("b", [5, 10, 20])):
        study.experiment(name, CHANGES, headline=["loss"], looks=looks)
        losses(study, name, {"base": base, "none": other[name]})
    grid = grid_of(study)
    assert grid is not None
    change, wins = grid.rows[0][-2:]
    differences = np.mean([other["a"], other["b"]], axis=0) - base
    interval = stats.ttest_1samp(differences, 0).confidence_interval(1 - 0.05 / 3)
    assert change.note == f"{interval.low:+.3f} to {interval.high:+.3f} (98.3\N{NO-BREAK SPACE}%)".replace("-", "−")
    # no run is better: 1 - (0.05 / 3 / 2)^(1 / 6), as Clopper and Pearson's for 6 of 6
    assert wins.note == f"0.00 to {1 - (0.05 / 6) ** (1 / 6):.2f} (98.3\N{NO-BREAK SPACE}%)"
