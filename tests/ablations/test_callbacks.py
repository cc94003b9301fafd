"""What is watched while a run trains."""

import math
import time
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from ablations.callbacks import BestValues, Stopwatch, tokens
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
    assert watch.cost()["tokens_per_second"] is None


@pytest.mark.parametrize(
    ("losses", "best"),
    [([1.0, 2.0, 3.0], 0), ([3.0, 1.0, 2.0], 1), ([math.nan, 2.0, 1.0], 2), ([math.nan, math.nan], None)],
)
def test_best_values_are_those_of_the_lowest_loss(losses: list[float], best: int | None) -> None:
    callback = BestValues("validation/loss")
    for number, loss in enumerate(losses):
        metrics = {
            "validation/loss": torch.tensor(loss),
            "validation/bleu": torch.tensor(float(number)),
            "train/loss": 0.0,
        }
        trainer: Any = SimpleNamespace(callback_metrics=metrics)
        callback.on_validation_end(trainer, NOTHING)
    expected = {} if best is None else {"validation/loss": losses[best], "validation/bleu": float(best)}
    assert callback.values == expected
