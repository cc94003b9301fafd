"""The gradient of the loss, layer by layer."""

import math
from collections.abc import Sequence

import torch
from torch import nn

from models.losses import Batch, predict, token_loss
from models.probes.base import Measurement, exact_copy, largest

LEAST = 1e-300
"""What a gradient of zero counts as on a logarithmic scale."""


def gradient_norm(model: nn.Module, batches: Sequence[Batch]) -> list[Measurement]:
    """Norm of the loss gradient of each layer's weight matrices together, from layer 1 (next to the embeddings) on.

    In double precision and without dropout, on the first batch. The loss is in nats a token. The metrics are
    gradient_norm by layer and, for two layers or more, gradient_decades: log10 of the first layer's norm over the last
    one's, where a norm below 1e-300 counts as that. For a translator both begin with encoder_ or decoder_.
    """
    model, batch = exact_copy(model), batches[0]
    loss = token_loss(predict(model, batch), batch["targets"], smoothing=0.0)
    stacks = layer_matrices(model)
    matrices = [matrix for layers in stacks.values() for layer in layers for matrix in layer]
    # a matrix that the loss does not depend on (an encoder that nobody reads) has a gradient of zero
    gradients = iter(torch.autograd.grad(loss.objective / loss.tokens.clamp(min=1), matrices, materialize_grads=True))
    measured = []
    for name, layers in stacks.items():
        norms = [torch.stack([next(gradients).norm() for _ in layer]).norm().item() for layer in layers]
        measured += _of_stack(f"{name}_" if "source" in batch else "", norms)
    return measured


def _of_stack(prefix: str, norms: list[float]) -> list[Measurement]:
    layers = [Measurement(f"{prefix}gradient_norm", f"layer={n}", norm) for n, norm in enumerate(norms, start=1)]
    if len(norms) == 1:
        return layers
    first, last = (math.log10(largest((norm, LEAST))) for norm in (norms[0], norms[-1]))
    return [Measurement(f"{prefix}gradient_decades", "", first - last), *layers]


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
