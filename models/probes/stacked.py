"""Attention to a whole sequence at once against the same, computed one word and one head after another.

B batch, T length, D width, H heads, K head width.
"""

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from models.attention import Cache, SelfAttention, Softmax, watched
from models.losses import Batch, predict
from models.masks import Mask
from models.positions import Position
from models.probes.base import Measurement, exact_copy
from models.probes.inputs import first

SEQUENCES = 2
"""Sequences of the first batch that are computed in both ways."""
REPEATS = 3
"""Times that each way is timed; the quickest counts."""


class Call(NamedTuple):
    """One self-attention sublayer and what it was given: x (B, T, D)."""

    attention: SelfAttention
    x: Tensor
    mask: Mask
    position: Position


class Done(NamedTuple):
    """What a computation gave and what it took."""

    outputs: Tensor
    multiply_adds: float
    seconds: float


@torch.no_grad()
def stacked(model: nn.Module, batches: Sequence[Batch]) -> list[Measurement]:
    """The sequence-stacked form of every self-attention against plain loops over words and heads, in double precision.

    stacked_error: largest difference of the outputs, relative to the largest output. stacked_extra_multiply_adds: word
    by word - stacked, matrix products as torch counts them. stacked_speedup: seconds word by word / seconds stacked,
    which depends on the hardware. Raises ValueError for attention without a softmax over keys.
    """
    calls: list[Call] = []
    exact = exact_copy(model).eval()
    with watched(exact, SelfAttention, lambda attention, inputs, name: calls.append(Call(attention, *inputs[:3]))):
        predict(exact, first(batches[0], SEQUENCES))
    if not calls or not all(isinstance(call.attention.kind, Softmax) for call in calls):
        raise ValueError("stacked: needs self-attention with a softmax over keys")
    whole = [_done(at_once, call) for call in calls]
    single = [_done(word_by_word, call) for call in calls]
    errors = [
        (one.outputs - other.outputs).abs().max() / other.outputs.abs().max()
        for one, other in zip(whole, single, strict=True)
    ]
    extra = sum(one.multiply_adds for one in single) - sum(one.multiply_adds for one in whole)
    speedup = sum(one.seconds for one in single) / sum(one.seconds for one in whole)
    return [
        Measurement("stacked_error", "", torch.stack(errors).max().item()),
        Measurement("stacked_extra_multiply_adds", "", extra),
        Measurement("stacked_speedup", "", speedup),
    ]


def at_once(call: Call) -> Tensor:
    """The module itself: outputs (B, T, D)."""
    return call.attention(call.x, call.mask, call.position, Cache())


def word_by_word(call: Call) -> Tensor:
    """Outputs (B, T, D): every key, value and query from its own word, every sum of values for its own head."""
    attention, position = call.attention, call.position
    outputs = []
    for row, sequence in enumerate(call.x):
        words = sequence[None].split(1, dim=1)  # T times (1, 1, D)
        keys = torch.cat([position.rotate(attention.key(word), i) for i, word in enumerate(words)], dim=2)[0]
        values = torch.cat([attention.value(word) for word in words], dim=2)[0]  # (H, T, K)
        for i, word in enumerate(words):
            query = position.rotate(attention.query(word), i)[0]  # (H, 1, K)
            heads = []
            for head in range(len(values)):
                scores = query[head] @ keys[head].T * attention.kind.scale
                heads.append(_softmax(scores, call.mask, (row, head, i)) @ values[head])
            outputs.append(attention.output(torch.cat(heads, dim=1)))
    return torch.cat(outputs).view_as(call.x)


def _softmax(scores: Tensor, mask: Mask, at: tuple[int, int, int]) -> Tensor:
    """Weights (1, T) of one query of one head, `at` (row, head, query); all zeros where it may read nothing."""
    if mask.bias is not None:
        scores = scores + _of_one(mask.bias, at)
    hidden = torch.zeros_like(scores, dtype=torch.bool) if mask.allowed is None else ~_of_one(mask.allowed, at)
    scores = scores.masked_fill(hidden, torch.finfo(scores.dtype).min)
    powers = (scores - scores.max()).exp().masked_fill(hidden, 0.0)
    weights = powers / powers.sum().clamp(min=torch.finfo(powers.dtype).tiny)
    return weights if mask.kept is None else weights * _of_one(mask.kept, at)


def _of_one(part: Tensor, at: tuple[int, int, int]) -> Tensor:
    """What a part of a mask, which broadcasts to (B, H, T, T), says of the keys (T) of one query."""
    part = part[(None,) * (4 - part.dim())]
    row, head, query = (min(i, size - 1) for i, size in zip(at, part.shape, strict=False))  # of size 1: for all
    return part[row, head, query]


def _done(compute: Callable[[Call], Tensor], call: Call) -> Done:
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        outputs = compute(call)
    seconds = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        compute(call)
        seconds.append(time.perf_counter() - started)
    return Done(outputs, counter.get_total_flops() / 2, min(seconds))
