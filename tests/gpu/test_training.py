"""Whole runs on a GPU: near those of the CPU, in either precision, and interrupted ones like whole ones."""

import math
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from ablations.calibrate import Calibration
from ablations.checkpoints import saved
from ablations.local import Local
from ablations.ranks import Place
from ablations.restore import restore
from ablations.results import Result
from ablations.study import Run
from ablations.train import train
from reports.rows import read_metrics, status
from tests.gpu.gpus import KINDS, gpus, needs, runs_of

pytestmark = [needs(1), pytest.mark.filterwarnings("ignore:GPU available but not used")]  # lightning, for the CPU's

GPU = Place("cuda")


def losses(result: Result) -> dict[str, float]:
    return {f"{row.split} {row.coordinate}": row.value for row in result.metrics if row.metric == "loss"}


def rows(folder: Path) -> dict[tuple[Any, ...], float]:
    """The logged training loss by step."""
    return {(row.step,): row.value for row in read_metrics(folder) if (row.split, row.metric) == ("train", "loss")}


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_is_near_that_of_the_cpu(kind: str, tmp_path: Path) -> None:
    (run,) = runs_of(kind, measure=("gradient-norm",), keep_checkpoints=True)
    here, there = train(run, tmp_path / "cpu"), train(run, tmp_path / "gpu", place=GPU)
    assert there.status == "completed"
    assert there.device == torch.cuda.get_device_name()
    assert [(row.split, row.metric) for row in there.metrics] == [(row.split, row.metric) for row in here.metrics]
    assert losses(there) == pytest.approx(losses(here), rel=2e-3)
    assert rows(tmp_path / "gpu") == pytest.approx(rows(tmp_path / "cpu"), rel=2e-3)
    probes = [[row.value for row in result.metrics if row.split == "probe"] for result in (there, here)]
    assert probes[0] == pytest.approx(probes[1], rel=0.05)
    assert there.cost["training_flops"] == here.cost["training_flops"]


def test_what_is_kept_needs_no_gpu(tmp_path: Path) -> None:
    (run,) = runs_of("translator", keep_checkpoints=True)
    train(run, tmp_path, place=GPU)
    kept = torch.load(tmp_path / "checkpoints/best.ckpt", weights_only=True)["state_dict"]
    assert {weight.device.type for weight in kept.values()} == {"cpu"}
    assert {weight.device.type for weight in restore(tmp_path).model.parameters()} == {"cpu"}


@pytest.mark.parametrize("kind", KINDS)
def test_bfloat16_is_near_float32_and_not_the_same(kind: str, tmp_path: Path) -> None:
    results = {}
    for precision in ("float32", "bf16-mixed"):
        (run,) = runs_of(kind, precision=precision, keep_checkpoints=True)
        results[precision] = losses(train(run, tmp_path / precision, place=GPU))
        kept = torch.load(tmp_path / precision / "checkpoints/best.ckpt", weights_only=True)["state_dict"]
        assert {weight.dtype for name, weight in kept.items() if name.startswith("model.")} == {torch.float32}
    assert results["bf16-mixed"] == pytest.approx(results["float32"], rel=0.05)
    assert results["bf16-mixed"] != results["float32"]


def test_a_loss_that_is_not_finite_ends_the_run_as_diverged(tmp_path: Path) -> None:
    (run,) = runs_of("tagger", lr=1e30, clip=0.0, model={"norm": "none"})
    result = train(run, tmp_path, place=GPU)
    assert result.status == "diverged"
    assert "not finite" in str(result.reason)


def test_peak_memory_is_that_of_the_gpu(tmp_path: Path) -> None:
    """Weights, gradients and AdamW's two means are 16 bytes a parameter; activations grow with the batch."""
    peaks = {}
    for batch_size in (2, 2048):
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        (run,) = runs_of("tagger", batch_size=batch_size, model={"d_model": 192})
        cost = train(run, tmp_path / str(batch_size), place=GPU).cost
        peak, parameters = cost["peak_memory_mib"], cost["parameters"]
        assert peak is not None
        assert parameters is not None
        assert peak == pytest.approx(torch.cuda.max_memory_allocated() / 2**20, abs=0.1)
        assert 16 * parameters / 2**20 < peak < 4096
        peaks[batch_size] = peak
    assert peaks[2048] > 1.5 * peaks[2]


def wait_for_checkpoint(folder: Path, executor: Local) -> None:
    end = time.monotonic() + 120
    while not saved(folder / "checkpoints"):
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.01)


def finish(executor: Local, run: Run) -> None:
    end = time.monotonic() + 120
    while not executor.wait(10):
        assert time.monotonic() < end, "it takes too long"


@pytest.mark.parametrize("kind", ["tagger", "translator"])
def test_a_killed_run_goes_on_with_the_same_noise(kind: str, tmp_path: Path) -> None:
    """Other noise would change the rows by far more than 1 %: a batch of 5 with a dropout of 0.3."""
    (run,) = runs_of(kind, steps=400, checkpoint_steps=30, validate_every=170, log_every=10, model={"dropout": 0.3})
    whole = tmp_path / "whole"
    train(run, whole, place=GPU)
    folder = tmp_path / run.folder
    with Local(tmp_path, gpus(1)) as executor:
        executor.start(run)
        wait_for_checkpoint(folder, executor)
        (process,) = executor._jobs[0].processes
        os.kill(process.pid or 0, signal.SIGKILL)
        finish(executor, run)
        assert status(folder) == "failed"
        executor.start(run)
        finish(executor, run)
    assert status(folder) == "completed"
    assert "goes on from step-" in (folder / "log.txt").read_text()
    assert [(row.step, row.metric, row.coordinate) for row in read_metrics(folder)] == [
        (row.step, row.metric, row.coordinate) for row in read_metrics(whole)
    ]
    # afterwards rounding, which differs from try to try on a GPU, may have grown
    early = {step: loss for step, loss in rows(folder).items() if step <= (100,)}
    assert early == pytest.approx({step: rows(whole)[step] for step in early}, rel=0.01)


def test_seconds_are_predicted_for_a_gpu() -> None:
    (run,) = runs_of("translator")
    data = run.settings.data(run.seed)
    data.setup()
    seconds = Calibration("cuda", 1).seconds(run.settings, data)
    assert 0 < seconds < 60
    assert math.isfinite(seconds)
