"""The ladder: what each change adds where changes pile up, drawn as a waterfall."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import nan

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from reports.figures.forests import effect_text, name_rows
from reports.figures.layouts import GAP, panel_title
from reports.figures.scales import STEPS, tick_label
from reports.figures.theme import (
    GREY,
    HAIRLINE,
    INK,
    PAPER,
    TICK,
    WIDTH,
    Style,
    axes_at,
    label_width,
    row_label,
    text_width,
)
from reports.metrics import facts, number
from reports.statistics import LEVEL, paired_effect, summarise

ROW = 0.46


@dataclass(frozen=True, kw_only=True)
class Rung:
    """One step of a ladder on one metric."""

    name: str
    mean: float
    """NaN without a result."""
    low: float
    high: float
    """95 % interval of the mean; NaN where there is none."""
    difference: float
    """To the rung before, seeds paired; NaN for the first one and where no seed has both."""
    difference_low: float
    difference_high: float


def rungs(order: Sequence[str], by_seed: Mapping[str, Mapping[int, float]], *, level: float = LEVEL) -> list[Rung]:
    """The steps in `order`, from the values of each variant by seed; `level` is that of the intervals of changes."""
    return [
        _rung(name, by_seed.get(name, {}), by_seed.get(before, {}) if before is not None else {}, level)
        for before, name in zip([None, *order[:-1]], order, strict=True)
    ]


def plot_ladder(steps: Sequence[Rung], ax: Axes, *, metric: str, styles: Mapping[str, Style]) -> Axes:
    """A row for each rung, from the top: the value with its interval, a bar from the value before, and the change."""
    known = [v for s in steps for v in (s.mean, s.low, s.high) if not np.isnan(v)]
    low, high = min(known), max(known)
    pad = 0.08 * (high - low) or 0.5
    ax.set_xlim(low - pad, high + pad)
    ax.xaxis.set_major_locator(MaxNLocator(4, steps=STEPS))
    ax.xaxis.set_major_formatter(FuncFormatter(tick_label))
    ax.hlines(np.arange(len(steps) - 1) + 0.5, 0, 1, HAIRLINE, linewidth=0.6, transform=ax.get_yaxis_transform())
    for y, step in enumerate(steps):
        _plot_rung(ax, y, step, steps[y - 1] if y else None, metric, styles[step.name].colour)
    ax.set_ylim(len(steps) - 0.5, -0.5)
    name_rows(ax, [step.name for step in steps])
    better = {1: "more is better", -1: "less is better"}.get(facts(metric).better, "")
    ax.set_xlabel(better, fontsize=TICK, color=GREY)
    return ax


def ladder_figure(steps: Mapping[str, Sequence[Rung]], styles: Mapping[str, Style]) -> Figure:
    """A ladder for each metric side by side; `steps` has the rungs of each."""
    order = [step.name for step in next(iter(steps.values()))]
    names = max(label_width(row_label(name)) for name in order) + 0.2
    numbers = {metric: _numbers_width(of_metric, metric) for metric, of_metric in steps.items()}
    panel = min(3.6, max(1.7, (WIDTH - names - sum(numbers.values())) / len(steps)))
    total = names + sum(numbers.values()) + panel * len(steps)
    figure = Figure(figsize=(total, 0.65 + ROW * len(order) + 0.6))
    left = names
    for metric, of_metric in steps.items():
        ax = axes_at(figure, left, 0.65, panel, ROW * len(order))
        plot_ladder(of_metric, ax, metric=metric, styles=styles)
        panel_title(ax, metric, None)
        if left > names:
            ax.set_yticklabels([])
        left += panel + numbers[metric]
    return figure


def change_text(step: Rung, metric: str) -> str:
    """The change of a rung in figures; empty where there is none."""
    if np.isnan(step.difference):
        return ""
    return effect_text(
        {"difference": step.difference, "low": step.difference_low, "high": step.difference_high}, metric
    )


def _rung(name: str, values: Mapping[int, float], before: Mapping[int, float], level: float) -> Rung:
    shared = sorted(values.keys() & before.keys())
    pairs = [before[s] for s in shared], [values[s] for s in shared]
    effect = paired_effect(*pairs, level=level) if shared else None
    summary = summarise(list(values.values())) if values else None
    low, high = (summary.low, summary.high) if summary else (None, None)
    from_low, from_high = (effect.low, effect.high) if effect else (None, None)
    return Rung(
        name=name,
        mean=summary.mean if summary else nan,
        low=nan if low is None else low,
        high=nan if high is None else high,
        difference=effect.difference if effect else nan,
        difference_low=nan if from_low is None else from_low,
        difference_high=nan if from_high is None else from_high,
    )


def _plot_rung(ax: Axes, y: int, step: Rung, before: Rung | None, metric: str, colour: str) -> None:
    place = ax.get_yaxis_transform()
    if np.isnan(step.mean):
        ax.annotate("no result", (0.03, y), xycoords=place, va="center", color=GREY, fontsize=TICK)
        return
    if before is not None and not np.isnan(before.mean):
        ax.barh(y, step.mean - before.mean, left=before.mean, height=0.5, color=colour, alpha=0.45, linewidth=0)
        ax.plot([before.mean, before.mean], [y - 1, y + 0.25], color=GREY, linewidth=0.8)
    ax.plot([step.low, step.high], [y, y], color=colour, linewidth=1.6, zorder=3)
    ax.plot(step.mean, y, "o", color=colour, markersize=7, markeredgecolor=PAPER, markeredgewidth=0.8, zorder=4)
    decided = before is None or bool(step.difference_low > 0 or step.difference_high < 0)
    ax.annotate(
        change_text(step, metric) if before is not None else f"{number(step.mean, metric)} at the start",
        (1, y), xytext=(8, 0), xycoords=place, textcoords="offset points", va="center", fontsize=TICK,
        annotation_clip=False, color=INK if decided else GREY,
    )  # fmt: skip


def _numbers_width(steps: Sequence[Rung], metric: str) -> float:
    texts = [f"{number(steps[0].mean, metric)} at the start", *(change_text(step, metric) for step in steps)]
    return max(text_width(text, TICK) for text in texts) + 0.11 + 2 * GAP
