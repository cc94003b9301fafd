"""What a model is made of: one frozen configuration that cannot exist in an invalid state."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_type_hints

from models.attention import ATTENTIONS
from models.feed_forwards import FEED_FORWARDS
from models.norms import NORMS
from models.positions import POSITIONS

Kind = Literal["next-token", "tagging", "translation"]


class ConfigError(ValueError):
    """A wrong setting: one line with the field, the value and what would be right."""


@dataclass(frozen=True, kw_only=True)
class TaskShape:
    """What a model must know of its task. Raises ConfigError for sizes that do not fit together."""

    kind: Kind
    input_sizes: tuple[int, ...]
    """Vocabulary size of each input factor; the embedding is the sum over factors (translation: the source)."""
    output_size: int
    """Number of classes (next-token, tagging), or size of the target vocabulary (translation)."""
    shared_vocabulary: bool = False
    """Input and output ids mean the same pieces: always so for next-token, never for tagging."""
    start: int | None = None
    """Translation: id of the token a target sentence begins with."""
    end: int | None = None
    """Translation: id of the token a target sentence ends with."""
    n_answers: int = 1
    """Tagging: how many answers each position gives at once."""

    @property
    def n_outputs(self) -> int:
        """Numbers that the output layer gives for a position."""
        return self.n_answers * self.output_size

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, get_args(Kind))
        if not isinstance(self.input_sizes, tuple) or not self.input_sizes:
            raise ConfigError(f"input_sizes={self.input_sizes!r}: must be a tuple with one size for each input factor")
        for size in self.input_sizes:
            check_count("input_sizes", size)
        check_count("output_size", self.output_size)
        check_count("n_answers", self.n_answers)
        if self.kind != "tagging" and self.n_answers != 1:
            raise ConfigError(f"n_answers={self.n_answers}: must be 1 for {self.kind}")
        if self.kind != "tagging" and len(self.input_sizes) != 1:
            raise ConfigError(f"input_sizes={self.input_sizes!r}: {self.kind} takes one input factor")
        match self.kind:
            case "next-token":
                object.__setattr__(self, "shared_vocabulary", True)
            case "tagging" if self.shared_vocabulary:
                raise ConfigError("shared_vocabulary=True: must be False for tagging, whose classes are not its inputs")
        if self.shared_vocabulary and self.input_sizes != (self.output_size,):
            raise ConfigError(
                f"output_size={self.output_size}: must equal {self.input_sizes[0]}, input and output share a vocabulary"
            )
        for name, token in (("start", self.start), ("end", self.end)):
            if self.kind != "translation" and token is not None:
                raise ConfigError(f"{name}={token!r}: must be None for {self.kind}")
            if self.kind == "translation" and (type(token) is not int or not 0 <= token < self.output_size):
                raise ConfigError(f"{name}={token!r}: must be a token id from 0 to {self.output_size - 1}")


Architecture = Literal["decoder", "encoder", "encoder-decoder", "rnn", "lstm", "gru"]
RECURRENT: tuple[str, ...] = ("rnn", "lstm", "gru")
TRANSFORMERS: tuple[str, ...] = ("decoder", "encoder", "encoder-decoder")


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """Every component of a model. Sizes left at None are filled in, so equal models have equal configurations.

    Raises ConfigError for a wrong value, for a field set although the architecture does not have it, and for a choice
    that can have no effect beside the others.
    """

    architecture: Architecture = "decoder"
    """Transformer stack(s), or the recurrent net in their place."""
    d_model: int = 64
    """Width of the embeddings and of the residual stream."""
    n_layers: int = 2
    """Layers of each stack (encoder and decoder alike)."""
    position: str = "sinusoidal"
    """Position scheme: a name in models.positions.POSITIONS."""
    max_length: int = 512
    """Rows of a learned position table, the longest input it takes; other schemes have no limit."""
    decoder_mask: Literal["causal", "none", "after-softmax"] = "causal"
    """How the decoder's self-attention hides the future (after-softmax: weights zeroed, not renormalised)."""
    encoder_mask: Literal["none", "causal", "after-softmax"] = "none"
    """The same for the encoder's self-attention."""
    n_heads: int = 4
    """Attention heads."""
    d_head: int | None = None
    """Width of a head; by default d_model / n_heads."""
    scale: Literal["sqrt-head", "sqrt-model", "head", "none"] = "sqrt-head"
    """Divisor of the attention scores: sqrt(d_head), sqrt(d_model), d_head or 1."""
    query_key: Literal["separate", "tied", "identity"] = "separate"
    """Query and key maps: two, one for both, or the raw vectors."""
    value_projection: Literal["linear", "identity"] = "linear"
    """Map from the stream to the values."""
    output_projection: Literal["linear", "identity"] = "linear"
    """Map from the concatenated heads back to the stream."""
    attention: str = "softmax"
    """Kind of attention: a name in models.attention.ATTENTIONS."""
    window: int | None = None
    """Window attention: keys at most this far from the query; by default 8."""
    residual: Literal["add", "none"] = "add"
    """Whether a sublayer's output is added to its input or replaces it."""
    norm: str = "layer"
    """Normalisation: a name in models.norms.NORMS."""
    norm_placement: Literal["pre", "post"] = "pre"
    """Norm before each sublayer and after the stack (pre), or after each residual sum (post)."""
    feed_forward: str = "relu"
    """Feed-forward sublayer: a name in models.feed_forwards.FEED_FORWARDS."""
    d_ff: int | None = None
    """Hidden width of the feed-forward sublayer; by default 4 d_model."""
    cross_attention: Literal["attend", "none", "dot", "additive"] | None = None
    """How a decoder reads the source (attend, none), or a recurrent net the encoder's or its own earlier states (dot,
    additive, none); by default attend for encoder-decoder, none for recurrent nets."""
    initialisation: Literal["default", "xavier", "gpt2"] = "default"
    """How weight matrices are drawn (default: as torch's own layers do)."""
    gain: float = 1.0
    """Factor on the initial weight matrices of the blocks."""
    d_hidden: int | None = None
    """Recurrent nets: width of the state; by default d_model."""
    forget_bias: float = 0.0
    """LSTM: initial bias of the forget gate."""
    bidirectional: bool = True
    """Recurrent translators: whether the encoder reads the source in both directions."""
    input_feeding: bool = False
    """Recurrent translators with attention: whether the last attention output is fed to the next step."""
    tie_embeddings: bool | None = None
    """One matrix for all embeddings and the output layer; by default where the task shares one vocabulary."""
    dropout: float = 0.0
    """Dropout on the embeddings and on each sublayer's output (Vaswani et al. 2017, 5.4); not on attention weights."""

    def __post_init__(self) -> None:
        self._check_values()
        self._check_applicable()
        if self.architecture in RECURRENT:
            self._resolve_recurrent()
        else:
            self._resolve_transformer()

    def _check_values(self) -> None:
        """Refuse a value that is wrong whatever the others are."""
        for name, hint in get_type_hints(ModelConfig).items():
            choices = [choice for part in (hint, *get_args(hint)) for choice in get_args(part) if type(choice) is str]
            value = getattr(self, name)
            if choices and not (value is None and type(None) in get_args(hint)):
                check_choice(name, value, choices)
        check_choice("position", self.position, POSITIONS)
        check_choice("attention", self.attention, ATTENTIONS)
        check_choice("norm", self.norm, NORMS)
        check_choice("feed_forward", self.feed_forward, FEED_FORWARDS)
        for name in ("d_model", "n_layers", "max_length", "n_heads"):
            check_count(name, getattr(self, name))
        for name in ("d_head", "window", "d_ff", "d_hidden"):
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name))
        for name in ("bidirectional", "input_feeding"):
            check_choice(name, getattr(self, name), (True, False))
        check_choice("tie_embeddings", self.tie_embeddings, (None, True, False))
        for name in ("gain", "forget_bias", "dropout"):
            self._set(name, checked_number(name, getattr(self, name)))
        if self.gain <= 0:
            raise ConfigError(f"gain={self.gain!r}: must be above 0")
        if not 0 <= self.dropout < 1:
            raise ConfigError(f"dropout={self.dropout!r}: must be at least 0 and below 1")

    def _check_applicable(self) -> None:
        """Refuse a field that the architecture does not have, unless it stands at its default."""
        absent: tuple[str, ...] = _TRANSFORMER_FIELDS if self.architecture in RECURRENT else _RECURRENT_FIELDS
        match self.architecture:
            case "decoder":
                absent += ("encoder_mask",)
            case "encoder":
                absent += ("decoder_mask",)
            case "rnn" | "gru":
                absent += ("forget_bias",)
        for name in absent:
            self._expect_default(name, f"does not apply to architecture={self.architecture}")
        readers = {"encoder-decoder": ("attend", "none"), "decoder": ("none",), "encoder": ("none",)}
        choices = readers.get(self.architecture, ("none", "dot", "additive"))
        if self.cross_attention is None:
            self._set("cross_attention", choices[0])
        if self.cross_attention not in choices:
            raise ConfigError(
                f"cross_attention={self.cross_attention!r}: architecture={self.architecture} takes {', '.join(choices)}"
            )

    def _resolve_recurrent(self) -> None:
        if self.d_hidden is None:
            self._set("d_hidden", self.d_model)
        if self.input_feeding and self.cross_attention == "none":
            raise ConfigError("input_feeding=True: needs cross_attention dot or additive, there is nothing to feed")

    def _resolve_transformer(self) -> None:
        """Fill in the sizes, then refuse what cannot work or can have no effect."""
        position, attention = POSITIONS[self.position], ATTENTIONS[self.attention]
        if self.d_head is None:
            if self.d_model % self.n_heads:
                raise ConfigError(f"d_model={self.d_model}: must be divisible by n_heads={self.n_heads}, or set d_head")
            self._set("d_head", self.d_model // self.n_heads)
        if not FEED_FORWARDS[self.feed_forward].has_hidden:
            self._set("d_ff", None)
        elif self.d_ff is None:
            self._set("d_ff", 4 * self.d_model)
        if not attention.takes_window:
            self._set("window", None)
        elif self.window is None:
            self._set("window", 8)
        if not position.takes_length:
            self._set("max_length", ModelConfig.max_length)
        self._check_attention()
        if position.needs_even_head and self.head_width % 2:
            raise ConfigError(f"d_head={self.d_head}: must be even for position={self.position}, which turns pairs")
        if not NORMS[self.norm].normalises:
            self._expect_default("norm_placement", f"has no effect with norm={self.norm}")
        if self.architecture == "encoder-decoder" and self.cross_attention == "none":
            self._expect_default("encoder_mask", "has no effect with cross_attention=none")

    def _check_attention(self) -> None:
        """Refuse score settings for an attention without scores, and identity maps between different widths."""
        position, attention = POSITIONS[self.position], ATTENTIONS[self.attention]
        if not attention.takes_scale:
            self._expect_default("scale", f"has no effect with attention={self.attention}")
        if not attention.takes_query_key:
            self._expect_default("query_key", f"has no effect with attention={self.attention}")
            if self.cross_attention == "attend":
                self._expect_default(
                    "residual", f"with attention={self.attention} the target would not reach the output"
                )
        if (position.rotates and not attention.takes_rotation) or (position.biases and not attention.takes_bias):
            raise ConfigError(
                f"position={self.position!r}: needs scores of queries and keys, which attention={self.attention} lacks"
            )
        width = self.n_heads * self.head_width
        for name in ("query_key", "value_projection", "output_projection"):
            if getattr(self, name) == "identity" and width != self.d_model:
                raise ConfigError(
                    f"{name}='identity': needs n_heads * d_head = {width} to equal d_model={self.d_model}"
                )

    def _expect_default(self, name: str, reason: str) -> None:
        value, default = getattr(self, name), getattr(ModelConfig, name)
        if value != default:
            raise ConfigError(f"{name}={value!r}: {reason}, leave it at {default!r}")

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    @property
    def head_width(self) -> int:
        """d_head, which every Transformer has once it is made."""
        assert self.d_head is not None
        return self.d_head


_RECURRENT_FIELDS = ("d_hidden", "forget_bias", "bidirectional", "input_feeding")
_TRANSFORMER_FIELDS = (
    "position",
    "max_length",
    "decoder_mask",
    "encoder_mask",
    "n_heads",
    "d_head",
    "scale",
    "query_key",
    "value_projection",
    "output_projection",
    "attention",
    "window",
    "residual",
    "norm",
    "norm_placement",
    "feed_forward",
    "d_ff",
)


def ties_embeddings(config: ModelConfig, shape: TaskShape) -> bool:
    """Whether this model on this task uses one matrix for all its embeddings and its output layer."""
    return shape.shared_vocabulary if config.tie_embeddings is None else config.tie_embeddings


def check_choice(name: str, value: object, choices: Iterable[object]) -> None:
    """Raise ConfigError unless `value` is one of `choices`, of the same type too (1 is not True)."""
    if not any(type(value) is type(choice) and value == choice for choice in choices):
        raise ConfigError(f"{name}={value!r}: choose from {', '.join(str(choice) for choice in choices)}")


def check_count(name: str, value: object) -> None:
    """Raise ConfigError unless `value` is a whole number above 0."""
    if type(value) is not int or value <= 0:
        raise ConfigError(f"{name}={value!r}: must be a whole number above 0")


def checked_number(name: str, value: Any) -> float:
    """`value` as a float. Raises ConfigError unless it is a finite number."""
    if type(value) not in (int, float) or not math.isfinite(value):
        raise ConfigError(f"{name}={value!r}: must be a finite number")
    return float(value)
