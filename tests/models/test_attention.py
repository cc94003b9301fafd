import copy
import itertools
import math
from dataclasses import replace
from typing import Any, get_args, get_type_hints

import pytest
import torch
from torch import Tensor, nn

from models.attention import (
    ATTENTIONS,
    BLOCK,
    Cache,
    CrossAttention,
    Heads,
    SelfAttention,
    Softmax,
    attention_maps,
    scale_factor,
)
from models.config import ConfigError, ModelConfig
from models.masks import MASKS, Mask, real_keys
from models.positions import POSITIONS, Position, PositionShape
from models.transformer import position_shape

B, T, H, K = 3, 5, 3, 4
D = H * K
CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)


def choices(field: str) -> list[str]:
    return list(get_args(get_type_hints(ModelConfig)[field]))


def no_position() -> Position:
    return Position(PositionShape(d_model=D, n_heads=H, d_head=K, max_length=9, causal=True))


def rule_mask(
    name: str, n_queries: int, n_keys: int, real: Tensor | None = None, window: int | None = None, heads: int = H
) -> Mask:
    return MASKS[name](window)(n_queries, n_keys, real, no_position(), CPU)


def padding(*lengths: int, width: int = T) -> Tensor:
    return torch.arange(width) < torch.tensor(lengths)[:, None]


# Fused and plain


def settings() -> list[dict[str, Any]]:
    fields = ["decoder_mask", "scale", "query_key", "value_projection", "output_projection"]
    closed = [choices(field) for field in fields]
    return [
        {"attention": kind, "position": position, **dict(zip(fields, values, strict=True))}
        for kind, position, *values in itertools.product(ATTENTIONS, POSITIONS, *closed)
    ]


@pytest.mark.parametrize("kind", ATTENTIONS)
def test_forward_equals_its_plain_weights_over_all_choices(kind: str) -> None:
    x = torch.randn(B, T, D, dtype=torch.float64)
    paddings = (None, padding(5, 3, 1), padding(2, 0, 5))
    n_tried = 0
    for setting in settings():
        if setting["attention"] != kind:
            continue
        try:
            config = ModelConfig(d_model=D, n_heads=H, window=1, max_length=T, **setting)
        except ConfigError:
            continue
        attention = SelfAttention(config).double()
        position = POSITIONS[config.position](position_shape(config, config.decoder_mask)).double()
        for real in paddings:
            mask = MASKS[config.decoder_mask](config.window)(T, T, real, position, CPU)
            y = attention(x, mask, position, Cache())
            q, k = position.rotate(attention.query(x), 0), position.rotate(attention.key(x), 0)
            weights = attention.kind.weights(q, k, mask)
            heads = weights @ attention.value(x)
            torch.testing.assert_close(y, attention.output(heads.transpose(1, 2).flatten(2)), msg=str(setting))
            n_tried += 1
    assert n_tried >= 3 * 2 * 2 * 3 * 3  # paddings, projections, masks, and three position schemes at the least


def suited_pairs() -> list[tuple[str, str]]:
    """Attentions with the position schemes that they take."""
    pairs = []
    for kind, position in itertools.product(ATTENTIONS, POSITIONS):
        try:
            ModelConfig(attention=kind, position=position)
        except ConfigError:
            continue
        pairs.append((kind, position))
    return pairs


