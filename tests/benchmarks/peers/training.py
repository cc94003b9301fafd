"""A training step as users of plain torch write it."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.benchmarks.peers.prepared import Prepared, Sizes, TrainingBatch

Logits = Callable[[Tensor, Tensor, Tensor], Tensor]
"""source (B, S), real (B, S), target (B, T) -> (B, T, V)."""


def optimiser(model: nn.Module, sizes: Sizes) -> torch.optim.Optimizer:
    """The same for all."""
    betas = (0.9, sizes.beta2)
    return torch.optim.AdamW(model.parameters(), lr=sizes.lr, betas=betas, weight_decay=sizes.weight_decay, fused=True)


def epoch(model: nn.Module, logits: Logits, optim: torch.optim.Optimizer, prepared: Prepared) -> Callable[[], int]:
    """A pass over the prepared batches; gives the number of real target tokens."""
    batches = [tensors(batch, prepared.sizes) for batch in prepared.training]
    sizes = prepared.sizes

    def work() -> int:
        model.train()
        for source, real, target, labels in batches:
            scores = logits(source, real, target)
            loss = F.cross_entropy(scores.flatten(0, 1), labels.flatten(), label_smoothing=sizes.label_smoothing)
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(model.parameters(), sizes.clip)
            optim.step()
            optim.zero_grad()
        return sum(batch.tokens for batch in prepared.training)

    return work


def tensors(batch: TrainingBatch, sizes: Sizes) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """source, real, target, labels."""
    source, target, labels = (torch.from_numpy(array) for array in batch)
    return source, source != sizes.pad, target, labels


def parameters(model: nn.Module) -> str:
    """Number of trained parameters, for the description."""
    return f"{sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad):,} parameters"
