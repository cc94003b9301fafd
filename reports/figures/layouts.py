"""Arrangements of axes that the page needs: whole figures from tidy data."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import ceil

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reports.figures.forests import effect_text, plot_effects, row_height
from reports.figures.keys import Entry, key_height, level_entries, write_key
from reports.figures.lines import (
    add_grid,
    add_levels,
    diverged,
    plot_crosses,
    plot_lines,
    plot_single_seeds,
    set_scales,
    summarise_lines,
    with_gaps,
)
from reports.figures.lines import ends as ends_of
from reports.figures.multiples import SECOND, TITLE, Panel, Trellis, inch_axes, panel_grid
from reports.figures.scales import (
    Scale,
    bounds,
    is_log,
    place_scale,
    place_ticks,
    step_scale,
    step_ticks,
    value_scale,
    value_ticks,
)
from reports.figures.theme import (
    DIVERGED,
    GREY,
    NOTE,
    TEXT,
    TICK,
    WIDTH,
    Style,
    add_legend,
    axes_at,
    broken,
    fitting,
    label_ends,
    label_width,
    legend_width,
    plain,
    row_label,
    size_of,
    text_width,
)
from reports.frames import records
from reports.metrics import facts, number

SMALL_MULTIPLES_FROM = 4
"""Variants, besides the base, from which each gets axes of its own."""
MANY, VERY_MANY = 9, 16
"""Axes from which they are smaller; rows from which they are lower."""
WIDEST = 4.2
"""Inches of the axes of effects."""
AXES = 3.2
"""Inches, height of axes with all lines."""
GAP = 0.16
"""Inches between things side by side."""
LEFT = 0.9
"""Inches left of an axis of values: its name and the labels of its ticks."""
NAME_LINE = 0.2
"""Inches that a second line of its name adds."""


def effects_figure(
    effects: pd.DataFrame,
    differences: pd.DataFrame,
    *,
    metrics: Sequence[str],
    base_values: Mapping[str, float],
    order: Sequence[str],
    notes: Mapping[str, str],
    styles: Mapping[str, Style],
    hollow: Collection[str] = (),
) -> Figure:
    """Effects on one or more metrics side by side, rows shared; `notes` are put under names of rows."""
    columns = min(3, len(metrics))
    row = 0.44 if len(order) <= MANY else 0.39 if len(order) <= VERY_MANY else 0.33
    row = max([row, *(row_height(variant, notes.get(variant, "")) for variant in order)])
    names = _names_width(order, notes)
    of_metric = {metric: effects[effects["metric"] == metric] for metric in metrics}
    numbers = {metric: _numbers_width(rows, metric) for metric, rows in of_metric.items()}
    texts = names + sum(numbers.values()) / len(metrics) * columns
    total = max({1: 7.6, 2: 10.2, 3: WIDTH}[columns], texts + 1.9 * columns)
    total = min(total, texts + WIDEST * columns + GAP)
    height, panel = 0.65 + row * len(order) + 0.72, len(order) * row
    figure = Figure(figsize=(total, ceil(len(metrics) / columns) * height))
    for start in range(0, len(metrics), columns):
        line = metrics[start : start + columns]
        width = (total - names - sum(numbers[m] for m in line) - GAP) / columns
        left, top = names, start // columns * height + 0.65
        for metric in line:
            ax = axes_at(figure, left, top, min(width, WIDEST), panel)
            its = differences[differences["metric"] == metric]
            plot_effects(of_metric[metric], its, ax, metric=metric, order=order, styles=styles, hollow=hollow)
            panel_title(ax, metric, base_values.get(metric))
            if metric == line[0]:
                _row_notes(ax, order, notes)
            else:
                ax.set_yticklabels([])
            left += width + numbers[metric]
    return figure


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """What a figure of lines shows, however its axes are arranged."""

    data: pd.DataFrame
    x: str
    summary: pd.DataFrame
    drawn: pd.DataFrame
    """The summary, with gaps where lines break."""
    crosses: pd.DataFrame
    styles: Mapping[str, Style]
    labels: tuple[str, str]
    references: Mapping[str, float]
    mark: tuple[float, str] | None
    at_places: bool
    x_scale: Scale
    y_scale: Scale

    @property
    def key(self) -> list[Entry]:
        """Entries for the levels that are drawn."""
        return level_entries(self.references, self.y_scale, self.mark)

    def ticks(self, width: float) -> list[float]:
        """Of the x axis, `width` points wide."""
        if self.at_places:
            return place_ticks(self.data[self.x].tolist(), self.x_scale, width)
        return step_ticks(self.x_scale, width)


def lines_figure(
    data: pd.DataFrame,
    *,
    x: str,
    metric: str,
    order: Sequence[str],
    base: str,
    styles: Mapping[str, Style],
    x_label: str,
    references: Mapping[str, float],
    mark: tuple[float, str] | None = None,
    mark_ends: bool = False,
    mark_diverged: bool = False,
    at_places: bool = False,
) -> Figure:
    """Lines over `x` (plot_lines): in one pair of axes if there are few variants, else one each, beside the base.

    `data` has variant, seed, state, value and the column `x`. `references` are levels with names, such as chance;
    `mark` is a place on the x axis and its name, such as the length trained at. `mark_ends` marks where diverged runs
    end, `mark_diverged` every value of one. With `at_places` the ticks are the values of `x` (scales.place_scale).
    Lines break at places that a variant lacks, but for steps, at which not all runs need to be validated.
    """
    present = [variant for variant in order if (data["variant"] == variant).any()]
    others = [variant for variant in present if variant != base]
    summary = summarise_lines(data, x, log=is_log(data["value"], metric), ends=bounds(metric))
    drawing = Drawing(
        data=data,
        x=x,
        summary=summary,
        drawn=summary if x == "step" else with_gaps(summary, x),
        crosses=ends_of(data, x) if mark_ends else diverged(data) if mark_diverged else data.iloc[:0],
        styles=styles,
        labels=(x_label, value_label(metric)),
        references=references,
        mark=mark,
        at_places=at_places,
        x_scale=place_scale(data[x].tolist()) if at_places else step_scale(data[x].tolist()),
        y_scale=value_scale(data["value"], summary, metric=metric, references=references),
    )
    together = len(others) < SMALL_MULTIPLES_FROM
    return _together(drawing, present) if together else _apart(drawing, others, base)


def _together(drawing: Drawing, present: Sequence[str]) -> Figure:
    """All lines in one pair of axes."""
    lines = name_lines(drawing.labels[1], AXES)
    figure, ax = _single(present, drawing.key, LEFT + NAME_LINE * (len(lines) - 1))
    ticks = drawing.ticks(size_of(ax)[0])
    set_scales(ax, drawing.x_scale, drawing.y_scale, ticks, value_ticks(drawing.y_scale))
    plot_lines(drawing.drawn, ax, x=drawing.x, order=present, styles=drawing.styles)
    plot_single_seeds(drawing.data, ax, x=drawing.x, order=present, styles=drawing.styles)
    plot_crosses(drawing.crosses, ax, x=drawing.x)
    add_levels(ax, drawing.references, drawing.y_scale, drawing.mark)
    _name_lines(add_grid(ax), drawing.summary, drawing.x, present, drawing.styles)
    ax.set(xlabel=drawing.labels[0], ylabel="\n".join(lines))
    return figure


def _apart(drawing: Drawing, others: Sequence[str], base: str) -> Figure:
    """Axes for each variant, with the base in all of them."""
    style, has_base = drawing.styles[base], (drawing.data["variant"] == base).any()
    of_base = [Entry(plain(base), style.colour, style.dash, style.width)] if has_base else []
    figure, ax, panels, label = _multiples(others, [*of_base, *drawing.key], drawing.labels[1])
    trellis = Trellis(ax, panels, drawing.x_scale, drawing.y_scale)
    ticks = drawing.ticks(72 * panels[0].width)
    trellis.frame(others, ticks, value_ticks(drawing.y_scale), drawing.references, drawing.mark)
    trellis.lines(drawing.drawn, drawing.data, drawing.x, others, base, drawing.styles)
    trellis.crosses(drawing.crosses, drawing.x, others)
    trellis.names(drawing.labels[0], label)
    return figure


def name_lines(text: str, room: float) -> list[str]:
    """Name of an axis in one line of so many inches, or in two."""
    return broken(text, lambda line: text_width(line) <= room) or [text]


def value_label(metric: str) -> str:
    """A metric with its unit, as an axis is named."""
    name, unit = facts(metric).name, facts(metric).unit
    return f"{name} ({unit})" if unit else name


def panel_title(ax: Axes, metric: str, base: float | None) -> None:
    """A metric over axes, under it its unit and the base's value."""
    known = [facts(metric).unit, "" if base is None else f"base {number(base, metric)}"]
    ax.set_title(facts(metric).name, pad=22)
    ax.annotate(
        ", ".join(part for part in known if part), (0, 1), xytext=(0, 6), xycoords="axes fraction",
        textcoords="offset points", fontsize=NOTE, color=GREY,
    )  # fmt: skip


