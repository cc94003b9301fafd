"""Tables lose no row, merge none, and say how many seeds stand behind a number."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from reports.metrics import LONG_RANGE
from reports.rows import read_study
from reports.table import (
    Tables,
    describe_changes,
    describe_counts,
    far_distances,
    make_tables,
    records,
    reported_values,
    variant_order,
    with_axis,
    with_category,
)

Maker = Callable[..., Any]


def tables(study: Any) -> Tables:
    return make_tables(read_study(study.write()))


def loss(value: float | None, *, split: str = "test") -> list[tuple[str, str, str, float | None]]:
    return [(split, "loss", "", value)]


def by_variant(frame: pd.DataFrame) -> dict[str, dict[str, Any]]:
    return {row["variant"]: row for row in records(frame)}


def test_a_variant_called_none_is_a_row_like_any_other(make: Maker) -> None:
    study = make()
    study.experiment("positions", {name: {"model.position": name} for name in ("None", "sin", "learned", "NA")})
    for variant in ("base", "None", "sin", "learned", "NA"):
        for seed in study.seeds:
            study.run("positions", variant, seed, loss(0.5 + seed))
    found = tables(study)
    assert list(found.variants["variant"]) == ["base", "None", "sin", "learned", "NA"]
    assert list(found.effects["variant"]) == ["None", "sin", "learned", "NA"]
    assert set(found.variants["loss_n"]) == {3}


def test_written_tables_read_back_equal(make: Maker, tmp_path: Path) -> None:
    study = make()
    study.experiment("positions", {name: {"model.position": name} for name in ("None", "null", "a,b")})
    for variant in ("base", "None", "null", "a,b"):
        study.run("positions", variant, 0, loss(0.1 + 0.2))
    found = tables(study)
    for frame in (found.values, found.effects):
        frame.to_csv(tmp_path / "table.csv", index=False)
        text = ["experiment", "variant", "state", "split", "metric", "coordinate", "base"]
        numbers = {str(column): [""] for column in frame if column not in text}
        again = pd.read_csv(tmp_path / "table.csv", keep_default_na=False, na_values=numbers)
        pd.testing.assert_frame_equal(again, frame)


def test_two_results_are_a_conflict_and_not_their_mean(make: Maker) -> None:
    study = make(seeds=(0,))
    study.experiment("e", {"x": {"model.norm": "none"}})
    study.run("e", "base", 0, loss(0.0))
    study.run("e", "x", 0, loss(1.0))
    study.run("e", "x", 0, loss(3.0), folder="e1/again/seed-0")
    found = tables(study)
    row = by_variant(found.variants)["x"]
    assert (row["counted"], row["planned"], row["conflict"], row["loss_n"]) == (0, 1, 1, 0)
    assert found.effects.empty
    assert set(found.values["variant"]) == {"base"}
    assert describe_counts(row) == "0 of 1, 1 conflict"


def test_counts_of_seeds_stand_beside_every_mean(make: Maker) -> None:
    study = make()
    study.experiment("e", {"x": {"model.norm": "none"}, "y": {"model.norm": "rms"}})
    study.run("e", "x", 0, loss(1.0))
    study.run("e", "x", 1, loss(None), status="diverged", reason="not finite")
    study.run("e", "x", 2, loss(3.0))
    study.run("e", "y", 0, loss(1.0))
    study.run("e", "y", 1, [], status="failed", reason="killed")
    rows = by_variant(tables(study).variants)
    assert (rows["x"]["loss_n"], rows["x"]["loss_mean"], rows["x"]["loss_sd"]) == (2, 2.0, pytest.approx(2**0.5))
    assert describe_counts(rows["x"]) == "2 of 3, 1 diverged"
    assert describe_counts(rows["y"]) == "1 of 3, 1 failed, 1 missing"
    assert describe_counts(rows["base"]) == "0 of 3, 3 missing"


def test_a_diverged_run_counts_with_its_fixed_values_but_not_in_costs(make: Maker) -> None:
    study = make(seeds=(0, 1))
    study.experiment("e", {"x": {"model.norm": "none"}})
    for seed in (0, 1):
        study.run("e", "base", seed, loss(0.5))
    study.run("e", "x", 0, loss(0.7), cost={"wall_seconds": 20.0})
    study.run("e", "x", 1, loss(2.77), status="diverged", cost={"wall_seconds": 1.0})
    found = tables(study)
    row = by_variant(found.variants)["x"]
    assert row["loss_mean"] == pytest.approx((0.7 + 2.77) / 2)
    assert row["loss_change"] == pytest.approx((0.7 + 2.77) / 2 - 0.5)
    assert row["wall_seconds"] == 20.0
    assert list(found.differences["state"]) == ["completed", "diverged"]


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


def test_numbers_are_from_the_test_set_where_there_is_one(make: Maker) -> None:
    study = make(seeds=(0,))
    study.experiment("e", {"x": {"model.norm": "none"}})
    for variant in ("base", "x"):
        values = [
            *loss(0.5),
            *loss(0.1, split="validation"),
            *loss(9.0, split="train"),
            ("validation", "bleu", "", 7.0),
        ]
        study.run("e", variant, 0, [*values, ("probe", "gradient_norm", "layer=1", 0.03)])
    found = tables(study)
    kept = {(row["metric"], row["split"], row["value"]) for row in records(found.reported)}
    assert kept == {("loss", "test", 0.5), ("bleu", "validation", 7.0), ("gradient_norm", "probe", 0.03)}
    assert set(found.effects["split"]) == {"test", "validation"}
    assert len(found.values) == 10


@pytest.mark.parametrize(
    ("distances", "far"),
    [([4, 8], []), ([1, 2, 4], [4.0]), ([16, 1, 2, 8, 4], [8.0, 16.0]), (range(1, 18), range(12, 18))],
)
def test_long_range_is_the_longest_third_of_the_distances(distances: list[int], far: list[float], make: Maker) -> None:
    study = make(seeds=(0,))
    study.experiment("e", {"x": {"model.norm": "none"}})
    at = [("test", "accuracy", f"distance={d}", d / 100) for d in distances]
    study.run("e", "base", 0, [("test", "accuracy", "", 0.5), *at, ("test", "accuracy", "length=99", 0.0)])
    found = tables(study).reported
    assert far_distances(found) == list(far)
    long_range = found[found["metric"] == LONG_RANGE]
    assert list(long_range["value"]) == pytest.approx([np.mean(list(far)) / 100] if far else [])


def test_long_range_is_weighted_by_test_items_where_these_are_known(make: Maker) -> None:
    study = make(seeds=(0,))
    study.experiment("e", {"x": {"model.norm": "none"}})
    values = [("test", "accuracy", f"distance={d}", a) for d, a in [(1, 1.0), (2, 1.0), (3, 1.0), (4, 0.8), (5, 0.2)]]
    items = [("test", "items", f"distance={d}", n) for d, n in [(1, 50.0), (4, 30.0), (5, 10.0)]]
    study.run("e", "base", 0, [*values, *items])
    found = tables(study).reported
    assert found.loc[found["metric"] == LONG_RANGE, "value"].item() == pytest.approx((0.8 * 30 + 0.2 * 10) / 40)


def test_long_range_of_a_diverged_run_is_its_fixed_accuracy(make: Maker) -> None:
    study = make(seeds=(0,))
    study.experiment("e", {"x": {"model.norm": "none"}})
    at = [("test", "accuracy", f"distance={d}", 1.0) for d in (1, 2, 4)]
    study.run("e", "base", 0, [("test", "accuracy", "", 1.0), *at])
    study.run("e", "x", 0, [("test", "accuracy", "", 0.5)], status="diverged")
    found = tables(study).effects
    assert found.loc[found["metric"] == LONG_RANGE, "difference"].item() == -0.5


def test_long_range_needs_the_same_distances_in_every_run(make: Maker) -> None:
    study = make(seeds=(0,))
    study.experiment("e", {f"distance-{d}": {"task.distance": d} for d in (2, 4, 8)}, base="distance-1")
    for d in (1, 2, 4, 8):
        study.run("e", f"distance-{d}", 0, [("test", "accuracy", "", 1.0), ("test", "accuracy", f"distance={d}", 1.0)])
    assert LONG_RANGE not in set(tables(study).reported["metric"])


def test_order_is_that_of_the_plan_and_by_number_where_one_setting_varies() -> None:
    def plan(changes: Mapping[str, Mapping[str, Any]], base: str = "base") -> Any:
        return {"base": base, "variants": [base, *changes], "changes": changes}

    heads: dict[str, dict[str, Any]] = {f"h{n}": {"model.n_heads": n} for n in (12, 1, 8, 2, 3, 6)}
    assert variant_order(plan(heads)) == ["base", "h1", "h2", "h3", "h6", "h8", "h12"]
    mixed: dict[str, dict[str, Any]] = {
        "b": {"model.n_heads": 8},
        "a": {"model.norm": "none"},
        "c": {"model.n_heads": 1},
    }
    assert variant_order(plan(mixed)) == ["base", "b", "a", "c"]
    flags = {"yes": {"model.input_feeding": True}, "no": {"model.input_feeding": False}}
    assert variant_order(plan(flags)) == ["base", "yes", "no"]
    without = plan(mixed, base="gone")
    without["variants"].remove("gone")
    assert variant_order(without) == ["b", "a", "c"]


def test_coordinates_are_taken_apart_only_where_they_are_numbers() -> None:
    coordinates = ["", "distance=8", "category=verb", "layer=0.5", "category=97", "category=a=b"]
    rows = pd.DataFrame({"coordinate": coordinates, "value": range(6)})
    found = with_axis(rows)
    assert list(found["axis"]) == ["distance", "layer"]
    assert list(found["at"]) == [8.0, 0.5]
    assert list(with_category(rows)["category"]) == ["verb", "97", "a=b"]
    assert with_axis(rows[:0]).empty
    assert with_category(rows[:0]).empty


def test_curves_are_of_the_validation_set_and_an_unreadable_file_costs_only_its_own(make: Maker) -> None:
    study = make(seeds=(0, 1))
    study.experiment("e", {"x": {"model.norm": "none"}})
    study.run("e", "base", 0, loss(0.5), curve=[(10, "loss", 0.9), (20, "loss", 0.5)])
    bad = study.run("e", "base", 1, loss(0.5), curve=[(10, "loss", 0.9)])
    with (bad / "metrics.csv").open("a") as file:
        file.write("twenty,validation,loss,,0.5\n")
    study.run("e", "x", 0, [], status="failed", curve=[(10, "loss", 0.9)])
    found = tables(study)
    assert list(found.curves["step"]) == [10, 20]
    assert len(found.problems) == 1
    assert "metrics.csv: line 3" in found.problems[0]


def test_training_seconds_are_a_column_and_empty_where_a_run_has_none(make: Maker) -> None:
    study = make(seeds=(0, 1))
    study.experiment("e", {})
    study.run("e", "base", 0, loss(0.5), cost={"train_seconds": 3.25})
    old = study.run("e", "base", 1, loss(0.5)) / "result.json"
    old.write_text(old.read_text("utf-8").replace('"train_seconds": 14.5, ', ""), "utf-8")
    found = tables(study)
    assert list(found.runs["train_seconds"].fillna(-1)) == [3.25, -1]
    assert list(found.variants["train_seconds"]) == [3.25]


def test_numbers_are_numbers_where_all_are_missing(make: Maker) -> None:
    study = make(seeds=(0,))
    study.experiment("e", {})
    study.run("e", "base", 0, loss(0.5), cost={"training_flops": None})
    row = tables(study).variants.iloc[0]
    assert [np.isnan(row[name]) for name in ("loss_change", "loss_sd", "training_flops")] == [True] * 3


def test_an_empty_study_has_empty_tables_with_all_columns(make: Maker) -> None:
    study = make()
    study.experiment("e", {"x": {"model.norm": "none"}})
    found = tables(study)
    assert len(found.runs) == 6
    assert list(found.variants["missing"]) == [3, 3]
    assert found.effects.empty
    assert "difference" in found.effects
    assert reported_values(found.values).empty


def test_changes_are_written_as_yaml_would_have_them() -> None:
    changes = {"model.position": "none", "model.d_ff": None, "train.lr": 0.001, "model.input_feeding": True}
    assert (
        describe_changes(changes)
        == "model.position: none, model.d_ff: null, train.lr: 0.001, model.input_feeding: true"
    )


def test_the_quick_study_has_the_numbers_that_were_put_in(quick: Path) -> None:
    found = make_tables(read_study(quick))
    effects = {(row["metric"], row["variant"]): row for row in records(found.effects)}
    assert effects["loss", "no-residual"]["difference"] == pytest.approx(2.9, abs=0.4)
    assert effects["bleu", "no-mask"]["difference"] == pytest.approx(-90, abs=3)
    assert effects["loss", "no-mask"]["difference"] < 0
    assert effects[LONG_RANGE, "lstm"]["difference"] == pytest.approx(-0.31, abs=0.05)


def with_pairs(place: Path, won: list[int]) -> None:
    """Contrastive pairs of a run, each won or not."""
    rows = [{"set": "", "distance": 1, "category": "", "right": float(w), "wrong": 0.5} for w in won]
    (place / "outputs").mkdir()
    pd.DataFrame(rows).to_csv(place / "outputs" / "contrasts.csv.gz", index=False)


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
