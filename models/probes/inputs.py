"""Batches made longer or shorter, and inputs with another future, for probes."""

from torch import Tensor

from models.losses import Batch

ROWS = 32
"""Rows of a batch that suffice for a worst case: validation batches may have many more."""


def read_one_by_one(batch: Batch) -> str:
    """Key of the tokens that the model reads from left to right: a translator's target, else the inputs."""
    return "target" if "source" in batch else "inputs"


def sequences(batch: Batch, probe: str) -> Tensor:
    """Inputs (B, T) or (B, T, F) of a batch. Raises ValueError, in the name of a probe, where there is a source."""
    if "source" in batch:
        raise ValueError(f"{probe}: needs a task of one sequence, a translation has two")
    return batch["inputs"]


def first(batch: Batch, n: int = ROWS) -> Batch:
    """The first `n` rows of each part of a batch, or all where there are fewer."""
    return {name: part if part is None else part[:n] for name, part in batch.items()}


def stretched(tokens: Tensor, length: int) -> Tensor:
    """The rows (B, T, ...) repeated and cut to (B, length, ...), in memory of their own."""
    n_copies = -(-length // tokens.shape[1])
    return tokens.repeat(1, n_copies, *[1] * (tokens.dim() - 2))[:, :length].clone()
