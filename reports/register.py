"""The register of claims, claims.yaml: what the lecture says, and what would show it to be so. Read and checked here.

A claim has these fields:

    id, section, statement  its name, where the lecture says it, what it says in our words
    kind                    exact (an identity, a count or a bound), structural (at any budget), speed (within the steps
                            that `settings` fix), hardware (seconds, on the machine named)
    tests                   [{study, experiment}]: where it is put to the test
    settings                {dotted path: value} that the base must have for the test to be one of this claim
    seeds                   fewest seeds that decide it
    conditions              what must hold, all of it:
        text                  the quantity in words, with its unit
        compare               how the quantity is made: one of COMPARISONS
        variant, against      changes of the two variants that are compared, as in the study: {model.position: none};
                              without `against`: the base. Names of variants do not matter
        metric, split         where the values come from
        region                {at_least: a}, {at_most: b}, both; {above: a}, {below: b}, both
        reference             for a level: the value that means "no effect", such as chance
        floor                 for a ratio: what counts at least
        oracle                for an excess: name among the plan's references of that metric
    held_equal              what both sides have in common
    counter_evidence        what speaks against it elsewhere, with its source

The file's `note` says how the margins came about, and goes with every verdict.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any, NoReturn

import yaml

from reports.regions import Region
from reports.table import SPLITS

REGISTER = Path(__file__).with_name("claims.yaml")

KINDS = ("exact", "structural", "speed", "hardware")

COMPARISONS = {
    "difference": "variant minus base",
    "ratio": "variant over base",
    "level": "the variant alone",
    "excess": "variant minus a known oracle",
    "exact": "every run of the variant, without an interval",
}


class RegisterError(ValueError):
    """The register cannot be used; one line that names the claim, the field and what is wrong."""


@dataclass(frozen=True, kw_only=True)
class Condition:
    """One thing that must hold for a claim."""

    text: str
    compare: str
    metric: str
    split: str
    region: Region
    variant: Mapping[str, Any]
    against: Mapping[str, Any] = field(default_factory=dict)
    floor: float | None = None
    oracle: str | None = None


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a claim is put to the test."""

    study: str
    experiment: str


@dataclass(frozen=True, kw_only=True)
class Claim:
    """An entry of the register; the fields are described above."""

    id: str
    section: str
    statement: str
    kind: str
    tests: tuple[Place, ...]
    settings: Mapping[str, Any]
    seeds: int
    conditions: tuple[Condition, ...]
    held_equal: str
    counter_evidence: str
    note: str


def read_register(path: Path = REGISTER) -> tuple[Claim, ...]:
    """All claims in the order of the file.

    Raises RegisterError for a field that is unknown, absent or of another type, an impossible region, a doubled id.
    """
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise RegisterError(f"{path.name}: cannot be read: {' '.join(str(error).split())}") from error
    top = _fields(path.name, content, {"note": str, "claims": list})
    claims = tuple(_claim(path.name, number, entry, top["note"]) for number, entry in enumerate(top["claims"], 1))
    ids = [claim.id for claim in claims]
    if doubled := [name for name in ids if ids.count(name) > 1]:
        _refuse(path.name, f"{doubled[0]}: there are two claims of this id")
    return claims


CLAIM_FIELDS: dict[str, type] = {
    **dict.fromkeys(("id", "section", "statement", "kind", "held_equal", "counter_evidence"), str),
    **dict.fromkeys(("tests", "conditions"), list),
    "settings": dict,
    "seeds": int,
}
CONDITION_FIELDS: dict[str, type] = {
    **dict.fromkeys(("text", "compare", "metric", "split"), str),
    **dict.fromkeys(("variant", "region"), dict),
}
OPTIONAL_FIELDS: dict[str, type] = {"against": dict, "reference": float, "floor": float, "oracle": str}
BELONGS = {"reference": "level", "floor": "ratio", "oracle": "excess"}
"""Fields that one comparison needs and no other has."""

