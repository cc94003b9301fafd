"""Recurrent baselines: language model, tagger and translator, over torch's fused RNN, LSTM and GRU.

B batch, T length, S source length, D width of the embeddings, H width of a state, M width of the encoder's states
(H, or 2 H in both directions), L layers, F input factors, V output classes.
"""

from dataclasses import dataclass, replace
from typing import Self, TypeVar

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from models.config import ModelConfig, TaskShape, ties_embeddings
from models.embeddings import Embedding, output_layer
from models.linear import LinearLayer
from models.recurrent_attention import READERS, Memory, Reader
from models.transformer import check_real

GATES = {"rnn": 1, "lstm": 4, "gru": 3}

Hidden = tuple[Tensor, ...]
"""State of all layers, each (L, B, H): the hidden one, and for an LSTM its cell."""

X = TypeVar("X", Tensor, PackedSequence)


def state_width(config: ModelConfig) -> int:
    """H, which every recurrent configuration has once it is made."""
    assert config.d_hidden is not None
    return config.d_hidden


def memory_width(config: ModelConfig) -> int:
    """M, the width of a translator's encoder states."""
    return state_width(config) * (2 if config.bidirectional else 1)


def _reader(config: ModelConfig) -> type[Reader]:
    assert config.cross_attention is not None
    return READERS[config.cross_attention]


class Lstm(nn.LSTM):
    """torch's LSTM with a forget gate that starts at a bias of its own (Jozefowicz et al. 2015, section 2.2).

    The whole of it stands in the input's bias; 0 leaves torch's own draw as it is.
    """

    def __init__(
        self, d_input: int, d_hidden: int, n_layers: int, bidirectional: bool, dropout: float, forget_bias: float
    ) -> None:
        self.forget_bias = forget_bias  # before torch's constructor, which draws the parameters
        super().__init__(d_input, d_hidden, n_layers, batch_first=True, bidirectional=bidirectional, dropout=dropout)

    def reset_parameters(self) -> None:
        super().reset_parameters()
        self.reset_forget_bias()

    def reset_forget_bias(self) -> None:
        """Overwrites the forget gate's share of every bias."""
        if self.forget_bias:
            forget = slice(self.hidden_size, 2 * self.hidden_size)  # torch's order: input, forget, cell, output
            for name, parameter in self.named_parameters():
                if name.startswith("bias_"):
                    nn.init.constant_(parameter[forget], self.forget_bias if name.startswith("bias_ih") else 0.0)


def new_layers(config: ModelConfig, d_input: int, bidirectional: bool) -> nn.RNNBase:
    """The layers of one stack, batch first, with dropout between them."""
    width, n_layers = state_width(config), config.n_layers
    dropout = config.dropout if n_layers > 1 else 0.0  # torch warns of dropout that has no place
    match config.architecture:
        case "lstm":
            return Lstm(d_input, width, n_layers, bidirectional, dropout, config.forget_bias)
        case "gru":
            return nn.GRU(d_input, width, n_layers, batch_first=True, bidirectional=bidirectional, dropout=dropout)
        case "rnn":
            return nn.RNN(d_input, width, n_layers, batch_first=True, bidirectional=bidirectional, dropout=dropout)
    raise AssertionError(config.architecture)


def run(layers: nn.RNNBase, x: X, hidden: Hidden | None) -> tuple[X, Hidden]:
    """Runs a stack over x (B, T, D) from a state (None: zeros): states (B, T, H), and the last one of each layer.

    Under autocast in float32: cuDNN would compute in float16, whatever was asked for.
    """
    kind = "cuda" if x.is_cuda else "cpu"
    if torch.is_autocast_enabled(kind):
        full = None if hidden is None else tuple(part.float() for part in hidden)
        with torch.autocast(kind, enabled=False):
            return run(layers, x.float(), full)
    before = hidden if hidden is None or len(hidden) == 2 else hidden[0]
    states, after = layers(x, before)
    return states, after if isinstance(after, tuple) else (after,)


def readout(config: ModelConfig, tied: bool) -> tuple[nn.Module, int]:
    """What stands between the states and the output layer, and the width that it gives.

    A tied output layer reads vectors as wide as the embeddings, so states of another width are mapped to that first.
    """
    width = state_width(config)
    if tied and width != config.d_model:
        return LinearLayer(width, config.d_model, bias=False), config.d_model
    return nn.Identity(), width


class RecurrentSequenceModel(nn.Module):
    """Language model or tagger: reads from left to right, and may look back at its own earlier states."""

    def __init__(self, config: ModelConfig, shape: TaskShape) -> None:
        super().__init__()
        width = state_width(config)
        tied = ties_embeddings(config, shape)
        self.embedding = Embedding(shape.input_sizes, config.d_model, tied=tied)
        self.layers = new_layers(config, config.d_model, bidirectional=False)
        self.attention = _reader(config)(width, width)
        self.dropout = nn.Dropout(config.dropout)
        self.readout, d_out = readout(config, tied)
        self.head = output_layer(self.embedding, d_out, shape.output_size, tied=tied, n_answers=shape.n_answers)

    def forward(self, inputs: Tensor, real: Tensor | None = None) -> Tensor:
        """Logits (B, T, V) for inputs (B, T) or (B, T, F).

        `real` changes nothing: padding stands at the end, where no real position can see it.
        """
        check_real(real, inputs)
        states, _ = run(self.layers, self.dropout(self.embedding(inputs)), None)
        return self.head(self.readout(self.dropout(self.attention.look_back(states))))


