"""Scales of axes: limits, whether logarithmic, ticks. Numbers only, nothing is drawn."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.ticker import LogLocator, MaxNLocator
from numpy.typing import ArrayLike, NDArray

from reports.figures.theme import TICK, text_width
from reports.metrics import facts

Floats = NDArray[np.float64]
Ends = tuple[float, float]

STEPS = [1, 2, 5, 10]
"""Of ticks."""
REACH = 0.35
"""How far bands may stretch an axis of values, as a share of the values' range."""


@dataclass(frozen=True)
class Scale:
    """An axis: its ends, and whether it is logarithmic."""

    low: float
    high: float
    log: bool = False

    def share(self, values: ArrayLike) -> Floats:
        """Where values stand: 0 at the lower end of the axis, 1 at the upper one."""
        at, ends = (self._along(v) for v in (values, [self.low, self.high]))
        return (at - ends[0]) / (ends[1] - ends[0])

    def inside(self, values: Sequence[float]) -> list[float]:
        """Those of the values that are on the axis."""
        return [float(value) for value in values if self.low <= value <= self.high]

    @property
    def name(self) -> str:
        """As matplotlib calls it."""
        return "log" if self.log else "linear"

    def _along(self, values: ArrayLike) -> Floats:
        numbers = np.asarray(values, dtype=np.float64)
        return np.log(numbers) if self.log else numbers


def bounds(metric: str) -> Ends:
    """Lowest and highest value that a metric can have: 0 and 1 for shares, 0 and 100 for points such as BLEU."""
    known = facts(metric)
    if known.share:
        return 0.0, 1.0
    return (0.0, 100.0) if known.unit == "points" and known.better else (-np.inf, np.inf)


def is_log(values: "pd.Series[float]", metric: str) -> bool:
    """Whether an axis of values is to be logarithmic: they span more than a factor of 30.

    A metric that is better the higher it is stays linear: a logarithm would stretch the end that does not matter.
    """
    known = values[np.isfinite(values)]
    low, high = known.min(), known.max()
    return bool(not facts(metric).share and facts(metric).better < 1 and low > 0 and high > 30 * low)


def value_scale(
    values: "pd.Series[float]", summary: pd.DataFrame, *, metric: str, references: Mapping[str, float]
) -> Scale:
    """The axis of a metric; `summary` (lines.summarise_lines) has the ends of the bands as low and high.

    It holds every value, the bands as far as these reach no more than REACH of the values' range beyond it, and those
    `references` that are no farther off than that range. Shares keep to 0 and 1; where no value is below zero, neither
    is the axis.
    """
    log = is_log(values, metric)
    known = values[np.isfinite(values)].to_numpy(float)
    ends = summary[["low", "high"]].to_numpy(float).ravel()
    levels = np.array([level for level in references.values() if level > 0 or not log])
    if log:
        known, ends, levels = np.log(known), np.log(ends), np.log(levels)
    low, high = known.min(), known.max()
    span = (high - low) or abs(high) or 1.0
    ends = ends[~np.isnan(ends)]
    bottom, top = max(low - REACH * span, min([low, *ends])), min(high + REACH * span, max([high, *ends]))
    near = [level for level in levels if low - span <= level <= high + span or facts(metric).share]
    bottom, top = min([bottom, *near]), max([top, *near])
    if facts(metric).share:
        return Scale(max(-0.03, float(bottom) - 0.08), 1.04)
    if not log and low >= 0:
        bottom = max(bottom, 0.0)
    pad = 0.06 * ((top - bottom) or span)
    found = np.array([bottom - pad, top + pad])
    low, high = np.exp(found) if log else found
    return Scale(float(low), float(high), log)


def step_scale(values: Sequence[float]) -> Scale:
    """A linear axis of steps or distances."""
    low, high = float(min(values)), float(max(values))
    pad = 0.03 * (high - low) or 0.5
    return Scale(low - pad, high + pad)


