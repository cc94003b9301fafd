"""The figures that an experiment or a grid has, saved as files and ready for the page."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from reports.experiment import Experiment
from reports.families import Family
from reports.figures.captions import HOLLOW, PARTS, incomplete, joined, lines_alt, lines_caption, listed
from reports.figures.costs import COSTS, cost_figure, cost_points
from reports.figures.designs import design_pictures
from reports.figures.fairness import again
from reports.figures.forests import has_twins
from reports.figures.gallery import Gallery as Gallery
from reports.figures.gallery import Kind
from reports.figures.gallery import Picture as Picture
from reports.figures.gallery import slug as slug
from reports.figures.growth import GROWTH, growth_figure
from reports.figures.labels import axis_label
from reports.figures.layouts import effects_figure, lines_figure
from reports.frames import records
from reports.lengths import LENGTH
from reports.levels import known_levels
from reports.metrics import LONG_RANGE, facts
from reports.rows import ITEMS
from reports.sequential import level_text, look_level
from reports.statistics import summarise
from reports.table import describe_counts
from reports.values import SPLITS, by_seed, with_axis
from reports.wording import FORCED, effects_caption, long_range_note, times

LEAST_STEPS = 3
"""Validations that make a curve: two are a line whatever they are."""
LEAST_ITEMS = 10
"""Test items that a point of a curve must rest on, where their number is known."""
TWINS = "There are more variants than colours: of two of one colour the means have other shapes."
MOST_STEPS = 100
"""Steps of a learning curve that are drawn."""


def pictures(experiment: Experiment, stem: str, gallery: Gallery, *, effects: bool = True) -> Iterator[Picture]:
    """Figures of results: effects, then what the design asks for, values by distance. File names begin with `stem`.

    The effects of a comparison (matched, tuned) stand in the figure of all comparisons, and not once more alone.
    """
    if experiment.compared and effects and not experiment.plan.get("origin"):
        yield _effects_picture(experiment, stem, gallery)
    yield from design_pictures(experiment, stem, gallery)
    on_sets = experiment.values[experiment.values["split"].isin(SPLITS)]
    yield from _axis_pictures(experiment, on_sets, stem, gallery, "distance")


def training_pictures(experiment: Experiment, stem: str, gallery: Gallery) -> Iterator[Picture]:
    """Figures of how the results were come by: learning curves, costs."""
    for metric in experiment.metrics:
        curves = not_drawn_before(experiment, experiment.tables.curves)
        curves = curves[curves["metric"] == metric]
        if curves["step"].nunique() >= LEAST_STEPS and np.isfinite(curves["value"]).any():
            yield _curve_picture(experiment, curves, metric, f"{stem}-{slug(metric)}-by-step", gallery)
    yield from _cost_pictures(experiment, stem, gallery)


def measured(experiment: Experiment, stem: str, gallery: Gallery) -> Iterator[Picture]:
    """Figures of measurements of the model itself, such as gradients by layer, and time and memory by length."""
    probes = experiment.values[~experiment.values["split"].isin(SPLITS) & (experiment.values["metric"] != LONG_RANGE)]
    grows = probes["metric"].isin(list(GROWTH)) & probes["coordinate"].str.startswith("length=")
    yield from _axis_pictures(experiment, probes[~grows], f"{stem}-measured", gallery, "measured")
    rows = with_axis(probes[grows])
    for metric in rows["metric"].unique():
        data = rows[(rows["metric"] == metric) & (rows["value"] > 0)]
        if data["at"].nunique() > 1:
            yield _growth_picture(experiment, data, metric, f"{stem}-{slug(metric)}-by-length", gallery)


def family_pictures(family: Family, stem: str, gallery: Gallery) -> Iterator[Picture]:
    """A figure for each headline metric, over the setting in which the points of a grid differ."""
    for metric in family.metrics:
        data = family.values(metric)
        if data["at"].nunique() > 1:
            yield _family_picture(family, data, metric, f"{stem}-{slug(metric)}-by-{slug(family.path)}", gallery)


def _effects_picture(experiment: Experiment, stem: str, gallery: Gallery) -> Picture:
    tables = experiment.tables
    base = {m: by_seed(experiment.values, experiment.name, m).get(experiment.base, {}) for m in experiment.compared}
    order = [variant for variant in experiment.order if variant != experiment.base]
    figure = effects_figure(
        tables.effects,
        tables.differences,
        metrics=experiment.compared,
        base_values={metric: summarise(list(values.values())).mean for metric, values in base.items() if values},
        order=order,
        notes=_row_notes(experiment),
        styles=experiment.styles,
        hollow=experiment.leaking,
    )
    rows = tables.effects[tables.effects["metric"].isin(experiment.compared)]
    looks = experiment.looks
    compressed = any(ax.get_xscale() == "asinh" for ax in figure.axes)
    parts = [
        _length_note(experiment),
        effects_caption(rows, experiment.values, experiment.compared, compressed=compressed, looks=looks),
        PARTS if ((rows["item_variance"] > 0) & rows["low"].notna()).any() else "",
        HOLLOW if experiment.leaking & set(order) else "",
        TWINS if has_twins(order, experiment.styles) else "",
        "Arrow heads: an interval that goes on beyond the axis." if _is_cut(figure) else "",
        "✕: a diverged run, on this side or the base's, with the values fixed for it beforehand."
        if (tables.differences["state"] == "diverged").any()
        else "",
    ]
    alt = _effects_alt(experiment, order)
    title = "What each change does"
    return gallery.hang(figure, f"{stem}-effects", title, joined(parts), alt=alt, kind="effects")


def _length_note(experiment: Experiment) -> str:
    """At which length a figure is, where there are others."""
    trained = experiment.trained_at(LENGTH)
    has_others = any(experiment.lengths(metric) for metric in experiment.compared)
    return (
        f"At length {trained:g}, that of training; there is a figure for other lengths."
        if trained and has_others
        else ""
    )


def _is_cut(figure: Figure) -> bool:
    return any(line.get_marker() in ("<", ">") for ax in figure.axes for line in ax.lines)


def _effects_alt(experiment: Experiment, order: list[str]) -> str:
    names = listed([facts(metric).name for metric in experiment.compared])
    first = experiment.compared[0]
    rows = experiment.tables.effects[experiment.tables.effects["metric"] == first]
    counts = (int((rows["low"] > 0).sum()), "higher"), (int((rows["high"] < 0).sum()), "lower")
    signs = [f"{word} for {n}" for n, word in counts if n]
    said = f"; {facts(first).name} is {' and '.join(signs)}, their intervals leaving out zero" if signs else ""
    noun = "variant" if len(order) == 1 else "variants"
    return f"Difference of {len(order)} {noun} to {experiment.base} in {names}, a row each with its interval{said}."


def _row_notes(experiment: Experiment) -> dict[str, str]:
    """What stands under names: runs that are not there, and that a variant sees what it is to predict."""
    counts = {
        r["variant"]: describe_counts(r) for r in records(experiment.tables.variants) if r["completed"] < r["planned"]
    }
    leaks = dict.fromkeys(experiment.leaking, "sees the future")
    return {v: ", ".join(n[v] for n in (counts, leaks) if v in n) for v in experiment.order if v in counts | leaks}


def _axis_pictures(
    experiment: Experiment, rows: pd.DataFrame, stem: str, gallery: Gallery, kind: Kind
) -> Iterator[Picture]:
    """A figure for each metric that has values along a numeric coordinate.

    Where the task has a setting of that name, such as the length, the value on the main test set is a further point.
    """
    dense = not_drawn_before(experiment, _with_enough_items(rows))
    rows = with_axis(dense[(dense["metric"] != ITEMS) & dense["value"].notna()])
    for metric, axis in rows[["metric", "axis"]].drop_duplicates().itertuples(index=False, name=None):
        data = rows[(rows["metric"] == metric) & (rows["axis"] == axis)]
        trained = experiment.trained_at(axis)
        if trained is not None and trained not in set(data["at"]):
            main = experiment.values[(experiment.values["metric"] == metric) & (experiment.values["coordinate"] == "")]
            data = pd.concat([data, main.assign(axis=axis, at=trained)])
        if data["at"].nunique() > 1 and np.isfinite(data["value"]).any():
            name = f"{stem}-{slug(metric)}-by-{slug(axis)}"
            yield _axis_picture(experiment, data, metric, axis, trained, name, gallery, kind)


def not_drawn_before(experiment: Experiment, rows: pd.DataFrame) -> pd.DataFrame:
    """Rows without those of variants whose runs the experiment shares with that which it is a comparison of.

    Its figures have them already. The base stays beside the others, if there are any.
    """
    repeated = again(experiment)
    if not repeated:
        return rows
    own = rows[~rows["variant"].isin(repeated)]
    has_others = (own["variant"] != experiment.base).any()
    return rows[~rows["variant"].isin(repeated - {experiment.base})] if has_others else own.iloc[:0]


def _again_note(experiment: Experiment) -> str:
    n = len(again(experiment) - {experiment.base})
    runs = f"{'its' if n == 1 else 'their'} runs are those of {experiment.plan.get('origin')}"
    return f"Not drawn again: {times(n, 'variant')}, {runs}." if n else ""


def _with_enough_items(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows without those of coordinates whose numbers rest on a handful of test items: their spikes say nothing."""
    items = rows[(rows["metric"] == ITEMS) & (rows["coordinate"] != "")].groupby("coordinate")["value"].max()
    return rows[~rows["coordinate"].isin(items.index[items < LEAST_ITEMS])]


