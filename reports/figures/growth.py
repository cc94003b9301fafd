"""How time and memory grow with length: log-log, a power law for each variant."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reports.figures.layouts import LEFT
from reports.figures.lines import add_grid, plot_lines, set_scales, summarise_lines
from reports.figures.scales import Scale, place_scale, place_ticks, value_ticks
from reports.figures.theme import (
    INK,
    TICK,
    Style,
    axes_at,
    plain,
    size_of,
    text_width,
)
from reports.metrics import decimals_for
from reports.statistics import LEVEL
from reports.trends import Slope, exponent_over_seeds

GROWTH = {
    "seconds": "Seconds",
    "forward_seconds": "Seconds, forward pass",
    "step_seconds": "Seconds, training step",
    "stepwise_seconds": "Seconds, training step token by token",
    "memory_mib": "Memory (MiB)",
    "operations": "Operations one after another",
    "core_flops": "FLOPs of the attention core",
    "core_bytes": "Bytes kept by the plain attention core",
    "fused_bytes": "Bytes kept by the attention core as it runs",
}
"""Metrics that are measured against length, with the names of their axes."""
FEWEST = 3
"""Lengths that a line is fitted to."""


@dataclass(frozen=True, kw_only=True)
class Fit:
    """A power law y = factor * length^exponent of one variant, and the lengths that it was fitted to."""

    exponent: Slope
    factor: float
    low: float
    high: float


def fits(data: pd.DataFrame, order: Sequence[str], *, level: float = LEVEL) -> dict[str, Fit]:
    """A power law for each variant with at least FEWEST lengths that all of its seeds have a positive value at.

    `data` has variant, seed, `at` (the length) and value. The line goes through the geometric mean of the points, as
    that of least squares does. `level` is that of the exponents' intervals.
    """
    found = {}
    for variant in order:
        table = data[(data["variant"] == variant) & (data["value"] > 0)].pivot(
            index="seed", columns="at", values="value"
        )
        table = table.dropna(axis="columns")
        if table.shape[1] >= FEWEST:
            x, y = table.columns.to_numpy(float), table.to_numpy(float)
            exponent = exponent_over_seeds(x, y, level=level)
            factor = float(np.exp(np.log(y).mean() - exponent.slope * np.log(x).mean()))
            found[variant] = Fit(exponent=exponent, factor=factor, low=float(x.min()), high=float(x.max()))
    return found


def fit_label(variant: str, fit: Fit | None) -> str:
    """A variant with its exponent: `linear: length^1.02 (0.98 to 1.06)`."""
    if fit is None:
        return plain(variant)
    e = fit.exponent
    ends = [] if e.low is None or e.high is None else [e.low, e.high]
    decimals = decimals_for(2, (ends[1] - ends[0]) / 2 if ends else 0.0)
    slope, *shown = (f"{round(value, decimals) + 0.0:.{decimals}f}".replace("-", "−") for value in (e.slope, *ends))
    return f"{plain(variant)}: length^{slope}" + (f" ({' to '.join(shown)})" if shown else "")


def plot_growth(
    data: pd.DataFrame, ax: Axes, *, order: Sequence[str], styles: Mapping[str, Style], fitted: Mapping[str, Fit]
) -> Axes:
    """Means over seeds with bands as points, fitted power laws as lines; `data` and `fitted` as for `fits`."""
    positive = data[data["value"] > 0]
    summary = summarise_lines(positive, "at", log=True)
    y = Scale(float(positive["value"].min()) / 1.3, float(positive["value"].max()) * 1.3, log=True)
    x = place_scale(positive["at"].tolist())
    x = x if x.log else Scale(float(positive["at"].min()) / 1.05, float(positive["at"].max()) * 1.05, log=True)
    set_scales(ax, x, y, place_ticks(positive["at"].tolist(), x, size_of(ax)[0]), value_ticks(y))
    dots = {variant: Style(s.colour, (0, (0.1, 9)), s.marker, 0.0) for variant, s in styles.items()}
    plot_lines(summary, ax, x="at", order=order, styles=dots)
    for variant, fit in fitted.items():
        style, ends = styles[variant], np.array([fit.low, fit.high])
        heights = fit.factor * ends**fit.exponent.slope
        ax.plot(ends, heights, color=style.colour, linestyle=style.dash, linewidth=1.4, zorder=1.9)
    return add_grid(ax)


def growth_figure(
    data: pd.DataFrame,
    *,
    metric: str,
    order: Sequence[str],
    styles: Mapping[str, Style],
    x_label: str,
    level: float = LEVEL,
) -> Figure:
    """One metric against length, with a list of the variants and their exponents beside it."""
    present = [variant for variant in order if ((data["variant"] == variant) & (data["value"] > 0)).any()]
    fitted = fits(data, present, level=level)
    labels = [fit_label(variant, fitted.get(variant)) for variant in present]
    right = max(text_width(label, TICK) for label in labels) + 0.75
    height = max(3.5, 0.25 * len(present) + 0.1)
    figure = Figure(figsize=(LEFT + 6.2 + right, height + 0.75))
    ax = axes_at(figure, LEFT, 0.15, 6.2, height)
    plot_growth(data, ax, order=present, styles=styles, fitted=fitted)
    ax.set_xlabel(x_label)
    ax.set_ylabel(GROWTH.get(metric, metric))
    _list(ax, present, labels, styles)
    return figure


def _list(ax: Axes, present: Sequence[str], labels: Sequence[str], styles: Mapping[str, Style]) -> None:
    """Names with marker and line, right of the axes from the top."""
    width, height = size_of(ax)
    for i, (variant, label) in enumerate(zip(present, labels, strict=True)):
        style, y = styles[variant], 1 - (9 + 18 * i) / height
        xs = [1 + 10 / width, 1 + 24 / width, 1 + 38 / width]
        ax.plot(
            xs, [y] * 3, color=style.colour, linestyle=style.dash, linewidth=1.4, marker=style.marker, markevery=[1],
            mew=0, transform=ax.transAxes, clip_on=False,
        )  # fmt: skip
        ax.annotate(
            label, (1 + 44 / width, y), xycoords="axes fraction", va="center", fontsize=TICK, color=INK,
            annotation_clip=False,
        )  # fmt: skip
