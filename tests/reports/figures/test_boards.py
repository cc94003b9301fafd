"""Panels in inches: places by hand, texts that keep to a width, keys in lines."""

from collections.abc import Iterator

import numpy as np
import pytest
from matplotlib.figure import Figure

from reports.figures.boards import Board, Panel, Shade, shortened, wrapped
from reports.figures.keys import GAP, SAMPLE, Entry, key_lines
from reports.figures.scales import Scale
from reports.figures.theme import NOTE, text_width, theme


@pytest.fixture(autouse=True)
def themed() -> Iterator[None]:
    with theme():
        yield


@pytest.fixture
def board() -> Board:
    return Board(Figure(figsize=(7, 3)))


PANEL = Panel(2.0, 0.5, 4.0, 1.0, Scale(10.0, 30.0))


def test_places_are_in_inches_and_what_is_beyond_stands_at_the_end() -> None:
    np.testing.assert_allclose(PANEL.place([15.0, 30.0], [1.0, 0.0]), [(3.0, 0.5), (6.0, 1.5)])
    np.testing.assert_allclose(PANEL.place([-99.0, 31.0], 0.25), [(2.0, 1.25), (6.0, 1.25)])
    log = Panel(0.0, 0.0, 3.0, 1.0, Scale(1e-3, 1.0, log=True))
    np.testing.assert_allclose(log.place([0.0, 1e-2], 1.0), [(0.0, 0.0), (1.0, 0.0)])


def test_a_text_keeps_to_its_width_and_its_lines() -> None:
    text = "one two three four five six seven eight nine ten eleven twelve " + "w" * 60
    lines = wrapped(text, 1.5, most=3)
    assert len(lines) == 3
    assert lines[0].startswith("one two")
    assert lines[-1].endswith("…")
    assert all(text_width(line) <= 1.5 for line in lines)
    assert wrapped("short", 1.5) == ["short"]
    assert shortened("abcdefghij" * 9, 1.0)[:2] == "ab"
    assert shortened("abcdefghij" * 9, 1.0)[-1] == "j"
    assert shortened("one two three four five", 1.4) == "one … four five"
    assert shortened("", 1.0) == ""


def test_a_key_breaks_where_its_width_ends() -> None:
    entries = [Entry("first", dash="-"), Entry("second"), Shade("third")]
    plain = [text_width(text, NOTE) for text in ("first", "second", "third")]
    two = plain[0] + SAMPLE + 0.07 + GAP + plain[1]
    assert key_lines(entries, two + 0.01) == [entries[:2], entries[2:]]
    assert key_lines(entries, two - 0.01) == [[entry] for entry in entries]
    assert key_lines(entries, 99.0) == [entries]
    assert key_lines([], 1.0) == []


def test_the_low_end_of_an_axis_of_sizes_stands_for_zero(board: Board) -> None:
    panel = Panel(0.5, 0.5, 5.0, 1.0, Scale(1e-14, 1.0, log=True))
    board.x_axis(panel, [1e-13, 1e-12, 1e-6, 1.0], zero=True)
    texts = {text.get_text(): text.get_position()[0] for text in board.ax.texts}
    assert list(texts) == ["0", "1e-12", "1e-06", "1"]
    assert texts["0"] == 0.5
    assert texts["1e-06"] == pytest.approx(0.5 + 5.0 * 8 / 14)


def test_ticks_whose_labels_would_touch_are_left_out(board: Board) -> None:
    board.x_axis(Panel(0.5, 0.5, 1.0, 1.0, Scale(0.0, 1.0)), [0.0, 0.1, 0.2, 0.9])
    assert [text.get_text() for text in board.ax.texts] == ["0", "0.9"]


def test_an_interval_beyond_the_axis_has_arrow_heads(board: Board) -> None:
    board.interval(PANEL, 12.0, 28.0, 0.5, "#1a1a1a")
    assert not board.ax.lines
    board.interval(PANEL, 5.0, 99.0, 0.5, "#1a1a1a")
    assert [(line.get_marker(), np.atleast_1d(line.get_xdata())[0]) for line in board.ax.lines] == [("<", 2), (">", 6)]


def test_a_band_covers_the_part_of_the_panel(board: Board) -> None:
    board.band(PANEL, 20.0, np.inf, "#0173b2")
    (path,) = board.ax.collections[0].get_paths()
    assert list(path.get_extents().extents) == [4.0, 0.5, 6.0, 1.5]
