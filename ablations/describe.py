"""The catalogue and the tasks, described for `ablations list` and for the docs."""

from typing import Any, get_type_hints

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
            "values": [
                {
                    "value": value,
                    "does": catalogue.meaning(component, value),
                    "properties": list(catalogue.properties(component, value)),
                }
                for value in catalogue.choices(component)
            ]
            or _number(component),
            "where": component.where,
            "lecture": component.lecture,
        }
        for component in catalogue.COMPONENTS
    ]


def _number(component: catalogue.Component) -> str:
    kind = get_type_hints(ModelConfig)[component.name]
    return f"any {kind.__name__ if isinstance(kind, type) else kind}"


def _first_line(entry: Any) -> str:
    return (entry.__doc__ or "").strip().splitlines()[0]


def markdown() -> str:
    """The catalogue as docs/components.md, defaults first."""
    lines = [
        "# Components",
        "",
        "Every part that can be switched, made by `ablations list components --markdown`. The default stands first.",
        "",
        "| component | value | what it does | properties |",
        "| --- | --- | --- | --- |",
    ]
    for entry in components():
        values = entry["values"]
        if isinstance(values, str):
            lines.append(f"| `{entry['name']}` | {_cell(values)}; default `{entry['default']}` | | |")
            continue
        for number, value in enumerate(values):
            name = f"`{entry['name']}`" if number == 0 else ""
            properties = ", ".join(value["properties"]).replace("_", " ")
            lines.append(f"| {name} | `{value['value']}` | {_cell(value['does'])} | {properties} |")
    lines += ["", "## What the lecture says of each", ""]
    lines += [f"- **{entry['name']}** ({entry['where']}): {entry['lecture']}" for entry in components()]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
