"""Tables lose no row, merge none, and say how many seeds stand behind a number."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from reports.frames import records
from reports.metrics import LONG_RANGE
from reports.rows import read_study
from reports.table import Tables, describe_counts, make_tables
from reports.values import reported_values

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


def test_the_quick_study_has_the_numbers_that_were_put_in(quick: Path) -> None:
    found = make_tables(read_study(quick))
    effects = {(row["metric"], row["variant"]): row for row in records(found.effects)}
    assert effects["loss", "no-residual"]["difference"] == pytest.approx(2.9, abs=0.4)
    assert effects["bleu", "no-mask"]["difference"] == pytest.approx(-90, abs=3)
    assert effects["loss", "no-mask"]["difference"] < 0
    assert effects[LONG_RANGE, "lstm"]["difference"] == pytest.approx(-0.31, abs=0.05)
