"""Attention of recurrent nets against loops written from the papers' equations.

B batch 3, T queries 4, S memory 5, H state 6, M memory width 7.
"""

import math

import pytest
import torch
from torch import Tensor

from models.recurrent_attention import READERS, Additive, Attention, Dot, masked_softmax

B, T, S, H, M = 3, 4, 5, 6, 7
KINDS = ["dot", "additive"]


@pytest.fixture(autouse=True)
def same_random_inputs_in_any_order_of_tests() -> None:
    torch.manual_seed(0)


def by_hand(reader: Attention, states: Tensor, memory: Tensor, visible: Tensor) -> Tensor:
    """Luong et al. 2015, eq. 5, one query at a time; visible (B, T, S)."""
    outputs = torch.zeros(states.shape, dtype=states.dtype)
    for b in range(states.size(0)):
        for t in range(states.size(1)):
            keys = [s for s in range(memory.size(1)) if visible[b, t, s]]
            scores = [score_by_hand(reader, states[b, t], memory[b, s]) for s in keys]
            total = sum(math.exp(score) for score in scores)
            context = torch.zeros(memory.size(2), dtype=states.dtype)
            for s, score in zip(keys, scores, strict=True):
                context += math.exp(score) / total * memory[b, s]
            outputs[b, t] = (reader.combine.weight @ torch.cat((context, states[b, t]))).tanh()
    return outputs


def score_by_hand(reader: Attention, query: Tensor, memory: Tensor) -> float:
    key = next(reader.key.parameters()) @ memory if list(reader.key.parameters()) else memory
    if isinstance(reader, Additive):
        return float(reader.score.weight[0] @ (reader.query.weight @ query + key).tanh())
    return float(query @ key)


def make(kind: str, d_memory: int) -> Attention:
    torch.manual_seed(1)
    reader = READERS[kind](H, d_memory).double()
    assert isinstance(reader, Attention)
    return reader


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d_memory", [H, M])
@torch.no_grad()
def test_reading_is_what_the_equations_say(kind: str, d_memory: int) -> None:
    reader = make(kind, d_memory)
    states, memory = torch.randn(B, T, H).double(), torch.randn(B, S, d_memory).double()
    visible = torch.arange(S) < torch.tensor([5, 2, 1])[:, None, None]
    outputs = reader(states, reader.remember(memory, visible))
    torch.testing.assert_close(outputs, by_hand(reader, states, memory, visible.expand(B, T, S)))


@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_looking_back_reads_strictly_earlier_states(kind: str) -> None:
    reader = make(kind, H)
    states = torch.randn(B, T, H).double()
    earlier = torch.tensor([[s < t for s in range(T)] for t in range(T)]).expand(B, T, T)
    torch.testing.assert_close(reader.look_back(states), by_hand(reader, states, states, earlier))


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_state_has_nothing_to_read_and_stays_finite(kind: str) -> None:
    reader = make(kind, H)
    states = torch.randn(B, 1, H).double().requires_grad_()
    outputs = reader.look_back(states)
    alone = (states @ reader.combine.weight[:, H:].mT).tanh()  # the context part of the layer sees zeros
    torch.testing.assert_close(outputs, alone)
    (gradient,) = torch.autograd.grad(outputs.sum(), states)
    assert gradient.isfinite().all()


def test_no_attention_passes_states_on() -> None:
    reader = READERS["none"](H, M)
    states = torch.randn(B, T, H)
    assert reader(states, reader.remember(torch.randn(B, S, M), torch.ones(B, 1, S).bool())) is states
    assert reader.look_back(states) is states


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_a_row_with_every_key_hidden_has_no_weights(dtype: torch.dtype) -> None:
    scores = torch.tensor([[3.0, 1.0, 0.5], [5.0, -2.0, 0.0]], dtype=dtype, requires_grad=True)
    mask = torch.tensor([[False, True, True], [False, False, False]])
    weights = masked_softmax(scores, mask)
    assert weights[0, 0] == 0
    assert weights[0].sum().item() == pytest.approx(1, abs=0.01)
    assert not weights[1].any()
    (gradient,) = torch.autograd.grad(weights.float().square().sum(), scores)
    assert gradient.isfinite().all()
    assert not gradient[~mask].any()


@pytest.mark.parametrize("kind", ["none", *KINDS])
@pytest.mark.parametrize("d_memory", [H, M])
def test_parameters_are_counted_as_built(kind: str, d_memory: int) -> None:
    reader = READERS[kind](H, d_memory)
    assert sum(parameter.numel() for parameter in reader.parameters()) == READERS[kind].count(H, d_memory)


def test_dot_has_a_map_only_between_different_widths() -> None:
    assert not list(Dot(H, H).key.parameters())
    assert [tuple(weight.shape) for weight in Dot(H, M).key.parameters()] == [(H, M)]