def by_hand(config: ModelConfig, q: Tensor, k: Tensor, real: Tensor, i: int, j: int) -> float:
    """The weight of key j for query i of one head of one sentence, from the definitions."""

    def similarity(key: int) -> float:
        match config.attention:
            case "uniform":
                return 1.0
            case "linear":
                features = [[z + 1 if z > 0 else math.exp(z) for z in row.tolist()] for row in (q[i], k[key])]
                return sum(a * b for a, b in zip(*features, strict=True))
        divisor = {"sqrt-head": math.sqrt(K), "sqrt-model": math.sqrt(D), "head": K, "none": 1}[config.scale]
        return math.exp(float(q[i] @ k[key]) / divisor)

    counted = [
        key
        for key in range(len(real))
        if (bool(real[key]) or config.decoder_mask == "causal")
        and (key <= i or config.decoder_mask != "causal")
        and (config.window is None or abs(i - key) <= config.window)
    ]
    if j not in counted or (config.decoder_mask == "after-softmax" and j > i):
        return 0.0
    return similarity(j) / sum(similarity(key) for key in counted)


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize(
    ("kind", "scale"),
    [("uniform", "sqrt-head"), ("linear", "sqrt-head")]
    + [(kind, scale) for kind in ("softmax", "window") for scale in choices("scale")],
)
def test_plain_weights_are_the_definition_word_by_word(kind: str, mask: Any, scale: Any) -> None:
    config = ModelConfig(d_model=D, n_heads=H, attention=kind, decoder_mask=mask, scale=scale, window=1)
    q, k = torch.randn(2, 2, H, T, K, dtype=torch.float64)
    real = padding(5, 2)
    weights = ATTENTIONS[kind](scale_factor(config)).weights(q, k, rule_mask(mask, T, T, real, config.window))
    weights = weights.expand(2, H, T, T)
    for b, h, i, j in itertools.product(range(2), range(H), range(T), range(T)):
        assert float(weights[b, h, i, j]) == pytest.approx(by_hand(config, q[b, h], k[b, h], real[b], i, j), abs=1e-12)


@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize(("kind", "position"), suited_pairs())
def test_a_row_without_keys_gives_zeros_and_finite_gradients(
    kind: str, name: Any, position: str, precision: torch.dtype
) -> None:
    config = ModelConfig(d_model=D, n_heads=H, attention=kind, decoder_mask=name, position=position)
    attention = SelfAttention(config)
    scheme = POSITIONS[position](position_shape(config, name))
    x = torch.randn(B, T, D, requires_grad=True)
    real = padding(5, 3, 0)
    with torch.autocast("cpu", precision, enabled=precision is not torch.float32):
        mask = MASKS[name](config.window)(T, T, real, scheme, CPU)
        if name == "causal":  # a causal stack leaves padding to its place at the end: hide it on top
            seen = real_keys(real)
            assert seen is not None
            assert mask.allowed is not None
            mask = Mask(mask.allowed & seen, mask.bias)
        y = attention(scheme.embed(x, 0), mask, scheme, Cache())
        others = attention(
            scheme.embed(x[:2], 0),
            replace(mask, allowed=None if mask.allowed is None else mask.allowed[:2]),
            scheme,
            Cache(),
        )
    y.float().square().sum().backward()
    assert y[2].eq(0).all()
    assert y[:2].ne(0).any(-1).all()
    torch.testing.assert_close(y[:2], others)
    gradients = [x.grad, *(parameter.grad for parameter in [*attention.parameters(), *scheme.parameters()])]
    assert all(gradient is not None and gradient.isfinite().all() for gradient in gradients)


def test_a_source_of_padding_alone_gives_zeros() -> None:
    config = ModelConfig(architecture="encoder-decoder", d_model=D, n_heads=H)
    attention = CrossAttention(config)
    keys, values = attention.read(torch.randn(2, 7, D))
    y = attention(torch.randn(2, T, D), Mask(real_keys(padding(7, 0, width=7))), keys, values)
    assert y[1].eq(0).all()
    assert y[0].ne(0).all()


# Kinds


