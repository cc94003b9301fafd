"""What a probe is: a mechanism measured on a model as it stands, off the path of training."""

import copy
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import torch
from torch import nn

from models.losses import Batch


class Measurement(NamedTuple):
    """One number of a probe; the coordinate says where it was taken, such as "layer=1", and is empty for the whole."""

    metric: str
    coordinate: str
    value: float


Probe = Callable[[nn.Module, Sequence[Batch]], list[Measurement]]
"""Takes a model and the batches of its task's validation set, at least one, and leaves all as they were.

Raises ValueError, in one line, where it does not apply to the model or to the task.
"""


def largest(values: Iterable[float]) -> float:
    """The largest of at least one value; NaN where one of them is, which `max` would pass over."""
    return float(torch.tensor(list(values), dtype=torch.float64).max())


def smallest(values: Iterable[float]) -> float:
    """The smallest of at least one value; NaN where one of them is."""
    return float(torch.tensor(list(values), dtype=torch.float64).min())


def exact_copy(model: nn.Module) -> nn.Module:
    """A copy in double precision, where a gradient that shrinks by ten a layer is still a number after 300 layers.

    In training mode (a batch norm takes the batch's statistics), but without dropout.
    """
    model = copy.deepcopy(model).double().train()
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
        elif isinstance(module, nn.RNNBase):
            module.dropout = 0.0
    return model
