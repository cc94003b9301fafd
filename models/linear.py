"""The linear map, by the faster of the two matrix libraries that torch brings along.

On a CPU torch hands float32 products to MKL, which uses AVX2 at most where the processor is not Intel's; oneDNN uses
AVX-512 wherever it is, at twice the speed (measured on a processor of AMD's). Without it, and for little work, this is
torch's own linear map. Both are exact to the last bits of float32.

N rows, I inputs, O outputs.
"""

import os
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

WORK = 2**20
"""Multiply-adds below which the packing of the matrices costs more than it saves."""

# oneDNN keeps a program for each shape of its last 1,024 products, and ideep around it as many again: sentences come in
# ever new shapes, and half a gigabyte of programs is of no use to them. Both are read at the first product.
os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "32")
os.environ.setdefault("LRU_CACHE_CAPACITY", "64")

HAS_ONEDNN = (
    torch.backends.mkl.is_available()  # type: ignore[no-untyped-call]
    and torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    and torch.backends.cpu.get_cpu_capability() == "AVX512"
    and hasattr(torch.ops.mkldnn, "_linear_pointwise")
)


class LinearLayer(nn.Linear):
    """torch's linear layer, by `linear`."""

    def forward(self, x: Tensor) -> Tensor:
        """x (..., I) -> (..., O)."""
        return linear(x, self.weight, self.bias)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x weight^T + bias: x (..., I), weight (O, I), bias (O,) -> (..., O)."""
    if not HAS_ONEDNN or not _suits(x, weight):
        return F.linear(x, weight, bias)
    x = x.contiguous()
    if not torch.is_grad_enabled():
        return _product(x, weight, bias)
    return _Linear.apply(x, weight, bias)  # type: ignore[no-untyped-call]


def _suits(x: Tensor, weight: Tensor) -> bool:
    """Whether oneDNN takes it, and is the faster."""
    is_float32 = x.dtype == weight.dtype == torch.float32 and not torch.is_autocast_enabled("cpu")
    fits = x.dim() >= 2 and x.shape[-1] == weight.shape[1]
    return is_float32 and fits and x.device.type == "cpu" and x.numel() * weight.shape[0] >= WORK


def _product(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """As F.linear, by oneDNN; it takes transposed views as they are, crawls on others, and knows no gradients."""
    return torch.ops.mkldnn._linear_pointwise(x, weight, bias if bias is None else bias.contiguous(), "none", [], "")


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        return _product(x, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        x, weight = ctx.saved_tensors
        needs_x, needs_weight, needs_bias = ctx.needs_input_grad
        rows = grad.flatten(0, -2).contiguous()  # (N, O); the gradient of a sum is expanded
        return (
            _product(rows, weight.T).view_as(x) if needs_x else None,
            _weight_gradient(rows, x.flatten(0, -2).contiguous()) if needs_weight else None,
            rows.sum(0) if needs_bias else None,
        )


def _weight_gradient(grad: Tensor, x: Tensor) -> Tensor:
    """grad^T x (O, I) for grad (N, O) and x (N, I); the shorter side as rows, for which oneDNN is the faster."""
    if grad.shape[1] >= x.shape[1]:
        return _product(x.T, grad.T).T
    return _product(grad.T, x.T)
