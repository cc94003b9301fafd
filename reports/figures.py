"""Figures: functions of tidy data and axes.

A variant looks the same in every figure; the base is black and comes first. Intervals and bands are those of
reports.statistics, never a bootstrap, so that the same rows always give the same picture.
"""

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil, log10
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.textpath import text_to_path
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullLocator

from reports.metrics import facts, number, signed
from reports.statistics import t_interval
from reports.table import records

INK, GREY, HAIRLINE, WORSE, DIVERGED = "#1a1a1a", "#6b6b6b", "#e4e4e4", "#faf1ea", "#b00020"
TEXT, NOTE = 11.5, 9.5
"""Sizes in points: a figure fills a slide of 13 inches, and a page of 1,200 pixels, as it is."""
COLOURS = [sns.color_palette("colorblind").as_hex()[i] for i in (0, 1, 2, 3, 4, 5, 9)]
Dash = Literal["-"] | tuple[float, Sequence[float]]
DASHES: tuple[Dash, ...] = ("-", (0, (5, 1.6)), (0, (1.4, 1.4)), (0, (6, 1.5, 1.4, 1.5)))
MARKERS = "osD^vPXp*"

RC: Any = {  # matplotlib-stubs list every key as a Literal
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": TEXT,
    "axes.titlesize": 12.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": TEXT,
    "axes.edgecolor": "#9a9a9a",
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.labelcolor": INK,
    "text.color": INK,
    "text.parse_math": False,  # a name may hold dollar signs
    "xtick.color": "#9a9a9a",
    "xtick.labelcolor": INK,
    "xtick.labelsize": 10.5,
    "ytick.color": "#9a9a9a",
    "ytick.labelcolor": INK,
    "ytick.labelsize": 10.5,
    "lines.linewidth": 2.0,
    "lines.markersize": 5,
    "legend.frameon": False,
    "legend.fontsize": TEXT,
    "savefig.dpi": 200,
    "svg.fonttype": "none",  # text stays text: it can be searched, read aloud, and takes the fonts of the page
    "svg.hashsalt": "ablations",
}

LABEL_LENGTH = 30


@dataclass(frozen=True)
class Style:
    """How a variant is drawn."""

    colour: str
    dash: Dash
    marker: str
    width: float = 2.0


@contextmanager
def theme() -> Iterator[None]:
    """Settings under which figures are made and saved; the caller's own come back afterwards."""
    with mpl.rc_context(RC), warnings.catch_warnings():
        # a name in a script that the font lacks: boxes in the PNG, but right in the SVG and on the page
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


