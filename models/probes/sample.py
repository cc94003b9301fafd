"""The few items that a probe looks at."""

from collections.abc import Sequence

import torch
from torch import Tensor

from models.losses import Batch
from models.probes.inputs import first

MOST = 8
"""Batches that a sample is taken from."""


def sample(batches: Sequence[Batch], n: int) -> list[Batch]:
    """About `n` items: as many from each of at most MOST batches, spread evenly over all."""
    chosen = batches[:: -(-len(batches) // MOST)]
    return [first(batch, -(-n // len(chosen))) for batch in chosen]


def real_queries(batch: Batch, prefix: str) -> Tensor:
    """Boolean (B, T): the real positions of the stack whose metrics have this prefix (see `layers.place`)."""
    if "source" not in batch:
        tokens, real = batch["inputs"], batch.get("real")
    else:
        side = "source" if prefix == "encoder_" else "target"
        tokens, real = batch[side], batch[f"{side}_real"]
    return torch.ones(tokens.shape[:2], dtype=torch.bool) if real is None else real


def answer_places(batch: Batch, probe: str) -> Tensor:
    """Where the answers stand (B, T, K), below 0 where nothing is asked, for K answers a position.

    Raises ValueError, in the name of a probe, where the task does not say.
    """
    if "answer_at" not in batch:
        raise ValueError(f"{probe}: the task does not say where its answers stand")
    places: Tensor = batch["answer_at"]
    return places if places.dim() == 3 else places[..., None]
