"""Figures are drawn on given axes and read back: the numbers of the artists, not pixels."""

from collections.abc import Iterator
from itertools import combinations

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import Collection, PolyCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from reports.figures import (
    DIVERGED,
    INK,
    add_legend,
    add_references,
    fitting,
    plain,
    plot_effects,
    plot_ends,
    plot_lines,
    scale_places,
    scale_values,
    styles,
    theme,
)
from reports.statistics import paired_effect, t_interval


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


def line_frame(values: dict[str, list[list[float]]]) -> pd.DataFrame:
    """Tidy rows; `values` has, for each variant, one list a seed of values at x = 1, 2, ..."""
    rows = [
        {"variant": v, "seed": seed, "state": "completed", "x": x, "value": value}
        for v, seeds in values.items()
        for seed, of_seed in enumerate(seeds)
        for x, value in enumerate(of_seed, start=1)
    ]
    return pd.DataFrame(rows)


def lines_at(ax: Axes, marker: str) -> list[Line2D]:
    return [line for line in ax.lines if line.get_marker() == marker]


def texts(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.texts]


def bands(ax: Axes) -> list[PolyCollection]:
    return [c for c in ax.collections if isinstance(c, PolyCollection)]


def heights_of(drawn: Collection) -> NDArray[np.float64]:
    """Heights of the corners of a band or bar."""
    return np.asarray(drawn.get_paths()[0].vertices, dtype=np.float64)[:, 1]


BASE = [96.0, 95.0, 97.0]
ARMS = {"no-residual": [0.1, 0.2, 0.0], "one-head": [94.0, 92.0, 94.5], "no-norm": [96.5, 94.0, 97.5]}


def test_effects_show_mean_interval_and_every_seed_of_each_row(ax: Axes) -> None:
    effects, differences = effect_frames(ARMS, BASE)
    order = ["one-head", "no-residual", "no-norm"]
    plot_effects(effects, differences, ax, metric="bleu", order=order, styles=styles(order, "base"))
    assert [label.get_text() for label in ax.get_yticklabels()] == order
    assert ax.yaxis_inverted()
    for y, variant in enumerate(order):
        expected = paired_effect(BASE, ARMS[variant])
        dots = [line for line in lines_at(ax, "o") if abs(np.atleast_1d(line.get_ydata())[0] - y) < 0.4]
        mean, seeds = sorted(dots, key=lambda line: -line.get_markersize())
        assert np.atleast_1d(mean.get_xdata())[0] == pytest.approx(expected.difference)
        assert list(np.atleast_1d(seeds.get_xdata())) == pytest.approx(np.subtract(ARMS[variant], BASE))
        bar = next(line for line in lines_at(ax, "None") if list(np.atleast_1d(line.get_ydata())) == [y, y])
        assert list(np.atleast_1d(bar.get_xdata())) == pytest.approx([expected.low, expected.high])
        assert to_hex(bar.get_color()) == styles(order, "base")[variant].colour
    assert any(list(np.atleast_1d(line.get_xdata())) == [0, 0] for line in ax.lines)


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
    assert not [line for line in lines_at(ax, "None") if list(np.atleast_1d(line.get_ydata())) == [0, 0]]


def test_diverged_seeds_are_crosses(ax: Axes) -> None:
    effects, differences = effect_frames({"x": [0.5, 0.6, 2.7]}, [0.25, 0.25, 0.25])
    differences.loc[2, "state"] = "diverged"
    plot_effects(effects, differences, ax, metric="loss", order=["x"], styles=styles(["x"], "base"))
    (cross,) = [line for line in lines_at(ax, "x") if np.size(line.get_xdata())]
    assert list(np.atleast_1d(cross.get_xdata())) == pytest.approx([2.45])
    assert to_hex(cross.get_color()) == DIVERGED


