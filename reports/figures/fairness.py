"""Fair comparison in pictures: effects in all comparisons side by side, and validation loss over what was searched."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from reports.experiment import Experiment
from reports.fairness import (
    COMPARISONS,
    MATCHED,
    SAME,
    TUNED,
    Fair,
    best_trial,
    brief,
    changed,
    finished,
    hopeless,
    mean_value,
)
from reports.figures.captions import joined, listed
from reports.figures.forests import across, difference_scale, mark_cut, mark_directions, name_rows, row_height
from reports.figures.gallery import Gallery, Picture, slug
from reports.figures.keys import DOTTED, HEIGHT, SAMPLE, Entry, write_key
from reports.figures.layouts import GAP, LEFT, MANY, WIDEST
from reports.figures.multiples import Panel, Trellis, inch_axes, panel_grid
from reports.figures.scales import Scale, place_scale, tick_label, value_scale, value_ticks, without_touching
from reports.figures.theme import (
    DIVERGED,
    GREY,
    HAIRLINE,
    INK,
    NOTE,
    PAPER,
    TICK,
    WIDTH,
    Style,
    axes_at,
    label_width,
    plain,
    row_label,
    text_width,
    write_at,
)
from reports.frames import records
from reports.metrics import facts, number
from reports.sequential import level_text
from reports.wording import long_range_note, scope_of, times


@dataclass(frozen=True)
class Mark:
    """How the effects of one comparison are drawn; the colour is that of the variant."""

    marker: str
    size: float
    is_filled: bool


MARKS = {"same": Mark("o", 7.5, True), "matched": Mark("s", 6.5, False), "tuned": Mark("D", 6.5, True)}
ENDED: dict[str, dict[str, Any]] = {
    "pruned": {
        "marker": "v",
        "markersize": 7,
        "markerfacecolor": PAPER,
        "markeredgecolor": GREY,
        "markeredgewidth": 1.4,
    },
    "diverged": {"marker": "x", "markersize": 7, "markeredgecolor": DIVERGED, "markeredgewidth": 2},
}
"""State of a trial that has no loss of its own to how it is marked."""
NAMES = {"pruned": "given up"}
ROW = {2: (0.456, 0.36), 3: (0.57, 0.28)}
"""Inches of a row by the number of comparisons, and their distance as a share of it: the notes must not touch."""
THICK = 3.2
"""Of the base's line among those of trials."""


def fair_pictures(fair: Fair, stem: str, gallery: Gallery) -> list[Picture]:
    """The forest of all comparisons, and a figure of trials for each numeric setting that was searched over."""
    found = [_forest_picture(fair, stem, gallery)] if fair.metrics and fair.others else []
    frames = {path: frame for path, frame in trial_frames(fair).items() if len(finished(frame))}
    return found + [_trials_picture(fair, path, frame, stem, gallery) for path, frame in frames.items()]


def _forest_picture(fair: Fair, stem: str, gallery: Gallery) -> Picture:
    figure = comparisons_figure(fair)
    shown = pd.concat([arm.tables.effects for arm in fair.arms.values()])
    shown = shown[shown["metric"].isin(fair.metrics)]
    cut = any(line.get_marker() in ("<", ">") for ax in figure.axes for line in ax.lines)
    names = listed([COMPARISONS[name].lower() for name in fair.arms])
    parts = [
        f"Each row is one variant minus the base of the same comparison: {names}. Mark: mean over seeds.",
        f"Bar: {level_text(fair.origin.looks)} t interval, paired by seed; it speaks of {scope_of(shown)}."
        if shown["low"].notna().any()
        else "",
        _unchanged_note(fair),
        "Right: the verdict with the same settings (p corrected by Holm below 0.05), and in bold where another "
        "comparison has another one. Shaded: worse than the base. Under the names: what was made equal.",
        long_range_note(fair.origin.values) if "long_range_accuracy" in fair.metrics else "",
        _leaking_note([v for v in fair.others if v in fair.origin.leaking]),
        "Arrow heads: an interval that goes on beyond the axis." if cut else "",
    ]
    alt = (
        f"Difference of {times(len(fair.others), 'variant')} to {fair.origin.base} in "
        f"{listed([facts(metric).name for metric in fair.metrics])}, in {names}; {_changes_alt(fair)}."
    )
    title = "What each change does, compared fairly"
    return gallery.hang(figure, f"{stem}-fair", title, joined(parts), alt=alt, kind="effects")


