"""Transformer encoders, decoders and translators (Vaswani et al. 2017, arXiv:1706.03762), with any part taken out.

Parts that are absent are modules that do nothing, chosen when the model is made: forward has no switches.

B batch, T length, S source length, F factors, D width, H heads, K head width, V vocabulary, N selected rows.
"""

from dataclasses import dataclass, replace
from typing import Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.attention import ATTENTIONS, Cache, CrossAttention, SelfAttention, whole_blocks
from models.config import ModelConfig, TaskShape, ties_embeddings
from models.embeddings import Embedding, output_layer
from models.feed_forwards import FEED_FORWARDS
from models.masks import MASKS, Mask, real_keys
from models.norms import NORMS, Norm
from models.positions import POSITIONS, Position, PositionShape


class Sum(nn.Module):
    """Residual connection: a sublayer's output is added to its input."""

    def forward(self, x: Tensor, branch: Tensor) -> Tensor:
        return x + branch


class Replacement(nn.Module):
    """No residual connection: a sublayer's output takes the place of its input."""

    def forward(self, x: Tensor, branch: Tensor) -> Tensor:
        return branch


class PreNorm(nn.Module):
    """x + dropout(inner(norm(x))): the stream itself is never normalised (Xiong et al. 2020, arXiv:2002.04745)."""

    def __init__(self, inner: nn.Module, config: ModelConfig) -> None:
        super().__init__()
        self.norm = NORMS[config.norm](config.d_model)
        self.inner = inner
        self.dropout = nn.Dropout(config.dropout)
        self.residual: nn.Module
        match config.residual:
            case "add":
                self.residual = Sum()
            case "none":
                self.residual = Replacement()

    def forward(self, x: Tensor, real: Tensor | None, *inputs: object) -> Tensor:
        """x (B, T, D) -> (B, T, D); `inputs` go to the inner module."""
        return self.residual(x, self.dropout(self.inner(self.norm(x, real), *inputs)))


class PostNorm(PreNorm):
    """norm(x + dropout(inner(x))), as in Vaswani et al. 2017, 3.1."""

    def forward(self, x: Tensor, real: Tensor | None, *inputs: object) -> Tensor:
        return self.norm(self.residual(x, self.dropout(self.inner(x, *inputs))), real)


class Absent(nn.Module):
    """In place of a sublayer that a block does not have, norm and residual sum included."""

    def forward(self, x: Tensor, real: Tensor | None, *inputs: object) -> Tensor:
        return x


def sublayer(inner: nn.Module, config: ModelConfig) -> PreNorm:
    """`inner` with its norm, dropout and residual connection."""
    match config.norm_placement:
        case "pre":
            return PreNorm(inner, config)
        case "post":
            return PostNorm(inner, config)


def cross_sublayer(config: ModelConfig) -> PreNorm:
    """Cross-attention as a sublayer; without queries nothing of its input is read, nor normalised for reading."""
    cross_attention = sublayer(CrossAttention(config), config)
    if not normalises_queries(config):
        cross_attention.norm = Norm(config.d_model)
    return cross_attention


def normalises_queries(config: ModelConfig) -> bool:
    """Whether a cross-attention sublayer has a norm, which pre-norm gives to its queries alone."""
    return config.norm_placement == "post" or ATTENTIONS[config.attention].across().takes_query_key


@dataclass(frozen=True)
class Memory:
    """The source, as the layers of a decoder read it; empty where they do not."""

    mask: Mask
    layers: list[tuple[Tensor, ...]]
    """Keys and values (B, H, S, K) of each layer."""

    def in_whole_blocks(self) -> Self:
        """With hidden keys behind the others, to be read many times."""
        if not any(self.layers):
            return self
        n_keys = self.layers[0][0].shape[2]
        room = whole_blocks(n_keys)
        layers = [tuple(F.pad(part, (0, 0, 0, room - n_keys)) for part in layer) for layer in self.layers]
        return type(self)(self.mask.widen(n_keys, room, self.layers[0][0].device), layers)

    def select(self, rows: Tensor) -> Self:
        """The sentences `rows` (N,)."""
        allowed = self.mask.allowed
        if allowed is not None and allowed.dim() == 4:  # one for each sentence
            allowed = allowed[rows]
        return type(self)(Mask(allowed), [tuple(part.index_select(0, rows) for part in layer) for layer in self.layers])


