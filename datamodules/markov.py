"""Markov: language modelling of a source whose statistics are known exactly.

Shapes: B batch, T length, N sequences, V vocabulary.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from datamodules.base import Batch, Held, TaskConfig, TaskData, portions
from datamodules.errors import DataError, check_integer
from datamodules.splits import ENOUGH, Integers, Split, draw, generator

Floats = NDArray[np.float64]


class Source:
    """A stationary Markov chain: every token depends on the one before it, and on nothing else.

    Row i of `transitions` (V, V), the chances of the token after i, is softmax(z / temperature) with standard normal z.
    `stationary` (V,) are the chances of a token at any one place, the first one too.

    Args:
        vocabulary: V.
        temperature: the lower, the more certain is the next token.
        seed: of z.
    """

    def __init__(self, vocabulary: int, temperature: float, seed: int) -> None:
        z = torch.randn(vocabulary, vocabulary, generator=torch.Generator().manual_seed(seed)).double().numpy()
        # the last bits of z depend on the processor, and the tokens are to be the same on each
        self.transitions: Floats = _softmax(z.round(5) / temperature)
        self.stationary: Floats = _stationary(self.transitions)
        self._first = self.stationary.cumsum()[:-1]
        self._next = self.transitions.cumsum(1)[:, :-1]

    @property
    def entropy_rate(self) -> float:
        """Nats a token, given the one before; no model that sees only the past has a lower loss."""
        return float(self.stationary @ entropy(self.transitions))

    @property
    def unigram_entropy(self) -> float:
        """Nats a token for a model that sees no other token."""
        return float(entropy(self.stationary))

    def between(self, left: Integers, right: Integers) -> Floats:
        """Chances (N, V) of the token between two neighbours (N,) and (N,)."""
        joint = self.transitions[left] * self.transitions[:, right].T
        return joint / joint.sum(1, keepdims=True)

    def sequences(self, rng: np.random.Generator, n: int, length: int) -> Integers:
        """n sequences (N, T)."""
        chance = rng.random((length, n, 1))
        tokens = np.empty((length, n), dtype=np.int64)
        tokens[0] = (self._first <= chance[0]).sum(1)
        for place in range(1, length):
            tokens[place] = (self._next[tokens[place - 1]] <= chance[place]).sum(1)
        return tokens.T.copy()


@dataclass(frozen=True, kw_only=True)
class MarkovConfig(TaskConfig):
    """Settings of the task `markov`."""

    length: int = 32
    """Tokens that the model reads, and predicts, of a sequence: it has one more."""

    vocabulary: int = 16
    """Different tokens."""

    temperature: float = 0.5
    """The chances of the next token are softmax(z / temperature), with z standard normal, one row for each token."""

    source_seed: int = 3
    """Seed of z: another seed is another source, with another entropy rate."""

    validation_size: int = 512
    """Sequences."""

    test_size: int = 1024
    """Sequences."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for field in ("length", "validation_size", "test_size"):
            check_integer(field, getattr(self, field), 1)
        check_source(self.vocabulary, self.temperature, self.source_seed)
        check_variety(Source(self.vocabulary, self.temperature, self.source_seed), self.temperature, self.length + 1)