ENDS = {"at_least": ("low", True), "at_most": ("high", True), "above": ("low", False), "below": ("high", False)}
"""Fields of a region: which end it is, and whether that belongs to the region."""


def _claim(file: str, number: int, entry: Any, note: str) -> Claim:
    name = entry.get("id", number) if isinstance(entry, dict) else number
    where = f"{file}: claim {name}"
    found = _fields(where, entry, CLAIM_FIELDS)
    if found["kind"] not in KINDS:
        _refuse(where, f"kind: {found['kind']!r}: one of {', '.join(KINDS)}")
    if found["seeds"] < 1 or not found["conditions"] or not found["tests"]:
        _refuse(where, "at least one seed, one test and one condition are wanted")
    tests = [_fields(f"{where}: tests", test, {"study": str, "experiment": str}) for test in found["tests"]]
    conditions = [
        _condition(f"{where}: condition {place}", condition) for place, condition in enumerate(found["conditions"], 1)
    ]
    parts = {"tests": tuple(Place(**test) for test in tests), "conditions": tuple(conditions)}
    return Claim(**{**found, **parts}, note=note)


def _condition(where: str, entry: Any) -> Condition:
    found = _fields(where, entry, CONDITION_FIELDS, OPTIONAL_FIELDS)
    compare = found["compare"]
    if compare not in COMPARISONS:
        _refuse(where, f"compare: {compare!r}: one of {', '.join(COMPARISONS)}")
    for name, owner in BELONGS.items():
        if (name in found) != (compare == owner):
            _refuse(where, f"{name}: needed by {owner}, and by nothing else")
    if found["split"] not in (*SPLITS, "probe"):
        _refuse(where, f"split: {found['split']!r}: one of {', '.join(SPLITS)}, probe")
    if found.get("floor", 1) <= 0:
        _refuse(where, "floor: must be above 0")
    reference = found.pop("reference", None)
    region = _region(f"{where}: region", found["region"], ratio=compare == "ratio", reference=reference)
    return Condition(**{**found, "region": region})


def _region(where: str, entry: Any, *, ratio: bool, reference: float | None) -> Region:
    found = _fields(where, entry, {}, dict.fromkeys(ENDS, float))
    limits = {ENDS[name][0]: float(value) for name, value in found.items()}
    closed = {ENDS[name][1] for name in found}
    if len(limits) < len(found) or len(closed) > 1:
        _refuse(where, "at_least, at_most or both; above, below or both")
    try:
        return Region(
            low=limits.get("low", -inf),
            high=limits.get("high", inf),
            closed=True in closed,
            reference=reference,
            ratio=ratio,
        )
    except ValueError as error:
        _refuse(where, str(error))


def _fields(
    where: str, entry: Any, required: Mapping[str, type], optional: Mapping[str, type] | None = None
) -> dict[str, Any]:
    """The entry, if it has all of the required fields and no others than these, each of its type."""
    known = {**required, **(optional or {})}
    if not isinstance(entry, dict):
        _refuse(where, f"fields are wanted ({', '.join(known)}), not {entry!r}")
    for name, value in entry.items():
        if name not in known:
            _refuse(where, f"unknown field {name!r}; choose from {', '.join(known)}")
        if not _is(value, known[name]):
            _refuse(where, f"{name}: {value!r} is no {NOUNS[known[name]]}")
    if absent := [name for name in required if name not in entry]:
        _refuse(where, f"without {', '.join(absent)}")
    return dict(entry)


NOUNS: dict[type, str] = {str: "text", float: "number", int: "whole number", list: "list", dict: "mapping"}


def _is(value: Any, kind: type) -> bool:
    """Whether a value of the file is of a type; true and false are no numbers, and an empty text is none."""
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, kind) and not isinstance(value, bool) and value != ""


def _refuse(where: str, what: str) -> NoReturn:
    raise RegisterError(f"{where}: {what}")
