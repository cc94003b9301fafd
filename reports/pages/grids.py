"""The tables that an experiment has, as text ready for the page."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from reports.experiment import Experiment
from reports.figures.theme import Style
from reports.metrics import facts, number, place, signed
from reports.rows import COUNTED, ITEMS
from reports.table import (
    Tables,
    describe_changes,
    describe_counts,
    describe_value,
    records,
    with_axis,
    with_category,
)
from reports.wording import quantity, ratio

COSTS = {
    "parameters": "Parameters",
    "training_flops": "Training FLOPs",
    "train_seconds": "Training seconds",
    "tokens_per_second": "Tokens/CPU s",
}

TOTALS = {
    "training_flops": "Training FLOPs",
    "wall_seconds": "Seconds",
    "train_seconds": "of them training",
    "busy_seconds": "CPU seconds of training",
    "parameters": "Parameters, most",
    "peak_memory_mib": "Peak memory (MiB)",
}
LARGEST = ("parameters", "peak_memory_mib")
"""Costs that do not add up over runs."""

SEES_THE_FUTURE = "sees the future"
BY_TOKEN = "accuracy-per-token"


@dataclass(frozen=True, kw_only=True)
class Link:
    """Where a cell leads to."""

    text: str
    target: str


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A table cell: its text, a smaller line under it, and a class for its looks."""

    text: str
    note: str = ""
    kind: str = "number"
    style: Style | None = None
    """Of the variant named in the cell."""
    tags: tuple[str, ...] = ()
    """What must be known of it, as labels."""
    links: tuple[Link, ...] = ()
    value: float | None = None
    """By which it is sorted; a text is sorted as text."""

    @property
    def looks(self) -> str:
        """`kind` as classes of CSS; a number is what cells are by default."""
        return " ".join(name for name in self.kind.split() if name != "number")

    @property
    def sort_key(self) -> str:
        """`value` as a script reads it; empty where there is none."""
        return "" if self.value is None or self.value != self.value else f"{self.value:.9g}"


@dataclass(frozen=True, kw_only=True)
class Grid:
    """A table on the page."""

    title: str
    """What it is, for those who do not see it: unique on the page."""
    columns: list[str]
    rows: list[list[Cell]]
    sortable: bool = False
    """By every column; and its rows can be filtered by what stands in them."""


def variants_grid(experiment: Experiment, links: Mapping[str, tuple[Link, ...]]) -> Grid:
    """One row per variant: what it changes, headline metrics, cost, seeds counted and planned; `links` by variant."""
    rows = {row["variant"]: row for row in records(experiment.tables.variants)}
    costs = {cost: label for cost, label in COSTS.items() if experiment.tables.variants[cost].notna().any()}
    base = rows.get(experiment.base, {})
    columns = ["Variant", *(facts(m).name for m in experiment.metrics), *costs.values(), "Seeds"]
    return Grid(
        title=f"Variants of {experiment.name}",
        columns=columns,
        rows=[
            [
                _variant_cell(experiment, variant, links.get(variant, ())),
                *(_metric_cell(rows[variant], metric) for metric in experiment.metrics),
                *(_cost_cell(rows[variant][cost], base.get(cost)) for cost in costs),
                _seeds_cell(rows[variant]),
            ]
            for variant in experiment.order
        ],
        sortable=True,
    )


def _variant_cell(experiment: Experiment, variant: str, links: tuple[Link, ...]) -> Cell:
    changes = describe_changes(experiment.changes(variant))
    return Cell(
        text=variant,
        note="the base" if variant == experiment.base else changes,
        kind="name",
        style=experiment.styles[variant],
        tags=tags(experiment, variant),
        links=links,
    )


def tags(experiment: Experiment, variant: str) -> tuple[str, ...]:
    """What a reader must know of a variant before its numbers."""
    return (SEES_THE_FUTURE,) if variant in experiment.leaking else ()


def _metric_cell(row: Mapping[str, Any], metric: str) -> Cell:
    if not row.get(f"{metric}_n"):
        return Cell(text="–")
    change, n = row[f"{metric}_change"], row[f"{metric}_n"]
    notes = ["" if change != change else signed(change, metric), "" if n == row["counted"] else f"n = {n:.0f}"]
    mean = row[f"{metric}_mean"]
    return Cell(text=number(mean, metric), note=", ".join(note for note in notes if note), value=mean)


def _cost_cell(value: float, base: float | None) -> Cell:
    return Cell(text=quantity(value), note=ratio(value, base), value=value)


def _seeds_cell(row: Mapping[str, Any]) -> Cell:
    kind = "number" if row["completed"] == row["planned"] else "number bad"
    return Cell(text=describe_counts(row), kind=kind, value=row["counted"])


