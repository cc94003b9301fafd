"""What seeds can show, and effects in numbers."""

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.power import TTestPower

from reports.experiment import Experiment
from reports.pages.evidence import (
    change_cell,
    deviation,
    effects_caption,
    effects_grid,
    needs,
    noise_caption,
    noise_grid,
    smallest_effects,
)
from reports.rows import read_study
from reports.sequential import look_level
from reports.statistics import paired_effect
from reports.table import make_tables

Maker = Callable[..., Any]


def experiment(folder: Path, name: str) -> Experiment:
    return Experiment(make_tables(read_study(folder)), name)


def effect(*differences: float, **fields: Any) -> dict[str, Any]:
    n = len(differences)
    counts = {"planned": n, "completed": n, "diverged": 0}
    counts |= {f"base_{name}": count for name, count in counts.items()}
    found = vars(paired_effect([0.0] * n, list(differences)))
    nan = {name: float("nan") if value is None else value for name, value in found.items()}
    return {"metric": "loss", "variant": "x", "scope": "seeds", "p_holm": nan["p_value"], **nan, **counts, **fields}


def test_the_spread_of_differences_is_that_of_the_seeds() -> None:
    assert deviation(effect(21.0, 23.0, 25.0)) == pytest.approx(2.0)
    assert deviation(effect(21.0)) is None
    assert deviation(effect(0.5, 0.5, 0.5)) is None


def test_smallest_effects_and_seeds_are_those_of_the_paired_t_test() -> None:
    (found,) = smallest_effects([effect(21.0, 23.0, 25.0), effect(1.0)])
    independent = TTestPower().solve_power(effect_size=None, nobs=3, alpha=0.05, power=0.8)
    assert found == pytest.approx(2.0 * float(independent), rel=1e-4)
    seeds = TTestPower().solve_power(effect_size=1 / 3, nobs=None, alpha=0.05, power=0.8)
    assert needs(effect(-2.0, 1.0, 4.0)) == int(seeds) + 1
    assert needs(effect(-1.0, 1.0)) is None
    assert needs(effect(1.0)) is None


def test_where_seeds_are_added_at_looks_each_look_has_a_part_of_the_chance_of_error(make: Maker) -> None:
    level = look_level([5, 10, 20])
    (found,) = smallest_effects([effect(21.0, 23.0, 25.0)], level)
    drawn = np.random.default_rng(0).normal(found, 2.0, (100_000, 3))
    statistics = np.sqrt(3) * drawn.mean(axis=1) / drawn.std(axis=1, ddof=1)
    assert (np.abs(statistics) > stats.t.ppf(1 - 0.05 / 6, 2)).mean() == pytest.approx(0.8, abs=0.005)
    assert (needs(effect(-2.0, 1.0, 4.0), level) or 0) > (needs(effect(-2.0, 1.0, 4.0)) or 0)
    assert "(paired t test, 1.7\N{NO-BREAK SPACE}%)" in noise_caption([5, 10, 20])
    assert "(paired t test, 5\N{NO-BREAK SPACE}%)" in noise_caption([])
    grids = []
    for looks in ([], [5, 10, 20]):
        study = make(seeds=range(5))
        study.experiment("e", {"x": {"model.norm": "none"}}, headline=["loss"], looks=looks)
        for seed, (base, changed) in enumerate([(0.2, 0.9), (0.3, 0.4), (0.1, 0.8), (0.2, 0.1), (0.3, 0.6)]):
            study.run("e", "base", seed, [("test", "loss", "", base)])
            study.run("e", "x", seed, [("test", "loss", "", changed)])
        grids.append(noise_grid(experiment(study.write(), "e")))
    fixed, looked = ([cell.text for cell in grid.rows[0]] for grid in grids if grid is not None)
    assert float(looked[2]) > float(fixed[2])
    assert int(looked[3].removeprefix("x: ")) > int(fixed[3].removeprefix("x: "))


