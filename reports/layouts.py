"""Arrangements of axes that the page needs, and how a figure is written."""

import io
import re
from collections.abc import Mapping, Sequence
from html import escape
from math import ceil
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from reports.figures import (
    DIVERGED,
    GREY,
    NOTE,
    TEXT,
    Style,
    add_legend,
    add_references,
    fitting,
    plot_effects,
    plot_ends,
    plot_lines,
    scale_values,
)
from reports.metrics import facts, number

SMALL_MULTIPLES_FROM = 4
"""Variants, besides the base, from which each gets axes of its own."""
COLUMNS = 4
TITLE_WIDTH = 190
"""Points over one of COLUMNS axes."""


def effects_figure(
    effects: pd.DataFrame,
    differences: pd.DataFrame,
    *,
    metrics: Sequence[str],
    base_values: Mapping[str, float],
    order: Sequence[str],
    notes: Mapping[str, str],
    styles: Mapping[str, Style],
) -> Figure:
    """Effects on one or more metrics side by side, rows shared; `notes` are put under names of rows."""
    columns = min(3, len(metrics))
    lines = ceil(len(metrics) / columns)
    height = lines * (1.35 + 0.44 * len(order))
    figure = Figure(figsize=({1: 7.6, 2: 10.2, 3: 12.6}[columns], height), layout="constrained")
    grid = figure.subplots(lines, columns, squeeze=False, sharey=True)
    for metric, ax in zip(metrics, grid.flat, strict=False):
        chosen = effects[effects["metric"] == metric]
        of_metric = differences[differences["metric"] == metric]
        plot_effects(chosen, of_metric, ax, metric=metric, order=order, styles=styles)
        _panel_title(ax, metric, base_values.get(metric))
    for ax in grid[:, 0]:
        for y, variant in enumerate(order):
            _row_note(ax, y, notes.get(variant, ""))
    for ax in grid.flat[len(metrics) :]:
        ax.set_visible(False)
    return figure


def lines_figure(
    data: pd.DataFrame,
    *,
    x: str,
    metric: str,
    order: Sequence[str],
    base: str,
    styles: Mapping[str, Style],
    x_label: str,
    chance: float | None,
    mark: tuple[float, str] | None,
) -> Figure:
    """Lines over `x` (plot_lines): in one pair of axes if there are few variants, else one each, beside the base.

    Where `data` has the state of each run, ends of diverged ones are marked (plot_ends). `chance` gets a dashed line;
    `mark` is a place on the x axis and its name, such as the length trained at.
    """
    present = [variant for variant in order if (data["variant"] == variant).any()]
    others = [variant for variant in present if variant != base]
    together = len(others) < SMALL_MULTIPLES_FROM
    groups = [present] if together else [[v for v in (base, other) if v in present] for other in others]
    figure, axes = _grid(len(groups))
    scale_values(axes[0], data["value"], metric=metric, chance=chance)
    for i, (ax, group) in enumerate(zip(axes, groups, strict=True)):
        plot_lines(data, ax, x=x, order=group, styles=styles, share=facts(metric).share)
        if "state" in data:
            plot_ends(data[data["variant"].isin(group)], ax, x=x)
        add_references(ax, chance, mark, named=i == 0)
        if not together:
            ax.set_title(fitting(group[-1], TITLE_WIDTH))
    axes[0].xaxis.set_major_locator(MaxNLocator(6, integer=True))
    if together:
        add_legend(axes[0], present, styles)
    figure.supxlabel(x_label, fontsize=TEXT)
    name, unit = facts(metric).name, facts(metric).unit
    figure.supylabel(f"{name} ({unit})" if unit else name, fontsize=TEXT)
    return figure


def save(figure: Figure, folder: Path, name: str) -> str:
    """Write a figure as PNG and SVG, and give the SVG, whose bytes depend on the figure alone."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # done; it would start again for each format
    figure.savefig(folder / f"{name}.png")
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    (folder / f"{name}.svg").write_text(buffer.getvalue(), encoding="utf-8")
    return buffer.getvalue()


def inline(svg: str, name: str, description: str) -> str:
    """An SVG file as an element of a page: identifiers begin with `name`, which must be unique on the page."""
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    svg = re.sub(r"<[^>]*>", lambda tag: re.sub(r'( id="|href="#|url\(#)', rf"\g<1>{name}-", tag[0]), svg)
    return svg.replace("<svg", f'<svg role="img" aria-label="{escape(description)}"', 1)


def _panel_title(ax: Axes, metric: str, base: float | None) -> None:
    known = [facts(metric).unit, "" if base is None else f"base {number(base, metric)}"]
    ax.set_title(facts(metric).name, pad=22)
    ax.annotate(
        ", ".join(part for part in known if part),
        (0, 1),
        xytext=(0, 6),
        xycoords="axes fraction",
        textcoords="offset points",
        fontsize=NOTE,
        color=GREY,
    )


def _row_note(ax: Axes, y: int, note: str) -> None:
    place = ax.get_yaxis_transform()
    ax.annotate(
        note,
        (0, y + 0.38),
        xytext=(-4, 0),
        xycoords=place,
        textcoords="offset points",
        ha="right",
        va="center",
        fontsize=NOTE,
        color=DIVERGED,
        annotation_clip=False,
    )


def _grid(n: int) -> tuple[Figure, list[Axes]]:
    """`n` axes with shared scales, COLUMNS a row."""
    columns = min(n, COLUMNS)
    rows = ceil(n / columns)
    size = (9.6, 3.9) if n == 1 else (3.1 * columns, 2.35 * rows + 0.45)
    figure = Figure(figsize=size, layout="constrained")
    axes = list(figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).flat)
    for ax in axes[n:]:
        ax.set_visible(False)
    for ax in axes[max(0, n - columns) : n]:  # the last of each column, where the row below is not full
        ax.tick_params(labelbottom=True)
    return figure, axes[:n]
