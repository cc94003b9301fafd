"""Predicted operations and seconds: sums by hand over speeds that are given, and real timings that are plausible."""

import time
from collections.abc import Callable
from typing import Any

import pytest
import torch

from ablations import calibrate
from ablations.calibrate import LOOP, PROBE, START, Calibration, Speed, predicted_flops, shape_key
from ablations.callbacks import batch_flops
from ablations.load import make_study
from ablations.study import Run
from ablations.train import task_shape
from datamodules.base import TaskData
from models.greedy import greedy
from tests.ablations import trained

TRAIN: dict[str, Any] = {"steps": 7, "batch_size": 4, "validate_every": 3}
GERMAN: dict[str, Any] = {"task": trained.TASK, "model": trained.MODEL, "train": TRAIN}


def noting(seen: list[Any], note: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, adding `note` of what it is given to `seen` whenever it is called."""

    def called(*given: Any) -> Any:
        seen.append(note(*given))
        return function(*given)

    return called


def made(experiment: dict[str, Any]) -> tuple[Run, TaskData[Any]]:
    (run,) = make_study({"name": "tiny", "seeds": 1, "experiments": {"e": experiment}}).runs()
    data = run.settings.data(0)
    data.setup()
    return run, data


def test_operations_are_those_of_batches_spread_over_the_run() -> None:
    run, data = made(GERMAN)
    shape, model = task_shape(data), run.settings.model
    batches = [data.training_batch(index) for index in (0, 1, 2, 4, 5)]
    each = [batch_flops(model, shape, batch) for batch in batches]
    assert len(set(each)) > 1
    assert predicted_flops(run.settings, data) == pytest.approx(7 * sum(each) / 5)


def test_a_run_that_trains_nothing_costs_nothing(tiny: dict[str, Any]) -> None:
    tiny["experiments"]["copy"] |= {"measure": ["gradient-norm"], "vary": {"train.steps": [0]}}
    trained, untrained = (run.settings for run in make_study(tiny, seeds=1).runs())
    data = trained.data(0)
    data.setup()
    assert predicted_flops(trained, data) > 0
    assert predicted_flops(untrained, data) == 0


def test_seconds_are_steps_validations_test_and_constants(monkeypatch: pytest.MonkeyPatch) -> None:
    run, data = made(GERMAN)
    shape, model = task_shape(data), run.settings.model
    monkeypatch.setattr(calibrate, "_timed", lambda *_: Speed(training=2e-6, forward=3e-6, translation=0.01))
    seconds = START + 7 * LOOP + 2e-6 * predicted_flops(run.settings, data)
    for loaders, times in ((data.val_dataloader(), 3), (data.test_dataloader(), 1)):  # after steps 3, 6 and 7
        translated, contrasted = (list(loader) for loader in loaders)
        forward = sum(batch_flops(model, shape, batch) / 3 for batch in translated)
        forward += sum(2 * batch_flops(model, shape, batch) / 3 for batch in contrasted)
        positions = sum(batch["targets"].numel() for batch in translated)
        seconds += times * (3e-6 * forward + 0.01 * positions)
    assert Calibration("cpu", 1).seconds(run.settings, data) == pytest.approx(seconds)


def test_devices_share_the_work_but_not_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibrate, "_timed", lambda *_: Speed(1e-6, 1e-6, 0.0))
    one, two = (made({**GERMAN, "train": {**TRAIN, "devices": devices}}) for devices in (1, 2))
    alone, shared = (Calibration("cpu", 1).seconds(run.settings, data) for run, data in (one, two))
    assert shared - START == pytest.approx((alone - START) / 2)


def test_a_run_that_trains_nothing_is_not_timed(tiny: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(calibrate, "_timed")
    probes = ["gradient-norm", "reach", "token-similarity"]
    experiment = {**tiny["experiments"]["copy"], "vary": {}, "train": {"steps": 0}, "measure": probes}
    run, data = made(experiment)
    assert Calibration("cpu", 1).seconds(run.settings, data) == pytest.approx(START + 3 * PROBE)


def test_what_is_measured_while_training_is_no_probe_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibrate, "_timed", lambda *_: Speed(1e-6, 1e-6, 0.0))
    plain, *measured = (
        Calibration("cpu", 1).seconds(run.settings, data)
        for run, data in (made({**GERMAN, "measure": names}) for names in ([], ["update-ratio"], ["gradient-norm"]))
    )
    assert measured == pytest.approx([plain, plain + PROBE])


def test_a_shape_is_timed_once(tiny: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    tiny["experiments"]["copy"]["vary"] = {"train.lr": [1e-3, 1e-4], "train.batch_size": [5], "model.d_model": [24]}
    timed: list[Any] = []
    speed = Speed(1.0, 1.0, 0.0)
    monkeypatch.setattr(calibrate, "_timed", noting(timed, lambda settings, *_: settings, lambda *_: speed))
    runs = [run for run in make_study(tiny).runs() if run.seed == 0]
    data = runs[0].settings.data(0)
    data.setup()
    calibration = Calibration("cpu", 3)
    for run in runs:
        calibration.speed(run.settings, data)
    assert len(runs) == 5
    assert len({shape_key(run.settings, data) for run in runs}) == len(timed) == 3


def test_what_takes_long_is_said_once(
    tiny: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tiny["experiments"]["copy"]["vary"] = {"model.d_model": [24, 36]}
    monkeypatch.setattr(calibrate, "_timed", lambda *_: Speed(1.0, 1.0, 0.0))
    runs = [run for run in make_study(tiny).runs() if run.seed == 0]
    data = runs[0].settings.data(0)
    data.setup()
    for patience, said in ((60.0, ""), (-1.0, "timing two training steps of each of 3 shapes\n")):
        monkeypatch.setattr(calibrate, "PATIENCE", patience)
        calibration = Calibration("cpu", 3)
        for run in runs:
            calibration.speed(run.settings, data)
        assert capsys.readouterr().err == said


@pytest.mark.parametrize(
    "experiment",
    [
        GERMAN,
        {**GERMAN, "decode": {"beam": 2}, "train": {"steps": 2, "batch_tokens": 60, "precision": "bf16-mixed"}},
        {"task": {"name": "order", "length": 5, "vocabulary": 7}, "model": {"d_model": 12, "n_heads": 3}},
    ],
    ids=["greedy", "beam in bf16", "tagging"],
)
def test_two_steps_are_timed_and_nothing_is_left_changed(experiment: dict[str, Any]) -> None:
    run, data = made(experiment)
    steps: list[int] = []
    threads = torch.get_num_threads()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(calibrate, "_step", noting(steps, lambda *_: torch.get_num_threads(), calibrate._step))
        began = time.process_time()
        speed = Calibration("cpu", 1).speed(run.settings, data)
        took = time.process_time() - began
    assert steps == [1, 1, 1]
    assert torch.get_num_threads() == threads
    shape = task_shape(data)
    flops = sum(batch_flops(run.settings.model, shape, data.training_batch(index)) for index in (1, 2))
    held = calibrate._middle(data)
    forward = batch_flops(run.settings.model, shape, held) / 3
    timed = speed.training * flops + speed.forward * forward + speed.translation * held["targets"].numel()
    assert 0 < timed < took
    assert (speed.translation > 0) == (run.settings.task_name == "german")


def test_a_slower_step_gives_a_longer_run(monkeypatch: pytest.MonkeyPatch) -> None:
    run, data = made({**GERMAN, "train": {"steps": 300, "batch_size": 4}})
    step = calibrate._step

    def slow(*given: Any) -> None:
        step(*given)
        until = time.process_time() + 0.05  # busy: the clock is the process's own
        while time.process_time() < until:
            pass

    quick = Calibration("cpu", 1).seconds(run.settings, data)
    monkeypatch.setattr(calibrate, "_step", slow)
    assert Calibration("cpu", 1).seconds(run.settings, data) - quick == pytest.approx(300 * 0.05, rel=0.5)


def test_translations_are_as_long_as_their_references(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fresh model would go on to the limit, twice the source and ten."""
    run, data = made(GERMAN)
    limits: list[Any] = []
    monkeypatch.setattr("ablations.calibrate.greedy", noting(limits, lambda *given: given[-1], greedy))
    Calibration("cpu", 1).speed(run.settings, data)
    held = calibrate._middle(data)
    assert limits[0].tolist() == held["target_real"].sum(1).tolist()
