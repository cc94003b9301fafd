"""Into the model and out of it: token embeddings and the output layer, tied to each other or not.

B batch, T length, F factors, D width, V vocabulary, K answers a position.
"""

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.linear import linear


class Table(nn.Module):
    """One vector for each of `size` ids, drawn from N(0, deviation ** 2)."""

    def __init__(self, size: int, d_model: int, deviation: float) -> None:
        super().__init__()
        self.deviation = deviation
        self.weight = nn.Parameter(torch.empty(size, d_model))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.normal_(self.weight, std=self.deviation)

    def forward(self, ids: Tensor) -> Tensor:
        return F.embedding(ids, self.weight)


class Embedding(nn.Module):
    """The embedding of a position is the sum over its factors.

    Untied tables are N(0, 1). A tied one, N(0, 1 / D), suits the output layer, and its vectors are multiplied by
    sqrt(D) on the way in (Vaswani et al. 2017, arXiv:1706.03762, 3.4).
    """

    def __init__(self, sizes: Sequence[int], d_model: int, *, tied: bool) -> None:
        super().__init__()
        self.scale = math.sqrt(d_model) if tied else 1.0
        self.factors = nn.ModuleList(Table(size, d_model, 1 / self.scale) for size in sizes)

    def forward(self, tokens: Tensor) -> Tensor:
        """tokens (B, T), or (B, T, F) where there are several factors, -> (B, T, D)."""
        factors = (tokens,) if tokens.dim() == 2 else tokens.unbind(-1)
        first, *rest = (table(ids) for table, ids in zip(self.factors, factors, strict=True))
        return sum(rest, start=first) * self.scale


class TiedHead(nn.Module):
    """Output layer with the matrix of a table, which goes on owning it, and a bias of its own."""

    def __init__(self, table: Table) -> None:
        super().__init__()
        self.tables = (table,)  # a tuple hides it from registration
        self.bias = nn.Parameter(torch.empty(table.weight.shape[0]))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        bound = self.tables[0].weight.shape[1] ** -0.5
        nn.init.uniform_(self.bias, -bound, bound)

    def forward(self, x: Tensor) -> Tensor:
        """x (B, T, D) -> logits (B, T, V)."""
        return linear(x, self.tables[0].weight, self.bias)


class Head(nn.Module):
    """Output layer with a matrix of its own. The bias is drawn first, so that it is the one a tied head has."""

    def __init__(self, d_model: int, size: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.empty(size))
        self.weight = nn.Parameter(torch.empty(size, d_model))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        bound = self.weight.shape[1] ** -0.5  # as in nn.Linear
        nn.init.uniform_(self.bias, -bound, bound)
        nn.init.uniform_(self.weight, -bound, bound)

    def forward(self, x: Tensor) -> Tensor:
        """x (B, T, D) -> logits (B, T, V)."""
        return linear(x, self.weight, self.bias)


class Several(Head):
    """Output layer for K answers a position, each with a share of one matrix."""

    def __init__(self, d_model: int, size: int, n_answers: int) -> None:
        super().__init__(d_model, n_answers * size)
        self.shape = (n_answers, size)

    def forward(self, x: Tensor) -> Tensor:
        """x (B, T, D) -> logits (B, T, K, V)."""
        return super().forward(x).view(*x.shape[:-1], *self.shape)


def output_layer(embedding: Embedding, d_model: int, size: int, *, tied: bool, n_answers: int = 1) -> nn.Module:
    """The output layer beside an embedding of one factor: with its matrix if tied."""
    if n_answers > 1:
        return Several(d_model, size, n_answers)
    if not tied:
        return Head(d_model, size)
    (table,) = embedding.factors
    assert isinstance(table, Table)
    return TiedHead(table)
