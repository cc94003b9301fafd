"""Identities on models where they hold, and on models broken so that they do not."""

from math import isnan
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from models.attention import Softmax
from models.build import build_model
from models.config import ModelConfig, TaskShape
from models.feed_forwards import ReLU
from models.losses import Batch
from models.masks import Mask
from models.positions import POSITIONS
from models.probes.identities import equal_keys, frozen_linear, per_word, permutation

V, B, T = 13, 3, 11
TAGGING = TaskShape(kind="tagging", input_sizes=(V,), output_size=V)
TRANSLATION = TaskShape(kind="translation", input_sizes=(V,), output_size=V, shared_vocabulary=True, start=1, end=2)


def tags(length: int = T) -> Batch:
    inputs = torch.randint(V, (B, length), generator=torch.Generator().manual_seed(1))
    return {"inputs": inputs, "targets": inputs.roll(-1, 1)}


def encoder(shape: TaskShape = TAGGING, **changes: Any) -> nn.Module:
    sizes = {"architecture": "encoder", "d_model": 12, "n_heads": 3, "position": "none"}
    return build_model(ModelConfig(**{**sizes, **changes}), shape, seed=0)


def translator(**changes: Any) -> nn.Module:
    return build_model(ModelConfig(architecture="encoder-decoder", d_model=12, n_heads=3, **changes), TRANSLATION, 0)


def pairs() -> Batch:
    draw = torch.Generator().manual_seed(2)
    source, target = torch.randint(V, (B, 5), generator=draw), torch.randint(V, (B, T), generator=draw)
    source_real = torch.arange(5) < torch.tensor([[5], [2], [3]])
    real = torch.ones(B, T, dtype=torch.bool)
    return {"source": source, "source_real": source_real, "target": target, "target_real": real, "targets": target}


@pytest.mark.parametrize("length", [1, 2, T])
@pytest.mark.parametrize("attention", ["softmax", "uniform", "window", "linear"])
def test_equal_keys_share_the_weight(attention: str, length: int) -> None:
    for changes in ({}, {"encoder_mask": "causal"}, {"n_heads": 1}):
        ((metric, at, error),) = equal_keys(encoder(attention=attention, **changes), [tags(length)])
        assert (metric, at) == ("equal_keys_error", "")
        assert 0 <= error < 1e-14


def test_equal_keys_share_the_weight_of_a_source_with_padding() -> None:
    assert equal_keys(translator(), [pairs()])[0].value < 1e-14


class First(Softmax):
    """The first of the best keys takes all of the weight."""

    def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Mask) -> Tensor:
        best = mask.hide(q @ k.mT).argmax(-1)
        return nn.functional.one_hot(best, k.shape[2]).to(v.dtype) @ v


class ByPlace(Softmax):
    """Keys are the more attended to, the later they stand, unless all of them are equal."""

    def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Mask) -> Tensor:
        same = (k == k[:, :, :1]).all()
        late = torch.arange(k.shape[2]).to(q.dtype) * (not same)
        return mask.hide(q @ k.mT * self.scale + late).softmax(-1) @ v


@pytest.mark.parametrize("broken", [First, ByPlace])
def test_keys_that_do_not_share_are_seen(broken: type[Softmax]) -> None:
    model = encoder()
    model.get_submodule("stack.layers.1.attention.inner").kind = broken(0.5)
    assert equal_keys(model, [tags()])[0].value > 0.01


def test_weights_cut_after_the_softmax_are_no_mean() -> None:
    assert equal_keys(encoder(encoder_mask="after-softmax"), [tags()])[0].value > 0.1


def test_without_heads_there_are_no_keys() -> None:
    with pytest.raises(ValueError, match="equal-keys: a model without attention heads"):
        equal_keys(build_model(ModelConfig(architecture="lstm", d_model=12), TAGGING, 0), [tags()])


@pytest.mark.parametrize("norm", ["layer", "batch", "none"])
def test_a_stack_without_positions_is_blind_to_order(norm: str) -> None:
    ((metric, at, error),) = permutation(encoder(norm=norm), [tags()])
    assert (metric, at) == ("permutation_error", "")
    assert 0 < error < 1e-12


@pytest.mark.parametrize("position", [name for name in POSITIONS if name != "none"])
def test_every_scheme_makes_it_see_order(position: str) -> None:
    assert permutation(encoder(position=position), [tags()])[0].value > 1e-3


def test_a_mask_and_a_recurrent_net_see_order() -> None:
    assert permutation(encoder(encoder_mask="causal"), [tags()])[0].value > 1e-2
    lstm = build_model(ModelConfig(architecture="lstm", d_model=12), TAGGING, 0)
    assert permutation(lstm, [tags()])[0].value > 1e-2