class Block(nn.Module):
    """Self-attention, cross-attention in a decoder that reads a source, feed-forward."""

    def __init__(self, config: ModelConfig, *, reads_source: bool) -> None:
        super().__init__()
        self.attention = sublayer(SelfAttention(config), config)
        self.cross_attention = cross_sublayer(config) if reads_source else Absent()
        self.feed_forward: nn.Module = Absent()
        if config.d_ff is not None:
            feed_forward = FEED_FORWARDS[config.feed_forward](config.d_model, config.d_ff)
            self.feed_forward = sublayer(feed_forward, config)

    def forward(
        self,
        x: Tensor,
        real: Tensor | None,
        mask: Mask,
        position: Position,
        cache: Cache,
        source_mask: Mask,
        source: tuple[Tensor, ...],
    ) -> Tensor:
        """x (B, T, D), which continues the positions in `cache`, -> (B, T, D)."""
        x = self.attention(x, real, mask, position, cache)
        x = self.cross_attention(x, real, source_mask, *source)
        return self.feed_forward(x, real)


class Stack(nn.Module):
    """Positions, blocks, and the final norm that a pre-norm stack needs."""

    def __init__(self, config: ModelConfig, mask: str, *, reads_source: bool = False) -> None:
        super().__init__()
        self.mask = MASKS[mask](config.window)
        self.position = POSITIONS[config.position](position_shape(config, mask))
        self.dropout = nn.Dropout(config.dropout)
        self.layers = nn.ModuleList(Block(config, reads_source=reads_source) for _ in range(config.n_layers))
        self.readers = tuple(module for module in self.modules() if isinstance(module, CrossAttention))
        match config.norm_placement:
            case "pre":
                self.norm = NORMS[config.norm](config.d_model)
            case "post":
                self.norm = Norm(config.d_model)

    def forward(self, x: Tensor, real: Tensor | None, caches: list[Cache], memory: Memory) -> Tensor:
        """Embeddings x (B, T, D), which continue the positions in `caches`, -> (B, T, D). `real` (B, T)."""
        start, length = caches[0].length, x.shape[1]
        mask = self.mask(length, start + length, real, self.position, x.device)
        mask = mask.widen(start + length, caches[0].room(length), x.device)
        x = self.dropout(self.position.embed(x, start))
        for layer, cache, source in zip(self.layers, caches, memory.layers, strict=True):
            x = layer(x, real, mask, self.position, cache, memory.mask, source)
        return self.norm(x, real)

    def encode(self, x: Tensor, real: Tensor | None) -> Tensor:
        """Embeddings x (B, T, D) of whole sequences -> (B, T, D), for a stack that reads no source."""
        return self(x, real, self.new_caches(), self.no_memory())

    def new_caches(self) -> list[Cache]:
        """One for each layer, with nothing read yet."""
        return [Cache() for _ in self.layers]

    def read(self, x: Tensor, real: Tensor | None) -> Memory:
        """The encoder's output x (B, S, D) as the layers will read it; `real` (B, S)."""
        return Memory(Mask(real_keys(real)), [reader.read(x) for reader in self.readers])

    def no_memory(self) -> Memory:
        """For a stack that reads no source."""
        return Memory(Mask(), [() for _ in self.layers])


def position_shape(config: ModelConfig, mask: str) -> PositionShape:
    """What the position scheme of a stack with this mask must know."""
    return PositionShape(
        d_model=config.d_model,
        n_heads=config.n_heads,
        d_head=config.head_width,
        max_length=config.max_length,
        causal=mask == "causal",
    )


class TransformerSequenceModel(nn.Module):
    """Language model or tagger: one stack, with the mask of a decoder or of an encoder."""

    def __init__(self, config: ModelConfig, shape: TaskShape) -> None:
        super().__init__()
        tied = ties_embeddings(config, shape)
        self.embedding = Embedding(shape.input_sizes, config.d_model, tied=tied)
        self.stack = Stack(config, config.decoder_mask if config.architecture == "decoder" else config.encoder_mask)
        self.head = output_layer(
            self.embedding, config.d_model, shape.output_size, tied=tied, n_answers=shape.n_answers
        )

    def forward(self, inputs: Tensor, real: Tensor | None = None) -> Tensor:
        """Logits (B, T, V), or (B, T, K, V) for K answers a position, for inputs (B, T) or (B, T, F).

        `real` (B, T) is False at padding, None: there is none.
        """
        check_real(real, inputs)
        return self.head(self.stack.encode(self.embedding(inputs), real))


class SourceEncoder(nn.Module):
    """The encoder of a translator."""

    def __init__(self, embedding: Embedding, config: ModelConfig) -> None:
        super().__init__()
        self.embedding = embedding
        self.stack = Stack(config, config.encoder_mask)

    def forward(self, source: Tensor, real: Tensor | None, decoder: Stack) -> Memory:
        """Source tokens (B, S) as the layers of `decoder` read them."""
        return decoder.read(self.stack.encode(self.embedding(source), real), real)


class NoEncoder(nn.Module):
    """In place of an encoder whose output nobody reads."""

    def forward(self, source: Tensor, real: Tensor | None, decoder: Stack) -> Memory:
        return decoder.no_memory()


