"""What a study leaves on disk: the schema, its reader, and how it is written.

    runs/<study>/plan.json                          experiments, variants and runs of the current plan
    runs/<study>/<experiment>/<variant>/<run>/      run.json, metrics.csv, result.json

Facts come from the files, never from the names of folders. Rows are joined on the ids of the current plan; other runs
in the folder are counted. Standard library only, so that a table of states is quick.
"""

import csv
import io
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, Literal, NamedTuple, NoReturn, NotRequired, TypedDict, TypeVar, cast, get_args

SCHEMA = 1
"""Version of the files below; a file of another version is refused."""

METRICS_COLUMNS = ("step", "split", "metric", "coordinate", "value")
"""Header of metrics.csv. `coordinate` is empty or `name=value`, such as `distance=8`, `length=48`, `layer=2`."""

ITEMS = "items"
"""Metric that holds how many test items a number rests on, in all or at a coordinate. Optional."""

Status = Literal["completed", "diverged", "failed"]
"""How a run ended. Diverged (a loss that is not finite) is a result, with values fixed beforehand; failed is none."""

State = Literal["completed", "diverged", "failed", "missing", "conflict"]
"""Where a planned run stands: as its result says, without a result, or with more than one."""

STATES: tuple[State, ...] = get_args(State)
COUNTED: tuple[State, ...] = ("completed", "diverged")
"""States whose values enter the numbers."""

ARCHIVE = "rows.tar.xz"
"""Name of the file in the folder of a record that holds its rows (`reports.archive`)."""

NOT_RUNS = ("report", "tune", "match", "events")
"""Folders of a study that hold no runs."""


class RowsError(ValueError):
    """A file of a study cannot be used; one line that names the file and what is wrong."""


class ExperimentPlan(TypedDict):
    """One experiment: what is compared with what."""

    task: str
    kind: str
    headline: list[str]  # metrics, most important first
    chance: dict[str, float]  # metric to its value when guessing, where that is known
    base: str
    design: str
    variants: list[str]  # base first
    changes: dict[str, dict[str, Any]]  # variant to {dotted path: value}
    grid: NotRequired[dict[str, Any]]  # where the experiment is one point of a grid: {dotted path: value}
    family: NotRequired[str]  # name in the study file, which the points of a grid share
    comparison: NotRequired[str]  # what is held equal: same (by default), tuned or matched
    origin: NotRequired[str]  # experiment with the same settings whose variants were tuned or matched
    left_out: NotRequired[dict[str, str]]  # variants of the origin that could not be made equal, and why
    looks: NotRequired[list[int]]  # numbers of seeds at which it was to be looked whether more are needed
    units: NotRequired[dict[str, str]]  # what coordinates count in, where it is not tokens: {"distance": "words"}
    references: NotRequired[dict[str, dict[str, float]]]  # metric to {name: value}: floors, ceilings, oracles
    marks: NotRequired[dict[str, list[str]]]  # variant to properties that a reader must know: leaks_future
    # path of a part to what is said of it: says, section, equation, off, next (older plans: one text)
    components: NotRequired[dict[str, str | dict[str, Any]]]


class PlannedRun(TypedDict):
    """One run that is to be there."""

    experiment: str
    variant: str
    seed: int
    id: str
    folder: str  # relative to the study's


class Plan(TypedDict):
    """plan.json."""

    schema: int
    study: str
    description: NotRequired[str]
    seeds: list[int]
    experiments: dict[str, ExperimentPlan]
    runs: list[PlannedRun]


class RunFile(TypedDict):
    """run.json."""

    schema: int
    id: str
    study: str
    experiment: str
    variant: str
    seed: int
    comparison: str  # what is held equal: same, tuned or matched
    config: dict[str, Any]
    signature: str


class Value(TypedDict):
    """One measured number; splits other than train, validation and test are measurements of the model itself."""

    split: str
    metric: str
    coordinate: str
    value: float | None


class Cost(TypedDict, total=False):
    """What a run took."""

    parameters: int | None
    training_flops: float | None
    wall_seconds: float | None
    train_seconds: float | None  # of the training alone, without validation
    busy_seconds: float | None
    tokens_per_second: float | None
    peak_memory_mib: float | None


class ResultFile(TypedDict):
    """result.json, written last."""

    schema: int
    id: str
    status: Status
    reason: str | None
    log: NotRequired[str | None]  # its end, where the run has failed
    notes: NotRequired[list[str]]  # what a reader should know of the data
    references: NotRequired[dict[str, dict[str, float]]]  # metric to {name: value}: floors, ceilings, oracles
    metrics: list[Value]
    signatures: dict[str, str]  # metric to how it was computed
    cost: Cost
    versions: dict[str, str]
    commit: str | None
    host: str
    device: str
    started: str
    ended: str


class MetricRow(NamedTuple):
    """One line of metrics.csv."""

    step: int
    split: str
    metric: str
    coordinate: str
    value: float


