"""Metrics against a setting that is a number: heads, depth, width, where the variants of one experiment vary it."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reports.figures.keys import Entry, key_height, level_entries, write_key
from reports.figures.layouts import GAP, LEFT, panel_title
from reports.figures.lines import add_grid, add_levels, diverged, plot_crosses, set_scales, summarise_lines
from reports.figures.scales import Scale, bounds, is_log, place_scale, place_ticks, value_scale, value_ticks
from reports.figures.theme import GREY, PAPER, WIDTH, Style, axes_at, plain, size_of
from reports.frames import records

FEWEST = 3
"""Values of a setting that make a curve."""


def numeric_settings(
    changes: Mapping[str, Mapping[str, Any]], base: str, base_config: Mapping[str, Any]
) -> dict[str, dict[str, float]]:
    """Settings that variants change alone, to numbers: path to {variant: value}, the base's own value with them.

    Those with at least FEWEST different values. `changes` are of the variants besides the base.
    """
    found: dict[str, dict[str, float]] = {}
    for variant, change in changes.items():
        if variant != base and len(change) == 1:
            ((path, value),) = change.items()
            if _is_number(value):
                found.setdefault(path, {})[variant] = float(value)
    for path, values in found.items():
        if _is_number(base_config.get(path)):
            values[base] = float(base_config[path])
    return {path: values for path, values in found.items() if len(set(values.values())) >= FEWEST}


def plot_setting(
    data: pd.DataFrame,
    ax: Axes,
    *,
    metric: str,
    styles: Mapping[str, Style],
    references: Mapping[str, float],
) -> Scale:
    """Mean and interval of a metric at each value of a setting, joined by a line; ticks at exactly the values.

    `data` has variant, seed, state, value and `at`, the value of the setting. Points have the looks of their variants.
    Gives the scale of the metric.
    """
    log = is_log(data["value"], metric)
    summary = summarise_lines(data, "at", log=log, ends=bounds(metric)).sort_values("at", kind="stable")
    x = place_scale(data["at"].tolist())
    y = value_scale(data["value"], summary, metric=metric, references=references)
    set_scales(ax, x, y, place_ticks(data["at"].tolist(), x, size_of(ax)[0]), value_ticks(y))
    ax.plot(summary["at"], summary["mean"], color=GREY, linewidth=1.4, zorder=2)
    single = data[np.isfinite(data["value"])]
    ax.plot(single["at"], single["value"], "o", color=GREY, markersize=3, alpha=0.6, mew=0, zorder=2.5)
    for row in records(summary):
        style = styles[row["variant"]]
        ax.plot([row["at"]] * 2, [row["low"], row["high"]], color=style.colour, linewidth=2.2, zorder=3)
        ax.plot(row["at"], row["mean"], style.marker, color=style.colour, ms=8, mec=PAPER, mew=0.8, zorder=4)
    plot_crosses(diverged(data), ax, x="at")
    add_levels(ax, references, y)
    add_grid(ax)
    return y


def settings_figure(
    data: Mapping[str, pd.DataFrame],
    *,
    path: str,
    base: tuple[str, float] | None,
    styles: Mapping[str, Style],
    references: Mapping[str, Mapping[str, float]],
) -> Figure:
    """A curve for each metric of `data` side by side (plot_setting); `base` and its value get a mark."""
    width = min(5.2, (WIDTH - 0.2) / len(data))
    room = width - GAP
    below = max(_key_height(references.get(metric, {}), base, room) for metric in data)
    figure = Figure(figsize=(width * len(data), 3.95 + below))
    for i, (metric, rows) in enumerate(data.items()):
        left = i * width + LEFT - 0.2
        ax = axes_at(figure, left, 0.65, width - LEFT, 2.65)
        levels = references.get(metric, {})
        y = plot_setting(rows, ax, metric=metric, styles=styles, references=levels)
        panel_title(ax, metric, None)
        ax.set_xlabel(path)
        mark = None if base is None else (base[1], plain(base[0]))
        add_levels(ax, {}, y, mark)
        write_key(figure, level_entries(levels, y, mark), left, 3.95, room)
    return figure


def _key_height(levels: Mapping[str, float], base: tuple[str, float] | None, room: float) -> float:
    """Inches of a key in which every level has its line and an arrow."""
    entries = [Entry(f"↓ {name} {level:.3g}", dash="-") for name, level in levels.items()]
    return key_height(entries if base is None else [*entries, Entry(plain(base[0]), dash="-")], room)


def settings_rows(values: pd.DataFrame, metric: str, at: Mapping[str, float]) -> pd.DataFrame:
    """Values of a metric over all of the test set for the variants of `at`, with the setting of each as `at`."""
    rows = values[(values["metric"] == metric) & (values["coordinate"] == "") & values["variant"].isin(list(at))]
    return rows[rows["value"].notna()].assign(at=lambda frame: frame["variant"].map(at).astype(float))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
