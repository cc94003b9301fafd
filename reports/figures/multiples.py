"""Small multiples: many panels of the same scales, each a variant beside the base.

They are drawn on one pair of axes in inches. A pair of matplotlib's axes for each panel, twenty to a figure, takes most
of the time of a large report.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure

from reports.figures.keys import DOTTED, level_dashes
from reports.figures.lines import MOST_MARKERS, runs, single_seeds
from reports.figures.scales import Floats, Scale, tick_label
from reports.figures.theme import DIVERGED, GREY, HAIRLINE, INK, RC, TICK, Style, axes_at, fitting, text_width

TITLE, SECOND = 0.32, 0.19
"""Inches of a title of one line with the room above it, and what a second line adds."""


@dataclass(frozen=True)
class Panel:
    """Where a panel stands, in inches from the upper left corner of the axes."""

    left: float
    top: float
    width: float
    height: float
    is_left: bool
    """Values are written beside it."""
    is_lowest: bool
    """Places are written under it."""


def panel_grid(
    n: int, columns: int, left: float, width: float, height: float, *, gaps: tuple[float, float], title: float = TITLE
) -> list[Panel]:
    """`n` panels of one size, row after row, with a `title` above; `gaps` between columns and between rows."""
    across, down = gaps
    return [
        Panel(
            left + i % columns * (width + across),
            title + i // columns * (height + down),
            width,
            height,
            i % columns == 0,
            i + columns >= n,
        )
        for i in range(n)
    ]


def inch_axes(figure: Figure) -> Axes:
    """Axes over the whole of a figure, in inches from its upper left corner."""
    across, down = figure.get_size_inches()
    ax = axes_at(figure, 0, 0, across, down)
    ax.set(xlim=(0, across), ylim=(down, 0))
    ax.set_axis_off()
    return ax


@dataclass
class _Shapes:
    """What all panels have in one collection: a collection for each would take most of the time."""

    bands: list[Floats] = field(default_factory=list)
    band_colours: list[str] = field(default_factory=list)
    dots: list[Floats] = field(default_factory=list)
    dot_colours: list[str] = field(default_factory=list)

    def add_dots(self, points: Floats, colour: str) -> None:
        """Lines of no length, drawn with round ends: an SVG file holds them in the fewest bytes."""
        self.dots += [np.array([(x, y), (x + 0.001, y)]) for x, y in points]
        self.dot_colours += [colour] * len(points)


@dataclass(frozen=True)
class Trellis:
    """Panels on one pair of axes (inch_axes), all with the same two scales."""

    ax: Axes
    panels: Sequence[Panel]
    x: Scale
    y: Scale

    def place(self, panel: Panel, x: Any, y: Any) -> Floats:
        """Points (n, 2) of a panel in inches; what is beyond the scale of values stands at its end."""
        across = panel.left + self.x.share(x) * panel.width
        down = panel.top + (1 - np.clip(self.y.share(y), 0, 1)) * panel.height
        return np.column_stack(np.broadcast_arrays(across, down))

    def frame(
        self,
        names: Sequence[str],
        x_ticks: Sequence[float],
        y_ticks: Sequence[float],
        references: Mapping[str, float],
        mark: tuple[float, str] | None = None,
    ) -> None:
        """Titles, axes, hairlines at the values, known levels in all panels; keys.write_key has their names."""
        for panel, name in zip(self.panels, names, strict=True):
            bold = {"weight": RC["axes.titleweight"], "size": RC["axes.titlesize"]}
            self.ax.text(panel.left, panel.top - 0.07, fitting(name, 72 * panel.width), va="bottom", **bold)
            self._write_ticks(panel, x_ticks, y_ticks)
        ends = [self.x.low, self.x.high]
        self._add([self.place(p, ends, [t, t]) for p in self.panels for t in y_ticks], HAIRLINE, 0.6, 0.5)
        self._add([self.place(p, ends, [self.y.low] * 2) for p in self.panels], GREY, 0.6, 1)
        self._add(
            [self.place(p, [self.x.low] * 2, [self.y.low, self.y.high]) for p in self.panels if p.is_left], GREY, 0.6, 1
        )
        dashes = level_dashes(references)
        for name, level in references.items():
            if self.y.low <= level <= self.y.high:
                self._add([self.place(p, ends, [level] * 2) for p in self.panels], GREY, 1.0, 1, dash=dashes[name])
        if mark is not None:
            marks = [self.place(p, [mark[0]] * 2, [self.y.low, self.y.high]) for p in self.panels]
            self._add(marks, GREY, 1.0, 1, dash=DOTTED)

    def lines(
        self,
        summary: pd.DataFrame,
        data: pd.DataFrame,
        x: str,
        others: Sequence[str],
        base: str,
        styles: Mapping[str, Style],
    ) -> None:
        """Means with bands of lines.summarise_lines: the base in every panel, and the variant whose panel it is.

        Variants have dots at their points if these are few and no steps. Seeds of variants with two are thin lines,
        from `data` as it was summarised.
        """
        of_variant = {str(variant): rows for variant, rows in summary.groupby("variant", sort=False)}
        shapes = _Shapes()
        for panel, variant in zip(self.panels, others, strict=True):
            for level, name in ((2, variant), (3, base)):  # the base last: its thin line does not hide the other
                if name in of_variant:
                    dotted = x != "step" and name != base
                    self._line(panel, of_variant[name], x, styles[name], level, shapes, dotted=dotted)
        bands = PolyCollection(shapes.bands, facecolors=shapes.band_colours, alpha=0.18, linewidths=0, zorder=1.8)
        self.ax.add_collection(bands)
        self._add(shapes.dots, shapes.dot_colours, 4.4, 3.5, capstyle="round", snap=False)
        for name, at, values in single_seeds(data, x):
            panels = [p for p, v in zip(self.panels, others, strict=True) if name in (v, base)]
            self._add([self.place(p, at, values) for p in panels], styles[name].colour, 0.8, 2, alpha=0.6)

    def crosses(self, rows: pd.DataFrame, x: str, others: Sequence[str]) -> None:
        """A cross at each row: a diverged run. Those of the base are in every panel."""
        for variant, of_variant in rows.groupby("variant", sort=False):
            for panel in (p for p, v in zip(self.panels, others, strict=True) if variant == v or variant not in others):
                points = self.place(panel, of_variant[x], of_variant["value"])
                self.ax.plot(*points.T, "x", color=DIVERGED, markersize=7, markeredgewidth=2, zorder=50)

    def names(self, x_label: str, y_label: str) -> None:
        """Names of the axes, along all panels; that of the values may have two lines."""
        left, right = min(p.left for p in self.panels), max(p.left + p.width for p in self.panels)
        top, bottom = min(p.top for p in self.panels), max(p.top + p.height for p in self.panels)
        self.ax.text((left + right) / 2, bottom + 0.32, x_label, ha="center", va="top")
        self.ax.text(0.08, (top + bottom) / 2, y_label, ha="left", va="center", rotation=90, ma="center")

    def _line(
        self, panel: Panel, rows: pd.DataFrame, x: str, style: Style, level: float, shapes: "_Shapes", *, dotted: bool
    ) -> None:
        """A line, and to `shapes` its bands and dots; without a neighbour a point has a dot and a bar in any case."""
        at, mean, low, high = (rows[column].to_numpy(float) for column in (x, "mean", "low", "high"))
        points = self.place(panel, at, mean)
        self._add([points], style.colour, style.width, level, dash=style.dash)
        for part in runs(mean):
            if part.stop - part.start == 1 or (dotted and len(at) <= MOST_MARKERS):
                shapes.add_dots(points[part], style.colour)
        for part in runs(low):
            if part.stop - part.start == 1:
                bar = self.place(panel, at[part].repeat(2), [low[part][0], high[part][0]])
                self._add([bar], style.colour, 1.4, level)
            else:
                shapes.bands.append(self._band(panel, at[part], low[part], high[part]))
                shapes.band_colours.append(style.colour)

    def _band(self, panel: Panel, at: Floats, low: Floats, high: Floats) -> Floats:
        return np.concatenate([self.place(panel, at, low), self.place(panel, at, high)[::-1]])

    def _write_ticks(self, panel: Panel, x_ticks: Sequence[float], y_ticks: Sequence[float]) -> None:
        right = panel.left + panel.width
        for tick in x_ticks if panel.is_lowest else ():
            ((x, y),) = self.place(panel, [tick], [self.y.low])
            half = text_width(tick_label(tick), TICK) / 2
            x_text = min(max(x, panel.left - 0.04 + half), right + 0.04 - half)  # labels of neighbours must not meet
            self.ax.text(x_text, y + 0.07, tick_label(tick), ha="center", va="top", size=TICK, color=INK)
            self._add([np.array([(x, y), (x, y + 0.05)])], GREY, 0.6, 1)
        for tick in y_ticks if panel.is_left else ():
            ((x, y),) = self.place(panel, [self.x.low], [tick])
            self.ax.text(x - 0.07, y, tick_label(tick), ha="right", va="center_baseline", size=TICK, color=INK)
            self._add([np.array([(x - 0.05, y), (x, y)])], GREY, 0.6, 1)

    def _add(
        self,
        lines: Sequence[Floats],
        colour: str | list[str],
        width: float,
        level: float,
        *,
        dash: Any = "-",
        **style: Any,
    ) -> None:
        drawn = LineCollection(lines, colors=colour, linewidths=width, linestyles=[dash], zorder=level, **style)
        drawn.set_clip_on(False)
        self.ax.add_collection(drawn, autolim=False)
