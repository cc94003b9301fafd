"""What a norm does to the vector of a word, and whose vectors it looks at.

B batch, T length, D width.
"""

import copy
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from models.losses import Batch
from models.norms import Norm, RMSNorm
from models.probes.base import Measurement
from models.probes.sizes import width

DRAWS = 8
SIZE = (5, 13)
"""Sentences and words of a draw."""
SPREAD = 1e4
"""Standard deviation of the inputs: EPSILON beside their variance moves a result by less than 1e-12."""


@torch.no_grad()
def norm_statistics(model: nn.Module, batches: Sequence[Batch]) -> list[Measurement]:
    """What the norms of a model give without gain and bias, in the worst case over all norms and 520 random words.

    norm_mean_error: largest |mean| of a word
    norm_deviation_error: largest |standard deviation - 1| of a word, for rms |root mean square - 1|
    norm_dependence: largest change of a word's result when all other words and sentences change

    In double precision, on words of random mean and of a deviation about 1e4, beside which the epsilon in the square
    root is nothing. In training mode, where a batch norm takes the batch's statistics. In a model without norms what
    stands in their places is measured, a map that changes nothing. Raises ValueError for a recurrent net.
    """
    found = [module for module in model.modules() if isinstance(module, Norm)]
    if not found:
        raise ValueError("norm-statistics: needs a Transformer, a recurrent net has no norm")
    norms = [norm for norm in found if norm.normalises] or found
    rows = [_errors(_plain(norm), inputs) for norm in norms for inputs in _inputs(width(model))]
    worst = torch.tensor(rows, dtype=torch.float64).amax(0).tolist()
    names = ("norm_mean_error", "norm_deviation_error", "norm_dependence")
    return [Measurement(name, "", value) for name, value in zip(names, worst, strict=True)]


def _plain(norm: Norm) -> Norm:
    """A copy in double precision with gain 1 and bias 0."""
    norm = copy.deepcopy(norm).double().train()
    if norm.normalises:
        norm.reset_parameters()  # type: ignore[operator]  # every norm that has parameters resets them so
    return norm


def _inputs(d_model: int) -> list[tuple[Tensor, Tensor]]:
    """Pairs of inputs (B, T, D), of which the first word of the first sentence alone is the same in both."""
    draw = torch.Generator().manual_seed(0)
    found = []
    for _ in range(DRAWS):
        x, other = (_words(d_model, draw) for _ in range(2))
        other[0, 0] = x[0, 0]
        found.append((x, other))
    return found


def _words(d_model: int, draw: torch.Generator) -> Tensor:
    sizes = {"generator": draw, "dtype": torch.float64}
    spread = SPREAD * (0.5 + torch.rand(*SIZE, 1, **sizes))  # type: ignore[call-overload]
    means = SPREAD * torch.randn(*SIZE, 1, **sizes)  # type: ignore[call-overload]
    return means + spread * torch.randn(*SIZE, d_model, **sizes)  # type: ignore[call-overload]


def _errors(norm: Norm, inputs: tuple[Tensor, Tensor]) -> tuple[float, float, float]:
    x, other = (norm(words, None) for words in inputs)
    size = x.square().mean(-1).sqrt() if isinstance(norm, RMSNorm) else x.std(-1, correction=0)
    return (
        x.mean(-1).abs().max().item(),
        (size - 1).abs().max().item(),
        (x[0, 0] - other[0, 0]).abs().max().item(),
    )
