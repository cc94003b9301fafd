"""Gradients from every target word to every source word, against a Jacobian taken whole."""

import copy
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from models.build import build_model
from models.config import ModelConfig, TaskShape
from models.embeddings import Embedding
from models.losses import Batch
from models.probes.translation import source_reach
from models.transformer import SourceEncoder, TransformerTranslator

V, B, T, S, D = 13, 3, 7, 5, 12
SHARED = TaskShape(kind="translation", input_sizes=(V,), output_size=V, shared_vocabulary=True, start=1, end=2)
APART = TaskShape(kind="translation", input_sizes=(V,), output_size=V, start=1, end=2)


def pairs() -> Batch:
    draw = torch.Generator().manual_seed(2)
    source, target = torch.randint(V, (B, S), generator=draw), torch.randint(V, (B, T), generator=draw)
    targets = torch.randint(V, (B, T), generator=draw)
    targets[1, 4:] = -100
    source_real = torch.arange(S) < torch.tensor([[S], [2], [3]])
    return {
        "source": source, "source_real": source_real, "target": target, "target_real": targets >= 0, "targets": targets,
    }  # fmt: skip


def model(shape: TaskShape = SHARED, **changes: Any) -> nn.Module:
    sizes = {"architecture": "encoder-decoder", "d_model": D, "n_heads": 3, "n_layers": 1}
    return build_model(ModelConfig(**{**sizes, **changes}), shape, seed=0)


def by_hand(translator: nn.Module, batch: Batch) -> float:
    """Source embeddings as an input, and the whole Jacobian of the logits; a shared table is looked up for itself."""
    translator = copy.deepcopy(translator).double().eval()
    assert isinstance(translator, TransformerTranslator)
    encoder = translator.encoder
    assert isinstance(encoder, SourceEncoder)
    embedded = encoder.embedding(batch["source"])

    def logits(source: Tensor) -> Tensor:
        read = encoder.stack.encode(source, batch["source_real"])
        memory = translator.decoder.read(read, batch["source_real"])
        target = translator.embedding(batch["target"])
        return translator.head(
            translator.decoder(target, batch["target_real"], translator.decoder.new_caches(), memory)
        )

    jacobian = torch.autograd.functional.jacobian(logits, embedded)  # type: ignore[no-untyped-call]  # (B, T, V, B, S, D)
    return min(
        jacobian[b, t, batch["targets"][b, t], b, s].norm().item()
        for b in range(B)
        for t in range(T)
        for s in range(S)
        if batch["targets"][b, t] >= 0 and batch["source_real"][b, s]
    )


@pytest.mark.parametrize("shape", [SHARED, APART])
@pytest.mark.parametrize("changes", [{}, {"n_layers": 2, "norm_placement": "post"}, {"decoder_mask": "none"}])
def test_the_smallest_of_all_pairs(shape: TaskShape, changes: dict[str, Any]) -> None:
    translator = model(shape, **changes)
    ((metric, at, value),) = source_reach(translator, [pairs()])
    assert (metric, at) == ("source_reach_least", "")
    assert value == pytest.approx(by_hand(translator, pairs()), rel=1e-9)
    assert value > 1e-6


def test_padding_plays_no_part() -> None:
    batch = pairs()
    other = {**batch, "source": torch.where(batch["source_real"], batch["source"], 7)}
    assert not torch.equal(other["source"], batch["source"])
    assert source_reach(model(), [other]) == source_reach(model(), [batch])


@pytest.mark.parametrize("cross_attention", ["none", "dot", "additive"])
def test_recurrent_translators_reach_by_their_state_or_by_attention(cross_attention: str) -> None:
    assert source_reach(model(architecture="lstm", **plain(cross_attention)), [pairs()])[0].value > 0


def plain(cross_attention: str) -> dict[str, Any]:
    return {"n_heads": ModelConfig.n_heads, "cross_attention": cross_attention}


@pytest.mark.parametrize("changes", [{}, {"tie_embeddings": False}, {"position": "none"}])
def test_without_cross_attention_nothing_is_reached(changes: dict[str, Any]) -> None:
    assert source_reach(model(cross_attention="none", **changes), [pairs()]) == [("source_reach_least", "", 0.0)]


class Sums(nn.Module):
    """Each target word gets the sum of the source words from place `first` on."""

    def __init__(self, first: int) -> None:
        super().__init__()
        self.embedding, self.head, self.first = Embedding((V,), D, tied=False), nn.Linear(D, V), first

    def forward(self, source: Tensor, source_real: Tensor, target: Tensor, target_real: Tensor) -> Tensor:
        read = self.embedding(source)[:, self.first :].sum(1, keepdim=True)
        return self.head(self.embedding(target) + read)


def test_one_position_out_of_sight_is_seen() -> None:
    torch.manual_seed(0)
    nearest = Sums(0)
    rows = nearest.head.weight.double()[pairs()["targets"].clamp(min=0)]  # d logit / d (every source word)
    expected = rows.norm(dim=-1)[pairs()["targets"] >= 0].min().item()
    assert source_reach(nearest, [pairs()])[0].value == pytest.approx(expected, rel=1e-12)
    assert source_reach(Sums(1), [pairs()])[0].value == 0.0


def test_a_task_without_a_source_is_refused() -> None:
    inputs = torch.ones(2, 3, dtype=torch.long)
    with pytest.raises(ValueError, match="source-reach: needs a translation"):
        source_reach(model(), [{"inputs": inputs, "targets": inputs}])
