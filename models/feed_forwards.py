"""The sublayer that works on each word alone.

B batch, T length, D width (d_model), F hidden width (d_ff).
"""

from typing import ClassVar

import torch.nn.functional as F
from torch import Tensor, nn

from models.linear import LinearLayer


class FeedForward(nn.Module):
    """No feed-forward sublayer; a block then leaves out its norm and its residual sum too.

    Also the base class.
    """

    has_hidden: ClassVar[bool] = False
    """Is there at all, with a hidden width."""
    is_affine: ClassVar[bool] = False
    """Adds no nonlinearity."""
    changes_size: ClassVar[bool] = True
    """Has another number of parameters than the default, `relu`."""

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()

    @staticmethod
    def multiply_adds(d_model: int, d_ff: int) -> int:
        """Multiply-adds of the matrix products for one word: the number of weights, biases left out."""
        return 0

    @staticmethod
    def count(d_model: int, d_ff: int) -> int:
        """Number of parameters."""
        return 0


class TwoLayers(FeedForward):
    """Two linear maps with an activation between them, left to the subclass."""

    has_hidden = True
    changes_size = False

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__(d_model, d_ff)
        self.input = LinearLayer(d_model, d_ff)
        self.output = LinearLayer(d_ff, d_model)

    def forward(self, x: Tensor) -> Tensor:
        """x (B, T, D) -> (B, T, D), each position by itself."""
        return self.output(self.activation(self.input(x)))

    def activation(self, hidden: Tensor) -> Tensor:
        """Act on hidden (B, T, F) element by element."""
        raise NotImplementedError

    @staticmethod
    def multiply_adds(d_model: int, d_ff: int) -> int:
        return 2 * d_model * d_ff

    @staticmethod
    def count(d_model: int, d_ff: int) -> int:
        return 2 * d_model * d_ff + d_ff + d_model


class ReLU(TwoLayers):
    """max(0, x W1 + b1) W2 + b2 (Vaswani et al. 2017, arXiv:1706.03762, eq. 2)."""

    def activation(self, hidden: Tensor) -> Tensor:
        return F.relu(hidden)


class GELU(TwoLayers):
    """The same with GELU, x times the normal distribution function of x (Hendrycks & Gimpel 2016, arXiv:1606.08415)."""

    def activation(self, hidden: Tensor) -> Tensor:
        return F.gelu(hidden)


class Linear(TwoLayers):
    """Nothing between the two maps: the parameters of `relu` without the nonlinearity."""

    is_affine = True

    def activation(self, hidden: Tensor) -> Tensor:
        return hidden


class SwiGLU(FeedForward):
    """(SiLU(x W + b) * (x V + c)) W2 + b2 (Shazeer 2020, arXiv:2002.05202, eq. 6).

    The paper has no biases and shrinks F by a third; here biases are as in the other entries and F is what the
    configuration says, so that this entry has 1.5 times their parameters.
    """

    has_hidden = True

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__(d_model, d_ff)
        self.gate = LinearLayer(d_model, d_ff)
        self.input = LinearLayer(d_model, d_ff)
        self.output = LinearLayer(d_ff, d_model)

    def forward(self, x: Tensor) -> Tensor:
        """x (B, T, D) -> (B, T, D), each position by itself."""
        return self.output(F.silu(self.gate(x)) * self.input(x))

    @staticmethod
    def multiply_adds(d_model: int, d_ff: int) -> int:
        return 3 * d_model * d_ff

    @staticmethod
    def count(d_model: int, d_ff: int) -> int:
        return 3 * d_model * d_ff + 2 * d_ff + d_model


FEED_FORWARDS: dict[str, type[FeedForward]] = {
    "relu": ReLU,
    "gelu": GELU,
    "swiglu": SwiGLU,
    "linear": Linear,
    "none": FeedForward,
}
