"""Normalisation of one vector a position, and the batch statistics that the lecture contrasts it with.

B batch, T length, D width.
"""

from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

EPSILON = 1e-5


class Norm(nn.Module):
    """No normalisation.

    Also the base class.
    """

    normalises: ClassVar[bool] = False
    """Does anything at all, so that its placement matters."""
    batch_dependent: ClassVar[bool] = False
    """In training, a position's output depends on other positions, later ones and other sentences included."""
    changes_size: ClassVar[bool] = True
    """Has another number of parameters than the default, `layer`."""

    def __init__(self, d_model: int) -> None:
        super().__init__()

    def forward(self, x: Tensor, real: Tensor | None) -> Tensor:
        """Normalise x (B, T, D). `real` (B, T) is True at real positions; None: all are."""
        return x

    @staticmethod
    def count(d_model: int) -> int:
        """Number of parameters."""
        return 0


class LayerNorm(Norm):
    """Mean 0 and standard deviation 1 over the width, then gain and bias (Ba et al. 2016, arXiv:1607.06450, eq. 4)."""

    normalises = True
    changes_size = False

    def __init__(self, d_model: int) -> None:
        super().__init__(d_model)
        self.weight = nn.Parameter(torch.empty(d_model))
        self.bias = nn.Parameter(torch.empty(d_model))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.ones_(self.weight)
        nn.init.zeros_(self.bias)

    def forward(self, x: Tensor, real: Tensor | None) -> Tensor:
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, EPSILON)

    @staticmethod
    def count(d_model: int) -> int:
        return 2 * d_model


class RMSNorm(Norm):
    """Root mean square 1 over the width, then gain; no mean, no bias (Zhang & Sennrich 2019, arXiv:1910.07467)."""

    normalises = True

    def __init__(self, d_model: int) -> None:
        super().__init__(d_model)
        self.weight = nn.Parameter(torch.empty(d_model))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.ones_(self.weight)

    def forward(self, x: Tensor, real: Tensor | None) -> Tensor:
        return F.rms_norm(x, self.weight.shape, self.weight, EPSILON)

    @staticmethod
    def count(d_model: int) -> int:
        return d_model


class BatchNorm(LayerNorm):
    """Mean 0 and deviation 1 of each feature over all real positions (Ioffe & Szegedy 2015, arXiv:1502.03167).

    Statistics of the batch in training, running ones (momentum 0.1) in evaluation. Padding takes no part, and gives 0.
    """

    batch_dependent = True
    running_mean: Tensor
    running_var: Tensor

    def __init__(self, d_model: int) -> None:
        super().__init__(d_model)
        self.register_buffer("running_mean", torch.zeros(d_model))
        self.register_buffer("running_var", torch.ones(d_model))

    def forward(self, x: Tensor, real: Tensor | None) -> Tensor:
        if real is None:
            return self._normalise(x.flatten(0, 1)).view_as(x)
        words = self._normalise(x[real])
        return words.new_zeros(x.shape).index_put((real,), words)

    def _normalise(self, words: Tensor) -> Tensor:
        """words (N, D), every one of them real."""
        return F.batch_norm(
            words, self.running_mean, self.running_var, self.weight, self.bias, training=self.training, eps=EPSILON
        )


NORMS: dict[str, type[Norm]] = {"layer": LayerNorm, "rms": RMSNorm, "batch": BatchNorm, "none": Norm}
