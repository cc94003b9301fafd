"""What is read of the future, and the loss without it."""

from math import isnan
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from models.config import TaskShape
from models.probes import PROBES
from models.probes.leak import _others
from tests.models.probes.examples import NEXT_TOKEN, TAGGING, TRANSLATION, V, drawn, made, pairs, tags, text, values

leak, honest_loss = PROBES["leak"], PROBES["honest-loss"]
LEFT_TO_RIGHT = ["decoder", "rnn", "lstm", "gru"]


def leaked(model: nn.Module, batch: dict[str, Any]) -> float:
    """The one number."""
    measured = values(leak(model, [batch]))
    assert list(measured) == [("leak", "")]
    return measured["leak", ""]


@pytest.mark.parametrize("position", ["sinusoidal", "learned", "rotary", "alibi", "none"])
def test_a_causal_mask_leaks_nothing_and_the_others_do(position: str) -> None:
    assert leaked(made("decoder", NEXT_TOKEN, position=position), text()) == 0
    for mask in ("none", "after-softmax"):
        assert leaked(made("decoder", NEXT_TOKEN, position=position, decoder_mask=mask), text()) > 1e-3


def test_recurrent_nets_read_no_future_and_encoders_do() -> None:
    for architecture in ("rnn", "lstm", "gru"):
        assert leaked(made(architecture, cross_attention="dot"), tags()) < 1e-12
    assert leaked(made("encoder"), tags()) > 1e-3
    assert leaked(made("encoder", encoder_mask="causal"), tags()) == 0


def test_the_target_of_a_translator_is_tested_and_its_source_is_not() -> None:
    assert leaked(made("encoder-decoder", TRANSLATION), pairs()) == 0
    assert leaked(made("encoder-decoder", TRANSLATION, decoder_mask="none"), pairs()) > 1e-3
    assert leaked(made("encoder-decoder", TRANSLATION, encoder_mask="causal"), pairs()) == 0
    assert leaked(made("lstm", TRANSLATION, cross_attention="additive"), pairs()) < 1e-12


@pytest.mark.parametrize("length", [2, 5, 40])
def test_a_leak_at_one_place_of_a_single_row_of_inputs_is_found(length: int) -> None:
    class Peeks(nn.Module):
        """The last position but one knows a tenth of the last token."""

        def __init__(self) -> None:
            super().__init__()
            self.embedding = made("rnn").get_submodule("embedding")

        def forward(self, inputs: torch.Tensor, real: None) -> torch.Tensor:
            logits: torch.Tensor = self.embedding(inputs)
            logits = logits.clone()
            logits[:, -2] += logits[:, -1] / 10
            return logits

    assert leaked(Peeks(), tags(1, length)) > 0.01


