"""What figures share: looks, names, places."""

import gc
from itertools import combinations

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reports.figures.theme import (
    INK,
    add_legend,
    axes_at,
    fitting,
    label_ends,
    label_width,
    plain,
    row_label,
    size_of,
    spread,
    styles,
    text_width,
    theme,
    write_at,
)


@pytest.fixture
def ax() -> Axes:
    with theme():
        return Figure(figsize=(6, 4)).subplots()


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


def test_variants_of_one_experiment_have_colours_of_their_own_while_there_are_any() -> None:
    names = [f"v{i}" for i in range(21)]
    groups = [names[:2], [names[0], *names[7:10]], [names[1], *names[14:20]], names]
    apart = styles(names, "base", groups[:3])
    for group in groups[:3]:
        assert len({apart[name].colour for name in group}) == len(group)
    assert len({(s.colour, s.dash) for s in apart.values()}) == 22
    assert styles(names, "base", [names]) == styles(names, "base")
    plain_ones = styles(names, "base")
    assert plain_ones["v0"].colour == plain_ones["v7"].colour  # as it is without groups


def test_in_one_experiment_28_lines_and_63_markers_are_told_apart_whatever_the_others_have() -> None:
    names = [f"v{i}" for i in range(150)]
    groups = [names[:28], names[20:80:3], [names[0], *names[30:50]], names[80:87], names[87:150]]
    chosen = styles(names, "base", groups)
    assert len({(chosen[name].colour, chosen[name].dash) for name in names[:28:7]}) == 4, "one colour, four lines"
    for group in groups[:4]:
        assert len({(chosen[name].colour, chosen[name].dash) for name in group}) == len(group)
    for group in groups:
        assert len({(chosen[name].colour, chosen[name].marker) for name in group}) == len(group)


def test_a_legend_has_exactly_the_variants_in_their_order_names_with_underscores_too(ax: Axes) -> None:
    order = ["base", "1", "2", "3", "4", "6", "8", "12", "_x", "None", "$a$", "a<b & c", "", "last"]
    chosen = styles(order[1:], "base")
    add_legend(ax, order, chosen)
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == order
    assert len({(line.get_color(), line.get_marker()) for line in legend.get_lines()}) == 14


def test_names_become_labels_of_one_line_and_bounded_length() -> None:
    assert plain("no-residual") == "no-residual"
    assert plain("a\nb\tc") == "a b c"
    assert len(plain("x" * 99)) == 40
    assert plain("abcdefghij", 5) == "ab…ij"


def test_a_long_name_is_cut_between_words_and_keeps_its_ends() -> None:
    assert plain("n_heads of 16, d_model of 512, rotary", 30) == "n_heads of 16, … 512, rotary"
    assert plain("no scale, default initialisation", 20) == "no … initialisation"
    assert plain("no scale, default initialisation", 14) == "no scal…sation", "no two words fit"


def test_a_name_is_broken_where_it_means_least() -> None:
    assert row_label("no residual") == "no residual"
    assert row_label("base (output_projection=linear)") == "base\n(output_projection=linear)"
    assert row_label("no scale, default initialisation") == "no scale, default\ninitialisation"
    assert row_label("norm_placement=post,warmup=1,n_layers=6") == "norm_placement=post,warmup=1,\nn_layers=6"
    assert row_label("norm_placement=post × warmup=100") == "norm_placement=post\n× warmup=100"
    assert row_label("output_projection=identity", 20) == "output_projection=\nidentity"
    assert row_label("") == ""
    assert label_width("W\nWWW\nWW") == text_width("WWW")


def test_titles_are_cut_to_the_width_they_have() -> None:
    assert fitting("no-residual", 190) == "no-residual"
    assert len(fitting("i" * 99, 190)) == 40
    assert fitting("lstm, forget bias 1, 700 steps", 190) == "lstm, forget bias 1, 700\nsteps"
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


def test_places_in_inches_are_from_the_upper_left_corner() -> None:
    figure = Figure(figsize=(8, 5))
    ax = axes_at(figure, 2, 1, 4, 3)
    assert ax.get_position().bounds == pytest.approx((0.25, 0.2, 0.5, 0.6))
    assert size_of(ax) == pytest.approx((288, 216))
    write_at(figure, 2, 1, "here")
    assert figure.texts[0].get_position() == pytest.approx((0.25, 0.8))


def test_widths_of_texts_are_those_of_the_font() -> None:
    assert text_width("mm", 10) == pytest.approx(2 * text_width("m", 10), rel=0.02)
    assert text_width("m", 20) == pytest.approx(2 * text_width("m", 10), rel=0.02)
    assert text_width("m", 10) == pytest.approx(1.04 * 0.974 * 10 / 72, rel=0.01)  # advance of DejaVu Sans, in ems
    assert text_width("no-norm", 10, "bold") > text_width("no-norm", 10)


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        ([], []),
        ([40.0], [40.0]),
        ([10.0, 40.0, 80.0], [10.0, 40.0, 80.0]),
        ([50.0, 50.0], [45.0, 55.0]),
        ([52.0, 50.0, 51.0], [61.0, 41.0, 51.0]),
        ([0.0, 1.0], [2.0, 12.0]),
        ([99.0, 98.0], [98.0, 88.0]),
        ([10.0, 19.0, 24.0], [7.666667, 17.666667, 27.666667]),
    ],
)
def test_labels_are_moved_apart_and_keep_their_order(places: list[float], expected: list[float]) -> None:
    assert spread(places, 10, 2, 98) == pytest.approx(expected)


def test_names_stand_at_the_ends_of_lines_apart_and_whole(ax: Axes) -> None:
    ax.set(xlim=(0, 10), ylim=(0, 1))
    ends = {"base": (10.0, 0.5), "_x": (10.0, 0.5), "$a$": (10.0, 0.1)}
    chosen = styles(["_x", "$a$"], "base")
    label_ends(ax, ends, chosen, {name: plain(name) for name in ends})
    assert [text.get_text() for text in ax.texts] == ["base", "_x", "$a$"]
    heights = {text.get_text(): text.xy[1] * size_of(ax)[1] for text in ax.texts}  # type: ignore[attr-defined]
    assert abs(heights["base"] - heights["_x"]) == pytest.approx(14.5)
    assert heights["$a$"] == pytest.approx(0.1 * size_of(ax)[1])
    for line, name in zip(ax.lines, ends, strict=True):
        assert line.get_color() == chosen[name].colour
        assert next(iter(np.atleast_1d(line.get_ydata()))) == pytest.approx(ends[name][1])


def test_the_collector_is_left_as_it_was() -> None:
    usual = gc.get_threshold()
    with theme():
        assert gc.get_threshold()[0] > usual[0]
    assert gc.get_threshold() == usual
    with pytest.raises(KeyError), theme():
        raise KeyError
    assert gc.get_threshold() == usual


def test_combinations_of_settings_are_cut_in_their_keys() -> None:
    names = [f"norm_placement=post,warmup={warmup},n_layers={layers}" for warmup in (1, 100) for layers in (2, 6)]
    assert plain(names[1], 30) == "norm_…=post,warmup=1,n_lay…=6"
    assert len({plain(name, 30) for name in names}) == 4
    assert all(len(plain(name, length)) <= length for name in names for length in range(3, 40))
    assert plain(names[0], 19) == "n…=post,w…=1,n…=2"
    assert plain(names[0], 16) == "norm_pla…ayers=2", "no room for all values"
    assert plain("a=1,b", 4) == "a=…b"
