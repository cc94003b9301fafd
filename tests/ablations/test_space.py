"""Points by number: the same whoever asks, more of them extend the set; and what cannot be searched."""

import math
from typing import Any

import pytest

from ablations.load import make_study
from ablations.space import Interval, Space, at_point, make_space, obstacle, without
from ablations.study import Settings
from models.config import ConfigError
from models.probes import PROBES


def base(tiny: dict[str, Any], **train: Any) -> Settings:
    tiny["experiments"]["copy"]["train"] |= train
    return make_study(tiny).experiments[0].variants["base"]


def test_lists_make_a_grid_whose_last_path_varies_fastest() -> None:
    space = Space({"train.lr": (0.1, 0.2), "train.warmup": (0, 3, 7)})
    points = space.points(5)
    assert [tuple(point.values()) for point in points] == [(0.1, 0), (0.1, 3), (0.1, 7), (0.2, 0), (0.2, 3)]
    assert space.points(6)[:5] == points


def test_more_trials_than_a_grid_has_points_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"tune.trials=7: tune.space has 6 points"):
        Space({"train.lr": (0.1, 0.2), "train.warmup": (0, 3, 7)}).points(7)


def radical_inverse(number: int, base: int) -> float:
    """The digits of a number, mirrored at the point (van der Corput 1935)."""
    share, weight = 0.0, 1.0 / base
    while number:
        number, digit = divmod(number, base)
        share, weight = share + digit * weight, weight / base
    return share


def test_an_interval_is_searched_by_the_van_der_corput_sequence_on_a_log_scale() -> None:
    points = Space({"train.lr": Interval(1e-4, 1.0, whole=False)}).points(7)
    expected = [10 ** (-4 + 4 * radical_inverse(number, 2)) for number in range(1, 8)]
    assert [point["train.lr"] for point in points] == pytest.approx(expected, rel=1e-3)
    assert points[0] == {"train.lr": 0.01}  # the middle


def test_several_paths_are_searched_by_the_halton_sequence_and_lists_cut_into_shares() -> None:
    space = Space({"train.lr": Interval(1e-4, 1.0, whole=False), "train.schedule": ("a", "b", "c")})
    points = space.points(11)
    lrs = [10 ** (-4 + 4 * radical_inverse(number, 2)) for number in range(1, 12)]
    assert [point["train.lr"] for point in points] == pytest.approx(lrs, rel=1e-3)
    shares = [radical_inverse(number, 3) for number in range(1, 12)]
    assert [point["train.schedule"] for point in points] == ["abc"[math.floor(3 * share + 1e-9)] for share in shares]


def test_no_point_of_a_sequence_comes_twice() -> None:
    space = Space({"model.d_ff": Interval(8, 10, whole=True)})
    assert sorted(point["model.d_ff"] for point in space.points(3)) == [8, 9, 10]
    with pytest.raises(ConfigError, match=r"tune.trials=4: tune.space has 3 points; give wider limits or fewer trials"):
        space.points(4)


def test_more_trials_extend_a_sequence() -> None:
    space = Space({"train.lr": Interval(1e-4, 1.0, whole=False), "train.warmup": Interval(2, 500, whole=True)})
    assert space.points(13)[:5] == space.points(5)
    assert all(
        isinstance(point["train.warmup"], int) and 2 <= point["train.warmup"] <= 500 for point in space.points(9)
    )


def test_factors_are_of_the_own_value_of_the_base(tiny: dict[str, Any]) -> None:
    plain = {"train.lr": {"factors": [0.5, 1, 3]}, "train.warmup": {"factors": [1, 2.5]}}
    space = make_space(plain, base(tiny, lr=0.003, warmup=50))
    assert space.axes == {"train.lr": (0.0015, 0.003, 0.009), "train.warmup": (50, 125)}
    whole = make_space({"train.warmup": {"low": 3, "high": 50}}, base(tiny))
    assert whole.axes == {"train.warmup": Interval(3.0, 50.0, whole=True)}


@pytest.mark.parametrize(
    ("path", "given", "said"),
    [
        ("task.length", [5, 7], "'task.length': give a field of train or model"),
        ("train.rate", [0.1], "'train.rate': give a field of train or model"),
        ("lr", [0.1], "'lr': give a field of train or model"),
        ("train.steps", [50, 100], "'train.steps': all trials have the same budget"),
        ("train.lr", [], r"tune.space.train.lr=\[\]: expected a list of values"),
        ("train.lr", 0.1, r"tune.space.train.lr=0.1: expected a list of values"),
        ("train.lr", {"low": 1, "top": 2}, "expected a list of values"),
        ("train.lr", [0.1, 0.2, 0.1], "a value stands there twice"),
        ("train.warmup", {"factors": [0.5, 0.45]}, "a value stands there twice"),
        ("train.lr", {"low": 0, "high": 1}, "low must be above 0 and below high"),
        ("train.lr", {"low": 1e-2, "high": 1e-3}, "low must be above 0 and below high"),
        ("train.lr", {"low": "a", "high": 1}, "'a': a number is wanted"),
        ("train.schedule", {"factors": [2]}, "'cosine': a number is wanted"),
    ],
)
def test_what_cannot_be_searched_is_refused(path: str, given: Any, said: str, tiny: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=said):
        make_space({path: given}, base(tiny))


def test_a_point_changes_its_paths_and_nothing_else(tiny: dict[str, Any]) -> None:
    settings = base(tiny)
    made = at_point(settings, {"train.lr": 0.25, "model.dropout": 0.5}, "")
    assert (made.train.lr, made.model.dropout) == (0.25, 0.5)
    assert at_point(made, {"train.lr": settings.train.lr, "model.dropout": settings.model.dropout}, "") == settings
    assert made != settings


@pytest.mark.parametrize("point", [{"train.lr": "much"}, {"train.lr": -1.0}, {"model.dropout": 1.5}])
def test_a_value_that_a_field_cannot_have_is_refused_by_name(point: dict[str, Any], tiny: dict[str, Any]) -> None:
    (path,) = point
    with pytest.raises(ConfigError, match=f"copy, base: {path}={point[path]!r}"):
        at_point(base(tiny), point, "copy, base: ")


def test_what_decides_a_loss_holds_neither_the_searched_values_nor_the_measurements(tiny: dict[str, Any]) -> None:
    settings = base(tiny)
    other = at_point(settings, {"train.lr": 0.7}, "")
    assert without(settings, ["train.lr"]) == without(other, ["train.lr"])
    assert without(settings, []) != without(other, [])
    assert without(at_point(settings, {"train.beta2": 0.5}, ""), ["train.lr"]) != without(settings, ["train.lr"])


def test_variants_that_change_what_is_searched_or_train_nothing_are_not_searched(tiny: dict[str, Any]) -> None:
    del tiny["experiments"]["copy"]["vary"]
    tiny["experiments"]["copy"] |= {
        "measure": [next(iter(PROBES))],
        "variants": {
            "rate": {"train.lr": 0.1},
            "section": {"train": {"steps": 4, "lr": 0.1}},
            "other-section": {"train": {"steps": 5}},
            "untrained": {"train.steps": 0},
            "model": {"model.position": "none"},
        },
    }
    (experiment,) = make_study(tiny).experiments
    space = Space({"train.lr": (0.1, 0.2)})
    assert {name: obstacle(experiment, name, space) for name in experiment.variants} == {
        "base": None,
        "rate": "changes train.lr itself",
        "section": "changes train.lr itself",
        "other-section": None,
        "untrained": "trains nothing",
        "model": None,
    }