def _names_width(order: Sequence[str], notes: Mapping[str, str]) -> float:
    names = [label_width(row_label(variant), TEXT) for variant in order]
    return max([*names, *(text_width(note, NOTE) for note in notes.values())]) + 0.16


def _numbers_width(effects: pd.DataFrame, metric: str) -> float:
    texts = [effect_text(row, metric) for row in records(effects)]
    return max([text_width(text, TICK) for text in texts], default=0.5) + 0.11 + 2 * GAP


def _row_notes(ax: Axes, order: Sequence[str], notes: Mapping[str, str]) -> None:
    for y, (variant, name) in enumerate(zip(order, ax.get_yticklabels(), strict=True)):
        if notes.get(variant):
            name.set_verticalalignment("bottom")
            ax.annotate(
                notes[variant], (0, y), xytext=(-4, -1), xycoords=ax.get_yaxis_transform(),
                textcoords="offset points", ha="right", va="top", fontsize=NOTE, color=DIVERGED,
                annotation_clip=False,
            )  # fmt: skip


def _single(present: Sequence[str], key: Sequence[Entry], left: float) -> tuple[Figure, Axes]:
    across = left + 7.6 + legend_width(present)
    figure = Figure(figsize=(across, 4.0 + key_height(key, across - left)))
    write_key(figure, key, left, 4.0, across - left)
    return figure, axes_at(figure, left, 0.15, 7.6, AXES)


