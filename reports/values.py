"""Final values and learning curves of a study as tidy tables, one row a number; what is looked up in them.

A diverged run enters with the values that were fixed beforehand.
"""

from collections.abc import Mapping
from math import ceil
from typing import Any

import numpy as np
import pandas as pd

from reports.frames import frame
from reports.metrics import LONG_RANGE
from reports.rows import COUNTED, ITEMS, ExperimentPlan, RowsError, RunRow, StudyRows, read_metrics

VALUE_COLUMNS = ("experiment", "variant", "seed", "state", "split", "metric", "coordinate", "value")

CURVE_COLUMNS = ("experiment", "variant", "seed", "state", "step", "split", "metric", "coordinate", "value")

CATEGORY = "category"
"""Name of the coordinate that is a name itself: `category=noun`."""

SPLITS = ("test", "validation")
"""Where a number is taken from, first choice first."""

BySeed = dict[str, dict[int, float]]
"""Variant to seed to value."""


def values_table(study: StudyRows) -> pd.DataFrame:
    """Final values of every counted run, validation and test (VALUE_COLUMNS); a value that is no number is missing."""
    found = ({**key_of(row), **value} for row in study.runs if row.result for value in row.result["metrics"])
    table = frame(found, VALUE_COLUMNS)
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
        found += [{**key_of(row), **line._asdict()} for line in wanted]
    return frame(found, CURVE_COLUMNS).astype({"value": float}), problems


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
    return rows_by_seed(rows[(rows["coordinate"] == "") & rows["value"].notna()])


def rows_by_seed(rows: pd.DataFrame) -> BySeed:
    """Rows of one metric over all of the test set, of one experiment, by variant and seed."""
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


def key_of(row: RunRow) -> dict[str, Any]:
    """What every row of a table says of its run."""
    return {"experiment": row.experiment, "variant": row.variant, "seed": row.seed, "state": row.state}


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
