"""Grids: which experiments make a curve, and what the curve shows."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from reports.experiment import Experiment
from reports.families import Family, families
from reports.figures.gallery import Gallery, Picture
from reports.figures.pictures import family_pictures
from reports.figures.theme import theme
from reports.rows import read_study
from reports.table import make_tables

Maker = Callable[..., Any]
CHANGES = {"x": {"model.norm": "none"}, "y": {"model.position": "none"}}
ITEMS = ("test", "items", "", 100.0)


class Wall(Gallery):
    """A gallery that keeps the figures."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.figures: list[Figure] = []

    def hang(self, figure: Figure, name: str, title: str, caption: str, **about: Any) -> Picture:
        self.figures.append(figure)
        return super().hang(figure, name, title, caption, **about)


def grid(study: Any, path: str, values: list[Any], **arguments: Any) -> None:
    """Plan a family `g` with a grid over one path."""
    for value in values:
        study.experiment(f"g@{value}", CHANGES, family="g", grid={path: value}, **arguments)


def found(study: Any) -> list[Family]:
    tables = make_tables(read_study(study.write()))
    return families([Experiment(tables, name) for name in study.plan["experiments"]])


def draw(study: Any, folder: Path) -> tuple[list[Picture], list[Axes]]:
    (family,) = found(study)
    with theme():
        wall = Wall(folder)
        return list(family_pictures(family, "01-g", wall)), [figure.axes[0] for figure in wall.figures]


def line(ax: Axes, colour: str) -> tuple[list[float], list[float]]:
    """Places and heights of the line of a colour that has markers."""
    (chosen,) = [line for line in ax.lines if line.get_marker() not in ("None", "x") and line.get_color() == colour]
    return list(np.atleast_1d(chosen.get_xdata())), list(np.atleast_1d(chosen.get_ydata()))


@pytest.mark.parametrize(
    ("grids", "path"),
    [
        ([{"task.distance": 8}, {"task.distance": 1}], "task.distance"),
        ([{"train.lr": 1e-3}, {"train.lr": 1}], "train.lr"),
        ([{"task.distance": 8}], None),
        ([{"model.norm": "rms"}, {"model.norm": "layer"}], None),
        ([{"task.length": None}, {"task.length": 3}], None),
        ([{"model.input_feeding": False}, {"model.input_feeding": True}], None),
        ([{"a.b": 1, "c.d": 1}, {"a.b": 1, "c.d": 2}], None),
        ([{}, {}], None),
    ],
)
def test_curves_are_of_grids_over_one_number(make: Maker, grids: list[dict[str, Any]], path: str | None) -> None:
    study = make(seeds=(0,))
    for number, point in enumerate(grids):
        study.experiment(f"g@{number}", {}, family="g", grid=point)
    assert [(family.name, family.path) for family in found(study)] == ([("g", path)] if path else [])


def test_old_plans_have_no_families(make: Maker) -> None:
    study = make(seeds=(0,))
    study.experiment("a", CHANGES)
    study.experiment("b", CHANGES)
    assert found(study) == []


