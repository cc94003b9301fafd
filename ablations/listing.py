"""Shipped studies, lists on a terminal, names of folders. Imports no torch."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import yaml

from ablations import screen
from ablations.screen import Column

SHIPPED = Path(__file__).parent / "studies"

Entries = list[dict[str, Any]]


@dataclass(frozen=True)
class Shipped:
    """What somebody wants to know of a shipped study before it is run."""

    runs: int
    """As it stands, those of its comparisons too."""
    minutes: int
    """On two cores that do nothing else, roughly; a search among them."""
    data: str = ""
    """What it reads from a folder of yours."""


STUDIES = {
    "quick": Shipped(27, 3),
    "lecture-quick": Shipped(560, 16),
    "lecture": Shipped(1430, 40),
    # one part of the model each, in the order of the lecture
    "long-range": Shipped(330, 10),
    "look-up": Shipped(67, 1),
    "positions": Shipped(150, 3),
    "extrapolation": Shipped(60, 3),
    "nonlinearity": Shipped(50, 1),
    "masking": Shipped(45, 2),
    "heads": Shipped(95, 7),
    "scaling": Shipped(170, 2),
    "residual": Shipped(240, 7),
    "norm": Shipped(168, 4),
    "depth": Shipped(15, 1),
    "translation": Shipped(40, 3),
    # many parts
    "complexity": Shipped(14, 1),
    "interactions": Shipped(165, 5),
    "ladder": Shipped(100, 12),
    "components": Shipped(185, 35),
    # text from outside
    "text-quick": Shipped(4, 1, "tiny Shakespeare"),
    "multi30k-quick": Shipped(3, 7, "Multi30k"),
    "multi30k": Shipped(54, 95, "Multi30k"),
    "multi30k-budgets": Shipped(12, 30, "Multi30k"),
    "table3": Shipped(57, 135, "Multi30k"),
    "agreement": Shipped(10, 15, "WikiText-2, agreement"),
    "lecture-real": Shipped(100, 165, "Multi30k, WikiText-2, agreement"),
    "news-contrasts": Shipped(1, 10, "news and contrastive sets"),
}
"""The shipped studies, in the order in which a newcomer may want them."""


def studies() -> Entries:
    """The shipped studies, in the order of STUDIES; others in their folder come last."""
    names = [*STUDIES, *sorted({path.stem for path in SHIPPED.glob("*.yaml")} - STUDIES.keys())]
    return [_study(name) for name in names]


def _study(name: str) -> dict[str, Any]:
    plain = yaml.safe_load((SHIPPED / f"{name}.yaml").read_text(encoding="utf-8"))
    known = asdict(STUDIES[name]) if name in STUDIES else {"runs": None, "minutes": None, "data": ""}
    return {"name": plain["name"], **known, "description": plain.get("description", "").replace("`", "")}


def show(what: str, entries: Entries) -> None:
    """Print a row for each entry; of components, the values."""
    if what == "studies":
        _show_studies(entries)
        return
    if what == "components":
        heads = (Column(name="component"), Column(name="values"), Column(name="source", rank=1))
        screen.show(heads, [(entry["name"], _values(entry["values"]), entry["where"]) for entry in entries])
        screen.say("Of names the first is the default. More of each: ablations explain COMPONENT")
        return
    names = ("name", "kind", "description")
    screen.show([Column(name="") for _ in names], [[entry[name] for name in names] for entry in entries])


def _show_studies(entries: Entries) -> None:
    heads = (
        Column(name="study"),
        Column(name="runs", right=True, rank=2),
        Column(name="takes", right=True, rank=1),
        Column(name="needs", rank=3),
        Column(name="what"),
    )
    screen.show(heads, [_row(entry) for entry in entries])
    screen.say(
        "Takes: about as long on two cores that do nothing else; ablations plan STUDY says it for this machine. "
        "Needs: data from outside, in a folder (README: On your data).",
        hang="  ",
    )


def _row(entry: dict[str, Any]) -> tuple[str, ...]:
    runs, minutes = entry["runs"], entry["minutes"]
    counted = "" if runs is None else f"{runs:,}"
    return entry["name"], counted, "" if minutes is None else _takes(minutes), entry["data"], entry["description"]


def _takes(minutes: int) -> str:
    return f"{minutes} min" if minutes < 90 else f"{minutes / 60:.2g} h"


def _values(values: str | Entries) -> str:
    return values if isinstance(values, str) else ", ".join(value["value"] for value in values)


def folder_name(name: str) -> str:
    """A name as one path component on any system."""
    return quote(name, safe="=,+@ ").replace(" ", "_")
