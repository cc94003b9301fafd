"""Runs in processes of their own: none stops another, none is lost."""

from pathlib import Path
from typing import Any

import pytest

from ablations import runner
from ablations.load import make_study
from ablations.results import Result, write_result
from ablations.runner import is_final, run_all, status
from reports.rows import read_result


def test_runs_end_with_results_equal_to_those_of_this_process(tiny: dict[str, Any], tmp_path: Path) -> None:
    from ablations.train import train

    runs = make_study(tiny).runs()
    outcomes = list(run_all(runs, tmp_path, workers=2))
    assert sorted(outcome.run.folder for outcome in outcomes) == sorted(run.folder for run in runs)
    assert {outcome.status for outcome in outcomes} == {"completed"}
    assert all(is_final(tmp_path / run.folder) for run in runs)
    here = train(runs[0], tmp_path / "here")
    there = read_result(tmp_path / runs[0].folder)
    assert there is not None
    assert [metric.as_dict() for metric in here.metrics] == there["metrics"]


def test_a_run_that_raises_is_failed_with_its_reason_and_stops_no_other(tiny: dict[str, Any], tmp_path: Path) -> None:
    runs = make_study(tiny).runs()
    blocked = tmp_path / runs[0].folder
    blocked.mkdir(parents=True)
    (blocked / "metrics.csv").mkdir()  # the run cannot write its metrics
    outcomes = {outcome.run.folder: outcome for outcome in run_all(runs, tmp_path, workers=2)}
    assert outcomes[runs[0].folder].status == "failed"
    assert "IsADirectoryError" in str(outcomes[runs[0].folder].reason)
    assert "Traceback" in (blocked / "log.txt").read_text()
    assert [outcomes[run.folder].status for run in runs[1:]] == ["completed"] * 3
    assert not is_final(blocked)


def test_a_run_that_is_killed_is_failed_with_the_signal(
    tiny: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny["experiments"]["copy"]["train"]["steps"] = 2_000_000
    start = runner._start

    def start_and_kill(*args: Any) -> Any:
        process = start(*args)
        process.kill()
        return process

    monkeypatch.setattr(runner, "_start", start_and_kill)
    (outcome,) = run_all(make_study(tiny).runs()[:1], tmp_path, workers=1)
    assert outcome.status == "failed"
    assert "SIGKILL" in str(outcome.reason)


def test_leaving_early_ends_the_processes(
    tiny: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = tiny["experiments"]["copy"]
    spec["vary"] = {"train.steps": [2_000_000]}
    short, long = make_study(tiny, seeds=1).runs()
    processes: list[Any] = []
    start = runner._start

    def remember(*args: Any) -> Any:
        processes.append(start(*args))
        return processes[-1]

    monkeypatch.setattr(runner, "_start", remember)
    sweep = run_all([short, long], tmp_path, workers=2)
    assert next(sweep).run == short
    sweep.close()  # type: ignore[attr-defined]
    assert [process.is_alive() for process in processes] == [False, False]
    assert not is_final(tmp_path / long.folder)


def test_states_of_a_folder(tiny: dict[str, Any], tmp_path: Path) -> None:
    run = make_study(tiny).runs()[0]
    assert status(tmp_path) is None
    for name, final in (("failed", False), ("diverged", True), ("completed", True)):
        write_result(run, tmp_path, Result(name), started="", commit=None)
        assert status(tmp_path) == name
        assert is_final(tmp_path) is final
    (tmp_path / "result.json").write_text("{", encoding="utf-8")
    assert status(tmp_path) is None
