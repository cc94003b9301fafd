"""What tasks of the kind `translation` share: sentence pairs, their batches, and contrastive pairs.

A batch has source and source_real (B, S); target and target_real (B, T), the sentence after START; targets (B, T), the
sentence before END, with IGNORE on padding. Every source ends with END, so that none is empty. Evaluation batches also
carry the original strings, `sources` and `references`. A contrastive batch has, besides, wrong, wrong_real and
wrong_targets (B, U), made like the target, distance (B,) int64 with NO_DISTANCE where there is none, and category (B
strings).

Shapes: N sentences, B batch, S source length, T target length, U length of the wrong target.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from datamodules.base import IGNORE, Batch, ConfigT, TaskData
from datamodules.batching import Batches, cut, pad
from datamodules.splits import Integers
from datamodules.vocabulary import END, PAD, START, Vocabulary

SENTENCES_A_BATCH = 100  # in evaluation, and of long sentences as many as fit into
TOKENS_A_BATCH = 4096  # tokens of the longest side, padding counted: bounds the memory
SIDES = ("source", "target", "wrong")


class Pairs(NamedTuple):
    """Sentence pairs as text."""

    sources: list[str]
    references: list[str]


class Contrast(NamedTuple):
    """A source with a right and a wrong translation."""

    source: str
    right: str
    wrong: str
    distance: int
    """Between the two ends of what the wrong one gets wrong, in words; NO_DISTANCE where that is not known."""
    category: str


class ParallelData(TaskData[ConfigT]):
    """Base class of translation tasks: a subclass says which pairs there are and how text becomes ids.

    `load` has to set the two vocabularies; `training_pairs` and `evaluation_batches` say what the batches are made of.
    """

    kind = "translation"
    start = START
    end = END

    source_vocabulary: Vocabulary
    target_vocabulary: Vocabulary

    @abstractmethod
    def load(self) -> None:
        """Set source_vocabulary and target_vocabulary."""

    @abstractmethod
    def training_pairs(self) -> tuple[list[Integers], list[Integers]]:
        """Ids of the training sentences, sources and targets; asked for once, after `load`."""

    def prepare(self) -> None:
        """Load the vocabularies and the training sentences."""
        self.load()
        self.input_sizes = (self.source_vocabulary.size,)
        self.output_size = self.target_vocabulary.size
        self._sources, self._targets = self.training_pairs()
        self._batches = Batches(
            np.array([len(source) + 1 for source in self._sources]),  # with END
            np.array([len(target) + 1 for target in self._targets]),
            batch_size=self.batch_size,
            tokens=self.batch_tokens,
            seed=self.seed,
        )
        source, target = self._batches.shares()
        self.notes += (f"real tokens, not padding, of a training batch: source {source:.1%}, target {target:.1%}",)

    def training_batch(self, index: int) -> Batch:
        """Batch `index`, counted over all epochs."""
        rows = self._batches.rows(index)
        return translation_batch([self._sources[row] for row in rows], [self._targets[row] for row in rows])

    @property
    def longest(self) -> int:
        """Most positions of a source or of a target, right or wrong, in training and evaluation; after setup."""
        training = [len(sentence) + 1 for sentence in (*self._sources, *self._targets)]  # with START or END
        held = [batch[name].shape[1] for batch in self._held_batches() for name in SIDES if name in batch]
        return max(training + held)

    def detokenise(self, ids: list[int]) -> str:
        """Text of target ids up to the first END, without special tokens and subword marks."""
        if END in ids:
            ids = ids[: ids.index(END)]
        return self.target_vocabulary.decode([index for index in ids if index not in (PAD, START)])

    def translation_batches(self, pairs: Pairs) -> list[Batch]:
        """Evaluation batches of all pairs, sentences of like length together."""
        sources = self.source_vocabulary.encode(pairs.sources)
        targets = self.target_vocabulary.encode(pairs.references)
        batches = []
        for rows in by_length(targets, sources):
            batch = translation_batch([sources[row] for row in rows], [targets[row] for row in rows])
            batch["sources"] = [pairs.sources[row] for row in rows]
            batch["references"] = [pairs.references[row] for row in rows]
            batches.append(batch)
        return batches

    def contrastive_batches(self, contrasts: Sequence[Contrast]) -> list[Batch]:
        """Evaluation batches of all contrastive items, right translations of like length together."""
        sources = self.source_vocabulary.encode([item.source for item in contrasts])
        rights = self.target_vocabulary.encode([item.right for item in contrasts])
        wrongs = self.target_vocabulary.encode([item.wrong for item in contrasts])
        if same := sum(map(np.array_equal, rights, wrongs)):
            self.notes += (
                f"warning: {same} of {len(contrasts)} contrastive items have two equal sides: counted as wrong",
            )
        batches = []
        for rows in by_length(rights, sources, wrongs):
            batch = translation_batch([sources[row] for row in rows], [rights[row] for row in rows])
            wrong = decoder_tensors([wrongs[row] for row in rows])
            batch |= dict(zip(("wrong", "wrong_real", "wrong_targets"), wrong, strict=True))
            batch["distance"] = torch.tensor([contrasts[row].distance for row in rows])
            batch["category"] = [contrasts[row].category for row in rows]
            batches.append(batch)
        return batches


def by_length(sentences: list[Integers], *others: list[Integers]) -> list[Integers]:
    """Indices of the sentences of each evaluation batch, ordered by length.

    Args:
        sentences: what they are ordered by.
        others: further sides of the same items, which count for how many go into a batch.
    """
    order = np.argsort([len(sentence) for sentence in sentences], kind="stable")
    longest = [max(len(side[row]) for side in (sentences, *others)) + 1 for row in order]  # with END
    cuts = cut(longest, TOKENS_A_BATCH, SENTENCES_A_BATCH)
    return np.split(order, cuts[1:]) if len(order) else []


def translation_batch(sources: list[Integers], targets: list[Integers]) -> Batch:
    """Batch of B sentence pairs, given as ids without START and END."""
    source, source_real = pad([np.append(sentence, END) for sentence in sources])
    target, target_real, labels = decoder_tensors(targets)
    return {
        "source": source,
        "source_real": source_real,
        "target": target,
        "target_real": target_real,
        "targets": labels,
    }


def decoder_tensors(sentences: list[Integers]) -> tuple[Tensor, Tensor, Tensor]:
    """Input of the decoder, which of it is real, and what it has to predict: (B, T) each."""
    target, real = pad([np.insert(sentence, 0, START) for sentence in sentences])
    labels, _ = pad([np.append(sentence, END) for sentence in sentences])
    return target, real, torch.where(real, labels, IGNORE)
