import pytest
import torch
import torch.nn.functional as F
from torch import nn

from models.feed_forwards import FEED_FORWARDS, GELU, ReLU, SwiGLU

B, T, D, HIDDEN = 3, 5, 7, 11
PRESENT = [name for name, entry in FEED_FORWARDS.items() if entry.has_hidden]


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)


@pytest.mark.parametrize("name", PRESENT)
def test_each_word_is_worked_on_alone(name: str) -> None:
    layer = FEED_FORWARDS[name](D, HIDDEN)
    x = torch.randn(B, T, D)
    y = layer(x)
    assert y.shape == (B, T, D)
    changed = x.clone()
    changed[:, 2:] += 1.0
    changed[1:] += 1.0
    assert torch.equal(layer(changed)[0, :2], y[0, :2])
    assert not torch.equal(layer(changed)[0, 2:], y[0, 2:])


@pytest.mark.parametrize("name", PRESENT)
def test_an_entry_is_affine_exactly_if_declared(name: str) -> None:
    layer = FEED_FORWARDS[name](D, HIDDEN).double()
    x, y = torch.randn(2, T, D, dtype=torch.float64)
    zero = layer(torch.zeros(1, 1, D, dtype=torch.float64))
    error = float((layer(2 * x - 3 * y) - (2 * layer(x) - 3 * layer(y) + 2 * zero)).detach().abs().max())
    assert error < 1e-12 if FEED_FORWARDS[name].is_affine else error > 1e-3


def test_relu_and_gelu_are_the_textbook_formula() -> None:
    x = torch.randn(B, T, D)
    for entry, activation in ((ReLU, torch.relu), (GELU, lambda z: z * torch.special.ndtr(z))):
        layer = entry(D, HIDDEN)
        w1, b1, w2, b2 = layer.parameters()
        torch.testing.assert_close(layer(x), activation(x @ w1.T + b1) @ w2.T + b2)


def test_swiglu_is_the_textbook_formula() -> None:
    x, layer = torch.randn(B, T, D), SwiGLU(D, HIDDEN)
    gate, hidden = F.linear(x, layer.gate.weight, layer.gate.bias), F.linear(x, layer.input.weight, layer.input.bias)
    expected = F.linear(gate * gate.sigmoid() * hidden, layer.output.weight, layer.output.bias)
    torch.testing.assert_close(layer(x), expected)


@pytest.mark.parametrize("name", FEED_FORWARDS)
def test_the_declared_size_is_the_built_size(name: str) -> None:
    entry = FEED_FORWARDS[name]
    layer = entry(D, HIDDEN)
    built = sum(parameter.numel() for parameter in layer.parameters())
    assert entry.count(D, HIDDEN) == built
    assert entry.changes_size is (built != ReLU.count(D, HIDDEN))
    weights = sum(linear.weight.numel() for linear in layer.modules() if isinstance(linear, nn.Linear))
    assert entry.multiply_adds(D, HIDDEN) == weights
    assert entry.has_hidden is (built > 0)
