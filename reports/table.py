"""Tidy tables of a study: runs, values, learning curves, variants, effects.

Every planned run and every planned variant is in them, whatever became of it, and nothing is averaged over rows that
are not one per seed. A diverged run enters with the values that were fixed beforehand.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any, cast

import numpy as np
import pandas as pd

from reports.items import Resampled, constant, drawn_variance, resampled_by_metric
from reports.lengths import with_lengths
from reports.metrics import LONG_RANGE
from reports.rows import COUNTED, ITEMS, STATES, Cost, ExperimentPlan, Plan, RowsError, RunRow, StudyRows, read_metrics
from reports.sequential import look_level, look_p_value
from reports.statistics import Effect, Summary, holm, paired_effect, summarise

COSTS = tuple(Cost.__annotations__)

RUN_COLUMNS = (
    *("experiment", "variant", "seed", "state", "reason", "id", "folder"),
    *COSTS,
    *("commit", "host", "device", "started", "ended"),
)
VALUE_COLUMNS = ("experiment", "variant", "seed", "state", "split", "metric", "coordinate", "value")
CURVE_COLUMNS = ("experiment", "variant", "seed", "state", "step", "split", "metric", "coordinate", "value")
DIFFERENCE_COLUMNS = ("experiment", "metric", "variant", "seed", "state", "difference")
COUNTS = ("planned", "completed", "diverged")
EFFECT_COLUMNS = (
    *("experiment", "metric", "split", "base", "variant"),
    *Effect.__dataclass_fields__,
    *("p_holm", "scope", *COUNTS, *(f"base_{count}" for count in COUNTS)),
)

CATEGORY = "category"
"""Name of the coordinate that is a name itself: `category=noun`."""

SPLITS = ("test", "validation")
"""Where a number is taken from, first choice first."""


BySeed = dict[str, dict[int, float]]
"""Variant to seed to value."""

RunKey = tuple[str, str, int]
"""Experiment, variant, seed."""

Items = dict[RunKey, dict[str, Resampled]]
"""What drawing other test items would have made of each run's metrics."""

Counts = dict[tuple[str, str], dict[str, int]]
"""Number of planned runs, of completed and of diverged ones, of each variant of each experiment."""


@dataclass(frozen=True, kw_only=True)
class Tables:
    """The tables of a study, or of one experiment of it."""

    study: StudyRows
    runs: pd.DataFrame
    values: pd.DataFrame
    """Every final value."""
    reported: pd.DataFrame
    """Those that the report speaks of."""
    curves: pd.DataFrame
    variants: pd.DataFrame
    effects: pd.DataFrame
    differences: pd.DataFrame
    items: Items
    problems: list[str]
    """What could not be read."""

    def within(self, experiment: str) -> "Tables":
        """The rows of one experiment."""
        frames: dict[str, Any] = {name: frame for name, frame in vars(self).items() if isinstance(frame, pd.DataFrame)}
        return replace(self, **{name: frame[frame["experiment"] == experiment] for name, frame in frames.items()})


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


def make_tables(study: StudyRows) -> Tables:
    """All tables of a study."""
    study = with_references(study)
    values = values_table(study)
    reported = reported_values(values)
    items, unreadable = items_of(study, reported)
    effects = effects_table(study, with_lengths(reported), items)
    curves, problems = curves_table(study)
    return Tables(
        study=study,
        runs=runs_table(study),
        values=values,
        reported=reported,
        curves=curves,
        variants=variants_table(study, reported, effects),
        effects=effects,
        differences=differences_table(study, reported),
        items=items,
        problems=[*problems, *unreadable],
    )


def with_references(study: StudyRows) -> StudyRows:
    """The study with the floors, ceilings and oracles that its runs were measured against, in the plan.

    Those of the base, or of the first run that has any: they are of the test items, which the variants share.
    """
    experiments = {
        name: {**plan, "references": {**_references(study, name, plan["base"]), **plan.get("references", {})}}
        for name, plan in study.plan["experiments"].items()
    }
    return replace(study, plan=cast("Plan", {**study.plan, "experiments": experiments}))


def _references(study: StudyRows, experiment: str, base: str) -> dict[str, dict[str, float]]:
    rows = [row for row in study.runs if row.experiment == experiment and row.result]
    found = [row.result.get("references") for row in sorted(rows, key=lambda row: row.variant != base) if row.result]
    return next((references for references in found if references), {})


def variant_order(experiment: ExperimentPlan) -> list[str]:
    """Variants in the order of the plan, base first; by size where all change the same field to numbers."""
    base, changes = experiment["base"], experiment["changes"]
    others = [variant for variant in experiment["variants"] if variant != base]
    paths = {path for variant in others for path in changes.get(variant, {})}
    values = [value for variant in others for value in changes.get(variant, {}).values()]
    if len(paths) == 1 and len(values) == len(others) and all(type(value) in (int, float) for value in values):
        (path,) = paths
        others.sort(key=lambda variant: changes[variant][path])
    return [base, *others] if base in experiment["variants"] else others


