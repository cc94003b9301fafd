"""Cost against quality: every variant as a point, and the front of those that no other beats on both."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from reports.figures.keys import Entry, key_height, write_key
from reports.figures.layouts import GAP, LEFT, value_label
from reports.figures.lines import add_grid, set_scales
from reports.figures.scales import Floats, Scale, value_ticks
from reports.figures.theme import GREY, PAPER, TICK, WIDTH, Style, axes_at, plain, size_of, text_width
from reports.frames import records
from reports.metrics import facts
from reports.wording import quantity

COSTS = {"training_flops": "Training FLOPs", "train_seconds": "Seconds of training"}
"""Costs that are drawn, where they differ, with their names."""
LEAST_SPREAD = 0.02
"""Costs closer than this, relative to the largest, are the same."""

HEIGHT = 4.9
"""Inches of the panels with the names of their axes."""

LONGEST = 48
"""Letters of a name beside a point."""

Box = tuple[float, float, float, float]


def cost_points(variants: pd.DataFrame, metric: str, cost: str) -> pd.DataFrame:
    """variant, cost, value of those that have both; `variants` is that of reports.table. Empty where all cost alike."""
    points = variants[["variant", cost, f"{metric}_mean"]].set_axis(["variant", "cost", "value"], axis=1)
    points = points[np.isfinite(points["cost"]) & np.isfinite(points["value"])].reset_index(drop=True)
    spread = points["cost"].max() - points["cost"].min() if len(points) > 1 else 0.0
    return points if spread > LEAST_SPREAD * points["cost"].max() else points.iloc[:0]


def front(points: pd.DataFrame, better: int) -> list[str]:
    """Variants that no other beats: none is as cheap and better, or as good and cheaper. By cost."""
    rows = records(points)
    kept = [r for r in rows if not any(_beats(other, r, better) for other in rows)]
    return [row["variant"] for row in sorted(kept, key=lambda row: (row["cost"], row["value"]))]


def plot_costs(
    points: pd.DataFrame,
    ax: Axes,
    *,
    metric: str,
    styles: Mapping[str, Style],
    values: "pd.Series[float] | None" = None,
) -> list[str]:
    """Points of `points` (cost_points), the front as a line, names where they fit; gives names that had no room.

    `values` are those that the axis of values has to hold, where it is shared.
    """
    at = points.set_index("variant")
    x, y = _scale(at["cost"]), _scale(at["value"] if values is None else values, log=facts(metric).better < 0)
    set_scales(ax, x, y, value_ticks(x), value_ticks(y))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: quantity(value)))
    best = front(points, facts(metric).better)
    steps = at.loc[best]
    ax.plot(steps["cost"], steps["value"], color=GREY, linewidth=1.2, drawstyle="steps-post", zorder=1.5)
    for variant, cost, value in points.itertuples(index=False, name=None):
        style = styles[variant]
        ax.plot(cost, value, style.marker, color=style.colour, mec=PAPER, mew=0.8, markersize=8.5, zorder=3)
    add_grid(ax)
    return _name_points(ax, at, best)


def cost_figure(
    points: Mapping[str, pd.DataFrame], *, metric: str, styles: Mapping[str, Style]
) -> tuple[Figure, list[str]]:
    """A panel for each cost of `points`; gives the names that had no room too, which stand in a key under the axes."""
    figure, unnamed = _panels(points, metric, styles, 0.0)
    if not unnamed:
        return figure, []
    key = [Entry(plain(name, LONGEST), styles[name].colour, marker=styles[name].marker) for name in unnamed]
    room = len(points) * (WIDTH - LEFT) / 2
    figure, _ = _panels(points, metric, styles, key_height(key, room))
    write_key(figure, key, LEFT, HEIGHT, room)
    return figure, unnamed


def _panels(
    points: Mapping[str, pd.DataFrame], metric: str, styles: Mapping[str, Style], below: float
) -> tuple[Figure, list[str]]:
    """As cost_figure, with so many inches below the axes."""
    width = (WIDTH - LEFT) / 2
    figure = Figure(figsize=(LEFT + len(points) * width, HEIGHT + below))
    unnamed: list[str] = []
    shared = pd.concat([rows["value"] for rows in points.values()])
    for i, (cost, rows) in enumerate(points.items()):
        ax = axes_at(figure, LEFT + i * width, 0.3, width - 2 * GAP, 3.95)
        unnamed += plot_costs(rows, ax, metric=metric, styles=styles, values=shared)
        ax.set_xlabel(COSTS[cost])
        if i:
            ax.tick_params(axis="y", labelleft=False)
        else:
            ax.set_ylabel(value_label(metric))
    return figure, list(dict.fromkeys(unnamed))


def _beats(a: Mapping[str, float], b: Mapping[str, float], better: int) -> bool:
    gain, saving = better * (a["value"] - b["value"]), b["cost"] - a["cost"]
    return gain >= 0 and saving >= 0 and (gain > 0 or saving > 0)


def _scale(values: "pd.Series[float]", *, log: bool = True) -> Scale:
    """An axis with room for names; logarithmic where values span more than a factor of 10."""
    low, high = float(values.min()), float(values.max())
    if log and low > 0 and high > 10 * low:
        pad = 0.09 * np.log(high / low)
        return Scale(float(low * np.exp(-pad)), float(high * np.exp(pad)), log=True)
    pad = 0.09 * (high - low) or 0.5
    return Scale(low - pad, high + pad)


def _name_points(ax: Axes, at: pd.DataFrame, best: Sequence[str]) -> list[str]:
    """Write names beside points where they touch neither points, names nor the front; those of the front first."""
    order = [*best, *(variant for variant in at.index if variant not in best)]
    width, height = size_of(ax)
    to_axes = ax.transData + ax.transAxes.inverted()
    ends = at.loc[list(order), ["cost", "value"]].to_numpy(float)
    places = dict(zip(order, to_axes.transform(ends) * (width, height), strict=True))
    taken: list[Box] = [(x - 5, y - 5, x + 5, y + 5) for x, y in places.values()]
    taken += [box for a, b in pairwise(best) for box in _step_boxes(places[a], places[b])]
    left_out = []
    for variant in order:
        x, y = places[variant]
        text = plain(variant, LONGEST)
        long = 72 * text_width(text, TICK)
        box = _free_box(x, y, long, taken, width, height)
        if box is None:
            left_out.append(variant)
            continue
        taken.append(box)
        middle = (box[1] + box[3]) / 2
        ax.annotate(
            text, (box[0] / width, middle / height), xycoords="axes fraction", va="center_baseline", fontsize=TICK
        )
        near = (min(max(x, box[0]), box[2]), middle)
        if np.hypot(near[0] - x, near[1] - y) > 13:
            ends = np.array([(x, y), near]) / (width, height)
            ax.plot(ends[:, 0], ends[:, 1], color=GREY, linewidth=0.6, transform=ax.transAxes, zorder=1.2)
    return left_out


def _free_box(x: float, y: float, long: float, taken: Sequence[Box], width: float, height: float) -> Box | None:
    tall = TICK + 1.5
    for far in (8.0, 16.0, 28.0, 42.0):
        for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1)):
            left = x + dx * far - (long if dx < 0 else long / 2 if dx == 0 else 0)
            low = y + dy * (far + (3 if dx == 0 else 0)) - tall / 2
            box = (left, low, left + long, low + tall)
            if box[0] >= 1 and box[1] >= 1 and box[2] <= width - 1 and box[3] <= height - 1 and not _hits(box, taken):
                return box
    return None


def _step_boxes(a: Floats, b: Floats) -> tuple[Box, Box]:
    """The level and the upright part of the front between two points."""
    (left, high), (right, low) = a.tolist(), b.tolist()
    return (left, high - 1, right, high + 1), (right - 1, min(high, low), right + 1, max(high, low))


def _hits(box: Box, taken: Sequence[Box]) -> bool:
    return any(box[0] < b[2] and b[0] < box[2] and box[1] < b[3] and b[1] < box[3] for b in taken)
