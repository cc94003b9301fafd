"""A key under axes: lines that have no name of their own, such as the base in small multiples, chance, a floor."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from reports.figures.scales import Scale, level_names
from reports.figures.theme import GREY, INK, NOTE, WIDTH, Dash, text_width, write_at

HEIGHT = 0.24
"""Inches that a line of a key takes."""
SAMPLE, GAP = 0.34, 0.3
"""Length of a piece of line, and room between entries, in inches."""
DOTTED: Dash = (0, (1, 2))
"""Of marks on the axis of places."""
DASHES: tuple[Dash, ...] = ((0, (3, 3)), (0, (8, 2)), (0, (8, 2, 1.5, 2)), (0, (1.2, 1.8)), (0, (4, 1.5, 4, 4)))
"""Of known levels; the first is that of chance."""


@dataclass(frozen=True)
class Entry:
    """A name with a piece of its line."""

    text: str
    colour: str = GREY
    dash: Dash | None = None
    """None: the line is beyond the axes, there is only a name."""
    width: float = 1.0
    marker: str = ""
    """Drawn in the place of a line."""

    @property
    def has_sample(self) -> bool:
        """Whether there is a line or a marker beside the name."""
        return self.dash is not None or bool(self.marker)

    @property
    def length(self) -> float:
        """Inches that it takes."""
        return text_width(self.text, NOTE) + (SAMPLE + 0.07) * self.has_sample


def level_dashes(names: Collection[str]) -> dict[str, Dash]:
    """Dashes of known levels, by name, which tell five of them apart: the short ones are those of chance."""
    ordered = sorted(names, key=lambda name: name != "chance")
    dashes = DASHES if "chance" in names else DASHES[1:]
    return {name: dashes[place % len(dashes)] for place, name in enumerate(ordered)}


def level_entries(references: Mapping[str, float], scale: Scale, mark: tuple[float, str] | None = None) -> list[Entry]:
    """Known levels with their values (scales.level_names), and a mark on the other axis."""
    dashes = level_dashes(references)
    levels = [
        Entry(text, dash=dashes[name] if scale.low <= level <= scale.high else None)
        for (name, level), text in zip(references.items(), level_names(references, scale), strict=True)
    ]
    return levels if mark is None else [*levels, Entry(mark[1], dash=DOTTED)]


def key_lines(entries: Sequence[Entry], width: float) -> list[list[Entry]]:
    """Entries of a key side by side, in as many lines as they need in a width in inches."""
    lines: list[list[Entry]] = []
    left = width
    for entry in entries:
        if not lines or left + entry.length > width:
            lines.append([])
            left = 0.0
        lines[-1].append(entry)
        left += entry.length + GAP
    return lines


def key_height(entries: Sequence[Entry], width: float) -> float:
    """Inches that the lines of a key take."""
    return HEIGHT * len(key_lines(entries, width))


def write_key(figure: Figure, entries: Sequence[Entry], left: float, top: float, width: float = WIDTH) -> None:
    """Entries in lines of a width (key_lines); lengths are inches, from the upper left corner of the figure."""
    for number, line in enumerate(key_lines(entries, width)):
        at = left
        for entry in line:
            _write_entry(figure, entry, at, top + HEIGHT * number)
            at += entry.length + GAP


def _write_entry(figure: Figure, entry: Entry, left: float, top: float) -> None:
    across, down = figure.get_size_inches()
    if entry.has_sample:
        ends = [(left + part * SAMPLE) / across for part in ((0.5,) if entry.marker else (0, 1))]
        looks: dict[str, Any] = {"lw": entry.width, "ls": "none" if entry.dash is None else entry.dash}
        marker: dict[str, Any] = {"marker": entry.marker, "markersize": 7, "mew": 0} if entry.marker else {}
        line = Line2D(ends, [1 - (top + 0.085) / down] * len(ends), color=entry.colour, **looks, **marker)
        line.set_transform(figure.transFigure)
        figure.add_artist(line)
    at = left + entry.length - text_width(entry.text, NOTE)
    write_at(figure, at, top + 0.085, entry.text, va="center_baseline", size=NOTE, color=INK)
