"""Runs in processes of their own: none stops another, none is lost, each sees its own device."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ablations import child, local
from ablations.devices import Device
from ablations.load import make_study
from ablations.local import Local
from ablations.progress import is_running
from ablations.runner import Outcome, run_all
from ablations.study import Run
from ablations.train import train
from models.config import ConfigError
from reports.rows import read_metrics, read_result, status
from tests.ablations import raising

CORES = [Device("cpu", "0"), Device("cpu", "1")]
LONG = 2_000_000


def all_outcomes(runs: list[Run], root: Path, devices: list[Device] = CORES, **options: Any) -> dict[str, Outcome]:
    with Local(root, devices, **options) as executor:
        return {outcome.run.folder: outcome for outcome in run_all(runs, root, executor)}


def long_runs(tiny: dict[str, Any], n: int = 1, **train_settings: Any) -> list[Run]:
    tiny["experiments"]["copy"]["train"] |= {"steps": LONG, **train_settings}
    return make_study(tiny).runs()[:n]


def wait_until(true: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.02)


def pids(executor: Local) -> list[int]:
    return [process.pid or 0 for job in executor._jobs for process in job.processes]


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_runs_end_with_results_equal_to_those_of_this_process(tiny: dict[str, Any], tmp_path: Path) -> None:
    runs = make_study(tiny).runs()
    outcomes = all_outcomes(runs, tmp_path)
    assert sorted(outcomes) == sorted(run.folder for run in runs)
    assert {outcome.status for outcome in outcomes.values()} == {"completed"}
    here = train(runs[0], tmp_path / "here")
    there = read_result(tmp_path / runs[0].folder)
    assert there is not None
    assert [metric.as_dict() for metric in here.metrics] == there["metrics"]
    assert not (tmp_path / runs[0].folder / "progress.json").exists()


def test_a_run_that_raises_is_failed_with_its_reason_and_stops_no_other(tiny: dict[str, Any], tmp_path: Path) -> None:
    runs = make_study(tiny).runs()
    blocked = tmp_path / runs[0].folder
    blocked.mkdir(parents=True)
    (blocked / "metrics.csv").mkdir()  # the run cannot write its metrics
    outcomes = all_outcomes(runs, tmp_path)
    assert outcomes[runs[0].folder].status == "failed"
    assert "IsADirectoryError" in str(outcomes[runs[0].folder].reason)
    assert "Traceback" in (blocked / "log.txt").read_text()
    result = read_result(blocked)
    assert result is not None
    assert str(result["log"]).endswith(str(result["reason"]).partition(": ")[2])
    assert [outcomes[run.folder].status for run in runs[1:]] == ["completed"] * 3


def test_a_run_that_is_killed_is_failed_with_the_signal(tiny: dict[str, Any], tmp_path: Path) -> None:
    (run,) = long_runs(tiny)
    with Local(tmp_path, CORES) as executor:
        assert executor.start(run)
        wait_until(lambda: is_running(tmp_path / run.folder))
        os.kill(pids(executor)[0], signal.SIGKILL)
        assert executor.wait(60) == [run]
    result = read_result(tmp_path / run.folder)
    assert result is not None
    assert result["status"] == "failed"
    assert "SIGKILL" in str(result["reason"])


def test_no_more_runs_than_places(tiny: dict[str, Any], tmp_path: Path) -> None:
    runs = long_runs(tiny, 4)
    with Local(tmp_path, CORES[:1], per_device=2) as executor:
        assert executor.workers == 2
        assert [executor.start(run) for run in runs] == [True, True, False, False]
    with Local(tmp_path, CORES, per_device=1) as executor:
        assert [executor.start(run) for run in runs] == [True, True, False, False]


def test_leaving_ends_the_processes_and_leaves_no_result(tiny: dict[str, Any], tmp_path: Path) -> None:
    runs = long_runs(tiny, 2)
    with Local(tmp_path, CORES) as executor:
        for run in runs:
            executor.start(run)
        started = pids(executor)
        began = time.monotonic()
    assert time.monotonic() - began < local.GRACE
    assert not any(alive(pid) for pid in started)
    assert [status(tmp_path / run.folder) for run in runs] == [None, None]


def test_a_run_that_is_stopped_writes_a_checkpoint_first(tiny: dict[str, Any], tmp_path: Path) -> None:
    (run,) = long_runs(tiny)
    folder = tmp_path / run.folder
    with Local(tmp_path, CORES) as executor:
        executor.start(run)
        wait_until(lambda: (folder / "progress.json").exists())
    assert len(list((folder / "checkpoints").glob("step-*.ckpt"))) == 1
    assert not is_running(folder)


def test_a_second_interrupt_does_not_wait(
    tiny: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (run,) = long_runs(tiny)

    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    executor = Local(tmp_path, CORES).__enter__()
    executor.start(run)
    (pid,) = pids(executor)
    os.kill(pid, signal.SIGSTOP)  # it will not hear that it is to stop
    monkeypatch.setattr(local, "wait", interrupt)
    with pytest.raises(KeyboardInterrupt):
        executor.__exit__()
    assert not alive(pid)


def test_a_run_that_takes_too_long_is_ended_and_failed(tiny: dict[str, Any], tmp_path: Path) -> None:
    (run,) = long_runs(tiny)
    outcome = all_outcomes([run], tmp_path, timeout=3.0)[run.folder]
    assert outcome.status == "failed"
    assert str(outcome.reason).startswith("timed out after 3 s")


@pytest.mark.parametrize(
    ("number", "said"), [("SIGKILL", "rank 1 ended with signal SIGKILL"), ("SIGTERM", "a request")]
)
def test_one_rank_that_dies_or_is_to_end_ends_the_others(
    number: str, said: str, tiny: dict[str, Any], tmp_path: Path
) -> None:
    (run,) = long_runs(tiny, devices=2)
    folder = tmp_path / run.folder
    with Local(tmp_path, CORES) as executor:
        executor.start(run)
        wait_until(lambda: (folder / "progress.json").exists())
        os.kill(pids(executor)[1], signal.Signals[number])
        began = time.monotonic()
        while not executor.wait(60):
            assert time.monotonic() - began < 60
    result = read_result(folder)
    assert result is not None
    assert result["status"] == "failed"
    assert said in str(result["reason"])
    assert len(list((folder / "checkpoints").glob("step-*.ckpt"))) == (number == "SIGTERM")


def test_runs_of_two_devices_at_the_same_time_do_not_meet(tiny: dict[str, Any], tmp_path: Path) -> None:
    one = {outcome.run.id: outcome for outcome in all_outcomes(make_study(tiny).runs(), tmp_path / "one").values()}
    tiny["experiments"]["copy"]["train"] |= {"devices": 2}
    runs = make_study(tiny).runs()
    outcomes = all_outcomes(runs, tmp_path / "two", per_device=2)
    assert {outcome.run.id for outcome in outcomes.values()} == set(one)
    for run in runs:
        alone, shared = (read_result(tmp_path / place / run.folder) for place in ("one", "two"))
        assert alone is not None
        assert shared is not None
        assert shared["device"] == "2 x cpu"
        assert [value["metric"] for value in shared["metrics"]] == [value["metric"] for value in alone["metrics"]]
        assert [value["value"] for value in shared["metrics"]] == pytest.approx(
            [value["value"] for value in alone["metrics"]], rel=1e-5
        )
        assert shared["cost"]["training_flops"] == alone["cost"]["training_flops"]


def test_too_many_devices_are_refused(tiny: dict[str, Any], tmp_path: Path) -> None:
    (run,) = long_runs(tiny, devices=3)
    with Local(tmp_path, CORES) as executor, pytest.raises(ConfigError, match=r"train.devices=3: .*: cpu 0, cpu 1"):
        executor.start(run)


def test_each_process_sees_its_own_gpu_and_one_that_is_not_there_is_used_no_more(
    tiny: dict[str, Any], tmp_path: Path
) -> None:
    """With made-up GPUs: the processes say which device they were given, and find it missing."""
    runs = make_study(tiny).runs()
    with Local(tmp_path, [Device("cuda", "2"), Device("cuda", "5")]) as executor:
        assert [executor.start(run) for run in runs[:2]] == [True, True]
        ended: list[Run] = []
        while len(ended) < 2:
            ended += executor.wait(60)
        assert executor.devices == []
        with pytest.raises(ConfigError, match="none is left"):
            executor.start(runs[2])
    logs = [(tmp_path / run.folder / "log.txt").read_text() for run in runs[:2]]
    assert ["CUDA_VISIBLE_DEVICES=2:" in logs[0], "CUDA_VISIBLE_DEVICES=5:" in logs[1]] == [True, True]
    assert [status(tmp_path / run.folder) for run in runs[:2]] == [None, None]


def test_two_processes_never_train_one_run_at_once(tiny: dict[str, Any], tmp_path: Path) -> None:
    from filelock import FileLock

    run = make_study(tiny).runs()[0]
    folder = tmp_path / run.folder
    folder.mkdir(parents=True)
    with FileLock(folder / ".lock"), Local(tmp_path, CORES) as executor:
        executor.start(run)
        assert executor.wait(3.0) == []
        assert not (folder / "run.json").exists()


@pytest.mark.parametrize(("ranks", "said"), [(1, "ValueError: no more"), (2, "rank 1 ended with status 1")])
def test_a_run_that_raises_half_way_has_failed_and_goes_on_when_it_is_tried_again(
    ranks: int, said: str, tiny: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HB-31, HB-33: at step 30, on the last rank alone."""
    tiny["experiments"]["copy"]["train"] |= {"steps": 60, "validate_every": 60, "checkpoint_steps": 10}
    tiny["experiments"]["copy"]["train"] |= {"devices": ranks}
    run = make_study(tiny).runs()[0]
    monkeypatch.setattr(child, "main", raising.main)
    began = time.monotonic()
    with Local(tmp_path, CORES) as executor:
        first, second = run_all([run], tmp_path, executor, retries=1)
    assert time.monotonic() - began < 60
    assert (first.status, first.reason, first.again) == ("failed", said, True)
    assert (second.status, second.reason) == ("completed", None)
    log = (tmp_path / run.folder / "log.txt").read_text()
    assert log.count("goes on from step-24.ckpt") == 1
    assert {path.name for path in tmp_path.glob("copy/*/*")} == {Path(run.folder).name}


