"""One condition of a claim, of every kind: all texts can be read, and the marks stand at their values."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure

from reports.figures.boards import Board
from reports.figures.conditions import REGION_COLOUR, Row, mean_line
from reports.figures.shown import Line, Shown
from reports.figures.theme import GREY, INK, WIDTH, theme
from reports.wording import SYMBOLS
from tests.reports.figures.drawn import check_texts, hexes
from tests.reports.figures.made_up import EVERY


@pytest.fixture(autouse=True)
def themed() -> Iterator[None]:
    with theme():
        yield


def drawn(shown: Shown) -> Figure:
    row = Row(shown)
    figure = Figure(figsize=(WIDTH, row.height))
    row.draw(Board(figure), 0.0)
    return figure


def uprights(figure: Figure, colour: str) -> list[float]:
    """Places of upright lines of a colour over the height of a panel, in inches."""
    found: list[float] = []
    for lines in figure.axes[0].collections:
        if isinstance(lines, LineCollection) and hexes(lines.get_colors())[0] == colour:
            for segment in lines.get_segments():
                (x, top), (other, bottom) = segment[0], segment[-1]
                if abs(x - other) < 1e-9 and abs(bottom - top) > 0.3:
                    found.append(float(x))
    return found


def width_of(lines: LineCollection) -> float:
    """Their one width in points."""
    return float(np.atleast_1d(lines.get_linewidth())[0])


def dots(figure: Figure, size: float) -> list[float]:
    """Places of dots of a size, in inches."""
    found: list[float] = []
    for lines in figure.axes[0].collections:
        if isinstance(lines, LineCollection) and width_of(lines) == size:
            found += [float(segment[0][0]) for segment in lines.get_segments()]
    return found


SEED, MEAN = 4.2, 7.0


@pytest.mark.parametrize("kind", EVERY)
def test_all_texts_can_be_read(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = check_texts(drawn(EVERY[kind]), monkeypatch, least=2 if kind == "not-run" else 5)
    outcome = EVERY[kind].outcome
    assert any(text.startswith(f"{SYMBOLS[outcome]} {outcome}") for text in texts)


@pytest.mark.parametrize("kind", [kind for kind in EVERY if kind not in ("not-run", "curve", "exponent")])
def test_every_seed_is_a_dot(kind: str) -> None:
    shown = EVERY[kind]
    measured = 0 if shown.is_single else sum(len(side.values) for side in shown.sides)
    assert len(dots(drawn(shown), SEED)) == measured + len(shown.per_seed)


def test_the_region_the_reference_and_the_mean_stand_at_their_values() -> None:
    shown = EVERY["difference"]
    figure = drawn(shown)
    (end,) = uprights(figure, REGION_COLOUR)
    (reference,) = uprights(figure, INK)
    mean = max(dots(figure, MEAN))
    assert shown.value is not None
    assert (mean - reference) / (end - reference) == pytest.approx(shown.value / 0.1)
    band = next(c for c in figure.axes[0].collections if isinstance(c, PolyCollection))
    assert band.get_paths()[0].get_extents().x0 == pytest.approx(end)
    assert band.get_paths()[0].get_extents().x1 > mean


def test_a_mean_outside_the_region_is_drawn_outside() -> None:
    shown = replace(EVERY["difference"], value=0.05, per_seed=(0.04, 0.05, 0.06), low=0.03, high=0.07)
    figure = drawn(shown)
    (end,) = uprights(figure, REGION_COLOUR)
    assert max(dots(figure, MEAN)) < end


@pytest.mark.parametrize(("kind", "lines"), [("difference", 2), ("level", 2), ("excess", 1)])
def test_known_levels_are_lines_with_names(kind: str, lines: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chance is too far off for losses; of a level it is the reference, which is a line of its own."""
    figure = drawn(EVERY[kind])
    assert len(uprights(figure, GREY)) == lines
    texts = check_texts(figure, monkeypatch, least=5)
    for name, value in EVERY[kind].references:
        assert any(f"{name} {value:.3g}" in text for text in texts)
    assert ("↑ chance 4.2" in texts) == (kind == "difference")
    assert any("no effect: chance 0.0625" in text for text in texts) == (kind == "level")


def test_levels_beside_each_other_have_dashes_of_their_own() -> None:
    figure = drawn(EVERY["curve"])
    dashes = {
        str(lines.get_linestyle())
        for lines in figure.axes[0].collections
        if isinstance(lines, LineCollection) and width_of(lines) == 1.3
    }
    assert len(dashes) == 2


def test_an_exact_condition_has_its_worst_value_and_no_reference() -> None:
    texts = [text.get_text() for text in drawn(EVERY["exact"]).axes[0].texts]
    assert "✓ supported: worst 4e−07" in texts
    assert not any("no effect" in text for text in texts)
    assert "0" in texts


def test_a_tolerance_of_zero_is_shaded_around_zero() -> None:
    figure = drawn(EVERY["exact-fails"])
    band = next(c for c in figure.axes[0].collections if isinstance(c, PolyCollection)).get_paths()[0].get_extents()
    zero, other = sorted(dots(figure, SEED))
    assert band.x0 < zero < band.x1 < other


def test_curves_have_a_thin_line_a_seed_and_their_mean() -> None:
    figure = drawn(EVERY["curve"])
    widths = [
        width_of(lines)
        for lines in figure.axes[0].collections
        if isinstance(lines, LineCollection)
        for segment in lines.get_segments()
        if len(segment) == 5
    ]
    assert widths.count(0.8) == 6
    assert widths.count(2.0) == 2


def test_a_mean_line_is_over_the_seeds_that_have_the_place() -> None:
    lines = [Line((1.0, 2.0), (1.0, 4.0)), Line((2.0, 1.0), (16.0, 3.0)), Line((3.0,), (0.0,))]
    assert mean_line(lines, log=False) == ([1.0, 2.0, 3.0], [2.0, 10.0, 0.0])
    places, means = mean_line(lines, log=True)
    assert places == [1.0, 2.0]
    assert means == pytest.approx([np.sqrt(3), 8.0])


def test_censored_seeds_are_counted_beside_the_name() -> None:
    texts = [text.get_text() for text in drawn(EVERY["times"]).axes[0].texts]
    assert "variant-1 (1 cut off)" in texts
