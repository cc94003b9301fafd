"""Shipped studies, lists on a terminal, names of folders. Imports no torch."""

from pathlib import Path
from typing import Any
from urllib.parse import quote

import yaml
from rich.console import Console
from rich.markup import escape
from rich.table import Table

SHIPPED = Path(__file__).parent / "studies"

Entries = list[dict[str, Any]]


def studies() -> Entries:
    """The shipped studies."""
    plain = [
        yaml.safe_load(path.read_text(encoding="utf-8"))
        for path in sorted(SHIPPED.glob("*.yaml"), key=lambda path: path.stem)
    ]
    return [{"name": study["name"], "description": study.get("description", "")} for study in plain]


def show(what: str, entries: Entries) -> None:
    """Print one line for each entry; of components, the values."""
    table = Table(box=None, pad_edge=False, show_header=False)
    for entry in entries:
        if what == "components":
            values = entry["values"]
            text = values if isinstance(values, str) else ", ".join(value["value"] for value in values)
            table.add_row(entry["name"], escape(text), entry["where"])
        else:
            table.add_row(entry["name"], entry.get("kind", ""), escape(entry["description"]))
    Console().print(table)


def folder_name(name: str) -> str:
    """A name as one path component on any system."""
    return quote(name, safe="=,+@ ").replace(" ", "_")