class Encoder(nn.Module):
    """Embedding and layers of the source, which it reads in one direction or in both (Bahdanau et al. 2015, 3.2)."""

    def __init__(self, embedding: Embedding, config: ModelConfig) -> None:
        super().__init__()
        self.embedding = embedding
        self.dropout = nn.Dropout(config.dropout)
        self.layers = new_layers(config, config.d_model, config.bidirectional)

    def forward(self, tokens: Tensor, real: Tensor | None) -> tuple[Tensor, Hidden]:
        """States (B, S, M) for tokens (B, S), and the last real ones of each layer (L, B, M).

        `real` (B, S) is False at padding, whose states are zero; None: there is none.
        """
        x = self.dropout(self.embedding(tokens))
        if real is None:
            states, last = run(self.layers, x, None)
        else:
            lengths = real.sum(1).cpu()
            if not lengths.all():
                raise ValueError(f"sentence {int(lengths.argmin())} of the batch has no token to encode")
            packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
            packed_states, last = run(self.layers, packed, None)
            states, _ = pad_packed_sequence(packed_states, batch_first=True, total_length=x.size(1))
        return states, tuple(_side_by_side(part, self.layers.num_layers) for part in last)


def _side_by_side(last: Tensor, n_layers: int) -> Tensor:
    """(L * directions, B, H) -> (L, B, directions * H)."""
    return last.reshape(n_layers, -1, *last.shape[1:]).transpose(1, 2).flatten(2)


class Bridge(nn.Module):
    """From the encoder's last state to the decoder's first (Bahdanau et al. 2015, A.2.2), the same map for all layers.

    Nothing where the widths agree; else a linear map, and a tanh on the hidden state, which lives between -1 and 1.
    """

    def __init__(self, d_memory: int, d_hidden: int, n_parts: int) -> None:
        super().__init__()
        same = d_memory == d_hidden
        self.hidden = nn.Identity() if same else nn.Sequential(LinearLayer(d_memory, d_hidden), nn.Tanh())
        self.cell = LinearLayer(d_memory, d_hidden) if n_parts == 2 and not same else nn.Identity()

    def forward(self, last: Hidden) -> Hidden:
        return tuple(part(x) for part, x in zip((self.hidden, self.cell), last, strict=False))


@dataclass(frozen=True)
class RecurrentState:
    """What a translator keeps between two steps."""

    hidden: Hidden
    """Of the decoder, each (L, B, H), one row a translation."""
    memory: Memory
    """Of the source, each (B, ...), one row a sentence; empty without attention."""
    fed: Tensor
    """Last output (B, 1, H) of a translation to feed to its next step; of width 0 without input feeding."""

    def sentences(self, rows: Tensor) -> Self:
        """Keeps the given sources (N,), in that order."""
        return replace(self, memory=tuple(part[rows] for part in self.memory))

    def hypotheses(self, rows: Tensor) -> Self:
        """Keeps the given translations (N,), in that order."""
        return replace(self, hidden=tuple(part[:, rows] for part in self.hidden), fed=self.fed[rows])


