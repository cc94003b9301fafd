"""Panels on one pair of axes in inches: frames with ticks, lines, dots, areas and texts at places of their scales.

A pair of matplotlib's axes for each panel would take most of the time of a page with many small ones (multiples).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from reports.figures.keys import GAP, HEIGHT, SAMPLE, Entry
from reports.figures.multiples import inch_axes
from reports.figures.scales import Floats, Scale, thin_ticks, tick_label
from reports.figures.theme import DIVERGED, GREY, HAIRLINE, INK, NOTE, PAPER, TEXT, TICK, Dash, plain, text_width

UNIT = Scale(0.0, 1.0)
ZERO = "0"
"""The tick at the low end of a logarithmic axis on which values of zero stand."""
LINE = 1.32
"""Height of a line of text in its size."""
SHADE = 0.16
"""Opacity of a shaded part of a panel."""


@dataclass(frozen=True)
class Shade(Entry):
    """A name in a key with a piece of shaded area."""

    @property
    def has_sample(self) -> bool:
        """There is the piece."""
        return True


@dataclass(frozen=True)
class Panel:
    """Where a panel stands, in inches from the upper left corner of the figure, and its two scales."""

    left: float
    top: float
    width: float
    height: float
    x: Scale
    y: Scale = UNIT
    """Without values of its own: 0 at the lower end, 1 at the upper one."""

    def place(self, x: ArrayLike, y: ArrayLike) -> Floats:
        """Points (n, 2) in inches; what is beyond a scale, and zero on a logarithmic one, stands at its end."""
        across = self.left + _share(self.x, x) * self.width
        down = self.top + (1 - _share(self.y, y)) * self.height
        return np.column_stack(np.broadcast_arrays(np.atleast_1d(across), np.atleast_1d(down)))


def _share(scale: Scale, values: ArrayLike) -> Floats:
    return scale.share(np.clip(np.asarray(values, np.float64), scale.low, scale.high))


def _label(scale: Scale, tick: float) -> str:
    """A tick as text; on a logarithmic axis a very small one is none of zero."""
    return f"{tick:g}" if scale.log else tick_label(tick)


def _without_touching(ticks: Sequence[float], panel: Panel) -> list[float]:
    places = (panel.x.share(list(ticks)) * 72 * panel.width).tolist() if ticks else []
    return thin_ticks(ticks, places, [72 * text_width(_label(panel.x, tick), TICK) for tick in ticks])


class Board:
    """A figure with panels; places of whole figures are in inches, those of panels in the units of their scales."""

    def __init__(self, figure: Figure) -> None:
        self.ax = inch_axes(figure)

    def lines(
        self, lines: Sequence[Floats], colour: str, width: float, *, dash: Dash = "-", level: float = 2, **style: Any
    ) -> None:
        """Lines through points (n, 2) in inches, all alike."""
        drawn = LineCollection(list(lines), colors=colour, linewidths=width, linestyles=[dash], zorder=level, **style)
        drawn.set_clip_on(False)
        self.ax.add_collection(drawn, autolim=False)

    def dots(self, points: Floats, colour: str, size: float, *, level: float = 3, **style: Any) -> None:
        """Round dots of a diameter in points at places in inches: lines of no length, few bytes in an SVG file."""
        ends = [np.array([(x, y), (x + 0.001, y)]) for x, y in points]
        self.lines(ends, colour, size, level=level, capstyle="round", snap=False, **style)

    def mean(self, point: Floats, colour: str) -> None:
        """A large dot with an edge of paper."""
        self.dots(point, PAPER, 8.6, level=3.8)
        self.dots(point, colour, 7.0, level=4)

    def crosses(self, points: Floats) -> None:
        """Diverged runs."""
        cross: dict[str, Any] = {"color": DIVERGED, "markersize": 6.5, "markeredgewidth": 1.8, "linestyle": "none"}
        self.ax.plot(*points.T, "x", zorder=5, **cross)

    def area(self, corners: Floats, colour: str, alpha: float) -> None:
        """A filled polygon, under everything else."""
        drawn = PolyCollection([corners], facecolors=[colour], alpha=alpha, linewidths=0, zorder=0.4)
        self.ax.add_collection(drawn, autolim=False)

    def text(self, x: float, y: float, text: str, size: float = TEXT, **style: Any) -> None:
        """A text whose left end, or another (`ha`), is at x and whose middle is at y."""
        self.ax.text(x, y, text, size=size, **{"va": "center_baseline", "color": INK, **style})

    def band(self, panel: Panel, low: float, high: float, colour: str) -> None:
        """Shade a panel from one value of its x axis to another."""
        (left, top), (right, bottom) = panel.place([low, high], [1.0, 0.0])
        self.area(np.array([(left, top), (right, top), (right, bottom), (left, bottom)]), colour, SHADE)

    def upright(self, panel: Panel, x: float, colour: str, width: float, *, dash: Dash = "-", level: float = 1) -> None:
        """A line at one value of the x axis, over the height of a panel."""
        self.lines([panel.place([x, x], [panel.y.low, panel.y.high])], colour, width, dash=dash, level=level)

    def x_axis(self, panel: Panel, ticks: Sequence[float], *, zero: bool = False, grid: bool = True) -> None:
        """Line, ticks and hairlines of the x axis; with `zero` its low end stands for zero."""
        above = [tick for tick in ticks if tick > 8 * panel.x.low] if zero else ticks
        kept = _without_touching([*([panel.x.low] if zero else []), *above], panel)
        bottom, top = panel.y.low, panel.y.high
        points = [panel.place([tick], [bottom])[0] for tick in kept]
        if grid:
            self.lines([panel.place([t, t], [bottom, top]) for t in kept], HAIRLINE, 0.6, level=0.5)
        self.lines([panel.place([panel.x.low, panel.x.high], [bottom] * 2)], GREY, 0.6, level=1)
        self.lines([np.array([(x, y), (x, y + 0.05)]) for x, y in points], GREY, 0.6, level=1)
        for tick, (x, y) in zip(kept, points, strict=True):
            label = ZERO if zero and tick == panel.x.low else _label(panel.x, tick)
            self.text(x, y + 0.15, label, TICK, ha="center")

    def y_axis(self, panel: Panel, ticks: Sequence[float]) -> None:
        """Line, ticks and hairlines of the y axis."""
        left, right = panel.x.low, panel.x.high
        self.lines([panel.place([left, right], [t, t]) for t in ticks], HAIRLINE, 0.6, level=0.5)
        self.lines([panel.place([left] * 2, [panel.y.low, panel.y.high])], GREY, 0.6, level=1)
        for tick in ticks:
            ((x, y),) = panel.place([left], [tick])
            self.lines([np.array([(x - 0.05, y), (x, y)])], GREY, 0.6, level=1)
            self.text(x - 0.08, y, _label(panel.y, tick), TICK, ha="right")

    def interval(self, panel: Panel, low: float, high: float, y: float, colour: str) -> None:
        """A thick line from one value to another; arrow heads where it goes on beyond the axis."""
        self.lines([panel.place([low, high], [y, y])], colour, 3.2, level=3, capstyle="butt")
        for beyond, end, marker in ((low < panel.x.low, panel.x.low, "<"), (high > panel.x.high, panel.x.high, ">")):
            if beyond:
                self.ax.plot(*panel.place([end], [y]).T, marker, color=colour, markersize=7, zorder=3)

    def key(self, lines: Sequence[Sequence[Entry]], left: float, top: float) -> None:
        """Entries in lines (key_lines), from an upper left corner in inches."""
        for number, line in enumerate(lines):
            x, y = left, top + 0.1 + HEIGHT * number
            for entry in line:
                self._entry(entry, x, y)
                x += entry.length + GAP

    def _entry(self, entry: Entry, x: float, y: float) -> None:
        if isinstance(entry, Shade):
            corners = np.array([(x, y - 0.07), (x + SAMPLE, y - 0.07), (x + SAMPLE, y + 0.07), (x, y + 0.07)])
            self.area(corners, entry.colour, SHADE)
            self.lines([corners[[0, 3]], corners[[1, 2]]], entry.colour, 1.4)
        elif entry.dash is not None:
            self.lines([np.array([(x, y), (x + SAMPLE, y)])], entry.colour, entry.width, dash=entry.dash)
        self.text(x + entry.length - text_width(entry.text, NOTE), y, entry.text, NOTE)


def wrapped(text: str, width: float, size: float = TEXT, weight: str = "normal", most: int = 3) -> list[str]:
    """A text in lines that are no wider than so many inches; what does not fit into `most` of them is cut."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and text_width(longer, size, weight) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    kept = [shortened(line, width, size, weight) for line in lines[:most]]
    return kept if len(lines) <= most else [*kept[:-1], shortened(f"{kept[-1]} …", width, size, weight)]


def shortened(text: str, width: float, size: float = TEXT, weight: str = "normal") -> str:
    """As much of a text as fits into a width in inches, cut between words (theme.plain)."""
    labels = (plain(text, length) for length in range(len(text), 2, -1))
    return next((label for label in labels if text_width(label, size, weight) <= width), "…" if text else "")