def _axis_picture(
    experiment: Experiment,
    data: pd.DataFrame,
    metric: str,
    axis: str,
    trained: float | None,
    name: str,
    gallery: Gallery,
    kind: Kind,
) -> Picture:
    figure = lines_figure(
        data,
        x="at",
        metric=metric,
        order=experiment.order,
        base=experiment.base,
        styles=experiment.styles,
        x_label=axis_label(experiment.plan, axis),
        references=known_levels(experiment.plan, metric, over=axis),
        mark=None if trained is None else (trained, f"trained at {trained:g}"),
    )
    parts = [
        lines_caption(data, metric),
        f"Points that rest on fewer than {LEAST_ITEMS} test items are left out." if axis == "distance" else "",
        long_range_note(experiment.values)
        if metric == "accuracy" and axis == "distance" and LONG_RANGE in experiment.metrics
        else "",
        _leaking_note(experiment, data),
        _again_note(experiment),
        incomplete(experiment, set(data["variant"])),
    ]
    title = f"{facts(metric).name} by {axis}"
    return gallery.hang(figure, name, title, joined(parts), alt=lines_alt(title, data, "at"), kind=kind)


def _leaking_note(experiment: Experiment, data: pd.DataFrame) -> str:
    names = [v for v in experiment.order if v in experiment.leaking and (data["variant"] == v).any()]
    return f"{listed(names)} {_sees(names)} the tokens that are to be predicted." if names else ""


