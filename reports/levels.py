"""Known levels of a metric: chance, and what a task has scored on its test items, such as floors and ceilings."""

from dataclasses import replace
from typing import cast

from reports.lengths import LENGTH
from reports.rows import ExperimentPlan, Plan, StudyRows


def known_levels(plan: ExperimentPlan, metric: str, *, over: str = "") -> dict[str, float]:
    """Levels by name: chance, then floors, ceilings and oracles; `over` is the axis of coordinates that they stand at.

    The latter are those of the main test set. Other lengths have other items and other levels: there, chance alone.
    """
    chance = {"chance": plan["chance"][metric]} if metric in plan["chance"] else {}
    return chance if over == LENGTH else {**chance, **plan.get("references", {}).get(metric, {})}


def with_references(study: StudyRows) -> StudyRows:
    """The study with the floors, ceilings and oracles that its runs were measured against, in the plan.

    Those of the base, or of the first run that has any: they are of the test items, which the variants share.
    """
    experiments = {
        name: {**plan, "references": {**_references(study, name, plan["base"]), **plan.get("references", {})}}
        for name, plan in study.plan["experiments"].items()
    }
    return replace(study, plan=cast("Plan", {**study.plan, "experiments": experiments}))


def _references(study: StudyRows, experiment: str, base: str) -> dict[str, dict[str, float]]:
    rows = [row for row in study.runs if row.experiment == experiment and row.result]
    found = [row.result.get("references") for row in sorted(rows, key=lambda row: row.variant != base) if row.result]
    return next((references for references in found if references), {})
