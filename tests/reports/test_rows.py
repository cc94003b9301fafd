"""The schema: what is written is what is read, and nothing passes for what it is not."""

import csv
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reports.rows import (
    METRICS_COLUMNS,
    MetricRow,
    RowsError,
    read_metrics,
    read_plan,
    read_result,
    read_study,
    write_json,
    write_text,
)

Maker = Callable[..., Any]
ODD = ["None", "NA", "null", "nan", "", "_x", "a,b", 'say "hi"', "two\nlines", "ä", "1", "1e-4", "no"]


def small(make: Maker, **arguments: Any) -> Any:
    """A study with a base and one variant, nothing run."""
    study = make(**arguments)
    study.experiment("order", {"bare": {"model.position": "none"}}, kind="tagging", task="order")
    return study


def test_json_is_strict_and_replaces_the_file_whole(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    write_json(path, {"value": 0.1 + 0.2, "name": "ä<b>", "none": None})
    assert json.loads(path.read_text(encoding="utf-8")) == {"value": 0.1 + 0.2, "name": "ä<b>", "none": None}
    with path.open(encoding="utf-8") as reader:  # who has the old file open reads it to its end
        write_json(path, ["new"])
        assert json.load(reader)["name"] == "ä<b>"
    before = path.read_bytes()
    for bad in (float("nan"), float("inf"), object()):
        with pytest.raises((ValueError, TypeError)):
            write_json(path, {"value": bad})
    with pytest.raises(UnicodeEncodeError):
        write_text(path, "half \ud800")
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["result.json"]


def test_metrics_read_back_equal_what_was_written_types_included(tmp_path: Path) -> None:
    written = [MetricRow(7 * i, "validation", odd, odd, 0.1 * i) for i, odd in enumerate(ODD)]
    with (tmp_path / "metrics.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([METRICS_COLUMNS, *([*row[:4], repr(row.value)] for row in written)])
    read = read_metrics(tmp_path)
    assert read == written
    assert all(type(row.step) is int and type(row.value) is float for row in read)


def test_metrics_being_written_lose_only_the_unfinished_line(tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"
    assert read_metrics(tmp_path) == []
    path.write_text("step,split,metric,coordinate,value\n5,validation,loss,,0.5\n10,validation,loss,,0.2", "utf-8")
    assert read_metrics(tmp_path) == [MetricRow(5, "validation", "loss", "", 0.5)]
    path.write_text("step,split,metric,coord", "utf-8")
    assert read_metrics(tmp_path) == []


@pytest.mark.parametrize("text", ["a,b\n", "step,split,metric,coordinate,value\n1,v,loss,\n", f"{'step'},x\n1,2\n"])
def test_other_metrics_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "metrics.csv").write_text(text, "utf-8")
    with pytest.raises(RowsError, match=r"metrics\.csv"):
        read_metrics(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "no such file"),
        ("{", "cannot be read"),
        ("[]", "an object is wanted, not list"),
        ('{"schema": 1}', "without experiments, runs, seeds, study"),
        ('{"schema": 2, "study": "s", "seeds": [], "experiments": {}, "runs": []}', "schema: 2: this program reads 1"),
        ('{"schema": 1, "study": 7, "seeds": [], "experiments": {}, "runs": []}', "study: 7: not of the type"),
        ('{"schema": 1, "study": "s", "seeds": [], "experiments": [], "runs": []}', "experiments: .* dict"),
        ('{"schema": 1, "study": "s", "seeds": [], "experiments": {"e": {}}, "runs": []}', "without base"),
        ('{"schema": 1, "study": "s", "seeds": [], "experiments": {}, "runs": [{"id": 3}]}', "without experiment"),
    ],
)
def test_a_plan_that_cannot_be_used_is_refused_in_one_line(tmp_path: Path, text: str | None, message: str) -> None:
    if text is not None:
        (tmp_path / "plan.json").write_text(text, "utf-8")
    with pytest.raises(RowsError, match=message) as error:
        read_plan(tmp_path)
    assert "plan.json" in str(error.value)
    assert "\n" not in str(error.value)


def test_grid_family_and_description_may_be_there_or_not(make: Maker) -> None:
    study = small(make)
    assert "family" not in read_plan(study.write())["experiments"]["order"]
    study.plan["description"] = "d"
    study.experiment("far@distance=2", {}, family="far", grid={"task.distance": 2})
    plan = read_plan(study.write())
    assert plan["description"] == "d"
    assert plan["experiments"]["far@distance=2"]["grid"] == {"task.distance": 2}


def test_results_hold_no_nan_and_only_known_states(make: Maker) -> None:
    study = small(make)
    place = study.run("order", "base", 0, [("test", "loss", "", 0.5)])
    assert read_result(place)["metrics"] == [{"split": "test", "metric": "loss", "coordinate": "", "value": 0.5}]  # type: ignore[index]
    text = (place / "result.json").read_text("utf-8")
    twice = json.dumps({**json.loads(text), "metrics": 2 * json.loads(text)["metrics"]})
    for bad in (
        text.replace("0.5", "NaN"),
        text.replace("0.5", "1e999"),
        text.replace("0.5", '"0.5"'),
        text.replace('"completed"', '"done"'),
        text.replace('"metric"', '"name"'),
        text.replace("286976", '"many"'),
        json.dumps({**json.loads(text), "metrics": {"loss": 0.5}}),
        twice,
        text[:-20],
    ):
        assert bad != text
        (place / "result.json").write_text(bad, "utf-8")
        with pytest.raises(RowsError, match=r"result\.json"):
            read_result(place)
    (row, *_) = read_study(study.write()).runs
    assert (row.state, row.result) == ("failed", None)


