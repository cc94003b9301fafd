"""Recurrent models against torch's layers with copied weights, against loops, and against their own promises.

B batch 3, S source 5, T target 4, V vocabulary 13, D embedding 7, H state 11.
"""

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from models.build import build_model
from models.config import ModelConfig, TaskShape
from models.recurrent import (
    RecurrentSequenceModel,
    RecurrentTranslator,
    forward_multiply_adds,
    parameter_count,
    run,
)

B, S, T, V, D, H = 3, 5, 4, 13, 7, 11
ARCHITECTURES: list[Any] = ["rnn", "lstm", "gru"]
ATTENTIONS: list[Any] = ["none", "dot", "additive"]
TRANSLATION = TaskShape(kind="translation", input_sizes=(V,), output_size=V, shared_vocabulary=True, start=1, end=2)
APART = TaskShape(kind="translation", input_sizes=(V + 4,), output_size=V, start=1, end=2)
TAGGING = TaskShape(kind="tagging", input_sizes=(V, 5, 3), output_size=V + 4)
NEXT_TOKEN = TaskShape(kind="next-token", input_sizes=(V,), output_size=V)
REAL = torch.arange(S) < torch.tensor([5, 3, 1])[:, None]


@pytest.fixture(autouse=True)
def same_random_inputs_in_any_order_of_tests() -> None:
    torch.manual_seed(0)


def configurations(architecture: Any, *, translation: bool) -> Iterator[ModelConfig]:
    """Every combination of the recurrent settings, at a width of its own and at the embeddings'."""
    for attention, d_hidden in product(ATTENTIONS, [D, H]):
        for both_ways, feeds in product([True, False], [True, False]) if translation else [(True, False)]:
            if not feeds or attention != "none":
                yield ModelConfig(
                    architecture=architecture,
                    d_model=D,
                    d_hidden=d_hidden,
                    cross_attention=attention,
                    bidirectional=both_ways,
                    input_feeding=feeds,
                )


def config(architecture: Any, **changes: Any) -> ModelConfig:
    return ModelConfig(architecture=architecture, **({"d_model": D, "d_hidden": H} | changes))


def inputs_of(shape: TaskShape) -> Tensor:
    return torch.stack([torch.randint(size, (B, T)) for size in shape.input_sizes], -1).squeeze(-1)


def translator(config: ModelConfig, shape: TaskShape = TRANSLATION) -> RecurrentTranslator:
    model = build_model(config, shape, seed=0)
    assert isinstance(model, RecurrentTranslator)
    return model


def sequence_model(config: ModelConfig, shape: TaskShape = TAGGING) -> RecurrentSequenceModel:
    model = build_model(config, shape, seed=0)
    assert isinstance(model, RecurrentSequenceModel)
    return model


def assert_all_learn(model: nn.Module, logits: Tensor) -> None:
    names, parameters = zip(*model.named_parameters(), strict=True)
    gradients = torch.autograd.grad(logits.square().sum(), parameters)
    dead = [name for name, gradient in zip(names, gradients, strict=True) if not gradient.any()]
    assert not dead


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("shape", [TRANSLATION, APART])
def test_every_translator_has_the_counted_parameters_and_all_learn(architecture: Any, shape: TaskShape) -> None:
    for config in configurations(architecture, translation=True):
        model = translator(config, shape)
        assert sum(parameter.numel() for parameter in model.parameters()) == parameter_count(config, shape)
        logits = model(torch.randint(V, (B, S)), REAL, torch.randint(V, (B, T)), None)
        assert logits.shape == (B, T, V)
        assert_all_learn(model, logits)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("shape", [TAGGING, NEXT_TOKEN])
def test_every_sequence_model_has_the_counted_parameters_and_all_learn(architecture: Any, shape: TaskShape) -> None:
    for config in configurations(architecture, translation=False):
        model = sequence_model(config, shape)
        assert sum(parameter.numel() for parameter in model.parameters()) == parameter_count(config, shape)
        logits = model(inputs_of(shape))
        assert logits.shape == (B, T, shape.output_size)
        assert_all_learn(model, logits)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@torch.no_grad()
