"""Weights drawn from the seed and the parameter's name, shape and distribution alone.

Two models with one seed therefore share every weight that both draw alike, whatever else differs between them, so that
comparisons are paired by construction.
"""

import hashlib
from typing import Any

import torch
from torch import Tensor, nn

from models.config import ModelConfig
from models.embeddings import Head, Table, TiedHead
from models.positions import Position
from models.recurrent import Lstm
from models.transformer import PreNorm, Stack

OUTSIDE_BLOCKS = (Table, Head, TiedHead, Position)


def initialise(model: nn.Module, seed: int, config: ModelConfig) -> None:
    """Draw every parameter anew, in place; the global random state stays as it was.

    The owner's reset_parameters draws (torch's layers have torch's defaults); `config.initialisation` and `config.gain`
    then act on the weight matrices of the blocks, which are all matrices outside embeddings, position tables and output
    layer. A parameter that several modules share is drawn by the first.

    Raises TypeError for a module that owns parameters but cannot draw them.
    """
    branches = _branches(model)
    draws: dict[nn.Parameter, Tensor] = {}
    for prefix, owner in model.named_modules():
        for name, parameter in owner.named_parameters(prefix, recurse=False):
            if parameter not in draws:
                draws[parameter] = _draw(owner, parameter, name, seed, config, branches.get(parameter, 1))
    with torch.no_grad():
        for parameter, value in draws.items():
            parameter.copy_(value)


def _branches(model: nn.Module) -> dict[Tensor, int]:
    """For each matrix that ends a residual branch, the `output` of a sublayer, how many branches its stack has.

    Sublayers are counted, not matrices: one that ends without a matrix is a branch too.
    """
    found: dict[Tensor, int] = {}
    for stack in (module for module in model.modules() if isinstance(module, Stack)):
        sublayers = [module for module in stack.modules() if isinstance(module, PreNorm)]
        outputs = [getattr(sublayer.inner, "output", None) for sublayer in sublayers]
        found |= {output.weight: len(sublayers) for output in outputs if isinstance(output, nn.Linear)}
    return found


def _draw(
    owner: nn.Module, parameter: nn.Parameter, name: str, seed: int, config: ModelConfig, n_branches: int
) -> Tensor:
    """The initial value of one parameter; the others of its owner are left overwritten."""
    if not hasattr(owner, "reset_parameters"):
        raise TypeError(f"{type(owner).__name__} owns the parameter {name} but has no reset_parameters()")
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.default_generator.manual_seed(seed_of(seed, name))
        _reset(owner, parameter)
        if parameter.dim() >= 2 and not isinstance(owner, OUTSIDE_BLOCKS):
            torch.default_generator.manual_seed(seed_of(seed, name))  # a reset may have drawn other parameters too
            _redraw(parameter, owner, config, n_branches)
            parameter.mul_(config.gain)
        return parameter.clone()


def _reset(owner: Any, parameter: nn.Parameter) -> None:
    """Draw a parameter as its owner does.

    torch's recurrent layers draw all of theirs from one stream, in which the place of each depends on the sizes of
    those before it: here each is drawn alone. In nn.Linear and Head what is drawn before has a size that follows from
    the shape and the range of the parameter itself.
    """
    if not isinstance(owner, nn.RNNBase):
        owner.reset_parameters()
        return
    bound = owner.hidden_size**-0.5
    nn.init.uniform_(parameter, -bound, bound)
    if isinstance(owner, Lstm):
        owner.reset_forget_bias()


def _redraw(matrix: nn.Parameter, owner: nn.Module, config: ModelConfig, n_branches: int) -> None:
    """Draw a block's weight matrix as the configuration says; `n_branches` is 1 unless it ends a residual branch."""
    match config.initialisation:
        case "default":
            pass
        case "xavier":  # Glorot & Bengio 2010, eq. 16; each gate of a recurrent net is a matrix of its own
            gates = matrix.shape[0] // owner.hidden_size if isinstance(owner, nn.RNNBase) else 1
            for gate in matrix.chunk(gates):
                nn.init.xavier_uniform_(gate)
        case "gpt2":  # Radford et al. 2019, 2.3: the matrix that ends each of a stack's N branches has 0.02 / sqrt(N)
            nn.init.normal_(matrix, std=0.02 / n_branches**0.5)


def seed_of(seed: int, name: str) -> int:
    """A seed of 64 bits for the parameter `name`."""
    return int.from_bytes(hashlib.sha256(f"{seed} {name}".encode()).digest()[:8], "little")