def test_small_certain_effects_are_legible_beside_large_ones(ax: Axes) -> None:
    arms = {"large": [-95.0, -95.2, -94.9], "small": [-2.0, -2.1, -1.9]}
    effects, differences = effect_frames(arms, [0.0, 0.0, 0.0])
    plot_effects(effects, differences, ax, metric="bleu", order=list(arms), styles=styles(list(arms), "base"))
    assert ax.get_xscale() == "asinh"
    assert ax.get_xlabel() == "linear within ±1, logarithmic beyond"
    zero, small, large = (ax.transData.transform((x, 0))[0] for x in (0, -2, -95))
    assert zero - small > 0.15 * (zero - large)
    assert sorted(ax.get_xticks()) == [-100, -10, -1, 0]


@pytest.mark.parametrize(
    ("metric", "small"),
    [("accuracy", [-0.002, -0.002, -0.0021]), ("bleu", [-0.2, 0.5, -1.0]), ("bleu", [-6.0, -7, -6])],
)
def test_the_scale_stays_linear_for_shares_for_noise_and_for_like_sizes(
    ax: Axes, metric: str, small: list[float]
) -> None:
    large = [-0.95, -0.96, -0.94] if metric == "accuracy" else [-95.0, -95.2, -94.9]
    effects, differences = effect_frames({"large": large, "small": small}, [0.0, 0.0, 0.0])
    plot_effects(effects, differences, ax, metric=metric, order=["large"], styles=styles(["large"], "base"))
    assert ax.get_xscale() == "linear"
    assert not ax.get_xlabel()


def test_one_wide_interval_is_cut_and_marked_and_does_not_hide_the_others(ax: Axes) -> None:
    arms = {"wide": [0.1, 0.9], "narrow": [0.5, 0.51]}
    effects, differences = effect_frames(arms, [0.0, 0.0])
    plot_effects(effects, differences, ax, metric="loss", order=list(arms), styles=styles(list(arms), "base"))
    assert effects["high"].max() > 5
    assert ax.get_xlim()[1] < 2
    assert len(lines_at(ax, "<")) == len(lines_at(ax, ">")) == 1


def test_equal_effects_still_have_an_axis(ax: Axes) -> None:
    effects, differences = effect_frames({"x": [1.0, 1.0, 1.0]}, [1.0, 1.0, 1.0])
    plot_effects(effects, differences, ax, metric="accuracy", order=["x"], styles=styles(["x"], "base"))
    assert ax.get_xlim()[0] < 0 < ax.get_xlim()[1]
    assert "0.000" in texts(ax)


def test_twenty_variants_and_more_are_told_apart_and_the_base_is_black() -> None:
    names = [f"v{i}" for i in range(200)]
    chosen = styles(names, "base")
    assert chosen["base"].colour == INK
    looks = [(s.colour, s.dash, s.marker) for s in chosen.values()]
    assert len(set(looks)) == 201
    assert len({look[:2] for look in looks[:21]}) == 21
    rgb = [mpl.colors.to_rgb(chosen[name].colour) for name in names[:7]]
    assert min(np.abs(np.subtract(a, b)).sum() for a, b in combinations(rgb, 2)) > 0.2
    assert styles(names, "v3")["v3"].colour == INK
    assert styles(names, "v3")["v4"] == chosen["v4"]


def test_a_legend_has_exactly_the_variants_in_their_order_names_with_underscores_too(ax: Axes) -> None:
    order = ["base", "1", "2", "3", "4", "6", "8", "12", "_x", "None", "$a$", "a<b & c", "", "last"]
    chosen = styles(order[1:], "base")
    add_legend(ax, order, chosen)
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == order
    assert len({(line.get_color(), line.get_marker()) for line in legend.get_lines()}) == 14


