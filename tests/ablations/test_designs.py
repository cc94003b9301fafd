"""The designs: which changes, under which names."""

import pytest

from ablations.designs import DESIGNS, apply, grid_points, has_field, point_name
from ablations.study import Sections
from models.config import ConfigError

BASE: Sections = {"task": {"name": "order"}, "model": {"n_heads": 4, "norm": "layer"}, "train": {"lr": 0.1}}


def test_one_at_a_time_changes_one_field_a_variant() -> None:
    assert DESIGNS["one-at-a-time"]({"model.n_heads": [1, 8], "model.norm": ["none"]}) == {
        "n_heads=1": {"model.n_heads": 1},
        "n_heads=8": {"model.n_heads": 8},
        "norm=none": {"model.norm": "none"},
    }


def test_factorial_is_the_product() -> None:
    assert DESIGNS["factorial"]({"model.n_heads": [4, 2], "model.norm": ["rms"]}) == {
        "n_heads=4,norm=rms": {"model.n_heads": 4, "model.norm": "rms"},
        "n_heads=2,norm=rms": {"model.n_heads": 2, "model.norm": "rms"},
    }


def test_ladder_piles_up() -> None:
    steps = {"one": {"model.n_heads": 1}, "two": {"model.norm": "none"}, "three": {"model.n_heads": 2}}
    assert DESIGNS["ladder"](steps) == {
        "one": {"model.n_heads": 1},
        "two": {"model.n_heads": 1, "model.norm": "none"},
        "three": {"model.n_heads": 2, "model.norm": "none"},
    }


def test_equal_last_parts_of_paths_are_told_apart() -> None:
    assert set(DESIGNS["one-at-a-time"]({"task.size": [1], "model.size": [2]})) == {"task.size=1", "model.size=2"}


def test_grid_points_are_the_product_and_have_names() -> None:
    points = grid_points({"task.length": [8, 16], "train.lr": [0.1]})
    assert points == [{"task.length": 8, "train.lr": 0.1}, {"task.length": 16, "train.lr": 0.1}]
    assert point_name("recall", points[0]) == "recall@length=8@lr=0.1"
    assert grid_points({}) == [{}]
    assert point_name("recall", {}) == "recall"


def test_apply_changes_a_copy() -> None:
    changed = apply({"model.n_heads": 2, "train": {"lr": 1.0}}, BASE, "here: ")
    assert changed == {"task": {"name": "order"}, "model": {"n_heads": 2, "norm": "layer"}, "train": {"lr": 1.0}}
    assert BASE["model"]["n_heads"] == 4


@pytest.mark.parametrize("path", ["modell.n_heads", "n_heads", "model.a.b", "seed"])
def test_apply_refuses_a_path_that_is_none(path: str) -> None:
    with pytest.raises(ConfigError, match=f"here: {path}: a path is"):
        apply({path: 1}, BASE, "here: ")


def test_apply_refuses_a_model_without_architecture_which_was_meant_as_one_field() -> None:
    with pytest.raises(ConfigError, match="here: model: replaces the whole section"):
        apply({"model": {"position": "none"}}, BASE, "here: ")


def test_apply_refuses_a_section_that_is_no_mapping() -> None:
    with pytest.raises(ConfigError, match="here: model=3: expected a mapping"):
        apply({"model": 3}, BASE, "here: ")


@pytest.mark.parametrize(
    ("path", "there"),
    [("model.n_heads", True), ("model.nheads", False), ("task.length", True), ("task.root", False), ("x.lr", False)],
)
def test_has_field_knows_the_task(path: str, there: bool) -> None:
    assert has_field(path, BASE) is there
