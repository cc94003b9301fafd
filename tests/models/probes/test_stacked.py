"""Attention at once against word by word, on models where both agree and on broken ones."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from models.attention import SelfAttention, Softmax
from models.build import build_model
from models.config import ModelConfig, TaskShape
from models.losses import Batch
from models.masks import Mask
from models.positions import Position
from models.probes.stacked import Call, at_once, stacked, word_by_word

V, T, D = 13, 11, 12
TAGGING = TaskShape(kind="tagging", input_sizes=(V,), output_size=V)


def tags(real: Tensor | None = None) -> Batch:
    inputs = torch.randint(V, (3, T), generator=torch.Generator().manual_seed(1))
    return {"inputs": inputs, "targets": inputs, "real": real}


def encoder(**changes: Any) -> nn.Module:
    return build_model(ModelConfig(**{"architecture": "encoder", "d_model": D, "n_heads": 3, **changes}), TAGGING, 0)


VARIANTS: list[dict[str, Any]] = [
    {},
    {"encoder_mask": "causal"},
    {"encoder_mask": "after-softmax"},
    {"position": "rotary"},
    {"position": "alibi", "encoder_mask": "causal"},
    {"position": "relative"},
    {"attention": "window", "window": 2},
    {"scale": "none"},
    {"query_key": "tied"},
    {"query_key": "identity", "value_projection": "identity", "output_projection": "identity"},
    {"n_heads": 1, "d_head": 5},
]


@pytest.mark.parametrize("changes", VARIANTS)
def test_both_ways_give_the_same_for_the_same_work(changes: dict[str, Any]) -> None:
    real = torch.arange(T) < torch.tensor([[T], [4], [T]])
    error, extra, speedup = stacked(encoder(**changes), [tags(real)])
    assert error[:2] == ("stacked_error", "")
    assert error.value < 1e-13
    assert extra == ("stacked_extra_multiply_adds", "", 0.0)
    assert speedup[:2] == ("stacked_speedup", "")
    assert speedup.value > 1  # hundreds of small products against a few


def test_word_by_word_is_the_formula() -> None:
    """One head of width D: softmax(Q K^T / sqrt(D)) V W."""
    config = ModelConfig(architecture="encoder", d_model=D, n_heads=1)
    attention = SelfAttention(config).double()
    x = torch.randn(2, T, D, generator=torch.Generator().manual_seed(3)).double()
    call = Call(attention, x, Mask(), POSITION)
    q, k, v, w = (matrix.T for matrix in attention.parameters())
    expected = ((x @ q) @ (x @ k).mT / D**0.5).softmax(-1) @ (x @ v) @ w
    torch.testing.assert_close(word_by_word(call), expected, rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(at_once(call), expected, rtol=1e-12, atol=1e-14)


POSITION = Position(None)  # type: ignore[arg-type]  # the base class reads nothing of its shape


class NoScale(Softmax):
    def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Mask) -> Tensor:
        return mask.cut(mask.hide(q @ k.mT).softmax(-1)) @ v


class NoHiding(Softmax):
    def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Mask) -> Tensor:
        return super().forward(q, k, v, Mask())


class HeadsMixedUp(Softmax):
    def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Mask) -> Tensor:
        return super().forward(q, k.roll(1, 1), v, mask)


class TwiceTheWork(Softmax):
    def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Mask) -> Tensor:
        return self.weights(q, k, mask) @ v + 0 * (self.weights(q, k, mask) @ v)


@pytest.mark.parametrize("broken", [NoScale, NoHiding, HeadsMixedUp])
def test_a_stacked_form_that_computes_something_else_is_seen(broken: type[Softmax]) -> None:
    model = encoder(encoder_mask="causal")
    model.get_submodule("stack.layers.0.attention.inner").kind = broken(0.5)
    assert stacked(model, [tags()])[0].value > 1e-3


def test_more_work_is_seen() -> None:
    model = encoder()
    model.get_submodule("stack.layers.0.attention.inner").kind = TwiceTheWork(0.5)
    error, extra, _ = stacked(model, [tags()])
    assert error.value < 1e-13
    assert extra.value == -2 * 2 * T * T * D  # two sequences, two products


def test_attention_without_scores_is_refused() -> None:
    for model in (encoder(attention="linear"), build_model(ModelConfig(architecture="gru", d_model=D), TAGGING, 0)):
        with pytest.raises(ValueError, match="stacked: needs self-attention with a softmax over keys"):
            stacked(model, [tags()])
