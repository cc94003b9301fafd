"""Look-up: tokens that carry two things, a name and a value, and ask for the value of another one.

How far apart they stand makes no difference here, for which see recall.py with several pairs.

Shapes: B batch, T length, F factors of a token, K answers a position, P pairs.
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal, get_args

import numpy as np
import torch

from datamodules.base import IGNORE, NO_DISTANCE, NOWHERE, Batch, Held, TaskConfig, TaskData, portions
from datamodules.errors import DataError, check_choice, check_integer, check_unused
from datamodules.oracles import accuracy_of, value_oracle
from datamodules.splits import ENOUGH, Integers, Split, draw, generator

Form = Literal["pairs", "cycles", "several"]

FIELDS: dict[Form, tuple[str, ...]] = {
    "pairs": ("pairs", "n_keys"),
    "cycles": ("names", "cycle"),
    "several": ("names", "look_ups"),
}
"""Settings that have an effect with some forms only, by form."""


@dataclass(frozen=True, kw_only=True)
class LookUpConfig(TaskConfig):
    """Settings of the task `look-up`."""

    form: Form = "pairs"
    """pairs: the last token asks for the value of one key. cycles: every name asks for the payload of the next name of
    its cycle. several: every position asks for the payloads of several names at once."""

    symbols: int | None = None
    """Different values or payloads; if not given, 16 with form = pairs and 12 with the others."""

    pairs: int = 8
    """Key-value pairs in a sequence (form = pairs)."""

    n_keys: int = 32
    """Different keys (form = pairs)."""

    names: int = 12
    """Different names; each stands once in every sequence (form = cycles, several)."""

    cycle: int = 3
    """Names in a cycle: with 3, the next of 0, 1, 2 are 1, 2, 0, those of 3, 4, 5 are 4, 5, 3 (form = cycles)."""

    look_ups: int = 2
    """Names that each position asks for (form = several)."""

    validation_size: int = 512
    """Sequences."""

    test_size: int = 2048
    """Sequences."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("form", self.form, get_args(Form))
        for field in ("pairs", "n_keys", "names", "cycle", "look_ups"):
            if field not in FIELDS[self.form]:
                default = getattr(LookUpConfig, field)
                check_unused(field, getattr(self, field), default, f"has no effect with form={self.form}")
            check_integer(field, getattr(self, field), 2)
        if self.symbols is not None:
            check_integer("symbols", self.symbols, 2)
        check_integer("validation_size", self.validation_size, 1)
        check_integer("test_size", self.test_size, 1)
        self._check_sizes()

    def _check_sizes(self) -> None:
        if self.form == "pairs":
            check_integer("n_keys", self.n_keys, self.pairs)
        if self.form == "cycles" and self.names % self.cycle:
            raise DataError(f"names={self.names}: must be a multiple of cycle={self.cycle}")
        if (different := _different(self)) < ENOUGH:
            raise DataError(
                f"form={self.form}: {different} different sequences are too few for splits that share none, at least"
                f" {ENOUGH} are needed, with larger {', '.join(FIELDS[self.form])} or symbols"
            )

    @property
    def n_symbols(self) -> int:
        """Different values or payloads."""
        if self.symbols is not None:
            return self.symbols
        return 16 if self.form == "pairs" else 12


