"""The forest of effects, drawn on given axes and read back: the numbers of the artists, not pixels."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from reports.figures.forests import effect_text, has_twins, plot_effects, row_height, seeds_part
from reports.figures.theme import DIVERGED, INK, NOTE, PAPER, TEXT, TICK, Style, styles, theme
from reports.frames import records
from reports.statistics import paired_effect
from tests.reports.figures.drawn import hexes


@pytest.fixture
def ax() -> Iterator[Axes]:
    with theme():
        yield Figure(figsize=(6, 4)).subplots()


def effect_frames(arms: dict[str, list[float]], base: list[float]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Effects and differences of variants, from values one a seed."""
    effects = pd.DataFrame([{"variant": v, **vars(paired_effect(base, values))} for v, values in arms.items()])
    effects = effects.astype({"low": float, "high": float})
    rows = [
        {"variant": v, "seed": seed, "state": "completed", "difference": a - b}
        for v, values in arms.items()
        for seed, (a, b) in enumerate(zip(values, base, strict=True))
    ]
    return effects, pd.DataFrame(rows)


def lines_at(ax: Axes, marker: str) -> list[Line2D]:
    return [line for line in ax.lines if line.get_marker() == marker]


def texts(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.texts]


def bars(ax: Axes) -> dict[tuple[float, float], list[tuple[float, float]]]:
    """Row and width of line to the ends of each interval."""
    found: dict[tuple[float, float], list[tuple[float, float]]] = {}
    for drawn in ax.collections:
        if isinstance(drawn, LineCollection) and drawn.get_zorder() == 3:
            for (left, y), (right, _) in np.asarray(drawn.get_segments(), dtype=np.float64):
                found.setdefault((y, float(np.ravel(drawn.get_linewidth())[0])), []).append((left, right))
    return found


def dots(ax: Axes, level: float, *, fill: str | None = None) -> list[tuple[float, float]]:
    """Places of the points of a drawing level, 3 for seeds and 4 for means."""
    return [
        (float(x), float(y))
        for drawn in ax.collections
        if isinstance(drawn, PathCollection) and drawn.get_zorder() == level
        for x, y in np.asarray(drawn.get_offsets())
        if fill is None or fill in hexes(drawn.get_facecolor())
    ]


BASE = [96.0, 95.0, 97.0]
ARMS = {"no-residual": [0.1, 0.2, 0.0], "one-head": [94.0, 92.0, 94.5], "no-norm": [96.5, 94.0, 97.5]}


def test_effects_show_mean_interval_and_every_seed_of_each_row(ax: Axes) -> None:
    effects, differences = effect_frames(ARMS, BASE)
    order = ["one-head", "no-residual", "no-norm"]
    chosen = styles(order, "base")
    plot_effects(effects, differences, ax, metric="bleu", order=order, styles=chosen)
    assert [label.get_text() for label in ax.get_yticklabels()] == order
    assert ax.yaxis_inverted()
    drawn, means, seeds = bars(ax), dots(ax, 4), dots(ax, 3)
    for y, variant in enumerate(order):
        expected = paired_effect(BASE, ARMS[variant])
        assert drawn[y, 3.4] == [pytest.approx((expected.low, expected.high))]
        assert [x for x, at in means if at == y] == pytest.approx([expected.difference])
        near = sorted(x for x, at in seeds if abs(at - y) < 0.4)
        assert near == pytest.approx(sorted(np.subtract(ARMS[variant], BASE)))
    (thick,) = [c for c in ax.collections if isinstance(c, LineCollection) and len(c.get_segments()) == 3]
    assert hexes(thick.get_colors()) == [chosen[variant].colour for variant in order]
    assert any(list(np.atleast_1d(line.get_xdata())) == [0, 0] for line in ax.lines)


def test_with_test_items_the_seeds_part_is_thick_and_the_whole_thin(ax: Axes) -> None:
    effects, differences = effect_frames(ARMS, BASE)
    effects = effects.assign(seed_variance=[0.9, 0.16, 0.0], item_variance=[np.nan, 0.09, 0.04])
    assert seeds_part(records(effects)[0]) is None
    assert seeds_part(records(effects)[2]) is None
    row = records(effects)[1]
    half = 0.8 * (row["high"] - row["difference"])  # sqrt(0.16 / (0.16 + 0.09))
    assert seeds_part(row) == pytest.approx((row["difference"] - half, row["difference"] + half))
    plot_effects(effects, differences, ax, metric="bleu", order=list(ARMS), styles=styles(list(ARMS), "base"))
    drawn = bars(ax)
    assert set(drawn) == {(0, 3.4), (1, 1.2), (1, 3.4), (2, 1.2)}
    assert drawn[1, 1.2] == [pytest.approx((row["low"], row["high"]))]
    assert drawn[1, 3.4] == [pytest.approx(seeds_part(row))]


