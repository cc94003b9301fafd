"""A sweep that is killed at random moments, and started again until it is done, ends as one that never was."""

import random
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from os import kill
from pathlib import Path
from typing import Any

import pytest

from reports.rows import COUNTED, RowsError, read_plan, read_result, status
from tests import processes

pytestmark = pytest.mark.slow

STUDY = """
name: crash
seeds: 2
experiments:
  tagger:
    task: {name: order, target: previous, length: 5, vocabulary: 7, validation_size: 11, test_size: 13}
    model: {architecture: decoder, d_model: 12, n_layers: 1, n_heads: 3, dropout: 0.2}
    train: {steps: 300, batch_size: 3, warmup: 2, log_every: 7, validate_every: 110, checkpoint_steps: 20}
    vary: {model.position: [none]}
  translator:
    task: {name: german, train_size: 40, validation_size: 5, test_size: 7, contrast_size: 7}
    model: {architecture: encoder-decoder, d_model: 12, n_layers: 1, n_heads: 3, dropout: 0.2}
    train: {steps: 130, batch_size: 3, warmup: 2, validate_every: 50, checkpoint_steps: 15}
  two-ranks:
    task: {name: recall, distance: 5, validation_size: 11, test_size: 13}
    model: {architecture: decoder, d_model: 12, n_layers: 1, n_heads: 3, dropout: 0.2}
    train: {steps: 200, batch_size: 5, warmup: 2, devices: 2, checkpoint_steps: 20}
"""
ROUNDS = 20
MOST_STARTS = 12


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("study") / "crash.yaml"
    path.write_text(STUDY)
    return path


@pytest.fixture(scope="module")
def whole(study: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the study gives when nobody disturbs it."""
    root = tmp_path_factory.mktemp("whole")
    assert sweep(study, root).wait(300) == 0
    return outcome(root)


def sweep(study: Path, root: Path) -> Any:
    options = ("--output", str(root), "--devices", "cpu:2", "--retries", "9")
    return processes.start("run", str(study), *options, quiet=True)


def outcome(root: Path) -> dict[str, Any]:
    """Everything of a study's runs that is not a time."""
    folder = root / "crash"
    found = {}
    for run in read_plan(folder)["runs"]:
        place = folder / run["folder"]
        result = read_result(place)
        assert result is not None, f"{run['folder']} is lost"
        outputs = {path.name: path.read_bytes() for path in sorted(place.glob("outputs/*"))}
        counted = {name: result["cost"].get(name) for name in ("parameters", "training_flops")}
        rows = (place / "metrics.csv").read_bytes()
        found[run["id"]] = (result["status"], result["reason"], result["metrics"], counted, outputs, rows)
    return found


def finals(root: Path) -> dict[str, tuple[str, int]]:
    """The results that are there for good: when each was written, and in which file."""
    found = {}
    for path in root.glob("crash/*/*/*/result.json"):
        with suppress(RowsError, FileNotFoundError):  # a failed run is being tried again
            result = read_result(path.parent)
            if result is not None and result["status"] in COUNTED:
                found[result["id"]] = (result["ended"], path.stat().st_ino)
    return found


def watched(driver: Any, root: Path, done: dict[str, tuple[str, int]]) -> int:
    """Wait for a sweep; nothing that is done, then or meanwhile, is done again."""
    end = time.monotonic() + 300
    while driver.poll() is None:
        now = finals(root)
        assert done.items() <= now.items()
        done |= now
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.05)
    return driver.returncode


def with_checkpoints(root: Path) -> set[Path]:
    """Folders of runs from which a sweep that was killed has to go on; its processes have ended then.

    Not of those that were killed between writing their result and removing their checkpoints.
    """
    while processes.of_runs(root):
        time.sleep(0.02)
    found = {path.parents[1] for path in root.glob("crash/*/*/*/checkpoints/step-*.ckpt")}
    return {place for place in found if status(place) not in COUNTED}


def victims(rng: random.Random, driver: Any, root: Path) -> Iterator[int]:
    """The driver as often as a process of a run; the driver where there is none."""
    runs = processes.of_runs(root)
    yield rng.choice(runs) if runs and rng.random() < 0.5 else driver.pid


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_killed_at_random_it_ends_as_if_it_never_was(
    seed: int, study: Path, whole: dict[str, Any], tmp_path: Path
) -> None:
    rng = random.Random(seed)
    kills_left, done, interrupted = rng.randint(1, 3), finals(tmp_path), set[Path]()
    for _ in range(MOST_STARTS):
        driver = sweep(study, tmp_path)
        while driver.poll() is None and kills_left:
            wait_for_runs(driver, tmp_path)
            time.sleep(rng.uniform(0.0, 2.5))
            if driver.poll() is None:
                done |= finals(tmp_path)
                for victim in victims(rng, driver, tmp_path):
                    kill(victim, signal.SIGKILL)
                    kills_left -= 1
                time.sleep(0.2)
        status = watched(driver, tmp_path, done)
        assert done.items() <= finals(tmp_path).items()  # nothing that was done was done again
        if status == 0:
            break
        assert status == -signal.SIGKILL
        interrupted |= with_checkpoints(tmp_path)
    assert all("goes on from step-" in (place / "log.txt").read_text() for place in interrupted)
    assert outcome(tmp_path) == whole
    assert processes.of_runs(tmp_path) == []
    assert list(tmp_path.glob("crash/*/*/*/checkpoints")) == []


def wait_for_runs(driver: Any, root: Path) -> None:
    while driver.poll() is None and not processes.of_runs(root):
        time.sleep(0.02)
