"""The one training loss: cross-entropy per token, with label smoothing, blind to padding.

Shapes: B batch, T length, V output classes, N = B * T positions.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

IGNORED = -100
"""Target of a position without a loss: padding, or a place where nothing is asked."""

Batch = dict[str, Any]
"""What a datamodule yields; its keys depend on the kind of task (see models.lit)."""


class TokenLoss(NamedTuple):
    """Loss of a batch. Divide a sum by its number of tokens only after adding up whatever belongs together."""

    objective: Tensor
    """What is minimised: cross-entropy against the smoothed targets, in nats, summed; () with a gradient."""
    nats: Tensor
    """Plain cross-entropy of each target in nats, 0 where it is ignored; in the targets' shape, without a gradient."""
    tokens: Tensor
    """Number of targets; () int64."""


def predict(model: nn.Module, batch: Batch) -> Tensor:
    """Logits (B, T, V) of a model for a batch of its task."""
    if "source" in batch:
        return model(batch["source"], batch["source_real"], batch["target"], batch["target_real"])
    return model(batch["inputs"], batch.get("real"))


def token_loss(logits: Tensor, targets: Tensor, smoothing: float) -> TokenLoss:
    """Cross-entropy of `logits` (..., V) against `targets` (...), where -100 counts for nothing.

    With smoothing e the target distribution is 1 - e on the target plus e / V on every class (Szegedy et al. 2016,
    section 7). A batch of ignored targets only gives zeros and a zero gradient, never NaN.
    """
    objective, nats = _CrossEntropy.apply(logits.flatten(0, -2), targets.flatten(), smoothing)  # type: ignore[no-untyped-call]
    return TokenLoss(objective, nats.view_as(targets), (targets != IGNORED).sum())


def log_probability(logits: Tensor, targets: Tensor) -> Tensor:
    """Log-probability in nats (B,) of each whole sentence of `targets` (B, T) under `logits` (B, T, V)."""
    # double: a sentence is judged by a difference between two sums of many terms
    return -token_loss(logits, targets, smoothing=0.0).nats.double().sum(1)


class _CrossEntropy(torch.autograd.Function):
    """Both losses from one log-softmax; the gradient takes one more (N, V) tensor where autograd would take four."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, targets: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
        # half precision is too coarse for a sum of logarithms
        log_p = logits.log_softmax(-1, dtype=torch.promote_types(logits.dtype, torch.float32))
        real = targets != IGNORED
        column = targets.masked_fill(~real, 0).unsqueeze(-1)  # (N, 1)
        nats = -log_p.gather(-1, column).squeeze(-1).masked_fill(~real, 0)
        plain = nats.sum()
        spread = -log_p.mean(-1).masked_fill(~real, 0).sum() if smoothing else plain
        ctx.save_for_backward(log_p, column, real)
        ctx.smoothing, ctx.dtype = smoothing, logits.dtype
        ctx.mark_non_differentiable(nats)
        return torch.lerp(plain, spread, smoothing), nats

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_objective: Tensor, _grad_nats: Tensor) -> tuple[Tensor, None, None]:
        log_p, column, real = ctx.saved_tensors
        # d objective / d logits = softmax - smoothed target distribution
        grad = log_p.exp()
        if ctx.smoothing:
            grad -= ctx.smoothing / grad.size(-1)
        grad.scatter_add_(-1, column, grad.new_full(column.shape, ctx.smoothing - 1))
        grad *= grad_objective
        grad[~real] = 0
        return grad.to(ctx.dtype), None, None