@dataclass(frozen=True, kw_only=True)
class RunRow:
    """A planned run and what has become of it."""

    experiment: str
    variant: str
    seed: int
    id: str
    folder: Path
    state: State
    reason: str | None
    run: RunFile | None
    """None where the run has not been started."""
    result: ResultFile | None
    """None where there is none, or more than one."""


@dataclass(frozen=True, kw_only=True)
class StudyRows:
    """A study as far as it has come: every planned run in the order of the plan."""

    folder: Path
    plan: Plan
    runs: tuple[RunRow, ...]
    foreign: int
    """Runs in the folder that are not part of the current plan."""

    def count(self, state: State) -> int:
        """Number of planned runs in a state."""
        return sum(row.state == state for row in self.runs)


def write_json(path: Path, content: Any) -> None:
    """Write strict JSON so that a reader sees the old file or the new one, whole. ValueError for NaN and infinity."""
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def write_text(path: Path, text: str) -> None:
    """Replace a file as `write_bytes` does; in UTF-8, line ends as they are."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes | memoryview) -> None:
    """Replace a file in one step; it survives a crash of the machine."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def read_plan(folder: Path) -> Plan:
    """Read a study's plan.json. RowsError where there is none or it cannot be used."""
    path = folder / "plan.json"
    if not path.is_file():
        raise RowsError(f"{path}: no such file; a study's folder holds the plan of its runs")
    plan = _read(path, Plan)
    _check_kinds(path, plan, {"study": str, "seeds": list, "experiments": dict, "runs": list})
    for experiment in plan["experiments"].values():
        _require(path, experiment, ExperimentPlan)
        _check_kinds(path, experiment, {"headline": list, "chance": dict, "variants": list, "changes": dict})
    for run in plan["runs"]:
        _require(path, run, PlannedRun)
    return plan


def read_run(folder: Path) -> RunFile | None:
    """Read a run's run.json, if it is there. RowsError where it cannot be used."""
    path = folder / "run.json"
    if not path.is_file():
        return None
    run = _read(path, RunFile)
    _check_kinds(path, run, {"id": str, "config": dict})
    sections = {"task": dict, "model": dict, "train": dict}
    _check_kinds(path, {**dict.fromkeys(sections), **run["config"]}, sections)
    return run


def read_result(folder: Path) -> ResultFile | None:
    """Read a run's result.json, if it is there. RowsError where it cannot be used."""
    path = folder / "result.json"
    if not path.is_file():
        return None
    result = _read(path, ResultFile)
    if result["status"] not in get_args(Status):
        raise RowsError(f"{path}: status: {result['status']!r}: one of {', '.join(get_args(Status))}")
    _check_kinds(path, result, {"cost": dict, "signatures": dict, "versions": dict, "references": dict, "notes": list})
    for levels in result.get("references", {}).values():
        _check_kinds(path, {"references": levels}, {"references": dict})
    _check_metrics(path, result["metrics"])
    for name, number in result["cost"].items():
        _check_number(path, f"cost: {name}", number)
    return result


def status(folder: Path) -> Status | None:
    """How a run has ended, by its result.json; None where there is none that can be read."""
    result = _readable_result(folder)
    return result["status"] if result else None


def final_results(folder: Path) -> dict[str, ResultFile]:
    """The results of a study that stand for good, by the id of the run, in whichever folder they lie."""
    found = (_readable_result(place) for place in run_folders(folder))
    return {result["id"]: result for result in found if result and result["status"] in COUNTED}


def _readable_result(folder: Path) -> ResultFile | None:
    try:
        return read_result(folder)
    except RowsError:
        return None


def read_metrics(folder: Path) -> list[MetricRow]:
    """Read a run's metrics.csv; none where there is no file. A last line still being written is left out."""
    path = folder / "metrics.csv"
    if not path.is_file():
        return []
    try:
        text = path.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise RowsError(f"{path}: cannot be read: {error}") from error
    lines = csv.reader(io.StringIO(text[: text.rfind("\n") + 1], newline=""))
    try:
        if tuple(next(lines, METRICS_COLUMNS)) != METRICS_COLUMNS:
            raise RowsError(f"{path}: the columns must be {','.join(METRICS_COLUMNS)}")
        return [MetricRow(int(row[0]), row[1], row[2], row[3], float(row[4])) for row in lines]
    except RowsError:
        raise
    except (ValueError, IndexError, csv.Error) as error:
        raise RowsError(f"{path}: line {lines.line_num}: {error}") from error


def read_study(folder: Path) -> StudyRows:
    """Read the plan and what every run of it has come to. RowsError where the plan cannot be used.

    A run whose result cannot be read has failed; a run with two results is in conflict, and neither is taken.
    """
    plan = read_plan(folder)
    copies, foreign = _found(folder, plan)
    planned: dict[tuple[str, str, int], list[PlannedRun]] = {}
    for run in plan["runs"]:
        planned.setdefault((run["experiment"], run["variant"], run["seed"]), []).append(run)
    rows = tuple(_row(folder, runs, copies) for runs in planned.values())
    return StudyRows(folder=folder, plan=plan, runs=rows, foreign=foreign)