def test_lines_are_means_and_bands_t_intervals(ax: Axes) -> None:
    values = {"base": [[0.9, 0.8], [0.7, 0.6], [0.8, 0.85]], "lstm": [[0.5, 0.4], [0.6, 0.4], [0.4, 0.4]]}
    plot_lines(line_frame(values), ax, x="x", order=["base", "lstm"], styles=styles(["lstm"], "base"), share=False)
    lstm, base = ax.lines
    assert list(np.atleast_1d(base.get_ydata())) == pytest.approx([0.8, 0.75])
    assert list(np.atleast_1d(lstm.get_ydata())) == pytest.approx([0.5, 0.4])
    interval = t_interval([0.5, 0.6, 0.4])
    heights = heights_of(bands(ax)[0])
    assert (heights.min(), heights.max()) == pytest.approx(interval)
    assert np.isclose(heights, 0.4).any()  # all seeds agree there: the band is as thin as the line


def test_bands_of_a_share_end_at_zero_and_one(ax: Axes) -> None:
    frame = line_frame({"base": [[1.0, 0.0], [0.9, 0.1], [0.6, 0.4]]})
    plot_lines(frame, ax, x="x", order=["base"], styles=styles([], "base"), share=True)
    heights = heights_of(bands(ax)[0])
    assert (heights.min(), heights.max()) == (0.0, 1.0)


def test_two_seeds_are_shown_as_they_are_and_one_as_a_line(ax: Axes) -> None:
    frame = line_frame({"two": [[0.1, 0.2], [0.3, 0.4]], "one": [[0.6, 0.7]]})
    plot_lines(frame, ax, x="x", order=["two", "one"], styles=styles(["two", "one"], "base"), share=False)
    drawn = sorted(tuple(np.round(np.atleast_1d(line.get_ydata()), 6)) for line in ax.lines)
    assert drawn == [(0.1, 0.2), (0.2, 0.3), (0.3, 0.4), (0.6, 0.7)]
    assert not any(band.get_paths() for band in bands(ax))


def test_a_single_point_has_an_error_bar_where_a_band_would_vanish(ax: Axes) -> None:
    frame = line_frame({"base": [[0.2], [0.3], [0.4]]})
    plot_lines(frame, ax, x="x", order=["base"], styles=styles([], "base"), share=False)
    (bar,) = [c for c in ax.collections if not isinstance(c, PolyCollection)]
    heights = heights_of(bar)
    assert (heights.min(), heights.max()) == pytest.approx(t_interval([0.2, 0.3, 0.4]))


def test_on_a_logarithmic_axis_mean_and_band_are_those_of_the_logarithms(ax: Axes) -> None:
    frame = line_frame({"base": [[0.01, 1.0], [0.1, 1.0], [1.0, 1.0]]})
    scale_values(ax, frame["value"], metric="loss", chance=None)
    plot_lines(frame, ax, x="x", order=["base"], styles=styles([], "base"), share=False)
    assert ax.get_yscale() == "log"
    assert next(iter(np.atleast_1d(ax.lines[0].get_ydata()))) == pytest.approx(0.1)
    low, high = t_interval(np.log([0.01, 0.1, 1.0])) or (0, 0)
    heights = heights_of(bands(ax)[0])
    assert (heights.min(), heights.max()) == pytest.approx((np.exp(low), np.exp(high)))


@pytest.mark.parametrize(
    ("metric", "values", "scale"),
    [
        ("loss", [0.1, 2.0], "linear"),
        ("loss", [0.0, 9.0], "linear"),
        ("accuracy", [0.01, 1.0], "linear"),
        ("bleu", [0.1, 97.0], "linear"),
        ("gradient_norm", [0.01, 2.0], "log"),
        ("loss", [0.01, 2.0], "log"),
    ],
)
def test_scales_are_logarithmic_only_where_it_helps(ax: Axes, metric: str, values: list[float], scale: str) -> None:
    scale_values(ax, pd.Series([*values, np.nan, np.inf]), metric=metric, chance=None)
    assert ax.get_yscale() == scale


