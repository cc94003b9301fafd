"""`ablations explain`: what the lecture says of a component, a worked example, and what puts it to the test."""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ablations import components as catalogue
from ablations.components import COMPONENTS, Component
from ablations.describe import plain, values
from ablations.screen import columns, fold
from ablations.worked import EXAMPLES, Cell, Example, Table
from models.config import ConfigError

WIDTH = 100
"""Columns of running text, on a wide terminal too; tables are as wide as they must be."""
OUTSIDE = "Not in the lecture: "
"""What the catalogue says first of parts that the lecture does not speak of."""

Claims = Sequence[Mapping[str, Any]]
"""Entries of the register, as `reports.entries.registered` gives them."""


def explain(name: str, claims: Claims) -> dict[str, Any]:
    """All that is known of a component, in plain values. ConfigError with near matches for another name.

    name, section, says, equation, where, default, values as in the catalogue; example: question, tables and answer,
    or None; claims: those of which some condition changes the component; nearby: ids of the section's other claims;
    studies: those that test them; next: a command.
    """
    component = find(name)
    tested = [claim for claim in claims if f"model.{component.name}" in claim["changes"]]
    ids = [claim["id"] for claim in tested]
    make = EXAMPLES.get(component.name)
    return {
        "name": component.name,
        "section": component.section,
        "says": component.lecture,
        "equation": component.equation,
        "where": component.where,
        "default": catalogue.default(component),
        "values": values(component),
        "example": asdict(make()) if make else None,
        "claims": [{key: claim[key] for key in ("id", "kind", "statement", "studies")} for claim in tested],
        "nearby": [c["id"] for c in claims if c["section"] == component.section and c["id"] not in ids],
        "studies": list(dict.fromkeys(study for claim in tested for study in claim["studies"])),
        "next": component.next,
    }


def find(name: str) -> Component:
    """The component of this name, written with hyphens or underscores."""
    wanted, known = name.replace("-", "_"), {component.name: component for component in COMPONENTS}
    if wanted in known:
        return known[wanted]
    near = [other for other in known if wanted and wanted in other]
    near += [other for other in difflib.get_close_matches(wanted, known) if other not in near]
    hint = f"did you mean {', '.join(near)}?" if near else f"one of {', '.join(known)}"
    raise ConfigError(f"component {name!r}: {hint}")


def as_text(found: Mapping[str, Any]) -> str:
    """What `explain` gives, to be read: paragraphs and aligned tables."""
    example = found["example"]
    parts = [
        paragraph(f"{found['name']}: {found['section'] or 'not in the lecture'}"),
        paragraph(_says(found)),
        "\n".join(_facts(found)),
        *([example_text(_example(example))] if example else []),
        "\n".join(_claims(found)),
        f"Try next: {found['next']}" if found["next"] else "",
    ]
    return "\n\n".join(part for part in parts if part)


def _says(found: Mapping[str, Any]) -> str:
    """What the lecture says; that it says nothing stands in the heading already."""
    says: str = found["says"].removeprefix(OUTSIDE)
    return says[:1].upper() + says[1:]


def paragraph(text: str, indent: str = "", hang: str = "") -> str:
    """Text in lines of WIDTH columns at most, of fewer on a narrower terminal; the first begins with `indent`."""
    return "\n".join(fold(text, min(WIDTH, columns() or WIDTH), indent, hang))


def _facts(found: Mapping[str, Any]) -> Iterator[str]:
    hang = " " * 10
    yield paragraph(f"Equation: {found['equation']}", hang=hang)
    yield paragraph(f"Source:   {found['where']}", hang=hang)
    if isinstance(found["values"], str):
        yield paragraph(f"Values:   {found['values']}; default {plain(found['default'])}", hang=hang)
        return
    width = max(len(value["value"]) for value in found["values"])
    yield "Values:"
    for value in found["values"]:
        mark = "(default) " if value["value"] == found["default"] else ""
        yield paragraph(mark + value["does"], f"  {value['value']:<{width}}  ", " " * (width + 4))


def _claims(found: Mapping[str, Any]) -> Iterator[str]:
    if not found["claims"]:
        yield "No claim of the register changes it."
    else:
        yield "Claims that test it:"
    width = max((len(claim["id"]) for claim in found["claims"]), default=0)
    for claim in found["claims"]:
        text = f"{claim['statement']} [{claim['kind']}; ablations run {claim['studies'][-1]}]"
        yield paragraph(text, f"  {claim['id']:<{width}}  ", " " * (width + 4))
    if found["section"] and found["nearby"]:
        yield paragraph(f"Other claims of this section: {', '.join(found['nearby'])}")


def _example(plain: Mapping[str, Any]) -> Example:
    return Example(**{**plain, "tables": [Table(**table) for table in plain["tables"]]})


def example_text(example: Example) -> str:
    """A worked example: the question, aligned tables, the answer."""
    tables = [f"{table.title}\n\n{table_text(table)}" for table in example.tables]
    return "\n\n".join([paragraph(f"Worked example. {example.question}"), *tables, paragraph(example.answer)])


def table_text(table: Table) -> str:
    """Columns side by side, indented by four: texts to the left, numbers to the right."""
    rows = [list(table.columns), *([cell_text(cell, table.decimals) for cell in row] for row in table.rows)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(table.columns))]
    right = [not isinstance(cell, str) for cell in table.rows[0]]
    lines = [
        "    "
        + "  ".join(
            f"{cell:{'>' if to_right else '<'}{width}}"
            for cell, width, to_right in zip(row, widths, right, strict=True)
        )
        for row in rows
    ]
    return "\n".join(line.rstrip() for line in lines)


def cell_text(cell: Cell, decimals: int) -> str:
    """A text as it is, a whole number in groups of three, another with so many decimals and a proper minus."""
    if isinstance(cell, str):
        return cell
    shown = f"{cell:,}" if isinstance(cell, int) else f"{cell:.{decimals}f}"
    return shown.replace("-", "−")
