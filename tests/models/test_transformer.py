import copy
import itertools
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from models.attention import ATTENTIONS, CrossAttention, Heads, SelfAttention
from models.config import ConfigError, ModelConfig
from models.embeddings import Embedding, TiedHead
from models.feed_forwards import FEED_FORWARDS
from models.losses import token_loss
from models.masks import MASKS
from models.norms import NORMS
from models.positions import POSITIONS
from models.transformer import (
    Block,
    CachedState,
    PostNorm,
    PrefixState,
    PreNorm,
    Stack,
    TransformerSequenceModel,
    TransformerTranslator,
    position_shape,
)
from tests.models.variants import SHAPES, VARIANTS, B, S, T, V, batch, built, changed_fields, small


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)


def assert_close(actual: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(actual, expected, atol=1e-5, rtol=1e-5)


def outputs_and_gradients(model: nn.Module, arguments: tuple[Tensor | None, ...]) -> tuple[Tensor, dict[str, Tensor]]:
    """Logits, and the gradient of each parameter for a loss that weighs all of them differently."""
    logits = model(*arguments)
    (logits * torch.linspace(-1, 2, logits.numel()).view_as(logits)).square().mean().backward()
    return logits.detach(), {name: value.grad for name, value in model.named_parameters() if value.grad is not None}


def combinations(architecture: str, **fields: Any) -> list[ModelConfig]:
    """The product of the given choices, without the refused ones."""
    found = []
    for chosen in itertools.product(*fields.values()):
        try:
            found.append(small(architecture, **dict(zip(fields, chosen, strict=True))))
        except ConfigError:
            continue
    return found


def named(configs: list[ModelConfig]) -> list[Any]:
    """Test parameters with readable names."""
    label = ("attention", "position", "decoder_mask", "encoder_mask")
    return [pytest.param(config, id="-".join(getattr(config, field) for field in label)) for config in configs]


# Every value of every component


@pytest.mark.parametrize("name", VARIANTS)
def test_logits_have_one_row_of_classes_for_each_target_position(name: str) -> None:
    config = VARIANTS[name]
    logits = built(config)(*batch(config.architecture))
    assert logits.shape == (B, T, SHAPES[config.architecture].output_size)
    assert logits.isfinite().all()


@pytest.mark.parametrize("name", [name for name, config in VARIANTS.items() if changed_fields(config)])
def test_a_value_is_alive_in_the_output_and_in_the_gradients(name: str) -> None:
    config = VARIANTS[name]
    base_config, arguments = small(config.architecture), batch(config.architecture)
    base, base_gradients = outputs_and_gradients(built(base_config), arguments)
    variant, gradients = outputs_and_gradients(built(config), arguments)
    assert (variant - base).abs().max() > 1e-4
    common = [key for key in gradients if key in base_gradients and gradients[key].shape == base_gradients[key].shape]
    assert any((gradients[key] - base_gradients[key]).abs().max() > 1e-6 for key in common)


@pytest.mark.parametrize("name", VARIANTS)
def test_gradients_reach_every_trainable_parameter(name: str) -> None:
    model = built(VARIANTS[name])
    _, gradients = outputs_and_gradients(model, batch(VARIANTS[name].architecture))
    for key, parameter in model.named_parameters():
        assert parameter.requires_grad
        assert key in gradients, key
        assert gradients[key].isfinite().all(), key
        assert gradients[key].ne(0).any(), key


@pytest.mark.parametrize("name", VARIANTS)
def test_training_and_evaluation_are_one_function(name: str) -> None:
    """HB-13."""
    config = VARIANTS[name]
    model, arguments = built(config), batch(config.architecture)
    training = model.train()(*arguments)
    evaluation = model.eval()(*arguments)
    with torch.no_grad():
        assert_close(model(*arguments), evaluation)
    same = torch.allclose(training, evaluation, atol=1e-5)
    assert same is not NORMS[config.norm].batch_dependent


@pytest.mark.parametrize("mode", ["training", "evaluation", "no gradient"])
@pytest.mark.parametrize("name", VARIANTS)
def test_padding_changes_no_real_position_and_keeps_the_length(name: str, mode: str) -> None:
    """HB-13. Three tokens, alone and padded to 5 and to 50: a fast path of its own would show in one mode."""
    config = VARIANTS[name]
    model = built(config).train(mode == "training")
    tokens = [part[:, :3] for part in batch(config.architecture) if part is not None]
    with torch.set_grad_enabled(mode != "no gradient"):
        alone = model(*(argument for part in tokens for argument in (part, None)))
        for width in (5, 50):
            real = (torch.arange(width) < 3).expand(B, -1)
            padded = [torch.cat((part, torch.full((B, width - 3, *part.shape[2:]), 3)), dim=1) for part in tokens]
            logits = model(*(argument for part in padded for argument in (part, real)))
            assert logits.shape[1] == width
            assert_close(logits[:, :3], alone)


@pytest.mark.parametrize("architecture", SHAPES)
def test_embeddings_of_padding_are_of_no_account(architecture: str) -> None:
    """HB-13."""
    model = built(small(architecture)).eval()
    pad, arguments = V - 1, [part if part is None else part % (V - 1) for part in batch(architecture)]
    for i in range(0, len(arguments), 2):
        tokens = arguments[i]
        assert tokens is not None
        real = torch.ones(tokens.shape[:2], dtype=torch.bool)
        real[1, 3:] = False
        (tokens[..., 0] if tokens.dim() == 3 else tokens)[~real] = pad
        arguments[i + 1] = real
    before = model(*arguments)
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, Embedding):
                next(module.factors[0].parameters())[pad] = 1e4
    after = model(*arguments)
    classes = slice(None) if architecture == "encoder" else slice(pad)  # a tied table is the output layer too
    assert_close(after[0, :, classes], before[0, :, classes])
    assert_close(after[1, :3, classes], before[1, :3, classes])


