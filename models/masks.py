"""Which keys a query may attend to.

One convention for every boolean mask: True = may be attended, True = a real token. Padding stands at the end.

B batch, H heads, Tq queries, Tk keys.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from models.positions import Position


@dataclass(frozen=True, eq=False)
class Mask:
    """What all layers of a stack do to their scores and weights, made once a call; broadcasts to (B, H, Tq, Tk)."""

    allowed: Tensor | None = None
    """Boolean, False: weight 0, and no part in the normalisation. None: every key is allowed."""
    bias: Tensor | None = None
    """Summand of the scores."""
    kept: Tensor | None = None
    """Boolean, False: weight 0, but counted in the normalisation."""
    is_triangle: bool = False
    """`allowed` is the square lower triangle and there is nothing else, so that the fused call need not read it."""

    def __post_init__(self) -> None:
        for name in ("allowed", "kept"):
            mask = getattr(self, name)
            if mask is not None and mask.dtype != torch.bool:  # a mask of numbers would be added to the scores
                raise TypeError(f"{name} must be boolean, True = may be attended: got {mask.dtype}")

    @cached_property
    def fused(self) -> Tensor | None:
        """The mask argument of the fused call: boolean, or the bias with -inf at hidden keys."""
        if self.is_triangle:
            return None
        if self.bias is None or self.allowed is None:
            return self.allowed if self.bias is None else self.bias
        return torch.where(self.allowed, self.bias, -torch.inf)

    def widen(self, n_keys: int, room: int, device: torch.device) -> "Mask":
        """The same for `room` keys, of which those behind the first `n_keys` are hidden."""
        if room == n_keys:
            return self
        padding = (0, room - n_keys)
        allowed = (
            torch.arange(room, device=device)[None] < n_keys if self.allowed is None else F.pad(self.allowed, padding)
        )
        bias, kept = (part if part is None else F.pad(part, padding) for part in (self.bias, self.kept))
        return Mask(allowed, bias, kept)

    def hide(self, scores: Tensor) -> Tensor:
        """Add the bias, and put hidden keys out of reach. The lowest finite number keeps a row without keys finite."""
        if self.bias is not None:
            scores = scores + self.bias
        if self.allowed is not None:
            scores = scores.masked_fill(~self.allowed, torch.finfo(scores.dtype).min)
        return scores

    def cut(self, weights: Tensor) -> Tensor:
        """Weights with exact zeros at hidden keys; a row without keys is all zeros."""
        for visible in (self.allowed, self.kept):
            if visible is not None:
                weights = weights.masked_fill(~visible, 0.0)
        return weights


class MaskRule:
    """How a stack masks its self-attention; the base of the three rules."""

    leaks_future: ClassVar[bool] = False
    """An output can depend on later positions."""

    def __init__(self, window: int | None) -> None:
        self.window = window

    def __call__(
        self, n_queries: int, n_keys: int, real: Tensor | None, position: Position, device: torch.device
    ) -> Mask:
        """Mask of the last `n_queries` of `n_keys` positions; `real` (B, n_keys), None: no padding."""
        offset = offsets(n_queries, n_keys, device)
        near = None if self.window is None else offset.abs() <= self.window
        return self.combine(offset <= 0, near, real, position.bias(offset))

    def combine(self, past: Tensor, near: Tensor | None, real: Tensor | None, bias: Tensor | None) -> Mask:
        """The mask from its parts: keys in the past and in the window (Tq, Tk), real ones (B, Tk), bias of scores."""
        raise NotImplementedError


class CausalMask(MaskRule):
    """Self-attention to the past: -inf before the softmax (Vaswani et al. 2017, arXiv:1706.03762, 3.2.3).

    Padding needs no hiding here: it stands at the end, behind every real query.
    """

    def combine(self, past: Tensor, near: Tensor | None, real: Tensor | None, bias: Tensor | None) -> Mask:
        square = past.shape[0] == past.shape[1]
        return Mask(both(past, near), bias, is_triangle=square and near is None and bias is None)


class NoMask(MaskRule):
    """Self-attention to every real token."""

    leaks_future = True

    def combine(self, past: Tensor, near: Tensor | None, real: Tensor | None, bias: Tensor | None) -> Mask:
        return Mask(both(near, real_keys(real)), bias)


class AfterSoftmaxMask(MaskRule):
    """The wrong way: weights are normalised over all real keys, then those of the future are set to zero.

    The future leaks through the normalisation, and the weights of a row no longer sum to 1.
    """

    leaks_future = True

    def combine(self, past: Tensor, near: Tensor | None, real: Tensor | None, bias: Tensor | None) -> Mask:
        return Mask(both(near, real_keys(real)), bias, kept=past)


MASKS: dict[str, type[MaskRule]] = {"causal": CausalMask, "none": NoMask, "after-softmax": AfterSoftmaxMask}


def offsets(n_queries: int, n_keys: int, device: torch.device) -> Tensor:
    """Key position - query position (n_queries, n_keys), where the queries are the last of the keys' positions."""
    keys = torch.arange(n_keys, device=device)
    return keys - keys[n_keys - n_queries :, None]


def real_keys(real: Tensor | None) -> Tensor | None:
    """`real` (B, Tk) as a mask of keys (B, 1, 1, Tk)."""
    return None if real is None else real[:, None, None, :]


def both(first: Tensor | None, second: Tensor | None) -> Tensor | None:
    """Keys that both masks allow."""
    if first is None or second is None:
        return second if first is None else first
    return first & second