def _multiples(names: Sequence[str], key: Sequence[Entry], label: str) -> tuple[Figure, Axes, list[Panel], str]:
    """Panels in rows of four, or of five and lower where there are many, on axes that are all of the figure.

    Beside them the name of the values, in two lines where it is longer than the panels with their titles.
    """
    n = len(names)
    columns, height = (4, 1.75) if n < MANY else (5, 1.25)
    rows = ceil(n / columns)
    lines = name_lines(label, rows * height + (rows - 1) * 0.4 + 1.8 * TITLE)
    left = LEFT + NAME_LINE * (len(lines) - 1)
    width = (WIDTH - left - GAP * columns) / columns
    second = SECOND * any("\n" in fitting(name, 72 * width) for name in names)
    step = height + 0.4 + second
    total = TITLE + second + rows * step - second + 0.22
    figure = Figure(figsize=(WIDTH, total + key_height(key, WIDTH - left)))
    write_key(figure, key, left, total, WIDTH - left)
    panels = panel_grid(n, columns, left, width, height, gaps=(GAP, step - height), title=TITLE + second)
    return figure, inch_axes(figure), panels, "\n".join(lines)


def _name_lines(ax: Axes, summary: pd.DataFrame, x: str, present: Sequence[str], styles: Mapping[str, Style]) -> None:
    """Names at the ends of the lines, or a legend where not all of them reach the right edge."""
    last = {str(row["variant"]): (row[x], row["mean"]) for row in records(summary)}  # the last of each, by x
    if len(present) > 1 and len({at for at, _ in last.values()}) == 1 and set(last) == set(present):
        label_ends(ax, last, styles, {variant: plain(variant) for variant in present})
    else:
        add_legend(ax, present, styles)
