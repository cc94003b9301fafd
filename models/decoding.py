"""Search for a translation, one token at a time, over a model that keeps what it has computed.

Shapes: B batch, N rows still in the search (N <= B), S source length, V target vocabulary.
"""

from typing import Protocol, Self, TypeVar

import torch
from torch import Tensor

SHRINK = 0.75
"""Ended rows are dropped once the share of running ones is no greater: copying the caches must pay for itself."""


class State(Protocol):
    """What a model keeps between two steps (caches or recurrent states), one row a sentence."""

    def select(self, rows: Tensor) -> Self:
        """Keeps the given rows (N,) int64, in that order."""
        ...


StateT = TypeVar("StateT", bound=State)


class Decodable(Protocol[StateT]):
    """A translation model as a search sees it."""

    def start(self, source: Tensor, source_real: Tensor | None) -> StateT:
        """Reads the source (B, S)."""
        ...

    def step(self, tokens: Tensor, state: StateT) -> tuple[Tensor, StateT]:
        """Takes the newest tokens (N,); gives the logits (N, V) of the ones after them."""
        ...


def length_limit(source: Tensor, source_real: Tensor | None) -> Tensor:
    """Most tokens that a translation may have, (B,): twice its own source and ten, whatever stands beside it."""
    lengths = source_real.sum(1) if source_real is not None else source.new_full((source.size(0),), source.size(1))
    return 2 * lengths + 10


@torch.no_grad()
def greedy(
    model: Decodable[StateT], source: Tensor, source_real: Tensor | None, start: int, end: int, max_length: Tensor
) -> list[list[int]]:
    """The likeliest next token, again and again, until `end` or the sentence's own limit `max_length` (B,).

    Gives the tokens of each sentence of `source` (B, S) in its order, without `start` and `end`. A sentence's
    translation does not depend on the others of its batch. Dropout is on if the model is in training mode.
    """
    limits: list[int] = max_length.tolist()
    outputs: list[list[int]] = [[] for _ in limits]
    running = [limit > 0 for limit in limits]
    rows = list(range(len(limits)))  # sentence of each row of the state
    state = model.start(source, source_real)
    tokens = source.new_full((len(rows),), start)
    while any(running):
        if sum(running) <= SHRINK * len(rows):
            keep = [i for i, row in enumerate(rows) if running[row]]
            index = torch.tensor(keep, device=source.device)
            state, tokens, rows = state.select(index), tokens[index], [rows[i] for i in keep]
        logits, state = model.step(tokens, state)
        tokens = logits.argmax(-1)
        for row, token in zip(rows, tokens.tolist(), strict=True):
            if running[row] and token != end:
                outputs[row].append(token)
            running[row] = running[row] and token != end and len(outputs[row]) < limits[row]
    return outputs
