"""Every value of every component, one change at a time, as small models and batches for them.

B batch, T length, S source length, V vocabulary; d_model 12 = 3 heads of width 4.
"""

from dataclasses import asdict
from typing import Any, get_args, get_type_hints

import torch
from torch import Tensor, nn

from models.attention import ATTENTIONS
from models.build import build_model
from models.config import RECURRENT, TRANSFORMERS, ConfigError, ModelConfig, TaskShape
from models.feed_forwards import FEED_FORWARDS
from models.norms import NORMS
from models.positions import POSITIONS

B, T, S, V = 2, 7, 5, 13
SMALL: dict[str, Any] = {"d_model": 12, "n_heads": 3, "d_ff": 11, "window": 1, "max_length": 50}
SMALL_RECURRENT: dict[str, Any] = {"d_model": 12, "d_hidden": 10, "cross_attention": "dot"}

SHAPES = {
    "decoder": TaskShape(kind="next-token", input_sizes=(V,), output_size=V),
    "encoder": TaskShape(kind="tagging", input_sizes=(V, 4), output_size=9),
    "encoder-decoder": TaskShape(
        kind="translation", input_sizes=(V,), output_size=V, shared_vocabulary=True, start=1, end=2
    ),
}


def small(architecture: str, **changes: Any) -> ModelConfig:
    """The base of an architecture, with changes."""
    sizes = SMALL_RECURRENT if architecture in RECURRENT else SMALL
    return ModelConfig(**{"architecture": architecture, **sizes, **changes})


def shape_of(config: ModelConfig) -> TaskShape:
    """The architecture's own task; that of a recurrent net is translation, which uses all its settings."""
    return SHAPES["encoder-decoder" if config.architecture in RECURRENT else config.architecture]


def values() -> list[tuple[str, Any]]:
    """Pairs of field and value: closed choices from the annotations, open sets from their tables, some numbers."""
    hints = get_type_hints(ModelConfig)
    closed = [
        (field, choice)
        for field, hint in hints.items()
        if field != "architecture"
        for part in (hint, *get_args(hint))
        for choice in get_args(part)
        if isinstance(choice, str)
    ]
    tables: dict[str, dict[str, Any]] = {
        "position": POSITIONS,
        "attention": ATTENTIONS,
        "norm": NORMS,
        "feed_forward": FEED_FORWARDS,
    }
    numbers = [("n_heads", 1), ("d_head", 6), ("d_ff", 5), ("n_layers", 3), ("gain", 2.0), ("tie_embeddings", False)]
    recurrent = [("d_hidden", 12), ("forget_bias", 2.0), ("bidirectional", False), ("input_feeding", True)]
    return closed + [(field, key) for field, table in tables.items() for key in table] + numbers + recurrent


def variants(architectures: tuple[str, ...]) -> dict[str, ModelConfig]:
    """Each architecture with each value that it takes, the base's own among them, by a readable name."""
    found = {}
    for architecture in architectures:
        for field, value in values():
            if field == "tie_embeddings" and not shape_of(small(architecture)).shared_vocabulary:
                continue
            try:
                found[f"{architecture}-{field}={value}"] = small(architecture, **{field: value})
            except ConfigError:
                continue
    return found


VARIANTS = variants(TRANSFORMERS)
RECURRENT_VARIANTS = variants(RECURRENT)


def changed_fields(config: ModelConfig) -> set[str]:
    """The fields in which a variant differs from its base."""
    base = asdict(small(config.architecture))
    return {field for field, value in asdict(config).items() if value != base[field]}


def built(config: ModelConfig, seed: int = 0) -> nn.Module:
    """The model for the architecture's own task."""
    return build_model(config, shape_of(config), seed)


def batch(architecture: str, n_rows: int = B, length: int = T) -> tuple[Tensor | None, ...]:
    """Arguments of a forward pass without padding: the last two are tokens (B, T) and their mask."""
    draw = torch.Generator().manual_seed(7)
    tokens = torch.randint(V, (n_rows, length), generator=draw)
    match architecture:
        case "decoder":
            return tokens, None
        case "encoder":
            return torch.stack((tokens, torch.randint(4, (n_rows, length), generator=draw)), dim=-1), None
        case _:
            return torch.randint(V, (n_rows, S), generator=draw), None, tokens, None