@dataclass(frozen=True)
class CachedState:
    """A translation so far: keys and values of its tokens in each layer."""

    memory: Memory
    caches: list[Cache]

    @classmethod
    def begin(cls, memory: Memory, source: Tensor) -> Self:
        """No token yet."""
        return cls(memory, [Cache() for _ in memory.layers])

    def extend(self, tokens: Tensor) -> tuple[Tensor, Self]:
        """What the decoder must read (B, 1), and the state that is to take it in, in the place of other successors."""
        return tokens[:, None], replace(self, caches=[replace(cache) for cache in self.caches])

    def sentences(self, rows: Tensor) -> Self:
        """The sources `rows` (N,), in that order."""
        return replace(self, memory=self.memory.select(rows))

    def hypotheses(self, rows: Tensor) -> Self:
        """The translations `rows` (N,), in that order."""
        return replace(self, caches=[cache.select(rows) for cache in self.caches])


@dataclass(frozen=True)
class PrefixState:
    """A translation so far: its tokens (B, T), to be read anew at every step.

    For decoders in which early tokens see later ones, so that their keys and values change with every new token.
    """

    memory: Memory
    tokens: Tensor

    @classmethod
    def begin(cls, memory: Memory, source: Tensor) -> Self:
        """No token yet."""
        return cls(memory, source[:, :0])

    @property
    def caches(self) -> list[Cache]:
        return [Cache() for _ in self.memory.layers]

    def extend(self, tokens: Tensor) -> tuple[Tensor, Self]:
        """What the decoder must read (B, T + 1), and the state that holds it."""
        prefix = torch.cat((self.tokens, tokens[:, None]), dim=1)
        return prefix, replace(self, tokens=prefix)

    def sentences(self, rows: Tensor) -> Self:
        """The sources `rows` (N,), in that order."""
        return replace(self, memory=self.memory.select(rows))

    def hypotheses(self, rows: Tensor) -> Self:
        """The translations `rows` (N,), in that order."""
        return replace(self, tokens=self.tokens[rows])


class TransformerTranslator(nn.Module):
    """Encoder and decoder. Without cross-attention the encoder, which could have no effect, is not built."""

    def __init__(self, config: ModelConfig, shape: TaskShape) -> None:
        super().__init__()
        tied = ties_embeddings(config, shape)
        self.embedding = Embedding((shape.output_size,), config.d_model, tied=tied)
        self.encoder: nn.Module
        match config.cross_attention:
            case "attend":
                source = self.embedding if tied else Embedding(shape.input_sizes, config.d_model, tied=False)
                self.encoder = SourceEncoder(source, config)
            case _:
                self.encoder = NoEncoder()
        self.decoder = Stack(config, config.decoder_mask, reads_source=config.cross_attention == "attend")
        self.head = output_layer(self.embedding, config.d_model, shape.output_size, tied=tied)
        self.state: type[CachedState | PrefixState] = CachedState if config.decoder_mask == "causal" else PrefixState
        self.longest: int | None = config.max_length if POSITIONS[config.position].takes_length else None

    def forward(self, source: Tensor, source_real: Tensor | None, target: Tensor, target_real: Tensor | None) -> Tensor:
        """Logits (B, T, V) of the token after each one of target (B, T), given source (B, S).

        `source_real` (B, S) and `target_real` (B, T) are False at padding, None: there is none.
        """
        check_real(source_real, source)
        check_real(target_real, target)
        memory = self.encoder(source, source_real, self.decoder)
        return self.head(self.decoder(self.embedding(target), target_real, self.decoder.new_caches(), memory))

    def start(self, source: Tensor, source_real: Tensor | None) -> CachedState | PrefixState:
        """The state before the first target token, for source (B, S)."""
        check_real(source_real, source)
        return self.state.begin(self.encoder(source, source_real, self.decoder).in_whole_blocks(), source)

    def step(self, tokens: Tensor, state: CachedState | PrefixState) -> tuple[Tensor, CachedState | PrefixState]:
        """Take the newest tokens (B,); logits (B, V) of those after them, and the state that holds them.

        Of several successors of one state only the newest may be stepped further.
        """
        inputs, state = state.extend(tokens)
        outputs = self.decoder(self.embedding(inputs), None, state.caches, state.memory)
        return self.head(outputs[:, -1]), state


def check_real(real: Tensor | None, tokens: Tensor) -> None:
    """Raises ValueError unless `real` is None or a boolean mask (B, T) for tokens (B, T) or (B, T, F)."""
    if real is not None and (real.dtype != torch.bool or real.shape != tokens.shape[:2]):
        raise ValueError(
            f"a mask of real tokens must be boolean, True = real, of shape {tuple(tokens.shape[:2])}: "
            f"got {real.dtype} of shape {tuple(real.shape)}"
        )
