"""The forest of effects: what each variant changes on one metric."""

from collections.abc import Collection, Mapping, Sequence
from math import ceil, log10, sqrt
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from reports.figures.scales import STEPS, bounds, thin_ticks
from reports.figures.theme import (
    DIVERGED,
    GREY,
    HAIRLINE,
    INK,
    NOTE,
    PAPER,
    TEXT,
    TICK,
    WORSE,
    Style,
    row_label,
    size_of,
    text_width,
)
from reports.frames import records
from reports.metrics import facts, number
from reports.wording import change

Row = tuple[int, Mapping[str, Any], str]
"""Place of a row, effect, colour."""


def plot_effects(
    effects: pd.DataFrame,
    differences: pd.DataFrame,
    ax: Axes,
    *,
    metric: str,
    order: Sequence[str],
    styles: Mapping[str, Style],
    hollow: Collection[str] = (),
) -> Axes:
    """Effect of each variant on one metric, a row each in `order`: mean, interval, every seed, zero line, numbers.

    `effects` has variant, difference, low, high and, where test items are resampled, seed_variance and item_variance:
    then the part of the interval that the seeds account for is thick. `differences` has variant, seed, state,
    difference. A row without an effect stays, and says so. Means of `hollow` variants are drawn as rings. Where
    colours come twice (has_twins), means have the markers of their variants.
    """
    difference_scale(ax, effects, differences, metric)
    ax.hlines(np.arange(len(order) - 1) + 0.5, 0, 1, HAIRLINE, linewidth=0.6, zorder=0.5, transform=across(ax))
    of_variant = {row["variant"]: row for row in records(effects)}
    rows = [(y, of_variant[v], styles[v].colour) for y, v in enumerate(order) if v in of_variant]
    markers = [styles[v].marker if has_twins(order, styles) else "o" for v in order]
    _plot_intervals(ax, rows)
    _plot_means(ax, rows, [(markers[y], order[y] in hollow) for y, _, _ in rows])
    _plot_seeds(ax, differences, order, styles)
    _write_numbers(ax, rows, metric)
    for y in (y for y, variant in enumerate(order) if variant not in of_variant):
        ax.annotate("no result", (0.03, y), xycoords=across(ax), va="center", color=GREY, fontsize=NOTE)
    ax.axvline(0, color=INK, linewidth=1.1, zorder=1.5)
    ax.set_ylim(len(order) - 0.5, -0.5)
    name_rows(ax, order)
    mark_directions(ax, facts(metric).better)
    return ax


def name_rows(ax: Axes, order: Sequence[str]) -> None:
    """Names left of the rows; those that need two lines are a little smaller."""
    ax.set_yticks(range(len(order)), [row_label(name) for name in order])
    ax.tick_params(axis="y", length=0, labelsize=TEXT)
    ax.spines["left"].set_visible(False)
    for label in ax.get_yticklabels():
        if "\n" in label.get_text():
            label.set(fontsize=TICK, linespacing=1.0)


def row_height(name: str, note: str = "") -> float:
    """Inches that the name of a row takes with the note under it."""
    lines = row_label(name).count("\n") + 1
    return (lines * 1.25 * (TEXT if lines == 1 else TICK) + 1.25 * NOTE * bool(note)) / 72


def effect_text(effect: Mapping[str, Any], metric: str) -> str:
    """An effect in figures: `+2.977 ±0.643`."""
    half = (effect["high"] - effect["low"]) / 2
    text = change(effect["difference"], effect["low"], effect["high"], metric)
    return text if np.isnan(half) else f"{text} ±{number(half, metric, half)}"


def seeds_part(effect: Mapping[str, Any]) -> tuple[float, float] | None:
    """The interval that the seeds alone would give; None where there is none, or it is all of the interval."""
    seeds, items = effect.get("seed_variance"), effect.get("item_variance")
    if np.isnan(effect["low"]) or not items or not seeds or np.isnan(items) or np.isnan(seeds):
        return None
    half = (effect["high"] - effect["difference"]) * sqrt(seeds / (seeds + items))
    return effect["difference"] - half, effect["difference"] + half


