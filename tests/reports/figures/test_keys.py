"""Keys: entries with their lines, side by side."""

from matplotlib.figure import Figure

from reports.figures.keys import DOTTED, SAMPLE, Entry, level_dash, level_entries, write_key
from reports.figures.scales import Scale
from reports.figures.theme import INK


def test_entries_are_levels_with_values_and_a_mark() -> None:
    found = level_entries({"chance": 0.5, "floor": 0.01}, Scale(0.1, 1), (32.0, "trained at 32"))
    assert [entry.text for entry in found] == ["chance 0.5", "↓ floor 0.01", "trained at 32"]
    assert [entry.dash for entry in found] == [level_dash("chance"), None, DOTTED]
    assert level_dash("chance") != level_dash("floor") == level_dash("oracle")
    assert level_entries({}, Scale(0, 1)) == []


def test_entries_stand_side_by_side_each_after_its_line() -> None:
    figure = Figure(figsize=(8, 4))
    write_key(figure, [Entry("_x", INK, "-", 1.4), Entry("far"), Entry("near", dash=DOTTED)], 1.0, 3.0)
    ends = [[8 * x for x in line.get_xdata()] for line in figure.artists]  # type: ignore[attr-defined]
    texts = {text.get_text(): 8 * text.get_position()[0] for text in figure.texts}
    assert list(texts) == ["_x", "far", "near"]
    assert ends[0] == [1.0, 1.0 + SAMPLE]
    assert ends[0][1] < texts["_x"] < texts["far"] < ends[1][0] < ends[1][1] < texts["near"]
    assert figure.artists[0].get_color() == INK  # type: ignore[attr-defined]
