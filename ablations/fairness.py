"""What a study says of fair comparison: how its variants are tuned, and how they are made the same size."""

from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from models.config import ConfigError, check_choice, checked_number

Quantity = Literal["parameters", "flops", "seconds"]
"""Trained parameters; operations of the whole training; seconds of a training step on this machine."""

FACTORS = (1.0, 0.25, 4.0, 0.5, 2.0, 0.125, 8.0, 0.0625)
"""Of the base's learning rate, its own first, then ever finer and farther out, so that few trials are spread too."""


@dataclass(frozen=True, kw_only=True)
class TuneConfig:
    """`tune` of a study: the search that every variant is given, the base included."""

    trials: int = 8
    """Points of the space that are tried for each variant."""
    space: dict[str, Any] = field(default_factory=lambda: {"train.lr": {"factors": list(FACTORS)}})
    """Dotted path to a list of values, `{factors: [...]}` of the base's own value, or `{low: x, high: y}`, which is
    drawn from evenly on a logarithmic scale."""
    seeds: tuple[int, ...] = (1000,)
    """Seeds of a trial, none of which is reported; its value is the mean of their validation losses."""
    give_up_after: float = 0.25
    """Part of the steps after which a hopeless trial is ended; 0: none is."""
    give_up_above: float = 1.25
    """Validation loss at which it is hopeless then, in units of that of guessing (ln of the vocabulary)."""

    def __post_init__(self) -> None:
        if self.trials < 1:
            raise ConfigError(f"trials={self.trials}: must be at least 1")
        if not self.space:
            raise ConfigError("space={}: name a field, such as train.lr")
        if not self.seeds or len(set(self.seeds)) < len(self.seeds) or min(self.seeds) < 0:
            raise ConfigError(f"seeds={list(self.seeds)}: give different whole numbers from 0")
        if not 0 <= checked_number("give_up_after", self.give_up_after) < 1:
            raise ConfigError(f"give_up_after={self.give_up_after}: must be at least 0 and below 1")
        if checked_number("give_up_above", self.give_up_above) <= 0:
            raise ConfigError(f"give_up_above={self.give_up_above}: must be above 0")


@dataclass(frozen=True, kw_only=True)
class MatchConfig:
    """`match` of a study: what is made equal to the base's, and by what."""

    by: Quantity = "parameters"
    """Quantity that is to be the base's."""
    widen: tuple[str, ...] = ("model.d_ff", "model.d_hidden")
    """Whole-numbered fields that may be changed for it, the first that has an effect."""

    def __post_init__(self) -> None:
        check_choice("by", self.by, get_args(Quantity))
        if not self.widen:
            raise ConfigError("widen=[]: name a field, such as model.d_ff")
