"""What the plan says of axes."""

from typing import Any

import pytest

from reports.figures.labels import axis_label

PLAN: Any = {"chance": {"accuracy": 0.5}}
TOLD: Any = {
    "chance": {"accuracy": 0.5},
    "units": {"distance": "words", "offset": "steps"},
}


@pytest.mark.parametrize(
    ("plan", "axis", "label"),
    [
        (PLAN, "distance", "Distance (tokens to the answer, 1: next to it)"),
        (TOLD, "distance", "Distance (words)"),
        (TOLD, "length", "Length (tokens)"),
        (TOLD, "offset", "offset (steps)"),
        (PLAN, "layer", "Layer"),
        (PLAN, "_x", "_x"),
    ],
)
def test_axes_say_what_they_count_in(plan: Any, axis: str, label: str) -> None:
    assert axis_label(plan, axis) == label
