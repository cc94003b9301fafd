"""Masked: tokens hidden from the reader, to be told from their neighbours.

Shapes: B batch, T length, N sequences, M masks of a sequence, V vocabulary.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np
import torch

from datamodules.base import IGNORE, NO_DISTANCE, NOWHERE, Batch, Held, TaskConfig, TaskData, portions
from datamodules.errors import DataError, check_choice, check_integer, check_unused
from datamodules.markov import Source, check_source, check_variety, joined
from datamodules.splits import ENOUGH, Integers, Split, draw, generator

Form = Literal["source", "copy-right", "copy-left"]
APART = 3  # from mask to mask, so that the neighbours of a mask are never masked


@dataclass(frozen=True, kw_only=True)
class MaskedConfig(TaskConfig):
    """Settings of the task `masked`."""

    form: Form = "source"
    """source: sequences of the Markov source of the task `markov`, where both neighbours say something of a hidden
    token. copy-right, copy-left: random tokens, where the answer is the right or the left neighbour, renamed by a fixed
    permutation, and the other neighbour says nothing."""

    length: int = 24
    """Tokens of a sequence."""

    vocabulary: int = 16
    """Different tokens, the mask not counted."""

    temperature: float = 0.5
    """That of the source, as in the task `markov`."""

    source_seed: int = 3
    """Seed of the source, or of the permutation."""

    validation_size: int = 512
    """Sequences."""

    test_size: int = 3000
    """Sequences."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("form", self.form, get_args(Form))
        check_integer("length", self.length, APART + 2)
        check_integer("validation_size", self.validation_size, 1)
        check_integer("test_size", self.test_size, 1)
        check_source(self.vocabulary, self.temperature, self.source_seed)
        if self.form == "source":
            source = Source(self.vocabulary, self.temperature, self.source_seed)
            check_variety(source, self.temperature, self.length)
        else:
            self._check_copies()

    def _check_copies(self) -> None:
        check_unused("temperature", self.temperature, MaskedConfig.temperature, f"has no effect with form={self.form}")
        seen = self.length - self.n_masks
        if self.vocabulary**seen < ENOUGH:
            raise DataError(
                f"vocabulary={self.vocabulary}: must be larger, or the length: {self.vocabulary**seen} sequences of"
                f" {seen} tokens in sight are too few for splits that share none, at least {ENOUGH} are needed"
            )

    @property
    def n_masks(self) -> int:
        """Masks of a sequence; neither its first nor its last token is hidden."""
        return (self.length - 2) // APART


class Masked(TaskData[MaskedConfig]):
    """Every third token is hidden and asked for.

    Example (length = 9, first mask at 2; `M` is the mask, token `vocabulary`)::

        source, 12 1 1 7 0 7 12 1 12    inputs      12  1  M  7  0  M 12  1 12
                                        targets      .  .  1  .  .  7  .  .  .

        copy-right, renamed by + 1      inputs       3  9  M  2  6  M  1  4  5
                                        targets      .  .  3  .  .  2  .  .  .
                                        distance     .  .  1  .  .  1  .  .  .
                                        answer_at    .  .  3  .  .  6  .  .  .

    Predicted: the hidden token, at each mask. The first mask of a sequence stands at place 1, 2 or 3; the neighbours of
        a mask are always in sight.
    Chance: 1 / vocabulary.
    Oracle: exact. Form source: a reader of both sides has a loss of 0.7437 and an accuracy of 0.7609 at best, one who
        sees only the past 1.4329, the entropy rate, and 0.5246 (default source). Nothing beyond the neighbours adds to
        this: a token of a Markov chain depends on the rest through them alone. `references` has these on the test
        items, by what the source says of each answer. Copies: 1.0 for who sees the neighbour, chance for who does not;
        a causal model in copy-right has no lower loss than ln vocabulary.
    Distance: 1 in the copies, none in the form source, where both neighbours count.
    """

    Config: ClassVar[type[TaskConfig]] = MaskedConfig
    kind = "tagging"
    headline = ("loss", "accuracy")
    version = "masked-1"

    def __init__(self, config: MaskedConfig, *, seed: int, steps: int, batch_size: int, batch_tokens: int = 0) -> None:
        super().__init__(config, seed=seed, steps=steps, batch_size=batch_size, batch_tokens=batch_tokens)
        self.source = Source(config.vocabulary, config.temperature, config.source_seed)
        self.renamed = np.random.default_rng(config.source_seed).permutation(config.vocabulary)
        self.input_sizes = (config.vocabulary + 1,)
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
        """Loss and accuracy of the best answers by both neighbours and by the left one, scored on the test items.

        {} for the copies, where these are 0 and 1, or chance.
        """
        if self.config.form != "source":
            return {}
        assert self._held is not None, "setup() comes first"
        inputs, targets = (joined(self._held["test"][0], key) for key in ("inputs", "targets"))
        row, place = np.nonzero(targets != IGNORE)
        left, answer, right = inputs[row, place - 1], targets[row, place], inputs[row, place + 1]
        chances = {
            "Bayes, both sides": self.source.between(left, right),
            "Bayes, left side": self.source.transitions[left],
        }
        item = np.arange(len(answer))
        return {
            "loss": {name: float(-np.log(p[item, answer]).mean()) for name, p in chances.items()},
            "accuracy": {name: float((p.argmax(1) == answer).mean()) for name, p in chances.items()},
        }

    def _batch(self, split: Split, rows: int, rng: np.random.Generator) -> Batch:
        inputs, targets = draw(split, rows, lambda n: self._propose(rng, n)).transpose(1, 0, 2)
        batch = {"inputs": inputs, "targets": targets}
        if self.config.form != "source":
            asked = targets != IGNORE
            batch["distance"] = np.where(asked, 1, NO_DISTANCE)
            batch["answer_at"] = np.where(asked, np.arange(self.config.length) + self._side, NOWHERE)
        return {name: torch.from_numpy(array.copy()) for name, array in batch.items()}

    @property
    def _side(self) -> int:
        """From a mask to the neighbour with its answer."""
        return 1 if self.config.form == "copy-right" else -1

    def _propose(self, rng: np.random.Generator, n: int) -> Integers:
        """Items (N, 2, T), a row of inputs and one of targets."""
        first = rng.integers(1, APART + 1, size=(n, 1))
        masks = first + APART * np.arange(self.config.n_masks)  # (N, M)
        row = np.arange(n)[:, None]
        tokens = self._tokens(rng, row, masks)
        targets = np.full_like(tokens, IGNORE)
        targets[row, masks] = tokens[row, masks]
        tokens[row, masks] = self.config.vocabulary
        return np.stack([tokens, targets], axis=1)

    def _tokens(self, rng: np.random.Generator, row: Integers, masks: Integers) -> Integers:
        """Sequences (N, T) that have the answers at masks (N, M); row (N, 1) is 0, 1, ..., N - 1."""
        if self.config.form == "source":
            return self.source.sequences(rng, len(row), self.config.length)
        tokens = rng.integers(self.config.vocabulary, size=(len(row), self.config.length))
        tokens[row, masks] = self.renamed[tokens[row, masks + self._side]]
        return tokens
