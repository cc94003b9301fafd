"""Tidy tables of a study: runs, values, learning curves, variants, effects.

Every planned run and every planned variant is in them, whatever became of it, and nothing is averaged over rows that
are not one per seed. A diverged run enters with the values that were fixed beforehand.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from math import ceil
from typing import Any

import pandas as pd

from reports.metrics import LONG_RANGE
from reports.rows import COUNTED, ITEMS, STATES, Cost, ExperimentPlan, RowsError, RunRow, StudyRows, read_metrics
from reports.statistics import Effect, Summary, paired_effect, summarise

COSTS = tuple(Cost.__annotations__)

RUN_COLUMNS = (
    *("experiment", "variant", "seed", "state", "reason", "id", "folder"),
    *COSTS,
    *("commit", "host", "device", "started", "ended"),
)
VALUE_COLUMNS = ("experiment", "variant", "seed", "state", "split", "metric", "coordinate", "value")
CURVE_COLUMNS = ("experiment", "variant", "seed", "state", "step", "split", "metric", "coordinate", "value")
DIFFERENCE_COLUMNS = ("experiment", "metric", "variant", "seed", "state", "difference")
EFFECT_COLUMNS = ("experiment", "metric", "split", "base", "variant", *Effect.__dataclass_fields__)

CATEGORY = "category"
"""Name of the coordinate that is a name itself: `category=noun`."""

SPLITS = ("test", "validation")
"""Where a number is taken from, first choice first."""


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
    problems: list[str]
    """What could not be read."""

    def within(self, experiment: str) -> "Tables":
        """The rows of one experiment."""
        frames: dict[str, Any] = {name: frame for name, frame in vars(self).items() if isinstance(frame, pd.DataFrame)}
        return replace(self, **{name: frame[frame["experiment"] == experiment] for name, frame in frames.items()})


BySeed = dict[str, dict[int, float]]
"""Variant to seed to value."""


def make_tables(study: StudyRows) -> Tables:
    """All tables of a study."""
    values = values_table(study)
    reported = reported_values(values)
    effects = effects_table(study, reported)
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
        problems=problems,
    )


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
    rows = values[(values["experiment"] == experiment) & (values["metric"] == metric) & (values["coordinate"] == "")]
    rows = rows[rows["value"].notna()]
    assert not rows.duplicated(["variant", "seed"]).any(), f"{experiment}: two values of {metric} for one seed"
    found: BySeed = {}
    for variant, seed, value in zip(rows["variant"], rows["seed"], rows["value"], strict=True):
        found.setdefault(variant, {})[int(seed)] = float(value)
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


def effects_table(study: StudyRows, values: pd.DataFrame) -> pd.DataFrame:
    """Effect of every variant on every metric, over the seeds that it shares with its base (EFFECT_COLUMNS)."""
    found = []
    for experiment, metric, base, variant, pairs in _pairs(study, values):
        split = _split_of(values[values["experiment"] == experiment], metric)
        effect = paired_effect([b for b, _ in pairs.values()], [v for _, v in pairs.values()])
        key = {"experiment": experiment, "metric": metric, "split": split, "base": base, "variant": variant}
        found.append({**key, **asdict(effect)})
    optional = ["low", "high", "p_value", "standardised", "correlation", "welch_low", "welch_high"]
    return _frame(found, EFFECT_COLUMNS).astype(dict.fromkeys(["difference", *optional], float))


def differences_table(study: StudyRows, values: pd.DataFrame) -> pd.DataFrame:
    """The differences behind each effect, one per seed (DIFFERENCE_COLUMNS); diverged where either side is."""
    diverged = {(row.experiment, row.variant, row.seed) for row in study.runs if row.state == "diverged"}
    found = (
        {
            "experiment": experiment,
            "metric": metric,
            "variant": variant,
            "seed": seed,
            "state": "diverged" if {(experiment, base, seed), (experiment, variant, seed)} & diverged else "completed",
            "difference": v - b,
        }
        for experiment, metric, base, variant, pairs in _pairs(study, values)
        for seed, (b, v) in pairs.items()
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
    for name, plan in study.plan["experiments"].items():
        summaries = {metric: _summaries(values, name, metric) for metric in metrics[name]}
        for variant in variant_order(plan):
            record = _variant_record(study, name, plan, variant)
            for metric, summary in summaries.items():
                record |= _metric_record(metric, summary.get(variant), changes.get((name, metric, variant)))
            found.append(record)
    types = {column: "Int64" if column.endswith("_n") else "float" for column in (*COSTS, *columns)}
    fixed = ["experiment", "variant", "is_base", "changes", "planned", "counted", *STATES, *COSTS]
    return _frame(found, (*fixed, *columns)).astype(types)


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a table."""
    return [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")]


def describe_changes(changes: Mapping[str, Any]) -> str:
    """What a variant changes, on one line: `model.position: none, train.lr: 0.001`."""
    return ", ".join(f"{path}: {describe_value(value)}" for path, value in changes.items())


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
    runs = [run for _, run in values.groupby(["variant", "seed"], sort=False)] if far else []
    found = [{**run.iloc[0], "metric": LONG_RANGE, "coordinate": "", "value": _mean_over(run, far)} for run in runs]
    table = _frame(found, VALUE_COLUMNS)
    undefined = table["value"].isna() & (table["state"] == "completed")
    return table.iloc[:0] if undefined.any() else table.assign(split=_split_of(values, "accuracy"))


def _mean_over(run: pd.DataFrame, distances: list[float]) -> float | None:
    """Mean accuracy of one run over the distances; None where one is absent."""
    at, items = _by_distance(run, "accuracy"), _by_distance(run, ITEMS)
    if not set(distances) <= at.keys():
        return _overall(run, "accuracy") if (run["state"] == "diverged").all() else None
    weights = [items[d] for d in distances] if set(distances) <= items.keys() else [1.0] * len(distances)
    return sum(w * at[d] for w, d in zip(weights, distances, strict=True)) / sum(weights)


def _by_distance(run: pd.DataFrame, metric: str) -> dict[float, float]:
    rows = with_axis(run[(run["metric"] == metric) & run["value"].notna()])
    rows = rows[rows["axis"] == "distance"]
    return dict(zip(rows["at"], rows["value"], strict=True))


def _overall(run: pd.DataFrame, metric: str) -> float | None:
    rows = run[(run["metric"] == metric) & (run["coordinate"] == "")]
    return float(rows["value"].iloc[0]) if len(rows) else None


def _split_of(values: pd.DataFrame, metric: str) -> str:
    """Split that a metric of one experiment is reported on."""
    splits = values.loc[values["metric"] == metric, "split"]
    return str(splits.iloc[0]) if len(splits) else ""


def _pairs(
    study: StudyRows, values: pd.DataFrame
) -> Iterator[tuple[str, str, str, str, dict[int, tuple[float, float]]]]:
    """Experiment, metric, base, variant, and for each seed that both have: value of the base, of the variant."""
    for experiment, plan in study.plan["experiments"].items():
        for metric in metrics_of(values, experiment):
            found = by_seed(values, experiment, metric)
            base = found.get(plan["base"], {})
            for variant in variant_order(plan):
                of_variant = found.get(variant, {})
                pairs = {seed: (base[seed], of_variant[seed]) for seed in sorted(base.keys() & of_variant.keys())}
                if pairs and variant != plan["base"]:
                    yield experiment, metric, plan["base"], variant, pairs


def _summaries(values: pd.DataFrame, experiment: str, metric: str) -> dict[str, Summary]:
    found = by_seed(values, experiment, metric)
    return {variant: summarise(list(of_seed.values())) for variant, of_seed in found.items()}


def _variant_record(study: StudyRows, experiment: str, plan: ExperimentPlan, variant: str) -> dict[str, Any]:
    rows = [row for row in study.runs if (row.experiment, row.variant) == (experiment, variant)]
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