def _sees(names: list[str]) -> str:
    return "sees" if len(names) == 1 else "see"


def _curve_picture(experiment: Experiment, curves: pd.DataFrame, metric: str, name: str, gallery: Gallery) -> Picture:
    drawn = thinned(curves)
    figure = lines_figure(
        drawn,
        x="step",
        metric=metric,
        order=experiment.order,
        base=experiment.base,
        styles=experiment.styles,
        x_label="Training step",
        references=known_levels(experiment.plan, metric),
        mark_ends=True,
    )
    parts = [
        f"{lines_caption(drawn, metric)} Validation set.",
        f"Of {curves['step'].nunique()} steps {drawn['step'].nunique()} are drawn." if len(drawn) < len(curves) else "",
        "✕: a run diverged here; from there on the mean is over the other seeds."
        if (curves["state"] == "diverged").any()
        else "",
        _leaking_note(experiment, drawn),
        _again_note(experiment),
        incomplete(experiment, set(drawn["variant"])),
    ]
    title = f"{facts(metric).name} while training"
    return gallery.hang(figure, name, title, joined(parts), alt=lines_alt(title, drawn, "step"), kind="curve")


def thinned(curves: pd.DataFrame) -> pd.DataFrame:
    """Every so many steps, so that MOST_STEPS remain, and the last of each run that diverged."""
    steps = np.sort(curves["step"].unique())
    if len(steps) <= MOST_STEPS:
        return curves
    kept = steps[np.linspace(0, len(steps) - 1, MOST_STEPS).round().astype(int)]
    ended = curves[(curves["state"] == "diverged") & np.isfinite(curves["value"])]
    last = ended.groupby(["variant", "seed"])["step"].transform("max") == ended["step"]
    return curves[curves["step"].isin(kept) | curves.index.isin(ended.index[last])]


