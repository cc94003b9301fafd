"""Effects pair by seed, and are corrected within a family."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from reports.frames import records
from reports.rows import read_study
from reports.table import Tables, make_tables


def with_pairs(place: Path, won: list[int]) -> None:
    """Contrastive pairs of a run, each won or not."""
    rows = [{"set": "", "distance": 1, "category": "", "right": float(w), "wrong": 0.5} for w in won]
    (place / "outputs").mkdir()
    pd.DataFrame(rows).to_csv(place / "outputs" / "contrasts.csv.gz", index=False)


Maker = Callable[..., Any]


def tables(study: Any) -> Tables:
    return make_tables(read_study(study.write()))


def loss(value: float | None, *, split: str = "test") -> list[tuple[str, str, str, float | None]]:
    return [(split, "loss", "", value)]


def pair_study(make: Maker, *, left_out: str = "", diverged: str = "") -> dict[str, Any]:
    """The effect on accuracy where the base has 90 of 100 pairs right, and one more with each seed, the variant 70."""
    study = make()
    study.experiment("pairs", {"worse": {"model.norm": "none"}})
    for variant, right in (("base", 90), ("worse", 70)):
        for seed in study.seeds:
            key = f"{variant}-{seed}"
            won = [int(i < right + seed * (variant == "base")) for i in range(100)]
            values = [("test", "accuracy", "", 0.5 if key == diverged else sum(won) / 100)]
            status = "diverged" if key == diverged else "completed"
            place = study.run("pairs", variant, seed, values, status=status)
            if key not in (left_out, diverged):
                with_pairs(place, won)
    (effect,) = records(tables(study).effects)
    return effect


def test_effects_pair_by_seed_and_use_only_seeds_that_both_have(make: Maker) -> None:
    study = make(seeds=(3, 1, 2))
    study.experiment("e", {"x": {"model.norm": "none"}})
    for seed, value in {3: 0.3, 1: 0.1, 2: 0.2}.items():
        study.run("e", "base", seed, loss(value))
    for seed, value in {2: 0.6, 3: 0.4}.items():
        study.run("e", "x", seed, loss(value))
    found = tables(study)
    effect = records(found.effects)[0]
    assert (effect["n_seeds"], effect["difference"]) == (2, pytest.approx(0.25))
    assert dict(zip(found.differences["seed"], found.differences["difference"], strict=True)) == pytest.approx(
        {2: 0.4, 3: 0.1}
    )


def test_effects_where_seeds_were_added_are_those_of_a_look(make: Maker) -> None:
    """Intervals at 1 - 0.05 / 3, p values times 3 before Holm; the experiment beside it has none of that."""
    study = make(seeds=range(5))
    for name, plan in {"plain": {}, "looked": {"looks": [5, 10, 20]}}.items():
        study.experiment(name, {"x": {"model.norm": "none"}, "y": {"model.norm": "rms"}}, **plan)
        for seed in range(5):
            study.run(name, "base", seed, loss(0.5))
            study.run(name, "x", seed, loss(0.6 + 0.03 * seed))
            study.run(name, "y", seed, loss(0.5 + 0.1 * (-1) ** seed))
    found = {(row["experiment"], row["variant"]): row for row in records(tables(study).effects)}
    differences = {"x": [0.1, 0.13, 0.16, 0.19, 0.22], "y": [0.1, -0.1, 0.1, -0.1, 0.1]}
    for (experiment, variant), row in found.items():
        looks = 3 if experiment == "looked" else 1
        tested = stats.ttest_1samp(differences[variant], 0)
        interval = tested.confidence_interval(1 - 0.05 / looks)
        assert (row["low"], row["high"]) == pytest.approx((interval.low, interval.high))
        assert row["p_value"] == pytest.approx(min(1, looks * tested.pvalue))
    for experiment in ("plain", "looked"):
        p_values = [found[experiment, variant]["p_value"] for variant in "xy"]
        corrected = [found[experiment, variant]["p_holm"] for variant in "xy"]
        assert corrected == pytest.approx(multipletests(p_values, method="holm")[1])
    assert found["looked", "y"]["p_value"] == 1.0


def test_an_effect_carries_the_variance_of_the_test_items(make: Maker) -> None:
    effect = pair_study(make)
    # the same 20 to 22 of 100 items differ: variance of their mean, averaged over the seeds
    per_item = np.array([0] * 70 + [-1] * 20 + [-2 / 3, -1 / 3] + [0] * 8)
    assert effect["difference"] == pytest.approx(-0.21)
    assert effect["item_variance"] == pytest.approx(per_item.var() / 100, rel=0.12)
    assert effect["seed_variance"] == pytest.approx(0.01**2 / 3)
    half = 4.302652729911275 * np.sqrt(effect["seed_variance"] + effect["item_variance"])
    assert effect["high"] - effect["difference"] == pytest.approx(half)
    assert effect["scope"] == "seeds and items"


def test_a_run_that_left_no_items_takes_the_item_part_with_it_and_a_diverged_one_does_not(make: Maker) -> None:
    without = pair_study(make, left_out="worse-1")
    assert np.isnan(without["item_variance"])
    assert without["scope"] == "seeds"
    diverged = pair_study(make, diverged="worse-1")
    assert diverged["scope"] == "seeds and items"
    assert (diverged["planned"], diverged["completed"], diverged["diverged"]) == (3, 2, 1)
    assert (diverged["base_planned"], diverged["base_completed"], diverged["base_diverged"]) == (3, 3, 0)


def test_p_is_corrected_within_an_experiment_and_a_metric(make: Maker) -> None:
    study = make()
    noise = {"a": [0.1, 0.12, 0.08], "b": [0.5, -0.3, 0.2], "c": [0.2, 0.3, 0.16]}
    for experiment in ("one", "two"):
        study.experiment(experiment, {name: {"model.norm": name} for name in noise})
        for seed in study.seeds:
            study.run(experiment, "base", seed, loss(1.0))
            for name, added in noise.items():
                study.run(experiment, name, seed, [*loss(1 + added[seed]), ("test", "bleu", "", 50 - added[seed])])
    found = tables(study).effects
    family = found[(found["experiment"] == "one") & (found["metric"] == "loss")]
    expected = multipletests(family["p_value"], method="holm")[1]
    assert family["p_holm"].tolist() == pytest.approx(list(expected))
    assert found.loc[found["metric"] == "loss", "p_holm"].tolist() == pytest.approx([*expected, *expected])