class LookUp(TaskData[LookUpConfig]):
    """A token asks for the value of the token with a certain name.

    Every token has several factors, of which the embedding of its position is the sum. Example of form = pairs
    (pairs = 3; keys k with values v, the last token asks)::

        inputs     k4:v6 k9:v1 k0:v3 k9:?
        targets      .     .     .    v1
        distance     .     .     .     2
        answer_at    .     .     .     1

    Of form = cycles (names = 3, cycle = 3: n0 asks for n1, n1 for n2, n2 for n0; payloads p)::

        inputs     n2:p5 n0:p7 n1:p5
        targets     p7    p5    p5
        distance     1     1     2
        answer_at    1     2     0

    Of form = several (names = 3, look_ups = 2; each token has a name, a payload and the two names that it asks for)::

        inputs     n2:p5:n0:n2 n0:p7:n2:n1 n1:p1:n1:n1
        targets       p7 p5       p5 p1       p1 p1
        distance       1  0        1  1        0  0
        answer_at      1  0        0  2        2  2

    Predicted: the value (payload), with form = pairs at the last position only. With form = several, targets, distance
        and answer_at have a last axis of K = look_ups answers.
    Chance: 1 / symbols.
    Oracle: 1.0. With form = pairs, `value_oracle` is what can be had by knowing the values but not their keys. With
        form = cycles, `tied_ceiling` is what a look-up with symmetric scores can reach. Attention that is the same to
        all tokens has 1 / (pairs + 1) or 1 / names of its weight on the answer.
    Distance: how many positions lie from the token that asks to the one that holds the answer, on either side (0: it
        asks for its own payload).

    The names and payloads of a sequence, their order and what is asked for are drawn independently and uniformly.
    """

    Config: ClassVar[type[TaskConfig]] = LookUpConfig
    kind = "tagging"
    headline = ("loss", "accuracy")
    version = "look-up-1"

    def __init__(self, config: LookUpConfig, *, seed: int, steps: int, batch_size: int, batch_tokens: int = 0) -> None:
        super().__init__(config, seed=seed, steps=steps, batch_size=batch_size, batch_tokens=batch_tokens)
        self.input_sizes = _input_sizes(config)
        self.output_size = config.n_symbols
        self.n_answers = config.look_ups if config.form == "several" else 1
        self.chance = 1 / config.n_symbols

    def training_batch(self, index: int) -> Batch:
        """Batch `index`."""
        return self._batch(generator("train", self.seed, index), "train", self.batch_size)

    def evaluation_batches(self, split: Held) -> list[list[Batch]]:
        """One set."""
        items = self.config.validation_size if split == "validation" else self.config.test_size
        seed = self.config.data_seed
        sizes = enumerate(portions(items, _length(self.config)))
        return [[self._batch(generator(split, seed, index), split, rows) for index, rows in sizes]]

    def references(self) -> dict[str, dict[str, float]]:
        """What uniform attention has on the answer; accuracy of answers by value alone, or with symmetric scores."""
        found = {"attention_mass": {"uniform attention": 1 / _length(self.config)}}
        if self.config.form == "pairs":
            assert self._held is not None, "setup() comes first"
            oracle = partial(value_oracle, n_keys=self.config.n_keys)
            found["accuracy"] = {"values without keys": accuracy_of(oracle, self._held["test"][0])}
        if self.config.form == "cycles" and self.config.cycle > 2:
            found["accuracy"] = {"ceiling of tied scores": tied_ceiling(self.config.cycle, self.config.n_symbols)}
        return found

    def _batch(self, rng: np.random.Generator, split: Split, rows: int) -> Batch:
        config = self.config
        if config.form == "pairs":
            tokens = draw(split, rows, lambda n: _pairs(config, rng, n))
            return _answered(tokens, _asked_key(tokens))
        tokens = draw(split, rows, lambda n: _named(config, rng, n))
        names = tokens[..., 0]
        asked = _next_of(names, config.cycle) if config.form == "cycles" else tokens[..., 2:]
        return _answered(tokens, _place_of(names, asked))


def tied_ceiling(cycle: int, symbols: int) -> float:
    """Highest expected accuracy of a directed look-up on cycles with symmetric scores.

    Of a look-up that answers with the payload of the token of largest weight, where each token weighs all tokens by
    scores of the two names, s(a, b) = s(b, a), as one attention layer does whose queries are its keys. Along a cycle
    a, b, c, ..., z of three or more names, all right would mean s(a, b) < s(b, c) < ... < s(z, a) < s(a, b), since each
    name prefers the next one to the one before: a contradiction, so at least one name of each cycle looks at a wrong
    token. The payload there is drawn independently of the one asked for, and so is right once in `symbols`. Scores that
    rise along the cycle lose exactly one. Hence (cycle - 1) / cycle + 1 / (cycle * symbols), which is 2/3 + 1/36 for 3
    names and 12 payloads.

    A soft look-up adds up the weights of the tokens that have the same payload, so that others can outvote a wrong
    token: with 12 names, scores can be made by hand that give 0.753 in place of 0.694 then. The ceiling is proved of
    the order of the weights only.

    Args:
        cycle: names in a cycle, 3 or more. With 2, symmetric scores are enough and there is no ceiling.
        symbols: different payloads.
    """
    assert cycle > 2, "no ceiling"
    return (cycle - 1) / cycle + 1 / (cycle * symbols)


