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
    assert entry["noise_floor"] == 2.0
    assert entry["deviation"] == pytest.approx(2.8284271)
    assert (entry["deviation_basis"], entry["deviation_variant"], entry["deviation_seeds"]) == (UNPAIRED, None, 3)
    assert entry["deviation_low"] == pytest.approx(2.8284271 * np.sqrt(2 / 7.3777589))
    assert entry["deviation_high"] == pytest.approx(2.8284271 * np.sqrt(2 / 0.0506356))
    solved = TTestPower().solve_power(nobs=5, alpha=0.05, power=0.8) * 2.8284271
    assert (entry["planned_seeds"], entry["smallest_effect"]) == (5, pytest.approx(solved, rel=1e-4))


def test_wanted_changes_are_parts_of_the_mean(make: Maker) -> None:
    (entry,) = entries(begin(make, {"base": BASE}))
    assert [(of["change"], of["effect"]) for of in entry["wanted"]] == [
        (0.02, pytest.approx(0.44)),
        (0.05, pytest.approx(1.1)),
        (0.1, pytest.approx(2.2)),
    ]
    needed = [TTestPower().solve_power(of["effect"] / 2.8284271, alpha=0.05, power=0.8) for of in entry["wanted"]]
    assert [of["seeds"] for of in entry["wanted"]] == np.ceil(needed).tolist()


def test_a_given_effect_is_in_the_metrics_unit(make: Maker) -> None:
    (entry,) = entries(begin(make, {"base": BASE}), effect=4.0)
    needed = np.ceil(TTestPower().solve_power(4.0 / 2.8284271, alpha=0.05, power=0.8))
    assert entry["wanted"] == [{"change": None, "effect": 4.0, "seeds": needed}]


def test_the_variant_whose_differences_vary_most_counts(make: Maker) -> None:
    """x differs by 1, 2, 3 (deviation 1); y by 0, 3 (2.121), its third seed without the base."""
    (entry,) = entries(begin(make, {"base": BASE, "x": (21.0, 24.0, 27.0), "y": (20.0, 25.0)}))
    assert entry["deviation"] == pytest.approx(np.sqrt(4.5))
    assert (entry["deviation_basis"], entry["deviation_variant"], entry["deviation_seeds"]) == (PAIRED, "y", 2)


def test_a_single_shared_seed_says_nothing_of_differences(make: Maker) -> None:
    (entry,) = entries(begin(make, {"base": BASE, "x": (99.0,)}))
    assert entry["deviation_basis"] == UNPAIRED


@pytest.mark.parametrize("values", [{}, {"base": (20.0,)}, {"x": (20.0, 22.0)}])
def test_without_two_seeds_of_the_base_there_is_no_entry(make: Maker, values: dict[str, tuple[float, ...]]) -> None:
    assert entries(begin(make, values)) == []


def test_a_pilot_without_spread_says_nothing_of_other_seeds(make: Maker) -> None:
    (entry,) = entries(begin(make, {"base": (1.0, 1.0, 1.0)}, "accuracy"))
    assert (entry["noise_floor"], entry["deviation"], entry["smallest_effect"]) == (0.0, 0.0, None)
    assert [of["seeds"] for of in entry["wanted"]] == [None] * 3


def test_an_entry_for_each_headline_metric_in_its_order(make: Maker) -> None:
    study = make()
    study.experiment("e", {"x": {"model.norm": "none"}}, headline=["loss", "bleu"])
    for seed in range(3):
        study.run(
            "e", "base", seed, [("test", m, "", s * seed) for m, s in (("chrf", 1.0), ("bleu", 2.0), ("loss", 3.0))]
        )
    assert [(of["metric"], of["noise_floor"]) for of in entries(study)] == [("loss", 3.0), ("bleu", 2.0)]
