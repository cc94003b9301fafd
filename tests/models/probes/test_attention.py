"""Where attention looks, against weights written by hand and against sums over a loop."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from models.attention import attention_maps
from models.config import TaskShape
from models.probes import PROBES
from models.probes.attention import _Tally
from tests.models.probes.examples import TRANSLATION, V, made, pairs, tags, values

mass, entropy = PROBES["attention-mass"], PROBES["attention-entropy"]


@pytest.mark.parametrize("length", [3, 9])
def test_a_plain_average_gives_each_token_the_same(length: int) -> None:
    model = made("encoder", attention="uniform", position="none")
    measured = values(mass(model, [tags(4, length)]))
    keys = [(metric, at) for metric in ("attention_mass", "attention_self_mass") for at in ("", "layer=1", "layer=2")]
    assert measured == {key: pytest.approx(1 / length, abs=1e-15) for key in keys}
    entropies = list(values(entropy(model, [tags(4, length)])).values())
    assert entropies == pytest.approx([math.log(length)] * 3, abs=1e-14)


def test_a_causal_average_has_the_mean_of_the_logarithms() -> None:
    model = made("decoder", attention="uniform")
    expected = sum(math.log(n) for n in range(1, 6)) / 5
    assert values(entropy(model, [tags()]))["attention_entropy", ""] == pytest.approx(expected, abs=1e-14)


def looked_up(model: torch.nn.Module, batch: dict[str, Tensor], layer: int, shift: int) -> float:
    """Mean weight on the token `shift` before the query, of all queries but the first, over sequences and heads."""
    with attention_maps(model.double()) as maps:
        model(batch["inputs"])
    weights = maps[f"stack.layers.{layer}.attention.inner"]
    found = [weights[:, :, query, query - shift].mean().item() for query in range(1, weights.shape[2])]
    return sum(found) / len(found)


def test_the_weight_on_the_answer_and_on_the_query_itself() -> None:
    batch = tags()
    measured = values(mass(made("encoder", initialisation="xavier", gain=2.0), [batch]))
    model = made("encoder", initialisation="xavier", gain=2.0)
    for metric, shift in (("attention_mass", 1), ("attention_self_mass", 0)):
        layers = [looked_up(model, batch, layer, shift) for layer in (0, 1)]
        assert [measured[metric, f"layer={n}"] for n in (1, 2)] == pytest.approx(layers, rel=1e-6)
        assert measured[metric, ""] == pytest.approx(max(layers), rel=1e-6)
        assert layers[0] != pytest.approx(layers[1], rel=0.01)


def test_several_batches_weigh_by_their_questions() -> None:
    """One sequence has four questions, the other a single one."""
    model, batch = made("decoder", initialisation="xavier"), tags(2)
    batch["answer_at"][1, 2:] = -1
    parts = [{name: part[row : row + 1] for name, part in batch.items()} for row in range(2)]
    whole, one_by_one = mass(model, [batch]), mass(model, parts)
    assert values(one_by_one) == {key: pytest.approx(value, rel=1e-9) for key, value in values(whole).items()}
    first, second = (values(mass(model, [part]))["attention_mass", "layer=1"] for part in parts)
    assert values(whole)["attention_mass", "layer=1"] == pytest.approx((4 * first + second) / 5, rel=1e-9)


def test_each_of_several_answers_is_left_to_its_best_head() -> None:
    """Two queries, two answers, two heads: head 0 finds the first answer (.9, .7), head 1 the second (.8, .6)."""
    weights = torch.tensor([[[[0.9, 0.1], [0.3, 0.7]], [[0.2, 0.8], [0.6, 0.4]]]])  # (B, H, Tq, Tk)
    places = torch.tensor([[[0, 1], [1, 0]]])  # (B, T, K)
    tally = _Tally()
    tally.add(("", 1), weights, places)
    assert tally.values() == {("", 1): pytest.approx((0.8 + 0.7) / 2)}
    one = _Tally()
    one.add(("", 1), weights, places[..., :1])
    assert one.values() == {("", 1): pytest.approx((0.9 + 0.7 + 0.2 + 0.4) / 4)}


def test_a_query_with_several_answers_is_itself_once() -> None:
    shape = TaskShape(kind="tagging", input_sizes=(V,), output_size=V, n_answers=2)
    batch = tags()
    several = {name: torch.stack((part, part), -1) if name != "inputs" else part for name, part in batch.items()}
    several["answer_at"][:, 3, 1] = -1
    one, two = made("encoder", position="none"), made("encoder", shape, position="none")
    expected = values(mass(one, [batch]))
    assert values(mass(two, [several]))["attention_self_mass", "layer=1"] == pytest.approx(
        expected["attention_self_mass", "layer=1"], rel=1e-9
    )


def test_raw_embeddings_attend_to_themselves() -> None:
    """Scores x x^T of N(0, 1) vectors of width 12: 12 on the diagonal, about 0 elsewhere."""
    parts: dict[str, Any] = {"query_key": "identity", "norm": "none", "position": "none", "scale": "none"}
    model = made("encoder", n_layers=1, n_heads=1, **parts)
    batch = tags()
    batch["inputs"] = torch.stack([torch.randperm(V)[:5] for _ in range(3)])
    measured = values(mass(model, [batch]))
    assert measured["attention_self_mass", ""] > 0.8
    assert measured["attention_mass", ""] < 0.1


def test_padding_asks_nothing_and_stacks_of_a_translator_are_told_apart() -> None:
    batch, model = pairs(), made("encoder-decoder", TRANSLATION, attention="uniform", n_layers=1)
    measured = values(entropy(model, [batch]))
    encoder = (4 * math.log(4) * 2 + 3 * math.log(3)) / 11
    decoder = (2 * sum(math.log(n) for n in range(1, 6)) + math.log(2)) / 12
    cross = (5 * math.log(4) * 2 + 2 * math.log(3)) / 12
    expected = {"encoder": encoder, "decoder": decoder, "cross": cross}
    assert measured == {
        (f"{stack}_attention_entropy", at): pytest.approx(value, abs=1e-12)
        for stack, value in expected.items()
        for at in ("", "layer=1")
    }


def test_models_without_heads_and_tasks_without_places_are_refused() -> None:
    for probe in (mass, entropy):
        with pytest.raises(ValueError, match="needs a Transformer"):
            probe(made("lstm", cross_attention="dot"), [tags()])
    with pytest.raises(ValueError, match="attention-mass: the task does not say"):
        mass(made("encoder"), [{name: tags()[name] for name in ("inputs", "targets")}])
    with pytest.raises(ValueError, match="attention-mass: needs a task of one sequence"):
        mass(made("encoder-decoder", TRANSLATION), [pairs()])
