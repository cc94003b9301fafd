"""What is watched while a run trains."""

import math
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from ablations.callbacks import Best, Heartbeat, Hopeless, Stopwatch, Target, tokens
from ablations.progress import Progress, read_progress
from models.config import ModelConfig, TaskShape

SHAPE = TaskShape(kind="tagging", input_sizes=(7,), output_size=7)
NOTHING: Any = None


def test_validation_time_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    walls, busy = iter([10.0, 12.0, 20.0, 23.0]), iter([1.0, 1.5, 5.0, 6.0])
    monkeypatch.setattr(time, "perf_counter", lambda: next(walls))
    monkeypatch.setattr(time, "process_time", lambda: next(busy))
    watch = Stopwatch(ModelConfig(d_model=12), SHAPE)
    watch.on_train_start(NOTHING, NOTHING)
    watch.on_validation_start(NOTHING, NOTHING)
    watch.on_validation_end(NOTHING, NOTHING)
    watch.on_train_end(NOTHING, NOTHING)
    assert (watch.wall, watch.busy) == (5.0, 1.5)


def test_tokens_are_the_real_ones_of_what_is_trained_on() -> None:
    plain = {"inputs": torch.zeros(2, 5), "targets": torch.full((2, 5), -100)}
    real = torch.arange(5) < torch.tensor([[2], [4]])
    assert tokens(plain) == 10
    assert tokens({**plain, "real": real}) == 6
    assert tokens({"source_real": torch.ones(2, 7), "target_real": real, "targets": plain["targets"]}) == 6


def test_operations_are_counted_by_the_batch() -> None:
    watch = Stopwatch(ModelConfig(d_model=12), SHAPE)
    batch = {
        "inputs": torch.zeros(2, 5, dtype=torch.long),
        "targets": torch.tensor([[1, 2, -100, -100, 0], [-100] * 5]),
    }
    watch.on_train_batch_end(NOTHING, NOTHING, NOTHING, batch, 0)
    once = watch.flops
    watch.on_train_batch_end(NOTHING, NOTHING, NOTHING, batch, 1)
    assert watch.flops == 2 * once > 0
    assert watch.tokens == 20
    watch.on_train_batch_end(NOTHING, NOTHING, NOTHING, [batch, batch, batch], 2)
    assert (watch.flops, watch.tokens) == (5 * once, 50)
    watch.on_train_batch_end(NOTHING, NOTHING, NOTHING, {**batch, "idle": True}, 3)
    assert (watch.flops, watch.tokens) == (5 * once, 50)
    assert watch.cost()["tokens_per_second"] is None


@pytest.mark.parametrize(
    ("losses", "best"),
    [([1.0, 2.0, 3.0], 0), ([3.0, 1.0, 2.0], 1), ([math.nan, 2.0, 1.0], 2), ([math.nan, math.nan], None)],
)
def test_the_best_weights_and_values_are_those_of_the_lowest_loss(losses: list[float], best: int | None) -> None:
    callback, model = Best("validation/loss"), torch.nn.Linear(1, 1)
    module: Any = SimpleNamespace(model=model)
    for number, loss in enumerate(losses):
        torch.nn.init.constant_(model.weight, number)
        metrics = {
            "validation/loss": torch.tensor(loss),
            "validation/bleu": torch.tensor(float(number)),
            "train/loss": 0.0,
        }
        trainer: Any = SimpleNamespace(callback_metrics=metrics)
        callback.on_validation_end(trainer, module)
    resumed = Best("validation/loss")
    resumed.load_state_dict(callback.state_dict())
    for one in (callback, resumed):
        if best is None:
            assert (one.values, one.weights) == ({}, None)
        else:
            assert one.values == {"validation/loss": losses[best], "validation/bleu": float(best)}
            assert one.weights is not None
            assert one.weights["weight"].item() == best