@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("architecture", SHAPES)
@pytest.mark.parametrize("attention", ATTENTIONS)
def test_a_sample_of_padding_alone_harms_nobody(attention: str, architecture: str, precision: torch.dtype) -> None:
    model = built(small(architecture, attention=attention))
    arguments = list(batch(architecture, n_rows=3))
    for i in range(0, len(arguments), 2):
        tokens = arguments[i]
        assert tokens is not None
        arguments[i + 1] = torch.tensor([True, True, False])[:, None].expand(tokens.shape[:2])
    exact = precision is torch.float32
    with torch.autocast("cpu", precision, enabled=not exact):
        logits = model(*arguments)
        others = model(*(None if part is None else part[:2] for part in arguments))
    targets = torch.zeros(logits.shape[:2], dtype=torch.long)
    targets[2] = -100
    loss = token_loss(logits, targets, smoothing=0.1)
    (loss.objective / loss.tokens).backward()  # type: ignore[no-untyped-call]
    torch.testing.assert_close(logits[:2], others, atol=1e-5 if exact else 0.05, rtol=1e-5)
    assert logits.isfinite().all()
    assert loss.objective.isfinite()
    assert all(value.grad is not None and value.grad.isfinite().all() for value in model.parameters())


@pytest.mark.parametrize("architecture", SHAPES)
def test_dropout_is_on_in_training_and_off_in_evaluation(architecture: str) -> None:
    model, arguments = built(small(architecture, dropout=0.5)), batch(architecture)
    assert torch.equal(model.eval()(*arguments), model(*arguments))
    assert torch.equal(model(*arguments), built(small(architecture)).eval()(*arguments))
    assert not torch.equal(model.train()(*arguments), model(*arguments))


