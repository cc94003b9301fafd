"""The linear map against torch's own, forward and backward, whichever library carries it out.

N rows, I inputs, O outputs.
"""

import time

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models import linear as module
from models.linear import LinearLayer, linear

SIZES = [(7, 11, 13), (2000, 24, 36), (530, 129, 23), (48, 1, 1), (2, 2000, 300)]


def close(first: Tensor | None, second: Tensor) -> None:
    assert first is not None
    torch.testing.assert_close(first, second, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize(("n", "i", "o"), SIZES)
@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize("shape", ["rows", "batch", "transposed"])
def test_values_and_gradients_are_torchs(n: int, i: int, o: int, biased: bool, shape: str) -> None:
    x = torch.randn(i, n).T if shape == "transposed" else torch.randn(n, i)
    if shape == "batch":
        x = torch.stack((x, x + 1))
    x.requires_grad_()
    weight, bias = torch.randn(o, i, requires_grad=True), torch.randn(o, requires_grad=True)
    ours, theirs = (made(x, weight, bias if biased else None) for made in (linear, F.linear))
    close(ours, theirs)
    grad, inputs = torch.randn_like(theirs), [x, weight, bias][: 2 + biased]
    for mine, own in zip(
        torch.autograd.grad(ours, inputs, grad), torch.autograd.grad(theirs, inputs, grad), strict=True
    ):
        assert mine.shape == own.shape
        close(mine, own)


def test_only_the_gradients_that_are_asked_for_are_computed() -> None:
    x, weight = torch.randn(640, 64), torch.randn(37, 64)
    for wanted in (x, weight):
        wanted.requires_grad_()
        (gradient,) = torch.autograd.grad(linear(x, weight).square().sum(), wanted)
        (own,) = torch.autograd.grad(F.linear(x, weight).square().sum(), wanted)
        close(gradient, own)
        wanted.requires_grad_(False)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_other_precisions_are_torchs_own_to_the_bit(dtype: torch.dtype) -> None:
    x, weight = torch.randn(1000, 64, dtype=dtype), torch.randn(37, 64, dtype=dtype)
    assert torch.equal(linear(x, weight), F.linear(x, weight))


def test_autocast_is_obeyed() -> None:
    x, weight = torch.randn(1000, 64), torch.randn(37, 64)
    with torch.autocast("cpu", torch.bfloat16):
        assert linear(x, weight).dtype == torch.bfloat16


def test_the_layer_is_torchs_with_the_same_parameters() -> None:
    layer, own = LinearLayer(120, 70), nn.Linear(120, 70)
    own.load_state_dict(layer.state_dict())
    x = torch.randn(5, 31, 120)
    close(layer(x), own(x))


def test_results_repeat_bit_for_bit() -> None:
    x, weight, bias = torch.randn(300, 64), torch.randn(100, 64), torch.randn(100)
    assert torch.equal(linear(x, weight, bias), linear(x.clone(), weight.clone(), bias.clone()))


@pytest.mark.skipif(not module.HAS_ONEDNN, reason="this processor takes torch's own path")
def test_much_work_goes_to_onednn_and_little_does_not() -> None:
    weight = torch.randn(64, 32, requires_grad=True)
    names = {n: type(linear(torch.randn(n, 32), weight).grad_fn).__name__ for n in (511, 512)}
    assert names[512] == "_LinearBackward"
    assert names[511] != "_LinearBackward"


def test_a_bias_may_have_strides() -> None:
    x, weight, bias = torch.randn(64, 512), torch.randn(200, 512), torch.randn(400)[::2]
    with torch.no_grad():
        close(linear(x, weight, bias), F.linear(x, weight, bias))


def test_what_does_not_fit_is_refused_as_by_torch() -> None:
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        linear(torch.randn(640, 64), torch.randn(37, 65))
    close(linear(torch.randn(64), weight := torch.randn(20_000, 64)) * 0, torch.zeros(len(weight)))


def test_strange_strides_are_as_fast_as_others() -> None:
    """oneDNN falls back on a loop a hundred times slower for some: the gradient of a sum, every other column."""
    wide, weight = torch.randn(700, 256), torch.randn(512, 128, requires_grad=True)
    plain, columns = wide[:, :128].clone().requires_grad_(), wide[:, ::2].requires_grad_()

    def seconds(x: Tensor, gradient: Tensor) -> float:
        started = time.process_time()
        torch.autograd.grad(linear(x, weight), (x, weight), gradient)
        return time.process_time() - started

    dense, expanded = torch.ones(700, 512), torch.ones(1, 1).expand(700, 512)
    seconds(plain, dense)
    usual = min(seconds(plain, dense) for _ in range(5))
    assert min(seconds(columns, expanded) for _ in range(5)) < 10 * usual
