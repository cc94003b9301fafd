"""Small multiples: where things stand, in inches worked out by hand."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure

from reports.figures.lines import ends, summarise_lines, with_gaps
from reports.figures.multiples import Panel, Trellis, inch_axes
from reports.figures.scales import Floats, Scale
from reports.figures.theme import DIVERGED, GREY, INK, styles, theme
from tests.reports.figures.drawn import hexes

PANELS = [Panel(1, 0.5, 4, 2, True, False), Panel(6, 0.5, 4, 2, False, False), Panel(1, 3.5, 4, 2, True, True)]
NAMES = ["_x", "a&b", "z"]


@pytest.fixture
def trellis() -> Trellis:
    with theme():
        return Trellis(inch_axes(Figure(figsize=(11, 7))), PANELS, Scale(0, 8), Scale(0, 10))


def lines_of(trellis: Trellis, colour: str, width: float) -> list[Floats]:
    return [
        np.asarray(segment, dtype=np.float64)
        for drawn in trellis.ax.collections
        if isinstance(drawn, LineCollection)
        and hexes(drawn.get_colors())[0] == colour
        and float(np.ravel(drawn.get_linewidth())[0]) == width
        for segment in drawn.get_segments()
    ]


def frame(values: dict[str, list[list[float]]]) -> pd.DataFrame:
    return pd.DataFrame(
        {"variant": v, "seed": s, "state": "completed", "x": x, "value": value}
        for v, seeds in values.items()
        for s, of_seed in enumerate(seeds)
        for x, value in zip((0, 4, 8), of_seed, strict=False)
    )


def test_places_are_inches_and_values_beyond_the_scale_stand_at_its_end(trellis: Trellis) -> None:
    placed = trellis.place(PANELS[0], [0, 4, 8], [0, 5, 99])
    assert placed == pytest.approx(np.array([(1, 2.5), (3, 1.5), (5, 0.5)]))
    log = Trellis(trellis.ax, PANELS, Scale(1, 100, log=True), Scale(0, 10))
    assert log.place(PANELS[1], [10], [0]) == pytest.approx(np.array([(8, 2.5)]))
    assert trellis.ax.get_xlim() == (0, 11)
    assert trellis.ax.get_ylim() == (7, 0)


def test_titles_ticks_and_levels(trellis: Trellis) -> None:
    with theme():
        trellis.frame(NAMES, [0, 8], [0, 5], {"chance": 2.5, "floor": -1.0}, (4.0, "trained at 4"))
        trellis.names("Step", "Loss")
    texts = [text.get_text() for text in trellis.ax.texts]
    assert [t for t in texts if t in NAMES] == NAMES
    assert sorted(t for t in texts if t.isdigit()) == ["0", "0", "0", "5", "5", "8"]  # two panels left, one lowest
    assert sorted(set(texts) - set(NAMES) - {"0", "5", "8"}) == ["Loss", "Step"]  # the key has the rest
    levels = [segment for segment in lines_of(trellis, GREY, 1.0) if np.ptp(segment[:, 1]) == 0]
    assert [segment[0].tolist() for segment in levels] == [[1, 2.0], [6, 2.0], [1, 5.0]]
    marks = [segment for segment in lines_of(trellis, GREY, 1.0) if np.ptp(segment[:, 0]) == 0]
    assert [segment[0, 0] for segment in marks] == [3, 8, 3]


def test_each_panel_has_the_base_and_its_variant(trellis: Trellis) -> None:
    values = {
        v: [[h, h, h], [h + 1, h + 1, h + 1], [h + 2] * 3] for v, h in zip(("base", *NAMES), (1, 2, 3, 4), strict=True)
    }
    data = frame({v: [[float(x) for x in s] for s in seeds] for v, seeds in values.items()})
    looks = styles(NAMES, "base")
    trellis.lines(summarise_lines(data, "x", log=False), data, "x", NAMES, "base", looks)
    base = lines_of(trellis, INK, looks["base"].width)
    assert [segment[0].tolist() for segment in base] == [[1, 2.1], [6, 2.1], [1, 5.1]]  # 2.0 of 10 on 2 inches
    for name, panel, mean in zip(NAMES, PANELS, (3, 4, 5), strict=True):
        (own,) = lines_of(trellis, looks[name].colour, looks[name].width)
        assert own == pytest.approx(trellis.place(panel, [0, 4, 8], [mean] * 3))
    (bands,) = [c for c in trellis.ax.collections if isinstance(c, PolyCollection)]
    assert len(bands.get_paths()) == 6
    assert set(hexes(bands.get_facecolor())) == {looks[name].colour for name in ("base", *NAMES)}


def dots_of(trellis: Trellis, colour: str) -> list[list[float]]:
    round_ends = [c for c in trellis.ax.collections if isinstance(c, LineCollection) and c.get_capstyle() == "round"]
    return [
        np.asarray(segment)[0].tolist()
        for drawn in round_ends
        for segment, own in zip(drawn.get_segments(), hexes(drawn.get_colors()), strict=True)
        if own == colour
    ]


def test_points_have_dots_where_they_are_few_and_lines_and_bands_break_at_gaps(trellis: Trellis) -> None:
    nan = float("nan")
    data = frame({"base": [[1.0, 1.0, 1.0]], "_x": [[2.0, nan, 4.0]] * 3, "z": [[5.0, 5.0, 5.0]] * 3})
    looks = styles(NAMES, "base")
    trellis.lines(with_gaps(summarise_lines(data, "x", log=False), "x"), data, "x", NAMES, "base", looks)
    assert dots_of(trellis, looks["_x"].colour) == [[1, 2.1], [5, 1.7]]
    assert len(dots_of(trellis, looks["z"].colour)) == 3
    assert not dots_of(trellis, INK)
    (own,) = [c for c in trellis.ax.collections if np.isnan(np.asarray(c.get_paths()[:1][0].vertices)).any()]
    assert hexes(own.get_edgecolor()) == [looks["_x"].colour]
    (bands,) = [c for c in trellis.ax.collections if isinstance(c, PolyCollection)]
    assert len(bands.get_paths()) == 1  # of z
    bars = lines_of(trellis, looks["_x"].colour, 1.4)
    assert [bar[0].tolist() for bar in bars] == [[1, 2.1], [5, 1.7]]  # of points that stand alone


@pytest.mark.parametrize(("n", "x", "dots"), [(20, "x", 20), (21, "x", 0), (5, "step", 0)])
def test_lines_of_many_points_and_of_steps_have_no_dots(trellis: Trellis, n: int, x: str, dots: int) -> None:
    data = pd.DataFrame({"variant": "_x", "seed": 0, "state": "completed", x: range(n), "value": 1.0})
    looks = styles(NAMES, "base")
    trellis.lines(summarise_lines(data, x, log=False), data, x, NAMES, "base", looks)
    assert len(dots_of(trellis, looks["_x"].colour)) == dots


def test_two_seeds_are_thin_lines_and_a_single_point_a_dot(trellis: Trellis) -> None:
    looks = styles(NAMES, "base")
    data = frame({"base": [[1.0]], "_x": [[2.0, 3.0, 4.0], [4.0, 5.0, 6.0]], "z": [[5.0]]})
    trellis.lines(summarise_lines(data, "x", log=False), data, "x", NAMES, "base", looks)
    thin = lines_of(trellis, looks["_x"].colour, 0.8)
    assert np.array([segment[0] for segment in thin]) == pytest.approx(np.array([(1, 2.1), (1, 1.7)]))
    assert dots_of(trellis, looks["z"].colour) == [[1, 4.5]]
    assert len(dots_of(trellis, INK)) == 3
    (bands,) = [c for c in trellis.ax.collections if isinstance(c, PolyCollection)]
    assert not bands.get_paths()


def test_crosses_of_a_variant_are_in_its_panel_and_those_of_the_base_in_all(trellis: Trellis) -> None:
    data = frame({"base": [[1.0, 2.0, 5.0]], "a&b": [[1.0, 2.5, float("nan")]], "z": [[1.0, 1.0, 1.0]]})
    data.loc[data["variant"] != "z", "state"] = "diverged"
    trellis.crosses(ends(data, "x"), "x", NAMES)
    crosses = [(line.get_color(), *np.ravel(line.get_xydata()).tolist()) for line in trellis.ax.lines]
    assert sorted(crosses) == [(DIVERGED, 5, 1.5), (DIVERGED, 5, 4.5), (DIVERGED, 8, 2.0), (DIVERGED, 10, 1.5)]