def runs_table(study: StudyRows) -> pd.DataFrame:
    """One row per planned run, with its state, cost and origin (RUN_COLUMNS)."""
    return _frame((_run_record(row, study) for row in study.runs), RUN_COLUMNS)


def values_table(study: StudyRows) -> pd.DataFrame:
    """Final values of every counted run, validation and test (VALUE_COLUMNS); a value that is no number is missing."""
    found = ({**_key(row), **value} for row in study.runs if row.result for value in row.result["metrics"])
    table = _frame(found, VALUE_COLUMNS)
    return table[table["state"].isin(COUNTED)].reset_index(drop=True).astype({"value": float})


def reported_values(values: pd.DataFrame) -> pd.DataFrame:
    """The rows of `values` that the report speaks of, with accuracy at long distances added where it is defined.

    Each metric of an experiment comes from one split: test, or validation where no run has it on test. Values of the
    training split are left out; those of any other split are measurements of the model itself and stay.
    """
    measured = values[~values["split"].isin(["train", *SPLITS])]
    parts = [_preferred_split(group) for _, group in values.groupby(["experiment", "metric"], sort=False)]
    reported = pd.concat([*parts, measured]) if parts else measured
    reported = reported.sort_index().reset_index(drop=True)
    far = [_long_range(group) for _, group in reported.groupby("experiment", sort=False)]
    return pd.concat([reported, *far], ignore_index=True).astype({"value": float}) if far else reported


def curves_table(study: StudyRows) -> tuple[pd.DataFrame, list[str]]:
    """What counted runs logged while training, validation split, all of the set (CURVE_COLUMNS).

    A run whose metrics.csv cannot be used is left out; the reasons are given beside the table.
    """
    found: list[dict[str, Any]] = []
    problems = []
    for row in study.runs:
        try:
            lines = read_metrics(row.folder) if row.state in COUNTED else []
        except RowsError as error:
            lines = []
            problems.append(str(error))
        wanted = (line for line in lines if line.split == "validation" and not line.coordinate)
        found += [{**_key(row), **line._asdict()} for line in wanted]
    return _frame(found, CURVE_COLUMNS).astype({"value": float}), problems


def with_axis(values: pd.DataFrame) -> pd.DataFrame:
    """Rows at a numeric coordinate, which is taken apart: `distance=8` gives axis `distance`, at 8.0.

    A category is a name, even if it looks like a number.
    """
    parts = [coordinate.partition("=") for coordinate in values["coordinate"]]
    at = pd.to_numeric(pd.Series([number for _, _, number in parts], index=values.index, dtype=str), errors="coerce")
    found = values.assign(axis=[axis for axis, _, _ in parts], at=at)
    return found[at.notna() & (found["axis"] != CATEGORY)]


def with_category(values: pd.DataFrame) -> pd.DataFrame:
    """Rows at a category, with its name: `category=noun` gives `noun`."""
    prefix = f"{CATEGORY}="
    found = values[values["coordinate"].str.startswith(prefix)]
    return found.assign(category=found["coordinate"].str.removeprefix(prefix))


def far_distances(values: pd.DataFrame) -> list[float]:
    """The longest third (rounded up) of the distances at which an experiment reports accuracy; [] below three."""
    by_distance = with_axis(values[values["metric"] == "accuracy"])
    distances = sorted(by_distance.loc[by_distance["axis"] == "distance", "at"].unique())
    return distances[-ceil(len(distances) / 3) :] if len(distances) >= 3 else []


def by_seed(values: pd.DataFrame, experiment: str, metric: str) -> BySeed:
    """Values of a metric over all of the test set. Two for one seed are our mistake: the reader lets one through."""
    rows = values[(values["experiment"] == experiment) & (values["metric"] == metric)]
    return _by_seed(rows[(rows["coordinate"] == "") & rows["value"].notna()])


def _by_seed(rows: pd.DataFrame) -> BySeed:
    found: BySeed = {}
    for variant, seed, value in zip(rows["variant"], rows["seed"], rows["value"], strict=True):
        of_variant = found.setdefault(variant, {})
        assert seed not in of_variant, f"two values of {rows['metric'].iloc[0]} for {variant}, seed {seed}"
        of_variant[int(seed)] = float(value)
    return found


def metrics_of(values: pd.DataFrame, experiment: str) -> list[str]:
    """Metrics that an experiment has over all of the test set, in the order in which they were reported."""
    rows = values[(values["experiment"] == experiment) & (values["coordinate"] == "") & (values["metric"] != ITEMS)]
    return list(rows.loc[rows["value"].notna(), "metric"].unique())


