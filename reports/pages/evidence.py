"""How sure an experiment is: what its seeds allow to see, and every effect in numbers."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from reports.experiment import Experiment
from reports.frames import records
from reports.lengths import length_of
from reports.metrics import facts, number
from reports.pages.grids import Cell, Grid, optional
from reports.power import noise_floor, seeds_needed, smallest_effect
from reports.sequential import level_text, look_level
from reports.statistics import LEVEL
from reports.values import by_seed
from reports.wording import change, effect_note, interval, is_decided, is_whole, scope_of, seeds_of

MOST_SEEDS = 1000
"""Seeds needed beyond which the number is of no use."""
NAMED = 3
"""Undecided variants named in the table of noise."""


def noise_grid(experiment: Experiment) -> Grid | None:
    """For each headline metric: spread of the base, smallest effect these seeds can show, seeds that others need.

    None where nothing is compared.
    """
    if experiment.tables.effects.empty:
        return None
    rows = [cells for metric in experiment.metrics if (cells := _noise_cells(experiment, metric)) is not None]
    columns = ["Metric", "Spread of the base over seeds", "Smallest effect to be seen", "Seeds needed, where undecided"]
    return Grid(title=f"What the seeds of {experiment.name} can show", columns=columns, rows=rows) if rows else None


def _noise_cells(experiment: Experiment, metric: str) -> list[Cell] | None:
    base = list(by_seed(experiment.values, experiment.name, metric).get(experiment.base, {}).values())
    if len(base) < 2:
        return None
    effects = records(experiment.tables.effects[experiment.tables.effects["metric"] == metric])
    floor = noise_floor(base)
    return [
        Cell(text=facts(metric).name, note=facts(metric).unit, kind="name"),
        Cell(text="–" if floor is None else number(floor, metric, floor), note=f"n = {len(base)}"),
        _smallest_cell(smallest_effects(effects, look_level(experiment.looks)), metric),
        Cell(text=_undecided(effects, look_level(experiment.looks)), kind="text"),
    ]


def noise_caption(looks: Sequence[int]) -> str:
    """How to read the table of noise; `looks` are the experiment's."""
    chance = f"{100 * (1 - look_level(looks)):.2g}\N{NO-BREAK SPACE}%"
    return (
        "Spread: sample deviation over seeds. Smallest effect: the difference that so many seeds would show four times "
        f"out of five (paired t test, {chance}), for the variant in the middle and, under it, from the steadiest to "
        "the noisiest. Seeds needed: for an effect of the size that was seen, where the interval holds zero."
    )


def smallest_effects(effects: Sequence[Mapping[str, Any]], level: float = LEVEL) -> list[float]:
    """For each effect that has a spread: the smallest that as many seeds of that spread would show at a level."""
    spreads = [(row["n_seeds"], spread) for row in effects if (spread := deviation(row)) is not None]
    units = {
        n: smallest_effect(1.0, n, level=level) for n in {n for n, _ in spreads}
    }  # in deviations, and slow to compute
    return [unit * spread for n, spread in spreads if (unit := units[n]) is not None]


def _smallest_cell(smallest: Sequence[float], metric: str) -> Cell:
    """The median over variants, and the range: noise differs from variant to variant."""
    if not smallest:
        return Cell(text="–")
    low, middle, high = (number(size, metric, size) for size in (min(smallest), np.median(smallest), max(smallest)))
    return Cell(text=middle, note="" if low == high else f"{low} to {high}")


def _undecided(effects: Sequence[Mapping[str, Any]], level: float) -> str:
    """Variants whose interval holds zero, with the seeds that their effect would need; the nearest first."""
    open_ = [row for row in effects if row["low"] <= 0 <= row["high"]]
    found = [(needed, row["variant"]) for row in open_ if (needed := needs(row, level))]
    found.sort(key=lambda pair: pair[0])
    named = [f"{variant}: {_seeds(needed)}" for needed, variant in found[:NAMED]]
    more = [f"{len(found) - NAMED} more"] if len(found) > NAMED else []
    return ", ".join([*named, *more]) or "–"


