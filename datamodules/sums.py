"""Sums: two numbers added modulo a third, within one token or across three.

Shapes: B batch, T length, N items, P pairs of an item.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np
import torch

from datamodules.base import IGNORE, Batch, Held, TaskConfig, TaskData, portions
from datamodules.errors import check_choice, check_integer, check_unused
from datamodules.splits import ENOUGH, Integers, draw, generator

Form = Literal["token-wise", "three-token"]


@dataclass(frozen=True, kw_only=True)
class SumsConfig(TaskConfig):
    """Settings of the task `sums`."""

    form: Form = "token-wise"
    """token-wise: both numbers in one token, their sum asked for at the same position. three-token: the numbers and an
    equals sign are three tokens, the sum is asked for at the last."""

    modulus: int = 16
    """The numbers are 0, 1, ..., modulus - 1, and so are the sums."""

    length: int = 8
    """Tokens of a sequence, with form = token-wise. 1: attention has one token to look at, so its weight is 1."""

    validation_size: int = 512
    """Sequences, unless the validation set is the whole table."""

    test_size: int = 2560
    """Sequences, unless the test set is the whole table."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("form", self.form, get_args(Form))
        check_integer("modulus", self.modulus, 2)
        for field in ("length", "validation_size", "test_size"):
            check_integer(field, getattr(self, field), 1)
        if self.form == "three-token":
            check_unused("length", self.length, SumsConfig.length, f"has no effect with form={self.form}")
        if self.exhaustive:
            for field in ("validation_size", "test_size"):
                reason = f"has no effect, the set is the table of all {self.n_items} items"
                check_unused(field, getattr(self, field), getattr(SumsConfig, field), reason)

    @property
    def n_pairs(self) -> int:
        """Sums asked for in an item."""
        return self.length if self.form == "token-wise" else 1

    @property
    def n_tokens(self) -> int:
        """Tokens of a sequence."""
        return self.length if self.form == "token-wise" else 3

    @property
    def n_items(self) -> int:
        """Different items."""
        return self.modulus ** (2 * self.n_pairs)

    @property
    def exhaustive(self) -> bool:
        """There are too few items for splits that share none: each split holds them all."""
        return self.n_items < ENOUGH


class Sums(TaskData[SumsConfig]):
    """The sum of two numbers modulo `modulus`.

    Example (modulus = 16; a token a+b is the sum of two embeddings)::

        token-wise, length = 4      inputs    3+9  15+1  8+8  0+5
                                    targets    12     0    0    5

        three-token                 inputs      9    12    =
                                    targets     .     .    5

    Predicted: (a + b) mod modulus; token-wise at every position, from that position's token alone; three-token at the
        equals sign only.
    Chance: 1 / modulus, a loss of ln modulus.
    Oracle: 1.0. A linear reader of one token, whose logits are a part that depends on a plus a part that depends on b,
        has no lower loss than ln modulus: the loss is convex in the logits and unchanged by (a, b, sum) ->
        (a + s, b + t, sum + s + t), so the mean of the best logits over all s and t is best too, and it is the same
        for every class. (Its accuracy may differ from chance by a little: at the optimum all classes tie.) This is the
        model without feed-forward and norm at length = 1, at any depth; from two tokens on, attention weights depend on
        the tokens, and the model is not linear.
    Distance: none; the answer stands at no other place.

    Exhaustive, train = test, where there are fewer than 4,096 items: with length = 1 (256 pairs) and three-token (529
    with modulus = 23). Then the validation and the test set are the whole table once, and training batches are drawn
    from it with replacement. Longer sequences are split by content, but their pairs are the same in all splits.
    """

    Config: ClassVar[type[TaskConfig]] = SumsConfig
    kind = "tagging"
    headline = ("loss", "accuracy")
    version = "sums-1"

    def __init__(self, config: SumsConfig, *, seed: int, steps: int, batch_size: int, batch_tokens: int = 0) -> None:
        super().__init__(config, seed=seed, steps=steps, batch_size=batch_size, batch_tokens=batch_tokens)
        self.input_sizes = (config.modulus,) * 2 if config.form == "token-wise" else (config.modulus + 1,)
        self.output_size = config.modulus
        self.chance = 1 / config.modulus
        if config.exhaustive:
            self.notes = (f"sums: exhaustive task, train = test: each split holds all {config.n_items} items",)
        elif config.n_pairs > 1:
            self.notes = (
                f"sums: splits share no sequence, but the same {config.modulus**2} pairs make up all of them",
            )

    def training_batch(self, index: int) -> Batch:
        """Batch `index`: random items."""
        rng = generator("train", self.seed, index)
        if self.config.exhaustive:
            return self._batch(self._propose(rng, self.batch_size))
        return self._batch(draw("train", self.batch_size, lambda n: self._propose(rng, n)))

    def evaluation_batches(self, split: Held) -> list[list[Batch]]:
        """One set: every item once, or as many items of the split as the settings say."""
        if self.config.exhaustive:
            return [[self._batch(_every_item(self.config.modulus, self.config.n_pairs))]]
        items = self.config.validation_size if split == "validation" else self.config.test_size
        sizes = portions(items, self.config.n_tokens)
        return [[self._drawn(split, index, rows) for index, rows in enumerate(sizes)]]

    def _drawn(self, split: Held, index: int, rows: int) -> Batch:
        rng = generator(split, self.config.data_seed, index)
        return self._batch(draw(split, rows, lambda n: self._propose(rng, n)))

    def _propose(self, rng: np.random.Generator, n: int) -> Integers:
        return rng.integers(self.config.modulus, size=(n, self.config.n_pairs, 2))

    def _batch(self, pairs: Integers) -> Batch:
        """Pairs (B, P, 2) as a batch."""
        sums = pairs.sum(2) % self.config.modulus
        if self.config.form == "token-wise":
            return {"inputs": torch.from_numpy(pairs), "targets": torch.from_numpy(sums)}
        equals = np.full((len(pairs), 1), self.config.modulus)
        nothing = np.full((len(pairs), 2), IGNORE)
        return {
            "inputs": torch.from_numpy(np.hstack([pairs[:, 0], equals])),
            "targets": torch.from_numpy(np.hstack([nothing, sums])),
        }


def _every_item(modulus: int, n_pairs: int) -> Integers:
    """All sequences of `n_pairs` pairs of numbers below `modulus`, in rising order: (N, P, 2)."""
    return np.indices((modulus,) * (2 * n_pairs)).reshape(2 * n_pairs, -1).T.reshape(-1, n_pairs, 2)
