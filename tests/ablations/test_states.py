"""States of the runs of a study, while sweeps are at work and when none is."""

import json
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from ablations import pace
from ablations.load import make_study
from ablations.pace import write_sweep
from ablations.plan import write_plan
from ablations.progress import Progress, write_progress
from ablations.results import Result, write_result, write_run
from ablations.states import show, states
from ablations.study import Run

ROOT = Path(__file__).parents[2]


def planned(tiny: dict[str, Any], root: Path) -> list[Run]:
    """A study of six runs of which nothing has begun."""
    study = make_study(tiny, seeds=3)
    write_plan(study, study.runs(), root)
    return study.runs()


def begin(run: Run, root: Path) -> Path:
    folder = root / run.folder
    folder.mkdir(parents=True)
    write_run(run, folder, commit=None)
    return folder


def end(run: Run, root: Path, status: str, reason: str | None = None) -> None:
    write_result(run, begin(run, root), Result(status, reason), started="", commit=None)


def test_every_planned_run_has_a_state(
    tiny: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = planned(tiny, tmp_path)
    end(runs[0], tmp_path, "completed")
    end(runs[1], tmp_path, "diverged", "not finite at step 3")
    end(runs[2], tmp_path, "failed", "no memory\nmore")
    interrupted = begin(runs[3], tmp_path)
    (interrupted / ".lock").touch()
    write_progress(interrupted, Progress(1, 4, None, None, "cpu", 1.0))  # of a killed process
    found = states(tmp_path)
    expected = ["completed", "diverged", "failed", "interrupted", "waiting", "waiting"]
    assert [run["state"] for run in found["runs"]] == expected
    assert {state: n for state, n in found["counts"].items() if n} == {**dict.fromkeys(expected, 1), "waiting": 2}
    assert [run["progress"] for run in found["runs"]] == [None] * 6
    assert found["sweeps"] == []
    assert found["seconds_left"] is None
    show(found)
    shown = capsys.readouterr().out
    assert "no memory" in shown
    assert "more" not in shown
    assert shown.splitlines()[-1] == "2 of 6 runs are done"


def test_a_run_is_running_while_its_own_lock_is_held(
    tiny: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = planned(tiny, tmp_path)
    places = [begin(run, tmp_path) for run in runs[:3]]
    write_progress(places[0], Progress(30, 120, 2.5, 4000.0, "cpu", 9.0))
    with FileLock(places[0] / ".lock"), FileLock(places[1] / ".lock"):
        found = states(tmp_path)
    assert [run["state"] for run in found["runs"][:3]] == ["running", "running", "interrupted"]
    progress = found["runs"][0]["progress"]
    assert (progress["step"], progress["steps"], progress["loss"], progress["device"]) == (30, 120, 2.5, "cpu")
    assert found["throughput"] == {"runs_an_hour": None, "tokens_per_second": 4000.0}
    show(found)
    shown = capsys.readouterr().out
    (line,) = (line for line in shown.splitlines() if "step 30/120" in line)
    for words in ("copy / base / seed 0", "loss 2.500", "4,000 tokens/s", "cpu"):
        assert words in line
    assert "begins or ends" in shown


def test_failures_name_reason_and_the_log_that_tells_most(
    tiny: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = planned(tiny, tmp_path)
    reasons = ("ValueError: [no] 0\nlast lines", "rank 1 ended with status 1", "killed")
    for run, reason in zip(runs, reasons, strict=False):
        end(run, tmp_path, "failed", reason)
    for run in runs[:2]:
        for name in ("log.txt", "log-rank-1.txt"):
            (tmp_path / run.folder / name).touch()
    show(states(tmp_path))
    lines = capsys.readouterr().out.splitlines()
    where = [f"{runs[0].folder}/log.txt", f"{runs[1].folder}/log-rank-1.txt", runs[2].folder]
    for run, reason, place in zip(runs, ("ValueError: [no] 0", *reasons[1:]), where, strict=False):
        name = f"{run.experiment} / {run.variant} / seed {run.seed}"
        assert f"{name}: failed: {reason}; see {tmp_path / place}" in lines


def test_rate_and_time_left_are_those_of_the_sweeps_at_work(
    tiny: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = planned(tiny, tmp_path)
    end(runs[0], tmp_path, "completed")
    path = tmp_path / runs[0].folder / "result.json"
    ended = json.loads(path.read_text())["ended"]
    path.write_text(path.read_text().replace(ended, "2001-01-01T00:00:00+00:00"))  # before any sweep
    costs = {run.id: 10.0 for run in runs}
    mine = [run.id for run in runs]
    monkeypatch.setattr(pace.Sweep, "seconds", 36.0)
    with ExitStack() as held:
        for shard in ((1, 2), (2, 2)):
            held.enter_context(FileLock(pace.sweep_lock(tmp_path, shard)))
        write_sweep(tmp_path, (1, 2), 1, {run: costs[run] for run in mine[:3]}, done=1)
        write_sweep(tmp_path, (2, 2), 1, {run: costs[run] for run in mine[3:]}, done=0)
        end(runs[1], tmp_path, "failed", "no memory")
        end(runs[3], tmp_path, "completed")
        for run, step, rate in ((runs[2], 1, 3000.0), (runs[4], 2, 5000.0)):
            folder = begin(run, tmp_path)
            held.enter_context(FileLock(folder / ".lock"))
            write_progress(folder, Progress(step, 4, 1.0, rate, "cpu", 1.0))
        found = states(tmp_path)
    one, two = found["sweeps"]
    # a failed run of three and a quarter of another: 12.5 in 36 s, 17.5 left; the old result is not of this sweep
    assert (one["shard"], one["runs"], one["ended"]) == ("1/2", 3, 1)
    assert one["seconds_left"] == pytest.approx(17.5 * 36 / 12.5)
    assert (two["runs"], two["ended"], two["runs_an_hour"]) == (3, 1, 100.0)
    assert two["seconds_left"] == pytest.approx(15 * 36 / 15)
    assert found["throughput"] == {"runs_an_hour": 200.0, "tokens_per_second": 4000.0}
    assert found["seconds_left"] == one["seconds_left"]
    show(found)
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == ("2 of 6 runs are done, 200 runs an hour, 4,000 tokens/s a run (median), about 50 s left")
    assert any(line.startswith("shard 2/2 at work (process ") for line in lines)
    json.dumps(found, allow_nan=False)


def test_nothing_is_said_of_the_time_left_while_one_sweep_does_not_know(tiny: dict[str, Any], tmp_path: Path) -> None:
    runs = planned(tiny, tmp_path)
    with FileLock(pace.sweep_lock(tmp_path, (1, 1))):
        write_sweep(tmp_path, (1, 1), 2, {run.id: 10.0 for run in runs}, done=0)
        assert states(tmp_path)["seconds_left"] is None


@pytest.mark.parametrize("module", ["clean", "live", "pace", "progress", "states"])
def test_watching_does_not_load_torch(module: str) -> None:
    code = f"import sys, ablations.{module}; print(sorted({{'torch', 'lightning', 'pandas'}} & set(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert ran.stdout.strip() == "[]"
