"""Scores and their gradients against formulas written out, and against the textbook's square root of the width."""

import copy
import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from models.attention import attention_maps
from models.config import TaskShape
from models.probes import PROBES, Measurement
from models.probes.scores import _recorded, root_mean_square
from tests.models.probes.examples import TRANSLATION, D, V, drawn, made, pairs, tags, values

probe = PROBES["scores"]
METRICS = ("score_deviation", "score_entropy", "softmax_gradient", "dead_scores")


def one_layer(**parts: Any) -> torch.nn.Module:
    """One head, and nothing but attention: the logits are a linear map of it."""
    plain = {"norm": "none", "residual": "none", "feed_forward": "none", "position": "none"}
    return made("encoder", **{"n_layers": 1, "n_heads": 1, "initialisation": "xavier", **plain, **parts})


def by_hand(model: Any, batch: dict[str, Tensor]) -> dict[str, float]:
    """The four numbers of a model made by `one_layer`, from its matrices."""
    model = copy.deepcopy(model).double()
    attention, x = model.stack.layers[0].attention.inner, model.embedding(batch["inputs"]).detach()
    query, key, value = (layer.weight.T for layer in (attention.query, attention.key, attention.value))
    scores = ((x @ query) @ (x @ key).mT * attention.kind.scale).detach().requires_grad_()
    logits = scores.softmax(-1) @ (x @ value) @ attention.output.weight.T @ model.head.weight.T + model.head.bias
    F.cross_entropy(logits.flatten(0, 1), batch["targets"].flatten()).backward()  # type: ignore[no-untyped-call]
    assert scores.grad is not None
    rows = scores.detach().softmax(-1).flatten(0, 1)
    jacobians = [torch.diag(row) - row[:, None] * row for row in rows]
    traces = [jacobian.trace() for jacobian in jacobians]
    return {
        "score_deviation": float(scores.detach().numpy().std()),
        "score_entropy": sum(-(row * row.log()).sum().item() for row in rows) / len(rows),
        "softmax_gradient": sum(trace.item() for trace in traces) / len(rows),
        "dead_scores": sum(abs(g) < 1e-8 for g in scores.grad.flatten().tolist()) / scores.numel(),
    }


@pytest.mark.parametrize(("scale", "gain"), [("sqrt-head", 1.0), ("none", 3.0)])
def test_all_four_against_the_formulas(scale: str, gain: float) -> None:
    model, batch = one_layer(scale=scale, gain=gain), tags() | {"targets": drawn(3, 5, seed=2)}
    measured = values(probe(model, [batch]))
    expected = by_hand(model, batch)
    assert measured == {
        (metric, at): pytest.approx(expected[metric], rel=1e-9) for metric in METRICS for at in ("", "layer=1")
    }
    assert (expected["dead_scores"] > 0) == (scale == "none")


def test_the_gradient_is_that_of_the_whole_model() -> None:
    """The loss changes by g * e when a score of the first of two layers is moved by e."""
    model, batch = made("encoder", n_layers=2).double(), tags()
    kind: Any = model.get_submodule("stack.layers.0.attention.inner.kind")
    shift = torch.zeros(3, 3, 5, 5, dtype=torch.float64)
    shift[1, 2, 3, 4] = 1e-4

    def loss(by: Tensor) -> Tensor:
        kind.forward = lambda q, k, v, mask: (q @ k.mT * kind.scale + by).softmax(-1) @ v
        logits = model(batch["inputs"])
        del kind.forward
        return F.cross_entropy(logits.flatten(0, 1), batch["targets"].flatten())

    slope = (loss(shift) - loss(-shift)).item() / 2e-4
    calls = _recorded(model)
    whole = F.cross_entropy(model(batch["inputs"]).flatten(0, 1), batch["targets"].flatten())
    (gradient,) = torch.autograd.grad(whole, [calls["stack.layers.0.attention.inner.kind"].scores])
    assert gradient[1, 2, 3, 4].item() == pytest.approx(slope, rel=1e-5)
    assert abs(slope) > 1e-8


def test_unscaled_scores_grow_with_the_square_root_of_the_width() -> None:
    """Xavier matrices and normalised vectors give scores of deviation sqrt(d_head); a scale of 1 / sqrt(d_head), 1."""
    for width in (16, 256):
        parts: dict[str, Any] = {"d_model": width, "n_heads": 1, "initialisation": "xavier", "position": "none"}
        parts |= {"n_layers": 6, "feed_forward": "none"}
        batch = tags(8, 11)
        unscaled, scaled = (
            values(probe(made("encoder", scale=scale, **parts), [batch])) for scale in ("none", "sqrt-head")
        )
        assert unscaled["score_deviation", ""] == pytest.approx(math.sqrt(width), rel=0.15)
        assert scaled["score_deviation", ""] == pytest.approx(1, rel=0.15)
        if width == 256:
            assert unscaled["dead_scores", ""] - scaled["dead_scores", ""] > 0.5
            assert scaled["score_entropy", ""] - unscaled["score_entropy", ""] > 1
            assert unscaled["softmax_gradient", ""] < 0.3 < 0.8 < scaled["softmax_gradient", ""]


