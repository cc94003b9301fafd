"""Similarity of tokens against cosines taken one by one, and rank collapse."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from models.probes import PROBES
from tests.models.probes.examples import TRANSLATION, made, pairs, tags, values

probe = PROBES["token-similarity"]


def mean_cosine(vectors: Tensor, real: Tensor) -> float:
    """Over all pairs of different real positions of vectors (B, T, D), one by one."""
    found = [
        F.cosine_similarity(a, b, dim=0).item()
        for sentence, here in zip(vectors, real, strict=True)
        for i, a in enumerate(sentence[here])
        for j, b in enumerate(sentence[here])
        if i != j
    ]
    return sum(found) / len(found)


@pytest.mark.parametrize("norm_placement", ["pre", "post"])
def test_each_layer_against_cosines_of_its_outputs(norm_placement: Any) -> None:
    model, batch = made("decoder", norm_placement=norm_placement, n_layers=3), tags()
    outputs: list[Tensor] = []
    layers: Any = model.double().get_submodule("stack.layers")
    handles = [layer.register_forward_hook(lambda *call: outputs.append(call[2])) for layer in layers]
    model(batch["inputs"])
    for handle in handles:
        handle.remove()
    expected = [mean_cosine(output, torch.ones(3, 5).bool()) for output in outputs]
    measured = values(probe(model, [batch]))
    assert measured.pop(("token_similarity", "")) == pytest.approx(expected[2], rel=1e-9)
    assert measured == {
        ("token_similarity", f"layer={n}"): pytest.approx(value, rel=1e-9) for n, value in enumerate(expected, start=1)
    }


@pytest.mark.parametrize("architecture", ["rnn", "lstm", "gru"])
def test_the_last_states_of_a_recurrent_net(architecture: str) -> None:
    model, batch = made(architecture, n_layers=3), tags()
    net: Any = model.double()
    states, _ = net.layers(net.embedding(batch["inputs"]))
    expected = mean_cosine(states, torch.ones(3, 5).bool())
    measured = values(probe(model, [batch]))
    assert measured == {("token_similarity", at): pytest.approx(expected, rel=1e-9) for at in ("", "layer=3")}


def test_padding_has_no_part_and_stacks_are_told_apart() -> None:
    feeding = made("lstm", TRANSLATION, cross_attention="dot", input_feeding=True)
    for model in (made("encoder-decoder", TRANSLATION), made("lstm", TRANSLATION), feeding):
        batch = pairs()
        other = {name: part.clone() for name, part in batch.items()}
        other["source"][1, 3:], other["target"][1, 2:] = 5, 6
        measured = values(probe(model, [batch]))
        assert {metric for metric, _ in measured} == {"encoder_token_similarity", "decoder_token_similarity"}
        assert values(probe(model, [other])) == {key: pytest.approx(value, rel=1e-9) for key, value in measured.items()}


def test_equal_tokens_are_alike_and_opposite_ones_are_not() -> None:
    model = made("encoder", position="none")
    batch = {**tags(), "inputs": torch.full((3, 5), 4)}
    assert list(values(probe(model, [batch])).values()) == pytest.approx([1, 1, 1], abs=1e-12)
    identity = made("encoder", position="none", n_layers=1)
    table = identity.get_parameter("embedding.factors.0.weight")
    with torch.no_grad():
        for name, weight in identity.named_parameters():
            if "layers" in name:
                weight.zero_()
        table[1] = -2 * table[0]
    batch["inputs"] = torch.tensor([[0, 1, 1]])
    assert values(probe(identity, [batch]))["token_similarity", ""] == pytest.approx((-1 - 1 + 1) / 3)


def test_without_residuals_all_tokens_become_alike_even_where_their_vectors_nearly_vanish() -> None:
    """Measured with other code at initialisation: 1.000 without, .37 to .48 with residuals at 6 layers."""
    batch = tags(8, 16)
    for norm in ("layer", "none"):
        assert probe(made("encoder", n_layers=6, residual="none", norm=norm), [batch])[0].value > 0.99
        assert probe(made("encoder", n_layers=6, norm=norm), [batch])[0].value < 0.6
    faint = made("encoder", n_layers=24, residual="none", norm="none", feed_forward="none", gain=0.01)
    assert probe(faint, [batch])[0].value > 0.99


def test_pairs_weigh_alike_in_all_batches() -> None:
    model, batches = made("encoder"), [tags(2, 3), tags(2, 8)]
    short, long = (values(probe(model, [batch]))["token_similarity", ""] for batch in batches)
    whole = values(probe(model, batches))["token_similarity", ""]
    assert whole == pytest.approx((short * 2 * 6 + long * 2 * 56) / (2 * 6 + 2 * 56), rel=1e-9)


def test_sequences_of_one_token_are_refused() -> None:
    with pytest.raises(ValueError, match="two tokens or more"):
        probe(made("encoder"), [tags(3, 1)])