def place_scale(values: Sequence[float]) -> Scale:
    """An axis of the values of a setting: logarithmic where is_geometric says so."""
    known = sorted(set(values))
    log = is_geometric(known)
    ends = np.log([known[0], known[-1]]) if log else np.array([known[0], known[-1]], dtype=np.float64)
    pad = 0.05 * (ends[1] - ends[0]) or 0.5
    low, high = np.exp([ends[0] - pad, ends[1] + pad]) if log else (ends[0] - pad, ends[1] + pad)
    return Scale(float(low), float(high), log)


def is_geometric(known: Sequence[float]) -> bool:
    """Whether sorted values are spaced more evenly on a logarithmic scale (1, 2, 4, 8), or span more than 30-fold."""
    if len(known) < 2 or known[0] <= 0:
        return False
    gaps, ratios = np.diff(known), np.diff(np.log(known))
    more_even = np.std(ratios) / np.mean(ratios) < np.std(gaps) / np.mean(gaps) - 1e-9
    return bool(known[-1] > 30 * known[0] or (len(known) > 2 and known[-1] >= 4 * known[0] and more_even))


def value_ticks(scale: Scale) -> list[float]:
    """About five ticks; on a logarithmic axis decades, with steps between them where there are few decades."""
    if not scale.log:
        return scale.inside(list(MaxNLocator(5, steps=STEPS).tick_values(scale.low, scale.high)))
    fold = scale.high / scale.low
    subs = (1.0, 2.0, 5.0) if fold < 30 else (1.0, 3.0) if fold < 1000 else (1.0,)
    return scale.inside(list(LogLocator(subs=subs, numticks=9).tick_values(scale.low, scale.high)))


def step_ticks(scale: Scale, points: float) -> list[float]:
    """Whole numbers, as many as have room in a width in points."""
    most = min(7, max(2, int(points // 45)))
    return without_touching(
        scale.inside(list(MaxNLocator(most, steps=STEPS, integer=True).tick_values(scale.low, scale.high))),
        scale,
        points,
    )


def place_ticks(values: Sequence[float], scale: Scale, points: float) -> list[float]:
    """The values of a setting themselves; every second or third of them and so on where not all have room."""
    known = sorted(set(values))
    for step in range(1, len(known)):
        ticks = known[::step]
        if without_touching(ticks, scale, points) == ticks:
            return ticks
    return known[:1]


def without_touching(ticks: Sequence[float], scale: Scale, points: float) -> list[float]:
    """Ticks whose labels do not touch, sorted; the first ones given are kept first."""
    at = (scale.share(list(ticks)) * points).tolist() if ticks else []
    return thin_ticks(ticks, at, [72 * text_width(tick_label(tick), TICK) for tick in ticks])


def thin_ticks(ticks: Sequence[float], places: Sequence[float], widths: Sequence[float]) -> list[float]:
    """Ticks whose labels do not touch, first come first kept; places and widths of the labels in points."""
    kept: list[int] = []
    for i, (at, width) in enumerate(zip(places, widths, strict=True)):
        if all(abs(at - places[k]) >= (width + widths[k]) / 2 + 5 for k in kept):
            kept.append(i)
    return sorted(ticks[i] for i in kept)


def tick_label(value: float, _: Any = None) -> str:
    """A tick as text: `0.3`, `1000`, `1e-05`."""
    return "0" if abs(value) < 1e-12 else f"{value:g}".replace("-", "−") if value < 0 else f"{value:g}"


def level_names(references: Mapping[str, float], scale: Scale) -> list[str]:
    """Names of known levels with their values: `chance 0.5`; with an arrow where one is beyond an end of the axis."""
    arrows = ("↓ " if level < scale.low else "↑ " if level > scale.high else "" for level in references.values())
    levels = (f"{name} {level:.3g}".replace(" -", " −") for name, level in references.items())
    return [arrow + level for arrow, level in zip(arrows, levels, strict=True)]