@pytest.mark.parametrize("name", ATTENTIONS)
def test_a_kind_uses_the_settings_that_it_declares(name: str) -> None:
    kind = ATTENTIONS[name]
    q, k, v = torch.randn(3, B, H, T, K)
    y = kind(0.5)(q, k, v, Mask())
    assert torch.equal(y, kind(2.0)(q, k, v, Mask())) is not kind.takes_scale
    if kind.takes_query_key:
        biased = kind(0.5)(q, k, v, Mask(bias=torch.randn(H, T, T)))
        assert torch.equal(biased, y) is not kind.takes_bias
    config = ModelConfig(d_model=D, n_heads=H, attention=name)
    assert (config.window is not None) is kind.takes_window
    names = {parameter for parameter, _ in SelfAttention(config).named_parameters()}
    assert ("query.weight" in names) is ("key.weight" in names) is kind.takes_query_key


@pytest.mark.parametrize("name", ATTENTIONS)
def test_equal_keys_share_the_weight_so_that_the_output_is_the_mean_of_their_values(name: str) -> None:
    q, k, v = torch.randn(B, H, 1, K), torch.randn(B, H, 1, K).expand(-1, -1, T, -1), torch.randn(B, H, T, K)
    y = ATTENTIONS[name](1.0)(q, k, v, Mask())
    torch.testing.assert_close(y, v.mean(2, keepdim=True), atol=1e-6, rtol=1e-5)


def test_linear_attention_is_the_same_in_its_cheap_form() -> None:
    kind = ATTENTIONS["linear"](1.0)
    q, k, v = torch.randn(3, 2, H, T, K)
    for mask in (Mask(), rule_mask("none", T, T, padding(5, 2))):
        torch.testing.assert_close(kind(q, k, v, mask), kind.weights(q, k, mask) @ v)


def test_window_attention_is_plain_softmax_across() -> None:
    config = ModelConfig(architecture="encoder-decoder", d_model=D, n_heads=H, attention="window")
    assert type(CrossAttention(config).kind) is Softmax
    assert all(kind.across() is kind for name, kind in ATTENTIONS.items() if name != "window")


# Scales, heads and projections


def identity_config(**changes: Any) -> ModelConfig:
    names = {"query_key": "identity", "value_projection": "identity", "output_projection": "identity"}
    return ModelConfig(position="none", **{**names, **changes})


def self_attention(config: ModelConfig, x: Tensor, mask: Mask | None = None) -> Tensor:
    return SelfAttention(config)(x, mask or Mask(), no_position(), Cache())


@pytest.mark.parametrize(
    ("scale", "expected"),
    [
        ("sqrt-head", [0.892958, 0.107042]),
        ("sqrt-model", [0.817574, 0.182426]),
        ("head", [0.817574, 0.182426]),  # d_head 2 = sqrt(d_model)
        ("none", [0.952574, 0.047426]),
    ],
)
def test_each_scale_gives_its_known_weights(scale: Any, expected: list[float]) -> None:
    config = identity_config(d_model=4, n_heads=2, scale=scale)
    x = torch.tensor([[[1.0, 2.0, 3.0, 4.0], [0.0, 1.0, 0.0, 1.0]]])
    attention = SelfAttention(config)
    weights = attention.kind.weights(attention.query(x), attention.key(x), Mask())
    assert weights[0, 0, 0].tolist() == pytest.approx(expected, abs=1e-6)
    fused = self_attention(config, x)
    assert fused[0, 0, :2].tolist() == pytest.approx((weights[0, 0, 0] @ x[0, :, :2]).tolist(), abs=1e-6)


def test_scales_divide_by_the_width_they_name() -> None:
    factors = {scale: scale_factor(ModelConfig(d_model=36, n_heads=3, scale=scale)) for scale in choices("scale")}  # type: ignore[arg-type]
    assert factors == pytest.approx({"sqrt-head": 12**-0.5, "sqrt-model": 1 / 6, "head": 1 / 12, "none": 1.0})
    assert scale_factor(ModelConfig(d_model=36, n_heads=3, d_head=25)) == pytest.approx(1 / 5)


