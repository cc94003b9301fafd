"""What tasks of the kind `translation` share: sentence pairs, their batches, and contrastive pairs.

A batch has source and source_real (B, S); target and target_real (B, T), the sentence after START; targets (B, T), the
sentence before END, with IGNORE on padding. Every source ends with END, so that none is empty. Evaluation batches also
carry the original strings, `sources` and `references`. A contrastive batch has, besides, wrong, wrong_real and
wrong_targets (B, U), made like the target, distance (B,) and category (B strings).

Shapes: N sentences, B batch, S source length, T target length, U length of the wrong target.
"""

from abc import abstractmethod
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from datamodules.base import IGNORE, Batch, ConfigT, TaskData
from datamodules.batching import Batches, pad
from datamodules.splits import Integers
from datamodules.vocabulary import END, PAD, START, Vocabulary

SENTENCES_A_BATCH = 100  # in evaluation


class Pairs(NamedTuple):
    """Sentence pairs as text."""

    sources: list[str]
    references: list[str]


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
            np.array([len(source) for source in self._sources]),
            np.array([len(target) + 1 for target in self._targets]),  # with END
            batch_size=self.batch_size,
            tokens=self.batch_tokens,
            seed=self.seed,
        )

    def training_batch(self, index: int) -> Batch:
        """Batch `index`, counted over all epochs."""
        rows = self._batches.rows(index)
        return translation_batch([self._sources[row] for row in rows], [self._targets[row] for row in rows])

    @property
    def longest(self) -> int:
        """Most positions of a source or of a target in training and evaluation; after setup."""
        training = [len(sentence) + 1 for sentence in (*self._sources, *self._targets)]  # with START or END
        held = [batch[name].shape[1] for batch in self._held_batches() for name in ("source", "target")]
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
        for rows in by_length(targets):
            batch = translation_batch([sources[row] for row in rows], [targets[row] for row in rows])
            batch["sources"] = [pairs.sources[row] for row in rows]
            batch["references"] = [pairs.references[row] for row in rows]
            batches.append(batch)
        return batches


def by_length(sentences: list[Integers]) -> list[Integers]:
    """Indices of the sentences of each evaluation batch, ordered by length."""
    order = np.argsort([len(sentence) for sentence in sentences], kind="stable")
    return [order[first : first + SENTENCES_A_BATCH] for first in range(0, len(order), SENTENCES_A_BATCH)]


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