def styles(variants: Sequence[str], base: str) -> dict[str, Style]:
    """Black for the base; for each other its place in `variants` decides: 28 pairs of colour and dash, 252 with marker.

    Give the variants of the whole study, so that one looks the same in all its experiments.
    """
    chosen = {}
    for i, variant in enumerate(variants):
        dash = DASHES[i // len(COLOURS) % len(DASHES)]
        chosen[variant] = Style(COLOURS[i % len(COLOURS)], dash, MARKERS[i % len(MARKERS)])
    return {**chosen, base: Style(INK, "-", "o", 1.4)}


def plot_effects(
    effects: pd.DataFrame,
    differences: pd.DataFrame,
    ax: Axes,
    *,
    metric: str,
    order: Sequence[str],
    styles: Mapping[str, Style],
) -> Axes:
    """Effect of each variant on one metric, a row each in `order`: mean, interval, every seed, zero line, numbers.

    `effects` has variant, difference, low, high; `differences` has variant, seed, state, difference. A row without an
    effect stays, and says so.
    """
    of_variant = {row["variant"]: row for row in records(effects)}
    _difference_scale(ax, effects, differences, metric)
    for y, variant in enumerate(order):
        ax.axhline(y + 0.5, color=HAIRLINE, linewidth=0.6, zorder=0.5)
        if variant in of_variant:
            _plot_effect(ax, y, of_variant[variant], styles[variant].colour, metric)
            _plot_seeds(ax, y, differences[differences["variant"] == variant], styles[variant].colour)
        else:
            ax.annotate(
                "no result", (0.03, y), xycoords=ax.get_yaxis_transform(), va="center", color=GREY, fontsize=NOTE
            )
    ax.axvline(0, color=INK, linewidth=1.1, zorder=1.5)
    ax.set_ylim(len(order) - 0.5, -0.5)
    ax.set_yticks(range(len(order)), [plain(variant) for variant in order])
    ax.tick_params(axis="y", length=0, labelsize=TEXT)
    ax.spines["left"].set_visible(False)
    _mark_directions(ax, facts(metric).better)
    return ax


def plot_lines(
    data: pd.DataFrame, ax: Axes, *, x: str, order: Sequence[str], styles: Mapping[str, Style], share: bool
) -> Axes:
    """Mean over seeds with its 95 % t band, one line for each variant of `order` that has values.

    `data` has variant, seed, value and the column `x`. Bands begin at three seeds: the t band of two would cover
    everything else, so they are drawn as thin lines. Where all seeds agree the band is as thin as the line. A variant
    with a single point gets an error bar. Bands of a `share` stay within 0 and 1. On axes that are logarithmic already,
    mean and band are those of the logarithms (seaborn sees to that).
    """
    for level, variant in enumerate(reversed(order)):  # the base last: its thin line does not hide another
        rows, style = data[(data["variant"] == variant) & np.isfinite(data["value"])], styles[variant]
        single, seeds = rows[x].nunique() == 1, rows["seed"].nunique()
        sns.lineplot(
            data=rows,
            x=x,
            y="value",
            ax=ax,
            color=style.colour,
            linestyle=style.dash,
            linewidth=style.width,
            marker=style.marker,
            markeredgewidth=0,
            errorbar=_share_band if share else _band,
            err_style="bars" if single else "band",
            err_kws={"capsize": 3} if single else {"alpha": 0.18, "linewidth": 0},
            zorder=2 + level,
            legend=False,
        )
        for _, of_seed in rows.sort_values(x).groupby("seed") if seeds == 2 else ():
            ax.plot(of_seed[x], of_seed["value"], color=style.colour, linewidth=0.8, alpha=0.6, zorder=2 + level)
    ax.set(xlabel="", ylabel="")
    ax.grid(axis="y", color=HAIRLINE, linewidth=0.6)
    return ax


def plot_ends(data: pd.DataFrame, ax: Axes, *, x: str) -> Axes:
    """Mark where diverged runs end; `data` as for plot_lines, with the state of each run."""
    ended = data[(data["state"] == "diverged") & np.isfinite(data["value"])].sort_values(x, kind="stable")
    last = ended.groupby(["variant", "seed"], sort=False).tail(1)
    ax.plot(last[x], last["value"], "x", color=DIVERGED, markersize=7, markeredgewidth=2, zorder=50, linestyle="none")
    return ax


def add_legend(ax: Axes, order: Sequence[str], styles: Mapping[str, Style]) -> Axes:
    """A legend right of the axes with exactly the variants of `order`, as they are drawn."""
    handles = [
        Line2D([], [], color=s.colour, linestyle=s.dash, linewidth=s.width, marker=s.marker, markeredgewidth=0)
        for s in (styles[variant] for variant in order)
    ]
    labels = [plain(variant) for variant in order]
    ax.legend(handles, labels, loc="upper left", bbox_to_anchor=(1.01, 1.02), handlelength=3.2, borderaxespad=0)
    return ax


def add_references(ax: Axes, chance: float | None, mark: tuple[float, str] | None, *, named: bool) -> None:
    """A dashed line at chance, a dotted one at a place on the x axis; with their names where they are to be `named`."""
    note: dict[str, Any] = {"textcoords": "offset points", "fontsize": NOTE, "color": GREY}
    if chance is not None:
        ax.axhline(chance, color=GREY, linewidth=1.0, linestyle=(0, (3, 3)), zorder=1)
        if named:
            ax.annotate("chance", (0.01, chance), xycoords=ax.get_yaxis_transform(), xytext=(0, 3), **note)
    if mark is not None:
        ax.axvline(mark[0], color=GREY, linewidth=1.0, linestyle=(0, (1, 2)), zorder=1)
        if named:
            ax.annotate(mark[1], (mark[0], 0.02), xycoords=ax.get_xaxis_transform(), xytext=(4, 0), **note)


def scale_values(ax: Axes, values: "pd.Series[float]", *, metric: str, chance: float | None) -> None:
    """Limits of an axis of values; logarithmic where they span more than a factor of 30.

    Shares keep to 0 and 1, whatever their bands do. A metric that is better the higher it is stays linear: a logarithm
    would stretch the end that does not matter. Call before plot_lines.
    """
    known = values[np.isfinite(values)].to_list()
    low, high = min(known), max(known)
    if facts(metric).share:
        bottom = low if chance is None else min(low, chance)
        ax.set_ylim(max(-0.03, bottom - 0.08), 1.04)
    elif facts(metric).better < 1 and low > 0 and high > 30 * low:
        ax.set_yscale("log")
        ax.set_ylim(low / 1.4, high * 1.4)
        ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 3.0) if high < 300 * low else (1.0,)))
        ax.yaxis.set_minor_locator(NullLocator())
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def scale_places(ax: Axes, places: Iterable[float], *, most: int) -> None:
    """An x axis of the values of a setting; logarithmic where they span more than a factor of 30.

    Ticks stand at the values themselves, at up to `most` of them that are not too close. Call after plot_lines.
    """
    known = sorted(set(places))
    log = known[0] > 0 and known[-1] > 30 * known[0]
    if log:
        ax.set_xscale("log")
    at = np.log(known) if log else np.array(known)
    shown = [0]
    for i in range(1, len(known)):
        if at[i] - at[shown[-1]] >= 0.999 * np.ptp(at) / (most - 1):
            shown.append(i)
    ax.xaxis.set_major_locator(FixedLocator([known[i] for i in shown]))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def fitting(text: str, points: float) -> str:
    """A name as a title over axes: as much of it as fits into a width in points."""
    font = FontProperties(family=RC["font.sans-serif"], size=RC["axes.titlesize"], weight=RC["axes.titleweight"])
    for length in range(LABEL_LENGTH, 2, -1):
        label = plain(text, length)
        if text_to_path.get_text_width_height_descent(label, font, ismath=False)[0] < points:
            return label
    return "…"


