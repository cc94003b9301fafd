"""Values come from one split, and accuracy at long distances is made of the longest third."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from reports.frames import records
from reports.metrics import LONG_RANGE
from reports.rows import read_study
from reports.table import Tables, make_tables
from reports.values import far_distances, with_axis, with_category

Maker = Callable[..., Any]


def tables(study: Any) -> Tables:
    return make_tables(read_study(study.write()))


def loss(value: float | None, *, split: str = "test") -> list[tuple[str, str, str, float | None]]:
    return [(split, "loss", "", value)]


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
