"""Known levels are those of the test set that a number is of."""

from typing import Any

from reports.levels import known_levels

PLAN: Any = {"chance": {"accuracy": 0.5}}
TOLD: Any = {
    "chance": {"accuracy": 0.5},
    "references": {"accuracy": {"ceiling": 0.9}, "loss": {"floor": 0.1, "oracle": 0.2}},
}


def test_levels_are_chance_and_what_the_plan_names() -> None:
    assert known_levels(PLAN, "accuracy") == {"chance": 0.5}
    assert known_levels(PLAN, "loss") == {}
    assert known_levels(TOLD, "accuracy") == {"chance": 0.5, "ceiling": 0.9}
    assert known_levels(TOLD, "loss", over="distance") == {"floor": 0.1, "oracle": 0.2}


def test_at_other_lengths_there_are_other_items_and_chance_alone_holds() -> None:
    assert known_levels(TOLD, "accuracy", over="length") == {"chance": 0.5}
    assert known_levels(TOLD, "loss", over="length") == {}
