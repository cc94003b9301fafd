"""Verdicts of a study on the claims of the register that its plan puts to the test."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from reports import estimates
from reports.items import Resampled, constant, drawn_variance
from reports.metrics import LONG_RANGE
from reports.register import Claim, Condition, RegisterError, read_register
from reports.rows import COUNTED, STATES, RunRow
from reports.statistics import LEVEL
from reports.table import SPLITS, Tables, describe_changes, describe_value, flat
from reports.verdicts import Counts, Estimate, Judged, Verdict, conclude, judged, look_level

__all__ = ["Claim", "RegisterError", "read_register", "verdicts"]

PAIRED = ("difference", "ratio")
"""Comparisons that need both sides."""


def verdicts(tables: Tables, claims: Sequence[Claim] | None = None, *, looks: Sequence[int] = ()) -> list[Verdict]:
    """Verdicts on the claims (the register's, unless given) that the study's plan covers, in their order.

    `looks` are the numbers of seeds at which a study that adds seeds may be judged, if it does (verdicts.LOOKS). An
    interval is that of the table of effects: over seeds, and over test items where these are known.
    """
    plan = tables.study.plan
    return [
        _verdict(Trial(tables, claim, place.experiment, tuple(looks)))
        for claim in (read_register() if claims is None else claims)
        for place in claim.tests
        if place.study == plan["study"] and place.experiment in plan["experiments"]
    ]


class Trial:
    """A claim in one experiment of a study."""

    def __init__(self, tables: Tables, claim: Claim, experiment: str, looks: tuple[int, ...]) -> None:
        self.tables = tables.within(experiment)
        self.claim = claim
        self.experiment = experiment
        self.plan = tables.study.plan["experiments"][experiment]
        self.runs = tuple(row for row in tables.study.runs if row.experiment == experiment)
        self.looks = looks
        self.level = look_level(looks) if looks else LEVEL

    def of(self, sides: Sequence[str]) -> list[RunRow]:
        """The planned runs of some variants."""
        return [row for row in self.runs if row.variant in sides]

    def variant(self, changes: Mapping[str, Any]) -> str | None:
        """The variant that has exactly these changes; the base for none."""
        others = (variant for variant in self.plan["variants"] if variant != self.plan["base"])
        wanted = dict(flat(changes))
        found = next((v for v in others if dict(flat(self.plan["changes"].get(v, {}))) == wanted), None)
        return found if changes else self.plan["base"]


def _verdict(trial: Trial) -> Verdict:
    claim, obstacle = trial.claim, _other_settings(trial)
    conditions = tuple(_judged(trial, condition, obstacle) for condition in claim.conditions)
    outcome, reason = conclude(conditions)
    return Verdict(
        id=claim.id,
        section=claim.section,
        statement=claim.statement,
        outcome=outcome,
        reason=obstacle or reason,
        provisional=outcome in ("supported", "not supported") and any(part.provisional for part in conditions),
        conditions=conditions,
        counter_evidence=claim.counter_evidence,
        kind=claim.kind,
        experiment=trial.experiment,
        task=trial.plan["task"],
        note=claim.note,
    )


def _other_settings(trial: Trial) -> str:
    """Why the experiment, as it was run, is no test of the claim: its base has not the settings that the claim fixes.

    Empty where it has, and as long as no run of the base has been started.
    """
    started = [row.run["config"] for row in trial.of([trial.plan["base"]]) if row.run]
    for path, value in trial.claim.settings.items() if started else ():
        found = _at(started[0], path)
        if found != value:
            return f"{path} is {describe_value(found)}; the claim is about {describe_value(value)}"
    return ""


def _at(config: Any, path: str) -> Any:
    for name in path.split("."):
        config = config.get(name) if isinstance(config, dict) else None
    return config


def _judged(trial: Trial, condition: Condition, obstacle: str) -> Judged:
    wanted = [condition.against, condition.variant] if condition.compare in PAIRED else [condition.variant]
    found = [trial.variant(changes) for changes in wanted]
    absent = [describe_changes(changes) for changes, name in zip(wanted, found, strict=True) if name is None]
    obstacle = obstacle or (f"no variant has {absent[0]} and nothing else changed" if absent else "")
    sides = [name for name in found if name is not None]
    values = [_values(trial, name, condition) for name in sides]
    seeds = sorted(set.intersection(*map(set, values))) if sides and not absent else []
    return judged(
        condition.text,
        _estimate(trial, condition, sides, values, seeds) if seeds and not obstacle else None,
        condition.region,
        _counts(trial, sides, seeds),
        least=trial.claim.seeds,
        held_equal=_held_equal(trial, sides),
        level=trial.level,
        looks=trial.looks,
        obstacle=obstacle,
    )


BySeed = dict[int, float]


def _values(trial: Trial, variant: str, condition: Condition) -> BySeed:
    """Value of each seed. That of a diverged run was fixed once, for the test set, and holds for validation too."""
    frame = trial.tables.reported if condition.metric == LONG_RANGE else trial.tables.values
    main = (frame["coordinate"] == "") & frame["value"].notna()
    rows = frame[main & (frame["variant"] == variant) & (frame["metric"] == condition.metric)]
    fixed = rows[(rows["state"] == "diverged") & (rows["split"] == "test") & (condition.split in SPLITS)]
    return {**_by_seed(fixed), **_by_seed(rows[rows["split"] == condition.split])}


def _by_seed(rows: pd.DataFrame) -> BySeed:
    return {int(seed): float(value) for seed, value in zip(rows["seed"], rows["value"], strict=True)}


def _estimate(
    trial: Trial, condition: Condition, sides: Sequence[str], values: Sequence[BySeed], seeds: Sequence[int]
) -> Estimate | None:
    known = Known(
        condition=condition,
        base=[values[0][seed] for seed in seeds],
        variant=[values[-1][seed] for seed in seeds],
        level=trial.level,
        item_variance=_item_variance(trial, condition, sides, seeds),
        oracle=trial.plan.get("references", {}).get(condition.metric, {}).get(condition.oracle or ""),
    )
    return COMPARE[condition.compare](known)


@dataclass(frozen=True, kw_only=True)
class Known:
    """What the runs have for a condition: values of both sides, one a seed, the same seeds; the variant's twice where
    it stands alone."""

    condition: Condition
    base: list[float]
    variant: list[float]
    level: float
    item_variance: float | None
    oracle: float | None


def _difference(known: Known) -> Estimate:
    return estimates.difference(known.base, known.variant, item_variance=known.item_variance, level=known.level)


def _ratio(known: Known) -> Estimate:
    floor = known.condition.floor
    assert floor is not None, "the register has one for each ratio"
    return estimates.ratio(known.base, known.variant, floor=floor, item_variance=known.item_variance, level=known.level)


def _level(known: Known) -> Estimate:
    return estimates.mean_level(known.variant, item_variance=known.item_variance, level=known.level)


def _excess(known: Known) -> Estimate | None:
    return None if known.oracle is None else estimates.excess(known.variant, known.oracle, level=known.level)


def _exact(known: Known) -> Estimate:
    return estimates.worst(known.variant, known.condition.region)


COMPARE: dict[str, Callable[[Known], Estimate | None]] = {
    "difference": _difference,
    "ratio": _ratio,
    "level": _level,
    "excess": _excess,
    "exact": _exact,
}
"""How each of register.COMPARISONS is computed."""


def _item_variance(trial: Trial, condition: Condition, sides: Sequence[str], seeds: Sequence[int]) -> float | None:
    """What drawing other test items would change; None where it is not known, and for what is not of the test set."""
    if condition.split != "test":
        return None
    sets = [[_drawn(trial, condition, side, seed) for seed in seeds] for side in sides]
    return drawn_variance(sets[0] if len(sets) > 1 else [constant(0.0)] * len(seeds), sets[-1])


def _drawn(trial: Trial, condition: Condition, side: str, seed: int) -> Resampled | None:
    """The metric of one run over draws of the test items, or its logarithm where that is compared."""
    found = trial.tables.items.get((trial.experiment, side, seed), {}).get(condition.metric)
    if found is None or condition.floor is None:
        return found
    return replace(found, values=estimates.floored_logs(found.values, condition.floor))


def _counts(trial: Trial, sides: Sequence[str], seeds: Sequence[int]) -> Counts:
    """Of the seeds that are planned: how many have a value on every side, and what became of the others, each once."""
    states: dict[int, set[str]] = {}
    for row in trial.of(sides):
        states.setdefault(row.seed, set()).add(row.state)
    diverged = sum("diverged" in states[seed] for seed in seeds)
    lost = [_fate(of_seed) for seed, of_seed in states.items() if seed not in seeds]
    return Counts(
        planned=len(states),
        counted=len(seeds),
        completed=len(seeds) - diverged,
        diverged=diverged,
        others=tuple(f"{lost.count(fate)} {fate}" for fate in (*STATES, NO_VALUE) if fate in lost),
    )


NO_VALUE = "without a value"


def _fate(states: Collection[str]) -> str:
    """What became of a seed that has not a value on every side."""
    return next((state for state in STATES if state in states and state not in COUNTED), NO_VALUE)


def _held_equal(trial: Trial, sides: Sequence[str]) -> str:
    """What the register says, and the comparison that the runs name: same, tuned or matched."""
    comparisons = sorted({row.run["comparison"] for row in trial.of(sides) if row.run and row.state in COUNTED})
    text = trial.claim.held_equal
    return f"{text} (comparison: {', '.join(comparisons)})" if comparisons else text
