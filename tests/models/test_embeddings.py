import copy

import pytest
import torch

from models.embeddings import Embedding, Head, Several, Table, TiedHead, output_layer

B, T, D, V = 2, 5, 6, 7


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)


def test_the_embedding_of_a_position_is_the_sum_over_its_factors() -> None:
    embedding = Embedding((V, 4, 3), D, tied=False)
    tokens = torch.stack([torch.randint(size, (B, T)) for size in (V, 4, 3)], dim=-1)
    tables = [factor.weight for factor in embedding.factors if isinstance(factor, Table)]
    expected = tables[0][tokens[..., 0]] + tables[1][tokens[..., 1]] + tables[2][tokens[..., 2]]
    torch.testing.assert_close(embedding(tokens), expected)


def test_one_factor_may_stand_without_an_axis_of_its_own() -> None:
    embedding = Embedding((V,), D, tied=False)
    tokens = torch.randint(V, (B, T))
    assert torch.equal(embedding(tokens), embedding(tokens[..., None]))


def test_a_wrong_number_of_factors_is_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        Embedding((V, 4), D, tied=False)(torch.zeros(B, T, dtype=torch.long))


@pytest.mark.parametrize("tied", [True, False])
def test_vectors_have_unit_scale_on_the_way_in_and_suit_the_output_if_tied(tied: bool) -> None:
    embedding = Embedding((400,), 64, tied=tied)
    (table,) = embedding.factors
    assert isinstance(table, Table)
    assert float(table.weight.detach().std()) == pytest.approx(1 / 8 if tied else 1, rel=0.02)
    assert float(embedding(torch.arange(400)[None]).detach().std()) == pytest.approx(1, rel=0.02)


@pytest.mark.parametrize("tied", [True, False])
def test_the_output_layer_is_linear_with_a_bias(tied: bool) -> None:
    embedding = Embedding((V,), D, tied=tied)
    head = output_layer(embedding, D, V, tied=tied)
    x = torch.randn(B, T, D)
    (table,) = embedding.factors
    assert isinstance(head, TiedHead if tied else Head)
    weight = table.weight if tied else head.weight
    assert isinstance(weight, torch.Tensor)
    torch.testing.assert_close(head(x), x @ weight.T + head.bias)
    assert [name for name, _ in head.named_parameters()] == (["bias"] if tied else ["bias", "weight"])
    assert all(parameter.abs().max() <= D**-0.5 for parameter in head.parameters())


def test_several_answers_are_shares_of_one_matrix() -> None:
    embedding = Embedding((V,), D, tied=False)
    head = output_layer(embedding, D, V, tied=False, n_answers=3)
    x = torch.randn(B, T, D)
    assert isinstance(head, Several)
    assert head(x).shape == (B, T, 3, V)
    torch.testing.assert_close(head(x)[:, :, 1], x @ head.weight[V : 2 * V].T + head.bias[V : 2 * V])


def test_a_copy_is_tied_to_its_own_table() -> None:
    model = torch.nn.ModuleDict({"embedding": Embedding((V,), D, tied=True)})
    model["head"] = output_layer(model["embedding"], D, V, tied=True)  # type: ignore[arg-type]
    twin = copy.deepcopy(model)
    x = torch.randn(B, T, D)
    before = model["head"](x)
    with torch.no_grad():
        next(twin["embedding"].parameters()).zero_()
    assert torch.equal(model["head"](x), before)
    head = twin["head"]
    assert isinstance(head, TiedHead)
    torch.testing.assert_close(head(x), head.bias.expand(B, T, V))
