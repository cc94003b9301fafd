"""Mechanism measured on a model as it stands, without training it: one function a probe, one line in a table."""

import copy
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import nn

from models.losses import Batch, predict, token_loss


class Measurement(NamedTuple):
    """One number of a probe; the coordinate says where it was taken, such as "layer=1"."""

    metric: str
    coordinate: str
    value: float


Probe = Callable[[nn.Module, Batch], list[Measurement]]
"""Takes a model and a training batch of its task, and leaves both as they were."""


def gradient_norm(model: nn.Module, batch: Batch) -> list[Measurement]:
    """Norm of the loss gradient of each layer's weight matrices together, from layer 1 (next to the embeddings) on.

    In double precision, where a gradient that shrinks by ten a layer is still a number after 300 layers; in training
    mode (a batch norm takes the batch's statistics), but without dropout. The loss is in nats a token.
    The metric is gradient_norm, for a translator encoder_gradient_norm and decoder_gradient_norm.
    """
    model = copy.deepcopy(model).double().train()
    _switch_off_dropout(model)
    loss = token_loss(predict(model, batch), batch["targets"], smoothing=0.0)
    stacks = layer_matrices(model)
    matrices = [matrix for layers in stacks.values() for layer in layers for matrix in layer]
    # a matrix that the loss does not depend on (an encoder that nobody reads) has a gradient of zero
    gradients = iter(torch.autograd.grad(loss.objective / loss.tokens.clamp(min=1), matrices, materialize_grads=True))
    return [
        Measurement(
            f"{name}_gradient_norm" if "source" in batch else "gradient_norm",
            f"layer={number}",
            torch.stack([next(gradients).norm() for _ in layer]).norm().item(),
        )
        for name, layers in stacks.items()
        for number, layer in enumerate(layers, start=1)
    ]


PROBES: dict[str, Probe] = {"gradient-norm": gradient_norm}


def layer_matrices(model: nn.Module) -> dict[str, list[list[nn.Parameter]]]:
    """The weight matrices of each layer of each stack, by the name of the part of the model that the stack is in.

    A stack is a module called `layers`: a list of blocks, or a recurrent net with all its layers in one.
    """
    stacks = {}
    for path, module in model.named_modules():
        if path.rpartition(".")[2] == "layers":
            stacks[path.partition(".")[0]] = _recurrent(module) if isinstance(module, nn.RNNBase) else _blocks(module)
    return stacks


def _blocks(stack: nn.Module) -> list[list[nn.Parameter]]:
    return [[weight for weight in block.parameters() if weight.dim() > 1] for block in stack.children()]


def _recurrent(net: nn.RNNBase) -> list[list[nn.Parameter]]:
    """By torch's names: weight_ih_l0, weight_hh_l0, weight_ih_l0_reverse, ..."""
    layers: list[list[nn.Parameter]] = [[] for _ in range(net.num_layers)]
    for name, weight in net.named_parameters():
        if name.startswith("weight_"):
            layers[int(name.removesuffix("_reverse").rpartition("_l")[2])].append(weight)
    return layers


def _switch_off_dropout(model: nn.Module) -> None:
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
        elif isinstance(module, nn.RNNBase):
            module.dropout = 0.0