def headline_metrics(values: pd.DataFrame, experiment: str, plan: ExperimentPlan) -> list[str]:
    """The experiment's headline metrics that are there, accuracy at long distances after accuracy."""
    wanted = [name for metric in plan["headline"] for name in (metric, LONG_RANGE)[: 2 if metric == "accuracy" else 1]]
    present = metrics_of(values, experiment)
    return [metric for metric in dict.fromkeys(wanted) if metric in present]


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
    table = _frame(found, EFFECT_COLUMNS)
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
    return _frame(found, DIFFERENCE_COLUMNS).astype({"difference": float})


def variants_table(study: StudyRows, values: pd.DataFrame, effects: pd.DataFrame) -> pd.DataFrame:
    """One row per planned variant: what it changes, states of its runs, cost, headline metrics and their change.

    `counted` of `planned` seeds enter the numbers: completed and diverged ones that have a value. Costs are means over
    completed runs. For each headline metric: mean, sample deviation, number of seeds, change against the base.
    """
    metrics = {name: headline_metrics(values, name, plan) for name, plan in study.plan["experiments"].items()}
    parts = ("mean", "sd", "n", "change")
    columns = dict.fromkeys(
        f"{metric}_{part}" for headline in metrics.values() for metric in headline for part in parts
    )
    changes = effects.set_index(["experiment", "metric", "variant"])["difference"].to_dict()
    found = []
    runs: dict[tuple[str, str], list[RunRow]] = {}
    for row in study.runs:
        runs.setdefault((row.experiment, row.variant), []).append(row)
    for name, plan in study.plan["experiments"].items():
        summaries = {metric: _summaries(values, name, metric) for metric in metrics[name]}
        for variant in variant_order(plan):
            record = _variant_record(runs.get((name, variant), []), name, plan, variant)
            for metric, summary in summaries.items():
                record |= _metric_record(metric, summary.get(variant), changes.get((name, metric, variant)))
            found.append(record)
    types = {column: "Int64" if column.endswith("_n") else "float" for column in (*COSTS, *columns)}
    fixed = ["experiment", "variant", "is_base", "changes", "planned", "counted", *STATES, *COSTS]
    return _frame(found, (*fixed, *columns)).astype(types)


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a table."""
    return [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")]


def flat(config: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Settings by dotted path, sections taken apart: `{"model": {"norm": "rms"}}` gives `model.norm`."""
    for name, value in config.items():
        if isinstance(value, dict) and value:
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def describe_changes(changes: Mapping[str, Any]) -> str:
    """What a variant changes, on one line: `model.position: none, train.lr: 0.001`."""
    return ", ".join(f"{path}: {describe_value(value)}" for path, value in flat(changes))


def describe_value(value: Any) -> str:
    """A setting as YAML would have it on one line."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def describe_counts(counts: Mapping[str, Any]) -> str:
    """How many runs enter a number: `3 of 3`, `2 of 3, 1 failed`."""
    ends = [f"{counts[state]} {state}" for state in STATES if state != "completed" and counts[state]]
    return ", ".join([f"{counts['counted']} of {counts['planned']}", *ends])


def _frame(rows: Iterable[Mapping[str, Any]], columns: Iterable[str]) -> pd.DataFrame:
    return pd.DataFrame(list(rows), columns=list(columns))


def _key(row: RunRow) -> dict[str, Any]:
    return {"experiment": row.experiment, "variant": row.variant, "seed": row.seed, "state": row.state}


def _run_key(row: RunRow) -> RunKey:
    return row.experiment, row.variant, row.seed


def _run_record(row: RunRow, study: StudyRows) -> dict[str, Any]:
    place = {"reason": row.reason, "id": row.id, "folder": row.folder.relative_to(study.folder).as_posix()}
    result = row.result
    if result is None:
        return {**_key(row), **place}
    origin = {name: result[name] for name in ("commit", "host", "device", "started", "ended")}
    return {**_key(row), **place, **result["cost"], **origin}


def _preferred_split(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of one metric on the first of SPLITS that has a value of it."""
    for split in SPLITS:
        chosen = rows[rows["split"] == split]
        if chosen["value"].notna().any():
            return chosen
    return rows.iloc[:0]


def _long_range(values: pd.DataFrame) -> pd.DataFrame:
    """Rows of LONG_RANGE for the runs of one experiment: mean accuracy over the far distances.

    Weighted by the number of test items where these are known. Not defined unless all completed runs have all of the
    distances. A diverged run without them has the accuracy that was fixed for it.
    """
    far = far_distances(values)
    if not far:
        return values.iloc[:0]
    runs = values.drop_duplicates(["variant", "seed"])
    means = _means_over(values, far)
    fixed = _overall(values[values["state"] == "diverged"], "accuracy")
    found = [means.get(key, fixed.get(key, float("nan"))) for key in zip(runs["variant"], runs["seed"], strict=True)]
    table = runs.assign(metric=LONG_RANGE, coordinate="", value=np.array(found), split=_split_of(values, "accuracy"))
    undefined = table["value"].isna() & (table["state"] == "completed")
    return table.iloc[:0] if undefined.any() else table


