"""The fields of a model that make it larger, what follows them, and the search for the value that is nearest."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from ablations.study import Settings
from models.config import ModelConfig
from models.positions import POSITIONS

WIDTHS = ("d_ff", "d_hidden", "d_model", "d_head", "n_layers")

MOST = 64  # times its own value, to which a field is raised


@dataclass(frozen=True)
class Match:
    """What makes a variant equal to its base; nothing where it is so already, or cannot be."""

    field: str = ""
    """Of the model, one of WIDTHS."""
    value: int = 0
    reason: str = ""
    """Why it cannot be made equal."""

    def settings(self, settings: Settings) -> Settings:
        """Those of the variant, made equal."""
        return with_width(settings, self.field, self.value) if self.field else settings


def with_width(settings: Settings, field: str, value: int) -> Settings:
    """The settings with another value of a field of the model.

    With `d_model` go d_head, d_ff and d_hidden where they stand in their usual proportion to it. Raises ConfigError
    where the other fields do not allow it.
    """
    follow: dict[str, Any] = dict.fromkeys(_followers(settings.model)) if field == "d_model" else {}
    changed: dict[str, Any] = {**follow, field: value}
    return replace(settings, model=replace(settings.model, **changed))


def _followers(model: ModelConfig) -> list[str]:
    usual = {"d_head": model.d_model / model.n_heads, "d_ff": 4 * model.d_model, "d_hidden": model.d_model}
    return [name for name, width in usual.items() if getattr(model, name) == width]


def step_of(model: ModelConfig, field: str) -> int:
    """What a field must be a multiple of."""
    pairs = 2 if POSITIONS[model.position].needs_even_head else 1
    if field == "d_model" and "d_head" in _followers(model):
        return pairs * model.n_heads
    return pairs if field == "d_head" else 1


def nearest(ratio: Callable[[int], float], start: int, step: int, close: float = 0.0) -> int:
    """The multiple of a number at which a growing function is nearest to 1, by bisection; the lower of two.

    Args:
        ratio: of the multiple.
        start: where to begin, a multiple of `step`; those up to MOST times as much are tried.
        step: the number.
        close: distance from 1 at which the search may end.
    """
    at = cache(lambda n: ratio(n * step))  # what is measured is measured once
    low, high = 1, start // step
    most = MOST * high
    while at(high) < 1 and high < most:
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        if abs(at(middle) - 1) <= close:
            return middle * step
        low, high = (middle, high) if at(middle) < 1 else (low, middle)
    return step * min(low, high, key=lambda n: abs(at(n) - 1))
