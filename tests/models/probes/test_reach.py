"""Reach against torch's own Jacobian, and against what is known of recurrent nets and of attention."""

import copy
import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from models.config import TaskShape
from models.probes import PROBES
from tests.models.probes.examples import TAGGING, V, drawn, made, tags, values

reach = PROBES["reach"]


def recalls(distance: int, n_sequences: int = 3, before: int = 2) -> dict[str, Tensor]:
    """Asked at the end for the token `distance` before it."""
    inputs = drawn(n_sequences, before + 1 + distance, seed=distance)
    targets, distances, places = (torch.full_like(inputs, nothing) for nothing in (-100, -1, -1))
    targets[:, -1], distances[:, -1], places[:, -1] = inputs[:, before], distance, before
    return {"inputs": inputs, "targets": targets, "distance": distances, "answer_at": places}


def by_jacobian(model: nn.Module, batch: dict[str, Tensor], at: int, key: int) -> float:
    """log10 of the mean norm of the derivative of the target's logit at place `at` by the vector at place `key`."""
    model, norms = copy.deepcopy(model).double(), []
    embedding: Any = model.embedding
    model.embedding = nn.Identity()
    for tokens, targets in zip(batch["inputs"], batch["targets"], strict=True):
        vectors = embedding(tokens[None])
        jacobian = torch.autograd.functional.jacobian(lambda x: model(x)[0, at], vectors)  # type: ignore[no-untyped-call]
        norms.append(jacobian[targets[at], 0, key].norm().item())  # of (V, 1, T, D)
    return math.log10(sum(norms) / len(norms))


@pytest.mark.parametrize("architecture", ["decoder", "encoder", "rnn", "lstm", "gru"])
def test_the_gradient_is_that_of_the_jacobian(architecture: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("models.transformer.check_real", lambda real, tokens: None)
    monkeypatch.setattr("models.recurrent.check_real", lambda real, tokens: None)
    model, batches = made(architecture), [recalls(4), recalls(1)]
    measured = reach(model, batches)
    assert [row[:2] for row in measured] == [("log_reach", "distance=1"), ("log_reach", "distance=4")]
    expected = [by_jacobian(model, recalls(distance), 2 + distance, 2) for distance in (1, 4)]
    assert [row.value for row in measured] == pytest.approx(expected, rel=1e-9)


def test_a_row_that_asks_twice_over_a_distance_is_asked_once() -> None:
    batch, model = tags(), made("lstm")
    once = {**batch, "answer_at": batch["answer_at"].clone()}
    once["answer_at"][:, 2:] = -1
    assert reach(model, [batch]) == reach(model, [once])


def test_at_most_32_sequences_of_each_distance_from_all_over_the_set() -> None:
    model = made("rnn")
    short, long = [recalls(1, 40, before) for before in (1, 2)], [recalls(6, 5)]
    sixteen = [{name: part[:16] for name, part in batch.items()} for batch in short]
    assert reach(model, short + long) == reach(model, sixteen + long)


def test_dropout_and_the_mode_play_no_part() -> None:
    batches = [recalls(3)]
    assert reach(made("lstm", dropout=0.5).train(), batches) == reach(made("lstm"), batches)


def slope(architecture: str, **parts: Any) -> float:
    """Of log10 norm over distances 4 and 28 in sequences of one length."""
    batches = [recalls(distance, 8, 31 - distance) for distance in (4, 28)]
    near, far = values(reach(made(architecture, n_layers=1, **parts), batches)).values()
    return (far - near) / 24


def test_recurrent_nets_forget_and_attention_does_not() -> None:
    """Measured with other code: about -.25, -.2, -.08 and 0 a token."""
    assert slope("rnn") < -0.1
    assert slope("lstm") < slope("lstm", forget_bias=1.0) < -0.05
    assert abs(slope("lstm", forget_bias=4.0)) < 0.02
    assert abs(slope("decoder", n_heads=2)) < 0.02


def test_a_gradient_that_vanishes_altogether_stands_at_the_floor() -> None:
    model = made("rnn", n_layers=1)
    with torch.no_grad():
        model.get_parameter("layers.weight_hh_l0").zero_()
    assert values(reach(model, [recalls(3)])) == {("log_reach", "distance=3"): -300}


@pytest.mark.parametrize("missing", ["answer_at", "distance"])
def test_tasks_without_a_place_or_a_distance_are_refused(missing: str) -> None:
    batch = recalls(3)
    del batch[missing]
    with pytest.raises(ValueError, match=r"^reach: "):
        reach(made("lstm"), [batch])


def test_several_answers_a_position_are_refused() -> None:
    batch = {name: part[..., None].repeat(1, 1, 2) if name != "inputs" else part for name, part in tags().items()}
    shape = TaskShape(kind="tagging", input_sizes=(V,), output_size=V, n_answers=2)
    assert TAGGING.n_answers == 1
    with pytest.raises(ValueError, match="one answer a position"):
        reach(made("encoder", shape), [batch])
