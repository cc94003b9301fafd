"""Results and effects as data frames, for a notebook; `from reports import load_results, effects`."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from reports.frames import records
from reports.lengths import with_lengths
from reports.metrics import LONG_RANGE
from reports.paired import EFFECT_COLUMNS, effects_table, items_of
from reports.plans import describe_changes, flat
from reports.rows import ExperimentPlan, Plan, RowsError, RunRow, StudyRows, read_plan, read_study
from reports.table import COSTS
from reports.values import VALUE_COLUMNS, reported_values, values_table, with_axis

KEY = ["experiment", "variant", "seed"]
COLUMNS = (
    *("study", "experiment", "variant", "is_base", "changes", "seed", "state"),
    *("split", "metric", "coordinate", "axis", "at", "value"),
    *COSTS,
    *("folder", "looks"),
)
NEEDED = ("experiment", "variant", "seed", "metric", "value")
"""Columns without which a frame has no effects."""


def load_results(study: str | Path, output: str | Path, settings: Sequence[str]) -> pd.DataFrame:
    """See reports.load_results."""
    folder = _folder(study, Path(output))
    rows = read_study(folder)
    values = pd.concat([values_table(rows), _long_range(rows)], ignore_index=True)
    absent = pd.DataFrame([_key(row) for row in rows.runs], columns=[*KEY, "state"])
    absent = absent[~absent.set_index(KEY).index.isin(values.set_index(KEY).index)]
    blank = absent.assign(split="", metric="", coordinate="", value=float("nan"))
    values = pd.concat([values, blank], ignore_index=True) if len(blank) else values
    runs = pd.DataFrame([_run(row, rows, settings) for row in rows.runs], columns=[*KEY, *_of_run(settings)])
    runs = runs.astype(dict.fromkeys(COSTS, float))
    _check_settings(rows, settings)
    found = _in_order(values.merge(runs, on=KEY, validate="many_to_one"), rows)
    found = found.assign(study=rows.plan["study"], **_axes(found))
    return found[[*COLUMNS, *settings]]


def effects(results: pd.DataFrame | str | Path, base: str | None) -> pd.DataFrame:
    """See reports.effects."""
    frame = results if isinstance(results, pd.DataFrame) else load_results(results, "runs", ())
    frame = _complete(frame, base)
    parts = []
    for name, of_study in frame.groupby("study", sort=False):
        rows, values = _as_study(str(name), of_study), _reported(of_study)
        items, _ = items_of(rows, values)
        found = effects_table(rows, with_lengths(values), items)
        parts.append(found.assign(study=str(name)))
    joined = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=list(EFFECT_COLUMNS))
    return joined[["study", *EFFECT_COLUMNS]] if parts else joined.assign(study="")


def _folder(study: str | Path, output: Path) -> Path:
    """Folder of a study: itself, or below `output`, by the name of the folder or by the study's own."""
    for folder in (Path(study), output / study):
        if (folder / "plan.json").is_file():
            return folder
    for path in sorted(output.glob("*/plan.json")):
        if read_plan(path.parent)["study"] == study:
            return path.parent
    raise RowsError(f"study {str(study)!r}: no folder with a plan.json, neither by itself nor in {output}")


def _long_range(rows: StudyRows) -> pd.DataFrame:
    reported = reported_values(values_table(rows))
    return reported[(reported["metric"] == LONG_RANGE) & reported["value"].notna()]


def _of_run(settings: Sequence[str]) -> list[str]:
    return ["is_base", "changes", *COSTS, "folder", "looks", *settings]


def _key(row: RunRow) -> dict[str, Any]:
    return {"experiment": row.experiment, "variant": row.variant, "seed": row.seed, "state": row.state}


def _run(row: RunRow, study: StudyRows, settings: Sequence[str]) -> dict[str, Any]:
    plan = study.plan["experiments"][row.experiment]
    costs: dict[str, Any] = dict(row.result["cost"]) if row.result else {}
    return {
        **_key(row),
        "is_base": row.variant == plan["base"],
        "changes": describe_changes(plan["changes"].get(row.variant, {})),
        "folder": str(row.folder),
        "looks": " ".join(map(str, plan.get("looks", []))),
        **{cost: costs.get(cost) for cost in COSTS},
        **{path: _setting(row, path) for path in settings},
    }


def _setting(row: RunRow, path: str) -> Any:
    return dict(flat(row.run["config"])).get(path) if row.run else None


