"""Masks that hide and masks that do not; position tables and their ends."""

from math import isnan
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from models.attention import Softmax
from models.build import build_model
from models.config import ModelConfig, TaskShape
from models.losses import Batch
from models.masks import Mask, NoMask
from models.positions import POSITIONS, Learned
from models.probes.masks import beyond_table, mask
from models.transformer import Stack

V, B, T, D = 13, 3, 11, 12
TAGGING = TaskShape(kind="tagging", input_sizes=(V,), output_size=V)
FACTORS = TaskShape(kind="tagging", input_sizes=(V, 5), output_size=V)
TRANSLATION = TaskShape(kind="translation", input_sizes=(V,), output_size=V, shared_vocabulary=True, start=1, end=2)


def tags() -> Batch:
    inputs = torch.randint(V, (B, T), generator=torch.Generator().manual_seed(1))
    return {"inputs": inputs, "targets": inputs.roll(-1, 1)}


def pairs() -> Batch:
    draw = torch.Generator().manual_seed(2)
    source, target = torch.randint(V, (B, 5), generator=draw), torch.randint(V, (B, T), generator=draw)
    source_real = torch.arange(5) < torch.tensor([[5], [2], [3]])
    target_real = torch.arange(T) < torch.tensor([[8], [T], [4]])
    return {
        "source": source, "source_real": source_real, "target": target, "target_real": target_real, "targets": target,
    }  # fmt: skip


def causal(shape: TaskShape = TAGGING, **changes: Any) -> nn.Module:
    sizes = {"architecture": "decoder", "d_model": D, "n_heads": 3}
    return build_model(ModelConfig(**{**sizes, **changes}), shape, seed=0)


def measured(model: nn.Module, batch: Batch) -> tuple[float, float]:
    change, sums = mask(model, [batch])
    assert change[:2] == ("future_change", "")
    assert sums[:2] == ("row_sum_error", "")
    return change.value, sums.value


@pytest.mark.parametrize("attention", ["softmax", "uniform", "window", "linear"])
@pytest.mark.parametrize("position", ["sinusoidal", "none"])
def test_a_causal_mask_hides_the_future_to_the_last_bit(attention: str, position: str) -> None:
    for norm in ("layer", "batch"):
        change, sums = measured(causal(attention=attention, position=position, norm=norm, dropout=0.2), tags())
        assert change == 0.0
        assert sums < 1e-6


class NoWeights(Softmax):
    """Weights that are no numbers, from the second call on where `late`."""

    def __init__(self, late: bool) -> None:
        super().__init__(0.5)
        self.calls = 1 - late

    def weights(self, q: Tensor, k: Tensor, mask: Mask) -> Tensor:
        return super().weights(q, k, mask) * float("nan")

    def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Mask) -> Tensor:
        self.calls += 1
        return super().forward(q, k, v, mask) * (float("nan") if self.calls > 1 else 1.0)


@pytest.mark.parametrize("late", [False, True])
def test_no_number_is_no_proof_that_nothing_is_seen(late: bool) -> None:
    model = causal()
    model.get_submodule("stack.layers.1.attention.inner").kind = NoWeights(late)
    assert all(isnan(value) for value in measured(model, tags()))


def test_in_translators_recurrent_nets_and_with_factors_too() -> None:
    change, sums = measured(causal(TRANSLATION, architecture="encoder-decoder"), pairs())
    assert change == 0.0
    assert sums < 1e-6
    lstm = build_model(ModelConfig(architecture="lstm", d_model=D, cross_attention="dot"), TAGGING, 0)
    assert mask(lstm, [tags()]) == [("future_change", "", 0.0)]
    inputs = torch.randint(5, (B, T, 2), generator=torch.Generator().manual_seed(3))
    assert measured(causal(FACTORS), {"inputs": inputs, "targets": inputs[..., 0]})[0] == 0.0


