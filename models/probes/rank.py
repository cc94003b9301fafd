"""The rank of the scores that queries and keys can make.

H heads, T length, D width, K head width.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from models.attention import MultiHeadAttention, Softmax
from models.losses import Batch
from models.probes.base import Measurement, exact_copy
from models.probes.sizes import width

DRAWS = 4
TOLERANCE = 1e-10
"""A singular value below this share of the largest is zero; products in double precision err by some 1e-15."""


@torch.no_grad()
def attention_rank(model: nn.Module, batches: Sequence[Batch]) -> list[Measurement]:
    """Rank of the score matrices q k^T of all heads and layers, for sequences of T = 2 d_head + 1 random vectors.

    score_rank: largest rank; score_rank_excess: largest rank - d_head, which cannot be above 0
    weight_rank: mean effective rank of the softmax's weights, the exponential of the entropy of the singular values'
        shares (Roy & Vetterli 2007, eq. 2-4), which nothing but T bounds

    In double precision, 4 draws, no mask and no position scheme. Raises ValueError where there are no such scores.
    """
    exact = exact_copy(model).eval()
    attentions = [module for module in exact.modules() if isinstance(module, MultiHeadAttention)]
    attentions = [attention for attention in attentions if isinstance(attention.kind, Softmax)]
    if not attentions:
        raise ValueError("attention-rank: needs softmax attention, there are no other scores of queries and keys")
    draw = torch.Generator().manual_seed(0)
    ranks, excess, effective = [], [], []
    for attention in (attention for attention in attentions for _ in range(DRAWS)):
        scores, d_head = _scores(attention, width(exact), draw)
        rank = int(torch.linalg.matrix_rank(scores, rtol=TOLERANCE).max())
        ranks.append(rank)
        excess.append(rank - d_head)
        effective.append(effective_rank(scores.softmax(-1)).mean().item())
    return [
        Measurement("score_rank", "", max(ranks)),
        Measurement("score_rank_excess", "", max(excess)),
        Measurement("weight_rank", "", sum(effective) / len(effective)),
    ]


def _scores(attention: MultiHeadAttention, d_model: int, draw: torch.Generator) -> tuple[Tensor, int]:
    """Scaled scores (H, T, T) of random vectors, and K."""
    d_head = attention.query(torch.zeros(1, 1, d_model, dtype=torch.float64)).shape[-1]
    x = torch.randn(1, 2 * d_head + 1, d_model, generator=draw, dtype=torch.float64)
    scores = attention.query(x) @ attention.key(x).mT * attention.kind.scale
    return scores[0], d_head


def effective_rank(matrices: Tensor) -> Tensor:
    """Effective rank (...) of matrices (..., M, N): the rank where all singular values are equal, else less."""
    values = torch.linalg.svdvals(matrices)
    return torch.special.entr(values / values.sum(-1, keepdim=True)).sum(-1).exp()