def _check_settings(rows: StudyRows, settings: Sequence[str]) -> None:
    """A setting may be null in every run; one that no run knows is a mistake."""
    known = {path for row in rows.runs if row.run for path, _ in flat(row.run["config"])}
    for path in settings if known else ():
        if path not in known:
            raise RowsError(f"settings: {path!r}: no run has such a setting; give dotted paths such as 'model.n_heads'")


def _in_order(values: pd.DataFrame, rows: StudyRows) -> pd.DataFrame:
    """Runs as they are planned, and each run's values as it has them."""
    place = {tuple(_key(row)[name] for name in KEY): i for i, row in enumerate(rows.runs)}
    order = [place[key] for key in zip(*(values[name] for name in KEY), strict=True)]
    return values.assign(order=order).sort_values("order", kind="stable").drop(columns="order").reset_index(drop=True)


def _axes(values: pd.DataFrame) -> dict[str, Any]:
    """Numeric coordinates taken apart: axis "distance", at 8.0."""
    known = with_axis(values)
    return {"axis": known["axis"].reindex(values.index, fill_value=""), "at": known["at"].reindex(values.index)}


def _complete(frame: pd.DataFrame, base: str | None) -> pd.DataFrame:
    """A frame with every column that effects need; rows that are there twice once. Raises RowsError as `effects`."""
    if missing := [name for name in NEEDED if name not in frame]:
        raise RowsError(
            f"results: without the columns {', '.join(missing)}; give what load_results gives, or part of it"
        )
    if base is None and "is_base" not in frame:
        raise RowsError(
            "results: without the column is_base; say which variant is the base: effects(results, base=...)"
        )
    usual = {"study": "", "state": "completed", "split": "test", "coordinate": "", "folder": "", "looks": ""}
    frame = frame.assign(**{name: value for name, value in usual.items() if name not in frame})
    if base is not None:
        frame = frame.assign(is_base=frame["variant"] == base)
    columns = ["study", *VALUE_COLUMNS, "is_base", "looks", "folder"]
    frame = frame[columns].drop_duplicates(columns[:-1], ignore_index=True)
    same = frame.duplicated(["study", *KEY, "split", "metric", "coordinate"])
    if same.any():
        row = records(frame[same])[0]
        raise RowsError(
            f"results: {row['variant']!r}, seed {row['seed']}: two values of {row['metric']!r}; give each once"
        )
    return frame


def _reported(frame: pd.DataFrame) -> pd.DataFrame:
    """The values that effects are about. Accuracy at long distances is taken as it is there, never made again."""
    values = frame.loc[frame["metric"] != "", list(VALUE_COLUMNS)].reset_index(drop=True)
    given = values[values["metric"] == LONG_RANGE]
    made = reported_values(values[values["metric"] != LONG_RANGE])
    return pd.concat([made[made["metric"] != LONG_RANGE], given], ignore_index=True)


def _as_study(name: str, frame: pd.DataFrame) -> StudyRows:
    """A study with the runs of a frame."""
    runs = frame.drop_duplicates(KEY)
    plans = {
        str(experiment): _plan(str(experiment), rows) for experiment, rows in runs.groupby("experiment", sort=False)
    }
    seeds = sorted({int(seed) for seed in runs["seed"]})
    plan: Plan = {"schema": 1, "study": name, "seeds": seeds, "experiments": plans, "runs": []}
    return StudyRows(folder=Path(), plan=plan, runs=tuple(_rows(runs)), foreign=0)


def _plan(experiment: str, runs: pd.DataFrame) -> ExperimentPlan:
    bases = list(runs.loc[runs["is_base"], "variant"].unique())
    variants = list(runs["variant"].unique())
    if len(bases) != 1:
        raise RowsError(
            f"results: experiment {experiment!r}: {len(bases)} bases; keep the rows of its base, or name one of "
            f"{', '.join(map(str, variants))}: effects(results, base=...)"
        )
    return {
        "task": "",
        "kind": "",
        "headline": [],
        "chance": {},
        "base": bases[0],
        "design": "variants",
        "variants": variants,
        "changes": {},
        "looks": [int(n) for n in str(runs["looks"].iloc[0]).split()],
    }


def _rows(runs: pd.DataFrame) -> Iterator[RunRow]:
    for row in records(runs):
        yield RunRow(
            experiment=row["experiment"],
            variant=row["variant"],
            seed=int(row["seed"]),
            id="",
            folder=Path(row["folder"]),
            state=row["state"],
            reason=None,
            run=None,
            result=None,
        )