def _cost_pictures(experiment: Experiment, stem: str, gallery: Gallery) -> Iterator[Picture]:
    """The first headline metric with a better side, against each cost in which the variants differ."""
    variants = experiment.tables.variants
    metric = next((m for m in experiment.metrics if facts(m).better and f"{m}_mean" in variants), None)
    if metric is None:
        return
    left_out = [v for v in experiment.order if v in experiment.leaking and metric in FORCED]
    variants = variants[~variants["variant"].isin(left_out)]
    points = {cost: cost_points(variants, metric, cost) for cost in COSTS}
    points = {cost: rows for cost, rows in points.items() if len(rows) > 1}
    if not points:
        return
    figure, unnamed = cost_figure(points, metric=metric, styles=experiment.styles)
    better = "lower" if facts(metric).better < 0 else "higher"
    leaks = f"Left out: {listed(left_out)}, which {_sees(left_out)} the tokens that are to be predicted."
    parts = [
        f"Means over completed runs; cheaper is further left, better is {better}. "
        "Grey line: variants that no other beats on both.",
        leaks if left_out else "",
        "Under the axes: variants whose names have no room beside their points." if unnamed else "",
    ]
    names = listed([COSTS[cost].lower().replace("flops", "FLOPs") for cost in points])
    alt = f"{facts(metric).name} of {max(map(len, points.values()))} variants against {names}."
    title = f"{facts(metric).name} against cost"
    yield gallery.hang(figure, f"{stem}-cost", title, joined(parts), alt=alt, kind="cost")


def _growth_picture(experiment: Experiment, data: pd.DataFrame, metric: str, name: str, gallery: Gallery) -> Picture:
    label, looks = axis_label(experiment.plan, "length"), experiment.looks
    figure = growth_figure(
        data,
        metric=metric,
        order=experiment.order,
        styles=experiment.styles,
        x_label=label,
        level=look_level(looks),
    )
    parts = [
        "Both axes are logarithmic. Points: means over seeds, with 95\N{NO-BREAK SPACE}% bands from three seeds on. "
        "Lines: power laws fitted to all lengths, exponents in the list",
        f"with {level_text(looks)} t intervals over seeds."
        if data["seed"].nunique() > 1
        else "(one seed, no interval).",
    ]
    title = f"{GROWTH[metric]} by length"
    return gallery.hang(figure, name, title, joined(parts), alt=lines_alt(title, data, "at"), kind="growth")


def _family_picture(family: Family, data: pd.DataFrame, metric: str, name: str, gallery: Gallery) -> Picture:
    point = family.points[0]
    figure = lines_figure(
        data,
        x="at",
        metric=metric,
        order=family.order,
        base=point.base,
        styles=point.styles,
        x_label=family.path,
        references=family.references(metric),
        mark_diverged=True,
        at_places=True,
    )
    parts = [
        lines_caption(data, metric),
        f"Each value of {family.path} is trained by itself.",
        _far_note(family) if metric == LONG_RANGE else "",
        _diverged_note(data),
    ]
    title = f"{facts(metric).name} by {family.path}"
    return gallery.hang(figure, name, title, joined(parts), alt=lines_alt(title, data, "at"), kind="setting")


def _diverged_note(data: pd.DataFrame) -> str:
    """How many runs diverged, of which variant, at which value of the setting."""
    rows = data[data["state"] == "diverged"].groupby(["variant", "at"], sort=False)["seed"].nunique().reset_index()
    counts = ", ".join(f"{row['seed']} of {row['variant']} at {row['at']:g}" for row in records(rows))
    return f"✕: a diverged run, with the value fixed for it beforehand. Diverged: {counts}." if counts else ""


def _far_note(family: Family) -> str:
    notes = {long_range_note(point.values) for point in family.points if LONG_RANGE in point.metrics}
    return (
        notes.pop() if len(notes) == 1 else "Long-range accuracy is over the longest third of each point's distances."
    )
