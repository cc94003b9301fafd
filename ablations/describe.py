"""The catalogue and the tasks, described for `ablations list`."""

import json
from typing import Any, get_args, get_type_hints

from ablations import components as catalogue
from ablations.listing import Entries
from datamodules import TASKS
from models.config import ModelConfig


def tasks() -> Entries:
    """The tasks: kind, metrics and what they are."""
    return [
        {"name": name, "kind": task.kind, "metrics": list(task.headline), "description": _first_line(task)}
        for name, task in TASKS.items()
    ]


def components() -> Entries:
    """Every component with its values, their meaning and properties."""
    return [
        {
            "name": component.name,
            "default": catalogue.default(component),
            "values": values(component),
            "where": component.where,
            "lecture": component.lecture,
            "section": component.section,
            "equation": component.equation,
            "next": component.next,
        }
        for component in catalogue.COMPONENTS
    ]


def values(component: catalogue.Component) -> Entries | str:
    """The values that a component can take, each with what it does and its properties; of a number, its type."""
    return [
        {
            "value": value,
            "does": catalogue.meaning(component, value),
            "properties": list(catalogue.properties(component, value)),
        }
        for value in catalogue.choices(component)
    ] or _number(component)


KINDS = {int: "any whole number", float: "any number", bool: "true or false"}
"""Types of fields that are no choice between names."""


def _number(component: catalogue.Component) -> str:
    """The values of a number or a switch, in words."""
    kind = get_type_hints(ModelConfig)[component.name]
    words = next(text for one, text in KINDS.items() if one in (kind, *get_args(kind)))
    return f"{words}, or null: chosen to suit the rest" if type(None) in get_args(kind) else words


def plain(value: Any) -> str:
    """A number, a switch or nothing as it stands in YAML and on the command line."""
    return json.dumps(value)


def _first_line(entry: Any) -> str:
    return (entry.__doc__ or "").strip().splitlines()[0]