@pytest.mark.parametrize("n_layers", [1, 2])
def test_dropout_stands_on_the_embeddings_and_on_each_sublayer_and_not_on_the_weights(n_layers: int) -> None:
    model = built(small("encoder-decoder", dropout=0.5, n_layers=n_layers)).train()
    shapes = []
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.register_forward_hook(lambda _, inputs, output: shapes.append(tuple(output.shape)))
    model(*batch("encoder-decoder"))
    assert sorted(shapes) == sorted([(B, S, 12)] * (1 + 2 * n_layers) + [(B, T, 12)] * (1 + 3 * n_layers))


# What attention can see


@pytest.mark.parametrize(
    "config", named(combinations("encoder", attention=ATTENTIONS, position=POSITIONS, encoder_mask=["none"]))
)
def test_an_unmasked_stack_is_blind_to_order_exactly_without_positions(config: ModelConfig) -> None:
    model = built(config).eval().double()
    tokens, _ = batch("encoder")
    assert tokens is not None
    order = torch.tensor([3, 0, 6, 1, 5, 2, 4])
    error = float((model(tokens)[:, order] - model(tokens[:, order])).detach().abs().max())
    scheme = POSITIONS[config.position]
    blind = not (scheme.absolute or scheme.relative or ATTENTIONS[config.attention].takes_window)
    assert error < 1e-12 if blind else error > 1e-4


def test_a_causal_mask_gives_order_away() -> None:
    model = built(small("decoder", position="none")).eval()
    tokens, _ = batch("decoder")
    assert tokens is not None
    order = torch.tensor([3, 0, 6, 1, 5, 2, 4])
    assert (model(tokens)[:, order] - model(tokens[:, order])).abs().max() > 1e-3


def moves(config: ModelConfig, changed_from: int) -> float:
    """How far logits before `changed_from` move when the tokens from there on are replaced."""
    model, arguments = built(config).eval(), list(batch(config.architecture))
    before = model(*arguments)
    tokens = arguments[-2]
    assert tokens is not None
    arguments[-2] = torch.cat((tokens[:, :changed_from], (tokens[:, changed_from:] + 1) % 4), dim=1)
    return float((model(*arguments) - before)[:, :changed_from].detach().abs().max())


def mask_of(config: ModelConfig) -> str:
    """The rule of the stack that gives the logits."""
    return config.encoder_mask if config.architecture == "encoder" else config.decoder_mask


def leaks_future(config: ModelConfig) -> bool:
    return MASKS[mask_of(config)].leaks_future


EVERY_MASK = [
    *combinations("decoder", attention=ATTENTIONS, position=POSITIONS, decoder_mask=MASKS),
    *combinations("encoder", attention=ATTENTIONS, position=POSITIONS, encoder_mask=MASKS),
    *combinations("encoder-decoder", attention=ATTENTIONS, position=POSITIONS, decoder_mask=MASKS),
]


@pytest.mark.parametrize("config", named(EVERY_MASK))
def test_the_future_leaks_exactly_if_the_mask_lets_it(config: ModelConfig) -> None:
    mask, leaks = mask_of(config), leaks_future(config)
    if mask == "after-softmax" and not ATTENTIONS[config.attention].takes_query_key:
        leaks = False  # the plain average is normalised by the number of keys, whatever they are
    assert moves(config, 4) > 1e-4 if leaks else moves(config, 4) < 1e-5


@pytest.mark.parametrize("name", [name for name, config in VARIANTS.items() if not leaks_future(config)])
def test_no_variant_of_a_causal_stack_sees_the_future(name: str) -> None:
    for position in range(1, T):
        assert moves(VARIANTS[name], position) < 1e-5


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_tokens_read_at_once_into_a_cache_see_no_later_one(attention: str) -> None:
    model = built(small("encoder-decoder", attention=attention)).eval()
    source, _, target, _ = batch("encoder-decoder")
    assert isinstance(model, TransformerTranslator)
    assert source is not None
    assert target is not None
    memory, caches = model.encoder(source, None, model.decoder), model.decoder.new_caches()
    parts = [model.decoder(model.embedding(part), None, caches, memory) for part in (target[:, :4], target[:, 4:])]
    assert_close(model.head(torch.cat(parts, dim=1)), model(source, None, target, None))