def plain(text: str, length: int = LABEL_LENGTH) -> str:
    """A name as a label: on one line, and cut in the middle where it is too long."""
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split(" "))
    half = (length - 1) // 2
    return text if len(text) <= length else f"{text[: length - 1 - half]}…{text[-half:]}"


def _band(values: Iterable[float]) -> tuple[float, float]:
    known = list(values)
    mean = sum(known) / len(known)
    return t_interval(known) or (mean, mean) if len(known) > 2 else (np.nan, np.nan)


def _share_band(values: Iterable[float]) -> tuple[float, float]:
    low, high = np.clip(_band(values), 0.0, 1.0)
    return float(low), float(high)


def _plot_effect(ax: Axes, y: int, effect: Mapping[str, Any], colour: str, metric: str) -> None:
    text, decided = signed(effect["difference"], metric), False
    if not np.isnan(effect["low"]):
        text += f" ±{number(effect['high'] - effect['difference'], metric)}"
        decided = effect["low"] > 0 or effect["high"] < 0
        ax.plot([effect["low"], effect["high"]], [y, y], color=colour, linewidth=2.6, solid_capstyle="butt", zorder=3)
        _mark_cut(ax, y, effect["low"], effect["high"], colour)
    ax.plot(effect["difference"], y, "o", color=colour, markersize=7.5, markeredgecolor="white", zorder=4)
    place, ink = ax.get_yaxis_transform(), INK if decided else GREY
    ax.annotate(text, (1.03, y), xycoords=place, va="center", fontsize=10.5, annotation_clip=False, color=ink)


