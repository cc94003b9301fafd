"""Noise of a study from made-up pilots."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from statsmodels.stats.power import TTestPower

from reports.noise import PAIRED, UNPAIRED, noise
from reports.rows import read_study

Maker = Callable[..., Any]

BASE = (20.0, 22.0, 24.0)


def begin(make: Maker, values: dict[str, tuple[float, ...]], metric: str = "bleu") -> Any:
    study = make(seeds=range(4))
    study.experiment("e", {name: {"model.norm": name} for name in ("x", "y")}, headline=["loss", metric])
    for variant, numbers in values.items():
        for seed, value in enumerate(numbers):
            study.run("e", variant, seed, [("test", metric, "", value)])
    return study


def entries(study: Any, planned: int = 5, effect: float | None = None) -> list[dict[str, Any]]:
    return noise(read_study(study.write()), dict.fromkeys(study.plan["experiments"], planned), effect)


def test_pilots_of_the_base_alone(make: Maker) -> None:
    """Deviation 2, of unpaired differences 2 sqrt(2); 95 % of chi-square on 2 degrees: 0.0506 to 7.378."""
    (entry,) = entries(begin(make, {"base": BASE}))
    assert (entry["experiment"], entry["metric"], entry["base_seeds"], entry["base_mean"]) == ("e", "bleu", 3, 22.0)
    assert (entry["noise_floor"], entry["planned_seeds"]) == (2.0, 5)
    assert (entry["deviation_basis"], entry["largest"], entry["median"]) == (UNPAIRED, None, None)
    (alone,) = entry["variants"]
    assert (alone["variant"], alone["seeds"], alone["deviation"]) == (None, 3, pytest.approx(2.8284271))
    assert alone["deviation_low"] == pytest.approx(2.8284271 * np.sqrt(2 / 7.3777589))
    assert alone["deviation_high"] == pytest.approx(2.8284271 * np.sqrt(2 / 0.0506356))
    solved = TTestPower().solve_power(nobs=5, alpha=0.05, power=0.8) * 2.8284271
    assert alone["smallest_effect"] == pytest.approx(solved, rel=1e-4)


def test_wanted_changes_are_parts_of_the_mean(make: Maker) -> None:
    (entry,) = entries(begin(make, {"base": BASE}))
    wanted = entry["variants"][0]["wanted"]
    assert [(of["change"], of["effect"]) for of in wanted] == [
        (0.02, pytest.approx(0.44)),
        (0.05, pytest.approx(1.1)),
        (0.1, pytest.approx(2.2)),
    ]
    needed = [TTestPower().solve_power(of["effect"] / 2.8284271, alpha=0.05, power=0.8) for of in wanted]
    assert [of["seeds"] for of in wanted] == np.ceil(needed).tolist()


def test_a_given_effect_is_in_the_metrics_unit(make: Maker) -> None:
    (entry,) = entries(begin(make, {"base": BASE}), effect=4.0)
    needed = np.ceil(TTestPower().solve_power(4.0 / 2.8284271, alpha=0.05, power=0.8))
    assert entry["variants"][0]["wanted"] == [{"change": None, "effect": 4.0, "seeds": needed}]


def test_each_variant_has_the_seeds_that_its_own_differences_take(make: Maker) -> None:
    """x differs by 1, 2, 3 (deviation 1); y by 0, 3 (2.121), its third seed without the base."""
    (entry,) = entries(begin(make, {"base": BASE, "x": (21.0, 24.0, 27.0), "y": (20.0, 25.0)}), effect=4.0)
    assert entry["deviation_basis"] == PAIRED
    found = [(of["variant"], of["seeds"], of["deviation"]) for of in entry["variants"]]
    assert found == [("y", 2, pytest.approx(np.sqrt(4.5))), ("x", 3, pytest.approx(1.0))]
    solved = [TTestPower().solve_power(4.0 / sd, alpha=0.05, power=0.8) for sd in (np.sqrt(4.5), 1.0)]
    assert [of["wanted"][0]["seeds"] for of in entry["variants"]] == np.ceil(solved).tolist()


@pytest.mark.parametrize(
    ("deviations", "largest", "median"),
    [
        ({"x": 1.0}, "x", "x"),
        ({"x": 1.0, "y": 3.0}, "y", "y"),
        ({"x": 1.0, "y": 3.0, "z": 2.0}, "y", "z"),
        ({"v": 5.0, "x": 1.0, "y": 3.0, "z": 2.0}, "v", "y"),
    ],
)
def test_the_median_is_a_variant_than_which_half_take_no_more_seeds(
    make: Maker, deviations: dict[str, float], largest: str, median: str
) -> None:
    """Differences of -d, 0, d have the deviation d."""
    study = make(seeds=range(3))
    study.experiment("e", {name: {"model.norm": name} for name in deviations}, headline=["bleu"])
    for seed, step in enumerate((-1.0, 0.0, 1.0)):
        study.run("e", "base", seed, [("test", "bleu", "", BASE[seed])])
        for name, deviation in deviations.items():
            study.run("e", name, seed, [("test", "bleu", "", BASE[seed] + deviation * step)])
    (entry,) = entries(study)
    assert (entry["largest"], entry["median"]) == (largest, median)
    needed = [of["wanted"][0]["seeds"] for of in entry["variants"]]
    assert needed == sorted(needed, reverse=True)


def test_a_single_shared_seed_says_nothing_of_differences(make: Maker) -> None:
    (entry,) = entries(begin(make, {"base": BASE, "x": (99.0,)}))
    assert entry["deviation_basis"] == UNPAIRED


@pytest.mark.parametrize("values", [{}, {"base": (20.0,)}, {"x": (20.0, 22.0)}])
def test_without_two_seeds_of_the_base_there_is_no_entry(make: Maker, values: dict[str, tuple[float, ...]]) -> None:
    assert entries(begin(make, values)) == []


def test_a_pilot_without_spread_says_nothing_of_other_seeds(make: Maker) -> None:
    (entry,) = entries(begin(make, {"base": (1.0, 1.0, 1.0)}, "accuracy"))
    (alone,) = entry["variants"]
    assert (entry["noise_floor"], alone["deviation"], alone["smallest_effect"]) == (0.0, 0.0, None)
    assert [of["seeds"] for of in alone["wanted"]] == [None] * 3


def test_an_entry_for_each_headline_metric_in_its_order(make: Maker) -> None:
    study = make()
    study.experiment("e", {"x": {"model.norm": "none"}}, headline=["loss", "bleu"])
    for seed in range(3):
        study.run(
            "e", "base", seed, [("test", m, "", s * seed) for m, s in (("chrf", 1.0), ("bleu", 2.0), ("loss", 3.0))]
        )
    assert [(of["metric"], of["noise_floor"]) for of in entries(study)] == [("loss", 3.0), ("bleu", 2.0)]