@pytest.mark.parametrize("n_heads", [1, 2, 4])
def test_heads_cut_features_and_never_time(n_heads: int) -> None:
    x, order = torch.randn(B, 6, 8), torch.randperm(6)
    config = identity_config(d_model=8, n_heads=n_heads)
    torch.testing.assert_close(self_attention(config, x[:, order]), self_attention(config, x)[:, order])
    width = 8 // n_heads
    for h in range(n_heads):  # head h is the textbook formula on its own features
        part = x[..., h * width : (h + 1) * width]
        expected = (part @ part.mT / math.sqrt(width)).softmax(-1) @ part
        torch.testing.assert_close(self_attention(config, x)[..., h * width : (h + 1) * width], expected)


def test_the_order_of_the_heads_is_of_no_account() -> None:
    attention = SelfAttention(ModelConfig(d_model=D, n_heads=H))
    x, mask, rotary = torch.randn(B, T, D), rule_mask("causal", T, T), POSITIONS["rotary"]
    position = rotary(PositionShape(d_model=D, n_heads=H, d_head=K, max_length=9, causal=True))
    expected = attention(x, mask, position, Cache())
    order = torch.arange(D).view(H, K)[[2, 0, 1]].flatten()
    with torch.no_grad():
        for projection in (attention.query, attention.key, attention.value):
            assert isinstance(projection, Heads)
            projection.weight.copy_(projection.weight[order].clone())
        assert isinstance(attention.output, nn.Linear)
        attention.output.weight.copy_(attention.output.weight[:, order].clone())
    torch.testing.assert_close(attention(x, mask, position, Cache()), expected)


@pytest.mark.parametrize("masked", [False, True])
def test_it_agrees_with_torch(masked: bool) -> None:
    attention = SelfAttention(ModelConfig(d_model=D, n_heads=H))
    reference = nn.MultiheadAttention(D, H, bias=False, batch_first=True)
    assert isinstance(attention.output, nn.Linear)
    maps = [attention.query.weight, attention.key.weight, attention.value.weight]
    with torch.no_grad():
        reference.in_proj_weight.copy_(torch.cat([torch.as_tensor(weight) for weight in maps]))
        reference.out_proj.weight.copy_(attention.output.weight)
    x = torch.randn(B, T, D)
    hidden = torch.ones(T, T, dtype=torch.bool).triu(1)  # there, True hides
    y, weights = reference(x, x, x, attn_mask=hidden if masked else None, average_attn_weights=False)
    mask = rule_mask("causal" if masked else "none", T, T)
    torch.testing.assert_close(attention(x, mask, no_position(), Cache()), y)
    torch.testing.assert_close(attention.kind.weights(attention.query(x), attention.key(x), mask), weights)


def test_a_head_scores_through_a_matrix_of_rank_d_head_at_most() -> None:
    attention = SelfAttention(ModelConfig(d_model=D, n_heads=H)).double()
    x = torch.randn(1, 3 * D, D, dtype=torch.float64)
    scores = attention.query(x) @ attention.key(x).mT
    assert torch.linalg.matrix_rank(scores[0]).tolist() == [K] * H


def test_tied_queries_and_keys_are_one_matrix_and_stay_so_in_a_copy() -> None:
    attention = SelfAttention(ModelConfig(d_model=D, n_heads=H, query_key="tied"))
    assert [name for name, _ in attention.named_parameters()] == ["query.weight", "value.weight", "output.weight"]
    assert set(attention.state_dict()) == {"query.weight", "value.weight", "output.weight"}
    twin = copy.deepcopy(attention)
    x = torch.randn(1, T, D)
    with torch.no_grad():
        next(twin.parameters()).mul_(2.0)
    torch.testing.assert_close(twin.key(x), 2 * attention.key(x))
    scores = twin.query(x) @ twin.key(x).mT
    torch.testing.assert_close(scores, scores.mT)