def test_equal_scores_have_no_deviation_and_the_largest_entropy() -> None:
    model = one_layer()
    with torch.no_grad():
        model.get_parameter("stack.layers.0.attention.inner.query.weight").zero_()
    measured = values(probe(model, [tags(3, 7)]))
    assert measured["score_deviation", ""] == 0
    assert measured["score_entropy", ""] == pytest.approx(math.log(7), abs=1e-12)
    assert measured["softmax_gradient", ""] == pytest.approx(6 / 7, abs=1e-12)


def test_hidden_keys_and_queries_without_a_choice_are_left_out() -> None:
    """All scores are zero: the queries of a causal stack see 1, 2, ..., 5 equal keys, and the first has no choice."""
    model = made("decoder", n_layers=1)
    with torch.no_grad():
        model.get_parameter("stack.layers.0.attention.inner.query.weight").zero_()
    measured = values(probe(model, [tags()]))
    assert measured["score_deviation", ""] == 0
    assert measured["score_entropy", ""] == pytest.approx(sum(math.log(n) for n in range(2, 6)) / 4, abs=1e-12)
    assert measured["softmax_gradient", ""] == pytest.approx(sum(1 - 1 / n for n in range(2, 6)) / 4, abs=1e-12)
    assert measured["dead_scores", ""] == 0


def test_the_bias_of_positions_is_part_of_the_scores() -> None:
    model = made("encoder", n_layers=1, n_heads=1, position="alibi")
    with torch.no_grad():
        model.get_parameter("stack.layers.0.attention.inner.query.weight").zero_()
    distances = (torch.arange(5)[:, None] - torch.arange(5)).abs().double()
    slope = 2.0**-8
    assert values(probe(model, [tags()]))["score_deviation", ""] == pytest.approx(
        slope * distances.std(correction=0).item(), rel=1e-6
    )


def test_the_whole_of_several_layers() -> None:
    measured = values(probe(made("encoder", n_layers=3), [tags()]))
    deviations = [measured["score_deviation", f"layer={n}"] for n in (1, 2, 3)]
    assert measured["score_deviation", ""] == pytest.approx(math.sqrt(sum(d * d for d in deviations) / 3))
    assert measured["score_entropy", ""] == pytest.approx(
        sum(measured["score_entropy", f"layer={n}"] for n in (1, 2, 3)) / 3
    )
    assert root_mean_square([3.0, 4.0]) == pytest.approx(12.5**0.5)


def test_the_plain_formula_takes_the_place_of_the_fused_one_without_a_change() -> None:
    """The weights behind the entropy are those that the model itself reports."""
    model, batch = made("decoder", n_layers=2, position="rotary"), tags()
    with attention_maps(model.double()) as maps:
        model(batch["inputs"])
    for n in (1, 2):
        weights = maps[f"stack.layers.{n - 1}.attention.inner"][:, :, 1:]
        expected = torch.special.entr(weights).sum(-1).mean().item()
        assert values(probe(model, [batch]))["score_entropy", f"layer={n}"] == pytest.approx(expected, rel=1e-9)


def test_padding_is_left_out_in_a_translator() -> None:
    """Queries at padding, of which the second pair has some, would see other keys in another second sentence."""
    model, batch = made("encoder-decoder", TRANSLATION), pairs()
    other = {name: part.clone() for name, part in batch.items()}
    other["target"][1, 2:] = 12 - other["target"][1, 2:]
    measured = probe(model, [batch])
    assert {row.metric for row in measured} == {
        f"{stack}_{metric}" for stack in ("encoder", "decoder", "cross") for metric in METRICS
    }
    assert all(isinstance(row, Measurement) for row in measured)
    assert probe(model, [other]) == measured


def test_other_attentions_and_sequences_of_one_word_are_refused() -> None:
    for kind in ("uniform", "linear"):
        with pytest.raises(ValueError, match=f"scores: needs a softmax, {kind} attention has none"):
            probe(made("encoder", attention=kind), [tags()])
    for model, batch in ((made("gru"), tags()), (made("encoder"), tags(3, 1) | {"targets": torch.ones(3, 1).long()})):
        with pytest.raises(ValueError, match="needs a softmax with a choice"):
            probe(model, [batch])


def test_several_answers_a_position() -> None:
    shape = TaskShape(kind="tagging", input_sizes=(V,), output_size=D, n_answers=2)
    batch = {"inputs": tags()["inputs"], "targets": torch.arange(30).view(3, 5, 2) % D}
    assert values(probe(made("encoder", shape), [batch]))["dead_scores", ""] == 0