def test_a_translation_is_not_permuted() -> None:
    with pytest.raises(ValueError, match="permutation: needs a task of one sequence"):
        permutation(translator(), [pairs()])


@pytest.mark.parametrize("feed_forward", ["relu", "gelu", "swiglu", "linear"])
def test_the_feed_forward_sublayer_works_on_each_word_alone(feed_forward: str) -> None:
    for model, batch in (
        (encoder(feed_forward=feed_forward, norm="batch", dropout=0.3), tags()),
        (translator(), pairs()),
    ):
        assert per_word(model, [batch]) == [("per_word_change", "", 0.0)]
    wide = encoder(feed_forward=feed_forward, d_model=96)  # large enough for the other matrix library
    assert per_word(wide, [tags(64)])[0].value == 0.0


class Mixing(ReLU):
    """Words get a little of their sequence's mean."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) + 1e-5 * x.mean(1, keepdim=True)


def test_a_sublayer_that_mixes_words_is_seen() -> None:
    model = encoder()
    model.get_submodule("stack.layers.1.feed_forward").inner = Mixing(12, 48)
    with torch.no_grad():
        for parameter in model.get_submodule("stack.layers.1.feed_forward.inner").parameters():
            parameter.fill_(0.1)
    assert 0 < per_word(model, [tags()])[0].value < 1e-3


def test_a_model_without_the_sublayer_is_refused() -> None:
    with pytest.raises(ValueError, match="per-word: the model has no feed-forward sublayer"):
        per_word(encoder(feed_forward="none"), [tags()])


def linear_errors(**changes: Any) -> tuple[float, float]:
    frozen, unfrozen = frozen_linear(encoder(**{"feed_forward": "none", "norm": "none", **changes}), [tags()])
    assert frozen[:2] == ("frozen_linear_error", "")
    assert unfrozen[:2] == ("unfrozen_linear_error", "")
    return frozen.value, unfrozen.value


@pytest.mark.parametrize("changes", [{}, {"residual": "none"}, {"encoder_mask": "causal"}, {"query_key": "tied"}])
def test_attention_is_linear_with_its_weights_fixed_and_only_then(changes: dict[str, Any]) -> None:
    frozen, unfrozen = linear_errors(**changes)
    assert frozen < 1e-12
    assert unfrozen > 1e-3


def test_weights_that_do_not_depend_on_the_content_are_linear_anyway() -> None:
    frozen, unfrozen = linear_errors(attention="uniform")
    assert frozen < 1e-12
    assert unfrozen < 1e-12


@pytest.mark.parametrize("changes", [{"feed_forward": "relu"}, {"norm": "layer"}, {"position": "sinusoidal"}])
def test_whatever_else_is_not_linear_is_seen(changes: dict[str, Any]) -> None:
    assert linear_errors(**changes)[0] > 1e-2


def test_a_model_of_several_stacks_is_refused() -> None:
    with pytest.raises(ValueError, match="frozen-linear: needs a model of one Transformer stack"):
        frozen_linear(translator(), [pairs()])


class NotANumber(ReLU):
    """Its answers are no numbers, from some word on."""

    first = 0

    def forward(self, x: Tensor) -> Tensor:
        return torch.where(torch.arange(x.shape[1])[:, None] >= self.first, float("nan"), super().forward(x))


class LateNotANumber(NotANumber):
    first = T // 2


@pytest.mark.parametrize("broken", [NotANumber, LateNotANumber])
def test_no_number_is_no_identity(broken: type[NotANumber]) -> None:
    model = encoder()
    model.get_submodule("stack.layers.1.feed_forward").inner = broken(12, 48)
    assert isnan(per_word(model, [tags()])[0].value)
    assert isnan(permutation(model, [tags()])[0].value)
    whole = encoder(norm="none", feed_forward="relu")
    whole.get_submodule("stack.layers.1.feed_forward").inner = broken(12, 48)
    assert all(isnan(row.value) for row in frozen_linear(whole, [tags()]))


class NoWeights(Softmax):
    """No numbers where all keys are equal."""

    def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Mask) -> Tensor:
        return super().forward(q, k, v, mask) * (float("nan") if (k == k[:, :, :1]).all() else 1.0)


def test_attention_that_gives_no_number_shares_nothing() -> None:
    model = encoder()
    model.get_submodule("stack.layers.1.attention.inner").kind = NoWeights(0.5)
    assert isnan(equal_keys(model, [tags()])[0].value)