@pytest.mark.parametrize("field", ["query_key", "value_projection", "output_projection"])
def test_identity_is_the_raw_vector(field: str) -> None:
    change: dict[str, Any] = {field: "identity"}
    attention = SelfAttention(ModelConfig(d_model=D, n_heads=H, **change))
    x = torch.randn(B, T, D)
    raw = x.view(B, T, H, K).transpose(1, 2)
    match field:
        case "query_key":
            assert torch.equal(attention.query(x), raw)
            assert torch.equal(attention.key(x), raw)
        case "value_projection":
            assert torch.equal(attention.value(x), raw)
        case "output_projection":
            assert torch.equal(attention.output(x), x)


# Caches and maps


@pytest.mark.parametrize("kind", ATTENTIONS)
def test_a_cache_grows_by_what_is_read_and_its_rows_can_be_chosen(kind: str) -> None:
    attention = SelfAttention(ModelConfig(d_model=D, n_heads=H, attention=kind))
    x, cache = torch.randn(B, T, D), Cache()
    whole = attention(x, rule_mask("causal", T, T), no_position(), Cache())
    attention(x[:, :2], rule_mask("causal", 2, 2), no_position(), cache)
    assert cache.length == 2
    rows = torch.tensor([2, 0])
    chosen = cache.select(rows)
    mask = rule_mask("causal", T - 2, T).widen(T, chosen.room(T - 2), x.device)
    y = attention(x[rows, 2:], mask, no_position(), chosen)
    torch.testing.assert_close(y, whole[rows, 2:])
    assert (cache.length, chosen.length) == (2, T)
    assert Cache().select(rows).length == 0


def test_a_cache_has_room_in_whole_blocks_once_it_is_written_to_step_by_step() -> None:
    cache, made = Cache(), torch.randn(B, H, 2 * BLOCK + 3, K)
    rooms = []
    for t in range(2 * BLOCK + 3):
        rooms.append(cache.room(1))
        keys, values = cache.extend(made[:, :, t : t + 1], -made[:, :, t : t + 1])
        assert keys.shape[2] == values.shape[2] == rooms[-1]
        assert torch.equal(keys[:, :, : t + 1], made[:, :, : t + 1])
        assert torch.equal(values[:, :, : t + 1], -made[:, :, : t + 1])
    assert rooms == [1] + [BLOCK] * (BLOCK - 1) + [2 * BLOCK] * BLOCK + [3 * BLOCK] * 3


def test_a_copy_that_is_extended_leaves_the_cache_as_it_was() -> None:
    made, cache = torch.randn(B, H, 3, K), Cache()
    cache.extend(made[:, :, :1], made[:, :, :1])
    cache.extend(made[:, :, 1:2], made[:, :, 1:2])
    copy = replace(cache)
    copy.extend(made[:, :, 2:], made[:, :, 2:])
    assert (cache.length, copy.length) == (2, 3)
    assert cache.keys is not None
    assert torch.equal(cache.keys[:, :, :2], made[:, :, :2])


def test_attention_maps_are_recorded_inside_the_block_alone() -> None:
    attention = nn.ModuleDict({"uniform": SelfAttention(ModelConfig(d_model=D, n_heads=H, attention="uniform"))})
    attention["softmax"] = SelfAttention(ModelConfig(d_model=D, n_heads=H))
    x, mask = torch.randn(B, T, D), rule_mask("causal", T, T)
    before = attention["softmax"](x, mask, no_position(), Cache())
    with attention_maps(attention) as maps:
        inside = attention["softmax"](x, mask, no_position(), Cache())
        attention["uniform"](x, mask, no_position(), Cache())
    assert torch.equal(before, inside)
    assert {name: tuple(weights.shape) for name, weights in maps.items()} == {
        "softmax": (B, H, T, T),
        "uniform": (B, H, T, T),
    }
    torch.testing.assert_close(maps["softmax"].sum(-1), torch.ones(B, H, T))
    maps.clear()
    attention["softmax"](x, mask, no_position(), Cache())
    assert not maps
