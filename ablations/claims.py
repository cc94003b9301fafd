"""`ablations list claims` and `ablations claims` on a terminal, from the entries that `reports.entries` makes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ablations.screen import columns, say

Entry = Mapping[str, Any]

FEW = 8
"""Claims of another study that are named; more are counted."""

KINDS = {
    "exact": "an identity, a count or a bound: every run must agree",
    "structural": "at any budget of training",
    "speed": "within the training steps that the claim fixes",
    "hardware": "in seconds, on the machine that ran it",
}
"""What a claim of each kind speaks of."""

LEGEND = (
    "Each condition names what is measured, and below it what was found: the mean over seeds and, in brackets, its "
    "95 % interval (of new seeds, or of new seeds and new test items; --json says which), then the region that was "
    "wanted, fixed before the runs. Provisional: of three or four seeds, or with planned seeds still missing."
)
"""How to read verdicts."""


def show_register(claims: Sequence[Entry]) -> None:
    """Each claim by section of the lecture: id, kind, statement, then what must be found for it to hold."""
    ids, kinds = (max((len(claim[name]) for claim in claims), default=0) for name in ("id", "kind"))
    for section, found in by_section(claims):
        say()
        say(section)
        for claim in found:
            name = f"  {claim['id']:<{ids}}  {claim['kind']:<{kinds}}  "
            _beside(name, " ".join(claim["statement"].split()))
            for part in claim.get("conditions", ()):
                say(f"- {part['text']}: {part['region']}", indent=" " * 6, hang=" " * 8)
    say()
    say("Below each claim: what is measured, and where it must lie for the claim to hold; all of it must.")
    for kind, meaning in KINDS.items():
        say(f"{kind}: {meaning}", indent="  ", hang="    ")
    say(f"{len(claims)} claims")


def _beside(name: str, text: str) -> None:
    """A text beside its name, or below it where the terminal leaves too little room."""
    width = columns()
    if width is None or width - len(name) >= 60:
        say(text, indent=name, hang=" " * len(name))
    else:
        say(name.rstrip())
        say(text, indent=" " * 4)


def show_verdicts(found: Entry) -> None:
    """The verdicts of a study by section with their conditions, what other studies test, and what it all comes to."""
    verdicts = found["verdicts"]
    for section, of_section in by_section(verdicts):
        say(section)
        for verdict in of_section:
            say()
            _verdict(verdict)
        say()
    if verdicts:
        say(LEGEND)
        say()
    _elsewhere(found["elsewhere"])
    _open(verdicts)
    if verdicts:
        say(f"{_claims(len(verdicts))} of the lecture put to the test by {found['study']}: {found['tally']}")
    else:
        say(f"{found['study']} puts no claim of the register to the test")


def _claims(n: int) -> str:
    return "1 claim" if n == 1 else f"{n} claims"


def by_section(entries: Iterable[Entry]) -> Iterator[tuple[str, list[Entry]]]:
    """Entries by their section, in the order in which sections first appear."""
    chapters: dict[str, list[Entry]] = {}
    for entry in entries:
        chapters.setdefault(entry["section"], []).append(entry)
    yield from chapters.items()


def _verdict(verdict: Entry) -> None:
    """The claim and its verdict, then each condition: what is measured, what was found and what was wanted."""
    outcome = f"{verdict['outcome']}, provisional" if verdict["provisional"] else verdict["outcome"]
    say(f"{verdict['symbol']} {verdict['id']}  {outcome} ({verdict['kind']})", hang="  ")
    say(" ".join(verdict["statement"].split()), indent="  ")
    if verdict["outcome"] == "not run":
        say(f"why: {verdict['reason']}", indent="    ", hang="      ")
        return
    told = [part["reason"] for part in verdict["conditions"] if part["reason"]]
    if verdict["reason"] and not told:
        say(f"why: {verdict['reason']}", indent="    ", hang="      ")
    for part in verdict["conditions"]:
        say(f"{part['symbol']} {part['text']}", indent="    ", hang="      ")
        say(f"found {part['estimate']}, wanted {part['region']}; {part['n']}", indent="      ", hang="        ")
        if part["reason"]:
            say(f"why: {part['reason']}", indent="      ", hang="        ")


def _elsewhere(elsewhere: Mapping[str, Sequence[str]]) -> None:
    if elsewhere:
        say("Not tested by this study")
        for study, ids in elsewhere.items():
            told = ", ".join(ids) if len(ids) <= FEW else _claims(len(ids))
            say(f"ablations run {study}: {told}", indent="  ", hang="    ")
        say()


def _open(verdicts: Sequence[Entry]) -> None:
    """The ids of the claims that are not supported, open or not run: they are easily lost among many."""
    if len(verdicts) <= FEW:
        return
    for outcome in ("not supported", "inconclusive", "not run"):
        ids = [verdict["id"] for verdict in verdicts if verdict["outcome"] == outcome]
        if ids:
            say(f"{outcome}: {', '.join(ids)}", hang="  ")
