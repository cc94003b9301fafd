"""Factorial designs: a heat map of two factors, and main effects with interactions of more."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure

from reports.figures.forests import effect_text
from reports.figures.layouts import panel_title
from reports.figures.theme import (
    COLOURS,
    GREY,
    NOTE,
    TICK,
    WIDTH,
    axes_at,
    label_width,
    row_label,
    text_width,
    write_at,
)
from reports.frames import records
from reports.metrics import facts, number
from reports.plans import describe_value
from reports.statistics import LEVEL, t_interval

if TYPE_CHECKING:  # statsmodels is slow to import
    from reports.factorials import Contrast

ON_LIGHT, ON_DARK = "#1c1c1c", "#fdfdfd"
"""Text on cells, which keep their colours on a dark page."""
SCALE = LinearSegmentedColormap.from_list("change", [COLOURS[3], "#fbf3ec", COLOURS[0]])
"""From worse through no change to better."""
EVEN = 0.206
"""Luminance of cells on which both have the same contrast."""
NARROWEST, HEIGHT = 0.9, 0.62
"""Inches of a cell."""


def factor_levels(
    changes: Mapping[str, Mapping[str, Any]], base: str, base_config: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """Variant to its level of every factor, the base with its own settings; {} where a level is not known.

    `changes` are of the variants besides the base: a setting that one does not change is at the base's value.
    """
    paths = list(dict.fromkeys(path for variant, change in changes.items() if variant != base for path in change))
    settings = {
        variant: {path: change.get(path, base_config.get(path)) for path in paths}
        for variant, change in changes.items()
    }
    settings[base] = {path: base_config.get(path) for path in paths}
    known = all(path in base_config for path in paths)
    return settings if paths and known else {}


def plot_heat(cells: pd.DataFrame, ax: Axes, *, metric: str, rows: Sequence[str], columns: Sequence[str]) -> Axes:
    """Mean and change against the base in each cell, coloured by the change: orange is worse, blue is better.

    `cells` has row, column (levels as text), mean, difference, low, high; the base's difference is NaN. A cell whose
    mean is NaN says that it has no result; one that is not in `cells` is not part of the design and stays empty.
    """
    largest = float(cells["difference"].abs().max()) if cells["difference"].notna().any() else 1.0
    end = 1.03 * (largest or 1.0)  # short of the ends, which are colours of variants
    norm, sign = Normalize(-end, end), facts(metric).better or 1
    for cell in records(cells):
        x, y = columns.index(cell["column"]), rows.index(cell["row"])
        if np.isnan(cell["mean"]):
            ax.text(x, y, "no result", ha="center", va="center", color=GREY, fontsize=NOTE)
            continue
        is_base = np.isnan(cell["difference"])
        colour = SCALE(norm(0.0 if is_base else sign * cell["difference"]))
        ax.fill([x - 0.48, x + 0.48, x + 0.48, x - 0.48], [y - 0.46, y - 0.46, y + 0.46, y + 0.46], color=colour, lw=0)
        ink = ON_LIGHT if luminance(colour) > EVEN else ON_DARK
        ax.text(x, y, number(cell["mean"], metric), ha="center", va="bottom", color=ink, fontsize=TICK, weight="bold")
        ax.text(
            x, y + 0.06, "base" if is_base else effect_text(cell, metric), ha="center", va="top", color=ink, size=NOTE
        )
    ax.set_xlim(-0.5, len(columns) - 0.5)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_xticks(range(len(columns)), [row_label(name, 16) for name in columns])
    ax.set_yticks(range(len(rows)), [row_label(name, 20) for name in rows])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return ax


def heat_figure(
    cells: Mapping[str, pd.DataFrame], *, factors: tuple[str, str], rows: Sequence[str], columns: Sequence[str]
) -> Figure:
    """A heat map for each metric, side by side as far as they fit; `factors` name the rows and the columns."""
    left = max(label_width(row_label(name, 20), TICK) for name in rows) + 0.5
    texts = [label_width(row_label(name, 16), TICK) for name in columns]
    texts += [text_width(effect_text(c, m), NOTE) for m, of_metric in cells.items() for c in records(of_metric)]
    cell = max(NARROWEST, max(texts) + 0.12)
    panel, height = cell * len(columns), HEIGHT * len(rows)
    across = max(1, min(len(cells), int((WIDTH - left) // (panel + 0.3))))
    lines = -(-len(cells) // across)
    step = height + 1.35
    figure = Figure(figsize=(left + across * (panel + 0.3), lines * step + 0.1))
    for i, (metric, of_metric) in enumerate(cells.items()):
        x, y = left + i % across * (panel + 0.3), i // across * step + 0.65
        ax = axes_at(figure, x, y, panel, height)
        plot_heat(of_metric, ax, metric=metric, rows=rows, columns=columns)
        panel_title(ax, metric, None)
        ax.set_xlabel(factors[1])
        if i % across:
            ax.set_yticklabels([])
        else:
            write_at(figure, 0.08, y + height / 2, factors[0], rotation=90, va="center", ha="left")
    return figure


def luminance(colour: Sequence[float]) -> float:
    """Relative luminance of red, green and blue from 0 to 1 (WCAG 2.2)."""
    linear = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour[:3])
    return float(np.dot(list(linear), (0.2126, 0.7152, 0.0722)))


def contrast_label(contrast: "Contrast") -> str:
    """A main effect or interaction: `norm=rms`, `norm=rms × heads=8`."""
    parts = (
        f"{path.rpartition('.')[2]}={describe_value(level)}"
        for path, level in zip(contrast.factors, contrast.levels, strict=True)
    )
    return " × ".join(parts)


def contrast_frames(contrasts: Sequence["Contrast"], *, level: float = LEVEL) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Contrasts in the form of the tables that forests.plot_effects draws: effects, and differences by seed.

    Intervals are t intervals of the contrast within each seed, as those of any effect. The model's own would be too
    narrow wherever some cells scatter more than others, as those of broken variants do.
    """
    nan = float("nan")
    effects = []
    for c in contrasts:
        low, high = t_interval(c.per_seed, level=level) or (nan, nan)
        effects.append({"variant": contrast_label(c), "difference": c.estimate, "low": low, "high": high})
    differences = [
        {"variant": contrast_label(c), "seed": i, "state": "completed", "difference": value}
        for c in contrasts
        for i, value in enumerate(c.per_seed)
    ]
    return pd.DataFrame(effects), pd.DataFrame(differences)