WHY = {MATCHED: "of the size of the base already", TUNED: "the search found the same settings"}
"""Why a comparison leaves a variant as it is."""


def is_unchanged(fair: Fair, comparison: str, variant: str) -> bool:
    """Whether a comparison leaves a variant and the base as they are with the same settings: it has nothing to say."""
    return comparison != SAME and {variant, fair.origin.base} <= again(fair.arms[comparison])


def again(experiment: Experiment) -> set[str]:
    """Variants all of whose runs are those of the experiment that this one is a comparison of; the base among them."""
    runs = experiment.tables.study.runs
    before = {(row.variant, row.id) for row in runs if row.experiment == experiment.plan.get("origin")}
    found: dict[str, bool] = {}
    for row in experiment.runs:
        found[row.variant] = found.get(row.variant, True) and (row.variant, row.id) in before
    return {variant for variant, is_before in found.items() if is_before}


def own_verdicts(fair: Fair, metric: str, variant: str) -> dict[str, str]:
    """The verdict of each comparison that has one, without those that leave the variant as it is."""
    found = fair.verdicts(metric, variant)
    return {name: word for name, word in found.items() if not is_unchanged(fair, name, variant)}


def _unchanged_note(fair: Fair) -> str:
    """Which marks are left out, since they would be those of the same settings again."""
    found = [name for name in fair.made_equal if any(is_unchanged(fair, name, variant) for variant in fair.others)]
    return joined([f"No mark of {COMPARISONS[name].lower()}: the variant is as it is, {WHY[name]}." for name in found])


def _leaking_note(names: Sequence[str]) -> str:
    see = "sees" if len(names) == 1 else "see"
    said = "the tokens that are to be predicted: a better loss or accuracy is no gain."
    return f"{listed(names)} {see} {said}" if names else ""


def _changes_alt(fair: Fair) -> str:
    found = [changed(own_verdicts(fair, metric, variant)) for metric in fair.metrics for variant in fair.others]
    n = sum(map(len, found))
    return f"{times(n, 'verdict')} {'differs' if n == 1 else 'differ'} from that with the same settings"


