"""Recall: one marked token, or one of several key-value pairs, asked for at a fixed distance.

Shapes: B batch, T length, P pairs.
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import torch

from datamodules.base import IGNORE, NO_DISTANCE, NOWHERE, Batch, Held, TaskConfig, TaskData, portions
from datamodules.errors import DataError, check_integer, check_unused
from datamodules.oracles import accuracy_of, value_oracle
from datamodules.splits import ENOUGH, Integers, Split, draw, generator


@dataclass(frozen=True, kw_only=True)
class RecallConfig(TaskConfig):
    """Settings of the task `recall`."""

    distance: int = 8
    """How many tokens the query stands after the marked token (after the last pair, if there are several)."""

    distances: tuple[int, ...] = ()
    """Several distances mixed, one a batch, in place of `distance`. Short ones then teach long ones."""

    pairs: int = 1
    """1: a single marked symbol. More: this many key-value pairs with different keys, one of which is asked for."""

    symbols: int = 8
    """Different answers."""

    n_keys: int = 16
    """Different keys (with pairs > 1)."""

    noise: int = 8
    """Different noise tokens (with pairs > 1: noise keys, which carry any value)."""

    noise_before: int = 7
    """Before the marked token stand 0 to this many noise tokens, one number a batch."""

    length: int | None = None
    """If given, noise in front fills every sequence up to this many tokens, in place of `noise_before`."""

    validation_size: int = 512
    """Sequences of each distance."""

    test_size: int = 2048
    """Sequences of each distance."""

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "distances", tuple(self.distances))
        for field in ("distance", "pairs", "validation_size", "test_size"):
            check_integer(field, getattr(self, field), 1)
        for distance in self.distances:
            check_integer("distances", distance, 1)
        for field in ("symbols", "noise"):
            check_integer(field, getattr(self, field), 2)
        check_integer("noise_before", self.noise_before, 0)
        check_integer("n_keys", self.n_keys, self.pairs if self.pairs > 1 else 1)
        if len(set(self.distances)) < len(self.distances):
            raise DataError(f"distances={self.distances!r}: must differ from one another")
        if self.distances:
            check_unused("distance", self.distance, RecallConfig.distance, "has no effect with distances")
        if self.pairs == 1:
            check_unused("n_keys", self.n_keys, RecallConfig.n_keys, "has no effect with pairs=1")
        if self.length is not None:
            self._check_length()

    def _check_length(self) -> None:
        check_unused("noise_before", self.noise_before, RecallConfig.noise_before, "has no effect with length")
        for distance in self.distances or (self.distance,):
            check_integer("length", self.length, self.pairs + distance + _least_before(self, distance))


class Recall(TaskData[RecallConfig]):
    """One token of the past is asked for at the end of the sequence.

    Example (pairs = 1, distance = 4; n: noise, m: marked symbols, `?`: the query)::

        inputs     n3 n1 m5 n0 n7 n2  ?
        targets     .  .  .  .  .  . m5
        distance    .  .  .  .  .  .  4
        answer_at   .  .  .  .  .  .  2

    With several pairs each token is a key with a value, and the embedding of a position is the sum of both (pairs = 2,
    distance = 3, no noise before)::

        inputs     k4:v6 k9:v1 n0:v3 n2:v3 k4:?
        targets      .     .     .     .    v6
        distance     .     .     .     .     4
        answer_at    .     .     .     .     0

    Predicted: the symbol (value), at the last position only.
    Chance: 1 / symbols.
    Oracle: 1.0; with several pairs, `value_oracle` is what can be had by knowing the values but not whose they are
        (0.4125 for 4 pairs of 8 values).
    Distance: how many positions the query stands after the token that holds the answer (1: next to it). The marked
        token and the last pair stand at exactly `distance`, the pairs before at distance + 1, + 2 and so on.

    Where the distance is so short that there would be too few different sequences for three splits, a few more noise
    tokens stand in front (from distance 4 on, none with the default sizes). With `length`, noise in front makes all
    sequences as long, so that the distance is all that changes. Several pairs with several `distances` make a look-up
    at any distance, whose accuracy by distance tells near from far.
    """

    Config: ClassVar[type[TaskConfig]] = RecallConfig
    kind = "tagging"
    headline = ("loss", "accuracy")
    version = "recall-1"

    def __init__(self, config: RecallConfig, *, seed: int, steps: int, batch_size: int, batch_tokens: int = 0) -> None:
        super().__init__(config, seed=seed, steps=steps, batch_size=batch_size, batch_tokens=batch_tokens)
        self.distances = config.distances or (config.distance,)
        self.ways = 1 if config.length else config.noise_before + 1  # numbers of noise tokens in front
        self.input_sizes = _paired_sizes(config) if config.pairs > 1 else (config.symbols + config.noise + 1,)
        self.output_size = config.symbols
        self.chance = 1 / config.symbols

    def training_batch(self, index: int) -> Batch:
        """Batch `index`: one distance and one length."""
        rng = generator("train", self.seed, index)
        distance = int(rng.choice(self.distances))
        more = int(rng.integers(self.ways))
        return self._batch(rng, "train", self.batch_size, more, distance)

    def evaluation_batches(self, split: Held) -> list[list[Batch]]:
        """One set: every distance with every number of noise tokens in front, equally often."""
        items = self.config.validation_size if split == "validation" else self.config.test_size
        plan = [
            (rows, more, distance)
            for distance in self.distances
            for more in range(self.ways)
            for rows in portions(
                len(range(more, items, self.ways)), self.config.length or self.config.pairs + distance + self.ways
            )
        ]
        seed = self.config.data_seed
        return [[self._batch(generator(split, seed, index), split, *item) for index, item in enumerate(plan)]]

    def references(self) -> dict[str, dict[str, float]]:
        """With several pairs, accuracy of `value_oracle` on the test set."""
        if self.config.pairs == 1:
            return {}
        assert self._held is not None, "setup() comes first"
        oracle = partial(value_oracle, n_keys=self.config.n_keys)
        return {"accuracy": {"values without keys": accuracy_of(oracle, self._held["test"][0])}}

    def _batch(self, rng: np.random.Generator, split: Split, rows: int, more: int, distance: int) -> Batch:
        before = _before(self.config, distance) + more
        if self.config.pairs > 1:
            return _paired(self.config, rng, split, rows, before, distance)
        return _marked(self.config, rng, split, rows, before, distance)


def _marked(
    config: RecallConfig, rng: np.random.Generator, split: Split, rows: int, before: int, distance: int
) -> Batch:
    """Symbols are tokens 0, 1, ...; then come the noise tokens; the last one is the query."""
    query = config.symbols + config.noise

    def propose(n: int) -> Integers:
        tokens = rng.integers(config.symbols, query, size=(n, before + 1 + distance))
        tokens[:, before] = rng.integers(config.symbols, size=n)
        tokens[:, -1] = query
        return tokens

    tokens = draw(split, rows, propose)
    return _asked_at_the_end(tokens, tokens[:, before], np.full(rows, before))


def _paired(
    config: RecallConfig, rng: np.random.Generator, split: Split, rows: int, before: int, distance: int
) -> Batch:
    """Keys are 0, 1, ..., then come the noise keys; values are 0, 1, ..., the last one is the question mark."""
    block = slice(before, before + config.pairs)

    def propose(n: int) -> Integers:
        length = before + config.pairs + distance
        keys = rng.integers(config.n_keys, config.n_keys + config.noise, size=(n, length))
        keys[:, block] = rng.permuted(np.tile(np.arange(config.n_keys), (n, 1)), axis=1)[:, : config.pairs]
        keys[:, -1] = keys[np.arange(n), before + rng.integers(config.pairs, size=n)]
        values = rng.integers(config.symbols, size=(n, length))
        values[:, -1] = config.symbols
        return np.stack([keys, values], axis=2)

    tokens = draw(split, rows, propose)
    asked = before + np.argmax(tokens[:, block, 0] == tokens[:, -1:, 0], axis=1)
    return _asked_at_the_end(tokens, tokens[np.arange(rows), asked, 1], asked)


def _asked_at_the_end(tokens: Integers, answers: Integers, places: Integers) -> Batch:
    """Batch with targets at the last position only: tokens (B, T) or (B, T, 2), answers (B,) and their places (B,)."""
    last = {
        "targets": (answers, IGNORE),
        "distance": (tokens.shape[1] - 1 - places, NO_DISTANCE),
        "answer_at": (places, NOWHERE),
    }
    batch = {"inputs": torch.from_numpy(tokens)}
    for name, (values, elsewhere) in last.items():
        batch[name] = torch.full(tokens.shape[:2], elsewhere)
        batch[name][:, -1] = torch.from_numpy(values)
    return batch


def _paired_sizes(config: RecallConfig) -> tuple[int, int]:
    """Different keys and values, noise keys and the question mark included."""
    return config.n_keys + config.noise, config.symbols + 1


def _before(config: RecallConfig, distance: int) -> int:
    """Noise tokens that stand in front of every sequence."""
    if config.length is not None:
        return config.length - config.pairs - distance
    return _least_before(config, distance)


def _least_before(config: RecallConfig, distance: int) -> int:
    """Least number of noise tokens in front that gives ENOUGH different sequences."""
    if config.pairs > 1:
        different = math.perm(config.n_keys, config.pairs) * config.symbols**config.pairs * config.pairs
        noise = config.noise * config.symbols
    else:
        different, noise = config.symbols, config.noise
    before = 0
    while different * noise ** (distance - 1 + before) < ENOUGH:
        before += 1
    return before