def deviation(effect: Mapping[str, Any]) -> float | None:
    """Sample deviation of the paired differences; None where there is none or it is zero."""
    variance = effect["seed_variance"]
    return float(np.sqrt(variance * effect["n_seeds"])) if variance == variance and variance > 0 else None


def needs(effect: Mapping[str, Any], level: float = LEVEL) -> int | None:
    """Seeds at which an effect of this size would be seen at a level; None where it cannot be said."""
    spread = deviation(effect)
    if spread is None or not effect["difference"]:
        return None
    return seeds_needed(effect["difference"], spread, level=level)


def _seeds(n: int) -> str:
    return f"over {MOST_SEEDS}" if n > MOST_SEEDS else str(n)


def effects_grid(experiment: Experiment) -> Grid | None:
    """Every effect with both intervals, headline metrics first."""
    rows = experiment.tables.effects
    if rows.empty:
        return None
    level = level_text(experiment.looks)
    columns = [
        *("Metric", "Variant", "Difference", f"{level} interval, paired", "Unpaired (Welch)"),
        *("Correlation", "p", "p (Holm)", "Seeds", "Seeds needed"),
    ]
    return Grid(
        title=f"Every effect of {experiment.name}",
        columns=columns,
        rows=[_effect_cells(row, look_level(experiment.looks)) for row in _ordered(rows, experiment)],
        sortable=True,
    )


def effects_caption(experiment: Experiment) -> str:
    """How to read the table of effects."""
    effects = experiment.tables.effects
    lengths = ", each length by itself" if any(length_of(metric) for metric in effects["metric"].unique()) else ""
    scope = f" and speaks of {scope_of(effects)}" if effects["low"].notna().any() else ""
    return (
        f"Variant minus {experiment.label(experiment.base)}. The paired interval is the one in the figures{scope}; "
        "Welch's does without the pairing, and the correlation of variant and base over seeds says what the pairing is "
        "worth. p is that of the paired t test, with the test items' part where the interval has it; p (Holm) is "
        f"corrected for the variants of this experiment on the same metric{lengths}. Seeds needed: for an effect of "
        "this size to be seen four times out of five."
    )


def _ordered(effects: pd.DataFrame, experiment: Experiment) -> list[dict[str, Any]]:
    order = {variant: place for place, variant in enumerate(experiment.order)}
    metrics = dict.fromkeys([*experiment.metrics, *effects["metric"]])
    return [
        row
        for metric in metrics
        for row in sorted(records(effects[effects["metric"] == metric]), key=lambda row: order[row["variant"]])
    ]


def _effect_cells(row: Mapping[str, Any], level: float) -> list[Cell]:
    metric, needed = row["metric"], needs(row, level)
    return [
        Cell(text=facts(metric).name, kind="text"),
        Cell(text=row["variant"], kind="name"),
        Cell(text=change(row["difference"], row["low"], row["high"], metric), value=row["difference"]),
        Cell(text=interval(row["low"], row["high"], metric), note=effect_note(row), value=row["low"]),
        Cell(text=interval(row["welch_low"], row["welch_high"], metric), value=row["welch_low"]),
        Cell(text=optional(row["correlation"], ".2f"), value=row["correlation"]),
        Cell(text=optional(row["p_value"], ".2g"), value=row["p_value"]),
        Cell(text=optional(row["p_holm"], ".2g"), value=row["p_holm"]),
        Cell(text=seeds_of(row), kind="text" if is_whole(row) else "text bad", value=row["n_seeds"]),
        Cell(text="–" if needed is None else _seeds(needed), value=needed),
    ]


def change_cell(row: Mapping[str, Any] | None, metric: str) -> Cell:
    """An effect in one cell: the difference, its interval under it; grey where the interval holds zero."""
    if row is None:
        return Cell(text="–")
    known = row["low"] == row["low"]
    note = interval(row["low"], row["high"], metric) if known else effect_note(row)
    counts = [] if is_whole(row) else [seeds_of(row)]
    return Cell(
        text=change(row["difference"], row["low"], row["high"], metric),
        note=", ".join([note, *counts]),
        kind="number" if is_decided(row) or not known else "number undecided",
        value=row["difference"],
    )
