"""Order: repeat another token of the sequence, named by its place.

Shapes: B batch, T length.
"""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal, get_args

import numpy as np
import torch

from datamodules.base import IGNORE, NO_DISTANCE, NOWHERE, Batch, Held, TaskConfig, TaskData, portions
from datamodules.errors import DataError, check_choice, check_integer, check_unused
from datamodules.oracles import Chances, accuracy_of, largest_count
from datamodules.splits import ENOUGH, Integers, Split, draw, generator

Target = Literal["next", "previous", "offset", "reverse", "first"]


@dataclass(frozen=True, kw_only=True)
class OrderConfig(TaskConfig):
    """Settings of the task `order`."""

    target: Target = "next"
    """Which token is asked for at each position: the next one, the previous one, the one `offset` places back, the one
    at the same place from the other end, the first one."""

    offset: int = 3
    """How many places back (negative: ahead), with target = offset."""

    length: int = 16
    """Tokens of a sequence."""

    shortest: int | None = None
    """If given, training lengths are drawn from this to `length`, one a batch."""

    vocabulary: int = 16
    """Different tokens."""

    test_lengths: tuple[int, ...] = ()
    """Lengths of extra test sets, of which only the positions beyond `length` count."""

    validation_size: int = 512
    """Sequences."""

    test_size: int = 2048
    """Sequences, of each length."""

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "test_lengths", tuple(self.test_lengths))
        check_choice("target", self.target, get_args(Target))
        check_integer("length", self.length, 2)
        check_integer("vocabulary", self.vocabulary, 2)
        check_integer("validation_size", self.validation_size, 1)
        check_integer("test_size", self.test_size, 1)
        self._check_offset()
        self._check_lengths()

    def _check_offset(self) -> None:
        if self.target != "offset":
            check_unused("offset", self.offset, OrderConfig.offset, f"has no effect with target={self.target}")
        elif isinstance(self.offset, bool) or not isinstance(self.offset, int) or self.offset == 0:
            raise DataError(f"offset={self.offset!r}: must be an integer other than 0")

    def _check_lengths(self) -> None:
        if self.shortest is not None:
            check_integer("shortest", self.shortest, 2)
            if self.shortest > self.length:
                raise DataError(f"shortest={self.shortest}: must be at most length={self.length}")
        for length in self.test_lengths:
            check_integer("test_lengths", length, self.length + 1)
        if len(set(self.test_lengths)) < len(self.test_lengths):
            raise DataError(f"test_lengths={self.test_lengths!r}: must differ from one another")
        least = self.length if self.shortest is None else self.shortest
        if self.target == "offset" and abs(self.offset) >= least:
            raise DataError(f"offset={self.offset}: must be within the shortest length, {least}")
        if self.vocabulary**least < ENOUGH:
            raise DataError(
                f"vocabulary={self.vocabulary}: must be larger, or the length: {self.vocabulary**least} sequences of"
                f" {least} tokens are too few for splits that share none, at least {ENOUGH} are needed"
            )