def comparisons_figure(fair: Fair) -> Figure:
    """Effects on the headline metrics, at most three side by side: a row a variant, in it a mark a comparison."""
    order, columns = fair.others, min(3, len(fair.metrics))
    notes = {variant: row_note(fair, variant) for variant in order}
    row = max([ROW[len(fair.arms)][0], *(row_height(variant, note) for variant, note in notes.items())])
    names = max([label_width(row_label(v)) for v in order] + [text_width(n, NOTE) for n in notes.values()]) + 0.16
    words = _words_width(fair)
    total = min(WIDTH, names + columns * (words + WIDEST) + GAP)
    width = (total - names - GAP) / columns - words
    height = 0.65 + row * len(order) + 0.72
    rows = ceil(len(fair.metrics) / columns)
    figure = Figure(figsize=(total, rows * height + 0.3))
    key = [(COMPARISONS[name], _looks(MARKS[name], GREY)) for name in fair.arms]
    write_marks(figure, key, names, rows * height + 0.02)
    for i, metric in enumerate(fair.metrics):
        left = names + i % columns * (width + words)
        ax = axes_at(figure, left, i // columns * height + 0.65, width, row * len(order))
        plot_comparisons(fair, ax, metric)
        _title(ax, fair, metric, width + words - GAP)
        _name_rows(ax, order, notes if i % columns == 0 else None)
    return figure


def row_note(fair: Fair, variant: str) -> str:
    """What was made equal, in few letters, without the section of a setting: `d_ff 300; lr 0.003`."""
    found = (fair.settings(name, variant) for name in fair.made_equal)
    texts = [f"{path.rpartition('.')[2]} {brief(value)}" for settings in found for path, value in settings.items()]
    return "; ".join(dict.fromkeys(texts))


def _words_width(fair: Fair) -> float:
    words = [word for metric in fair.metrics for v in fair.others for word, _ in side_notes(fair, metric, v).values()]
    return max([text_width(word, NOTE, "bold") for word in words], default=0.5) + 0.11 + 2 * GAP


def side_notes(fair: Fair, metric: str, variant: str) -> dict[str, tuple[str, bool]]:
    """What stands right of a row, by comparison: a text, and whether it is news.

    The verdict with the same settings; of another comparison its verdict where it is another one, or why it has none.
    """
    found = own_verdicts(fair, metric, variant)
    notes = {name: (word, True) for name, word in changed(found).items()}
    for name in fair.arms:
        if name not in found and not is_unchanged(fair, name, variant):
            notes[name] = ("left out" if fair.left_out(name, variant) else "no result", False)
    return {SAME: (found[SAME], False), **notes} if SAME in found else notes


def plot_comparisons(fair: Fair, ax: Axes, metric: str) -> Axes:
    """One metric: a row for each variant but the base, in it the effect of each comparison with its interval."""
    order = fair.others
    effects, differences = (_joined(fair, name, metric) for name in ("effects", "differences"))
    difference_scale(ax, effects, differences, metric)
    ax.hlines(np.arange(len(order) - 1) + 0.5, 0, 1, HAIRLINE, linewidth=0.6, zorder=0.5, transform=across(ax))
    for y, variant in enumerate(order):
        for name, at in zip(fair.arms, places(y, len(fair.arms)), strict=True):
            effect = None if is_unchanged(fair, name, variant) else fair.effect(name, metric, variant)
            if effect is not None:
                _plot_effect(ax, at, effect, MARKS[name], fair.origin.styles[variant].colour)
        _write_notes(ax, y, fair, metric, variant)
    ax.axvline(0, color=INK, linewidth=1.1, zorder=1.5)
    ax.set_ylim(len(order) - 0.5, -0.5)
    mark_directions(ax, facts(metric).better)
    return ax


def places(y: int, n: int) -> list[float]:
    """Where the marks of `n` comparisons stand within a row."""
    return [y + ROW[n][1] * (i - (n - 1) / 2) for i in range(n)]


def _joined(fair: Fair, table: str, metric: str) -> pd.DataFrame:
    frames = [getattr(arm.tables, table) for arm in fair.arms.values()]
    found = pd.concat([frame for frame in frames if len(frame)])
    return found[found["metric"] == metric]


def _plot_effect(ax: Axes, y: float, effect: Mapping[str, Any], mark: Mark, colour: str) -> None:
    if not np.isnan(effect["low"]):
        ax.plot([effect["low"], effect["high"]], [y, y], color=colour, linewidth=2.2, zorder=3, solid_capstyle="butt")
        mark_cut(ax, y, effect["low"], effect["high"], colour)
    ax.plot(effect["difference"], y, zorder=4, linestyle="none", **_looks(mark, colour))


def _looks(mark: Mark, colour: str) -> dict[str, Any]:
    face, edge, width = (colour, colour, 0.0) if mark.is_filled else (PAPER, colour, 1.6)
    return {
        "marker": mark.marker,
        "markersize": mark.size,
        "markerfacecolor": face,
        "markeredgecolor": edge,
        "markeredgewidth": width,
    }


def _write_notes(ax: Axes, y: int, fair: Fair, metric: str, variant: str) -> None:
    at = dict(zip(fair.arms, places(y, len(fair.arms)), strict=True))
    for name, (text, is_news) in side_notes(fair, metric, variant).items():
        ax.annotate(
            text, (1, at[name]), xytext=(8, 0), xycoords=across(ax), textcoords="offset points", va="center",
            fontsize=NOTE, annotation_clip=False, color=INK if is_news else GREY,
            weight="bold" if is_news else "normal",
        )  # fmt: skip


def _title(ax: Axes, fair: Fair, metric: str, room: float) -> None:
    """The metric; under it, in `room` inches, its unit and the base's value, and others that comparisons give it."""
    found = {name: mean_value(fair, name, metric, fair.origin.base) for name in fair.arms}
    values = {name: number(value, metric) for name, value in found.items() if value == value}
    own = values.get(SAME, "")
    parts = [facts(metric).unit, f"base {own}" if own else ""]
    parts += [f"{name} {value}" for name, value in values.items() if name != SAME and value != own]
    parts = [part for part in parts if part]
    while len(parts) > 1 and text_width(", ".join(parts), NOTE) > room:
        parts.pop(0 if parts[0] == facts(metric).unit else -1)
    ax.set_title(facts(metric).name, pad=22)
    ax.annotate(
        ", ".join(parts), (0, 1), xytext=(0, 6), xycoords="axes fraction", textcoords="offset points", fontsize=NOTE,
        color=GREY,
    )  # fmt: skip


def _name_rows(ax: Axes, order: Sequence[str], notes: Mapping[str, str] | None) -> None:
    """Names of the rows with a note under each; none where they stand beside other axes already."""
    name_rows(ax, order if notes else [""] * len(order))
    for y, (variant, name) in enumerate(zip(order, ax.get_yticklabels(), strict=True)):
        if notes and notes[variant]:
            name.set_verticalalignment("bottom")
            ax.annotate(
                notes[variant], (0, y), xytext=(-4, -1), xycoords=across(ax), textcoords="offset points", ha="right",
                va="top", fontsize=NOTE, color=GREY, annotation_clip=False,
            )  # fmt: skip


def write_marks(figure: Figure, entries: Sequence[tuple[str, Mapping[str, Any]]], left: float, top: float) -> None:
    """Marks (properties of a line) with their names side by side; `left` and `top` in inches."""
    across, down = figure.get_size_inches()
    for text, looks in entries:
        at = ([(left + 0.09) / across], [1 - (top + 0.085) / down])
        figure.add_artist(Line2D(*at, linestyle="none", transform=figure.transFigure, **looks))
        write_at(figure, left + 0.22, top + 0.085, text, va="center_baseline", size=NOTE, color=INK)
        left += 0.22 + text_width(text, NOTE) + 0.3


def trial_frames(fair: Fair) -> dict[str, pd.DataFrame]:
    """The trials by each searched setting that has numbers alone: with its value as `at`, and `seed`, the same for all.

    As lines.summarise_lines wants them.
    """
    points = list(fair.trials["point"])
    paths = dict.fromkeys(path for point in points for path in point)
    found = {}
    for path in paths:
        values = [point.get(path) for point in points]
        if all(type(value) in (int, float) for value in values) and len(set(values)) > 1:
            found[path] = fair.trials.assign(at=np.array(values, dtype=np.float64), seed=0)
    return found


def _trials_picture(fair: Fair, path: str, frame: pd.DataFrame, stem: str, gallery: Gallery) -> Picture:
    order = [v for v in fair.origin.order if (frame["variant"] == v).any()]
    figure = trials_figure(frame, path=path, order=order, base=fair.origin.base, styles=fair.origin.styles)
    given_up = len(hopeless(frame))
    parts = [
        f"Each dot is a trial: validation loss after training with this {path}, on seeds that are not reported. "
        "The test set has no part in it.",
        "Star: the best trial, whose settings the tuned comparison has. Dotted line: where the base is best.",
        "The line is that of the best trial at each value." if frame.duplicated(["variant", "at"]).any() else "",
        f"At the upper end: {times(given_up, 'trial')} without a loss of {'its' if given_up == 1 else 'their'} own, "
        "given up by the rule fixed beforehand or diverged."
        if given_up
        else "",
    ]
    alt = f"Validation loss over {path}: {times(len(order), 'panel')}, a line of trials in each beside the base's."
    name = f"{stem}-trials-by-{slug(path)}"
    title = f"Validation loss by {path}"
    return gallery.hang(figure, name, title, joined(parts), alt=alt, kind="setting")


def trials_figure(
    frame: pd.DataFrame, *, path: str, order: Sequence[str], base: str, styles: Mapping[str, Style]
) -> Figure:
    """Validation loss of the trials (trial_frames) over one setting: a panel a variant, the base's thick line in all.

    A star is at the best trial; what was given up or has diverged stands at the upper end.
    """
    lines = envelope(finished(frame))
    figure, panels = _panels(len(order))
    y = value_scale(lines["mean"], lines, metric="loss", references={})
    x = place_scale(frame["at"].tolist())
    trellis = Trellis(inch_axes(figure), panels, x, y)
    of_base = best_trial(frame, base)
    mark = None if of_base is None else (float(of_base["point"][path]), "")
    trellis.frame(order, round_ticks(x, 72 * panels[0].width), value_ticks(y), {}, mark)
    looks = {**styles, base: replace(styles[base], width=THICK)}
    if _is_curve(frame):
        trellis.lines(lines, frame.iloc[:0], "at", order, base, looks)
    for panel, variant in zip(panels, order, strict=True):
        _mark_trials(trellis, panel, frame[frame["variant"] == variant], path, styles[variant].colour)
    trellis.names(path, "Validation loss (nats per token)")
    _write_trials_key(figure, base, styles[base], set(frame["state"]))
    return figure


def round_ticks(scale: Scale, points: float) -> list[float]:
    """Round values whose labels do not touch and are within the ends of an axis of so many points."""
    ticks = value_ticks(scale)
    halves = [36 * text_width(tick_label(tick), TICK) for tick in ticks]
    places = scale.share(ticks) * points
    inside = [t for t, at, half in zip(ticks, places, halves, strict=True) if half <= at <= points - half]
    return without_touching(inside, scale, points)


def envelope(trials: pd.DataFrame) -> pd.DataFrame:
    """The lowest value at each place of each variant, as lines.summarise_lines gives means: without a band."""
    lowest = trials.groupby(["variant", "at"], sort=True)["value"].min().reset_index(name="mean")
    return lowest.assign(low=np.nan, high=np.nan, n=1)


def _is_curve(frame: pd.DataFrame) -> bool:
    """Whether a line says something: the setting is the only one, or its values come back with others of the rest."""
    return all(len(point) == 1 for point in frame["point"]) or bool(frame.duplicated(["variant", "at"]).any())


def _mark_trials(trellis: Trellis, panel: Panel, rows: pd.DataFrame, path: str, colour: str) -> None:
    done = finished(rows)
    edge: dict[str, Any] = {"linestyle": "none", "clip_on": False}
    dots = trellis.place(panel, done["at"], done["value"])
    trellis.ax.plot(*dots.T, "o", color=colour, markersize=4.4, markeredgewidth=0, zorder=3.6, **edge)
    for state, looks in ENDED.items():
        chosen = rows[rows["state"] == state]
        at = trellis.place(panel, chosen["at"], np.full(len(chosen), trellis.y.high))
        trellis.ax.plot(*at.T, zorder=5, **looks, **edge)
    for best in records(done.sort_values(["value", "number"]).head(1)):
        at = trellis.place(panel, [best["at"]], [best["value"]])
        trellis.ax.plot(*at.T, "*", color=colour, markersize=14, markeredgecolor=PAPER, zorder=6, **edge)


def _panels(n: int) -> tuple[Figure, list[Panel]]:
    """`n` panels in rows of four, or of five where there are many, room for a key below; a single row is higher."""
    columns, height = (n, 2.6) if n <= 4 else (4, 1.75) if n < MANY else (5, 1.35)
    width = min(3.6, (WIDTH - LEFT - GAP * columns) / columns)
    step, lines = height + 0.42, ceil(n / columns)
    figure = Figure(figsize=(LEFT + columns * (width + GAP), 0.32 + lines * step + 0.22 + HEIGHT))
    return figure, panel_grid(n, columns, LEFT, width, height, gaps=(GAP, step - height))


def _write_trials_key(figure: Figure, base: str, style: Style, states: Collection[str]) -> None:
    """The base's line and its best place, the star, and the marks of those `states` that are there."""
    top = float(figure.get_figheight()) - HEIGHT
    names = (plain(base), f"best of {plain(base)}")
    write_key(figure, [Entry(names[0], style.colour, style.dash, THICK), Entry(names[1], dash=DOTTED)], LEFT, top)
    left = LEFT + sum(SAMPLE + 0.07 + text_width(name, NOTE) + 0.3 for name in names)
    entries = [("best trial", {"marker": "*", "markersize": 11, "color": GREY, "markeredgewidth": 0})]
    entries += [(NAMES.get(state, state), looks) for state, looks in ENDED.items() if state in states]
    write_marks(figure, entries, left, top)
