"""Lines over distances, lengths, layers, steps and settings: means over seeds with their bands."""

from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from scipy import stats

from reports.figures.keys import DOTTED, level_dashes
from reports.figures.scales import Ends, Floats, Scale, tick_label
from reports.figures.theme import DIVERGED, GREY, HAIRLINE, Style
from reports.statistics import LEVEL, ROUNDING

MOST_MARKERS = 20
"""On one line: where there are more points, markers stand at some of them."""


def summarise_lines(data: pd.DataFrame, x: str, *, log: bool, ends: Ends = (-np.inf, np.inf)) -> pd.DataFrame:
    """Mean over seeds and 95 % t band at each `x` of each variant; columns variant, `x`, mean, low, high, n.

    `data` has variant, value and the column `x`, one row a seed. The same as statistics.t_interval for each, all at
    once. Bands begin at three seeds (NaN below): the t band of two would cover everything else. Where all seeds agree
    the band has no width. With `log`, mean and band are those of the logarithms. Bands stay within `ends`, the lowest
    and highest value that there can be (scales.bounds).
    """
    finite = data[np.isfinite(data["value"])]
    values = finite.assign(value=np.log(finite["value"])) if log else finite
    found = (
        values.groupby(["variant", x], sort=True, observed=True)["value"].agg(["mean", "std", "count"]).reset_index()
    )
    n = found.pop("count").to_numpy()
    half = stats.t.ppf((1 + LEVEL) / 2, np.maximum(n, 3) - 1) * found.pop("std").to_numpy() / np.sqrt(n)
    half = np.where(half <= ROUNDING * found["mean"].abs(), 0.0, half)
    half = np.where(n > 2, half, np.nan)
    found = found.assign(low=found["mean"] - half, high=found["mean"] + half, n=n)
    if log:
        found[["mean", "low", "high"]] = np.exp(found[["mean", "low", "high"]])
    found[["low", "high"]] = found[["low", "high"]].clip(*ends)
    return found


def with_gaps(summary: pd.DataFrame, x: str) -> pd.DataFrame:
    """A summary (summarise_lines) with NaN where a variant lacks a place between two of its own: its line breaks there.

    The places are those that any variant has.
    """
    places = np.sort(summary[x].unique())
    rank = pd.Series(places.searchsorted(summary[x]), index=summary.index)
    reach = rank.groupby(summary["variant"]).agg(["min", "max", "count"])
    if (reach["max"] - reach["min"] < reach["count"]).all():
        return summary
    of_variant = (
        rows.set_index(x).reindex(places[(places >= rows[x].min()) & (places <= rows[x].max())]).assign(variant=variant)
        for variant, rows in summary.groupby("variant")
    )
    return pd.concat(list(of_variant)).reset_index()


def plot_lines(
    summary: pd.DataFrame, ax: Axes, *, x: str, order: Sequence[str], styles: Mapping[str, Style], markers: bool = True
) -> Axes:
    """One line for each variant of `order` that has values, with its band; `summary` is that of summarise_lines.

    Lines and bands break at NaN.
    """
    for level, variant in enumerate(reversed(order)):  # the base last: its thin line does not hide another
        rows, style = summary[summary["variant"] == variant], styles[variant]
        at, mean, low, high = (rows[name].to_numpy(float) for name in (x, "mean", "low", "high"))
        _plot_band(ax, at, low, high, style.colour, 2 + level)
        ax.plot(
            at, mean, color=style.colour, linestyle=style.dash, linewidth=style.width, zorder=2 + level,
            marker=style.marker if markers or len(at) == 1 else "None", markeredgewidth=0,
            markevery=ceil(len(at) / MOST_MARKERS) or 1,
        )  # fmt: skip
    return ax