@pytest.mark.parametrize(
    ("places", "most", "scale", "ticks"),
    [
        ([1, 2, 4, 8, 16, 32, 64], 8, "log", ["1", "2", "4", "8", "16", "32", "64"]),
        ([1, 2, 4, 8, 16, 32, 64], 5, "log", ["1", "4", "16", "64"]),
        ([1, 2, 4, 8, 16], 8, "linear", ["1", "4", "8", "16"]),
        ([0.01, 0.003, 0.001], 8, "linear", ["0.001", "0.003", "0.01"]),
        ([0.1, 3.0], 5, "linear", ["0.1", "3"]),
        ([0, 100], 5, "linear", ["0", "100"]),
        ([-1, 100], 5, "linear", ["-1", "100"]),
        ([1e-5, 1e-2], 5, "log", ["1e-05", "0.01"]),
    ],
)
def test_ticks_of_a_setting_are_its_own_values_as_far_as_there_is_room(
    ax: Axes, places: list[float], most: int, scale: str, ticks: list[str]
) -> None:
    frame = pd.DataFrame({"variant": "base", "seed": 0, "x": places, "value": 0.5})
    plot_lines(frame, ax, x="x", order=["base"], styles=styles([], "base"), share=True)
    scale_places(ax, frame["x"], most=most)
    assert ax.get_xscale() == scale
    assert [label.get_text() for label in ax.get_xticklabels()] == ticks
    assert len(ax.get_xticks(minor=True)) == 0
    assert ax.get_xlim()[0] < min(places) < max(places) < ax.get_xlim()[1]


def test_single_seeds_run_from_left_to_right(ax: Axes) -> None:
    frame = pd.DataFrame({"variant": "base", "seed": [0, 1] * 3, "x": [16, 16, 48, 48, 32, 32], "value": 0.5})
    plot_lines(frame, ax, x="x", order=["base"], styles=styles([], "base"), share=True)
    assert [list(np.atleast_1d(line.get_xdata())) for line in ax.lines] == [[16, 32, 48]] * 3


def test_shares_are_shown_from_below_chance_to_one(ax: Axes) -> None:
    scale_values(ax, pd.Series([0.9, 1.0]), metric="accuracy", chance=0.5)
    add_references(ax, 0.5, (8.0, "trained at 8"), named=True)
    assert ax.get_ylim() == pytest.approx((0.42, 1.04))
    assert texts(ax) == ["chance", "trained at 8"]
    assert list(np.atleast_1d(ax.lines[0].get_ydata())) == [0.5, 0.5]


def test_ends_of_diverged_runs_are_marked_at_their_last_finite_value(ax: Axes) -> None:
    frame = line_frame({"x": [[0.9, 0.8, 0.7], [0.9, 1.5, np.nan]]})
    frame.loc[frame["seed"] == 1, "state"] = "diverged"
    plot_ends(frame, ax, x="x")
    (cross,) = ax.lines
    assert (list(np.atleast_1d(cross.get_xdata())), list(np.atleast_1d(cross.get_ydata()))) == ([2], [1.5])


def test_names_become_labels_of_one_line_and_bounded_length() -> None:
    assert plain("no-residual") == "no-residual"
    assert plain("a\nb\tc") == "a b c"
    assert len(plain("x" * 99)) == 30
    assert plain("n_heads=16, d_model=512, position=rotary") == "n_heads=16, d_m…osition=rotary"
    assert plain("abcdefghij", 5) == "ab…ij"


def test_titles_are_cut_to_the_width_they_have() -> None:
    assert fitting("no-residual", 190) == "no-residual"
    assert len(fitting("i" * 99, 190)) == 30
    assert len(fitting("W" * 99, 190)) < 20
    assert fitting("W" * 99, 1) == "…"
    assert fitting("", 190) == ""


def test_the_callers_settings_come_back() -> None:
    before = [mpl.rcParams["svg.fonttype"], mpl.rcParams["font.size"], mpl.rcParams["axes.spines.top"]]
    with theme():
        inside = [mpl.rcParams["svg.fonttype"], mpl.rcParams["font.size"], mpl.rcParams["axes.spines.top"]]
    after = [mpl.rcParams["svg.fonttype"], mpl.rcParams["font.size"], mpl.rcParams["axes.spines.top"]]
    assert before == after
    assert not set(map(str, inside)) & set(map(str, before))
