"""The tables that an experiment has, as text ready for the page."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from reports.experiment import Experiment
from reports.figures import Style
from reports.metrics import facts, number, place, signed
from reports.rows import ITEMS
from reports.table import describe_changes, describe_counts, describe_value, records, with_axis, with_category
from reports.wording import effect_note, interval, quantity, ratio

COSTS = {
    "parameters": "Parameters",
    "training_flops": "Training FLOPs",
    "train_seconds": "Training seconds",
    "tokens_per_second": "Tokens/CPU s",
}


BY_TOKEN = "accuracy-per-token"


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A table cell: its text, a smaller line under it, and a class for its looks."""

    text: str
    note: str = ""
    kind: str = "number"
    style: Style | None = None
    """Of the variant named in the cell."""


@dataclass(frozen=True, kw_only=True)
class Grid:
    """A table on the page."""

    columns: list[str]
    rows: list[list[Cell]]


def variants_grid(experiment: Experiment) -> Grid:
    """One row per variant: what it changes, headline metrics, cost, seeds counted and planned."""
    rows = {row["variant"]: row for row in records(experiment.tables.variants)}
    costs = {cost: label for cost, label in COSTS.items() if experiment.tables.variants[cost].notna().any()}
    base = rows.get(experiment.base, {})
    columns = ["Variant", *(facts(m).name for m in experiment.metrics), *costs.values(), "Seeds"]
    return Grid(
        columns=columns,
        rows=[
            [
                _variant_cell(experiment, variant),
                *(_metric_cell(rows[variant], metric) for metric in experiment.metrics),
                *(_cost_cell(rows[variant][cost], base.get(cost)) for cost in costs),
                Cell(text=describe_counts(rows[variant]), kind=_seeds_kind(rows[variant])),
            ]
            for variant in experiment.order
        ],
    )


def _variant_cell(experiment: Experiment, variant: str) -> Cell:
    changes = describe_changes(experiment.plan["changes"].get(variant, {}))
    note = "the base" if variant == experiment.base else changes
    return Cell(text=variant, note=note, kind="name", style=experiment.styles[variant])


def _metric_cell(row: Mapping[str, Any], metric: str) -> Cell:
    if not row.get(f"{metric}_n"):
        return Cell(text="–")
    change, n = row[f"{metric}_change"], row[f"{metric}_n"]
    notes = ["" if change != change else signed(change, metric), "" if n == row["counted"] else f"n = {n:.0f}"]
    return Cell(text=number(row[f"{metric}_mean"], metric), note=", ".join(note for note in notes if note))


def _cost_cell(value: float, base: float | None) -> Cell:
    return Cell(text=quantity(value), note=ratio(value, base))


def _seeds_kind(row: Mapping[str, Any]) -> str:
    return "number" if row["completed"] == row["planned"] else "number bad"


def effects_grid(experiment: Experiment) -> Grid | None:
    """Every effect with both intervals, headline metrics first."""
    rows = experiment.tables.effects
    if rows.empty:
        return None
    columns = [
        "Metric",
        "Variant",
        "Difference",
        "95\N{NO-BREAK SPACE}% interval, paired",
        "Unpaired (Welch)",
        "Correlation",
        "p",
        "n",
        "",
    ]
    order = {variant: place for place, variant in enumerate(experiment.order)}
    metrics = dict.fromkeys([*experiment.metrics, *rows["metric"]])
    ordered = [
        row
        for metric in metrics
        for row in sorted(records(rows[rows["metric"] == metric]), key=lambda row: order[row["variant"]])
    ]
    return Grid(columns=columns, rows=[_effect_cells(row) for row in ordered])


def _effect_cells(row: Mapping[str, Any]) -> list[Cell]:
    metric = row["metric"]
    return [
        Cell(text=facts(metric).name, kind="text"),
        Cell(text=row["variant"], kind="text"),
        Cell(text=signed(row["difference"], metric)),
        Cell(text=interval(row["low"], row["high"], metric)),
        Cell(text=interval(row["welch_low"], row["welch_high"], metric)),
        Cell(text=_optional(row["correlation"], ".2f")),
        Cell(text=_optional(row["p_value"], ".2g")),
        Cell(text=str(row["n_seeds"])),
        Cell(text=effect_note(row), kind="text"),
    ]


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


def settings_grid(experiment: Experiment) -> Grid | None:
    """The resolved settings of the base."""
    config = experiment.config(experiment.base)
    rows = [
        [Cell(text=path, kind="text"), Cell(text=describe_value(value), kind="text")] for path, value in config.items()
    ]
    return Grid(columns=["Setting", "Value"], rows=rows) if rows else None


def changes_grid(experiment: Experiment) -> Grid | None:
    """For each variant the settings that differ from the base, those that follow from others included."""
    base = experiment.config(experiment.base)
    rows = []
    for variant in experiment.order:
        planned = experiment.plan["changes"].get(variant, {})
        config = experiment.config(variant)
        differing = {p: v for p, v in config.items() if describe_value(v) != describe_value(base.get(p))}
        for path, value in {**planned, **(differing if base else {})}.items():
            before = describe_value(base[path]) if path in base else "–"
            follows = "" if path in planned else "as a consequence"
            rows.append([Cell(text=t, kind="text") for t in (variant, path, before, describe_value(value), follows)])
    return Grid(columns=["Variant", "Setting", "Base", "Variant has", ""], rows=rows) if rows else None


def _optional(value: float, form: str) -> str:
    return "–" if value != value else format(value, form).replace("-", "−")
