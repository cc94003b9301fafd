"""What goes wrong on real machines ends in a clear word, and nothing that was done is lost."""

import os
import resource
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from reports.rows import read_plan, status
from tests import processes

pytestmark = pytest.mark.slow

STUDY = """
name: faults
seeds: 4
experiments:
  copy:
    task: {name: order, target: previous, length: 5, vocabulary: 7, validation_size: 11, test_size: 13}
    model: {architecture: decoder, d_model: 12, n_layers: 1, n_heads: 3}
    train: {steps: 60, batch_size: 3, warmup: 2}
    vary: {model.position: [none]}
"""


@pytest.fixture
def study(tmp_path: Path) -> str:
    path = tmp_path / "faults.yaml"
    path.write_text(STUDY)
    return str(path)


def run(study: str, root: Path, *options: str, **popen: Any) -> tuple[int, str, str]:
    command = ("run", study, "--output", str(root), "--devices", "cpu:2", *options)
    return processes.finish(processes.start(*command, **popen))


def states(root: Path) -> list[str | None]:
    folder = root / "faults"
    return [status(folder / run["folder"]) for run in read_plan(folder)["runs"]]


@contextmanager
def mounted(folder: Path, options: str) -> Iterator[None]:
    """A small disk of its own at `folder`; skips where this user may not mount one."""
    folder.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], capture_output=True, text=True)
    if made.returncode:
        pytest.skip(f"cannot mount a small disk here: {made.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def wait_until(true: Callable[[], object], seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.05)


def test_a_full_disk_ends_the_sweep_in_one_line_and_it_goes_on_when_there_is_room(study: str, tmp_path: Path) -> None:
    root = tmp_path / "small"
    with mounted(root, "size=1m"):
        filler = root / "filler"
        filler.write_bytes(b"x" * (1024 - 28) * 1024)
        code, _, error = run(study, root)
        assert code in (1, 2)
        assert "No space left on device" in error
        assert "Traceback" not in error
        assert processes.of_runs(root) == []
        assert None in states(root) or "failed" in states(root)
        filler.unlink()
        assert run(study, root)[0] == 0
        assert set(states(root)) == {"completed"}
        assert list(root.rglob(".*.[0-9]*")) == []  # nothing half written stays


def test_a_checkpoint_for_which_there_is_no_room_fails_its_run_alone(study: str, tmp_path: Path) -> None:
    root = tmp_path / "small"
    with mounted(root, "size=1m"):
        (root / "filler").write_bytes(b"x" * (1024 - 150) * 1024)
        code, _, error = run(study, root, "--seeds", "1", "--retries", "0", "--set", "train.checkpoint_steps=7",
                             "--set", "model.d_model=60")  # fmt: skip
        assert code == 1
        assert "No space left on device" in error
        assert set(states(root)) == {"failed"}
        assert list(root.rglob(".step*")) == []


def test_a_folder_that_cannot_be_written_is_refused_in_one_line(study: str, tmp_path: Path) -> None:
    root = tmp_path / "read-only"
    with mounted(root, "ro"):
        code, out, error = run(study, root)
    assert (code, out) == (2, "")
    assert error.splitlines()[-1].startswith("ablations: ")
    assert "Read-only file system" in error
    assert "Traceback" not in error


def test_a_second_sweep_in_the_folder_is_refused_and_does_no_harm(study: str, tmp_path: Path) -> None:
    longer = ("--set", "train.steps=400000", "--seeds", "1")
    first = processes.start("run", study, "--output", str(tmp_path), *longer)
    wait_until(lambda: processes.of_runs(tmp_path))
    for second in (longer, (*longer, "--redo"), (*longer, "--shard", "1/2")):
        code, out, error = run(study, tmp_path, *second)
        assert (code, out) == (2, "")
        assert "another sweep is at work" in error
    assert len(processes.of_runs(tmp_path)) == len(states(tmp_path)) == 2
    first.send_signal(signal.SIGINT)
    assert processes.finish(first)[0] == 130
    assert set(states(tmp_path)) == {None}
    assert run(study, tmp_path, "--seeds", "1")[0] == 0
    assert set(states(tmp_path)) == {"completed"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_a_sweep_that_is_interrupted_goes_on_where_it_was(number: signal.Signals, study: str, tmp_path: Path) -> None:
    longer = ("--set", "train.steps=1500", "--seeds", "1")
    sweep = processes.start("run", study, "--output", str(tmp_path), "--devices", "cpu:2", *longer)
    wait_until(lambda: list(tmp_path.glob("faults/*/*/*/progress.json")))
    began = time.monotonic()
    sweep.send_signal(number)
    code, _, error = processes.finish(sweep)
    assert time.monotonic() - began < 15
    assert code == 130
    assert "goes on from here" in error
    assert processes.of_runs(tmp_path) == []
    assert set(states(tmp_path)) == {None}
    assert run(study, tmp_path, *longer)[0] == 0
    logs = [path.read_text() for path in tmp_path.glob("faults/*/*/*/log.txt")]
    assert any("goes on from step-" in log for log in logs)
    assert set(states(tmp_path)) == {"completed"}


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_what_is_sent_to_all_processes_at_once_ends_them_in_good_order(
    number: signal.Signals, study: str, tmp_path: Path
) -> None:
    """As a closed terminal, Ctrl-C in one, or a scheduler does."""
    longer = ("--set", "train.steps=200000", "--seeds", "1")
    sweep = processes.start("run", study, "--output", str(tmp_path), *longer, start_new_session=True)
    wait_until(lambda: list(tmp_path.glob("faults/*/*/*/progress.json")))
    os.killpg(sweep.pid, number)
    code, _, error = processes.finish(sweep)
    assert code == 130
    assert "Traceback" not in error
    assert processes.of_runs(tmp_path) == []
    assert list(tmp_path.glob("faults/*/*/*/checkpoints/step-*.ckpt"))


def test_a_reader_that_leaves_does_not_end_the_sweep(study: str, tmp_path: Path) -> None:
    sweep = processes.start("run", study, "--output", str(tmp_path), "--devices", "cpu:2", "--seeds", "2")
    assert sweep.stderr is not None
    sweep.stderr.readline()
    sweep.stderr.close()
    assert sweep.wait(240) == 0
    assert sweep.stdout is not None
    sweep.stdout.close()
    assert states(tmp_path) == ["completed"] * 4


def test_a_run_that_wants_too_much_memory_is_marked_so_and_the_others_go_on(study: str, tmp_path: Path) -> None:
    text = (
        STUDY
        + "  large:\n    task: {name: order, length: 2048, validation_size: 1, test_size: 1}\n"
        + ("    model: {architecture: decoder, d_model: 64, position: alibi}\n    train: {steps: 2, batch_size: 512}\n")
    )
    path = tmp_path / "large.yaml"
    path.write_text(text)
    room = 12 * 2**30

    def less_memory() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (room, room))

    code, _, error = run(str(path), tmp_path, "--seeds", "1", preexec_fn=less_memory)
    assert code == 1
    assert sorted(map(str, states(tmp_path))) == ["completed", "completed", "failed"]
    lines = [line for line in error.splitlines() if "large / base" in line]
    assert len(lines) == 2  # tried twice
    assert all("out of memory" in line for line in lines)


def test_variables_of_a_scheduler_that_a_shell_has_left_change_nothing(study: str, tmp_path: Path) -> None:
    left = {
        "SLURM_NTASKS": "3",
        "SLURM_JOB_NAME": "bash",
        "SLURM_JOB_ID": "7",
        "SLURM_PROCID": "2",
        "SLURM_LOCALID": "2",
    }
    left |= {"SLURM_NODEID": "1", "SLURM_NTASKS_PER_NODE": "3", "WORLD_SIZE": "3", "RANK": "2", "LOCAL_RANK": "2"}
    left |= {"MASTER_ADDR": "nowhere", "MASTER_PORT": "1", "TORCHELASTIC_RUN_ID": "x", "GROUP_RANK": "1"}
    code, _, _ = run(study, tmp_path / "one", "--seeds", "1", env=os.environ | left)
    assert code == 0
    code, _, _ = run(study, tmp_path / "two", "--seeds", "1", "--set", "train.devices=2", env=os.environ | left)
    assert code == 0
    assert set(states(tmp_path / "one")) == set(states(tmp_path / "two")) == {"completed"}


def test_eight_shards_at_once_train_each_run_once(study: str, tmp_path: Path) -> None:
    shards = [
        processes.start("run", study, "--output", str(tmp_path), "--devices", "cpu:1", "--shard", f"{i}/8")
        for i in range(1, 9)
    ]
    ends = [processes.finish(shard) for shard in shards]
    assert [code for code, _, _ in ends] == [0] * 8
    assert sum("1 completed" in error for _, _, error in ends) == 8
    assert states(tmp_path) == ["completed"] * 8
    assert run(study, tmp_path)[2].count("nothing to train") == 1