def test_a_tagger_is_torchs_layers_between_summed_embeddings_and_a_linear_map(architecture: Any) -> None:
    model = sequence_model(config(architecture, n_layers=3))
    kind = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}[architecture]
    reference = kind(D, H, 3)  # time first, unlike ours
    reference.load_state_dict(model.layers.state_dict())
    inputs = inputs_of(TAGGING)
    tables: list[Tensor] = [table.weight for table in model.embedding.factors]  # type: ignore[misc]
    x = sum((table[inputs[..., factor]] for factor, table in enumerate(tables)), torch.zeros(B, T, D))
    states = reference(x.transpose(0, 1))[0].transpose(0, 1)
    weights = model.head.state_dict()
    torch.testing.assert_close(model(inputs), states @ weights["weight"].T + weights["bias"])


@torch.no_grad()
def test_an_lstm_follows_its_equations() -> None:
    """Hochreiter and Schmidhuber 1997 with a forget gate, one step at a time, from the parameters by name."""
    model = sequence_model(config("lstm", n_layers=1, d_hidden=2, forget_bias=1.5), NEXT_TOKEN)
    inputs = torch.randint(V, (1, T))
    weights = model.layers.state_dict()
    hidden, cell = torch.zeros(2), torch.zeros(2)
    states, _ = model.layers(model.embedding(inputs))
    for t, x in enumerate(model.embedding(inputs)[0]):
        gates = weights["weight_ih_l0"] @ x + weights["bias_ih_l0"]
        gates = gates + weights["weight_hh_l0"] @ hidden + weights["bias_hh_l0"]
        take, forget, new, show = gates.split(2)
        cell = forget.sigmoid() * cell + take.sigmoid() * new.tanh()
        hidden = show.sigmoid() * cell.tanh()
        torch.testing.assert_close(states[0, t], hidden)


def test_forget_bias_stands_in_the_input_bias_of_every_layer_and_direction() -> None:
    plain, biased = translator(config("lstm")), translator(config("lstm", forget_bias=3.0))
    forget, others = slice(H, 2 * H), [*range(H), *range(2 * H, 4 * H)]
    n_biases = 0
    for (name, was), (_, now) in zip(plain.named_parameters(), biased.named_parameters(), strict=True):
        if "layers.bias_" in name:
            n_biases += 1
            assert now[forget].tolist() == [3.0 if "bias_ih" in name else 0.0] * H
            torch.testing.assert_close(now[others], was[others], rtol=0, atol=0)
            assert was[forget].abs().min() > 0
            assert was[forget].abs().max() <= H**-0.5  # torch's own draw
        else:
            torch.testing.assert_close(now, was, rtol=0, atol=0)
    assert n_biases == 2 * (2 * 2 + 2)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("attention", ATTENTIONS)
@torch.no_grad()
def test_no_logit_depends_on_a_later_token(architecture: Any, attention: Any) -> None:
    model = sequence_model(config(architecture, cross_attention=attention))
    inputs = inputs_of(TAGGING)
    changed = inputs.clone()
    changed[:, 2:, 0] = (changed[:, 2:, 0] + 1) % V
    before, after = model(inputs), model(changed)
    torch.testing.assert_close(after[:, :2], before[:, :2], rtol=0, atol=1e-6)
    assert ((after - before)[:, 2:].abs().amax(-1) > 1e-4).all()


@pytest.mark.parametrize("attention", ["dot", "additive"])
@torch.no_grad()
def test_a_sequence_model_combines_its_states_with_what_they_read(attention: Any) -> None:
    model = sequence_model(config("gru", cross_attention=attention))
    inputs = inputs_of(TAGGING)
    states, _ = model.layers(model.embedding(inputs))
    torch.testing.assert_close(model(inputs), model.head(model.attention.look_back(states)))
    assert not torch.allclose(model.head(states), model(inputs), atol=1e-2)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@torch.no_grad()
def test_step_by_step_is_the_full_pass(architecture: Any) -> None:
    source, target = torch.randint(V, (B, S)), torch.randint(V, (B, T))
    for config in configurations(architecture, translation=True):
        model = translator(config)
        logits = model(source, REAL, target, None)
        state = model.start(source, REAL)
        for t in range(T):
            step, state = model.step(target[:, t], state)
            torch.testing.assert_close(step, logits[:, t], rtol=0, atol=1e-5)


