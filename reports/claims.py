"""Verdicts of a study on the claims of the register that it puts to the test."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from reports import estimates
from reports.comparisons import Known, compared
from reports.items import Resampled, constant, drawn_variance
from reports.lengths import LENGTH
from reports.levels import known_levels
from reports.plans import describe_changes, describe_value, flat
from reports.quantities import Index, Measured, measure
from reports.register import Claim, Condition, RegisterError, read_register
from reports.rows import COUNTED, STATES, RunRow
from reports.sequential import look_level
from reports.table import Tables
from reports.verdicts import Counts, CurvePoint, Estimate, Judged, Side, Verdict, conclude, judged

__all__ = ["Claim", "RegisterError", "read_register", "verdicts"]


def verdicts(tables: Tables, claims: Sequence[Claim] | None = None, *, looks: Sequence[int] = ()) -> list[Verdict]:
    """Verdicts on the claims (the register's, unless given) that the study puts to the test, in their order.

    `looks` are the numbers of seeds at which a study that adds seeds may be judged (sequential.LOOKS); unless given,
    those that the plan has for the claim's experiments, if any. An interval is that of the table of effects: over
    seeds, and over test items where these are known.
    """
    study = tables.study.plan["study"]
    index = Index(tables)
    found = read_register() if claims is None else claims
    return [_verdict(_trial(tables, index, claim, looks)) for claim in found if study in claim.studies]


class Trial:
    """A claim in a study."""

    def __init__(self, tables: Tables, index: Index, claim: Claim, looks: tuple[int, ...], level: float) -> None:
        self.tables, self.index, self.claim, self.looks, self.level = tables, index, claim, looks, level
        self.plans = index.plan["experiments"]

    def variant(self, experiments: Sequence[str], changes: Mapping[str, Any]) -> str | None:
        """The variant that has exactly these changes in all of these experiments; the base for none."""
        names = {self._variant(name, changes) for name in experiments}
        return names.pop() if len(names) == 1 else None

    def _variant(self, experiment: str, changes: Mapping[str, Any]) -> str | None:
        plan = self.plans[experiment]
        others = (variant for variant in plan["variants"] if variant != plan["base"])
        wanted = dict(flat(changes))
        found = next((v for v in others if dict(flat(plan["changes"].get(v, {}))) == wanted), None)
        return found if changes else plan["base"]

    def runs(self, experiments: Sequence[str], variants: Sequence[str]) -> list[RunRow]:
        """The planned runs of some variants."""
        sides = dict.fromkeys((name, variant) for name in experiments for variant in variants)
        return [
            self.index.rows[name, variant, seed] for name, variant in sides for seed in self.index.seeds(name, variant)
        ]


def _trial(tables: Tables, index: Index, claim: Claim, looks: Sequence[int]) -> Trial:
    names = (name for condition in claim.conditions for name in index.points_of(condition.experiment))
    planned = (index.plan["experiments"][name].get("looks") for name in names)
    chosen = tuple(looks or next((found for found in planned if found), ()))
    return Trial(tables, index, claim, chosen, look_level(chosen))


def _verdict(trial: Trial) -> Verdict:
    claim = trial.claim
    conditions = tuple(_judged(trial, condition) for condition in claim.conditions)
    outcome, reason = conclude(conditions)
    points = trial.index.points_of(claim.experiment)
    return Verdict(
        id=claim.id,
        section=claim.section,
        statement=claim.statement,
        outcome=outcome,
        reason=reason,
        provisional=outcome in ("supported", "not supported") and any(part.provisional for part in conditions),
        conditions=conditions,
        counter_evidence=claim.counter_evidence,
        kind=claim.kind,
        experiment=claim.experiment,
        task=trial.plans[points[0]]["task"] if points else "",
        note=claim.note,
    )


def _judged(trial: Trial, condition: Condition) -> Judged:
    experiments = trial.index.points_of(condition.experiment)
    variants = [trial.variant(experiments, changes) for changes in condition.sides] if experiments else []
    obstacle = _obstacle(trial, condition, experiments, variants)
    sides = [name for name in variants if name is not None]
    measured = [] if obstacle else [measure(trial.index, condition, experiments, name) for name in sides]
    seeds = sorted(set.intersection(*(set(side.values) for side in measured))) if measured else []
    estimate = _estimate(trial, condition, experiments[0], sides, measured, seeds) if seeds else None
    found = judged(
        condition.text,
        estimate,
        condition.region,
        _counts(trial.runs(experiments, sides), seeds),
        least=trial.claim.seeds,
        held_equal=_held_equal(trial, trial.runs(experiments, sides)),
        level=trial.level,
        looks=trial.looks,
        obstacle=obstacle,
        failing=_no_numbers(trial, condition, experiments, sides, measured),
        doubt=_base_diverged(trial, condition, experiments, sides),
    )
    return _with_picture(found, trial, condition, experiments, sides, measured, seeds, estimate)


def _obstacle(trial: Trial, condition: Condition, experiments: Sequence[str], variants: Sequence[str | None]) -> str:
    """Why the study, as it was planned and run, is no test of the condition; empty where it is one."""
    if not experiments:
        return f"the study has no experiment {condition.experiment}"
    if len(experiments) > 1 and not condition.over_a_setting:
        return f"{condition.experiment} is a grid of {len(experiments)} points; the claim is about one"
    if condition.over_a_setting and (found := _no_axis(trial, condition, experiments)):
        return found
    for changes, name in zip(condition.sides, variants, strict=True):
        if name is None:
            return f"no variant has {describe_changes(changes)} and nothing else changed"
    sides = [name for name in variants if name is not None]
    return next((found for name in experiments if (found := _other_settings(trial, condition, name, sides))), "")


def _no_axis(trial: Trial, condition: Condition, experiments: Sequence[str]) -> str:
    """Why the experiments are no curve over the condition's setting; empty where they are one."""
    places = [trial.plans[name].get("grid", {}).get(condition.over) for name in experiments]
    if not all(isinstance(place, int | float) for place in places):
        return f"{condition.experiment} is no grid over {condition.over}"
    if len(set(places)) < len(places) or len(places) < 2:
        return f"{condition.experiment} has not one point at each of several {condition.over}"
    return ""


def _other_settings(trial: Trial, condition: Condition, experiment: str, variants: Sequence[str]) -> str:
    """How the base of an experiment, as it was run, differs from the settings that the claim fixes; empty if not.

    Where the base was not run, the variant says it of all that it does not change.
    """
    plan = trial.plans[experiment]
    for variant in (plan["base"], *variants):
        started = [row.run["config"] for row in trial.runs([experiment], [variant]) if row.run]
        if not started:
            continue
        own = {condition.over, *plan["changes"].get(variant, {})}  # a setting, or a section as a whole
        for path, value in trial.claim.settings.items():
            found = _at(started[0], path)
            if found != value and not {path, path.partition(".")[0]} & own:
                return f"{path} is {describe_value(found)}; the claim is about {describe_value(value)}"
        return ""
    return ""


def _no_numbers(
    trial: Trial,
    condition: Condition,
    experiments: Sequence[str],
    variants: Sequence[str],
    measured: Sequence[Measured],
) -> str:
    """Why runs that were completed fail an exact condition: what must hold of it is no finite number. Empty if not.

    A metric that no run has is none that was measured, and says nothing.
    """
    runs = trial.runs(experiments, variants)
    keys = [(row.experiment, row.variant, row.seed) for row in runs]
    measures = any(trial.index.reports(key, condition.split, condition.metric) for key in keys)
    if condition.compare != "exact" or not measures:
        return ""
    lost: set[int] = set()
    for variant, side in zip(variants, measured, strict=False):
        of_side = trial.runs(experiments, [variant])
        without = {row.seed for row in of_side} - set(side.values)
        lost |= without - {row.seed for row in of_side if row.state != "completed"}
    return f"no finite number in {len(lost)} of {len({row.seed for row in runs})} seeds" if lost else ""


def _base_diverged(trial: Trial, condition: Condition, experiments: Sequence[str], variants: Sequence[str]) -> str:
    """Why nothing may be supported: the values of the base are fixed ones in some seeds. Empty where none is.

    Over a setting it may diverge, as at too large a rate, and where diverging is what is counted.
    """
    if len(experiments) != 1 or condition.over_a_setting or condition.exceeds is not None:
        return ""
    runs = trial.runs(experiments, [name for name in variants if name == trial.plans[experiments[0]]["base"]])
    diverged = sum(row.state == "diverged" for row in runs)
    return f"the base diverged in {diverged} of {len(runs)} seeds" if diverged else ""


def _at(config: Any, path: str) -> Any:
    for name in path.split("."):
        config = config.get(name) if isinstance(config, dict) else None
    return config


def _estimate(
    trial: Trial,
    condition: Condition,
    experiment: str,
    variants: Sequence[str],
    measured: Sequence[Measured],
    seeds: Sequence[int],
) -> Estimate | None:
    drawn = [[_drawn(trial, condition, (experiment, name, seed)) for seed in seeds] for name in variants]
    return compared(
        Known(
            condition=condition,
            seeds=seeds,
            sides=measured,
            level=trial.level,
            item_variance=_item_variance(condition, drawn, len(seeds)),
            oracles=_oracles(trial, condition, experiment, variants[0], seeds),
        )
    )


def _oracles(
    trial: Trial, condition: Condition, experiment: str, variant: str, seeds: Sequence[int]
) -> list[float] | None:
    """For an excess, the oracle that each run was measured against; None unless all of them have it."""
    rows = [trial.index.rows[experiment, variant, seed] for seed in seeds]
    of_runs = [row.result.get("references", {}).get(condition.metric, {}) if row.result else {} for row in rows]
    of_plan = trial.plans[experiment].get("references", {}).get(condition.metric, {})
    found = [levels.get(condition.oracle or "", of_plan.get(condition.oracle or "")) for levels in of_runs]
    known = [level for level in found if level is not None]
    return known if len(known) == len(found) else None


def _drawn(trial: Trial, condition: Condition, run: tuple[str, str, int]) -> Resampled | None:
    """The metric of one run over draws of the test items, where it is the quantity itself; of a ratio its logarithm."""
    if condition.split != "test" or not condition.is_plain:
        return None
    found = trial.tables.items.get(run, {}).get(condition.metric)
    if found is None or condition.floor is None:
        return found
    return replace(found, values=estimates.floored_logs(found.values, condition.floor))


Drawn = Sequence[Sequence[Resampled | None]]
"""By side and seed."""


def _item_variance(condition: Condition, drawn: Drawn, n_seeds: int) -> float | None:
    """What drawing other test items would change; None where it is not known.

    That of an excess is not: the oracle would change with the items.
    """
    if condition.compare not in ("difference", "ratio", "level"):
        return None
    return drawn_variance(drawn[1] if len(drawn) > 1 else [constant(0.0)] * n_seeds, drawn[0])


def _counts(runs: Sequence[RunRow], seeds: Sequence[int]) -> Counts:
    """Of the seeds that are planned: how many have a value on every side, and what became of the others, each once."""
    states: dict[int, set[str]] = {}
    for row in runs:
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


def _held_equal(trial: Trial, runs: Sequence[RunRow]) -> str:
    """What the register says, and the comparison that the runs name: same, tuned or matched."""
    comparisons = sorted({row.run["comparison"] for row in runs if row.run and row.state in COUNTED})
    text = trial.claim.held_equal
    return f"{text} (comparison: {', '.join(comparisons)})" if comparisons else text


def _with_picture(
    found: Judged,
    trial: Trial,
    condition: Condition,
    experiments: Sequence[str],
    variants: Sequence[str],
    measured: Sequence[Measured],
    seeds: Sequence[int],
    estimate: Estimate | None,
) -> Judged:
    """With what a picture of the condition needs."""
    labels = _labels(trial, experiments, variants)
    references = _references(trial, condition, experiments)
    sides = [
        Side(
            label=label,
            experiment=condition.experiment,
            variant=variant,
            values={seed: side.values[seed] for seed in seeds},
            references=references,
            censored=tuple(seed for seed in seeds if seed in side.censored),
        )
        for label, variant, side in zip(labels, variants, measured, strict=False)
    ]
    curve = [
        CurvePoint(x=point.x, y=point.y, side=label, seed=point.seed)
        for label, side in zip(labels, measured, strict=False)
        for point in side.points
        if point.seed in seeds
    ]
    return replace(
        found,
        per_seed=dict(zip(seeds, estimate.per_seed, strict=True)) if estimate else {},
        sides=tuple(sides) if seeds else (),
        curve=tuple(curve),
        compare=condition.compare,
        metric=condition.metric,
        split=condition.split,
        over=condition.over,
        summary=condition.summary,
    )


def _labels(trial: Trial, experiments: Sequence[str], variants: Sequence[str]) -> list[str]:
    """Names of the sides; the base by what it has that the others change, where that is one thing."""
    bases = {trial.plans[name]["base"] for name in experiments}
    return [_base_label(trial, experiments[0], variants) if name in bases else name for name in variants]


def _base_label(trial: Trial, experiment: str, variants: Sequence[str]) -> str:
    base = trial.plans[experiment]["base"]
    changed = {path for name in variants for path, _ in flat(trial.plans[experiment]["changes"].get(name, {}))}
    started = [row.run["config"] for row in trial.runs([experiment], [base]) if row.run]
    kind = "model.architecture"  # which says most where a whole model is replaced
    if not started or (len(changed) != 1 and kind not in changed):
        return base
    path = kind if kind in changed else next(iter(changed))
    return f"base ({path.rpartition('.')[2]}={describe_value(_at(started[0], path))})"


def _references(trial: Trial, condition: Condition, experiments: Sequence[str]) -> dict[str, float]:
    """Levels of the metric that are the same in all of the experiments, where the quantity is the metric itself."""
    if (
        condition.less
        or condition.exceeds is not None
        or condition.minus_at is not None
        or condition.over_at is not None
    ):
        return {}
    over = LENGTH if condition.over == LENGTH or any(at.startswith(f"{LENGTH}=") for at in condition.at) else ""
    found = [known_levels(trial.plans[name], condition.metric, over=over) for name in experiments]
    shared = (
        {name: level for name, level in found[0].items() if all(of.get(name) == level for of in found)} if found else {}
    )
    return shared | (
        {"threshold": condition.threshold} if condition.summary == "horizon" and condition.threshold else {}
    )