def _mark_cut(ax: Axes, y: int, low: float, high: float, colour: str) -> None:
    """Arrow heads where an interval runs out of the axes."""
    left, right = ax.get_xlim()
    for cut, place, marker in ((low < left, 0.014, "<"), (high > right, 0.986, ">")):
        if cut:
            ax.plot(place, y, marker, color=colour, markersize=7, transform=ax.get_yaxis_transform(), zorder=3)


def _plot_seeds(ax: Axes, y: int, rows: pd.DataFrame, colour: str) -> None:
    diverged = rows["state"] == "diverged"
    at = pd.Series(y + 0.28, index=rows.index)
    ax.plot(rows["difference"][~diverged], at[~diverged], "o", color=colour, markersize=3.6, alpha=0.8, mew=0, zorder=3)
    ax.plot(rows["difference"][diverged], at[diverged], "x", color=DIVERGED, markersize=5.5, mew=1.6, zorder=3)


def _difference_scale(ax: Axes, effects: pd.DataFrame, differences: pd.DataFrame, metric: str) -> None:
    """Limits and scale of an axis of differences; the seeds decide, so that one wide interval cannot hide the rest.

    Where an effect that is certain is less than a twentieth of the largest, the axis is linear around zero and
    logarithmic beyond, and says so. Shares stay linear: they end at 1.
    """
    seeds = np.append(differences["difference"].to_numpy(float), 0.0)
    low, high = seeds.min(), seeds.max()
    span = (high - low) or (0.1 if facts(metric).share else 1.0)
    ends = effects[["low", "high"]].to_numpy(float)
    ends = ends[~np.isnan(ends)]
    low = max(low - 0.6 * span, min([low, *ends]))
    high = min(high + 0.6 * span, max([high, *ends]))
    sizes = effects["difference"].abs()
    certain = sizes[(effects["low"] > 0) | (effects["high"] < 0)]
    if not facts(metric).share and (certain < sizes.max() / 20).any():
        _compress(ax, low, high)
    else:
        ax.xaxis.set_major_locator(MaxNLocator(4))
        ax.xaxis.set_major_formatter(
            FuncFormatter(lambda value, _: f"{value:+.4g}".replace("-", "−") if value else "0")
        )
        ax.set_xlim(low - 0.06 * span, high + 0.06 * span)


def _compress(ax: Axes, low: float, high: float) -> None:
    """An inverse hyperbolic sine axis over two decades, with a tick at each."""
    linear = 10.0 ** (ceil(log10(max(-low, high))) - 2)
    ax.set_xscale("asinh", linear_width=linear)
    ends = np.arcsinh(np.array([low, high]) / linear)
    pad = 0.06 * np.ptp(ends)
    ax.set_xlim(*(linear * np.sinh([ends[0] - pad, ends[1] + pad])))
    decades = [linear * 10**k for k in range(0 if np.ptp(ends) < 7.5 else 1, 3)]  # no room for the first on both sides
    ticks = [tick for tick in (*(-d for d in decades), 0.0, *decades) if ax.get_xlim()[0] <= tick <= ax.get_xlim()[1]]
    ax.xaxis.set_major_locator(FixedLocator(ticks))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:+g}".replace("-", "−") if value else "0"))
    ax.set_xlabel(f"linear within ±{linear:g}, logarithmic beyond", fontsize=NOTE, color=GREY, labelpad=19)


def _mark_directions(ax: Axes, better: int) -> None:
    """Shade the worse side and name both."""
    if not better:
        return
    left, right = ax.get_xlim()
    ax.axvspan(*((0, right) if better < 0 else (left, 0)), color=WORSE, zorder=0, linewidth=0)
    ax.set_xlim(left, right)
    names = ("← better", "worse →") if better < 0 else ("← worse", "better →")
    for name, at, side in zip(names, (0, 1), ("left", "right"), strict=True):
        ax.annotate(
            name,
            (at, 0),
            xytext=(0, -23),
            xycoords="axes fraction",
            textcoords="offset points",
            ha=side,
            va="top",
            fontsize=NOTE,
            color=GREY,
        )
