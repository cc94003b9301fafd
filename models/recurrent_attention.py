"""Attention of a recurrent net: over the states of an encoder, or over its own earlier states.

The states are combined with what was read by a tanh layer (Luong et al. 2015, arXiv:1508.04025, eq. 5).

B batch, T queries, S memory length, H width of the reading states, M width of the memory.
"""

import torch
from torch import Tensor, nn

from models.linear import LinearLayer

Memory = tuple[Tensor, ...]
"""What is kept of a memory between steps, each (B, ...): keys (B, S, H), values (B, S, M) and mask (B, T or 1, S)."""


class Reader(nn.Module):
    """No attention: states pass as they are; also the base class."""

    def __init__(self, d_state: int, d_memory: int) -> None:
        super().__init__()

    def remember(self, states: Tensor, mask: Tensor) -> Memory:
        """Prepares a memory (B, S, M) once; mask (B or 1, T or 1, S) is True where it may be read."""
        return ()

    def forward(self, states: Tensor, memory: Memory) -> Tensor:
        """States (B, T, H) combined with what each reads of the memory; B may be a multiple of the memory's."""
        return states

    def look_back(self, states: Tensor) -> Tensor:
        """States (B, T, H), each combined with what it reads of the earlier ones; the first has nothing to read."""
        length = states.size(1)
        earlier = torch.ones(1, length, length, dtype=torch.bool, device=states.device).tril(-1)
        return self(states, self.remember(states, earlier))

    @staticmethod
    def count(d_state: int, d_memory: int) -> int:
        """Number of parameters."""
        return 0

    @staticmethod
    def multiply_adds(d_state: int, d_memory: int, n_queries: int, n_memory: int) -> int:
        """Multiply-adds of one sentence's matrix products."""
        return 0


class Attention(Reader):
    """What both kinds of attention share; they differ in their scores alone."""

    key: nn.Module

    def __init__(self, d_state: int, d_memory: int) -> None:
        super().__init__(d_state, d_memory)
        self.combine = LinearLayer(d_memory + d_state, d_state, bias=False)

    def remember(self, states: Tensor, mask: Tensor) -> Memory:
        return self.key(states), states, mask

    def forward(self, states: Tensor, memory: Memory) -> Tensor:
        keys, values, mask = memory
        queries = states.reshape(keys.shape[0], -1, states.shape[2])  # translations of one source share its memory
        context = masked_softmax(self.scores(queries, keys), mask) @ values  # (B, T, M)
        return self.combine(torch.cat((context, queries), -1)).tanh().reshape(states.shape)

    def scores(self, states: Tensor, keys: Tensor) -> Tensor:
        """Scores (B, T, S) of states (B, T, H) against keys (B, S, H)."""
        raise NotImplementedError

    @staticmethod
    def count(d_state: int, d_memory: int) -> int:
        return (d_memory + d_state) * d_state

    @staticmethod
    def multiply_adds(d_state: int, d_memory: int, n_queries: int, n_memory: int) -> int:
        scores_and_context = n_queries * n_memory * (d_state + d_memory)
        return scores_and_context + n_queries * (d_memory + d_state) * d_state


class Dot(Attention):
    """Score q . k (Luong et al. 2015, 3.1: "dot"; "general", with a map of the memory, where the widths differ)."""

    def __init__(self, d_state: int, d_memory: int) -> None:
        super().__init__(d_state, d_memory)
        self.key = nn.Identity() if d_memory == d_state else LinearLayer(d_memory, d_state, bias=False)

    def scores(self, states: Tensor, keys: Tensor) -> Tensor:
        return states @ keys.transpose(1, 2)

    @staticmethod
    def count(d_state: int, d_memory: int) -> int:
        return Attention.count(d_state, d_memory) + (d_memory != d_state) * d_memory * d_state

    @staticmethod
    def multiply_adds(d_state: int, d_memory: int, n_queries: int, n_memory: int) -> int:
        key = (d_memory != d_state) * n_memory * d_memory * d_state
        return Attention.multiply_adds(d_state, d_memory, n_queries, n_memory) + key


class Additive(Attention):
    """Score v . tanh(W q + U k) (Bahdanau et al. 2015, arXiv:1409.0473, A.1.2), in Luong's place in the net."""

    def __init__(self, d_state: int, d_memory: int) -> None:
        super().__init__(d_state, d_memory)
        self.key = LinearLayer(d_memory, d_state, bias=False)
        self.query = LinearLayer(d_state, d_state, bias=False)
        self.score = LinearLayer(d_state, 1, bias=False)

    def scores(self, states: Tensor, keys: Tensor) -> Tensor:
        return self.score((self.query(states).unsqueeze(2) + keys.unsqueeze(1)).tanh()).squeeze(-1)

    @staticmethod
    def count(d_state: int, d_memory: int) -> int:
        return Attention.count(d_state, d_memory) + (d_memory + d_state + 1) * d_state

    @staticmethod
    def multiply_adds(d_state: int, d_memory: int, n_queries: int, n_memory: int) -> int:
        maps = (n_memory * d_memory + n_queries * d_state) * d_state
        return Attention.multiply_adds(d_state, d_memory, n_queries, n_memory) + maps


READERS: dict[str, type[Reader]] = {"none": Reader, "dot": Dot, "additive": Additive}


def masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Softmax over the last axis where `mask` is True, zero elsewhere; all zero (never NaN) where nothing is True."""
    hidden = ~mask
    lowest = torch.finfo(scores.dtype).min  # finite: a row with everything hidden has a softmax, and loses it below
    return scores.masked_fill(hidden, lowest).softmax(-1).masked_fill(hidden, 0)
