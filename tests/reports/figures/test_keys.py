"""Keys: entries with their lines, side by side."""

from matplotlib.figure import Figure

from reports.figures.keys import (
    DASHES,
    DOTTED,
    HEIGHT,
    SAMPLE,
    Entry,
    key_height,
    level_dashes,
    level_entries,
    write_key,
)
from reports.figures.scales import Scale
from reports.figures.theme import INK


def test_entries_are_levels_with_values_and_a_mark() -> None:
    found = level_entries({"chance": 0.5, "floor": 0.01}, Scale(0.1, 1), (32.0, "trained at 32"))
    assert [entry.text for entry in found] == ["chance 0.5", "↓ floor 0.01", "trained at 32"]
    assert [entry.dash for entry in found] == [DASHES[0], None, DOTTED]
    assert level_entries({}, Scale(0, 1)) == []


def test_each_level_has_dashes_of_its_own_and_those_of_chance_are_always_the_same() -> None:
    assert level_dashes(["floor", "chance", "oracle"]) == {"chance": DASHES[0], "floor": DASHES[1], "oracle": DASHES[2]}
    assert level_dashes(["oracle"]) == {"oracle": DASHES[1]}


def test_a_key_goes_on_in_a_second_line_where_the_first_is_full() -> None:
    figure = Figure(figsize=(8, 4))
    entries = [Entry("one", marker="s"), Entry("two", dash="-"), Entry("three")]
    room = entries[0].length + entries[1].length + 0.3
    write_key(figure, entries, 1.0, 3.0, room + 0.01)
    tops = [round(4 * (1 - text.get_position()[1]), 3) for text in figure.texts]
    assert tops == [3.085, 3.085, round(3.085 + HEIGHT, 3)]
    assert key_height(entries, room + 0.01) == 2 * HEIGHT
    assert key_height(entries, entries[0].length) == 3 * HEIGHT
    assert key_height([], 1.0) == 0
    marker, line = figure.artists
    assert (marker.get_marker(), marker.get_linestyle()) == ("s", "None")  # type: ignore[attr-defined]
    assert line.get_marker() == "None"  # type: ignore[attr-defined]


def test_entries_stand_side_by_side_each_after_its_line() -> None:
    figure = Figure(figsize=(8, 4))
    write_key(figure, [Entry("_x", INK, "-", 1.4), Entry("far"), Entry("near", dash=DOTTED)], 1.0, 3.0)
    ends = [[8 * x for x in line.get_xdata()] for line in figure.artists]  # type: ignore[attr-defined]
    texts = {text.get_text(): 8 * text.get_position()[0] for text in figure.texts}
    assert list(texts) == ["_x", "far", "near"]
    assert ends[0] == [1.0, 1.0 + SAMPLE]
    assert ends[0][1] < texts["_x"] < texts["far"] < ends[1][0] < ends[1][1] < texts["near"]
    assert figure.artists[0].get_color() == INK  # type: ignore[attr-defined]