def _plot_intervals(ax: Axes, rows: Sequence[Row]) -> None:
    """The whole interval; where test items have a part in it thin, and thick what the seeds account for."""
    thick: list[tuple[Any, str]] = []
    thin: list[tuple[Any, str]] = []
    for y, effect, colour in rows:
        if np.isnan(effect["low"]):
            continue
        part = seeds_part(effect)
        has_items = (effect.get("item_variance") or 0) > 0
        (thin if has_items else thick).append(([(effect["low"], y), (effect["high"], y)], colour))
        if part:
            thick.append(([(part[0], y), (part[1], y)], colour))
        mark_cut(ax, y, effect["low"], effect["high"], colour)
    for lines, width in ((thin, 1.2), (thick, 3.4)):
        segments, colours = [line for line, _ in lines], [colour for _, colour in lines]
        ax.add_collection(LineCollection(segments, colors=colours, linewidths=width, zorder=3), autolim=False)


def has_twins(order: Sequence[str], styles: Mapping[str, Style]) -> bool:
    """Whether two of these variants have one colour, other than that of contrasts and of the base."""
    colours = [styles[variant].colour for variant in order if styles[variant].colour != INK]
    return len(set(colours)) < len(colours)


def _plot_means(ax: Axes, rows: Sequence[Row], looks: Sequence[tuple[str, bool]]) -> None:
    """Means as markers; `looks` are the marker of each row and whether it is a ring."""
    for marker, ring in sorted(set(looks)):
        chosen = [row for row, look in zip(rows, looks, strict=True) if look == (marker, ring)]
        colours = [colour for _, _, colour in chosen]
        places = [effect["difference"] for _, effect, _ in chosen], [y for y, _, _ in chosen]
        face, edge, width = ([PAPER] * len(chosen), colours, 1.7) if ring else (colours, PAPER, 0.8)
        ax.scatter(
            *places, s=40 if marker == "o" else 62, c=face, edgecolors=edge, linewidths=width, marker=marker, zorder=4
        )


def _plot_seeds(ax: Axes, differences: pd.DataFrame, order: Sequence[str], styles: Mapping[str, Style]) -> None:
    rows = differences[differences["variant"].isin(order)]
    at = rows["variant"].map({variant: y + 0.3 for y, variant in enumerate(order)})
    colours = rows["variant"].map({variant: styles[variant].colour for variant in order})
    crossed = rows["state"] == "diverged"
    dots = ~crossed
    ax.scatter(rows["difference"][dots], at[dots], s=12, c=colours[dots].tolist(), alpha=0.8, linewidths=0, zorder=3)
    if crossed.any():
        ax.scatter(rows["difference"][crossed], at[crossed], s=32, c=DIVERGED, marker="x", linewidths=1.6, zorder=3)


def _write_numbers(ax: Axes, rows: Sequence[Row], metric: str) -> None:
    """The effects in figures right of the axes, grey where zero is within the interval or there is none."""
    for y, effect, _ in rows:
        decided = bool(effect["low"] > 0 or effect["high"] < 0)
        ax.annotate(
            effect_text(effect, metric), (1, y), xytext=(8, 0), xycoords=across(ax), textcoords="offset points",
            va="center", fontsize=TICK, annotation_clip=False, color=INK if decided else GREY,
        )  # fmt: skip


def mark_cut(ax: Axes, y: float, low: float, high: float, colour: str) -> None:
    """Arrow heads where an interval runs out of the axes."""
    left, right = ax.get_xlim()
    for cut, place, marker in ((low < left, 0.014, "<"), (high > right, 0.986, ">")):
        if cut:
            ax.plot(place, y, marker, color=colour, markersize=7, transform=across(ax), zorder=3)


def difference_scale(ax: Axes, effects: pd.DataFrame, differences: pd.DataFrame, metric: str) -> None:
    """Limits and scale of an axis of differences; the seeds decide, so that one wide interval cannot hide the rest.

    Where an effect that is certain is less than a twentieth of the largest, the axis is linear around zero and
    logarithmic beyond, and says so. Shares and points stay linear: they end at 1 and at 100.
    """
    seeds = np.append(differences["difference"].to_numpy(float), 0.0)
    low, high = seeds.min(), seeds.max()
    span = (high - low) or (0.1 if facts(metric).share else 1.0)
    ends = effects[["low", "high"]].to_numpy(float)
    ends = ends[~np.isnan(ends)]
    low = max(low - 0.6 * span, min([low, *ends]))
    high = min(high + 0.6 * span, max([high, *ends]))
    largest = np.subtract(*bounds(metric)[::-1])  # that a difference can be
    low, high = max(low, -largest), min(high, largest)
    sizes = effects["difference"].abs()
    certain = sizes[(effects["low"] > 0) | (effects["high"] < 0)]
    if np.isinf(bounds(metric)[1]) and (certain < sizes.max() / 20).any():
        _compress(ax, low, high)
    else:
        _linear(ax, low - 0.06 * span, high + 0.06 * span)


