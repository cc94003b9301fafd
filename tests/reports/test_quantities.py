"""What a condition measures in each run, from made-up rows; values worked out by hand or by numpy."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from reports.items import Resampled
from reports.quantities import Index, Measured, Point, Share, measure
from reports.regions import Region
from reports.register import Condition
from reports.rows import read_study
from reports.table import make_tables

MadeUpStudy = Any
Maker = Callable[..., MadeUpStudy]
Rows = list[tuple[str, str, str, float | None]]
Runs = list[Rows]


def condition(**fields: Any) -> Condition:
    common = {
        "text": "x",
        "compare": "level",
        "metric": "accuracy",
        "split": "test",
        "experiment": "one",
        "variant": {},
    }
    return Condition(**{**common, "region": Region(low=0.1), **fields})


def index(study: MadeUpStudy) -> Index:
    return Index(make_tables(read_study(study.write())))


def of_one(make: Maker, by_seed: Sequence[Rows], *, lost: str | None = None, **fields: Any) -> Measured:
    """The quantity of runs of one experiment, one a seed; the last of them `lost` in this state, if given."""
    study = make("quick", range(len(by_seed)))
    study.experiment("one", {})
    for seed, rows in enumerate(by_seed):
        ended = lost if lost and seed == len(by_seed) - 1 else "completed"
        study.run("one", "base", seed, rows, status=ended)
    return measure(index(study), condition(**fields), ["one"], "base")


def along(name: str, values: Mapping[float, float], metric: str = "accuracy", split: str = "test") -> Rows:
    return [(split, metric, f"{name}={place:g}", value) for place, value in values.items()]


def test_the_main_value_of_one_split(make: Maker) -> None:
    rows: Rows = [("test", "accuracy", "", 0.7), ("validation", "accuracy", "", 0.6), ("probe", "mass", "", 0.2)]
    assert of_one(make, [rows]).values == {0: 0.7}
    assert of_one(make, [rows], split="validation").values == {0: 0.6}
    assert of_one(make, [rows], split="probe", metric="mass").values == {0: 0.2}
    assert of_one(make, [rows], split="probe").values == {}
    assert of_one(make, [rows], split="train").values == {}


def test_at_a_coordinate_and_at_several_by_the_number_of_items(make: Maker) -> None:
    rows = along("distance", {2: 0.9, 3: 0.6, 64: 0.1}) + along("distance", {2: 30, 3: 10, 64: 5}, "items")
    assert of_one(make, [rows], at=("distance=2",)).values == {0: 0.9}
    found = of_one(make, [rows], at=("distance=2", "distance=3")).values
    assert found[0] == pytest.approx((30 * 0.9 + 10 * 0.6) / 40)
    assert of_one(make, [rows], at=("distance=2", "distance=4")).values == {}, "one is not there: no mean of the rest"
    without = along("distance", {2: 0.9, 3: 0.6})
    assert of_one(make, [without], at=("distance=2", "distance=3")).values[0] == pytest.approx(0.75), "equal weights"


def test_minus_over_and_less_within_a_run(make: Maker) -> None:
    rows: Rows = [("test", "accuracy", "", 0.8), ("test", "bleu", "", 30.0), ("test", "bleu-shuffled", "", 28.5)]
    rows += along("length", {64: 0.2, 128: 0.04})
    assert of_one(make, [rows], at=("length=64",), minus_at="length=128").values == pytest.approx({0: 0.16})
    assert of_one(make, [rows], at=("length=64",), minus_at="").values == pytest.approx({0: -0.6})
    assert of_one(make, [rows], at=("length=64",), over_at="").values == pytest.approx({0: 0.25}), "over the whole"
    assert of_one(make, [rows], at=("length=64",), minus_at="length=128", over_at="").values == pytest.approx({0: 0.2})
    assert of_one(make, [rows], metric="bleu", less="bleu-shuffled").values == pytest.approx({0: 1.5})
    for absent in ({"minus_at": "length=1"}, {"over_at": "length=1"}, {"less": "chrf"}):
        assert of_one(make, [rows], **absent).values == {}


def test_nothing_is_divided_by_zero(make: Maker) -> None:
    rows: Rows = [("test", "accuracy", "", 0.0), *along("length", {64: 0.2})]
    assert of_one(make, [rows], at=("length=64",), over_at="").values == {}


def test_rounding_is_no_difference(make: Maker) -> None:
    """0.1 + 0.2 is 0.30000000000000004."""
    rows = along("distance", {1: 0.1 + 0.2, 2: 0.3})
    assert of_one(make, [rows], at=("distance=1",), minus_at="distance=2").values == {0: 0.0}
    small = along("distance", {1: 3e-9, 2: 1e-9})
    assert of_one(make, [small], at=("distance=1",), minus_at="distance=2").values == pytest.approx({0: 2e-9})


def test_exceeds_is_one_above_and_in_a_diverged_run(make: Maker) -> None:
    losses: list[Rows] = [[("train", "loss", "", value)] for value in (5.6, 5.545, 0.2)]
    losses.append([("test", "loss", "", 2.8)])
    found = of_one(make, losses, lost="diverged", metric="loss", split="train", exceeds=5.545)
    assert found.values == {0: 1.0, 1: 0.0, 2: 0.0, 3: 1.0}
    failed = of_one(make, losses, lost="failed", metric="loss", split="train", exceeds=5.545)
    assert failed.values == {0: 1.0, 1: 0.0, 2: 0.0}, "a failed run says nothing"


def test_a_diverged_run_has_its_fixed_value_everywhere_but_in_a_probe(make: Maker) -> None:
    runs: Runs = [along("distance", {2: 0.9}), [("test", "accuracy", "", 0.125)]]
    at = of_one(make, runs, lost="diverged", at=("distance=2",))
    assert at.values == {0: 0.9, 1: 0.125}
    assert of_one(make, runs, lost="diverged", split="train").values == {1: 0.125}
    assert of_one(make, runs, lost="diverged", split="probe").values == {}


X: dict[float, float] = {1: 0.9, 2: 0.8, 4: 0.3, 8: 0.35}


@pytest.mark.parametrize(
    ("summary", "expected"),
    [
        ("slope", np.polyfit(list(X), list(X.values()), 1)[0]),
        ("log_slope", np.polyfit(list(X), np.log10(list(X.values())), 1)[0]),
        ("exponent", np.polyfit(np.log(list(X)), np.log(list(X.values())), 1)[0]),
        ("log_area", np.log10(2) * (0.85 + 0.55 + 0.325)),
        ("curvature", np.linalg.lstsq(np.array([[p, p * p] for p in X]), np.array(list(X.values())))[0][1]),
        ("last_doubling", 0.35 / 0.3),
        ("fall", 0.9 - 0.35),
    ],
)
def test_a_curve_over_a_coordinate(summary: str, expected: float, make: Maker) -> None:
    rows = along("distance", dict(reversed(X.items()))) + along("length", {1: 5.0, 2: 7.0})
    found = of_one(make, [rows], over="distance", summary=summary)
    assert found.values == pytest.approx({0: expected})
    assert found.points == [Point(seed=0, x=x, y=y) for x, y in X.items()]
    assert found.censored == {}


def test_a_run_that_lacks_a_place_of_another_has_no_curve(make: Maker) -> None:
    short = {place: y for place, y in X.items() if place != 8}
    found = of_one(make, [along("distance", X), along("distance", short)], over="distance", summary="fall")
    assert list(found.values) == [0]
    alike = of_one(make, [along("distance", short)] * 2, over="distance", summary="fall")
    assert alike.values == pytest.approx({0: 0.6, 1: 0.6}), "no run of the variant has it"


def test_slopes_over_a_coordinate_are_weighted_by_items(make: Maker) -> None:
    rows = along("distance", X) + along("distance", {1: 100, 2: 50, 4: 10, 8: 1}, "items")
    expected = np.polyfit(list(X), list(X.values()), 1, w=np.sqrt([100, 50, 10, 1]))[0]
    assert of_one(make, [rows], over="distance", summary="slope").values == pytest.approx({0: expected})


def test_the_mean_beyond_a_threshold(make: Maker) -> None:
    rows = along("distance", X) + along("distance", {1: 100, 2: 50, 4: 30, 8: 10}, "items")
    found = of_one(make, [rows, along("distance", {1: 0.9, 2: 0.8})], over="distance", summary="beyond", threshold=4)
    assert found.values == pytest.approx({0: (30 * 0.3 + 10 * 0.35) / 40}), "the second has no such distance"
    diverged: Runs = [rows, [("test", "accuracy", "", 0.5)]]
    found = of_one(make, diverged, lost="diverged", over="distance", summary="beyond", threshold=4)
    assert found.values == pytest.approx({0: 0.3125, 1: 0.5}), "fixed at every distance"


@pytest.mark.parametrize(
    ("curve", "value", "censored"),
    [
        ({4: 1.0, 16: 0.95, 64: 0.5}, 2 ** (4 + 2 / 9), {}),
        ({4: 1.0, 16: 0.95, 64: 0.91}, 64, {0: 1}),
        ({4: 0.89, 16: 0.95, 64: 0.91}, 4, {0: -1}),
        ({4: 0.9, 16: 0.9, 64: 0.9}, 64, {0: 1}),
        ({4: 1.0, 16: 0.8, 64: 1.0}, 8, {}),
    ],
)
def test_a_horizon(curve: dict[float, float], value: float, censored: dict[int, int], make: Maker) -> None:
    """Where it falls: 16 to 64 are two doublings, and 0.9 lies one ninth of the way from 0.95 to 0.5."""
    found = of_one(make, [along("distance", curve)], over="distance", summary="horizon", threshold=0.9)
    assert found.values == pytest.approx({0: value})
    assert found.censored == censored
    last_good = max((x for x in curve if x <= value), default=4)
    first_bad = min((x for x in curve if x > value), default=64)
    assert found.brackets == ({} if censored else {0: (last_good, first_bad)})


@pytest.mark.parametrize(
    ("summary", "curve"),
    [
        *(("log_slope", {1: 1.0, 2: 0.0}), ("exponent", {1: 0.0, 2: 1.0}), ("exponent", {0: 1.0, 2: 1.0})),
        *(("last_doubling", {1: 1.0, 3: 2.0}), ("last_doubling", {1: 0.0, 2: 2.0}), ("slope", {1: 1.0})),
    ],
)
def test_a_curve_that_has_no_summary_leaves_its_seed_without_a_value(
    summary: str, curve: dict[float, float], make: Maker
) -> None:
    found = of_one(make, [along("distance", curve)], over="distance", summary=summary)
    assert (found.values, found.points) == ({}, [])


def grid(make: Maker, values: Mapping[float, Sequence[float | None]], path: str = "task.distance") -> MadeUpStudy:
    """A grid with these values of each seed at each point; None leaves the run out."""
    study = make("quick", range(3))
    for place, by_seed in values.items():
        study.experiment(f"family@{place:g}", {}, grid={path: place}, family="family")
        for seed, value in enumerate(by_seed):
            if value is not None:
                study.run(f"family@{place:g}", "base", seed, [("test", "accuracy", "", value)])
    return study


def test_a_curve_over_the_points_of_a_grid(make: Maker) -> None:
    study = grid(make, {16: [0.5, 0.6, 0.7], 4: [0.9, 0.9, 0.95], 64: [0.1, 0.3, None]})
    found = index(study)
    experiments = found.points_of("family")
    assert experiments == ["family@16", "family@4", "family@64"]
    assert found.points_of("family@4") == ["family@4"]
    assert found.points_of("famil") == []
    curve = measure(found, condition(over="task.distance", summary="log_area"), experiments, "base")
    area = {
        seed: np.log10(4) * (a / 2 + b + c / 2) for seed, (a, b, c) in enumerate([(0.9, 0.5, 0.1), (0.9, 0.6, 0.3)])
    }
    assert curve.values == pytest.approx(area), "no curve through the points that are left of the third seed"
    assert [(point.x, point.y) for point in curve.points if point.seed == 1] == [(4, 0.9), (16, 0.6), (64, 0.3)]


def test_a_diverged_run_is_a_point_of_its_curve(make: Maker) -> None:
    study = grid(make, {0.01: [0.9, 0.9, 0.9], 0.1: [0.8, 0.8, None]}, "train.lr")
    study.run("family@0.1", "base", 2, [("test", "accuracy", "", 0.0625)], status="diverged", reason="loss is nan")
    found = index(study)
    curve = measure(found, condition(over="train.lr", summary="fall"), found.points_of("family"), "base")
    assert curve.values == pytest.approx({0: 0.1, 1: 0.1, 2: 0.9 - 0.0625})


def test_points_of_a_grid_may_be_differences_within_runs(make: Maker) -> None:
    study = make("quick", range(1))
    for place, (whole, at) in {2: (0.9, 0.5), 4: (0.8, 0.2)}.items():
        study.experiment(f"family@{place}", {}, grid={"task.distance": place}, family="family")
        rows = [("test", "accuracy", "", whole), ("test", "accuracy", "length=8", at)]
        study.run(f"family@{place}", "base", 0, rows)
    found = index(study)
    wanted = condition(over="task.distance", summary="slope", at=("length=8",), minus_at="")
    assert measure(found, wanted, found.points_of("family"), "base").values == pytest.approx({0: (-0.6 + 0.4) / 2})


def test_steps_and_operations_to_a_target_or_what_was_used_up(make: Maker) -> None:
    reached: Rows = [("validation", "steps_to_target", "", 70.0), ("validation", "flops_to_target", "", 2.5e9)]
    other: Rows = [("validation", "accuracy", "", 0.2)]
    runs: Runs = [reached, other, [("test", "accuracy", "", 0.5)]]
    steps = of_one(make, runs, lost="diverged", metric="steps_to_target", split="validation")
    assert (steps.values, steps.censored) == ({0: 70.0, 1: 250.0, 2: 250.0}, {1: 1, 2: 1})
    operations = of_one(make, runs, lost="failed", metric="flops_to_target", split="validation")
    assert (operations.values, operations.censored) == ({0: 2.5e9, 1: 1.31e12}, {1: 1}), "a failed run says nothing"


def test_operations_that_were_not_counted_are_no_time(make: Maker) -> None:
    study = make("quick", range(1))
    study.experiment("one", {})
    study.run("one", "base", 0, [], cost={"training_flops": None})
    found = measure(index(study), condition(metric="flops_to_target", split="validation"), ["one"], "base")
    assert (found.values, found.censored) == ({}, {})


def test_what_is_not_planned_and_what_is_missing(make: Maker) -> None:
    study = make("quick", range(2))
    study.experiment("one", {"off": {"model.norm": "none"}})
    study.run("one", "base", 1, [("test", "accuracy", "", 0.7)])
    found = index(study)
    assert measure(found, condition(), ["one"], "base").values == {1: 0.7}
    assert measure(found, condition(), ["one"], "off").values == {}
    assert measure(found, condition(), ["one"], "other").values == {}
    assert (found.state(("one", "base", 0)), found.state(("two", "base", 0))) == ("missing", "missing")
    assert found.seeds("one", "off") == [0, 1]


def test_a_value_that_is_no_number_is_none(make: Maker) -> None:
    assert of_one(make, [[("test", "accuracy", "", None)]]).values == {}


def test_a_place_that_is_no_number_leaves_no_curve(make: Maker) -> None:
    curve = {1: 4.0, 2: 9.0, 4: None}
    rows: Rows = [("probe", "size", f"length={x}", y) for x, y in curve.items()]
    fields = {"metric": "size", "split": "probe", "over": "length", "summary": "slope"}
    assert of_one(make, [rows], **fields).values == {}, "a line through the rest would say nothing of that place"
    assert of_one(make, [rows[:2]], **fields).values == {0: 5.0}


def known_items(make: Maker, rows: Rows, size: int | None, **fields: Any) -> tuple[Share, ...]:
    """The terms of one run whose accuracy is that of `size` items."""
    study = make("quick", range(1))
    study.experiment("one", {})
    study.run("one", "base", 0, rows)
    tables = make_tables(read_study(study.write()))
    drawn = {("one", "base", 0): {"accuracy": Resampled(7, np.ones(9), size)}}
    found = measure(Index(replace(tables, items=drawn)), condition(**fields), ["one"], "base")
    return found.shares.get(0, ())


ALL: Rows = [("test", "accuracy", "", 0.9), ("test", "items", "", 300)]
PLACES = along("distance", {2: 1.0, 3: 0.8, 64: 1.0, 65: 1.0}) + along(
    "distance", {2: 100, 3: 150, 64: 31, 65: 19}, "items"
)
BEYOND: dict[str, Any] = {"over": "distance", "summary": "beyond", "threshold": 64}


@pytest.mark.parametrize(("size", "items"), [(300, 50), (100, 16), (600, 50), (1, 0)])
def test_items_at_coordinates_are_independent_as_far_as_those_of_the_whole_are(
    size: int, items: int, make: Maker
) -> None:
    """50 answers at distances 64 and 65; where 300 answers are those of 100 sequences they are worth 16 2/3."""
    expected = (Share(sign=1, value=1.0, items=items),) if items else ()
    assert known_items(make, ALL + PLACES, size, at=("distance=64", "distance=65")) == expected
    assert known_items(make, ALL + PLACES, size, **BEYOND) == expected
    assert known_items(make, ALL + PLACES, size) == (Share(sign=1, value=0.9, items=size),)


def test_the_terms_of_a_difference_within_a_run_and_what_has_none(make: Maker) -> None:
    of = partial(known_items, make, ALL + PLACES, 300)
    two = of(at=("distance=64",), minus_at="distance=3")
    assert two == (Share(sign=1, value=1.0, items=31), Share(sign=-1, value=0.8, items=150))
    for fields in (
        {"at": ("distance=64",), "over_at": ""},
        {"exceeds": 0.5},
        {"less": "accuracy"},
        {"over": "distance", "summary": "slope"},
        {**BEYOND, "threshold": 70},
        {"at": ("distance=9",)},
        {"metric": "items"},
        {"metric": "attention_mass"},
    ):
        assert of(**fields) == (), fields
    assert known_items(make, ALL + PLACES, None) == ()
    assert known_items(make, PLACES, 300, at=("distance=64",)) == (), "nothing says how many answers an item has"
    assert known_items(make, ALL + PLACES[:4], 300, at=("distance=64",)) == (), "nor how many there are"


def test_accuracy_at_long_distances_is_there_as_the_report_has_it(make: Maker) -> None:
    rows = [*along("distance", {1: 1.0, 2: 0.9, 3: 0.5}), ("test", "accuracy", "", 0.8)]
    assert of_one(make, [rows], metric="long_range_accuracy").values == {0: 0.5}