def test_variants_that_are_marked_are_rings(ax: Axes) -> None:
    effects, differences = effect_frames(ARMS, BASE)
    order = list(ARMS)
    plot_effects(
        effects, differences, ax, metric="loss", order=order, styles=styles(order, "base"), hollow={"one-head"}
    )
    assert [y for _, y in dots(ax, 4, fill=PAPER)] == [1]
    assert len(dots(ax, 4)) == 3


def test_numbers_stand_beside_the_rows_in_grey_where_zero_is_within(ax: Axes) -> None:
    effects, differences = effect_frames(ARMS, BASE)
    plot_effects(effects, differences, ax, metric="bleu", order=list(ARMS), styles=styles(list(ARMS), "base"))
    colours = {text.get_text(): text.get_color() for text in ax.texts}
    assert colours["−95.9 ±2.7"] == INK
    assert colours["0.0 ±2.2"] != INK


@pytest.mark.parametrize(("metric", "worse_is_left"), [("loss", False), ("bleu", True), ("gradient_norm", None)])
def test_the_worse_side_is_shaded_and_named(ax: Axes, metric: str, worse_is_left: bool | None) -> None:
    effects, differences = effect_frames({"x": [1.0, 2.0, 1.5], "y": [-1.0, -2.0, 0.0]}, [0.0, 0.0, 0.0])
    plot_effects(effects, differences, ax, metric=metric, order=["x", "y"], styles=styles(["x", "y"], "base"))
    if worse_is_left is None:
        assert not ax.patches
        assert not any("worse" in text for text in texts(ax))
    else:
        (shade,) = ax.patches
        middle = shade.get_extents().transformed(ax.transData.inverted()).x0
        assert (middle < -1e-9) == worse_is_left
        assert ("← worse" in texts(ax)) == worse_is_left
        assert ("worse →" in texts(ax)) != worse_is_left


def test_a_row_without_a_result_stays_and_says_so(ax: Axes) -> None:
    effects, differences = effect_frames({"x": [1.0, 2.0, 1.5]}, [0.0, 0.0, 0.0])
    plot_effects(effects, differences, ax, metric="loss", order=["gone", "x"], styles=styles(["gone", "x"], "base"))
    assert "no result" in texts(ax)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["gone", "x"]


def test_one_seed_has_a_point_and_no_interval(ax: Axes) -> None:
    effects, differences = effect_frames({"x": [0.5]}, [0.25])
    plot_effects(effects, differences, ax, metric="loss", order=["x"], styles=styles(["x"], "base"))
    assert "+0.250" in texts(ax)
    assert effect_text(records(effects)[0], "loss") == "+0.250"
    assert not bars(ax)
    assert dots(ax, 4) == [(0.25, 0.0)]


def test_diverged_seeds_are_crosses(ax: Axes) -> None:
    effects, differences = effect_frames({"x": [0.5, 0.6, 2.7]}, [0.25, 0.25, 0.25])
    differences.loc[2, "state"] = "diverged"
    plot_effects(effects, differences, ax, metric="loss", order=["x"], styles=styles(["x"], "base"))
    assert [x for x, _ in dots(ax, 3, fill=DIVERGED)] == pytest.approx([2.45])
    assert len(dots(ax, 3)) == 3


def test_small_certain_effects_are_legible_beside_large_ones(ax: Axes) -> None:
    arms = {"large": [-95.0, -95.2, -94.9], "small": [-2.0, -2.1, -1.9]}
    effects, differences = effect_frames(arms, [0.0, 0.0, 0.0])
    plot_effects(effects, differences, ax, metric="perplexity", order=list(arms), styles=styles(list(arms), "base"))
    assert ax.get_xscale() == "asinh"
    assert "linear within ±1, logarithmic beyond" in texts(ax)
    zero, small, large = (ax.transData.transform((x, 0))[0] for x in (0, -2, -95))
    assert zero - small > 0.15 * (zero - large)
    assert sorted(ax.get_xticks()) == [-100, -10, -1, 0]
    (small,) = [c for c in ax.collections if isinstance(c, LineCollection) and not c.get_clip_on()]
    at = {float(np.asarray(segment)[0, 0]) for segment in small.get_segments()}
    assert {-2, -9, -20, -90} <= at  # uneven small ticks, as on any logarithmic axis


@pytest.mark.parametrize(
    ("metric", "small"),
    [
        ("accuracy", [-0.002, -0.002, -0.0021]),
        ("bleu", [-2.0, -2.1, -1.9]),
        ("loss", [-0.2, 0.5, -1.0]),
        ("loss", [-6.0, -7, -6]),
    ],
)
def test_the_scale_stays_linear_for_shares_for_points_for_noise_and_for_like_sizes(
    ax: Axes, metric: str, small: list[float]
) -> None:
    large = [-0.95, -0.96, -0.94] if metric == "accuracy" else [-95.0, -95.2, -94.9]
    effects, differences = effect_frames({"large": large, "small": small}, [0.0, 0.0, 0.0])
    plot_effects(effects, differences, ax, metric=metric, order=["large"], styles=styles(["large"], "base"))
    assert ax.get_xscale() == "linear"
    assert not any("linear" in text for text in texts(ax))


