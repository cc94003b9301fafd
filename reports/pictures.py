"""The figures that an experiment has, saved as files and ready for the page."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from markupsafe import Markup
from matplotlib.figure import Figure

from reports.experiment import Experiment
from reports.families import Family
from reports.figures import scale_places
from reports.layouts import effects_figure, inline, lines_figure, save
from reports.metrics import LONG_RANGE, facts
from reports.rows import ITEMS
from reports.statistics import summarise
from reports.table import SPLITS, by_seed, describe_counts, describe_value, records, with_axis
from reports.wording import effects_caption, long_range_note

AXIS_LABELS = {"distance": "Distance (tokens between the two ends)", "length": "Length (tokens)", "layer": "Layer"}
BANDS = "Lines are means over seeds, bands their 95\N{NO-BREAK SPACE}% t intervals"


LEAST_ITEMS = 10
"""Test items that a point of a curve must rest on, where their number is known."""


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A figure on the page."""

    title: str
    svg: Markup
    width: int
    """Natural width in CSS pixels."""
    caption: str


class Gallery:
    """Saves figures of the report and hands them on for the page."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names: set[str] = set()
        folder.mkdir(parents=True, exist_ok=True)

    def hang(self, figure: Figure, name: str, title: str, caption: str) -> Picture:
        """Save a figure under a file name, which is made unique in the report."""
        name = f"{name}-{len(self.names)}" if name in self.names else name
        self.names.add(name)
        svg = inline(save(figure, self.folder, name), name, f"{title}. {caption}")
        return Picture(title=title, svg=Markup(svg), width=round(figure.get_figwidth() * 96), caption=caption)

    def clear(self) -> None:
        """Remove figures of earlier reports that this one does not have."""
        for path in (*self.folder.glob("*.png"), *self.folder.glob("*.svg")):
            if path.stem not in self.names:
                path.unlink()


def pictures(experiment: Experiment, stem: str, gallery: Gallery) -> Iterator[Picture]:
    """Figures of results: effects, values along coordinates, learning curves. File names begin with `stem`."""
    if experiment.compared:
        yield _effects_picture(experiment, stem, gallery)
    on_sets = experiment.values[experiment.values["split"].isin(SPLITS)]
    yield from _axis_pictures(experiment, on_sets, stem, gallery)
    for metric in experiment.metrics:
        curves = experiment.tables.curves
        curves = curves[curves["metric"] == metric]
        if curves["step"].nunique() > 1 and np.isfinite(curves["value"]).any():
            yield _curve_picture(experiment, curves, metric, f"{stem}-{slug(metric)}-by-step", gallery)


def _effects_picture(experiment: Experiment, stem: str, gallery: Gallery) -> Picture:
    tables = experiment.tables
    base = {m: by_seed(experiment.values, experiment.name, m).get(experiment.base, {}) for m in experiment.compared}
    figure = effects_figure(
        tables.effects,
        tables.differences,
        metrics=experiment.compared,
        base_values={metric: summarise(list(values.values())).mean for metric, values in base.items()},
        order=[variant for variant in experiment.order if variant != experiment.base],
        notes=_row_notes(experiment),
        styles=experiment.styles,
    )
    rows = tables.effects[tables.effects["metric"].isin(experiment.compared)]
    compressed = any(ax.get_xscale() == "asinh" for ax in figure.axes)
    caption = effects_caption(rows, experiment.values, experiment.compared, compressed=compressed)
    if (tables.differences["state"] == "diverged").any():
        caption += " ✕: a diverged run, on this side or the base's, with the values fixed for it beforehand."
    return gallery.hang(figure, f"{stem}-effects", "What each change does", caption)


def _row_notes(experiment: Experiment) -> dict[str, str]:
    rows = records(experiment.tables.variants)
    return {r["variant"]: describe_counts(r) for r in rows if r["completed"] < r["planned"]}


def _axis_pictures(experiment: Experiment, rows: pd.DataFrame, stem: str, gallery: Gallery) -> Iterator[Picture]:
    """A figure for each metric that has values along a numeric coordinate.

    Where the task has a setting of that name, such as the length, the value on the main test set is a further point.
    """
    dense = _with_enough_items(rows)
    rows = with_axis(dense[(dense["metric"] != ITEMS) & dense["value"].notna()])
    for metric, axis in rows[["metric", "axis"]].drop_duplicates().itertuples(index=False, name=None):
        data = rows[(rows["metric"] == metric) & (rows["axis"] == axis)]
        trained = _trained_at(experiment, axis)
        if trained is not None and trained not in set(data["at"]):
            main = experiment.values[(experiment.values["metric"] == metric) & (experiment.values["coordinate"] == "")]
            data = pd.concat([data, main.assign(axis=axis, at=trained)])
        if data["at"].nunique() > 1 and np.isfinite(data["value"]).any():
            name = f"{stem}-{slug(metric)}-by-{slug(axis)}"
            yield _axis_picture(experiment, data, metric, axis, trained, name, gallery)


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
) -> Picture:
    figure = lines_figure(
        data.drop(columns="state"),
        x="at",
        metric=metric,
        order=experiment.order,
        base=experiment.base,
        styles=experiment.styles,
        x_label=AXIS_LABELS.get(axis, axis),
        chance=experiment.plan["chance"].get(metric),
        mark=None if trained is None else (trained, f"trained at {trained:g}"),
    )
    caption = _lines_caption(experiment.base, data, figure)
    caption += f" Points that rest on fewer than {LEAST_ITEMS} test items are left out." if axis == "distance" else ""
    if metric == "accuracy" and axis == "distance" and LONG_RANGE in experiment.metrics:
        caption += f" {long_range_note(experiment.values)}"
    return gallery.hang(figure, name, f"{facts(metric).name} by {axis}", caption)


def _lines_caption(base: str, data: pd.DataFrame, figure: Figure) -> str:
    seeds = data.groupby("variant")["seed"].nunique()
    log = figure.axes[0].get_yscale() == "log"
    parts = [
        "One seed each: no bands." if seeds.max() == 1 else "",
        "Thin lines: single seeds, where there are two." if (seeds == 2).any() else "",
        f"{BANDS} (no wider than the line where all seeds agree)." if seeds.max() > 2 else "",
        "Means and bands are those of the logarithms." if log and seeds.max() > 1 else "",
        f"Black: {base}." if base in seeds.index else "",
    ]
    return " ".join(part for part in parts if part)


def _trained_at(experiment: Experiment, axis: str) -> float | None:
    """The task's setting of a coordinate's name, where it has one and it is the same for all variants."""
    configs = [experiment.config(variant) for variant in experiment.plan["variants"]]
    settings = [config.get(f"task.{axis}") for config in configs if config]
    value = settings[0] if len({describe_value(setting) for setting in settings}) == 1 else None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _curve_picture(experiment: Experiment, curves: pd.DataFrame, metric: str, name: str, gallery: Gallery) -> Picture:
    figure = lines_figure(
        curves,
        x="step",
        metric=metric,
        order=experiment.order,
        base=experiment.base,
        styles=experiment.styles,
        x_label="Training step",
        chance=experiment.plan["chance"].get(metric),
        mark=None,
    )
    caption = f"{_lines_caption(experiment.base, curves, figure)} Validation set."
    if (curves["state"] == "diverged").any():
        caption += " ✕: a run diverged here; from there on the mean is over the other seeds."
    return gallery.hang(figure, name, f"{facts(metric).name} while training", caption)


def measured(experiment: Experiment, stem: str, gallery: Gallery) -> Iterator[Picture]:
    """Figures of measurements of the model itself, such as gradients by layer."""
    probes = experiment.values[~experiment.values["split"].isin(SPLITS)]
    yield from _axis_pictures(experiment, probes[probes["metric"] != LONG_RANGE], f"{stem}-measured", gallery)


def family_pictures(family: Family, stem: str, gallery: Gallery) -> Iterator[Picture]:
    """A figure for each headline metric, over the setting in which the points of a grid differ."""
    for metric in family.metrics:
        data = family.values(metric)
        if data["at"].nunique() > 1:
            yield _family_picture(family, data, metric, f"{stem}-{slug(metric)}-by-{slug(family.path)}", gallery)


def _family_picture(family: Family, data: pd.DataFrame, metric: str, name: str, gallery: Gallery) -> Picture:
    figure = lines_figure(
        data.drop(columns="state"),
        x="at",
        metric=metric,
        order=family.order,
        base=family.points[0].base,
        styles=family.points[0].styles,
        x_label=family.path,
        chance=family.chance(metric),
        mark=None,
    )
    scale_places(figure.axes[0], data["at"], most=8 if len(figure.axes) == 1 else 5)
    parts = [
        _lines_caption(family.points[0].base, data, figure),
        f"Each value of {family.path} is trained by itself.",
        _far_note(family) if metric == LONG_RANGE else "",
        "A diverged run has the values fixed for it beforehand." if (data["state"] == "diverged").any() else "",
    ]
    caption = " ".join(part for part in parts if part)
    return gallery.hang(figure, name, f"{facts(metric).name} by {family.path}", caption)


def _far_note(family: Family) -> str:
    notes = {long_range_note(point.values) for point in family.points if LONG_RANGE in point.metrics}
    return (
        notes.pop() if len(notes) == 1 else "Long-range accuracy is over the longest third of each point's distances."
    )


def slug(text: str) -> str:
    return "".join(c if c.isascii() and c.isalnum() else "-" for c in text.lower()).strip("-")[:40]