class Order(TaskData[OrderConfig]):
    """Every position has to give the token of another place of the sequence.

    Example (length = 5)::

        inputs              7  2  9  2  4
        targets, next       2  9  2  4  .
        targets, previous   .  7  2  9  2
        targets, offset 3   .  .  .  7  2
        targets, reverse    4  2  9  2  7
        targets, first      7  7  7  7  7
        distance, reverse   4  2  0  2  4
        answer_at, reverse  4  3  2  1  0

    Predicted: that token, at every position that has one.
    Chance: 1 / vocabulary.
    Oracle: 1.0 with order. Without it, `bag_oracle`: the most frequent of the other tokens (0.1966 for 16 tokens out of
        16; 0.327 if the task is `previous` and only the past is seen). A causal model has no better than chance for
        `next`, nor for the first half of `reverse`.
    Distance: |i - j| for a token asked for at i that stands at j: 1 for `next` and `previous`, the offset for `offset`,
        different from position to position for `reverse` and `first`.
    """

    Config: ClassVar[type[TaskConfig]] = OrderConfig
    kind = "tagging"
    headline = ("loss", "accuracy")
    version = "order-1"

    def __init__(self, config: OrderConfig, *, seed: int, steps: int, batch_size: int, batch_tokens: int = 0) -> None:
        super().__init__(config, seed=seed, steps=steps, batch_size=batch_size, batch_tokens=batch_tokens)
        self.input_sizes = (config.vocabulary,)
        self.output_size = config.vocabulary
        self.chance = 1 / config.vocabulary

    def training_batch(self, index: int) -> Batch:
        """Batch `index`: sequences of one length."""
        rng = generator("train", self.seed, index)
        shortest = self.config.length if self.config.shortest is None else self.config.shortest
        return self._batch(rng, "train", self.batch_size, int(rng.integers(shortest, self.config.length + 1)))

    def evaluation_batches(self, split: Held) -> list[list[Batch]]:
        """The set of the training length; for the test, a second list with the sets of the other lengths."""
        if split == "validation":
            return [self._set(split, self.config.validation_size, self.config.length)]
        sets = [self._set(split, self.config.test_size, self.config.length)]
        extra = [batch for length in self.config.test_lengths for batch in self._extra_set(length)]
        return [*sets, extra] if extra else sets

    def references(self) -> dict[str, dict[str, float]]:
        """Accuracy of `bag_oracle` on the test set, for each reader for which it is the best without order."""
        assert self._held is not None, "setup() comes first"
        batches = self._held["test"][0]
        found = {
            name: accuracy_of(partial(bag_oracle, causal=causal), batches)
            for name, causal in _bags(self.config).items()
        }
        return {"accuracy": found} if found else {}

    def _set(self, split: Held, items: int, length: int) -> list[Batch]:
        seed = self.config.data_seed
        return [
            self._batch(generator(split, seed, length, index), split, rows, length)
            for index, rows in enumerate(portions(items, length))
        ]

    def _extra_set(self, length: int) -> list[Batch]:
        """Sequences longer than those of training, of which only the places that training never had count."""
        batches = self._set("test", self.config.test_size, length)
        for batch in batches:
            batch["coordinate"] = f"length={length}"
            batch["targets"][:, : self.config.length] = IGNORE
            batch["distance"][:, : self.config.length] = NO_DISTANCE
            batch["answer_at"][:, : self.config.length] = NOWHERE
        return batches

    def _batch(self, rng: np.random.Generator, split: Split, rows: int, length: int) -> Batch:
        tokens = draw(split, rows, lambda n: rng.integers(self.config.vocabulary, size=(n, length)))
        here = np.arange(length)
        there = _place(self.config, here)
        exists = (there >= 0) & (there < length)
        targets = np.where(exists, tokens[:, np.where(exists, there, 0)], IGNORE)
        distance = np.where(exists, np.abs(there - here), NO_DISTANCE)
        return {
            "inputs": torch.from_numpy(tokens),
            "targets": torch.from_numpy(targets),
            "distance": torch.from_numpy(np.tile(distance, (rows, 1))),
            "answer_at": torch.from_numpy(np.tile(np.where(exists, there, NOWHERE), (rows, 1))),
        }


def bag_oracle(inputs: Integers, targets: Integers, *, causal: bool) -> Chances:
    """How often the most frequent of the other tokens seen is right; the best that is possible without order.

    It holds where the answer is equally likely to be any of the other tokens seen: `next`, `previous`, `offset` and
    (for an even length) `reverse` seen whole; `previous` and `offset` (back, not ahead) seen causally.

    Args:
        inputs: (B, T) tokens of one batch.
        targets: (B, T), IGNORE where nothing is asked.
        causal: position i sees positions 0 to i only.

    Returns:
        (N,) for the N targets of the batch, row by row: 1, 0, or 1 / k where k tokens are equally frequent.
    """
    tokens = np.eye(max(inputs.max(), targets.max()) + 1, dtype=np.int64)[inputs]
    seen = tokens.cumsum(axis=1) if causal else tokens.sum(axis=1, keepdims=True)
    asked = targets != IGNORE
    return largest_count((seen - tokens)[asked], targets[asked])


def _bags(config: OrderConfig) -> dict[str, bool]:
    """Readers for which `bag_oracle` holds: name, and whether they see the past only."""
    back = config.target == "previous" or (config.target == "offset" and config.offset > 0)
    of_another = config.target in ("next", "previous", "offset")  # at no position the token that stands there itself
    of_another |= config.target == "reverse" and config.length % 2 == 0
    return ({"bag of tokens": False} if of_another else {}) | ({"bag of earlier tokens": True} if back else {})


def _place(config: OrderConfig, here: Integers) -> Integers:
    """Place of the token asked for at each position, perhaps outside the sequence: (T,) to (T,)."""
    match config.target:
        case "next":
            return here + 1
        case "previous":
            return here - 1
        case "offset":
            return here - config.offset
        case "reverse":
            return here[::-1].copy()
        case "first":
            return np.zeros_like(here)