def test_one_wide_interval_is_cut_and_marked_and_does_not_hide_the_others(ax: Axes) -> None:
    arms = {"wide": [0.1, 0.9], "narrow": [0.5, 0.51]}
    effects, differences = effect_frames(arms, [0.0, 0.0])
    plot_effects(effects, differences, ax, metric="loss", order=list(arms), styles=styles(list(arms), "base"))
    assert effects["high"].max() > 5
    assert ax.get_xlim()[1] < 2
    assert len(lines_at(ax, "<")) == len(lines_at(ax, ">")) == 1


def test_an_axis_ends_where_no_difference_can_be(ax: Axes) -> None:
    arms = {"wide": [0.1, -0.9, -0.1], "narrow": [-0.5, -0.51, -0.5]}
    effects, differences = effect_frames(arms, [0.0, 0.0, 0.0])
    assert effects["low"].min() < -1.5
    plot_effects(effects, differences, ax, metric="accuracy", order=list(arms), styles=styles(list(arms), "base"))
    assert ax.get_xlim()[0] == pytest.approx(-1 - 0.06)
    assert len(lines_at(ax, "<")) == 1


@pytest.mark.parametrize("width", [0.09, 0.13, 0.2, 0.4, 0.8])
def test_ticks_of_a_linear_axis_are_even(ax: Axes, width: float) -> None:
    effects, differences = effect_frames({"x": [-0.61, -0.62, -0.6], "y": [0.03, 0.04, 0.05]}, [0.0, 0.0, 0.0])
    ax.set_position((0.1, 0.1, width, 0.8))
    plot_effects(effects, differences, ax, metric="accuracy", order=["x", "y"], styles=styles(["x", "y"], "base"))
    gaps = np.diff(ax.get_xticks())
    assert 0 in ax.get_xticks()
    assert gaps == pytest.approx(np.full(len(gaps), gaps.mean()))


def test_equal_effects_still_have_an_axis(ax: Axes) -> None:
    effects, differences = effect_frames({"x": [1.0, 1.0, 1.0]}, [1.0, 1.0, 1.0])
    plot_effects(effects, differences, ax, metric="accuracy", order=["x"], styles=styles(["x"], "base"))
    assert ax.get_xlim()[0] < 0 < ax.get_xlim()[1]
    assert "0.000" in texts(ax)


def test_labels_of_ticks_do_not_touch_where_zero_lies_between_small_decades(ax: Axes) -> None:
    arms = {"large": [0.85, 0.86, 0.84], "small": [-0.02, -0.021, -0.019]}
    effects, differences = effect_frames(arms, [0.0, 0.0, 0.0])
    ax.set_position((0.1, 0.1, 0.3, 0.8))
    plot_effects(effects, differences, ax, metric="loss", order=list(arms), styles=styles(list(arms), "base"))
    figure = ax.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()
    boxes = sorted((label.get_window_extent() for label in ax.get_xticklabels()), key=lambda box: box.x0)
    assert 0 in ax.get_xticks()
    assert len(boxes) > 1
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))


def test_of_two_variants_of_one_colour_the_means_have_other_shapes(ax: Axes) -> None:
    names = [f"v{i}" for i in range(9)]
    chosen = styles(names, "base")
    assert not has_twins(names[:7], chosen)
    assert not has_twins(["a", "b"], dict.fromkeys("ab", Style(INK, "-", "o"))), "contrasts are all black"
    assert has_twins(names, chosen)
    effects, differences = effect_frames({name: [i + 0.1, i + 0.2] for i, name in enumerate(names)}, [0.0, 0.1])
    plot_effects(effects, differences, ax, metric="loss", order=names, styles=chosen, hollow=["v8"])
    means = [drawn for drawn in ax.collections if isinstance(drawn, PathCollection) and drawn.get_zorder() == 4]
    seen = {
        (colour, np.asarray(drawn.get_paths()[0].vertices, dtype=np.float64).tobytes())
        for drawn in means
        for colour in (*hexes(drawn.get_facecolor()), *hexes(drawn.get_edgecolor()))
        if colour != PAPER
    }
    assert len(seen) == 9


def test_a_long_name_has_two_lines_and_room(ax: Axes) -> None:
    name = "no scale, default initialisation"
    effects, differences = effect_frames({name: [1.1, 1.2]}, [0.0, 0.1])
    plot_effects(effects, differences, ax, metric="loss", order=[name], styles=styles([name], "base"))
    (label,) = ax.get_yticklabels()
    assert label.get_text() == "no scale, default\ninitialisation"
    assert label.get_fontsize() == TICK
    assert row_height(name) > row_height("no scale") > TEXT / 72
    assert row_height(name, "2 of 3") == pytest.approx(row_height(name) + 1.25 * NOTE / 72)