@pytest.mark.parametrize("norm", NORMS)
def test_in_training_a_norm_shows_other_words_exactly_if_declared(norm: str) -> None:
    model = built(small("decoder", norm=norm)).train()
    tokens, _ = batch("decoder")
    assert tokens is not None
    later = torch.cat((tokens[:, :4], (tokens[:, 4:] + 1) % V), dim=1)
    moved = (model(later) - model(tokens))[:, :4].abs().max()
    assert moved > 1e-4 if NORMS[norm].batch_dependent else moved < 1e-5


@pytest.mark.parametrize(
    "name", [name for name, config in VARIANTS.items() if config.architecture == "encoder-decoder"]
)
def test_every_target_position_reads_every_source_position_exactly_with_cross_attention(name: str) -> None:
    config = VARIANTS[name]
    model, (source, _, target, _) = built(config).eval(), batch("encoder-decoder")
    assert isinstance(model, TransformerTranslator)
    if config.cross_attention == "none":
        assert source is not None
        assert torch.equal(model(source, None, target, None), model((source + 1) % V, None, target, None))
        assert not any(key.startswith("encoder.") for key in model.state_dict())
        return
    embedded = []
    model.encoder.embedding.register_forward_hook(lambda *parts: embedded.append(parts[-1].requires_grad_()))  # type: ignore[union-attr]
    logits = model(source, None, target, None)
    for t in range(T):
        (gradient,) = torch.autograd.grad(logits[:, t].square().sum(), embedded[0], retain_graph=True)
        assert gradient.abs().amax(-1).gt(0).all()


# Blocks


