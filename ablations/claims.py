"""`ablations list claims` and `ablations claims` on a terminal, from the entries that `reports.entries` makes."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

Entry = Mapping[str, Any]

WIDE = 180
"""Columns where nobody looks on: what is read by a program or from a file is not folded to a screen."""


FEW = 8
"""Claims of another study that are named; more are counted."""


def show_register(claims: Sequence[Entry]) -> None:
    """A line for each claim: id, kind, statement; by section of the lecture."""
    ids, kinds = (max((len(claim[name]) for claim in claims), default=0) for name in ("id", "kind"))
    for section, found in by_section(claims):
        print(f"\n{section}")
        for claim in found:
            print(f"  {claim['id']:<{ids}}  {claim['kind']:<{kinds}}  {' '.join(claim['statement'].split())}")
    print(f"\n{len(claims)} claims")


def show_verdicts(found: Entry) -> None:
    """The verdicts of a study by section, reasons, what is not run and what other studies test, the tally."""
    console = Console(width=None if sys.stdout.isatty() else WIDE, highlight=False)
    verdicts = found["verdicts"]
    for section, of_section in by_section(verdicts):
        console.print(_table(section, of_section))
        console.print()
    for title, outcomes in (("Why", ("not supported", "inconclusive")), ("Not run", ("not run",))):
        _reasons(console, title, [verdict for verdict in verdicts if verdict["outcome"] in outcomes])
    _elsewhere(console, found["elsewhere"])
    if verdicts:
        tested = f"{_claims(len(verdicts))} of the lecture put to the test by {found['study']}"
        _say(console, f"{tested}: {found['tally']}")
    else:
        _say(console, f"{found['study']} puts no claim of the register to the test")


def _claims(n: int) -> str:
    return "1 claim" if n == 1 else f"{n} claims"


def by_section(entries: Iterable[Entry]) -> Iterator[tuple[str, list[Entry]]]:
    """Entries by their section, in the order in which sections first appear."""
    chapters: dict[str, list[Entry]] = {}
    for entry in entries:
        chapters.setdefault(entry["section"], []).append(entry)
    yield from chapters.items()


def _table(section: str, verdicts: Sequence[Entry]) -> Table:
    """A row for each condition; the first of a claim has its name and verdict."""
    table = Table(title=section, title_justify="left", box=None, pad_edge=False)
    for name in ("", "claim", "verdict"):
        table.add_column(name, no_wrap=True)
    for name in ("effect (95 % interval)", "wanted", "n", "kind"):
        table.add_column(name, overflow="fold")
    for verdict in verdicts:
        head = (verdict["symbol"], verdict["id"], _outcome(verdict))
        several = len(verdict["conditions"]) > 1
        for number, part in enumerate(verdict["conditions"]):
            left = head if number == 0 else ("", "", "")
            effect = f"{part['symbol']} {part['estimate']}" if several else part["estimate"]
            kind = verdict["kind"] if number == 0 else ""
            table.add_row(*map(Text, (*left, effect, part["region"], part["n"], kind)))
    return table


def _outcome(verdict: Entry) -> str:
    return f"{verdict['outcome']}, provisional" if verdict["provisional"] else verdict["outcome"]


def _reasons(console: Console, title: str, verdicts: Sequence[Entry]) -> None:
    told = [verdict for verdict in verdicts if verdict["reason"]]
    if told:
        _say(console, title)
        for verdict in told:
            _say(console, f"  {verdict['id']}: {verdict['reason']}")
        console.print()


def _elsewhere(console: Console, elsewhere: Mapping[str, Sequence[str]]) -> None:
    if elsewhere:
        _say(console, "Not tested by this study")
        for study, ids in elsewhere.items():
            _say(console, f"  ablations run {study}: {', '.join(ids) if len(ids) <= FEW else _claims(len(ids))}")
        console.print()


def _say(console: Console, text: str) -> None:
    console.print(text, markup=False, soft_wrap=True)
