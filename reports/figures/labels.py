"""What an experiment's plan says of the axes of its figures: known levels, and what coordinates count in."""

from reports.rows import ExperimentPlan


def references(plan: ExperimentPlan, metric: str) -> dict[str, float]:
    """Known levels of a metric by name: chance, floors, ceilings, oracles."""
    chance = {"chance": plan["chance"][metric]} if metric in plan["chance"] else {}
    return {**chance, **plan.get("references", {}).get(metric, {})}


def axis_label(plan: ExperimentPlan, axis: str) -> str:
    """Name of an axis of coordinates with what they count in."""
    unit = plan.get("units", {}).get(axis, "tokens")
    labels = {"distance": f"Distance ({unit} between the two ends)", "length": f"Length ({unit})", "layer": "Layer"}
    return labels.get(axis, f"{axis} ({unit})" if axis in plan.get("units", {}) else axis)