class FirstIsNone(nn.Module):
    """No number at the first place, whatever stands there."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = made("rnn").get_submodule("embedding")

    def forward(self, inputs: torch.Tensor, real: None) -> torch.Tensor:
        logits = F.one_hot(inputs, V).double()
        logits[:, 0] = float("nan")
        return logits


def test_no_number_is_no_proof_that_nothing_leaks() -> None:
    assert isnan(leaked(FirstIsNone(), tags()))


def test_every_factor_of_every_token_changes_and_stays_in_its_vocabulary() -> None:
    model = made("encoder", TaskShape(kind="tagging", input_sizes=(7, 3), output_size=5))
    tokens = torch.stack((drawn(6, 9) % 7, drawn(6, 9) % 3), -1)
    others = _others(model, tokens, torch.Generator().manual_seed(0))
    assert (others != tokens).all()
    assert others.amin((0, 1)).tolist() == [0, 0]
    assert others.amax((0, 1)).tolist() == [6, 2]
    one = _others(made("encoder"), drawn(40, 9), torch.Generator().manual_seed(0))
    assert (one != drawn(40, 9)).all()
    assert set(one.flatten().tolist()) == set(range(V))
    batch = {"inputs": tokens, "targets": torch.zeros(6, 9).long()}
    assert leaked(model, batch) > 1e-3


def test_padding_counts_as_tokens() -> None:
    """With padding hidden a sentence of one word would have no future to read."""
    batch = text(1) | {"real": torch.tensor([[True, False, False, False, False]])}
    assert leaked(made("decoder", NEXT_TOKEN, decoder_mask="none"), batch) > 1e-3


def test_one_token_has_no_future() -> None:
    with pytest.raises(ValueError, match="leak: needs sequences of two tokens"):
        leak(made("decoder"), [tags(3, 1)])


def honest(model: nn.Module, batch: dict[str, Any]) -> float:
    """The one number."""
    measured = values(honest_loss(model, [batch]))
    assert list(measured) == [("honest_loss", "")]
    return measured["honest_loss", ""]


@pytest.mark.parametrize("architecture", LEFT_TO_RIGHT)
def test_without_a_look_ahead_it_is_the_loss(architecture: str) -> None:
    for shape, batch in ((NEXT_TOKEN, text()), (TAGGING, tags())):
        model = made(architecture, shape)
        logits = model(batch["inputs"])
        expected = F.cross_entropy(logits.flatten(0, 1), batch["targets"].flatten()).item()
        assert honest(model, batch) == pytest.approx(expected, rel=1e-6)


def test_it_is_read_from_prefixes_where_the_future_is_in_sight() -> None:
    model, batch = made("decoder", NEXT_TOKEN, decoder_mask="none", dropout=0.5).train(), text()
    still = made("decoder", NEXT_TOKEN, decoder_mask="none")
    nats = [
        -still(tokens[None, :t])[0, -1].log_softmax(-1)[targets[t - 1]].item()
        for tokens, targets in zip(batch["inputs"], batch["targets"], strict=True)
        for t in range(1, 6)
    ]
    assert honest(model, batch) == pytest.approx(sum(nats) / 15, rel=1e-6)
    whole = F.cross_entropy(still(batch["inputs"]).flatten(0, 1), batch["targets"].flatten()).item()
    assert honest(model, batch) != pytest.approx(whole, rel=1e-3)


def test_copying_the_next_token_is_no_knowledge() -> None:
    class Copies(nn.Module):
        """Sure of the next token where it is in sight, and knows nothing of the one after the last."""

        def forward(self, inputs: torch.Tensor, real: None) -> torch.Tensor:
            known = F.one_hot(inputs[:, 1:], V).float() * 50
            return torch.cat((known, torch.zeros(len(inputs), 1, V)), dim=1)

    assert honest(Copies(), text()) == pytest.approx(torch.tensor(V).log().item())


def test_targets_that_do_not_count_and_padding_change_nothing() -> None:
    model, batch = made("decoder", NEXT_TOKEN, decoder_mask="none"), text(2)
    short = {"inputs": batch["inputs"][:, :3], "targets": batch["targets"][:, :3]}
    padded = {**batch, "targets": batch["targets"].clone(), "real": torch.ones(2, 5).bool()}
    padded["targets"][:, 3:], padded["real"][:, 3:], padded["inputs"][:, 3:] = -100, False, 0
    assert honest(model, padded) == pytest.approx(honest(model, short), rel=1e-6)


def test_128_sequences_at_most() -> None:
    model, batch = made("decoder", NEXT_TOKEN), text(130)
    first = {name: part[:128] for name, part in batch.items()}
    assert honest(model, batch) == honest(model, first)


def test_answers_in_the_future_and_translations_are_refused() -> None:
    with pytest.raises(ValueError, match="honest-loss: needs a model that reads from left to right"):
        honest_loss(made("encoder"), [tags()])
    assert honest(made("encoder", encoder_mask="causal"), tags()) > 0
    with pytest.raises(ValueError, match="honest-loss: needs a task of one sequence"):
        honest_loss(made("encoder-decoder", TRANSLATION), [pairs()])