class Markov(TaskData[MarkovConfig]):
    """The next token of a known Markov source.

    Example (length = 5, vocabulary = 16; the sequence is 12 1 1 7 0 7)::

        inputs    12  1  1  7  0
        targets    1  1  7  0  7

    Predicted: the next token, at every position. The first token of a sequence is read only.
    Chance: 1 / vocabulary.
    Oracle: exact. The chain starts in its stationary state, so at every position the loss of the best model that sees
        the past is the entropy rate (1.4329 nats for the default source), and that of the best model that sees nothing
        is the unigram entropy (2.4985); the accuracy of always giving the likeliest successor is 0.5246. A model that
        sees the future copies the answer from it, all but the last of a sequence, which stands nowhere: its floor is
        the entropy rate / length. `references` has these on the test items, by what the source says of each answer, so
        that the luck of the draw counts alike for model and reference; `Source` has the exact ones.
    Distance: none; the answer depends on the token read at that position alone.
    """

    Config: ClassVar[type[TaskConfig]] = MarkovConfig
    kind = "next-token"
    headline = ("loss", "accuracy")
    version = "markov-1"

    def __init__(self, config: MarkovConfig, *, seed: int, steps: int, batch_size: int, batch_tokens: int = 0) -> None:
        super().__init__(config, seed=seed, steps=steps, batch_size=batch_size, batch_tokens=batch_tokens)
        self.source = Source(config.vocabulary, config.temperature, config.source_seed)
        self.input_sizes = (config.vocabulary,)
        self.output_size = config.vocabulary
        self.chance = 1 / config.vocabulary

    def training_batch(self, index: int) -> Batch:
        """Batch `index`: random sequences."""
        return self._batch("train", self.batch_size, generator("train", self.seed, index))

    def evaluation_batches(self, split: Held) -> list[list[Batch]]:
        """One set."""
        items = self.config.validation_size if split == "validation" else self.config.test_size
        sizes = portions(items, self.config.length)
        seed = self.config.data_seed
        return [[self._batch(split, rows, generator(split, seed, index)) for index, rows in enumerate(sizes)]]

    def references(self) -> dict[str, dict[str, float]]:
        """Loss and accuracy of the best answers, scored on the test items.

        "entropy rate" and "unigram entropy": mean of -ln P(token | the one before) and of -ln P(token).
        "floor with the future in sight": the former at the last position, and 0 at all others.
        """
        assert self._held is not None, "setup() comes first"
        read, asked = (joined(self._held["test"][0], key) for key in ("inputs", "targets"))
        nats = -np.log(self.source.transitions[read, asked])
        likeliest = self.source.transitions.argmax(1)
        return {
            "loss": {
                "entropy rate": float(nats.mean()),
                "unigram entropy": float(-np.log(self.source.stationary[asked]).mean()),
                "floor with the future in sight": float(nats[:, -1].mean() / self.config.length),
            },
            "accuracy": {"Bayes, left side": float((likeliest[read] == asked).mean())},
        }

    def _batch(self, split: Split, rows: int, rng: np.random.Generator) -> Batch:
        tokens = draw(split, rows, lambda n: self.source.sequences(rng, n, self.config.length + 1))
        return {"inputs": torch.from_numpy(tokens[:, :-1].copy()), "targets": torch.from_numpy(tokens[:, 1:].copy())}


def check_source(vocabulary: object, temperature: object, seed: object) -> None:
    """Refuse settings that make no source.

    Raises:
        DataError: naming field and value.
    """
    check_integer("vocabulary", vocabulary, 2)
    check_integer("source_seed", seed, 0)
    if isinstance(temperature, bool) or not isinstance(temperature, int | float) or not 0 < temperature < math.inf:
        raise DataError(f"temperature={temperature!r}: must be a number above 0")


def check_variety(source: Source, temperature: float, length: int) -> None:
    """Refuse a source that makes too few different sequences for splits that share none.

    Their number is taken as exp(entropy), the size of the set that nearly all are from (Shannon 1948, theorem 3).

    Raises:
        DataError: naming the temperature.
    """
    nats = source.unigram_entropy + (length - 1) * source.entropy_rate
    if nats < math.log(ENOUGH):
        raise DataError(
            f"temperature={temperature!r}: must be higher, or the vocabulary or length: about {math.exp(nats):.0f}"
            f" likely sequences of {length} tokens are too few for splits that share none, at least {ENOUGH} are needed"
        )


def joined(batches: list[Batch], key: str) -> Integers:
    """A tensor of all batches, one below the other."""
    return torch.cat([batch[key] for batch in batches]).numpy()


def entropy(chances: Floats) -> Floats:
    """Entropy in nats of distributions (..., V): (...)."""
    return -(chances * np.log(np.maximum(chances, np.finfo(np.float64).tiny))).sum(-1)


def _softmax(logits: Floats) -> Floats:
    """Over the last axis."""
    powers = np.exp(logits - logits.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def _stationary(transitions: Floats) -> Floats:
    """The distribution (V,) that the chain (V, V) does not change: its left eigenvector, which adds up to 1."""
    size = len(transitions)
    equations = np.vstack([transitions.T - np.eye(size), np.ones(size)])
    return np.linalg.lstsq(equations, np.eye(size + 1)[-1], rcond=None)[0].clip(min=0)
