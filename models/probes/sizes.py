"""Sizes that a probe reads off the embedding of a model."""

from typing import cast

from torch import nn

from models.embeddings import Embedding


def width(model: nn.Module) -> int:
    """d_model."""
    return _tables(model)[0].shape[1]


def vocabularies(model: nn.Module) -> list[int]:
    """Different tokens of each input factor; for a translator those of the target."""
    return [len(table) for table in _tables(model)]


def _tables(model: nn.Module) -> list[nn.Parameter]:
    return list(cast("Embedding", model.get_submodule("embedding")).factors.parameters())