def test_a_stopwatch_goes_on_where_it_was() -> None:
    watch, other = Stopwatch(ModelConfig(d_model=12), SHAPE), Stopwatch(ModelConfig(d_model=12), SHAPE)
    watch.wall, watch.busy, watch.flops, watch.tokens = 3.0, 2.0, 7.0, 10
    other.load_state_dict(watch.state_dict())
    assert (other.flops, other.tokens) == (7.0, 10)
    assert other.wall == pytest.approx(3.0, abs=0.1)
    assert other.busy == pytest.approx(2.0, abs=0.1)
    assert other.cost()["tokens_per_second"] == pytest.approx(5.0, abs=0.3)


def test_a_heartbeat_says_how_far_the_run_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([100.0, 100.5, 101.0, 101.75, 101.875])
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    beat = Heartbeat(tmp_path, 50, "cpu")
    watch = Stopwatch(ModelConfig(d_model=12), SHAPE, heartbeat=beat)
    module: Any = SimpleNamespace(last_loss=0.5)
    batch = {"inputs": torch.zeros(2, 5, dtype=torch.long), "targets": torch.zeros(2, 5, dtype=torch.long)}
    seen = []
    monkeypatch.setattr(watch, "rate", lambda: 3.0)
    watch.on_train_start(SimpleNamespace(global_step=7), module)  # type: ignore[arg-type]
    for step in (8, 9, 10):
        trainer: Any = SimpleNamespace(global_step=step)
        watch.on_train_batch_end(trainer, module, NOTHING, batch, 0)
        seen.append(read_progress(tmp_path))
    watch.on_validation_start(trainer, module)
    assert seen[0] == Progress(8, 50, 0.5, 3.0, "cpu", 0.5, first=7)
    assert seen[1] == seen[0]  # too soon
    assert seen[2] == Progress(10, 50, 0.5, 3.0, "cpu", 1.75, first=7)
    assert read_progress(tmp_path) == Progress(10, 50, 0.5, 3.0, "cpu", 1.875, first=7)


def judged(hopeless: Hopeless, *values: tuple[int, float]) -> bool:
    """Whether the training is to stop after validations at these steps."""
    trainer: Any = SimpleNamespace(should_stop=False, global_step=0, callback_metrics={})
    for step, loss in values:
        trainer.global_step, trainer.callback_metrics = step, {"validation/loss": torch.tensor(loss)}
        hopeless.on_validation_end(trainer, NOTHING)
    return trainer.should_stop


@pytest.mark.parametrize(
    ("values", "ends"),
    [
        ([(24, 9.0)], False),  # too early to say
        ([(25, 2.01)], True),
        ([(25, 2.0)], False),
        ([(30, 2.5)], True),  # the first at or after the step
        ([(20, 9.0), (30, 1.0), (40, 9.0)], False),  # judged once
        ([(30, math.nan)], True),
    ],
)
def test_what_is_hopeless_is_judged_once_by_a_limit_fixed_beforehand(
    values: list[tuple[int, float]], ends: bool
) -> None:
    hopeless = Hopeless("validation/loss", 25, 2.0)
    assert judged(hopeless, *values) is ends
    assert (hopeless.reason is not None) is ends


def test_a_judgement_outlives_a_checkpoint() -> None:
    first, second = (Hopeless("validation/loss", 25, 2.0) for _ in range(2))
    judged(first, (30, 3.0))
    second.load_state_dict(first.state_dict())
    trainer: Any = SimpleNamespace(should_stop=False)
    second.on_train_start(trainer, NOTHING)
    assert trainer.should_stop
    assert second.reason == first.reason == "hopeless: validation/loss 3 at step 30, and 2 is the limit"


def test_a_target_that_was_reached_outlives_a_checkpoint() -> None:
    first, second = (Target(None, 1.5) for _ in range(2))
    trainer: Any = SimpleNamespace(callback_metrics={"validation/loss": 1.4}, global_step=30, should_stop=False)
    first.on_validation_end(trainer, NOTHING)
    resumed: Any = SimpleNamespace(should_stop=False)
    second.on_train_start(resumed, NOTHING)
    assert not resumed.should_stop
    second.load_state_dict(first.state_dict())
    second.on_train_start(resumed, NOTHING)
    assert (resumed.should_stop, second.steps) == (True, 30)