@pytest.mark.parametrize("content", [b"step,split,metric,coordinate,value\n1,test,loss,,\xff\n", b"\xff\n"])
def test_metrics_that_are_no_text_are_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "metrics.csv").write_bytes(content)
    with pytest.raises(RowsError, match=r"metrics\.csv: cannot be read"):
        read_metrics(tmp_path)


def test_every_planned_run_has_one_row_and_its_state(make: Maker) -> None:
    study = small(make)
    study.run("order", "base", 0, [])
    study.run("order", "base", 1, [], status="diverged", reason="loss is not finite at step 31")
    study.run("order", "base", 2, [], status="failed", reason="out of memory")
    torn = study.run("order", "bare", 0, [])
    (torn / "result.json").write_text('{"schema": 1, "id"', "utf-8")
    begun = study.run("order", "bare", 1, [])
    (begun / "result.json").unlink()
    rows = read_study(study.write()).runs
    assert [(row.variant, row.seed, row.state) for row in rows] == [
        ("base", 0, "completed"),
        ("base", 1, "diverged"),
        ("base", 2, "failed"),
        ("bare", 0, "failed"),
        ("bare", 1, "missing"),
        ("bare", 2, "missing"),
    ]
    assert [row.reason for row in rows[:3]] == [None, "loss is not finite at step 31", "out of memory"]
    assert "cannot be read" in str(rows[3].reason)
    assert rows[4].run is not None
    assert rows[5].run is None


def test_two_results_for_a_run_are_a_conflict_that_names_both_and_neither_is_taken(make: Maker) -> None:
    study = small(make)
    place = study.run("order", "base", 0, [("test", "loss", "", 1.0)])
    copy = study.folder / "e1" / "copy" / "seed-0"
    shutil.copytree(place, copy)
    assert read_study(study.write()).runs[0].state == "completed"  # a renamed variant trained again: the same numbers
    result = copy / "result.json"
    result.write_text(result.read_text("utf-8").replace('"value": 1.0', '"value": 3.0'), "utf-8")
    row = read_study(study.folder).runs[0]
    assert (row.state, row.result) == ("conflict", None)
    assert "e1/v0/seed-0" in str(row.reason)
    assert "e1/copy/seed-0" in str(row.reason)


def test_two_planned_ids_for_one_seed_are_one_row(make: Maker) -> None:
    study = small(make)
    study.run("order", "base", 0, [("test", "loss", "", 1.0)])
    twin = {**study.planned("order", "base", 0), "id": "other", "folder": "e1/twin/seed-0"}
    study.plan["runs"].append(twin)
    assert [row.state for row in read_study(study.write()).runs][:1] == ["completed"]
    place = study.folder / twin["folder"]
    shutil.copytree(study.folder / "e1/v0/seed-0", place)
    for name in ("run.json", "result.json"):
        (place / name).write_text((place / name).read_text("utf-8").replace('"00000000"', '"other"'), "utf-8")
    rows = read_study(study.folder).runs
    assert len(rows) == 6
    assert rows[0].state == "conflict"


def test_a_failed_copy_beside_a_finished_run_is_no_conflict(make: Maker) -> None:
    study = small(make)
    study.run("order", "base", 0, [], status="failed", reason="killed")
    study.run("order", "base", 0, [("test", "loss", "", 1.0)], folder="e1/again/seed-0")
    row = read_study(study.write()).runs[0]
    assert (row.state, row.folder.name, row.folder.parent.name) == ("completed", "seed-0", "again")


def test_runs_that_are_not_planned_are_counted_and_not_read(make: Maker) -> None:
    study = small(make)
    study.experiment("gone", {"x": {"model.norm": "none"}})
    study.run("gone", "x", 0, [("test", "loss", "", 9.0)])
    study.run("gone", "x", 1, [("test", "loss", "", 9.0)])
    study.run("gone", "base", 0, [], folder="tune/base/0")
    del study.plan["experiments"]["gone"]
    study.plan["runs"] = [run for run in study.plan["runs"] if run["experiment"] != "gone"]
    found = read_study(study.write())
    assert found.foreign == 2
    assert {row.experiment for row in found.runs} == {"order"}


def test_a_folder_that_now_holds_another_run_counts_as_foreign(make: Maker) -> None:
    study = small(make)
    study.run("order", "base", 0, [("test", "loss", "", 1.0)])
    study.plan["runs"][0]["id"] = "changed"
    found = read_study(study.write())
    assert (found.runs[0].state, found.foreign) == ("missing", 1)


def test_reading_rows_needs_no_heavy_library() -> None:
    code = (
        "import sys, reports.rows; print([m for m in ('torch', 'pandas', 'numpy', 'matplotlib') if m in sys.modules])"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
