"""What a run says of itself, and whether it is at work."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from filelock import FileLock

from ablations.progress import Progress, is_held, is_running, read_progress, remove_progress, write_progress

HALF = Progress(step=7, steps=14, loss=1.25, tokens_per_second=12345.6, device="cpu", seconds=3.5, first=2)

HOLDER = """
import filelock, sys
lock = filelock.FileLock(sys.argv[1])
lock.acquire()
print("held", flush=True)
input()
"""


def test_what_is_written_is_read_and_can_be_taken_back(tmp_path: Path) -> None:
    assert read_progress(tmp_path) is None
    write_progress(tmp_path, HALF)
    assert read_progress(tmp_path) == HALF
    assert [path.name for path in tmp_path.iterdir()] == ["progress.json"]
    for _ in range(2):
        remove_progress(tmp_path)
        assert read_progress(tmp_path) is None


def test_numbers_that_are_none_are_none(tmp_path: Path) -> None:
    write_progress(tmp_path, Progress(1, 2, float("nan"), float("inf"), "cpu", 0.5))
    assert read_progress(tmp_path) == Progress(1, 2, None, None, "cpu", 0.5)


@pytest.mark.parametrize("text", ["", '{"step": 3, "ste', "[]", "7", '{"step": 3}', "\xff"])
def test_what_cannot_be_read_is_nothing(text: str, tmp_path: Path) -> None:
    (tmp_path / "progress.json").write_bytes(text.encode("latin-1"))
    assert read_progress(tmp_path) is None


def test_a_field_that_a_later_version_adds_is_passed_over(tmp_path: Path) -> None:
    content = {"step": 1, "steps": 2, "loss": None, "tokens_per_second": None, "device": "cpu", "seconds": 1, "more": 0}
    (tmp_path / "progress.json").write_text(json.dumps(content))
    assert read_progress(tmp_path) == Progress(1, 2, None, None, "cpu", 1)


def test_shares_and_words() -> None:
    assert HALF.share == 0.5
    assert HALF.share_of_try == 5 / 14
    assert HALF.words() == ("step 7/14", "loss 1.250", "12,346 tokens/s")
    assert Progress(0, 0, None, None, "cpu", 0.0).share == 0
    assert Progress(0, 3, None, None, "cpu", 0.0).words() == ("step 0/3", "", "")


def test_a_run_is_running_while_another_process_holds_its_lock(tmp_path: Path) -> None:
    assert not is_running(tmp_path)
    assert not list(tmp_path.iterdir())
    command = [sys.executable, "-c", HOLDER, str(tmp_path / ".lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert is_running(tmp_path)
        holder.kill()  # a killed process cannot let go of it by itself
        holder.wait()
        assert not is_running(tmp_path)


def test_asking_lets_go_of_the_lock(tmp_path: Path) -> None:
    lock = tmp_path / ".lock-1-2"
    lock.touch()
    assert not is_held(lock)
    with FileLock(lock, timeout=0):
        assert is_held(lock)
