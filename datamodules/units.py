"""What a text is cut into for a language model: characters, words or subwords.

A text is a file's contents; it becomes the tokens of its lines, each followed by a token for the line's end, empty
lines too. Only a newline ends a line.
"""

from collections import Counter
from collections.abc import Callable
from typing import Literal, Protocol

import numpy as np

from datamodules.parallel_text import split_lines
from datamodules.splits import Integers
from datamodules.subwords import Subwords, load_or_train
from datamodules.vocabulary import END, UNKNOWN

Level = Literal["characters", "words", "subwords"]

UNKNOWN_WORD = "<unk>"
"""What rare words are written as in some texts: the unknown token, as those beyond the vocabulary are."""


class Units(Protocol):
    """Text to tokens."""

    size: int
    unknown: int
    line_end: int

    def encode_lines(self, lines: list[str]) -> list[Integers]:
        """Ids of each line, (T,) each, without line ends."""


class Frequent:
    """The most frequent characters or words of a text; all others are one unknown token.

    Args:
        lines: the text.
        size: most tokens of the vocabulary; the first two are the unknown one and the line's end.
        cut: a line into what is counted.
    """

    unknown, line_end = range(2)

    def __init__(self, lines: list[str], size: int, cut: Callable[[str], list[str]]) -> None:
        counts = Counter(token for line in lines for token in cut(line))
        del counts[UNKNOWN_WORD]
        kept = sorted(counts, key=lambda token: (-counts[token], token))[: size - 2]
        self._cut = cut
        self._ids = {token: index for index, token in enumerate(kept, start=2)}
        self.size = 2 + len(kept)

    def encode_lines(self, lines: list[str]) -> list[Integers]:
        """Ids of each line, (T,) each, without line ends."""
        ids = self._ids
        return [np.array([ids.get(token, 0) for token in self._cut(line)], dtype=np.int64) for line in lines]


class Pieces:
    """Subwords of one vocabulary."""

    unknown, line_end = UNKNOWN, END

    def __init__(self, subwords: Subwords) -> None:
        self._subwords = subwords
        self.size = subwords.size

    def encode_lines(self, lines: list[str]) -> list[Integers]:
        """Ids of each line, (T,) each, without line ends."""
        return self._subwords.encode(lines)


def learn(level: Level, text: str, size: int) -> Units:
    """The tokens of a training text, at most `size` of them (subwords: exactly).

    Words are what stands between blanks.

    Raises:
        DataError: if the text is too small for so many subwords, or has more characters than that.
    """
    lines = split_lines(text)
    match level:
        case "characters":
            return Frequent(lines, size, list)
        case "words":
            return Frequent(lines, size, str.split)
        case "subwords":
            return Pieces(load_or_train(lines, size))


def encode(units: Units, text: str) -> Integers:
    """Ids of a whole text (T,), every line followed by its end."""
    end = np.array([units.line_end])
    lines = units.encode_lines(split_lines(text))
    return np.concatenate([part for line in lines for part in (line, end)])
