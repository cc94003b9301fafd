import ast
import dataclasses
import inspect
from typing import Any, get_args, get_type_hints

import pytest

from models.attention import ATTENTIONS
from models.config import (
    RECURRENT,
    TRANSFORMERS,
    Architecture,
    ConfigError,
    ModelConfig,
    TaskShape,
    ties_embeddings,
)
from models.feed_forwards import FEED_FORWARDS
from models.norms import NORMS
from models.positions import POSITIONS

REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"architecture": "transformer"}, "architecture='transformer': choose from decoder, encoder, encoder-decoder, rnn"),
    ({"architecture": None}, "architecture=None: choose from decoder"),
    ({"position": "alibbi"}, "position='alibbi': choose from sinusoidal, learned, rotary, alibi, relative, none"),
    ({"attention": "flash"}, "attention='flash': choose from softmax, uniform, window, linear"),
    ({"norm": False}, "norm=False: choose from layer, rms, batch, none"),
    ({"feed_forward": "mlp"}, "feed_forward='mlp': choose from relu, gelu, swiglu, linear, none"),
    ({"decoder_mask": "off"}, "decoder_mask='off': choose from causal, none, after-softmax"),
    ({"encoder_mask": "off"}, "encoder_mask='off': choose from none, causal, after-softmax"),
    ({"scale": 1.0}, "scale=1.0: choose from sqrt-head, sqrt-model, head, none"),
    ({"query_key": "none"}, "query_key='none': choose from separate, tied, identity"),
    ({"value_projection": None}, "value_projection=None: choose from linear, identity"),
    ({"output_projection": "none"}, "output_projection='none': choose from linear, identity"),
    ({"residual": True}, "residual=True: choose from add, none"),
    ({"norm_placement": "middle"}, "norm_placement='middle': choose from pre, post"),
    ({"initialisation": "he"}, "initialisation='he': choose from default, xavier, gpt2"),
    ({"cross_attention": "full"}, "cross_attention='full': choose from attend, none, dot, additive"),
    ({"bidirectional": 1}, "bidirectional=1: choose from True, False"),
    ({"input_feeding": "no"}, "input_feeding='no': choose from True, False"),
    ({"tie_embeddings": 0}, "tie_embeddings=0: choose from None, True, False"),
    ({"d_model": 0}, "d_model=0: must be a whole number above 0"),
    ({"d_model": True}, "d_model=True: must be a whole number above 0"),
    ({"n_layers": 2.0}, "n_layers=2.0: must be a whole number above 0"),
    ({"n_heads": "4"}, "n_heads='4': must be a whole number above 0"),
    ({"max_length": -1}, "max_length=-1: must be a whole number above 0"),
    ({"d_head": 0}, "d_head=0: must be a whole number above 0"),
    ({"window": 0}, "window=0: must be a whole number above 0"),
    ({"d_ff": 1.5}, "d_ff=1.5: must be a whole number above 0"),
    ({"architecture": "rnn", "d_hidden": False}, "d_hidden=False: must be a whole number above 0"),
    ({"gain": 0}, "gain=0.0: must be above 0"),
    ({"gain": True}, "gain=True: must be a finite number"),
    ({"gain": float("nan")}, "gain=nan: must be a finite number"),
    ({"architecture": "lstm", "forget_bias": float("inf")}, "forget_bias=inf: must be a finite number"),
    ({"dropout": 1}, "dropout=1.0: must be at least 0 and below 1"),
    ({"dropout": -0.1}, "dropout=-0.1: must be at least 0 and below 1"),
    ({"dropout": "0.1"}, "dropout='0.1': must be a finite number"),
    ({"encoder_mask": "causal"}, "encoder_mask='causal': does not apply to architecture=decoder, leave it at 'none'"),
    (
        {"architecture": "encoder", "decoder_mask": "none"},
        "decoder_mask='none': does not apply to architecture=encoder, leave it at 'causal'",
    ),
    ({"d_hidden": 32}, "d_hidden=32: does not apply to architecture=decoder, leave it at None"),
    ({"forget_bias": 1}, "forget_bias=1.0: does not apply to architecture=decoder"),
    ({"bidirectional": False}, "bidirectional=False: does not apply to architecture=decoder"),
    ({"input_feeding": True}, "input_feeding=True: does not apply to architecture=decoder"),
    ({"architecture": "rnn", "forget_bias": 1}, "forget_bias=1.0: does not apply to architecture=rnn"),
    ({"architecture": "gru", "forget_bias": 1}, "forget_bias=1.0: does not apply to architecture=gru"),
    ({"architecture": "lstm", "position": "none"}, "position='none': does not apply to architecture=lstm"),
    ({"architecture": "lstm", "n_heads": 2}, "n_heads=2: does not apply to architecture=lstm, leave it at 4"),
    ({"architecture": "lstm", "d_ff": 256}, "d_ff=256: does not apply to architecture=lstm, leave it at None"),
    ({"cross_attention": "attend"}, "cross_attention='attend': architecture=decoder takes none"),
    (
        {"architecture": "encoder-decoder", "cross_attention": "dot"},
        "cross_attention='dot': architecture=encoder-decoder takes attend, none",
    ),
    (
        {"architecture": "gru", "cross_attention": "attend"},
        "cross_attention='attend': architecture=gru takes none, dot, additive",
    ),
    ({"architecture": "lstm", "input_feeding": True}, "input_feeding=True: needs cross_attention dot or additive"),
    ({"d_model": 62}, "d_model=62: must be divisible by n_heads=4, or set d_head"),
    ({"d_head": 5, "position": "rotary"}, "d_head=5: must be even for position=rotary"),
    ({"norm": "none", "norm_placement": "post"}, "norm_placement='post': has no effect with norm=none"),
    (
        {"architecture": "encoder-decoder", "cross_attention": "none", "encoder_mask": "causal"},
        "encoder_mask='causal': has no effect with cross_attention=none",
    ),
    (
        {"architecture": "encoder-decoder", "attention": "uniform", "residual": "none"},
        "residual='none': with attention=uniform the target would not reach the output, leave it at 'add'",
    ),
    ({"d_head": 5, "query_key": "identity"}, "query_key='identity': needs n_heads * d_head = 20 to equal d_model=64"),
    ({"d_head": 5, "value_projection": "identity"}, "value_projection='identity': needs n_heads * d_head = 20"),
    ({"d_head": 5, "output_projection": "identity"}, "output_projection='identity': needs n_heads * d_head = 20"),
]


