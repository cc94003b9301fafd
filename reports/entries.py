"""The register and the verdicts of a study as plain dictionaries, to be listed or written as JSON."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from math import isfinite
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from reports.claims import verdicts
from reports.regions import Region
from reports.register import Claim, read_register
from reports.rows import read_study
from reports.table import make_tables
from reports.verdicts import Verdict
from reports.wording import SYMBOLS, estimate, outcomes

Entry = dict[str, Any]


def registered(claims: Sequence[Claim] | None = None) -> list[Entry]:
    """Every claim (of the register, unless given) with its fields; regions as text.

    `changes` are the dotted paths that some condition changes or draws its curve over, and those that it is about.
    """
    found = read_register() if claims is None else claims
    return [{**plain(claim), "changes": sorted(claim.paths)} for claim in found]


def judged(folder: Path) -> Entry:
    """What a study that was run says of the claims that it puts to the test.

    verdicts: with the condition's `estimate` in words and the `symbol` of each outcome beside the fields; tally: how
    many came to what; elsewhere: of the other claims of the register, the ids by the first study that tests them.
    RowsError where the plan cannot be used.
    """
    tables = make_tables(read_study(folder))
    claims = read_register()
    found = verdicts(tables, claims)
    return {
        "study": tables.study.plan["study"],
        "verdicts": [_verdict(verdict) for verdict in found],
        "tally": outcomes([verdict.outcome for verdict in found]),
        "elsewhere": _elsewhere(claims, {verdict.id for verdict in found}),
    }


def plain(value: Any) -> Any:
    """Dataclasses and what they hold as JSON has it; a region as its text, a number that is none as None."""
    if isinstance(value, Region):
        return value.text
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [plain(part) for part in value]
    if isinstance(value, bool | str | None):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value) if isfinite(value) else None
    return str(value)


def _verdict(verdict: Verdict) -> Entry:
    conditions = [
        {
            **plain(part),
            "symbol": SYMBOLS[part.outcome],
            "estimate": estimate(part.value, part.low, part.high),
        }
        for part in verdict.conditions
    ]
    return {**plain(verdict), "symbol": SYMBOLS[verdict.outcome], "conditions": conditions}


def _elsewhere(claims: Sequence[Claim], here: set[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for claim in claims:
        if claim.id not in here:
            found.setdefault(claim.studies[0], []).append(claim.id)
    return found
