"""An experiment beside its fair comparisons: the same settings for all, every variant at the base's size, each tuned.

A fair comparison is an experiment of its own in the plan, `german (tuned)` of `german`, with the same variants. Its
variants differ from those of its origin in what was made equal: the field that was widened, the best point that a
search found.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isnan
from typing import Any

import pandas as pd

from reports.experiment import Experiment
from reports.frames import records
from reports.metrics import facts
from reports.plans import describe_value
from reports.trials import TrialRow
from reports.values import by_seed
from reports.wording import has_interval, is_decided

SAME, MATCHED, TUNED = "same", "matched", "tuned"
COMPARISONS = {SAME: "Same settings", MATCHED: "Matched", TUNED: "Tuned"}
"""Comparison to its name on a page, in the order in which they are shown."""

UNDECIDED = "undecided"
ALPHA = 0.05
"""Of the corrected p below which an effect is decided."""
COLUMNS = (
    *("experiment", "metric", "variant", "is_base", "comparison", "settings", "parameters", "training_flops"),
    *("value", "difference", "low", "high", "p_value", "p_holm", "n_seeds", "verdict", "changed", "reason"),
)
NUMBERS = ("parameters", "training_flops", "value", "difference", "low", "high", "p_value", "p_holm")

Verdicts = Mapping[str, str]
"""Comparison to the verdict on one variant and metric."""


@dataclass(frozen=True, kw_only=True)
class Fair:
    """One experiment in all its comparisons."""

    arms: Mapping[str, Experiment]
    """By comparison, in the order of COMPARISONS; the first is the experiment with the same settings."""
    trials: pd.DataFrame
    """Of the search for the best settings (reports.trials); no rows where there was none."""

    @property
    def origin(self) -> Experiment:
        """The experiment with the same settings for all."""
        return self.arms[SAME]

    @property
    def made_equal(self) -> list[str]:
        """The comparisons beside the one with the same settings."""
        return [name for name in self.arms if name != SAME]

    @property
    def metrics(self) -> list[str]:
        """Headline metrics that some arm compares."""
        return list(dict.fromkeys(metric for arm in self.arms.values() for metric in arm.compared))

    @property
    def others(self) -> list[str]:
        """Variants but the base, in the order of the origin."""
        return [variant for variant in self.origin.order if variant != self.origin.base]

    def effect(self, comparison: str, metric: str, variant: str) -> dict[str, Any] | None:
        """The row of effects of a variant in one comparison; None where there is none."""
        return self._effects.get((comparison, metric, variant))

    @cached_property
    def _effects(self) -> dict[tuple[str, str, str], dict[str, Any]]:
        rows = ((name, row) for name, arm in self.arms.items() for row in records(arm.tables.effects))
        return {(name, row["metric"], row["variant"]): row for name, row in rows}

    def left_out(self, comparison: str, variant: str) -> str:
        """Why a variant could not be made equal; empty where it was."""
        return self.arms[comparison].plan.get("left_out", {}).get(variant, "")

    def verdicts(self, metric: str, variant: str) -> dict[str, str]:
        """The verdict of each comparison that has an effect of the variant."""
        found = {name: self.effect(name, metric, variant) for name in self.arms}
        return {name: verdict(effect, metric) for name, effect in found.items() if effect is not None}

    def settings(self, comparison: str, variant: str) -> dict[str, Any]:
        """What the variant has otherwise than in the origin; of a tuned one every setting that was searched over.

        {} before any of its runs has been started, where there are no trials either.
        """
        arm = self.arms[comparison]
        before, after = self.origin.config(variant), arm.config(variant)
        differing = {path: value for path, value in after.items() if before and value != before.get(path)}
        best = best_trial(self.trials, variant) if comparison == TUNED else None
        return (
            differing
            if best is None
            else {**differing, **{path: after.get(path, v) for path, v in best["point"].items()}}
        )


def fair_experiments(experiments: Sequence[Experiment], trials: pd.DataFrame | None = None) -> list[Fair]:
    """Every experiment that has been made equal in some way, in the order of the study; `trials` of all of them."""
    derived: dict[str, dict[str, Experiment]] = {}
    for experiment in experiments:
        if origin := experiment.plan.get("origin"):
            derived.setdefault(origin, {})[experiment.plan.get("comparison", "")] = experiment
    return [
        Fair(
            arms={name: arms[name] for name in COMPARISONS if name in arms},
            trials=no_trials() if trials is None else trials[trials["experiment"] == origin.name],
        )
        for origin in experiments
        if (arms := {SAME: origin, **derived.get(origin.name, {})}) and len(arms) > 1
    ]


def originals(experiments: Sequence[Experiment]) -> list[Experiment]:
    """Those with the same settings for all: the others are further views of them, and count for no average."""
    return [experiment for experiment in experiments if not experiment.plan.get("origin")]


def verdict(effect: Mapping[str, Any], metric: str) -> str:
    """`worse`, `better` (`higher`, `lower` for a metric without a better side) or `undecided`."""
    if not _is_decided(effect):
        return UNDECIDED
    better = facts(metric).better
    if not better:
        return "higher" if effect["difference"] > 0 else "lower"
    return "better" if better * effect["difference"] > 0 else "worse"


def _is_decided(effect: Mapping[str, Any]) -> bool:
    """By p corrected for the variants of the experiment (Holm) below ALPHA.

    Where every seed gives the same difference there is no p: then by the interval, which is that of the test items, and
    without it by the exact interval of the share of such seeds above one half, as for claims (reports.verdicts).
    """
    if not isnan(effect["p_holm"]):
        return bool(effect["p_holm"] < ALPHA)
    unanimous = bool(effect["all_equal"]) and effect["successes_low"] > 0.5 and effect["difference"] != 0
    return is_decided(effect) or (unanimous and not has_interval(effect))


def changed(verdicts: Verdicts) -> dict[str, str]:
    """The comparisons whose verdict is another one than with the same settings."""
    return {name: found for name, found in verdicts.items() if SAME in verdicts and found != verdicts[SAME]}


def no_trials() -> pd.DataFrame:
    """A table of trials without a row."""
    return pd.DataFrame(columns=TrialRow._fields)


def best_trial(trials: pd.DataFrame, variant: str) -> dict[str, Any] | None:
    """The finished trial of the lowest validation loss, of equal ones that of the lowest number, if there is one."""
    rows = finished(trials[trials["variant"] == variant]).sort_values(["value", "number"])
    return next(iter(records(rows.head(1))), None)


def finished(trials: pd.DataFrame) -> pd.DataFrame:
    """Trials that have a validation loss of their own."""
    return trials[(trials["state"] == "completed") & trials["value"].notna()]


def hopeless(trials: pd.DataFrame) -> pd.DataFrame:
    """Trials that were given up by the rule fixed beforehand, or have diverged."""
    return trials[trials["state"].isin(["pruned", "diverged"])]


def searched(trials: pd.DataFrame) -> list[str]:
    """Dotted paths that trials were made over."""
    return list(dict.fromkeys(path for point in trials["point"] for path in point))


def at_an_end(fair: Fair, path: str) -> list[str]:
    """Variants whose best trial lies at an end of the values tried: the true best one may lie beyond."""
    found = []
    for variant in fair.origin.order:
        best = best_trial(fair.trials, variant)
        rows = fair.trials[fair.trials["variant"] == variant]
        values = [point.get(path) for point in rows["point"]]
        is_numeric = bool(values) and all(type(value) in (int, float) for value in values)
        if best and is_numeric and len(set(values)) > 2 and best["point"][path] in (min(values), max(values)):
            found.append(variant)
    return found


def describe_settings(settings: Mapping[str, Any]) -> str:
    """Settings on one line, numbers to three digits: `train.lr: 0.00123`."""
    return ", ".join(f"{path}: {brief(value)}" for path, value in settings.items())


def brief(value: Any) -> str:
    """A setting in few letters."""
    return f"{value:.3g}" if isinstance(value, float) else describe_value(value)


def fairness_table(found: Sequence[Fair]) -> pd.DataFrame:
    """A row for each experiment, headline metric, variant and comparison (COLUMNS); the base has a value, no effect.

    `settings` is what was made equal, `reason` why a variant was left out. `changed`: whether the verdict is another
    one than with the same settings.
    """
    rows = [row for fair in found for metric in fair.metrics for row in _rows(fair, metric)]
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    return frame.astype({"is_base": bool, "changed": bool, "n_seeds": int, **dict.fromkeys(NUMBERS, float)})


def _rows(fair: Fair, metric: str) -> Iterator[dict[str, Any]]:
    for variant in fair.origin.order:
        verdicts = fair.verdicts(metric, variant)
        for comparison in fair.arms:
            yield {
                "experiment": fair.origin.name,
                "metric": metric,
                "variant": variant,
                "is_base": variant == fair.origin.base,
                "comparison": comparison,
                "settings": describe_settings(fair.settings(comparison, variant)),
                **costs(fair, comparison, variant),
                "value": mean_value(fair, comparison, metric, variant),
                **_numbers(fair.effect(comparison, metric, variant)),
                "verdict": verdicts.get(comparison, ""),
                "changed": comparison in changed(verdicts),
                "reason": fair.left_out(comparison, variant),
            }


def _numbers(effect: Mapping[str, Any] | None) -> dict[str, Any]:
    names = ("difference", "low", "high", "p_value", "p_holm")
    return {"n_seeds": 0} if effect is None else {name: effect[name] for name in (*names, "n_seeds")}


def costs(fair: Fair, comparison: str, variant: str) -> dict[str, float]:
    """Parameters and operations of training of a variant in one comparison, missing where no run has completed."""
    rows = fair.arms[comparison].tables.variants.set_index("variant")
    names = ("parameters", "training_flops")
    return {name: float(rows[name].get(variant, float("nan"))) for name in names}


def mean_value(fair: Fair, comparison: str, metric: str, variant: str) -> float:
    """Mean of a metric over seeds; missing where no seed has it."""
    arm = fair.arms[comparison]
    values = list(by_seed(arm.values, arm.name, metric).get(variant, {}).values())
    return sum(values) / len(values) if values else float("nan")