def others_grid(experiment: Experiment) -> Grid | None:
    """Values that no figure and no other table shows: further metrics, coordinates that are names."""
    values = experiment.values[(experiment.values["metric"] != ITEMS) & experiment.values["value"].notna()]
    shown = with_axis(values).index.union(with_category(values).index)
    rows = values[
        ~values.index.isin(shown) & ~((values["coordinate"] == "") & values["metric"].isin(experiment.metrics))
    ]
    kinds = sorted(
        rows[["metric", "coordinate"]].drop_duplicates().itertuples(index=False, name=None),
        key=lambda kind: (kind[1] != "", place(kind[0])),
    )
    if not kinds:
        return None
    means = _means(rows, ["variant", "metric", "coordinate"])
    counted = experiment.tables.variants.set_index("variant")["counted"].to_dict()
    return Grid(
        title=f"Other values of {experiment.name}",
        columns=["Variant", *(f"{facts(m).name} {c}".strip() for m, c in kinds)],
        rows=[
            [
                Cell(text=variant, kind="name", style=experiment.styles[variant]),
                *(_mean_cell(means.get((variant, m, c)), m, counted[variant]) for m, c in kinds),
            ]
            for variant in experiment.order
        ],
    )


def categories_grid(experiment: Experiment) -> Grid | None:
    """Accuracy by category, a column for each variant; under it the one by token where it is another number."""
    values = with_category(experiment.values[experiment.values["value"].notna()])
    accuracy = values[values["metric"] == "accuracy"]
    if accuracy.empty:
        return None
    means = _means(values, ["category", "variant", "metric"])
    items = values[values["metric"] == ITEMS].groupby("category")["value"].max().to_dict()
    counted = experiment.tables.variants.set_index("variant")["counted"].to_dict()
    return Grid(
        title=f"Accuracy by category in {experiment.name}",
        columns=["Category", "Test items", *experiment.order],
        rows=[
            [
                Cell(text=category, kind="name"),
                Cell(text=f"{items[category]:.0f}" if category in items else "–"),
                *(_category_cell(means, category, variant, counted[variant]) for variant in experiment.order),
            ]
            for category in accuracy["category"].unique()
        ],
    )


Means = Mapping[tuple[str, ...], tuple[float, int]]
"""Mean over seeds and number of seeds, by what the columns hold."""


def _means(rows: pd.DataFrame, columns: list[str]) -> Means:
    found = rows.groupby(columns, sort=False)["value"].agg(["mean", "count"])
    return {key: (mean, int(n)) for key, mean, n in found.itertuples(name=None)}


def _mean_cell(mean: tuple[float, int] | None, metric: str, counted: int) -> Cell:
    if mean is None:
        return Cell(text="–")
    value, n = mean
    return Cell(text=number(value, metric), note="" if n == counted else f"n = {n}")


def _category_cell(means: Means, category: str, variant: str, counted: int) -> Cell:
    cell = _mean_cell(means.get((category, variant, "accuracy")), "accuracy", counted)
    by_token = _mean_cell(means.get((category, variant, BY_TOKEN)), BY_TOKEN, counted).text
    notes = [cell.note, f"{by_token} per token" if by_token not in (cell.text, "–") else ""]
    return Cell(text=cell.text, note=", ".join(note for note in notes if note))


def changes_grid(experiment: Experiment) -> Grid | None:
    """For each variant the settings that differ from the base, those that follow from others included."""
    base = experiment.config(experiment.base)
    rows = []
    for variant in experiment.order:
        planned = experiment.changes(variant)
        config = experiment.config(variant)
        differing = {p: v for p, v in config.items() if describe_value(v) != describe_value(base.get(p))}
        for path, value in {**planned, **(differing if base else {})}.items():
            before = describe_value(base[path]) if path in base else "–"
            follows = "" if path in planned else "as a consequence"
            texts = (path, before, describe_value(value), follows)
            rows.append([Cell(text=variant, kind="name"), *(Cell(text=text, kind="text") for text in texts)])
    title = f"What each variant of {experiment.name} changes"
    columns = ["Variant", "Setting", "Base", "Variant has", "Note"]
    return Grid(title=title, columns=columns, rows=rows) if rows else None


def cost_grid(tables: Tables) -> Grid | None:
    """What the runs of each experiment took, those that diverged included."""
    counted = tables.runs[tables.runs["state"].isin(COUNTED)]
    if counted.empty:
        return None
    names = {cost: label for cost, label in TOTALS.items() if counted[cost].notna().any()}
    return Grid(
        title="What the runs took, by experiment",
        columns=["Experiment", "Runs", *names.values()],
        rows=[
            [
                Cell(text=str(name), kind="name"),
                Cell(text=f"{len(rows)}"),
                *(Cell(text=_total(rows[cost].dropna().astype(float), cost)) for cost in names),
            ]
            for name, rows in counted.groupby("experiment", sort=False)
        ],
    )


def _total(values: pd.Series, cost: str) -> str:
    """The sum over runs; the largest of what does not add up."""
    if values.empty:
        return "–"
    return quantity(float(values.max() if cost in LARGEST else values.sum()))


def optional(value: float, form: str) -> str:
    """A number to print, with a proper minus sign; a dash where it is missing."""
    return "–" if value != value else format(value, form).replace("-", "−")
