"""Effects: every variant against its base on every metric, seed by seed, with intervals.

Nothing is averaged over rows that are not one per seed. A diverged run enters with the values fixed beforehand.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from reports.frames import frame
from reports.items import Resampled, constant, drawn_variance, resampled_by_metric
from reports.plans import variant_order
from reports.rows import ITEMS, RowsError, RunRow, StudyRows
from reports.sequential import look_level, look_p_value
from reports.statistics import Effect, holm, paired_effect
from reports.values import far_distances, rows_by_seed

DIFFERENCE_COLUMNS = ("experiment", "metric", "variant", "seed", "state", "difference")

COUNTS = ("planned", "completed", "diverged")

EFFECT_COLUMNS = (
    *("experiment", "metric", "split", "base", "variant"),
    *Effect.__dataclass_fields__,
    *("p_holm", "scope", *COUNTS, *(f"base_{count}" for count in COUNTS)),
)

RunKey = tuple[str, str, int]
"""Experiment, variant, seed."""

Items = dict[RunKey, dict[str, Resampled]]
"""What drawing other test items would have made of each run's metrics."""

Counts = dict[tuple[str, str], dict[str, int]]
"""Number of planned runs, of completed and of diverged ones, of each variant of each experiment."""


@dataclass(frozen=True, kw_only=True)
class Pairing:
    """A variant and its base on one metric, seed by seed."""

    experiment: str
    metric: str
    split: str
    base: str
    variant: str
    pairs: dict[int, tuple[float, float]]
    """For each seed that both have: value of the base, of the variant."""

    def keys(self, variant: str) -> list[RunKey]:
        """The runs of one side."""
        return [(self.experiment, variant, seed) for seed in self.pairs]


def items_of(study: StudyRows, values: pd.DataFrame) -> tuple[Items, list[str]]:
    """The metrics of every counted run over draws of its test items, where it has left what is known of each item.

    A diverged run has the values that were fixed for it, whatever the items. Beside it, what could not be read.
    """
    main = values[(values["coordinate"] == "") & values["value"].notna()]
    columns = (main[name] for name in ("experiment", "variant", "seed", "metric", "value"))
    reported: dict[RunKey, dict[str, float]] = {}
    for experiment, variant, seed, metric, value in zip(*columns, strict=True):
        reported.setdefault((experiment, variant, int(seed)), {})[metric] = float(value)
    far = {name: far_distances(rows) for name, rows in values.groupby("experiment", sort=False)}
    found: Items = {}
    problems = []
    for row in study.runs:
        known = reported.get(_run_key(row))
        if known and row.state == "diverged":
            found[_run_key(row)] = {metric: constant(value) for metric, value in known.items()}
        elif known:
            try:
                found[_run_key(row)] = resampled_by_metric(row.folder, far[row.experiment], known)
            except RowsError as error:
                problems.append(str(error))
    return found, problems


def effects_table(study: StudyRows, values: pd.DataFrame, items: Items) -> pd.DataFrame:
    """Effect of every variant on every metric, over the seeds that it shares with its base (EFFECT_COLUMNS).

    `scope` says what the interval speaks of: new seeds on these test items, or new items too. `p_holm` is corrected
    for the variants of the experiment, metric by metric (Holm 1979), each metric at a length (reports.lengths) by
    itself. The counts are of runs, of the variant and of its base. Where seeds were added at looks, intervals and p
    values are those of a look (reports.sequential).
    """
    counts = _counts(study)
    looks = {name: plan.get("looks", []) for name, plan in study.plan["experiments"].items()}
    found = (_effect_record(pairing, items, counts, looks[pairing.experiment]) for pairing in _pairings(study, values))
    table = frame(found, EFFECT_COLUMNS)
    table = table.astype(dict.fromkeys(["difference", *OPTIONAL], float))
    for _, family in table.groupby(["experiment", "metric"], sort=False):
        table.loc[family.index, "p_holm"] = [float("nan") if p is None else p for p in holm(family["p_value"].tolist())]
    return table


def _effect_record(pairing: Pairing, items: Items, counts: Counts, looks: Sequence[int]) -> dict[str, Any]:
    base, variant = zip(*pairing.pairs.values(), strict=True)
    drawn = [
        [items.get(key, {}).get(pairing.metric) for key in pairing.keys(side)]
        for side in (pairing.base, pairing.variant)
    ]
    effect = paired_effect(base, variant, item_variance=drawn_variance(*drawn), level=look_level(looks))
    key = {name: getattr(pairing, name) for name in ("experiment", "metric", "split", "base", "variant")}
    return {
        **key,
        **vars(effect),
        "p_value": look_p_value(effect.p_value, looks),
        "scope": "seeds" if effect.item_variance is None else "seeds and items",
        **{count: counts[pairing.experiment, pairing.variant][count] for count in COUNTS},
        **{f"base_{count}": counts[pairing.experiment, pairing.base][count] for count in COUNTS},
    }


OPTIONAL = (
    *("low", "high", "p_value", "p_holm", "standardised", "correlation", "welch_low", "welch_high"),
    *("seed_variance", "item_variance"),
)
"""Columns of effects that may be missing."""


def _counts(study: StudyRows) -> Counts:
    found: Counts = {}
    for row in study.runs:
        of_variant = found.setdefault((row.experiment, row.variant), dict.fromkeys(COUNTS, 0))
        of_variant["planned"] += 1
        if row.state in COUNTS:
            of_variant[row.state] += 1
    return found


def differences_table(study: StudyRows, values: pd.DataFrame) -> pd.DataFrame:
    """The differences behind each effect, one per seed (DIFFERENCE_COLUMNS); diverged where either side is."""
    diverged = {(row.experiment, row.variant, row.seed) for row in study.runs if row.state == "diverged"}
    found = (
        {
            "experiment": pairing.experiment,
            "metric": pairing.metric,
            "variant": pairing.variant,
            "seed": seed,
            "state": "diverged" if {base, variant} & diverged else "completed",
            "difference": v - b,
        }
        for pairing in _pairings(study, values)
        for base, variant, (seed, (b, v)) in zip(
            pairing.keys(pairing.base), pairing.keys(pairing.variant), pairing.pairs.items(), strict=True
        )
    )
    return frame(found, DIFFERENCE_COLUMNS).astype({"difference": float})


def _run_key(row: RunRow) -> RunKey:
    return row.experiment, row.variant, row.seed


def _pairings(study: StudyRows, values: pd.DataFrame) -> Iterator[Pairing]:
    """Every variant of every experiment on every metric that it and its base have."""
    main = values[(values["coordinate"] == "") & (values["metric"] != ITEMS) & values["value"].notna()]
    groups = dict(list(main.groupby("experiment", sort=False)))
    for experiment, plan in study.plan["experiments"].items():
        order = [variant for variant in variant_order(plan) if variant != plan["base"]]
        for metric, rows in groups[experiment].groupby("metric", sort=False) if experiment in groups else ():
            found, split = rows_by_seed(rows), str(rows["split"].iloc[0])
            base = found.get(plan["base"], {})
            for variant in order:
                of_variant = found.get(variant, {})
                pairs = {seed: (base[seed], of_variant[seed]) for seed in sorted(base.keys() & of_variant.keys())}
                names = {"experiment": experiment, "base": plan["base"], "variant": variant}
                if pairs:
                    yield Pairing(metric=str(metric), split=split, pairs=pairs, **names)
