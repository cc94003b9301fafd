"""The optimiser and its learning rate: one AdamW, four schedules, all counted in optimiser steps."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from torch import nn
from torch.optim import AdamW
from torch.optim.lr_scheduler import LambdaLR

from models.config import ConfigError, check_choice, checked_number

if TYPE_CHECKING:  # importing Lightning takes seconds, and a configuration does not need it
    from lightning.pytorch.utilities.types import OptimizerLRScheduler

Schedule = Literal["cosine", "linear", "inverse-sqrt", "constant"]


@dataclass(frozen=True, kw_only=True)
class OptimConfig:
    """How a model is trained: length, learning rate, regularisation. Raises ConfigError on a value out of range."""

    steps: int = 1000
    """Optimiser steps of the whole run; 0 trains nothing."""
    lr: float = 3e-3
    """Peak learning rate, reached at the end of the warm-up."""
    warmup: int = 50
    """Optimiser steps over which the rate rises linearly to its peak; 0: none."""
    schedule: Schedule = "cosine"
    """After the warm-up: along a cosine or a line to 0 at the last step, by the inverse square root (Vaswani et al.
    2017, 5.3), or constant."""
    weight_decay: float = 0.01
    """Decoupled weight decay of AdamW (Loshchilov and Hutter 2019), on every parameter."""
    beta2: float = 0.999
    """Decay of the running mean of squared gradients; Transformers for translation often use 0.98."""
    clip: float = 1.0
    """Largest norm of the whole gradient; a greater one is scaled down to it; 0: no clipping."""
    label_smoothing: float = 0.0
    """Share of the target probability spread over all classes, in the training loss only (Szegedy et al. 2016)."""

    def __post_init__(self) -> None:
        for name in ("steps", "warmup"):
            if type(getattr(self, name)) is not int or getattr(self, name) < 0:
                raise ConfigError(f"{name}={getattr(self, name)!r}: must be a whole number, 0 or more")
        check_choice("schedule", self.schedule, get_args(Schedule))
        for name in ("lr", "weight_decay", "beta2", "clip", "label_smoothing"):
            value = checked_number(name, getattr(self, name))
            object.__setattr__(self, name, value)  # 1 and 1.0 are one configuration
            if value < 0:
                raise ConfigError(f"{name}={value!r}: must be 0 or more")
        if self.lr == 0:
            raise ConfigError("lr=0.0: must be above 0")
        for name in ("beta2", "label_smoothing"):
            if getattr(self, name) >= 1:
                raise ConfigError(f"{name}={getattr(self, name)!r}: must be below 1")

    def factor(self, step: int) -> float:
        """The learning rate of optimiser step `step` (the first is 1) as a share of the peak; finite for every step."""
        if step <= self.warmup:
            return step / self.warmup
        share = min(1.0, (step - self.warmup) / max(1, self.steps - self.warmup))
        match self.schedule:
            case "cosine":
                return 0.5 * (1.0 + math.cos(math.pi * share))
            case "linear":
                return 1.0 - share
            case "inverse-sqrt":
                return math.sqrt(max(1, self.warmup) / step)
            case "constant":
                return 1.0


def configure(parameters: Iterable[nn.Parameter], config: OptimConfig) -> "OptimizerLRScheduler":
    """AdamW and its schedule in the form that Lightning's `configure_optimizers` returns.

    Whoever takes an optimiser's step moves the schedule after it: step n = 1, 2, ... then runs at lr * factor(n).
    """
    optimiser = AdamW(parameters, lr=config.lr, betas=(0.9, config.beta2), weight_decay=config.weight_decay, fused=True)
    # LambdaLR asks with the number of steps already done.
    schedule = LambdaLR(optimiser, lambda done: config.factor(done + 1))
    return {"optimizer": optimiser, "lr_scheduler": schedule}