def _pairs(config: LookUpConfig, rng: np.random.Generator, n: int) -> Integers:
    """Sequences (n, P + 1, 2) of keys 0, 1, ... and values 0, 1, ..., the last of which is the question mark."""
    keys = _shuffled(rng, n, config.n_keys)[:, : config.pairs]
    query = keys[np.arange(n), rng.integers(config.pairs, size=n)]
    values = rng.integers(config.n_symbols, size=(n, config.pairs + 1))
    values[:, -1] = config.n_symbols
    return np.stack([np.column_stack([keys, query]), values], axis=2)


def _named(config: LookUpConfig, rng: np.random.Generator, n: int) -> Integers:
    """Sequences (n, T, 2) or (n, T, 2 + K) of every name with a payload, and with the names that it asks for."""
    names = _shuffled(rng, n, config.names)
    payloads = rng.integers(config.n_symbols, size=names.shape)
    asked = [rng.integers(config.names, size=names.shape) for _ in range(len(_input_sizes(config)) - 2)]
    return np.stack([names, payloads, *asked], axis=2)


def _shuffled(rng: np.random.Generator, n: int, numbers: int) -> Integers:
    """(n, numbers) rows of 0, 1, ... in random order."""
    return rng.permuted(np.tile(np.arange(numbers), (n, 1)), axis=1)


def _asked_key(tokens: Integers) -> Integers:
    """Place of the key that the last token asks for, at the last position: (B, T, 2) to (B, T)."""
    keys = tokens[..., 0]
    at = np.full(keys.shape, NOWHERE)
    at[:, -1] = np.argmax(keys[:, :-1] == keys[:, -1:], axis=1)
    return at


def _next_of(names: Integers, cycle: int) -> Integers:
    """The next name in the cycle of each name; same shape."""
    return names - names % cycle + (names + 1) % cycle


def _place_of(names: Integers, asked: Integers) -> Integers:
    """Where each name asked for stands: names (B, T), each once in a row, asked (B, T) or (B, T, K) to its shape."""
    places = np.argsort(names, axis=1)
    return np.take_along_axis(places, asked.reshape(len(asked), -1), axis=1).reshape(asked.shape)


def _answered(tokens: Integers, at: Integers) -> Batch:
    """Batch of tokens (B, T, F) whose answers are the values at the places `at`, (B, T) or (B, T, K)."""
    values, flat = tokens[..., 1], at.reshape(len(at), -1)
    targets = np.take_along_axis(values, flat, axis=1).reshape(at.shape)  # NOWHERE, -1, takes the last: not kept
    here = np.arange(tokens.shape[1]).reshape(-1, *[1] * (at.ndim - 2))
    asked = at != NOWHERE
    return {
        "inputs": torch.from_numpy(tokens),
        "targets": torch.from_numpy(np.where(asked, targets, IGNORE)),
        "distance": torch.from_numpy(np.where(asked, np.abs(at - here), NO_DISTANCE)),
        "answer_at": torch.from_numpy(at),
    }


def _input_sizes(config: LookUpConfig) -> tuple[int, ...]:
    """Different values of each factor of a token."""
    match config.form:
        case "pairs":
            return config.n_keys, config.n_symbols + 1
        case "cycles":
            return config.names, config.n_symbols
        case "several":
            return config.names, config.n_symbols, *[config.names] * config.look_ups


def _length(config: LookUpConfig) -> int:
    """Tokens of a sequence."""
    return config.pairs + 1 if config.form == "pairs" else config.names


def _different(config: LookUpConfig) -> int:
    """Number of different sequences."""
    if config.form == "pairs":
        return math.perm(config.n_keys, config.pairs) * config.n_symbols**config.pairs * config.pairs
    asked = config.names ** (config.names * config.look_ups) if config.form == "several" else 1
    return math.factorial(config.names) * config.n_symbols**config.names * asked