def test_the_wrong_mask_leaks_and_its_rows_do_not_sum_to_one() -> None:
    change, sums = measured(causal(decoder_mask="after-softmax"), tags())
    assert change > 1e-4
    assert 0.8 < sums < 1  # the first of 11 words keeps the weight of itself alone


@pytest.mark.parametrize(
    "model", [causal(decoder_mask="none"), causal(TRANSLATION, architecture="encoder-decoder", decoder_mask="none")]
)
def test_without_a_mask_the_future_is_seen_though_the_rows_sum_to_one(model: nn.Module) -> None:
    change, sums = measured(model, pairs() if hasattr(model, "decoder") else tags())
    assert change > 1e-3
    assert sums < 1e-6


def test_a_mask_that_does_not_mask_is_seen() -> None:
    model = causal()
    stack = model.get_submodule("stack")
    assert isinstance(stack, Stack)
    stack.mask = NoMask(None)
    assert measured(model, tags())[0] > 1e-3


class Faint(Softmax):
    """Hidden keys get a penalty that leaves them a little weight."""

    def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Mask) -> Tensor:
        assert mask.allowed is not None
        return (q @ k.mT * self.scale - 12.0 * ~mask.allowed).softmax(-1) @ v


def test_a_little_weight_on_the_future_is_seen() -> None:
    model = causal()
    model.get_submodule("stack.layers.0.attention.inner").kind = Faint(0.5)
    assert 0 < measured(model, tags())[0] < 1e-2


class Unnormalised(Softmax):
    def weights(self, q: Tensor, k: Tensor, mask: Mask) -> Tensor:
        return 1.01 * super().weights(q, k, mask)


def test_rows_that_do_not_sum_to_one_are_seen() -> None:
    model = causal()
    model.get_submodule("stack.layers.1.attention.inner").kind = Unnormalised(0.5)
    assert measured(model, tags())[1] == pytest.approx(0.01, abs=1e-5)


@pytest.mark.parametrize("max_length", [T, 17])
def test_an_input_longer_than_a_learned_table_is_refused(max_length: int) -> None:
    model = causal(position="learned", max_length=max_length)
    assert beyond_table(model, [tags()]) == [("refused", "", 1.0), ("takes_longer", "", 0.0)]


@pytest.mark.parametrize("position", [name for name in POSITIONS if name != "learned"])
def test_other_schemes_take_any_length(position: str) -> None:
    expected = [("refused", "", 0.0), ("takes_longer", "", 1.0)]
    assert beyond_table(causal(position=position, d_model=24), [tags()]) == expected


def test_translators_and_recurrent_nets() -> None:
    model = causal(TRANSLATION, architecture="encoder-decoder", position="learned", max_length=19)
    assert beyond_table(model, [pairs()]) == [("refused", "", 1.0), ("takes_longer", "", 0.0)]
    lstm = build_model(ModelConfig(architecture="lstm", d_model=D), TAGGING, 0)
    assert beyond_table(lstm, [tags()]) == [("refused", "", 0.0), ("takes_longer", "", 1.0)]


class Wrapping(Learned):
    """A table without an end: it begins anew."""

    def embed(self, x: Tensor, start: int) -> Tensor:
        return x + self.weight[torch.arange(start, start + x.shape[1]) % len(self.weight)]


def test_a_table_that_does_not_refuse_is_seen() -> None:
    model = causal(position="learned", max_length=T)
    model.get_submodule("stack.position").__class__ = Wrapping
    assert beyond_table(model, [tags()]) == [("refused", "", 0.0), ("takes_longer", "", 1.0)]


class Short(Learned):
    """A table that refuses what it has a row for."""

    def embed(self, x: Tensor, start: int) -> Tensor:
        if start + x.shape[1] > len(self.weight) - 1:
            raise ValueError("too long")
        return x


def test_a_table_that_refuses_its_own_length_is_no_pass() -> None:
    model = causal(position="learned", max_length=T)
    model.get_submodule("stack.position").__class__ = Short
    with pytest.raises(ValueError, match="too long"):
        beyond_table(model, [tags()])