class Square(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.square()


@pytest.mark.parametrize(
    ("placement", "residual", "expected"),
    [
        (PostNorm, "add", [-0.128037, -0.640184, -0.896258, 1.664479]),
        (PreNorm, "add", [2.2, -0.200003, 0.2, 5.799996]),
        (PreNorm, "none", [0.2, 1.799997, 0.2, 1.799996]),
        (PostNorm, "none", [-0.333333, -0.333333, -1.0, 1.666667]),
    ],
)
def test_norms_stand_where_their_label_says(placement: type[PreNorm], residual: Any, expected: list[float]) -> None:
    sublayer = placement(Square(), ModelConfig(d_model=4, residual=residual))
    y = sublayer(torch.tensor([[[2.0, -2.0, 0.0, 4.0]]]), None)
    assert y.flatten().tolist() == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("norm", NORMS)
def test_a_pre_norm_stack_ends_with_a_norm_and_a_post_norm_stack_does_not_need_one(norm: str) -> None:
    stack = Stack(small("encoder", norm=norm), "none")
    assert type(stack.norm) is NORMS[norm]
    if NORMS[norm].normalises:
        assert not NORMS["none"].normalises
        assert type(Stack(small("encoder", norm=norm, norm_placement="post"), "none").norm) is NORMS["none"]


@pytest.mark.parametrize("residual", ["add", "none"])
@pytest.mark.parametrize("attention", ATTENTIONS)
def test_one_token_without_feed_forward_and_norm_goes_through_a_linear_map(attention: str, residual: str) -> None:
    changes = {"feed_forward": "none", "norm": "none", "position": "none"}
    config = small("encoder", attention=attention, residual=residual, **changes)
    stack = Stack(config, "none").double()
    x, y = torch.randn(2, B, 1, 12, dtype=torch.float64)
    parts = 2 * stack.encode(x, None) - 3 * stack.encode(y, None)
    torch.testing.assert_close(stack.encode(2 * x - 3 * y, None), parts, atol=1e-10, rtol=0)


@pytest.mark.parametrize(("changes", "length"), [({"feed_forward": "relu"}, 1), ({"norm": "layer"}, 1), ({}, 2)])
def test_any_nonlinearity_undoes_that(changes: dict[str, Any], length: int) -> None:
    config = small("encoder", **{"feed_forward": "none", "norm": "none", "position": "none", **changes})
    stack = Stack(config, "none").double()
    x, y = torch.randn(2, B, length, 12, dtype=torch.float64)
    parts = 2 * stack.encode(x, None) - 3 * stack.encode(y, None)
    assert (stack.encode(2 * x - 3 * y, None) - parts).abs().max() > 1e-2


def test_without_residuals_the_input_is_replaced() -> None:
    block = Block(small("encoder", residual="none", feed_forward="none"), reads_source=False)
    stack = Stack(small("encoder", residual="none", feed_forward="none"), "none")
    x = torch.randn(B, T, 12)
    inner = block.attention.inner
    assert isinstance(inner, SelfAttention)
    with torch.no_grad():
        next(inner.output.parameters()).zero_()
    caches = stack.new_caches()
    memory = stack.no_memory()
    y = block(x, None, memory.mask, stack.position, caches[0], memory.mask, ())
    assert y.eq(0).all()


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("placement", ["pre", "post"])
def test_encoder_and_decoder_agree_with_torch(placement: str, activation: str) -> None:
    config = small("encoder-decoder", norm_placement=placement, feed_forward=activation, position="none")
    options: dict[str, Any] = {
        "dim_feedforward": 11,
        "dropout": 0.0,
        "activation": activation,
        "batch_first": True,
        "norm_first": placement == "pre",
    }
    reference = nn.Transformer(12, 3, 2, 2, **options)
    if placement == "post":  # torch puts a final norm after post-norm stacks too
        reference.encoder.norm = reference.decoder.norm = None
    ours = built(config)
    assert isinstance(ours, TransformerTranslator)
    encoder, decoder = ours.encoder.stack, ours.decoder
    assert isinstance(encoder, Stack)
    for theirs, stack in ((reference.encoder, encoder), (reference.decoder, decoder)):
        assert isinstance(theirs, nn.TransformerEncoder | nn.TransformerDecoder)
        copy_stack(theirs, stack)
    source, target = torch.randn(B, S, 12), torch.randn(B, T, 12)
    real = torch.arange(S) < torch.tensor([5, 3])[:, None]
    hidden = torch.ones(T, T, dtype=torch.bool).triu(1)
    expected = reference(
        source, target, tgt_mask=hidden, src_key_padding_mask=~real, memory_key_padding_mask=~real, tgt_is_causal=True
    )
    memory = decoder.read(encoder.encode(source, real), real)
    y = decoder(target, None, decoder.new_caches(), memory)
    assert_close(y, expected)


@torch.no_grad()
def copy_stack(theirs: nn.TransformerEncoder | nn.TransformerDecoder, stack: Stack) -> None:
    """Give torch's layers our weights, random norms included; what only they have (biases) becomes 0."""
    for module in stack.modules():
        if isinstance(module, NORMS["layer"]):
            for parameter in module.parameters():
                parameter.copy_(torch.randn(12))
    for parameter in theirs.parameters():
        parameter.zero_()
    for layer, block in zip(theirs.layers, stack.layers, strict=True):
        assert isinstance(block, Block)
        sublayers = [block.attention, block.cross_attention, block.feed_forward]
        present = [sublayer for sublayer in sublayers if isinstance(sublayer, PreNorm)]
        for i, sublayer in enumerate(present, start=1):
            getattr(layer, f"norm{i}").load_state_dict(sublayer.norm.state_dict())
        copy_attention(layer.self_attn, block.attention.inner)
        if len(present) == 3:
            copy_attention(layer.multihead_attn, block.cross_attention.inner)
        layer.linear1.load_state_dict(block.feed_forward.inner.input.state_dict())  # type: ignore[union-attr]
        layer.linear2.load_state_dict(block.feed_forward.inner.output.state_dict())  # type: ignore[union-attr]
    if theirs.norm is not None:
        theirs.norm.load_state_dict(stack.norm.state_dict())


def copy_attention(theirs: Any, ours: Any) -> None:
    assert isinstance(ours, SelfAttention | CrossAttention)
    maps = [module.weight for module in (ours.query, ours.key, ours.value) if isinstance(module, Heads)]
    theirs.in_proj_weight.copy_(torch.cat(maps))
    theirs.out_proj.weight.copy_(ours.output.weight)


# Refusals


def test_a_learned_table_refuses_longer_inputs_before_any_work_on_them() -> None:
    with torch.device("meta"):
        model = TransformerSequenceModel(small("decoder", position="learned", max_length=8), SHAPES["decoder"])
        model(torch.zeros(B, 8, dtype=torch.long))
        with pytest.raises(ValueError, match=r"length 9 is longer .* max_length=8"):
            model(torch.zeros(B, 9, dtype=torch.long))


def test_step_by_step_a_learned_table_ends_at_the_same_place() -> None:
    model = built(small("encoder-decoder", position="learned", max_length=S)).eval()
    assert isinstance(model, TransformerTranslator)
    source, tokens = torch.zeros(B, S, dtype=torch.long), torch.zeros(B, dtype=torch.long)
    state = model.start(source, None)
    for _ in range(S):
        _, state = model.step(tokens, state)
    with pytest.raises(ValueError, match=f"length {S + 1} is longer .* max_length={S}"):
        model.step(tokens, state)


@pytest.mark.parametrize("wrong", [torch.ones(B, T), torch.ones(B, T - 1, dtype=torch.bool), torch.ones(B, 1, T) > 0])
def test_a_mask_that_is_not_boolean_or_of_another_shape_is_refused(wrong: Tensor) -> None:
    message = (
        r"a mask of real tokens must be boolean, True = real, of shape \(2, 7\): got torch\.(float32|bool) of shape"
    )
    tokens = torch.zeros(B, T, dtype=torch.long)
    with pytest.raises(ValueError, match=message):
        built(small("decoder"))(tokens, wrong)
    translator = built(small("encoder-decoder"))
    for arguments in ((tokens, wrong, tokens, None), (tokens, None, tokens, wrong)):
        with pytest.raises(ValueError, match=message):
            translator(*arguments)
    with pytest.raises(ValueError, match=message):
        translator.start(tokens, wrong)  # type: ignore[operator]


# Translation step by step


STEPWISE = combinations("encoder-decoder", attention=ATTENTIONS, position=POSITIONS, decoder_mask=MASKS)


@pytest.mark.parametrize("config", named(STEPWISE))
def test_step_by_step_equals_the_full_pass(config: ModelConfig) -> None:
    model, (source, _, target, _) = built(config).eval(), batch("encoder-decoder")
    assert isinstance(model, TransformerTranslator)
    assert source is not None
    assert target is not None
    real = torch.arange(S) < torch.tensor([3, 5])[:, None]
    state, rows, full = model.start(source, real), torch.tensor([1, 0]), model(source, real, target, None)
    assert isinstance(state, CachedState) is (config.decoder_mask == "causal")
    for t in range(T):
        before, (logits, state) = state, model.step(target[:, t], state)
        model.step((target[:, t] + 1) % V, before)
        again, state = model.step(target[:, t], before)
        assert torch.equal(again, logits), "a step leaves its state as it was"
        expected = (
            full[:, t] if config.decoder_mask == "causal" else model(source, real, target[:, : t + 1], None)[:, t]
        )
        assert_close(logits, expected)
        if t == 3:  # go on with the rows exchanged
            state = state.sentences(rows).hypotheses(rows)
            source, real, target, full = source[rows], real[rows], target[rows], full[rows]


@pytest.mark.parametrize("decoder_mask", MASKS)
@pytest.mark.parametrize("cross_attention", ["attend", "none"])
def test_rows_of_a_state_can_be_dropped_and_repeated_from_the_start(cross_attention: str, decoder_mask: str) -> None:
    config = small("encoder-decoder", cross_attention=cross_attention, decoder_mask=decoder_mask)
    model, (source, _, target, _) = built(config).eval(), batch("encoder-decoder")
    assert isinstance(model, TransformerTranslator)
    assert source is not None
    assert target is not None
    rows = torch.tensor([1, 1, 0])
    state = model.start(source, None).sentences(rows).hypotheses(rows)
    for t in range(3):
        logits, state = model.step(target[rows, t], state)
        assert_close(logits, model(source, None, target[:, : t + 1], None)[rows, t])
    logits, _ = model.step(target[:1, 3], state.sentences(torch.tensor([2])).hypotheses(torch.tensor([2])))
    assert_close(logits, model(source, None, target[:, :4], None)[:1, 3])


@pytest.mark.parametrize("decoder_mask", ["none", "after-softmax"])
def test_caches_would_be_wrong_for_decoders_that_leak(decoder_mask: str) -> None:
    """Why the prefix is read anew: with kept keys and values the third token's logits are others."""
    model, (source, _, target, _) = (
        built(small("encoder-decoder", decoder_mask=decoder_mask)).eval(),
        batch("encoder-decoder"),
    )
    assert isinstance(model, TransformerTranslator)
    assert source is not None
    assert target is not None
    logits = {}
    for kind in (CachedState, PrefixState):
        model.state = kind
        state = model.start(source, None)
        for t in range(3):
            logits[kind], state = model.step(target[:, t], state)
    assert_close(logits[PrefixState], model(source, None, target[:, :3], None)[:, 2])
    assert (logits[CachedState] - logits[PrefixState]).abs().max() > 1e-3


def test_only_decoders_without_leaks_keep_caches() -> None:
    for mask in MASKS:
        model = built(small("encoder-decoder", decoder_mask=mask))
        assert isinstance(model, TransformerTranslator)
        assert model.state is (PrefixState if MASKS[mask].leaks_future else CachedState)


# Tied embeddings


def test_tied_embeddings_are_one_matrix_and_stay_so_after_loading() -> None:
    model, other = built(small("encoder-decoder"), seed=0), built(small("encoder-decoder"), seed=1)
    names = [name for name, _ in model.named_parameters() if "embedding" in name or "head" in name]
    assert names == ["embedding.factors.0.weight", "head.bias"]
    for assign in (False, True):
        other.load_state_dict(copy.deepcopy(model.state_dict()), assign=assign)
        arguments = batch("encoder-decoder")
        torch.testing.assert_close(other(*arguments), model(*arguments))
        assert isinstance(other, TransformerTranslator)
        with torch.no_grad():
            next(other.embedding.parameters()).zero_()
        x = torch.randn(B, T, 12)
        assert isinstance(other.head, TiedHead)
        torch.testing.assert_close(other.head(x), other.head.bias.expand(B, T, V))
        assert other.encoder.embedding is other.embedding


def test_a_language_model_is_tied_and_a_tagger_is_not() -> None:
    assert {name for name, _ in built(small("decoder")).named_parameters() if "head" in name} == {"head.bias"}
    assert {name for name, _ in built(small("encoder")).named_parameters() if "head" in name} == {
        "head.bias",
        "head.weight",
    }


def test_a_model_without_feed_forward_has_no_trace_of_it() -> None:
    assert not any("feed_forward" in key for key in built(small("encoder", feed_forward="none")).state_dict())
    assert all(
        any("feed_forward" in key for key in built(small("encoder", feed_forward=name)).state_dict())
        for name, entry in FEED_FORWARDS.items()
        if entry.has_hidden
    )


def test_positions_of_each_stack_know_its_own_mask() -> None:
    model = built(small("encoder-decoder", position="relative"))
    assert isinstance(model, TransformerTranslator)
    assert position_shape(small("encoder-decoder"), "causal").causal
    assert not position_shape(small("encoder-decoder"), "after-softmax").causal
    assert [stack.position.causal for stack in (model.encoder.stack, model.decoder)] == [False, True]  # type: ignore[union-attr]
