"""What an experiment's plan says of the axes of its figures: what coordinates count in."""

from reports.rows import ExperimentPlan

UNITS = {"distance": "tokens to the answer, 1: next to it", "length": "tokens"}
"""What coordinates count in, where the plan does not say: so it is in all tasks on generated tokens."""


def axis_label(plan: ExperimentPlan, axis: str) -> str:
    """Name of an axis of coordinates with what they count in."""
    unit = {**UNITS, **plan.get("units", {})}.get(axis)
    name = axis.capitalize() if axis in (*UNITS, "layer") else axis
    return f"{name} ({unit})" if unit else name