def test_a_rank_that_fails_before_the_ranks_have_met_ends_the_one_that_waits_for_it(
    tiny: dict[str, Any], tmp_path: Path
) -> None:
    """HB-33. Left alone, the other would wait for half an hour."""
    (run,) = long_runs(tiny, devices=2)
    (tmp_path / run.folder / "log-rank-1.txt").mkdir(parents=True)  # rank 1 cannot write its log
    began = time.monotonic()
    with Local(tmp_path, CORES) as executor:
        executor.start(run)
        while not executor.wait(5):
            assert time.monotonic() - began < 60
    result = read_result(tmp_path / run.folder)
    assert result is not None
    assert (result["status"], result["reason"]) == ("failed", "rank 1 ended with status 1")


def test_two_ranks_leave_one_folder_and_each_row_once(tiny: dict[str, Any], tmp_path: Path) -> None:
    """HB-32."""
    tiny["experiments"]["copy"]["train"] |= {"steps": 12, "log_every": 1, "batch_size": 4}
    alone = make_study(tiny, seeds=1).runs()
    tiny["experiments"]["copy"]["train"] |= {"devices": 2}
    shared = make_study(tiny, seeds=1).runs()
    for runs, name in ((alone, "one"), (shared, "two")):
        all_outcomes(runs, tmp_path / name)
    for run in shared:
        one, two = (read_metrics(tmp_path / name / run.folder) for name in ("one", "two"))
        assert [row[:4] for row in two] == [row[:4] for row in one]
        assert [row.value for row in two] == pytest.approx([row.value for row in one], rel=1e-4)
    assert len(list((tmp_path / "two").rglob("result.json"))) == len(list((tmp_path / "two").glob("*/*/*"))) == 2


def test_a_run_that_the_system_has_ended_for_want_of_memory_is_marked_so(
    tiny: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HB-34. The kernel kills with SIGKILL and counts it."""
    (run,) = long_runs(tiny)
    kills = iter([3, 4])
    monkeypatch.setattr(local, "_oom_kills", lambda: next(kills))
    with Local(tmp_path, CORES) as executor:
        executor.start(run)
        os.kill(pids(executor)[0], signal.SIGKILL)
        assert executor.wait(60) == [run]
    result = read_result(tmp_path / run.folder)
    assert result is not None
    assert str(result["reason"]).endswith("SIGKILL; the system has ended processes for want of memory meanwhile")