def _plot_band(ax: Axes, at: Floats, low: Floats, high: Floats, colour: str, level: float) -> None:
    """Bands where there are neighbours; a point that stands alone gets an error bar, since a band would vanish."""
    for part in runs(low):
        if part.stop - part.start == 1:
            ax.vlines(at[part], low[part], high[part], color=colour, linewidth=1.4, zorder=level)
        else:
            ax.fill_between(at[part], low[part], high[part], color=colour, alpha=0.18, linewidth=0, zorder=level)


def runs(values: Floats) -> list[slice]:
    """Parts of values without NaN between them."""
    known = np.concatenate([[False], ~np.isnan(values), [False]])
    edges = np.flatnonzero(known[1:] != known[:-1])
    return [slice(start, end) for start, end in edges.reshape(-1, 2).tolist()]


def plot_single_seeds(
    data: pd.DataFrame, ax: Axes, *, x: str, order: Sequence[str], styles: Mapping[str, Style]
) -> Axes:
    """Thin lines for the seeds of variants that have two: too few for a band."""
    for variant, at, values in single_seeds(data, x):
        if variant in order:
            ax.plot(at, values, color=styles[variant].colour, linewidth=0.8, alpha=0.6, zorder=2)
    return ax


def single_seeds(data: pd.DataFrame, x: str) -> Iterator[tuple[str, Any, Any]]:
    """Variant, places and values of each seed of the variants that have two."""
    rows = data[np.isfinite(data["value"])].sort_values(x, kind="stable")
    seeds = rows.groupby("variant")["seed"].nunique()
    rows = rows[rows["variant"].isin(seeds.index[seeds == 2])]
    for key, of_seed in rows.groupby(["variant", "seed"], sort=False):
        yield str(key[0]), of_seed[x].to_numpy(float), of_seed["value"].to_numpy(float)


def ends(data: pd.DataFrame, x: str) -> pd.DataFrame:
    """Last finite value of each diverged run; `data` has variant, seed, state, value and the column `x`."""
    ended = diverged(data).sort_values(x, kind="stable")
    return ended.groupby(["variant", "seed"], sort=False).tail(1)


def diverged(data: pd.DataFrame) -> pd.DataFrame:
    """Finite values of diverged runs."""
    return data[(data["state"] == "diverged") & np.isfinite(data["value"])]


def plot_crosses(rows: pd.DataFrame, ax: Axes, *, x: str) -> Axes:
    """A cross at each row: a diverged run."""
    if len(rows):
        cross: dict[str, Any] = {"color": DIVERGED, "markersize": 7, "markeredgewidth": 2, "linestyle": "none"}
        ax.plot(rows[x], rows["value"], "x", zorder=50, **cross)
    return ax


def set_scales(ax: Axes, x: Scale, y: Scale, x_ticks: Sequence[float], y_ticks: Sequence[float]) -> None:
    """Limits, scales and ticks of axes."""
    for axis, scale, ticks in ((ax.xaxis, x, x_ticks), (ax.yaxis, y, y_ticks)):
        (ax.set_xscale if axis is ax.xaxis else ax.set_yscale)(scale.name)
        axis.set_major_locator(FixedLocator(list(ticks)))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(tick_label))
    ax.set_xlim(x.low, x.high)
    ax.set_ylim(y.low, y.high)


def add_levels(ax: Axes, references: Mapping[str, float], scale: Scale, mark: tuple[float, str] | None = None) -> None:
    """Lines at known levels, such as chance or a floor, and at a place on the x axis; keys.write_key has their names.

    `scale` is that of the y axis.
    """
    dashes = level_dashes(references)
    for name, level in references.items():
        if scale.low <= level <= scale.high:
            ax.axhline(level, color=GREY, linewidth=1.0, linestyle=dashes[name], zorder=1)
    if mark is not None:
        ax.axvline(mark[0], color=GREY, linewidth=1.0, linestyle=DOTTED, zorder=1)


def add_grid(ax: Axes) -> Axes:
    """Hairlines at the values of the y axis."""
    ax.grid(axis="y", color=HAIRLINE, linewidth=0.6)
    ax.set_axisbelow(True)
    return ax
