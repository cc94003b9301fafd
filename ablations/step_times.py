"""How the training steps of two settings compare in time, measured here, so that noise of the machine meets both."""

from collections.abc import Callable
from statistics import median
from typing import Any

import torch

from ablations.calibrate import one_thread, seconds_of_steps
from ablations.study import Settings
from ablations.train import task_shape
from datamodules.base import TaskData
from models.build import build_model
from models.lit import make_module

ROUNDS = 7
STEPS = 2  # timed in a round, after one that is not

Prepared = tuple[Settings, TaskData[Any]]
"""Settings and their data, which are set up."""


def step_ratio(base: Prepared, other: Prepared, kind: str) -> float:
    """Seconds of a training step of `other` for each of `base`, on a device of a kind.

    The two take turns; the median over the rounds is that of their ratios, which a machine that slows down leaves be.
    """
    with one_thread():
        first, second = _stopwatch(*base, kind), _stopwatch(*other, kind)
        return median(_ratio(first, second) for _ in range(ROUNDS))


def _ratio(first: Callable[[], float], second: Callable[[], float]) -> float:
    below = first()
    return second() / below


def _stopwatch(settings: Settings, data: TaskData[Any], kind: str) -> Callable[[], float]:
    """Seconds of STEPS training steps of a fresh model, whenever it is called."""
    shape = task_shape(data)
    model = build_model(settings.model, shape, 0)
    module = make_module(model, settings.train, shape, data.detokenise, settings.decode).to(kind)
    batches = [data.training_batch(index) for index in range(1 + STEPS)]
    half = settings.train.precision == "bf16-mixed"

    def seconds() -> float:
        with torch.autocast(kind, torch.bfloat16, enabled=half, cache_enabled=False):
            return seconds_of_steps(module, batches, kind)

    return seconds
