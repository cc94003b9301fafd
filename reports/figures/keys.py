"""A key under axes: lines that have no name of their own, such as the base in small multiples, chance, a floor."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from reports.figures.scales import Scale, level_names
from reports.figures.theme import GREY, INK, NOTE, Dash, text_width, write_at

HEIGHT = 0.24
"""Inches that a key takes."""
SAMPLE, GAP = 0.34, 0.3
"""Length of a piece of line, and room between entries, in inches."""
DOTTED: Dash = (0, (1, 2))
"""Of marks on the axis of places."""


@dataclass(frozen=True)
class Entry:
    """A name with a piece of its line."""

    text: str
    colour: str = GREY
    dash: Dash | None = None
    """None: the line is beyond the axes, there is only a name."""
    width: float = 1.0


def level_dash(name: str) -> Dash:
    """Short dashes for chance, long ones for other levels."""
    return (0, (3, 3)) if name == "chance" else (0, (7, 2))


def level_entries(references: Mapping[str, float], scale: Scale, mark: tuple[float, str] | None = None) -> list[Entry]:
    """Known levels with their values (scales.level_names), and a mark on the other axis."""
    levels = [
        Entry(text, dash=level_dash(name) if scale.low <= level <= scale.high else None)
        for (name, level), text in zip(references.items(), level_names(references, scale), strict=True)
    ]
    return levels if mark is None else [*levels, Entry(mark[1], dash=DOTTED)]


def write_key(figure: Figure, entries: Sequence[Entry], left: float, top: float) -> None:
    """Entries side by side; `left` and `top` are inches from the upper left corner of the figure."""
    across, down = figure.get_size_inches()
    for entry in entries:
        if entry.dash is not None:
            ends = [left / across, (left + SAMPLE) / across]
            line = Line2D(ends, [1 - (top + 0.085) / down] * 2, color=entry.colour, lw=entry.width, ls=entry.dash)
            line.set_transform(figure.transFigure)
            figure.add_artist(line)
            left += SAMPLE + 0.07
        write_at(figure, left, top + 0.085, entry.text, va="center_baseline", size=NOTE, color=INK)
        left += text_width(entry.text, NOTE) + GAP