@pytest.mark.parametrize(("changes", "message"), REFUSED, ids=lambda part: str(part)[:60])
def test_a_wrong_setting_is_refused_with_field_value_and_what_is_right(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        ModelConfig(**changes)
    assert str(refusal.value).startswith(message)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("name", ATTENTIONS)
def test_settings_that_an_attention_cannot_use_are_refused(name: str) -> None:
    kind = ATTENTIONS[name]
    refused = {
        "scale": not kind.takes_scale,
        "query_key": not kind.takes_query_key,
        **{f"position={key}": not kind.takes_rotation for key, entry in POSITIONS.items() if entry.rotates},
        **{f"position={key}": not kind.takes_bias for key, entry in POSITIONS.items() if entry.biases},
    }
    changes: dict[str, dict[str, Any]] = {"scale": {"scale": "none"}, "query_key": {"query_key": "tied"}}
    for setting, is_refused in refused.items():
        change = changes.get(setting, {"position": setting.removeprefix("position=")})
        if not is_refused:
            ModelConfig(attention=name, **change)
            continue
        field = next(iter(change))
        with pytest.raises(ConfigError, match=rf"^{field}=.*attention={name}"):
            ModelConfig(attention=name, **change)


def literal_values() -> list[tuple[str, Any]]:
    values: list[tuple[str, Any]] = []
    for name, hint in get_type_hints(ModelConfig).items():
        values += [(name, choice) for part in (hint, *get_args(hint)) for choice in get_args(part)]
    tables: dict[str, dict[str, Any]] = {
        "position": POSITIONS,
        "attention": ATTENTIONS,
        "norm": NORMS,
        "feed_forward": FEED_FORWARDS,
    }
    return values + [(name, key) for name, table in tables.items() for key in table]


@pytest.mark.parametrize(("name", "value"), [pair for pair in literal_values() if isinstance(pair[1], str)])
def test_every_value_is_accepted_somewhere_and_survives_a_dict(name: str, value: str) -> None:
    accepted = []
    for architecture in get_args(Architecture):
        settings = {"architecture": architecture} | {name: value}
        try:
            accepted.append(ModelConfig(**settings))
        except ConfigError:
            continue
    assert accepted
    for config in accepted:
        assert ModelConfig(**dataclasses.asdict(config)) == config


def test_sizes_left_open_are_filled_in_so_that_equal_models_are_equal() -> None:
    assert ModelConfig() == ModelConfig(d_head=16, d_ff=256, cross_attention="none", gain=1, dropout=0)
    assert ModelConfig(architecture="encoder-decoder").cross_attention == "attend"
    assert ModelConfig(architecture="lstm", d_model=24).d_hidden == 24
    assert ModelConfig(architecture="lstm").cross_attention == "none"
    assert ModelConfig(attention="window").window == 8
    assert type(ModelConfig(gain=2).gain) is float


def test_sizes_of_an_absent_part_are_dropped() -> None:
    assert ModelConfig(feed_forward="none", d_ff=99) == ModelConfig(feed_forward="none")
    assert ModelConfig(window=3) == ModelConfig()
    assert ModelConfig(max_length=99) == ModelConfig()
    assert ModelConfig(position="learned", max_length=99) != ModelConfig(position="learned")


def test_a_configuration_is_frozen_and_keyword_only() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        ModelConfig().d_model = 3  # type: ignore[misc]
    with pytest.raises(TypeError):
        ModelConfig("decoder")  # type: ignore[call-arg]


def test_every_field_has_a_docstring_for_the_help_text() -> None:
    (body,) = ast.parse(inspect.getsource(ModelConfig)).body
    assert isinstance(body, ast.ClassDef)
    documented = [
        first.target.id
        for first, second in zip(body.body, body.body[1:], strict=False)
        if isinstance(first, ast.AnnAssign)
        and isinstance(first.target, ast.Name)
        and isinstance(second, ast.Expr)
        and isinstance(second.value, ast.Constant)
    ]
    assert documented == [field.name for field in dataclasses.fields(ModelConfig)]


def test_the_architectures_are_transformers_or_recurrent() -> None:
    assert set(TRANSFORMERS) | set(RECURRENT) == set(get_args(Architecture))


TRANSLATION: dict[str, Any] = {"kind": "translation", "input_sizes": (7,), "output_size": 7, "start": 1, "end": 2}

REFUSED_SHAPES: list[tuple[dict[str, Any], str]] = [
    ({"kind": "text", "input_sizes": (5,), "output_size": 5}, "kind='text': choose from next-token, tagging"),
    ({"kind": "tagging", "input_sizes": (), "output_size": 5}, r"input_sizes=\(\): must be a tuple with one size"),
    ({"kind": "tagging", "input_sizes": [5], "output_size": 5}, r"input_sizes=\[5\]: must be a tuple"),
    ({"kind": "tagging", "input_sizes": (5, 0), "output_size": 5}, "input_sizes=0: must be a whole number above 0"),
    ({"kind": "tagging", "input_sizes": (5,), "output_size": True}, "output_size=True: must be a whole number"),
    ({"kind": "next-token", "input_sizes": (5, 3), "output_size": 5}, r"input_sizes=\(5, 3\): next-token takes one"),
    ({**TRANSLATION, "input_sizes": (7, 7)}, r"input_sizes=\(7, 7\): translation takes one input factor"),
    ({"kind": "next-token", "input_sizes": (5,), "output_size": 6}, "output_size=6: must equal 5"),
    (
        {"kind": "tagging", "input_sizes": (5,), "output_size": 5, "shared_vocabulary": True},
        "shared_vocabulary=True: must be False for tagging",
    ),
    ({**TRANSLATION, "input_sizes": (8,), "shared_vocabulary": True}, "output_size=7: must equal 8"),
    ({**TRANSLATION, "start": None}, "start=None: must be a token id from 0 to 6"),
    ({**TRANSLATION, "end": 7}, "end=7: must be a token id from 0 to 6"),
    ({**TRANSLATION, "end": True}, "end=True: must be a token id from 0 to 6"),
    ({"kind": "tagging", "input_sizes": (5,), "output_size": 5, "start": 1}, "start=1: must be None for tagging"),
]


@pytest.mark.parametrize(("settings", "message"), REFUSED_SHAPES)
def test_a_wrong_task_shape_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=f"^{message}"):
        TaskShape(**settings)


def test_embeddings_are_tied_where_one_vocabulary_is_shared_unless_said_otherwise() -> None:
    language = TaskShape(kind="next-token", input_sizes=(5,), output_size=5)
    tagging = TaskShape(kind="tagging", input_sizes=(5,), output_size=5)
    shared = TaskShape(**TRANSLATION, shared_vocabulary=True)
    assert language.shared_vocabulary
    assert [ties_embeddings(ModelConfig(), shape) for shape in (language, tagging, shared)] == [True, False, True]
    assert not ties_embeddings(ModelConfig(tie_embeddings=False), language)
