"""Verdicts of a study on the claims of the register that its plan puts to the test."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from reports import estimates
from reports.items import Resampled
from reports.metrics import LONG_RANGE
from reports.register import Claim, Condition, RegisterError, read_register
from reports.resampling import item_variance
from reports.rows import COUNTED, STATES, RunRow
from reports.statistics import LEVEL
from reports.table import SPLITS, Tables, describe_changes, describe_value
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
        found = next((variant for variant in others if self.plan["changes"].get(variant) == changes), None)
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
    fixed = rows[(rows["state"] == "diverged") & rows["split"].isin(SPLITS)]
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
    return estimates.mean_level(known.variant, level=known.level)


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
    """What drawing other test items would change, where all runs were tested on the same ones and these are known.

    The table of effects has it for differences from the base.
    """
    if condition.split != "test" or condition.compare not in PAIRED:
        return None
    if condition.compare == "difference" and not condition.against:
        effects = trial.tables.effects
        rows = effects[(effects["metric"] == condition.metric) & (effects["variant"] == sides[-1])]
        return next((float(known) for known in rows["item_variance"] if known == known), None)
    drawn = [_drawn(trial, condition.metric, side, seeds) for side in sides]
    if (
        any(len(side) < len(seeds) for side in drawn)
        or len({one.items for side in drawn for one in side} - {None}) != 1
    ):
        return None
    base, variant = (np.stack([one.values for one in side]) for side in drawn)
    if condition.compare == "ratio":
        base, variant = (estimates.floored_logs(side, condition.floor or 0) for side in (base, variant))
    return item_variance(base, variant)


def _drawn(trial: Trial, metric: str, side: str, seeds: Sequence[int]) -> list[Resampled]:
    """A metric of one variant over draws of the test items, for those of the seeds whose items are known."""
    found = [trial.tables.items.get((trial.experiment, side, seed), {}).get(metric) for seed in seeds]
    return [one for one in found if one is not None]


def _counts(trial: Trial, sides: Sequence[str], seeds: Sequence[int]) -> Counts:
    """Of the seeds that are planned: how many have a value on every side, and what became of the others."""
    states: dict[int, set[str]] = {}
    for row in trial.of(sides):
        states.setdefault(row.seed, set()).add(row.state)
    diverged = sum("diverged" in states[seed] for seed in seeds)
    lost = [of_seed for seed, of_seed in states.items() if seed not in seeds]
    others = {state: sum(state in of_seed for of_seed in lost) for state in STATES if state not in COUNTED}
    return Counts(
        planned=len(states),
        counted=len(seeds),
        completed=len(seeds) - diverged,
        diverged=diverged,
        others=tuple(f"{n} {state}" for state, n in others.items() if n),
    )


def _held_equal(trial: Trial, sides: Sequence[str]) -> str:
    """What the register says, and the comparison that the runs name: same, tuned or matched."""
    comparisons = sorted({row.run["comparison"] for row in trial.of(sides) if row.run and row.state in COUNTED})
    text = trial.claim.held_equal
    return f"{text} (comparison: {', '.join(comparisons)})" if comparisons else text
