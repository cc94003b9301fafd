"""Ranks against numpy, known matrices, and attention broken on purpose."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from models.probes import PROBES
from models.probes.rank import effective_rank
from tests.models.probes.examples import TRANSLATION, H, made, pairs, tags, values

probe = PROBES["attention-rank"]


@pytest.mark.parametrize("parts", [{}, {"query_key": "tied"}, {"query_key": "identity"}, {"d_head": 7}])
def test_the_rank_is_the_width_of_a_head(parts: dict[str, Any]) -> None:
    measured = values(probe(made("encoder", initialisation="xavier", gain=3.0, **parts), [tags()]))
    assert measured["score_rank", ""] == parts.get("d_head", 4)
    assert measured["score_rank_excess", ""] == 0
    assert measured["score_rank", ""] < measured["weight_rank", ""] <= 2 * parts.get("d_head", 4) + 1


def test_a_head_wider_than_the_model_has_the_rank_of_the_model() -> None:
    measured = values(probe(made("encoder", d_head=17), [tags()]))
    assert (measured["score_rank", ""], measured["score_rank_excess", ""]) == (12, -5)


def test_frozen_queries_lower_the_rank() -> None:
    """Queries of which a single feature of each head is not zero give scores of rank 1."""
    model = made("decoder", n_layers=1)
    query = model.get_parameter("stack.layers.0.attention.inner.query.weight")
    with torch.no_grad():
        query.view(H, 4, 12)[:, 1:] = 0
    measured = values(probe(model, [tags()]))
    assert (measured["score_rank", ""], measured["score_rank_excess", ""]) == (1, -3)


def test_scores_that_are_no_product_of_narrow_vectors_show() -> None:
    class Widened(nn.Module):
        """Heads of width 4 become 9 wide, and say that they are 4 wide for a single word."""

        def __init__(self, inner: nn.Module) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, x: Tensor) -> Tensor:
            heads: Tensor = self.inner(x)
            return heads if x.shape[1] == 1 else torch.cat((heads, heads**2, heads[..., :1] ** 3), -1)

    model: Any = made("encoder")
    attention = model.stack.layers[1].attention.inner
    attention.query, attention.key = Widened(attention.query), Widened(attention.key)
    measured = values(probe(model, [tags()]))
    assert (measured["score_rank", ""], measured["score_rank_excess", ""]) == (9, 5)


def test_the_effective_rank_of_known_matrices() -> None:
    """Equal singular values: their number; 3 and 1: the exponential of the entropy of 3/4 and 1/4."""
    matrices = torch.stack([torch.eye(4), torch.ones(4, 4), torch.diag(torch.tensor([3.0, 1.0, 0.0, 0.0]))]).double()
    two = np.exp(-(0.75 * np.log(0.75) + 0.25 * np.log(0.25)))
    assert effective_rank(matrices).tolist() == pytest.approx([4, 1, two])
    matrix = torch.randn(5, 7, generator=torch.Generator().manual_seed(0)).double()
    shares = np.linalg.svd(matrix.numpy(), compute_uv=False)
    shares /= shares.sum()
    assert effective_rank(matrix).item() == pytest.approx(np.exp(-(shares * np.log(shares)).sum()))


def test_uniform_weights_have_rank_1() -> None:
    model = made("encoder")
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "query" in name:
                weight.zero_()
    measured = values(probe(model, [tags()]))
    assert measured["score_rank", ""] == 0
    assert measured["weight_rank", ""] == pytest.approx(1, abs=1e-6)


def test_every_attention_of_a_translator_counts_and_models_without_scores_are_refused() -> None:
    assert values(probe(made("encoder-decoder", TRANSLATION), [pairs()]))["score_rank_excess", ""] == 0
    for model in (made("gru"), made("encoder", attention="uniform"), made("encoder", attention="linear")):
        with pytest.raises(ValueError, match="attention-rank: needs softmax attention"):
            probe(model, [tags()])