def _means_over(values: pd.DataFrame, far: list[float]) -> dict[tuple[str, int], float]:
    """Mean accuracy over the distances of each run that has all of them."""
    rows = with_axis(values[values["metric"].isin(["accuracy", ITEMS]) & values["value"].notna()])
    rows = rows[(rows["axis"] == "distance") & rows["at"].isin(far)]
    found: dict[tuple[str, int], dict[str, dict[float, float]]] = {}
    for variant, seed, metric, at, value in rows[["variant", "seed", "metric", "at", "value"]].itertuples(index=False):
        found.setdefault((variant, seed), {"accuracy": {}, ITEMS: {}})[metric][at] = value
    return {
        run: _weighted(of["accuracy"], of[ITEMS], far) for run, of in found.items() if of["accuracy"].keys() >= {*far}
    }


def _weighted(at: Mapping[float, float], items: Mapping[float, float], far: list[float]) -> float:
    weights = [items[d] for d in far] if set(far) <= items.keys() else [1.0] * len(far)
    return sum(w * at[d] for w, d in zip(weights, far, strict=True)) / sum(weights)


def _overall(values: pd.DataFrame, metric: str) -> dict[tuple[str, int], float]:
    """A metric over all of the test set, of each run."""
    rows = values[(values["metric"] == metric) & (values["coordinate"] == "")]
    return {(v, s): value for v, s, value in zip(rows["variant"], rows["seed"], rows["value"], strict=True)}


def _split_of(values: pd.DataFrame, metric: str) -> str:
    """Split that a metric of one experiment is reported on."""
    splits = values.loc[values["metric"] == metric, "split"]
    return str(splits.iloc[0]) if len(splits) else ""


def _pairings(study: StudyRows, values: pd.DataFrame) -> Iterator[Pairing]:
    """Every variant of every experiment on every metric that it and its base have."""
    main = values[(values["coordinate"] == "") & (values["metric"] != ITEMS) & values["value"].notna()]
    groups = dict(list(main.groupby("experiment", sort=False)))
    for experiment, plan in study.plan["experiments"].items():
        order = [variant for variant in variant_order(plan) if variant != plan["base"]]
        for metric, rows in groups[experiment].groupby("metric", sort=False) if experiment in groups else ():
            found, split = _by_seed(rows), str(rows["split"].iloc[0])
            base = found.get(plan["base"], {})
            for variant in order:
                of_variant = found.get(variant, {})
                pairs = {seed: (base[seed], of_variant[seed]) for seed in sorted(base.keys() & of_variant.keys())}
                names = {"experiment": experiment, "base": plan["base"], "variant": variant}
                if pairs:
                    yield Pairing(metric=str(metric), split=split, pairs=pairs, **names)


def _summaries(values: pd.DataFrame, experiment: str, metric: str) -> dict[str, Summary]:
    found = by_seed(values, experiment, metric)
    return {variant: summarise(list(of_seed.values())) for variant, of_seed in found.items()}


def _variant_record(rows: list[RunRow], experiment: str, plan: ExperimentPlan, variant: str) -> dict[str, Any]:
    states: dict[str, int] = {state: sum(row.state == state for row in rows) for state in STATES}
    return {
        "experiment": experiment,
        "variant": variant,
        "is_base": variant == plan["base"],
        "changes": describe_changes(plan["changes"].get(variant, {})),
        "planned": len(rows),
        "counted": sum(row.state in COUNTED and _has_value(row) for row in rows),
        **states,
        **{cost: _mean_cost(rows, cost) for cost in COSTS},
    }


def _has_value(row: RunRow) -> bool:
    return row.result is not None and any(value["value"] is not None for value in row.result["metrics"])


def _mean_cost(rows: list[RunRow], cost: str) -> float | None:
    """Mean over completed runs: a diverged one stopped early."""
    costs = [row.result["cost"].get(cost) for row in rows if row.result and row.state == "completed"]
    known = [float(value) for value in costs if isinstance(value, int | float)]
    return sum(known) / len(known) if known else None


def _metric_record(metric: str, summary: Summary | None, change: float | None) -> dict[str, Any]:
    if summary is None:
        return {f"{metric}_n": 0}
    return {
        f"{metric}_mean": summary.mean,
        f"{metric}_sd": summary.deviation,
        f"{metric}_n": summary.n,
        f"{metric}_change": change,
    }
