"""Known levels of a metric: chance, and what a task has scored on its test items, such as floors and ceilings."""

from reports.lengths import LENGTH
from reports.rows import ExperimentPlan


def known_levels(plan: ExperimentPlan, metric: str, *, over: str = "") -> dict[str, float]:
    """Levels by name: chance, then floors, ceilings and oracles; `over` is the axis of coordinates that they stand at.

    The latter are those of the main test set. Other lengths have other items and other levels: there, chance alone.
    """
    chance = {"chance": plan["chance"][metric]} if metric in plan["chance"] else {}
    return chance if over == LENGTH else {**chance, **plan.get("references", {}).get(metric, {})}