@torch.no_grad()
def test_selected_rows_go_on_as_if_alone() -> None:
    source, target = torch.randint(V, (B, S)), torch.randint(V, (B, T))
    rows = torch.tensor([2, 0])
    for config in configurations("lstm", translation=True):
        model = translator(config)
        _, state = model.step(target[:, 0], model.start(source, REAL))
        logits, state = model.step(target[rows, 1], state.sentences(rows).hypotheses(rows))
        logits, _ = model.step(target[rows, 2], state)
        expected = model(source, REAL, target, None)[rows, 2]
        torch.testing.assert_close(logits, expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("both_ways", [True, False])
@torch.no_grad()
def test_a_sentence_is_encoded_alike_alone_and_in_a_batch(architecture: Any, both_ways: bool) -> None:
    """HB-22."""
    model = translator(config(architecture, bidirectional=both_ways))
    source = torch.randint(V, (B, S + 2))
    real = torch.arange(S + 2) < torch.tensor([3, 5, 1])[:, None]
    states, last = model.encoder(source, real)
    assert states.shape == (B, S + 2, H * (1 + both_ways))
    for row, length in enumerate([3, 5, 1]):
        alone, last_alone = model.encoder(source[row : row + 1, :length], None)
        torch.testing.assert_close(states[row, :length], alone[0], rtol=0, atol=1e-6)
        assert not states[row, length:].any()
        for part, part_alone in zip(last, last_alone, strict=True):
            torch.testing.assert_close(part[:, row], part_alone[:, 0], rtol=0, atol=1e-6)


@pytest.mark.parametrize("mode", ["training", "evaluation"])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@torch.no_grad()
def test_padding_changes_no_real_position(architecture: Any, mode: str) -> None:
    """HB-13."""
    source, target = torch.randint(V, (B, S)), torch.randint(V, (B, T))
    for config in configurations(architecture, translation=True):
        model = translator(config).train(mode == "training")
        expected = model(source, REAL, target, None)
        noise = torch.where(REAL, source, (source + 5) % V)
        torch.testing.assert_close(model(noise, REAL, target, None), expected, rtol=0, atol=0)
        padded = [
            torch.cat((source, torch.randint(V, (B, 50 - S))), 1),
            torch.cat((REAL, torch.zeros(B, 50 - S).bool()), 1),
        ]
        torch.testing.assert_close(model(*padded, target, None), expected, rtol=0, atol=1e-6)
        later = torch.cat((target, torch.randint(V, (B, 2))), 1)
        target_real = (torch.arange(T + 2) < T).expand(B, -1)
        torch.testing.assert_close(model(source, REAL, later, target_real)[:, :T], expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("mode", ["training", "evaluation"])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@torch.no_grad()
def test_padding_behind_a_sequence_changes_no_real_position_and_keeps_the_length(architecture: Any, mode: str) -> None:
    """HB-13: three tokens, alone and padded to 5 and to 50."""
    tokens = torch.randint(V, (B, 3))
    for config in configurations(architecture, translation=False):
        model = sequence_model(config, NEXT_TOKEN).train(mode == "training")
        expected = model(tokens)
        for width in (5, 50):
            padded = torch.cat((tokens, torch.randint(V, (B, width - 3))), 1)
            logits = model(padded, (torch.arange(width) < 3).expand(B, -1))
            assert logits.shape[1] == width
            torch.testing.assert_close(logits[:, :3], expected, rtol=0, atol=1e-5)


def test_a_sentence_without_tokens_is_refused() -> None:
    """HB-22."""
    model = translator(config("gru"))
    real = torch.arange(S) < torch.tensor([5, 0, 1])[:, None]
    with pytest.raises(ValueError, match="sentence 1 of the batch has no token"):
        model.start(torch.randint(V, (B, S)), real)


def test_masks_that_are_not_boolean_are_refused() -> None:
    source, target = torch.randint(V, (B, S)), torch.randint(V, (B, T))
    with pytest.raises(ValueError, match="boolean"):
        translator(config("gru"))(source, REAL.float(), target, None)
    with pytest.raises(ValueError, match="boolean"):
        translator(config("gru"))(source, REAL, target, torch.ones(B, T))
    with pytest.raises(ValueError, match="boolean"):
        sequence_model(config("gru"))(inputs_of(TAGGING), torch.ones(B, T))


@torch.no_grad()
def test_only_a_bidirectional_encoder_lets_early_states_know_the_end() -> None:
    source = torch.randint(V - 1, (B, S))
    changed = source.clone()
    changed[:, -1] += 1
    for both_ways in (True, False):
        model = translator(config("lstm", bidirectional=both_ways))
        before, after = model.encoder(source, None)[0], model.encoder(changed, None)[0]
        assert bool((before != after)[:, 0].any()) == both_ways


@torch.no_grad()
def test_the_decoder_starts_from_the_last_encoder_state_of_each_layer() -> None:
    source = torch.randint(V, (B, S))
    model = translator(config("lstm", bidirectional=False))
    reference = nn.LSTM(D, H, 2, batch_first=True)
    reference.load_state_dict(model.encoder.layers.state_dict())
    _, last = reference(model.encoder.embedding(source))
    for given, expected in zip(model.start(source, None).hidden, last, strict=True):
        torch.testing.assert_close(given, expected)


@torch.no_grad()
def test_a_bridge_joins_both_directions_of_each_layer() -> None:
    source = torch.randint(V, (B, S))
    model = translator(config("lstm"))
    reference = nn.LSTM(D, H, 2, batch_first=True, bidirectional=True)
    reference.load_state_dict(model.encoder.layers.state_dict())
    _, last = reference(model.encoder.embedding(source))
    weights = model.bridge.state_dict()
    given = model.start(source, None).hidden
    for layer in range(2):  # torch: forwards and backwards of layer 0, then of layer 1
        hidden, cell = (torch.cat((part[2 * layer], part[2 * layer + 1]), -1) for part in last)
        expected = (hidden @ weights["hidden.0.weight"].T + weights["hidden.0.bias"]).tanh()
        torch.testing.assert_close(given[0][layer], expected)
        torch.testing.assert_close(given[1][layer], cell @ weights["cell.weight"].T + weights["cell.bias"])


@pytest.mark.parametrize("attention", ["dot", "additive"])
@torch.no_grad()
def test_input_feeding_gives_each_step_the_output_of_the_one_before(attention: Any) -> None:
    model = translator(config("gru", cross_attention=attention, input_feeding=True, n_layers=1))
    source, target = torch.randint(V, (B, S)), torch.randint(V, (B, T))
    state = model.start(source, REAL)
    hidden, fed = state.hidden[0], torch.zeros(B, H)
    logits = model(source, REAL, target, None)
    for t in range(T):
        x = torch.cat((model.embedding(target[:, t : t + 1])[:, 0], fed), -1)
        states, hidden = model.decoder.layers(x.unsqueeze(1), hidden)
        fed = model.decoder.attention(states, state.memory)[:, 0]
        torch.testing.assert_close(model.head(model.readout(fed)), logits[:, t], rtol=0, atol=1e-6)


@pytest.mark.parametrize("attention", ["dot", "additive"])
@torch.no_grad()
def test_attention_reads_every_real_source_token(attention: Any) -> None:
    model = translator(config("gru", cross_attention=attention))
    source, target = torch.randint(V, (B, S)), torch.randint(V, (B, T))
    state = model.start(source, REAL)
    states, _ = model.decoder.layers(model.embedding(target), state.hidden[0])
    encoded, _ = model.encoder(source, REAL)
    memory = model.decoder.attention.remember(encoded, REAL.unsqueeze(1))
    expected = model.head(model.readout(model.decoder.attention(states, memory)))
    torch.testing.assert_close(model(source, REAL, target, None), expected)


def test_tied_embeddings_are_one_matrix_and_a_state_of_another_width_is_mapped_to_it() -> None:
    tied, apart = translator(config("gru")), translator(config("gru", tie_embeddings=False))
    tables = [name for name, weight in tied.named_parameters() if weight.shape == (V, D)]
    assert tables == ["embedding.factors.0.weight"]
    assert [tuple(weight.shape) for weight in tied.readout.parameters()] == [(D, H)]
    assert not list(apart.readout.parameters())
    assert {weight.shape for name, weight in apart.named_parameters() if name.startswith("head")} == {(V, H), (V,)}


def test_every_layer_starts_with_weights_of_its_own() -> None:
    for n_layers in (2, 3):
        matrices = [weight for weight in translator(config("gru", n_layers=n_layers)).parameters() if weight.dim() > 1]
        assert len({weight.detach().numpy().tobytes() for weight in matrices}) == len(matrices)


@pytest.mark.parametrize("n_layers", [1, 2])
@pytest.mark.parametrize("shape", [TRANSLATION, TAGGING])
@torch.no_grad()
def test_dropout_acts_in_training_alone(n_layers: int, shape: TaskShape) -> None:
    model = build_model(config("lstm", n_layers=n_layers, dropout=0.5), shape, seed=0)
    source = torch.randint(V, (B, S))
    inputs = (source, REAL, torch.randint(V, (B, T)), None) if shape is TRANSLATION else (inputs_of(shape),)
    model.eval()
    assert torch.equal(model(*inputs), model(*inputs))
    model.train()
    assert not torch.equal(model(*inputs), model(*inputs))


def widths_dropped(model: RecurrentSequenceModel | RecurrentTranslator, *inputs: Tensor | None) -> list[int]:
    """Widths of what passes through dropout, in order, a quarter of which must be zero afterwards."""
    widths: list[int] = []

    def watch(_: nn.Module, inputs: tuple[Tensor], output: Tensor) -> None:
        widths.append(output.size(-1))
        assert (output[inputs[0] != 0] == 0).float().mean() == pytest.approx(0.25, abs=0.02)

    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.register_forward_hook(watch)
    model(*inputs)
    return widths


def test_dropout_stands_on_the_embeddings_between_the_layers_and_before_the_output() -> None:
    tagger = sequence_model(config("lstm", dropout=0.25))
    assert widths_dropped(tagger, torch.randint(3, (50, 40, 3))) == [D, H]
    assert tagger.layers.dropout == 0.25
    model = translator(config("lstm", dropout=0.25, cross_attention="dot"))
    source, target = torch.randint(V, (50, 40)), torch.randint(V, (50, 30))
    assert widths_dropped(model, source, None, target, None) == [D, D, H]
    assert model.encoder.layers.dropout == model.decoder.layers.dropout == 0.25


def test_training_and_evaluation_are_one_function() -> None:
    """HB-13."""
    model = translator(config("lstm", cross_attention="dot"))
    batch = torch.randint(V, (B, S)), REAL, torch.randint(V, (B, T)), None
    training = model.train()(*batch)
    torch.testing.assert_close(model.eval()(*batch), training, rtol=0, atol=1e-5)
    with torch.no_grad():
        torch.testing.assert_close(model(*batch), training, rtol=0, atol=1e-5)


def test_half_precision_gives_nearly_the_same_and_finite_gradients() -> None:
    for architecture in ARCHITECTURES:
        for config in configurations(architecture, translation=True):
            model = translator(config)
            batch = torch.randint(V, (B, S)), REAL, torch.randint(V, (B, T)), None
            with torch.autocast("cpu", torch.bfloat16):
                logits = model(*batch)
            torch.testing.assert_close(logits.float(), model(*batch), rtol=0, atol=0.05)
            gradients = torch.autograd.grad(logits.float().square().sum(), list(model.parameters()))
            assert all(gradient.isfinite().all() for gradient in gradients)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("shape", [TRANSLATION, APART, TAGGING, NEXT_TOKEN])
@torch.no_grad()
def test_multiply_adds_are_those_that_torch_counts(architecture: Any, shape: TaskShape) -> None:
    translation = shape.kind == "translation"
    for config in configurations(architecture, translation=translation):
        # in double precision the layers are not one fused call, so that their products can be counted
        model = build_model(config, shape, seed=0).double()
        counter = FlopCounterMode(display=False)
        with counter:
            if translation:
                model(torch.randint(V, (1, S)), None, torch.randint(V, (1, T)), None)
            else:
                model(inputs_of(shape)[:1])
        n_source = S if translation else 0
        assert counter.get_total_flops() == 2 * forward_multiply_adds(config, shape, n_source, T, n_source)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@torch.no_grad()
def test_the_padding_that_a_packed_encoder_skips_is_not_counted(architecture: Any) -> None:
    lengths = REAL.sum(1)
    assert lengths.min() < lengths.max()
    for config in configurations(architecture, translation=True):
        model = build_model(config, TRANSLATION, seed=0).double()
        with FlopCounterMode(display=False) as counter:
            model(torch.randint(V, (B, S)), REAL, torch.randint(V, (B, T)), None)
        of_a_sentence = forward_multiply_adds(config, TRANSLATION, S, T, float(lengths.double().mean()))
        assert counter.get_total_flops() == pytest.approx(2 * B * of_a_sentence, rel=1e-12)


def test_under_autocast_a_stack_computes_in_float32() -> None:
    """cuDNN would compute in float16, which overflows without scaled losses."""
    x = torch.ones(2, 4, 3)
    layers = torch.nn.LSTM(3, 5, batch_first=True)
    plain = run(layers, x, None)
    with torch.autocast("cpu", torch.bfloat16):
        states, hidden = run(layers, x.bfloat16(), None)
        again, _ = run(layers, x, tuple(part.bfloat16() for part in hidden))
    assert states.dtype == again.dtype == torch.float32
    assert torch.equal(states, plain[0])
