"""The tables that an experiment has, as text ready for the page."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from reports.experiment import Experiment
from reports.figures.theme import Style
from reports.frames import records
from reports.metrics import facts, number, place, signed
from reports.plans import describe_changes, describe_value
from reports.rows import COUNTED, ITEMS
from reports.table import Tables, describe_counts
from reports.values import by_seed, with_axis, with_category
from reports.wording import quantity, ratio

COSTS = {
    "parameters": "Parameters",
    "training_flops": "Training FLOPs",
    "train_seconds": "Training seconds",
    "tokens_per_second": "Tokens per CPU second",
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
    anchor: str = ""
    """Where a link to it leads; of a name."""
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
    rows = {row["variant"]: row | _measured(experiment, row) for row in records(experiment.tables.variants)}
    costs = {cost: label for cost, label in COSTS.items() if experiment.tables.variants[cost].fillna(0).any()}
    costs = {c: label for c, label in costs.items() if label not in {facts(m).name for m in experiment.metrics}}
    base = rows.get(experiment.base, {})
    spans = _spans(experiment)
    columns = ["Variant", *(facts(m).name for m in experiment.metrics), *costs.values(), "Seeds"]
    return Grid(
        title=f"Variants of {experiment.name}",
        columns=columns,
        rows=[
            [
                _variant_cell(experiment, variant, links.get(variant, ())),
                *(_metric_cell(rows[variant], m, spans.get((variant, m), 0.0)) for m in experiment.metrics),
                *(_cost_cell(rows[variant][cost], base.get(cost)) for cost in costs),
                _seeds_cell(rows[variant]),
            ]
            for variant in experiment.order
        ],
        sortable=True,
    )


def _measured(experiment: Experiment, row: Mapping[str, Any]) -> dict[str, Any]:
    """Of metrics that are no headlines of the plan, where it has none, what the table of variants has of headlines."""
    found: dict[str, Any] = {}
    for metric in experiment.metrics:
        if (n := row.get(f"{metric}_n")) is None or n != n:
            values = by_seed(experiment.values, experiment.name, metric)
            own = list(values.get(row["variant"], {}).values())
            effects = experiment.tables.effects
            its = effects[(effects["variant"] == row["variant"]) & (effects["metric"] == metric)]
            found[f"{metric}_n"] = len(own)
            found[f"{metric}_mean"] = sum(own) / len(own) if own else float("nan")
            found[f"{metric}_change"] = float(its["difference"].sum()) if len(its) else float("nan")
    return found


def _variant_cell(experiment: Experiment, variant: str, links: tuple[Link, ...]) -> Cell:
    return Cell(
        text=variant,
        note=describe_base(experiment) if variant == experiment.base else describe_changes(experiment.changes(variant)),
        kind="name",
        style=experiment.styles[variant],
        tags=tags(experiment, variant),
        links=links,
    )


def describe_base(experiment: Experiment) -> str:
    """What stands with the base where variants have what they change: `the base, model.position: sinusoidal`."""
    return ", ".join(text for text in ("the base", describe_changes(experiment.base_setting)) if text)


def tags(experiment: Experiment, variant: str) -> tuple[str, ...]:
    """What a reader must know of a variant before its numbers."""
    return (SEES_THE_FUTURE,) if variant in experiment.leaking else ()


def _spans(experiment: Experiment) -> dict[tuple[str, str], float]:
    """Half the width of the interval of each effect, or its size where it has none: what its digits go by."""
    effects = experiment.tables.effects
    half = ((effects["high"] - effects["low"]) / 2).fillna(effects["difference"].abs())
    return dict(zip(zip(effects["variant"], effects["metric"], strict=True), half, strict=True))


def _metric_cell(row: Mapping[str, Any], metric: str, size: float) -> Cell:
    if not row.get(f"{metric}_n"):
        return Cell(text="–")
    change, n = row[f"{metric}_change"], row[f"{metric}_n"]
    notes = ["" if change != change else signed(change, metric, size), "" if n == row["counted"] else f"n = {n:.0f}"]
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
                Cell(text=experiment.label(variant), kind="name", style=experiment.styles[variant]),
                *(_mean_cell(means.get((variant, m, c)), m, counted[variant]) for m, c in kinds),
            ]
            for variant in experiment.order
        ],
    )


def categories_grid(experiment: Experiment) -> Grid | None:
    """Accuracy by category; under it the one by token where it is another number.

    A row for each variant, or for each category where these are more: a table grows downwards.
    """
    values = with_category(experiment.values[experiment.values["value"].notna()])
    accuracy = values[values["metric"] == "accuracy"]
    if accuracy.empty:
        return None
    means = _means(values, ["category", "variant", "metric"])
    items = values[values["metric"] == ITEMS].groupby("category")["value"].max().to_dict()
    counted = experiment.tables.variants.set_index("variant")["counted"].to_dict()
    categories = list(accuracy["category"].unique())
    cells = [[_category_cell(means, c, v, counted[v]) for v in experiment.order] for c in categories]
    counts = [f"{items[category]:.0f}" if category in items else "–" for category in categories]
    title = f"Accuracy by category in {experiment.name}"
    if len(experiment.order) > len(categories):
        columns = ["Variant", *categories]
        names = [Cell(text=experiment.label(v), kind="name", style=experiment.styles[v]) for v in experiment.order]
        of_variant = [[name, *own] for name, own in zip(names, zip(*cells, strict=True), strict=True)]
        last = [Cell(text="Test items", kind="name"), *(Cell(text=count) for count in counts)]
        return Grid(title=title, columns=columns, rows=[*of_variant, *([last] if items else [])])
    rows = [
        [Cell(text=category, kind="name"), Cell(text=count), *of_category]
        for category, count, of_category in zip(categories, counts, cells, strict=True)
    ]
    return Grid(title=title, columns=["Category", "Test items", *map(experiment.label, experiment.order)], rows=rows)


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


def settings_anchor(section: str, experiment: Experiment, variant: str) -> str:
    """Where the settings of a variant stand in the section of its experiment: by its place in the plan."""
    return f"{section}-variant-{list(experiment.plan['variants']).index(variant) + 1}"


def changes_grid(experiment: Experiment, section: str = "") -> Grid | None:
    """For each variant the settings that differ from the base, those that follow from others included.

    The first row of each variant has an anchor in the `section`. Before runs of both it is what is planned.
    """
    base = experiment.config(experiment.base)
    rows = []
    for variant in experiment.order:
        place = settings_anchor(section, experiment, variant) if variant != experiment.base else ""
        for path, value in _differing(experiment, variant, base).items():
            before = describe_value(base[path]) if path in base else "–"
            follows = "" if path in experiment.changes(variant) else "as a consequence"
            name = Cell(text=variant, kind="name", anchor=place)
            rows.append([name, *(Cell(text=text, kind="text") for text in (path, before, value, follows))])
            place = ""
    title = f"What each variant of {experiment.name} changes"
    columns = ["Variant", "Setting", "Base", "Variant has", "Note"]
    return Grid(title=title, columns=columns, rows=rows) if rows else None


def _differing(experiment: Experiment, variant: str, base: Mapping[str, Any]) -> dict[str, str]:
    """What a variant is there to change, then what else differs, by path; a dash for what only the base has."""
    config = experiment.config(variant) if base else {}
    paths = dict.fromkeys([*base, *config]) if config else {}
    values = {path: describe_value(config[path]) if path in config else "–" for path in paths}
    others = {path: value for path, value in values.items() if path not in base or value != describe_value(base[path])}
    planned = {path: describe_value(value) for path, value in experiment.changes(variant).items()}
    return {**planned, **others}


def cost_grid(tables: Tables) -> Grid | None:
    """What the runs of each experiment took, each once, those that diverged included."""
    counted = tables.runs[tables.runs["state"].isin(COUNTED)].drop_duplicates(["experiment", "folder"])
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