def test_each_headline_metric_is_a_curve_over_the_runs_with_the_looks_of_its_variants(
    make: Maker, tmp_path: Path
) -> None:
    study = make()
    grid(study, "task.distance", [16, 2, 64], headline=["accuracy", "loss"], chance={"accuracy": 0.125})
    for distance in (16, 2, 64):
        for seed in study.seeds:
            at = [("test", "accuracy", f"distance={distance}", 0.0)]
            for variant, height in (("base", 1.0), ("x", 1 / distance)):
                values = [("test", "accuracy", "", height - 0.01 * seed), ("test", "loss", "", 0.5), ITEMS, *at]
                study.run(f"g@{distance}", variant, seed, values)
    shown, (accuracy, loss) = draw(study, tmp_path)
    assert [picture.title for picture in shown] == ["Accuracy by task.distance", "Loss by task.distance"]
    (family,) = found(study)
    places, heights = line(accuracy, family.points[0].styles["x"].colour)
    assert places == pytest.approx([2, 16, 64])
    assert heights == pytest.approx([1 / 2 - 0.01, 1 / 16 - 0.01, 1 / 64 - 0.01])
    assert to_hex(family.points[0].styles["base"].colour) in [to_hex(line.get_color()) for line in accuracy.lines]
    assert accuracy.get_xscale() == "log"
    assert [0.125, 0.125] in [list(np.atleast_1d(line.get_ydata())) for line in accuracy.lines]
    assert [0.125, 0.125] not in [list(np.atleast_1d(line.get_ydata())) for line in loss.lines]
    assert sum(bool(band.get_paths()) for band in accuracy.collections) == 2
    assert "bands their 95" in shown[0].caption
    assert "Each value of task.distance is trained by itself." in shown[0].caption
    assert "diverged" not in shown[0].caption
    assert {"base", "x"} <= {text.get_text() for text in accuracy.texts}
    assert ">chance 0.125<" in shown[0].svg
    assert [(picture.kind, picture.alt.split(";")[0]) for picture in shown] == [
        ("setting", "Accuracy by task.distance: 2 lines from 2 to 64"),
        ("setting", "Loss by task.distance: 2 lines from 2 to 64"),
    ]


def test_chance_that_differs_between_points_is_not_drawn(make: Maker, tmp_path: Path) -> None:
    study = make(seeds=(0,))
    for symbols in (4, 8):
        chance = {"accuracy": 1 / symbols}
        planned = {"family": "g", "grid": {"task.symbols": symbols}}
        study.experiment(f"g@{symbols}", {}, headline=["accuracy"], chance=chance, **planned)
        study.run(f"g@{symbols}", "base", 0, [("test", "accuracy", "", 1.0)])
    (shown,), _ = draw(study, tmp_path)
    assert ">chance<" not in shown.svg


def test_a_point_that_has_not_finished_is_left_out_and_diverged_runs_are_said(make: Maker, tmp_path: Path) -> None:
    study = make(seeds=(0,))
    grid(study, "train.lr", [0.001, 0.003, 0.01, 0.1], headline=["loss"])
    for rate, status in ((0.001, "completed"), (0.003, "completed"), (0.01, "diverged"), (0.1, "failed")):
        values = [] if status == "failed" else [("test", "loss", "", 100 * rate)]
        study.run(f"g@{rate}", "base", 0, values, status=status, reason="r")
    (shown,), (ax,) = draw(study, tmp_path)
    (family,) = found(study)
    assert line(ax, family.points[0].styles["base"].colour)[0] == [0.001, 0.003, 0.01]
    assert (ax.get_xscale(), [label.get_text() for label in ax.get_xticklabels()]) == (
        "log",
        ["0.001", "0.003", "0.01"],
    )
    assert "✕: a diverged run, with the value fixed for it beforehand. Diverged: 1 of base at 0.01." in shown.caption
    (cross,) = [line for line in ax.lines if line.get_marker() == "x"]
    assert list(np.atleast_1d(cross.get_xdata())) == [0.01]


@pytest.mark.parametrize(("factor", "said"), [(0, "distances: 3 to 3"), (1, "longest third of each point's distances")])
def test_long_range_says_which_distances(make: Maker, tmp_path: Path, factor: int, said: str) -> None:
    study = make(seeds=(0,))
    grid(study, "model.n_layers", [1, 2], headline=["accuracy"])
    for layers in (1, 2):
        at = [("test", "accuracy", f"distance={d + factor * layers}", 0.5) for d in (1, 2, 3)]
        study.run(f"g@{layers}", "base", 0, [("test", "accuracy", "", 0.5), *at])
    (_, far), _ = draw(study, tmp_path)
    assert far.title == "Long-range accuracy by model.n_layers"
    assert said in far.caption
