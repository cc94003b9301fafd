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
    lines += [
        "`ablations explain COMPONENT` says the same, with a worked example of some and the claims that test each."
    ]
    for section in (*catalogue.SECTIONS, ""):
        lines += ["", f"### {section or 'Not in the lecture'}", ""]
        lines += [_said(entry) for entry in components() if entry["section"] == section]
    return "\n".join(lines) + "\n"


def _said(entry: dict[str, Any]) -> str:
    says = entry["lecture"].removeprefix("Not in the lecture: ")
    tried = f" Try: `{entry['next']}`." if entry["next"] else ""
    return f"- **{entry['name']}** ({entry['where']}): {says[0].upper()}{says[1:]} `{entry['equation']}`{tried}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
