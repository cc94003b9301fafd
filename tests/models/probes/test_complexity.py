"""Counts against counts by hand; the step-by-step form against the whole; nothing is asked of the seconds."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from models.build import build_model
from models.config import ModelConfig, TaskShape
from models.losses import Batch
from models.probes import complexity
from models.probes.base import Measurement
from models.probes.complexity import core_growth, saved_bytes, seconds, sequential_operations, step_by_step

V, B, T, D, H, K = 13, 3, 11, 12, 3, 4
TAGGING = TaskShape(kind="tagging", input_sizes=(V,), output_size=V)
TRANSLATION = TaskShape(kind="translation", input_sizes=(V,), output_size=V, shared_vocabulary=True, start=1, end=2)
LENGTHS = (20, 40, 80)


def tags() -> Batch:
    inputs = torch.randint(V, (B, T), generator=torch.Generator().manual_seed(1))
    return {"inputs": inputs, "targets": inputs.roll(-1, 1)}


def model(architecture: Any = "encoder", **changes: Any) -> nn.Module:
    sizes = {"n_heads": H} if architecture == "encoder" else {}
    return build_model(ModelConfig(architecture=architecture, d_model=D, **{**sizes, **changes}), TAGGING, seed=0)


def along(found: list[Measurement], metric: str) -> list[float]:
    assert [row.coordinate for row in found if row.metric == metric] == [f"length={n}" for n in LENGTHS]
    return [row.value for row in found if row.metric == metric]


def main(found: list[Measurement], metric: str) -> float:
    ((value),) = [row.value for row in found if row[:2] == (metric, "")]
    return value


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPERATION_LENGTHS", "CORE_LENGTHS", "TIMED_LENGTHS"):
        monkeypatch.setattr(complexity, name, LENGTHS)


@pytest.mark.parametrize("architecture", ["rnn", "lstm", "gru"])
@pytest.mark.parametrize("cross_attention", ["none", "dot"])
def test_step_by_step_is_the_same_net(architecture: str, cross_attention: Any) -> None:
    net = model(architecture, cross_attention=cross_attention, n_layers=2).double()
    torch.testing.assert_close(step_by_step(net, tags()["inputs"]), net(tags()["inputs"]), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("architecture", ["rnn", "lstm", "gru"])
def test_a_recurrent_net_needs_as_many_more_operations_for_every_token(architecture: str) -> None:
    one, two = (sequential_operations(model(architecture, n_layers=n), [tags()]) for n in (1, 2))
    assert [row[:2] for row in one[3:]] == [("operations_per_token", ""), ("operations_per_token_range", "")]
    for found in (one, two):
        first, second, third = along(found, "operations")
        assert third - second == 2 * (second - first) > 0
        assert main(found, "operations_per_token") == (third - second) / (LENGTHS[2] - LENGTHS[1])
        assert main(found, "operations_per_token_range") == 0.0
    assert main(two, "operations_per_token") > main(one, "operations_per_token") >= 4  # product, sum, activation


@pytest.mark.parametrize("changes", [{}, {"encoder_mask": "causal"}, {"attention": "linear", "position": "none"}])
def test_attention_needs_as_many_operations_for_any_length(changes: dict[str, Any]) -> None:
    found = sequential_operations(model(**changes), [tags()])
    assert len(set(along(found, "operations"))) == 1
    assert main(found, "operations_per_token") == main(found, "operations_per_token_range") == 0.0


class OneByOne(nn.Module):
    """A feed-forward sublayer that waits for every word, and for words from the 60th on a little longer."""

    def forward(self, x: Tensor) -> Tensor:
        words = [word * 2 for word in x.unbind(1)]
        words[60:] = [word + 1 for word in words[60:]]
        return torch.stack(words, dim=1)


def test_a_transformer_that_works_word_by_word_is_seen() -> None:
    net = model()
    net.get_submodule("stack.layers.0.feed_forward").inner = OneByOne()
    found = sequential_operations(net, [tags()])
    assert main(found, "operations_per_token") == 1.5  # one for each word, and one for 20 of the last 40
    assert main(found, "operations_per_token_range") == 0.5


def test_the_plain_core_is_quadratic_in_operations_and_bytes() -> None:
    found = core_growth(model(n_layers=1), [tags()])
    assert along(found, "core_flops") == [2 * 2 * H * n * n * K for n in LENGTHS]
    assert along(found, "core_bytes") == [4 * H * (3 * n * K + n * n) for n in LENGTHS]  # float32: q, k, v and weights


def test_the_fused_core_keeps_no_weights() -> None:
    _, second, third = along(core_growth(model(), [tags()]), "fused_bytes")
    assert third == pytest.approx(2 * second, rel=0.01)
    assert third < 4 * H * (5 * LENGTHS[2] * K) < 4 * H * LENGTHS[2] ** 2


def test_linear_attention_is_linear() -> None:
    found = core_growth(model(attention="linear", position="none"), [tags()])
    assert along(found, "core_flops") == [2 * 2 * H * n * K * K for n in LENGTHS]
    first, second, third = along(found, "core_bytes")
    assert third - second == 2 * (second - first)
    assert along(found, "fused_bytes") == [first, second, third]


def test_linear_attention_under_a_mask_is_not() -> None:
    found = core_growth(model(attention="linear", position="none", encoder_mask="causal"), [tags()])
    assert along(found, "core_flops") == [2 * 2 * H * n * n * K for n in LENGTHS]


def test_uniform_attention_has_no_queries_and_keys() -> None:
    found = core_growth(model(attention="uniform", position="none"), [tags()])
    assert along(found, "core_flops") == [2 * H * n * n * K for n in LENGTHS]


def test_bytes_that_are_kept() -> None:
    x = torch.ones(7, requires_grad=True)
    assert saved_bytes(lambda: x.exp()) == 7 * 4
    assert saved_bytes(lambda: x * x) == 7 * 4  # the same tensor twice
    assert saved_bytes(lambda: (x * x).exp()) == 2 * 7 * 4
    assert saved_bytes(lambda: (x * x).exp(), [x]) == 7 * 4
    assert saved_bytes(lambda: x + 1) == 0


def test_every_length_is_timed_and_weighed() -> None:
    found = seconds(model(dropout=0.1), [tags()])
    for metric in ("forward_seconds", "step_seconds"):
        assert all(value > 0 for value in along(found, metric))
    first, second, third = along(found, "memory_mib")
    assert 0 < first < second < third
    assert third == pytest.approx(2 * second, rel=0.05)  # the fused core is linear
    assert "stepwise_seconds" not in {row.metric for row in found}


class Table(nn.Module):
    """Embedding and output layer alone."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.head = nn.Embedding(V, D), nn.Linear(D, V)

    def forward(self, inputs: Tensor) -> Tensor:
        return self.head(self.embedding(inputs))


def test_memory_is_that_of_ids_and_vectors_without_the_parameters() -> None:
    bytes_kept = [n * 8 + n * D * 4 for n in LENGTHS]  # int64 ids, and float32 vectors for the output layer
    assert along(seconds(Table(), [tags()]), "memory_mib") == [kept / 2**20 for kept in bytes_kept]


def test_a_recurrent_net_is_timed_in_both_forms() -> None:
    found = seconds(model("lstm"), [tags()])
    assert sum(along(found, "stepwise_seconds")) > sum(along(found, "step_seconds")) > 0


def test_models_and_tasks_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match="core-growth: needs a model of one Transformer stack"):
        core_growth(model("rnn"), [tags()])
    translator = build_model(ModelConfig(architecture="encoder-decoder", d_model=D, n_heads=H), TRANSLATION, 0)
    for probe in (sequential_operations, seconds):
        with pytest.raises(ValueError, match="needs a task of one sequence"):
            probe(translator, [{"source": None}])
    short = model(position="learned", max_length=LENGTHS[1])
    with pytest.raises(ValueError, match=f"an input of length {LENGTHS[2]} is longer"):
        seconds(short, [tags()])