def _row(folder: Path, planned: list[PlannedRun], copies: dict[str, list[Path]]) -> RunRow:
    """Judge one (experiment, variant, seed) by everything that is there for it.

    A run trained twice (a variant was renamed, say) gives the same numbers twice; other numbers are a conflict. Two
    variants with the same settings are trained once.
    """
    places = list(dict.fromkeys(p for run in planned for p in (folder / run["folder"], *copies.get(run["id"], []))))
    found = {place: _outcome(place, {run["id"] for run in planned}) for place in places}
    counted = [place for place in places if found[place][0] in COUNTED]
    place = next((p for p in (*counted, *places) if found[p][0] != "missing"), places[0])
    state, reason, result = found[place]
    if any(_numbers(found[other][2]) != _numbers(result) for other in counted):
        names = ", ".join(str(place.relative_to(folder)) for place in counted)
        state, reason, result = "conflict", f"{len(counted)} results: {names}", None
    return RunRow(
        experiment=planned[0]["experiment"],
        variant=planned[0]["variant"],
        seed=planned[0]["seed"],
        id=planned[0]["id"],
        folder=place,
        state=state,
        reason=reason,
        run=readable_run(place),
        result=result,
    )


def _numbers(result: ResultFile | None) -> object:
    return result and (result["id"], result["status"], result["metrics"])


def _outcome(place: Path, ids: set[str]) -> tuple[State, str | None, ResultFile | None]:
    try:
        result = read_result(place)
    except RowsError as error:
        return "failed", str(error), None
    if result is None or result["id"] not in ids:
        return "missing", None, None
    return result["status"], result["reason"], result


def _found(folder: Path, plan: Plan) -> tuple[dict[str, list[Path]], int]:
    """Run folders that hold an id of the plan, by id, and the number of others. Variants may share a run."""
    expected_ids = {run["folder"]: run["id"] for run in plan["runs"]}
    ids = set(expected_ids.values())
    found: dict[str, list[Path]] = {}
    foreign = 0
    for place in run_folders(folder):
        run = readable_run(place)
        expected = expected_ids.get(place.relative_to(folder).as_posix())
        if run is not None and run["id"] in ids:
            found.setdefault(run["id"], []).append(place)
        elif expected is None or run is not None:
            foreign += 1
    return found, foreign


def run_folders(folder: Path) -> Iterator[Path]:
    """The folders of a study in which a run lies, planned or not."""
    for path in sorted(folder.glob("*/*/*/run.json")):
        if path.relative_to(folder).parts[0] not in NOT_RUNS:
            yield path.parent


def readable_run(folder: Path) -> RunFile | None:
    """A run's run.json; None where there is none that can be used."""
    try:
        return read_run(folder)
    except RowsError:
        return None


Content = TypeVar("Content")


def _read(path: Path, kind: type[Content]) -> Content:
    try:
        content = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse_constant)
    except (ValueError, OSError) as error:
        raise RowsError(f"{path}: cannot be read: {error}") from error
    _require(path, content, kind)
    if content["schema"] != SCHEMA:
        raise RowsError(f"{path}: schema: {content['schema']!r}: this program reads {SCHEMA}")
    return cast(Content, content)


def _require(path: Path, content: Any, kind: Any) -> None:
    if not isinstance(content, dict):
        raise RowsError(f"{path}: an object is wanted, not {type(content).__name__}")
    absent = sorted(kind.__required_keys__ - content.keys())
    if absent:
        raise RowsError(f"{path}: without {', '.join(absent)}")


def _check_kinds(path: Path, content: Mapping[str, Any], kinds: Mapping[str, type]) -> None:
    """Fields that are there are of the type that is wanted."""
    for name, kind in kinds.items():
        if name in content and not isinstance(content[name], kind):
            raise RowsError(f"{path}: {name}: {content[name]!r}: not of the type that is wanted, {kind.__name__}")


def _check_metrics(path: Path, metrics: Any) -> None:
    if not isinstance(metrics, list):
        raise RowsError(f"{path}: metrics: a list is wanted, not {type(metrics).__name__}")
    for value in metrics:
        _require(path, value, Value)
        _check_number(path, f"metrics: {value['metric']}", value["value"])
    keys = [(value["split"], value["metric"], value["coordinate"]) for value in metrics]
    if len(set(keys)) < len(keys):
        raise RowsError(f"{path}: metrics: a value is there twice")


def _check_number(path: Path, name: str, number: Any) -> None:
    if number is not None and not (isinstance(number, int | float) and isfinite(number)):
        raise RowsError(f"{path}: {name}: {number!r}: a finite number or null is wanted")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