def _linear(ax: Axes, left: float, right: float) -> None:
    """A linear axis with as many even ticks as have room."""
    ax.set_xlim(left, right)
    for most in (5, 4, 3, 2):
        ticks = np.array(MaxNLocator(most, steps=STEPS).tick_values(left, right), dtype=np.float64)
        ticks = ticks[(ticks >= left) & (ticks <= right)]
        _set_ticks(ax, ticks, (ticks - left) / (right - left))
        if len(ax.get_xticks()) == len(ticks):
            break


def _compress(ax: Axes, low: float, high: float) -> None:
    """An inverse hyperbolic sine axis over two decades, with a tick at each that has room and small ones between."""
    linear = 10.0 ** (ceil(log10(max(-low, high))) - 2)
    ax.set_xscale("asinh", linear_width=linear)
    ends = np.arcsinh(np.array([low, high]) / linear)
    pad = 0.06 * np.ptp(ends)
    left, right = ends[0] - pad, ends[1] + pad
    ax.set_xlim(*(linear * np.sinh([left, right])))
    decades = [linear * 10**k for k in range(3)]
    ticks = np.array([*(-d for d in decades), 0.0, *decades])
    _set_ticks(ax, ticks, (np.arcsinh(ticks / linear) - left) / (right - left))
    ax.xaxis.set_minor_locator(NullLocator())
    steps = np.outer(decades, range(2, 10)).ravel()
    steps = np.concatenate([-steps, steps])
    small = [[(step, 0), (step, -2.5 / size_of(ax)[1])] for step in steps[(steps > low) & (steps < high)]]
    place = ax.get_xaxis_transform()
    ax.add_collection(LineCollection(small, colors=GREY, linewidths=0.5, transform=place, clip_on=False), autolim=False)
    ax.grid(axis="x", color=HAIRLINE, linewidth=0.6)
    ax.set_axisbelow(True)
    _write_below(ax, f"linear within ±{linear:g}, logarithmic beyond", 0.5, "center", 37)


def _set_ticks(ax: Axes, ticks: Any, places: Any) -> None:
    """Ticks within the axes whose labels do not touch: zero first, then the outermost; places are shares of it."""
    inside = [(t, p) for t, p in zip(ticks, places, strict=True) if 0 <= p <= 1]
    inside.sort(key=lambda pair: (pair[0] != 0, -abs(pair[0]), pair[0]))
    widths = [72 * text_width(_signed_tick(tick), TICK) for tick, _ in inside]
    kept = thin_ticks([t for t, _ in inside], [p * size_of(ax)[0] for _, p in inside], widths)
    ax.xaxis.set_major_locator(FixedLocator(kept))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _signed_tick(value)))


def _signed_tick(value: float) -> str:
    return f"{value:+.4g}".replace("-", "−") if abs(value) > 1e-12 else "0"


def mark_directions(ax: Axes, better: int) -> None:
    """Shade the worse side and name both."""
    if not better:
        return
    left, right = ax.get_xlim()
    ax.axvspan(*((0, right) if better < 0 else (left, 0)), color=WORSE, zorder=0, linewidth=0)
    ax.set_xlim(left, right)
    names = ("← better", "worse →") if better < 0 else ("← worse", "better →")
    for name, at, side in zip(names, (0, 1), ("left", "right"), strict=True):
        _write_below(ax, name, at, side, 23)


def _write_below(ax: Axes, text: str, at: float, side: str, points: float) -> None:
    ax.annotate(
        text, (at, 0), xytext=(0, -points), xycoords="axes fraction", textcoords="offset points", ha=side, va="top",
        fontsize=NOTE, color=GREY,
    )  # fmt: skip


def across(ax: Axes) -> Any:
    """Coordinates with x as a share of the axes, y a row."""
    return ax.get_yaxis_transform()
