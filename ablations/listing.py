"""Shipped studies, lists on a terminal, names of folders. Imports no torch."""

from pathlib import Path
from typing import Any
from urllib.parse import quote

import yaml

from ablations import screen
from ablations.screen import Column

SHIPPED = Path(__file__).parent / "studies"

Entries = list[dict[str, Any]]


def studies() -> Entries:
    """The shipped studies."""
    plain = [
        yaml.safe_load(path.read_text(encoding="utf-8"))
        for path in sorted(SHIPPED.glob("*.yaml"), key=lambda path: path.stem)
    ]
    return [{"name": study["name"], "description": study.get("description", "").replace("`", "")} for study in plain]


def show(what: str, entries: Entries) -> None:
    """Print a row for each entry; of components, the values."""
    if what == "components":
        heads = (Column(name="component"), Column(name="values"), Column(name="source", rank=1))
        screen.show(heads, [(entry["name"], _values(entry["values"]), entry["where"]) for entry in entries])
        screen.say("Of names the first is the default. More of each: ablations explain COMPONENT")
        return
    names = ("name", "kind", "description") if what == "tasks" else ("name", "description")
    screen.show([Column(name="") for _ in names], [[entry[name] for name in names] for entry in entries])


def _values(values: str | Entries) -> str:
    return values if isinstance(values, str) else ", ".join(value["value"] for value in values)


def folder_name(name: str) -> str:
    """A name as one path component on any system."""
    return quote(name, safe="=,+@ ").replace(" ", "_")
