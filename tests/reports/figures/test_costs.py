"""Cost against quality: the front by hand, names that do not touch."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from reports.figures.costs import cost_figure, cost_points, front, plot_costs
from reports.figures.theme import styles, theme
from tests.reports.figures.drawn import check_texts


def points(**of: tuple[float, float]) -> pd.DataFrame:
    return pd.DataFrame([{"variant": v, "cost": c, "value": q} for v, (c, q) in of.items()])


def test_points_are_the_variants_with_both_unless_all_cost_alike() -> None:
    nan = float("nan")
    variants = pd.DataFrame(
        {
            "variant": ["base", "_x", "gone", "free"],
            "training_flops": [10.0, 12.0, 11.0, nan],
            "train_seconds": [5.0, 5.05, 5.0, nan],
            "loss_mean": [0.1, 0.2, nan, 0.3],
        }
    )
    found = cost_points(variants, "loss", "training_flops")
    assert found.to_numpy().tolist() == [["base", 10.0, 0.1], ["_x", 12.0, 0.2]]
    assert cost_points(variants, "loss", "train_seconds").empty
    assert cost_points(variants.iloc[:1], "loss", "training_flops").empty


def test_the_front_is_what_no_other_beats_on_both() -> None:
    of = points(a=(1, 0.9), b=(2, 0.5), c=(2, 0.6), d=(3, 0.5), e=(4, 0.2))
    assert front(of, -1) == ["a", "b", "e"]
    assert front(of, +1) == ["a"]
    assert front(points(a=(1, 2.0), b=(1, 2.0)), 1) == ["a", "b"]


def test_points_have_the_looks_of_their_variants_and_the_front_is_a_line() -> None:
    of = points(base=(1, 0.9), _x=(2, 0.5), worse=(1.5, 1.1))
    chosen = styles(["_x", "worse"], "base")
    with theme():
        ax = Figure(figsize=(6, 4)).subplots()
        unnamed = plot_costs(of, ax, metric="loss", styles=chosen)
    assert unnamed == []
    line, base, x = ax.lines[:3]
    assert (list(np.atleast_1d(line.get_xdata())), line.get_drawstyle()) == ([1, 2], "steps-post")
    assert (base.get_markerfacecolor(), x.get_markerfacecolor()) == (chosen["base"].colour, chosen["_x"].colour)
    assert {text.get_text() for text in ax.texts} == {"base", "_x", "worse"}


def test_names_do_not_lie_on_either_part_of_the_front() -> None:
    of = points(cheap=(1, 0.9), dear=(2, 0.2), other=(2, 0.55), below=(2, 0.21))
    with theme():
        figure = Figure(figsize=(6, 4))
        ax = figure.subplots()
        plot_costs(of, ax, metric="loss", styles=styles(list(of["variant"]), ""))
    corners = ax.transData.transform([(1, 0.9), (2, 0.9), (2, 0.2)])
    for text in ax.texts:
        box = text.get_window_extent().padded(-0.5)
        for (left, low), (right, high) in pairwise(corners):
            edge = Bbox.from_extents(min(left, right) - 0.1, min(low, high) - 0.1, max(left, right), max(low, high))
            assert not box.overlaps(edge), text.get_text()


def test_twenty_names_do_not_touch_and_those_without_room_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    names = ["base", *(f"variant-{i}" for i in range(20))]
    of = pd.DataFrame({"variant": names, "cost": rng.uniform(1e12, 2e12, 21), "value": rng.uniform(0.1, 1, 21)})
    with theme():
        figure, unnamed = cost_figure(
            {"training_flops": of, "train_seconds": of.assign(cost=of["cost"] / 1e11)},
            metric="loss",
            styles=styles(names[1:], "base"),
        )
        texts = check_texts(figure, monkeypatch)
    assert {name for name in names if name not in unnamed} <= set(texts)
    assert "1.5 T" in texts
    assert figure.axes[0].get_ylim() == figure.axes[1].get_ylim()


def test_where_all_points_are_in_one_place_names_that_have_no_room_are_given() -> None:
    names = ["base", *(f"variant-{i}" for i in range(60))]
    of = pd.DataFrame({"variant": names, "cost": [*np.full(60, 1.0), 2.0], "value": [*np.full(60, 1.0), 2.0]})
    with theme():
        ax = Figure(figsize=(4, 3)).subplots()
        unnamed = plot_costs(of, ax, metric="bleu", styles=styles(names[1:], "base"))
    assert unnamed
    assert len(unnamed) + len(ax.texts) == 61


def test_names_without_room_stand_in_a_key_with_their_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["base", *(f"variant-{i}" for i in range(40))]
    of = pd.DataFrame({"variant": names, "cost": [*np.full(40, 1.0), 2.0], "value": [*np.full(40, 1.0), 2.0]})
    chosen = styles(names[1:], "base")
    with theme():
        figure, unnamed = cost_figure({"training_flops": of}, metric="loss", styles=chosen)
        texts = check_texts(figure, monkeypatch)
        plain, _ = cost_figure({"training_flops": of.iloc[[0, -1]]}, metric="loss", styles=chosen)
    assert unnamed
    assert set(names) <= set(texts)
    marks = [(mark.get_color(), mark.get_marker()) for mark in figure.artists]  # type: ignore[attr-defined]
    assert marks == [(chosen[name].colour, chosen[name].marker) for name in unnamed]
    assert figure.get_figheight() > plain.get_figheight()
