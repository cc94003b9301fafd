"""What the plan says of axes."""

from typing import Any

import pytest

from reports.figures.labels import axis_label, references

PLAN: Any = {"chance": {"accuracy": 0.5}}
TOLD: Any = {
    "chance": {"accuracy": 0.5},
    "references": {"accuracy": {"ceiling": 0.9}, "loss": {"floor": 0.1, "oracle": 0.2}},
    "units": {"distance": "words", "offset": "steps"},
}


def test_levels_are_chance_and_what_the_plan_names() -> None:
    assert references(PLAN, "accuracy") == {"chance": 0.5}
    assert references(PLAN, "loss") == {}
    assert references(TOLD, "accuracy") == {"chance": 0.5, "ceiling": 0.9}
    assert references(TOLD, "loss") == {"floor": 0.1, "oracle": 0.2}


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
