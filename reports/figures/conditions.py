"""One condition of a claim as a row of its picture: what was measured, and beside it the quantity that is judged.

Left: a row for each side with every seed, mean and interval; or, where the quantity is made of a curve, the curves.
Right: the quantity itself, one value a seed, against the region that was fixed beforehand. Where the quantity is what
was measured of one side, as with a level, there is only the right part.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import isfinite

import numpy as np

from reports.figures.boards import LINE, Board, Panel, Shade, shortened, wrapped
from reports.figures.keys import HEIGHT as KEY_LINE
from reports.figures.keys import Entry, key_lines, level_dashes
from reports.figures.scales import Floats, Scale, level_names, place_ticks
from reports.figures.shown import Line, Measured, Shown, curve_scales, measured_scale, quantity_scale, quantity_ticks
from reports.figures.theme import COLOURS, GREY, INK, TEXT, TICK, WIDTH, Dash, broken, text_width
from reports.regions import Region, brief
from reports.statistics import summarise
from reports.wording import SYMBOLS, estimate

MEASURED, JUDGED = 6.0, 6.5
"""Inches: right end of the left part, left end of the right one."""
NAMES = 2.9
"""Inches that names of sides take at most."""
ROW, STRIP, CURVE = 0.4, 0.8, 2.0
"""Inches: height of a side, of the quantity that is judged, of curves."""
REGION_COLOUR = COLOURS[0]


@dataclass(frozen=True)
class Row:
    """One condition, and the room that it takes."""

    shown: Shown

    @property
    def title(self) -> list[str]:
        """Its text in lines."""
        return wrapped(self.shown.text, WIDTH - 0.1, TEXT, "bold")

    @property
    def head(self) -> float:
        """Inches from the top of a row to its panels."""
        return 0.08 + len(self.title) * _line(TEXT) + (0.1 if self.shown.is_brief else 0.42)

    @property
    def body(self) -> float:
        """Inches of the panels."""
        if self.shown.is_brief:
            return _line(TEXT)
        if self.shown.measured_in:
            return STRIP
        if self.shown.has_curves:
            return CURVE
        return max(STRIP, ROW * len(self.shown.sides) * (not self.shown.is_single))

    @property
    def height(self) -> float:
        """Inches of all of it."""
        if self.shown.is_brief:
            return self.head + self.body + 0.2
        foot = 0.38 + 0.25 * (self.shown.has_curves and not self.shown.measured_in)
        keys = max(len(_judged_key(self.shown)), len(_measured_key(self.shown)))
        return self.head + self.body + foot + KEY_LINE * keys + 0.22

    def draw(self, board: Board, top: float) -> None:
        """Draw it at a place in inches from the top of the figure."""
        for number, text in enumerate(self.title):
            board.text(0.02, top + 0.16 + number * _line(TEXT), text, weight="bold")
        if self.shown.is_brief:
            board.text(0.02, top + self.head + 0.1, _outcome(self.shown))
            return
        _draw_judged(board, self.shown, top + self.head)
        if self.shown.measured_in:
            text = f"{self.shown.labels[1]}: as above, condition {self.shown.measured_in}"
            board.text(0.02, top + self.head + STRIP / 2, text, TICK, color=GREY)
            return
        if not self.shown.is_single:
            board.text(0.02, top + self.head - 0.2, self.shown.labels[1], TICK, color=GREY)
        if self.shown.has_curves:
            _draw_curves(board, self.shown, top + self.head)
        elif not self.shown.is_single:
            _draw_sides(board, self.shown, top + self.head, self.body)


def _line(size: float) -> float:
    return size * LINE / 72


def _outcome(shown: Shown) -> str:
    """As it stands over the quantity: `✓ supported: 0.31 (0.28 to 0.34)`."""
    found = f"{SYMBOLS[shown.outcome]} {shown.outcome}"
    worst = "worst " if shown.exact and len(shown.per_seed) > 1 else ""
    if shown.value is None:
        return found
    where = f", drawn with claim {shown.drawn_with}" if shown.drawn_with else ""
    return f"{found}: {worst}{estimate(shown.value, shown.low, shown.high)}{where}"


# The quantity that is judged.


def _draw_judged(board: Board, shown: Shown, top: float) -> None:
    """Region, reference, interval, every seed, in a strip; the outcome over it, names under it."""
    left = 0.25 if shown.is_single else JUDGED
    panel = Panel(left, top, WIDTH - 0.25 - left, STRIP, quantity_scale(shown))
    board.text(left, top - 0.2, _outcome(shown), weight="bold")
    _draw_region(board, panel, shown.region)
    if not shown.exact and panel.x.low <= shown.region.no_effect <= panel.x.high:
        board.upright(panel, shown.region.no_effect, INK, 1.1, level=1.5)
    for _, level, dash in _levels(shown, panel.x) if shown.is_single else ():
        board.upright(panel, level, GREY, 1.3, dash=dash)
    zero = panel.x.log and min(shown.per_seed) <= 0
    board.x_axis(panel, quantity_ticks(panel.x), zero=zero)
    _draw_row(board, panel, shown.per_seed, (shown.value, shown.low, shown.high), (0.64, 0.26), INK)
    board.key(_judged_key(shown), left, top + STRIP + 0.38)


def _draw_region(board: Board, panel: Panel, region: Region) -> None:
    """Shade the region; where it is zero alone, on an axis of sizes, the place that stands for zero."""
    if panel.x.log and region.high <= panel.x.low:
        panel = replace(panel, left=panel.left - 0.12, width=0.24)
        board.band(panel, panel.x.low, panel.x.high, REGION_COLOUR)
        return
    board.band(panel, region.low, region.high, REGION_COLOUR)
    for end in (region.low, region.high):
        if isfinite(end):
            board.upright(panel, end, REGION_COLOUR, 1.4)


def _draw_row(
    board: Board,
    panel: Panel,
    values: Sequence[float],
    found: tuple[float | None, float | None, float | None],
    at: tuple[float, float],
    colour: str,
) -> None:
    """Mean and interval at one height of a panel, every seed under them."""
    value, low, high = found
    board.dots(_apart(panel.place(values, at[1])), colour, 4.2, level=3, alpha=0.8)
    if low is not None and high is not None:
        board.interval(panel, low, high, at[0], colour)
    if value is not None:
        board.mean(panel.place([value], [at[0]]), colour)


def _apart(points: Floats) -> Floats:
    """Dots that would hide each other, moved up and down a little in turn."""
    order = np.argsort(points[:, 0], kind="stable")
    moved, run = points.copy(), 0
    for before, this in pairwise(order):
        run = run + 1 if points[this, 0] - points[before, 0] < 0.05 else 0
        moved[this, 1] += (0, 0.055, -0.055, 0.1, -0.1)[run % 5]
    return moved


# What was measured.


def _draw_sides(board: Board, shown: Shown, top: float, height: float) -> None:
    """A row for each side: its name, every seed, mean and interval, the mean in figures."""
    names = _names_width(shown)
    panel = Panel(names, top, MEASURED - names - 0.75, height, measured_scale(shown))
    rows = len(shown.sides)
    for _, level, dash in _levels(shown, panel.x):
        board.upright(panel, level, GREY, 1.3, dash=dash)
    for number, side in enumerate(shown.sides):
        middle = 1 - (number + 0.5) / rows
        known = summarise(side.values)
        at = (middle + 0.14 / rows, middle - 0.24 / rows)
        _draw_row(board, panel, side.values, (known.mean, known.low, known.high), at, side.style.colour)
        _write_side(board, panel, side, known.mean, middle)
    zero = panel.x.log and min(min(side.values) for side in shown.sides) <= 0
    board.x_axis(panel, quantity_ticks(panel.x), zero=zero)
    board.key(_measured_key(shown), 0.15, top + height + 0.38)


def _write_side(board: Board, panel: Panel, side: Measured, mean: float, at: float) -> None:
    ((_, y),) = panel.place([panel.x.low], [at])
    lines = _side_lines(side)
    size = TEXT if len(lines) == 1 else TICK
    for number, line in enumerate(lines):
        board.text(panel.left - 0.12, y + (number - (len(lines) - 1) / 2) * _line(size), line, size, ha="right")
    board.text(panel.left + panel.width + 0.1, y, brief(mean), TICK)


def _side_lines(side: Measured) -> list[str]:
    """Name of a side in one line or two, cut only where it is longer."""
    text, room = side.name + _cut_off(side), NAMES - 0.25
    found = broken(text, lambda line: text_width(line) <= room)
    return found or [shortened(side.name, room - text_width(_cut_off(side))) + _cut_off(side)]


def _names_width(shown: Shown) -> float:
    return max(text_width(line) for side in shown.sides for line in _side_lines(side)) + 0.25


def _cut_off(side: Measured) -> str:
    return f" ({side.censored} cut off)" if side.censored else ""


def _draw_curves(board: Board, shown: Shown, top: float) -> None:
    """A thin line a seed, a thick one for their mean."""
    panel = Panel(0.8, top, MEASURED - 0.8, CURVE, *curve_scales(shown))
    xs = [x for side in shown.sides for line in side.lines for x in line.x]
    board.y_axis(panel, quantity_ticks(panel.y))
    board.x_axis(panel, place_ticks(xs, panel.x, 72 * panel.width), grid=False)
    board.text(panel.left + panel.width / 2, top + CURVE + 0.38, shown.labels[0], ha="center")
    for _, level, dash in _levels(shown, panel.y):
        board.lines([panel.place([panel.x.low, panel.x.high], [level] * 2)], GREY, 1.3, dash=dash, level=1)
    for side in shown.sides:
        points = [panel.place(line.x, line.y) for line in side.lines]
        board.lines(points, side.style.colour, 0.8, dash=side.style.dash, level=2, alpha=0.6)
        mean = panel.place(*mean_line(side.lines, log=panel.y.log))
        board.lines([mean], side.style.colour, 2.0, dash=side.style.dash, level=3)
        board.dots(mean, side.style.colour, 5.0, level=3.2)
    board.key(_measured_key(shown), 0.15, top + CURVE + 0.38 + 0.25)


def mean_line(lines: Sequence[Line], *, log: bool) -> tuple[list[float], list[float]]:
    """Mean over seeds at each x that any has; of logarithms, taken back, with `log` (zeros are left out)."""
    found: dict[float, list[float]] = {}
    for line in lines:
        for x, y in zip(line.x, line.y, strict=True):
            if not log or y > 0:
                found.setdefault(x, []).append(np.log(y) if log else y)
    places = sorted(found)
    means = [float(np.mean(found[x])) for x in places]
    return places, [float(np.exp(mean)) for mean in means] if log else means


# Names under panels.


def _judged_key(shown: Shown) -> list[list[Entry]]:
    """What the marks in the strip are, in lines."""
    if shown.is_brief:
        return []
    entries: list[Entry] = [Shade(text=f"agrees with the claim: {shown.region.text}", colour=REGION_COLOUR)]
    if not shown.exact:
        entries.append(_no_effect(shown))
    if shown.is_single:
        return key_lines([*entries, *_level_entries(shown, quantity_scale(shown))], WIDTH - 0.4)
    return key_lines(entries, WIDTH - JUDGED - 0.2)


def _no_effect(shown: Shown) -> Entry:
    """Name of the reference of a region; with an arrow and no line where it is beyond an end of the axis."""
    level, scale = shown.region.no_effect, quantity_scale(shown)
    arrow = "↓ " if level < scale.low else "↑ " if level > scale.high else ""
    names = [name for name, known in shown.references if known == level and shown.is_single]
    return Entry(f"{arrow}no effect: {' '.join([*names, brief(level)])}", INK, None if arrow else "-", 1.1)


def _measured_key(shown: Shown) -> list[list[Entry]]:
    """Names of known levels, and of the lines where there are curves."""
    if shown.is_brief or shown.is_single or shown.measured_in:
        return []
    scale = curve_scales(shown)[1] if shown.has_curves else measured_scale(shown)
    sides = [Entry(side.name, side.style.colour, side.style.dash, 2.0) for side in shown.sides if shown.has_curves]
    return key_lines([*sides, *_level_entries(shown, scale)], MEASURED - 0.15)


def _level_entries(shown: Shown, scale: Scale) -> list[Entry]:
    """Known levels with their values; with an arrow and no line where one is beyond an end of the axis."""
    references = _references(shown)
    drawn = {name: dash for name, _, dash in _levels(shown, scale)}
    return [
        Entry(text, dash=drawn.get(name)) for name, text in zip(references, level_names(references, scale), strict=True)
    ]


def _levels(shown: Shown, scale: Scale) -> list[tuple[str, float, Dash]]:
    """Known levels that are on an axis, each with dashes of its own."""
    references = _references(shown)
    dashes = level_dashes(references)
    return [(name, level, dashes[name]) for name, level in references.items() if scale.low <= level <= scale.high]


def _references(shown: Shown) -> dict[str, float]:
    """Known levels, without the one that the strip has as that of no effect."""
    same = shown.region.no_effect if shown.is_single and not shown.exact else None
    return {name: level for name, level in shown.references if level != same}
