"""All tables of a study: runs, values, learning curves, variants, effects.

Every planned run and every planned variant is in them, whatever became of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from reports.frames import frame
from reports.lengths import with_lengths
from reports.levels import with_references
from reports.paired import Items, differences_table, effects_table, items_of
from reports.plans import describe_changes, variant_order
from reports.rows import COUNTED, STATES, Cost, ExperimentPlan, RunRow, StudyRows
from reports.statistics import Summary, summarise
from reports.values import by_seed, curves_table, headline_metrics, key_of, reported_values, values_table

COSTS = tuple(Cost.__annotations__)

RUN_COLUMNS = (
    *("experiment", "variant", "seed", "state", "reason", "id", "folder"),
    *COSTS,
    *("commit", "host", "device", "started", "ended"),
)


@dataclass(frozen=True, kw_only=True)
class Tables:
    """The tables of a study, or of one experiment of it."""

    study: StudyRows
    runs: pd.DataFrame
    values: pd.DataFrame
    """Every final value."""
    reported: pd.DataFrame
    """Those that the report speaks of."""
    curves: pd.DataFrame
    variants: pd.DataFrame
    effects: pd.DataFrame
    differences: pd.DataFrame
    items: Items
    problems: list[str]
    """What could not be read."""

    def within(self, experiment: str) -> "Tables":
        """The rows of one experiment."""
        tables: dict[str, Any] = {name: part for name, part in vars(self).items() if isinstance(part, pd.DataFrame)}
        return replace(self, **{name: part[part["experiment"] == experiment] for name, part in tables.items()})


def make_tables(study: StudyRows) -> Tables:
    """All tables of a study."""
    study = with_references(study)
    values = values_table(study)
    reported = reported_values(values)
    items, unreadable = items_of(study, reported)
    effects = effects_table(study, with_lengths(reported), items)
    curves, problems = curves_table(study)
    return Tables(
        study=study,
        runs=runs_table(study),
        values=values,
        reported=reported,
        curves=curves,
        variants=variants_table(study, reported, effects),
        effects=effects,
        differences=differences_table(study, reported),
        items=items,
        problems=[*problems, *unreadable],
    )


def runs_table(study: StudyRows) -> pd.DataFrame:
    """One row per planned run, with its state, cost and origin (RUN_COLUMNS)."""
    return frame((_run_record(row, study) for row in study.runs), RUN_COLUMNS)


def variants_table(study: StudyRows, values: pd.DataFrame, effects: pd.DataFrame) -> pd.DataFrame:
    """One row per planned variant: what it changes, states of its runs, cost, headline metrics and their change.

    `counted` of `planned` seeds enter the numbers: completed and diverged ones that have a value. Costs are means over
    completed runs. For each headline metric: mean, sample deviation, number of seeds, change against the base.
    """
    metrics = {name: headline_metrics(values, name, plan) for name, plan in study.plan["experiments"].items()}
    parts = ("mean", "sd", "n", "change")
    columns = dict.fromkeys(
        f"{metric}_{part}" for headline in metrics.values() for metric in headline for part in parts
    )
    changes = effects.set_index(["experiment", "metric", "variant"])["difference"].to_dict()
    found = []
    runs: dict[tuple[str, str], list[RunRow]] = {}
    for row in study.runs:
        runs.setdefault((row.experiment, row.variant), []).append(row)
    for name, plan in study.plan["experiments"].items():
        summaries = {metric: _summaries(values, name, metric) for metric in metrics[name]}
        for variant in variant_order(plan):
            record = _variant_record(runs.get((name, variant), []), name, plan, variant)
            for metric, summary in summaries.items():
                record |= _metric_record(metric, summary.get(variant), changes.get((name, metric, variant)))
            found.append(record)
    types = {column: "Int64" if column.endswith("_n") else "float" for column in (*COSTS, *columns)}
    fixed = ["experiment", "variant", "is_base", "changes", "planned", "counted", *STATES, *COSTS]
    return frame(found, (*fixed, *columns)).astype(types)


def describe_counts(counts: Mapping[str, Any]) -> str:
    """How many runs enter a number: `3 of 3`, `2 of 3, 1 failed`."""
    ends = [f"{counts[state]} {state}" for state in STATES if state != "completed" and counts[state]]
    return ", ".join([f"{counts['counted']} of {counts['planned']}", *ends])


def _run_record(row: RunRow, study: StudyRows) -> dict[str, Any]:
    place = {"reason": row.reason, "id": row.id, "folder": row.folder.relative_to(study.folder).as_posix()}
    result = row.result
    if result is None:
        return {**key_of(row), **place}
    origin = {name: result[name] for name in ("commit", "host", "device", "started", "ended")}
    return {**key_of(row), **place, **result["cost"], **origin}


def _summaries(values: pd.DataFrame, experiment: str, metric: str) -> dict[str, Summary]:
    found = by_seed(values, experiment, metric)
    return {variant: summarise(list(of_seed.values())) for variant, of_seed in found.items()}


def _variant_record(rows: list[RunRow], experiment: str, plan: ExperimentPlan, variant: str) -> dict[str, Any]:
    states: dict[str, int] = {state: sum(row.state == state for row in rows) for state in STATES}
    return {
        "experiment": experiment,
        "variant": variant,
        "is_base": variant == plan["base"],
        "changes": describe_changes(plan["changes"].get(variant, {})),
        "planned": len(rows),
        "counted": sum(row.state in COUNTED and _has_value(row) for row in rows),
        **states,
        **{cost: _mean_cost(rows, cost) for cost in COSTS},
    }


def _has_value(row: RunRow) -> bool:
    return row.result is not None and any(value["value"] is not None for value in row.result["metrics"])


def _mean_cost(rows: list[RunRow], cost: str) -> float | None:
    """Mean over completed runs: a diverged one stopped early."""
    costs = [row.result["cost"].get(cost) for row in rows if row.result and row.state == "completed"]
    known = [float(value) for value in costs if isinstance(value, int | float)]
    return sum(known) / len(known) if known else None


def _metric_record(metric: str, summary: Summary | None, change: float | None) -> dict[str, Any]:
    if summary is None:
        return {f"{metric}_n": 0}
    return {
        f"{metric}_mean": summary.mean,
        f"{metric}_sd": summary.deviation,
        f"{metric}_n": summary.n,
        f"{metric}_change": change,
    }