class Decoder(nn.Module):
    """Runs over all target tokens at once; each state then reads the source."""

    def __init__(self, config: ModelConfig, d_memory: int) -> None:
        super().__init__()
        width = state_width(config)
        self.d_fed = width if config.input_feeding else 0
        self.layers = new_layers(config, config.d_model + self.d_fed, bidirectional=False)
        self.attention = _reader(config)(width, d_memory)

    def forward(self, x: Tensor, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        """Outputs (B, T, H) for target embeddings x (B, T, D), and the state after the last."""
        states, hidden = run(self.layers, x, state.hidden)
        return self.attention(states, state.memory), replace(state, hidden=hidden)


class FeedingDecoder(Decoder):
    """Takes one token after another: each output is an input of the next step (Luong et al. 2015, 3.3)."""

    def forward(self, x: Tensor, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        outputs = []
        for token in torch.split(x, 1, dim=1):  # (B, 1, D)
            fed, state = super().forward(torch.cat((token, state.fed), -1), state)
            state = replace(state, fed=fed)
            outputs.append(fed)
        return torch.cat(outputs, 1), state


class RecurrentTranslator(nn.Module):
    """Encoder and decoder (Sutskever et al. 2014), with attention if the configuration has it."""

    def __init__(self, config: ModelConfig, shape: TaskShape) -> None:
        super().__init__()
        tied, d_memory = ties_embeddings(config, shape), memory_width(config)
        self.embedding = Embedding((shape.output_size,), config.d_model, tied=tied)
        source = self.embedding if tied else Embedding(shape.input_sizes, config.d_model, tied=False)
        self.encoder = Encoder(source, config)
        self.bridge = Bridge(d_memory, state_width(config), 2 if config.architecture == "lstm" else 1)
        self.decoder = (FeedingDecoder if config.input_feeding else Decoder)(config, d_memory)
        self.dropout = nn.Dropout(config.dropout)
        self.readout, d_out = readout(config, tied)
        self.head = output_layer(self.embedding, d_out, shape.output_size, tied=tied)
        self.longest: int | None = None

    def forward(self, source: Tensor, source_real: Tensor | None, target: Tensor, target_real: Tensor | None) -> Tensor:
        """Logits (B, T, V) of the token after each one of target (B, T), given source (B, S).

        `target_real` changes nothing: padding stands at the end, where no real position can see it.
        """
        check_real(target_real, target)
        logits, _ = self._decode(target, self.start(source, source_real))
        return logits

    def start(self, source: Tensor, source_real: Tensor | None) -> RecurrentState:
        """Reads the source (B, S). Raises ValueError for a sentence without a real token."""
        check_real(source_real, source)
        states, last = self.encoder(source, source_real)
        readable = torch.ones_like(source, dtype=torch.bool) if source_real is None else source_real
        memory = self.decoder.attention.remember(states, readable.unsqueeze(1))
        return RecurrentState(self.bridge(last), memory, states.new_zeros(source.size(0), 1, self.decoder.d_fed))

    def step(self, tokens: Tensor, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        """Logits (B, V) of what follows the newest tokens (B,)."""
        logits, state = self._decode(tokens.unsqueeze(1), state)
        return logits.squeeze(1), state

    def _decode(self, target: Tensor, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        outputs, state = self.decoder(self.dropout(self.embedding(target)), state)
        return self.head(self.readout(self.dropout(outputs))), state


def parameter_count(config: ModelConfig, shape: TaskShape) -> int:
    """Number of parameters of the recurrent model for a task, without building it."""
    width, d_model, tied = state_width(config), config.d_model, ties_embeddings(config, shape)
    d_memory = memory_width(config) if shape.kind == "translation" else width
    d_fed = width if config.input_feeding else 0
    total = _stack_parameters(config, d_model + d_fed, directions=1)
    total += _reader(config).count(width, d_memory)
    total += sum(shape.input_sizes) * d_model
    if shape.kind == "translation":
        total += _stack_parameters(config, d_model, directions=2 if config.bidirectional else 1)
        total += 0 if tied else shape.output_size * d_model
        total += _bridges(config) * (d_memory + 1) * width
    total += width * d_model if tied and width != d_model else 0
    return total + shape.n_outputs * (1 if tied else width + 1)


def forward_multiply_adds(
    config: ModelConfig, shape: TaskShape, n_source: int, n_target: int, n_packed: float
) -> float:
    """Multiply-adds of the matrix products of one sequence's forward pass; `n_source` is 0 for a sequence model.

    Of the source's `n_source` tokens the encoder reads the `n_packed` that are no padding, attention all.

    Gates, attention (hidden pairs included), bridge and output layer; look-ups and elementwise work are left out.
    """
    width, d_model, tied = state_width(config), config.d_model, ties_embeddings(config, shape)
    translates = shape.kind == "translation"
    d_memory, n_memory = (memory_width(config), n_source) if translates else (width, n_target)
    d_fed = width if config.input_feeding else 0
    total: float = n_target * _stack_multiply_adds(config, d_model + d_fed, directions=1)
    total += _reader(config).multiply_adds(width, d_memory, n_target, n_memory)
    if translates:
        total += n_packed * _stack_multiply_adds(config, d_model, directions=2 if config.bidirectional else 1)
        total += config.n_layers * _bridges(config) * d_memory * width
    d_out = d_model if tied else width
    total += n_target * width * d_model if tied and width != d_model else 0
    return total + n_target * d_out * shape.n_outputs


def _bridges(config: ModelConfig) -> int:
    """Number of linear maps between encoder and decoder."""
    if memory_width(config) == state_width(config):
        return 0
    return 2 if config.architecture == "lstm" else 1


def _stack_multiply_adds(config: ModelConfig, d_input: int, directions: int) -> int:
    """Multiply-adds of one step of all layers: the matrices' sizes."""
    width, gates = state_width(config), GATES[config.architecture]
    widths = [d_input] + [directions * width] * (config.n_layers - 1)
    return sum(directions * gates * width * (below + width) for below in widths)


def _stack_parameters(config: ModelConfig, d_input: int, directions: int) -> int:
    """The matrices, and two biases a gate."""
    biases = config.n_layers * directions * 2 * GATES[config.architecture] * state_width(config)
    return _stack_multiply_adds(config, d_input, directions) + biases
