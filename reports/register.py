"""The register of claims, claims/*.yaml: what the lecture says, and what would show it to be so. Read and checked here.

A claim has these fields:

    id, section, statement  its name, where the lecture says it, what it says in our words
    kind                    exact (an identity, a count or a bound), structural (at any budget), speed (within the steps
                            that `settings` fix), hardware (seconds, on the machine named)
    studies                 the shipped studies that put it to the test
    experiment              where they do: an experiment of theirs, or a grid, of which all points are meant
    settings                {dotted path: value} that the base must have for the test to be one of this claim
    seeds                   fewest seeds that decide it
    conditions              what must hold, all of it:
        text                  the quantity in words, with its unit
        experiment            where it is measured, if it is another one than the claim's
        metric, split         where the values come from
        at                    coordinate of the metric, or a list of them (the mean by items is taken); else the whole
        minus_at, over_at     coordinate of the same metric and run that is subtracted, or divided by; `main`: the whole
        less                  metric of the same run and split that is subtracted
        exceeds               number: the quantity is 1 in a run that is above it or has diverged, else 0
        over, summary         the quantity is made of a curve over a setting (`task.distance`: the points of a grid) or
                              over a coordinate (`distance`): one of trends.SUMMARIES, or horizon (up to where it
                              stays at `threshold` or above; it lies anywhere between two points, and a verdict holds
                              at both), or beyond (mean from `threshold` on). Slopes and means over a coordinate are
                              weighted by the number of items at each place
        compare               how variants are compared: one of COMPARISONS
        variant, against      changes of the two variants that are compared, as in the study: {model.position: none};
                              without `against`: the base. Names of variants do not matter
        region                {at_least: a}, {at_most: b}, both; {above: a}, {below: b}, both; {exactly: a}
        reference             for a level: the value that means "no effect", such as chance
        floor                 for a ratio: what counts at least
        oracle                for an excess: name among the runs' references of that metric
        less_variant,         for an interaction: (variant - against) - (less_variant - less_against)
        less_against
    about                   [dotted paths] of parts that it speaks of though no condition changes them; may be left out
    held_equal              what both sides have in common
    counter_evidence        what speaks against it elsewhere, with its source

A condition of `compare: order` has `variants` (changes of each), `slack` and `margin` in place of variant, against and
region: neighbours may be out of order by the slack, and the last is above the first by the margin.

The `note` of a file says how its margins came about, and goes with every verdict.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any, NoReturn

import yaml

from reports.plans import flat
from reports.regions import Region
from reports.trends import SUMMARIES
from reports.values import SPLITS
from reports.verdicts import order

REGISTER = Path(__file__).with_name("claims")

KINDS = ("exact", "structural", "speed", "hardware")

COMPARISONS = {
    "difference": "variant minus base",
    "ratio": "variant over base",
    "times": "variant over base, of steps or operations that may have been used up before the target",
    "level": "the variant alone",
    "excess": "variant minus a known oracle",
    "interaction": "difference of two differences",
    "exact": "every run of the variant, or of variant minus base, without an interval",
}
ORDER = "order"
"""A comparison that stands for several differences."""

TARGETS = {"steps_to_target": "steps", "flops_to_target": "training_flops"}
"""Metrics that a run has only where it got to its target, and what it had used up where it did not: for `times`."""

MORE_SUMMARIES = ("horizon", "beyond")
"""What can be made of a curve beside trends.SUMMARIES: they need a `threshold`."""


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
    experiment: str
    variant: Mapping[str, Any]
    against: Mapping[str, Any] | None = None
    at: tuple[str, ...] = ("",)
    minus_at: str | None = None
    over_at: str | None = None
    less: str | None = None
    exceeds: float | None = None
    over: str = ""
    summary: str = ""
    threshold: float | None = None
    floor: float | None = None
    oracle: str | None = None
    less_variant: Mapping[str, Any] | None = None
    less_against: Mapping[str, Any] | None = None

    @property
    def over_a_setting(self) -> bool:
        """Whether the quantity is made of a curve over the points of a grid."""
        return "." in self.over

    @property
    def is_plain(self) -> bool:
        """Whether the quantity is the metric itself, as the run reports it."""
        changed = (self.minus_at, self.over_at, self.less, self.exceeds)
        return self.at == ("",) and not self.over and all(part is None for part in changed)

    @property
    def sides(self) -> tuple[Mapping[str, Any], ...]:
        """Changes of the variants that are compared, the one that the claim is about first."""
        others = {
            "level": (),
            "excess": (),
            "exact": () if self.against is None else (self.against,),
            "interaction": (self.against or {}, self.less_variant or {}, self.less_against or {}),
        }
        return (self.variant, *others.get(self.compare, (self.against or {},)))

    @property
    def paths(self) -> set[str]:
        """Dotted paths of the settings in which the sides differ (one alone: from the base), or of the curve's axis.

        Where one architecture stands against another, the other settings of its model count as part of it.
        """
        sides = [dict(flat(changes)) for changes in self.sides]
        sides += [{}] if len(sides) == 1 else []
        every = {path for side in sides for path in side}
        found = {path for path in every if any(side.get(path, BASE) != sides[0].get(path, BASE) for side in sides)}
        if ARCHITECTURE in found:
            found -= {path for path in found if path.startswith("model.") and path != ARCHITECTURE}
        return found | ({self.over} if self.over_a_setting else set())


BASE = object()
"""Stands for the value of a setting that a side leaves as the base has it."""

ARCHITECTURE = "model.architecture"


@dataclass(frozen=True, kw_only=True)
class Claim:
    """An entry of the register; the fields are described above."""

    id: str
    section: str
    statement: str
    kind: str
    studies: tuple[str, ...]
    experiment: str
    settings: Mapping[str, Any]
    seeds: int
    conditions: tuple[Condition, ...]
    held_equal: str
    counter_evidence: str
    note: str
    about: tuple[str, ...] = ()

    @property
    def paths(self) -> set[str]:
        """Those of its conditions, and what it is about."""
        return {*self.about, *(path for condition in self.conditions for path in condition.paths)}


def read_register(path: Path = REGISTER) -> tuple[Claim, ...]:
    """All claims of a folder of YAML files, or of one file, in the order of the names.

    Raises RegisterError for a field that is unknown, absent or of another type, an impossible region, a doubled id.
    """
    files = sorted(path.glob("*.yaml")) if path.is_dir() else [path]
    claims = tuple(claim for file in files for claim in _read(file))
    ids = [claim.id for claim in claims]
    if doubled := [name for name in ids if ids.count(name) > 1]:
        _refuse(path.name, f"{doubled[0]}: there are two claims of this id")
    return claims


def _read(path: Path) -> list[Claim]:
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (OSError, yaml.YAMLError) as error:
        raise RegisterError(f"{path.name}: cannot be read: {' '.join(str(error).split())}") from error
    top = _fields(path.name, content, {"note": str, "claims": list})
    return [_claim(path.name, number, entry, top["note"]) for number, entry in enumerate(top["claims"], 1)]


CLAIM_FIELDS: dict[str, type] = {
    **dict.fromkeys(("id", "section", "statement", "kind", "experiment", "held_equal", "counter_evidence"), str),
    **dict.fromkeys(("studies", "conditions"), list),
    "settings": dict,
    "seeds": int,
}
SHARED_FIELDS: dict[str, type] = dict.fromkeys(("text", "compare", "metric", "split"), str)
CONDITION_FIELDS: dict[str, type] = {**SHARED_FIELDS, **dict.fromkeys(("variant", "region"), dict)}
OPTIONAL_FIELDS: dict[str, type] = {
    **dict.fromkeys(("experiment", "minus_at", "over_at", "less", "over", "summary", "oracle"), str),
    **dict.fromkeys(("against", "less_variant", "less_against"), dict),
    **dict.fromkeys(("reference", "floor", "exceeds", "threshold"), float),
    "at": object,
}
ORDER_FIELDS: dict[str, type] = {**SHARED_FIELDS, "variants": list, "slack": float, "margin": float}
BELONGS = {
    "reference": ("level",),
    "floor": ("ratio",),
    "oracle": ("excess",),
    "less_variant": ("interaction",),
    "less_against": ("interaction",),
}
"""Fields that some comparisons need and no other has."""

ENDS = {"at_least": ("low", True), "at_most": ("high", True), "above": ("low", False), "below": ("high", False)}
"""Fields of a region: which end it is, and whether that belongs to the region."""


def _claim(file: str, number: int, entry: Any, note: str) -> Claim:
    name = entry.get("id", number) if isinstance(entry, dict) else number
    where = f"{file}: claim {name}"
    found = _fields(where, entry, CLAIM_FIELDS, {"about": list})
    if found["kind"] not in KINDS:
        _refuse(where, f"kind: {found['kind']!r}: one of {', '.join(KINDS)}")
    if found["seeds"] < 1 or not found["conditions"] or not found["studies"]:
        _refuse(where, "at least one seed, one study and one condition are wanted")
    conditions = [
        condition
        for place, plain in enumerate(found["conditions"], 1)
        for condition in _conditions(f"{where}: condition {place}", plain, found["experiment"])
    ]
    lists = {name: tuple(map(str, found.get(name, ()))) for name in ("studies", "about")}
    return Claim(**{**found, **lists, "conditions": tuple(conditions)}, note=note)


def _conditions(where: str, entry: Any, experiment: str) -> list[Condition]:
    """One condition, or the differences that an order stands for."""
    if not isinstance(entry, dict) or entry.get("compare") != ORDER:
        return [_condition(where, entry, experiment)]
    found = _fields(where, entry, ORDER_FIELDS, OPTIONAL_FIELDS)
    variants = found.pop("variants")
    try:
        steps = order(variants, slack=found.pop("slack"), margin=found.pop("margin"))
    except ValueError as error:
        _refuse(where, str(error))
    shared = {**found, "compare": "difference"}
    return [
        _condition(where, {**shared, "against": low, "variant": high, "region": {"at_least": region.low}}, experiment)
        for low, high, region in steps
    ]


def _condition(where: str, entry: Any, experiment: str) -> Condition:
    found = _fields(where, entry, CONDITION_FIELDS, OPTIONAL_FIELDS)
    compare = found["compare"]
    if compare not in COMPARISONS:
        _refuse(where, f"compare: {compare!r}: one of {', '.join((*COMPARISONS, ORDER))}")
    for name, owners in BELONGS.items():
        if (name in found) != (compare in owners):
            _refuse(where, f"{name}: needed by {', '.join(owners)}, and by nothing else")
    if found["split"] not in ("train", *SPLITS, "probe"):
        _refuse(where, f"split: {found['split']!r}: one of train, {', '.join(SPLITS)}, probe")
    if found.get("floor", 1) <= 0:
        _refuse(where, "floor: must be above 0")
    _check_curve(where, found)
    _check_quantity(where, found)
    reference = found.pop("reference", None)
    ratio = compare in ("ratio", "times")
    region = _region(f"{where}: region", found["region"], ratio=ratio, reference=reference)
    coordinates: dict[str, Any] = {name: _coordinate(found[name]) for name in ("minus_at", "over_at") if name in found}
    at = found.get("at", "")
    places = tuple(map(_coordinate, at if isinstance(at, list) else [at]))
    fields: dict[str, Any] = {"experiment": experiment, **found, **coordinates, "at": places, "region": region}
    return Condition(**fields)


def _check_curve(where: str, found: Mapping[str, Any]) -> None:
    summaries = (*SUMMARIES, *MORE_SUMMARIES)
    if ("over" in found) != ("summary" in found) or found.get("summary", "slope") not in summaries:
        _refuse(where, f"over and summary go together; a summary is one of {', '.join(summaries)}")
    if ("threshold" in found) != (found.get("summary") in MORE_SUMMARIES):
        _refuse(where, f"threshold: needed by {', '.join(MORE_SUMMARIES)}, and by nothing else")


def _check_quantity(where: str, found: Mapping[str, Any]) -> None:
    """Refuse fields that go with others and would be left aside here."""
    over = found.get("over", "")
    changed = [name for name in ("at", "minus_at", "over_at", "less", "exceeds") if name in found]
    if over and "." not in over and changed:
        _refuse(where, f"{changed[0]}: not with a curve over a coordinate")
    if found["compare"] == "excess" and (over or set(changed) - {"at"}):
        _refuse(where, "an oracle is one of the metric itself: without a curve, and with nothing subtracted")
    is_time = found["metric"] in TARGETS
    if is_time != (found["compare"] == "times") or (is_time and (over or changed)):
        _refuse(where, f"times: for {' and '.join(TARGETS)}, as they stand, and for nothing else")


def _coordinate(name: Any) -> str:
    """`main` is the metric as a whole."""
    return "" if name == "main" else str(name)


def _region(where: str, entry: Any, *, ratio: bool, reference: float | None) -> Region:
    found = _fields(where, entry, {}, dict.fromkeys((*ENDS, "exactly"), float))
    if "exactly" in found:
        if len(found) > 1:
            _refuse(where, "exactly: alone")
        value = float(found.pop("exactly"))
        found = {"at_least": value, "at_most": value}
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


NOUNS: dict[type, str] = {
    str: "text",
    float: "number",
    int: "whole number",
    list: "list",
    dict: "mapping",
    object: "text or list",
}


def _is(value: Any, kind: type) -> bool:
    """Whether a value of the file is of a type; true and false are no numbers, and an empty text is none."""
    if kind is object:
        return isinstance(value, str | list) and bool(value)
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, kind) and not isinstance(value, bool) and value != ""


def _refuse(where: str, what: str) -> NoReturn:
    raise RegisterError(f"{where}: {what}")
