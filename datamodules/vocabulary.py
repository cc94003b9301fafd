"""Between text and token ids."""

from collections.abc import Iterable
from typing import Protocol

import numpy as np

from datamodules.splits import Integers

PAD, START, END, UNKNOWN = range(4)  # ids of the special tokens; closed vocabularies have no UNKNOWN


class Vocabulary(Protocol):
    """Text to ids and back, without start and end."""

    size: int

    def encode(self, texts: list[str]) -> list[Integers]:
        """Ids of each text, (T,) each."""

    def decode(self, ids: list[int]) -> str:
        """Text of ids, none of which is special."""


class Words:
    """A closed vocabulary: one id a word; words are separated by blanks."""

    def __init__(self, words: Iterable[str]) -> None:
        self._words = ["<pad>", "<s>", "</s>", *words]
        self._ids = {word: index for index, word in enumerate(self._words)}
        self.size = len(self._words)

    def encode(self, texts: list[str]) -> list[Integers]:
        """Ids of each text; a word that is not in the vocabulary is an error of the caller (KeyError)."""
        return [np.array([self._ids[word] for word in text.split(" ")], dtype=np.int64) for text in texts]

    def decode(self, ids: list[int]) -> str:
        """Words with blanks between."""
        return " ".join(self._words[index] for index in ids)
