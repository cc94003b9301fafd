"""From a configuration and a task's shape to a model with its weights drawn."""

import torch
from torch import nn

from models.config import RECURRENT, ConfigError, Kind, ModelConfig, TaskShape
from models.initialise import initialise
from models.recurrent import RecurrentSequenceModel, RecurrentTranslator
from models.transformer import TransformerSequenceModel, TransformerTranslator

ARCHITECTURES = {
    "next-token": ("decoder", *RECURRENT),
    "tagging": ("decoder", "encoder", *RECURRENT),
    "translation": ("encoder-decoder", *RECURRENT),
}
"""The architectures that can do each kind of task."""


def check_kind(config: ModelConfig, kind: Kind) -> None:
    """Raises ConfigError where a valid configuration does not suit this kind of task."""
    if config.architecture not in ARCHITECTURES[kind]:
        reason = _unsuited(config.architecture, kind)
        raise ConfigError(
            f"architecture={config.architecture!r}: {reason}, {kind} takes {', '.join(ARCHITECTURES[kind])}"
        )
    if kind != "translation" and not config.bidirectional:
        raise ConfigError(f"bidirectional=False: {kind} has no encoder, leave it at True")
    if kind != "translation" and config.input_feeding:
        raise ConfigError(f"input_feeding=True: only for translation, a model for {kind} reads no source")


def check(config: ModelConfig, shape: TaskShape) -> None:
    """Raises ConfigError where a valid configuration does not suit the task."""
    check_kind(config, shape.kind)
    if config.tie_embeddings and not shape.shared_vocabulary:
        raise ConfigError("tie_embeddings=True: needs a task whose input and output share one vocabulary")


def _unsuited(architecture: str, kind: str) -> str:
    match architecture:
        case "encoder-decoder":
            return "reads a source"
        case "encoder":
            return "produces no sentence" if kind == "translation" else "sees the token to predict"
        case _:
            return "reads no source"


def build_model(config: ModelConfig, shape: TaskShape, seed: int) -> nn.Module:
    """The model, every weight drawn from (seed, parameter name); the global random state stays as it was.

    Raises ConfigError as `check` does.
    """
    check(config, shape)
    with torch.random.fork_rng(devices=[]):  # constructors draw too, each as much as its parameters need
        model = _new_model(config, shape)
        initialise(model, seed, config)
    return model


def _new_model(config: ModelConfig, shape: TaskShape) -> nn.Module:
    match config.architecture in RECURRENT, shape.kind == "translation":
        case True, True:
            return RecurrentTranslator(config, shape)
        case True, False:
            return RecurrentSequenceModel(config, shape)
        case False, True:
            return TransformerTranslator(config, shape)
        case _:
            return TransformerSequenceModel(config, shape)
