"""What the picture of a claim shows of each condition, and the scales of its axes. Nothing is drawn here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite

from reports.figures.labels import UNITS
from reports.figures.layouts import value_label
from reports.figures.scales import Scale, place_scale, value_ticks
from reports.figures.theme import COLOURS, INK, Style
from reports.metrics import facts
from reports.regions import Region
from reports.statistics import summarise
from reports.verdicts import Judged, Side

FAR = 2.0
"""Chance is drawn up to so many times the range of the values beyond it; where it is farther off it is only named."""
REACH, PAD = 0.6, 0.06
"""How far intervals may stretch an axis, and the room at its ends, as shares of the range of the values."""
EPSILON = 1e-9
"""Where the axis of sizes begins if all of them are zero."""


@dataclass(frozen=True)
class Line:
    """One seed of a side along x."""

    x: tuple[float, ...]
    y: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One side of a condition."""

    name: str
    style: Style
    values: tuple[float, ...] = ()
    """One a seed."""
    lines: tuple[Line, ...] = ()
    """One a seed, where the quantity is made of a curve."""
    censored: int = 0
    """Seeds, the last of `values`, that had not got there."""


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What the picture shows of one condition."""

    text: str
    outcome: str
    region: Region
    sides: tuple[Measured, ...] = ()
    per_seed: tuple[float, ...] = ()
    """The quantity."""
    value: float | None = None
    low: float | None = None
    high: float | None = None
    exact: bool = False
    references: tuple[tuple[str, float], ...] = ()
    """Known levels of what was measured: chance, floors, ceilings, oracles."""
    share: bool = False
    """Whether what was measured is between 0 and 1: then chance is never far off."""
    labels: tuple[str, str] = ("", "")
    """What x and what was measured are called."""
    logs: tuple[bool, bool] = (False, False)
    """Which of them are logarithmic."""
    drawn_with: str = ""
    """Another claim, the picture of which has this condition already."""
    measured_in: int = 0
    """Number of an earlier condition of the same claim that rests on the same measurements; 0: of none."""

    @property
    def is_brief(self) -> bool:
        """Whether there is a line of text in place of panels."""
        return self.value is None or bool(self.drawn_with)

    @property
    def has_curves(self) -> bool:
        """Whether lines are drawn in place of rows."""
        return any(side.lines for side in self.sides)

    @property
    def is_single(self) -> bool:
        """Whether the quantity is what was measured of one side, so that one part shows both."""
        return not self.has_curves and (not self.sides or self.sides[0].values == self.per_seed) and len(self.sides) < 2


def quantity_scale(shown: Shown) -> Scale:
    """The axis of the quantity: every seed, the ends of the region, intervals and known levels up to a limit."""
    known = [*shown.per_seed, *(end for end in (shown.region.low, shown.region.high) if isfinite(end))]
    if shown.region.ratio or (shown.exact and is_magnitude(known, shown.region)):
        return log_scale(known if shown.exact else [*known, shown.region.no_effect], shown.low, shown.high)
    if not shown.is_single:
        return linear_scale(known, [shown.region.no_effect], [(shown.low, shown.high)])
    fixed, loose = levels(shown)
    (fixed if shown.share else loose).extend([] if shown.exact else [shown.region.no_effect])
    return linear_scale([*known, *fixed], loose, [(shown.low, shown.high)])


def levels(shown: Shown) -> tuple[list[float], list[float]]:
    """Known levels: floors, ceilings and oracles, which are always drawn, and chance, which may be far off."""
    chance = {"chance"} - ({"chance"} if shown.share else set())
    found = dict(shown.references)
    return [v for name, v in found.items() if name not in chance], [v for name, v in found.items() if name in chance]


def linear_scale(
    values: Sequence[float], loose: Sequence[float], intervals: Sequence[tuple[float | None, float | None]]
) -> Scale:
    """An axis that holds all values, `loose` levels not far off, and intervals as far as they leave the rest room."""
    low, high = min(values), max(values)
    span = (high - low) or 0.5 * abs(high) or 1.0
    near = [level for level in loose if low - FAR * span <= level <= high + FAR * span]
    low, high = min([low, *near]), max([high, *near])
    span = (high - low) or span
    ends = [end for interval in intervals for end in interval if end is not None]
    low, high = max(low - REACH * span, min([low, *ends])), min(high + REACH * span, max([high, *ends]))
    pad = PAD * max(high - low, span)
    return Scale(low - pad, high + pad)


def is_magnitude(values: Sequence[float], region: Region) -> bool:
    """Whether errors and their tolerance are to be on a logarithmic axis: none negative, and far apart, small or zero.

    Counts, such as a rank of at most 16, stay on a linear one.
    """
    positive = [value for value in values if value > 0]
    if min(values) < 0:
        return False
    return region.high == 0 or not positive or max(positive) > 30 * min(positive) or max(positive) < 1e-3


def log_scale(values: Sequence[float], low: float | None = None, high: float | None = None) -> Scale:
    """A logarithmic axis of values and an interval; its low end stands for zero, where there is one, and says so."""
    positive = [value for value in values if value > 0] or [EPSILON, 1.0]
    least, most = min(positive), max(positive)
    fold = max(most / least, 1.5)
    if low is not None and high is not None and low > 0:
        least, most = max(least / fold, min(least, low)), min(most * fold, max(most, high))
    pad = max((most / least) ** PAD, 1.1)
    return Scale(least / pad / (100 if min(values) <= 0 else 1), most * pad, log=True)


def quantity_ticks(scale: Scale) -> list[float]:
    """Ticks of a quantity: about five; on a logarithmic axis with less than two of its own, plain steps."""
    ticks = value_ticks(scale)
    return ticks if len(ticks) > 1 or not scale.log else value_ticks(Scale(scale.low, scale.high))


def measured_scale(shown: Shown) -> Scale:
    """The axis of what was measured, of all sides together."""
    values = [value for side in shown.sides for value in side.values]
    positive = [value for value in values if value > 0]
    if min(values) >= 0 and positive and max(values) > 300 * min(positive):
        return log_scale(values)
    found = [summarise(side.values) for side in shown.sides]
    fixed, loose = levels(shown)
    return linear_scale([*values, *fixed], loose, [(each.low, each.high) for each in found])


def curve_scales(shown: Shown) -> tuple[Scale, Scale]:
    """Axes of curves: logarithmic where the summary of the curve is, or the places are spaced so."""
    lines = [line for side in shown.sides for line in side.lines]
    xs, ys = ([value for line in lines for value in getattr(line, axis)] for axis in ("x", "y"))
    x = place_scale(xs)
    if shown.logs[0] and min(xs) > 0 and not x.log:
        x = log_scale(xs)
    fixed, loose = levels(shown)
    return x, log_scale(ys) if shown.logs[1] and max(ys) > 0 else linear_scale([*ys, *fixed], loose, [])


LOGS = {
    "slope": (False, False),
    "log_slope": (False, True),
    "exponent": (True, True),
    "horizon": (True, False),
    "log_area": (True, False),
}
"""Whether x and y are logarithmic in a summary of a curve (trends.SUMMARIES); linear in those that are not here."""

REFERENCE_FIRST = ("difference", "ratio", "times")
"""Comparisons of which what is compared with is drawn first, though it comes second."""


def as_shown(judged: Judged, looks: Mapping[str, Style]) -> Shown:
    """A condition as it is drawn; `looks` by the label of a side."""
    sides = [_measured(side, judged, looks[side.label]) for side in judged.sides]
    drawn = judged.bounds is not None and bool(judged.per_seed)
    references = {name: level for side in judged.sides for name, level in side.references.items()}
    return Shown(
        text=judged.text,
        outcome=judged.outcome,
        region=judged.bounds or Region(low=0.0),
        sides=tuple(sides[::-1] if judged.compare in REFERENCE_FIRST else sides),
        per_seed=tuple(value for _, value in sorted(judged.per_seed.items())),
        value=judged.value if drawn else None,
        low=judged.low,
        high=judged.high,
        exact=judged.exact,
        references=tuple(references.items()),
        share=facts(judged.metric).share,
        labels=(AXES.get(judged.over, judged.over), value_label(judged.metric) if judged.metric else ""),
        logs=LOGS.get(judged.summary, (False, False)),
    )


AXES = {
    "distance": "Distance",
    "length": "Length (tokens)",
    "layer": "Layer",
    "task.distance": f"Distance ({UNITS['distance']})",
    "task.limit": "Training pairs",
    "train.lr": "Learning rate",
    "model.n_layers": "Layers",
    "model.d_model": "Width of the model",
}
"""What x is called, where its own name would not do."""


def _measured(side: Side, judged: Judged, style: Style) -> Measured:
    points: dict[int, list[tuple[float, float]]] = {}
    for point in judged.curve:
        if point.side == side.label:
            points.setdefault(point.seed, []).append((point.x, point.y))
    lines = [Line(*zip(*sorted(of_seed), strict=True)) for _, of_seed in sorted(points.items())]
    return Measured(
        name=side.label,
        style=style,
        values=tuple(value for _, value in sorted(side.values.items())),
        lines=tuple(lines),
        censored=len(side.censored),
    )


def looks_of(judged: Judged, styles: Mapping[str, Mapping[str, Style]]) -> dict[str, Style]:
    """Looks of the sides by label: those of the variant in its experiment, with a free colour where one is taken.

    `styles` are by experiment (or family) and variant.
    """
    found: dict[str, Style] = {}
    for side in judged.sides:
        own = styles.get(side.experiment, {}).get(side.variant, Style(INK, "-", "o"))
        taken = {style.colour for style in found.values()}
        free = [colour for colour in (own.colour, *COLOURS) if colour not in taken]
        found[side.label] = replace(own, colour=(free or [own.colour])[0], width=2.0)
    return found