def test_the_noise_is_that_of_the_base_and_undecided_variants_say_what_they_need(make: Maker) -> None:
    study = make()
    study.experiment("e", {v: {"model.norm": v} for v in ("x", "y")}, headline=["loss", "bleu"])
    losses = {"base": (21.0, 23.0, 25.0), "x": (21.5, 22.5, 26.0), "y": (31.0, 33.5, 35.0)}
    for variant, values in losses.items():
        for seed, value in enumerate(values):
            study.run("e", variant, seed, [("test", "loss", "", value)])
    grid = noise_grid(experiment(study.write(), "e"))
    assert grid is not None
    ((name, spread, smallest, needed),) = grid.rows
    assert (name.text, spread.text, spread.note) == ("Loss", "2.000", "n = 3")
    assert smallest.note.count(" to ") == 1
    assert needed.text.startswith("x: ")
    assert "y" not in needed.text


def test_one_seed_has_no_noise_to_speak_of(make: Maker) -> None:
    study = make(seeds=(0,))
    study.experiment("e", {"x": {"model.norm": "none"}}, headline=["loss"])
    for variant in ("base", "x"):
        study.run("e", variant, 0, [("test", "loss", "", 1.0)])
    assert noise_grid(experiment(study.write(), "e")) is None


def test_every_effect_has_both_intervals_and_what_the_pairing_is_worth(quick: Path) -> None:
    grid = effects_grid(experiment(quick, "german"))
    assert grid is not None
    assert len(grid.rows) == 4 * 8
    assert [row[0].text for row in grid.rows[::8]] == ["Loss", "BLEU", "Accuracy", "Long-range accuracy"]
    assert all(" to " in cell.text for row in grid.rows for cell in row[3:5])
    assert all(row[5].text.lstrip("−").replace(".", "").isdigit() for row in grid.rows)
    holm, p = (grid.columns.index(name) for name in ("p (Holm)", "p"))
    pairs = [(row[holm].value, row[p].value) for row in grid.rows]
    assert all(a is not None and b is not None and b <= a <= 1 for a, b in pairs)
    assert any(a != b for a, b in pairs)
    assert {row[grid.columns.index("Seeds")].text for row in grid.rows} == {"3 seeds"}
    assert "in the figures and speaks of new seeds on the same test items;" in effects_caption(
        experiment(quick, "german")
    )


def test_runs_that_diverged_are_counted_in_every_effect(make: Maker) -> None:
    study = make()
    study.experiment("e", {"x": {"model.norm": "none"}}, headline=["loss"])
    for seed in study.seeds:
        study.run("e", "base", seed, [("test", "loss", "", 0.5 + seed / 8)])
        fields = {"status": "diverged", "reason": "not finite"} if seed == 1 else {}
        if seed < 2:
            study.run("e", "x", seed, [("test", "loss", "", 5.0)], **fields)
    grid = effects_grid(experiment(study.write(), "e"))
    assert grid is not None
    cell = grid.rows[0][grid.columns.index("Seeds")]
    assert (cell.text, cell.kind) == ("2 of 3 seeds, 1 diverged", "text bad")


def test_a_change_is_grey_unless_the_interval_leaves_out_zero() -> None:
    decided, open_ = change_cell(effect(1.0, 1.1, 1.2), "loss"), change_cell(effect(-1.0, 1.0, 0.5), "loss")
    assert (decided.text, decided.kind) == ("+1.100", "number")
    assert decided.note == "+0.852 to +1.348"
    assert open_.kind == "number undecided"
    single = change_cell(effect(1.0, planned=3, base_planned=3, base_completed=3), "loss")
    assert single.note == "one seed: no interval, 1 of 3 seeds"
    assert change_cell(None, "loss").text == "–"


def test_the_column_of_intervals_names_the_level_of_the_experiment(make: Maker) -> None:
    study = make()
    for name, looks in (("plain", []), ("looked", [5, 10, 20])):
        study.experiment(name, {"x": {"model.norm": "none"}}, headline=["loss"], looks=looks)
        for variant, seed in product(("base", "x"), study.seeds):
            study.run(name, variant, seed, [("test", "loss", "", 1.0 + 0.1 * seed * len(variant))])
    study.write()
    for name, level in (("plain", "95"), ("looked", "98.3")):
        grid = effects_grid(experiment(study.folder, name))
        assert grid is not None
        assert grid.columns[3] == f"{level}\N{NO-BREAK SPACE}% interval, paired"


def test_where_nothing_is_compared_the_noise_is_of_no_use(make: Maker) -> None:
    study = make()
    study.experiment("e", {}, headline=["loss"])
    for seed in study.seeds:
        study.run("e", "base", seed, [("test", "loss", "", 0.5 + seed)])
    assert noise_grid(experiment(study.write(), "e")) is None
