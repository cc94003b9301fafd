"""Characters, words and subwords of a text."""

from pathlib import Path

import numpy as np
import pytest

from datamodules.errors import DataError
from datamodules.units import Frequent, Level, encode, learn

TEXT = "b a b\n\n<unk> c b a\n"


def test_words_are_numbered_by_frequency_behind_the_unknown_one_and_the_line_end() -> None:
    units = learn("words", TEXT, 9)
    assert (units.size, units.unknown, units.line_end) == (5, 0, 1)  # b 2, a 3, c 4
    assert encode(units, TEXT).tolist() == [2, 3, 2, 1, 1, 0, 4, 2, 3, 1]


def test_words_beyond_the_vocabulary_are_unknown_and_ties_go_by_the_alphabet() -> None:
    units = learn("words", "d c b a b\n", 4)
    assert units.size == 4
    assert encode(units, "a b c d e\n").tolist() == [3, 2, 0, 0, 0, 1]


def test_characters_keep_blanks_and_know_no_unknown_word() -> None:
    units = learn("characters", TEXT, 99)
    assert units.size == 2 + len(set(TEXT)) - 1  # the newline is the line's end
    blank, b = encode(units, " b").tolist()[:2]
    assert encode(units, "b  b\n").tolist() == [b, blank, blank, b, 1]
    assert encode(units, "b?").tolist() == [b, 0, 1]


@pytest.mark.parametrize("level", ["characters", "words"])
def test_every_symbol_is_a_token_of_its_own(level: Level) -> None:
    """HB-36: brackets too."""
    line = "[MAX 4 3 [MIN 2 3 ] 1 0 [MEDIAN 1 5 8 9 2 ] ]"
    units, symbols = learn(level, line, 99), line.split() if level == "words" else list(line)
    ids = units.encode_lines([line])[0].tolist()
    assert units.unknown not in ids
    assert len(set(zip(ids, symbols, strict=True))) == len(set(ids)) == len(set(symbols))


def test_only_a_newline_ends_a_line_and_the_last_needs_none() -> None:
    units = learn("words", "a\u2028b\x85c\n", 9)
    assert encode(units, "a\u2028b\x85c").tolist() == [2, 3, 4, 1]


def test_a_text_of_empty_lines_is_line_ends() -> None:
    assert encode(Frequent([], 7, list), "\n\n\n").tolist() == [1, 1, 1]


def test_subwords_give_the_text_back(cache: Path) -> None:
    text = "the man walked home\nthe men walk home\n" * 9
    units = learn("subwords", text, 30)
    ids = encode(units, text)
    assert (units.size, int((ids == units.line_end).sum()), ids.max() < 30) == (30, 18, True)
    (line,) = units.encode_lines(["the man walked home"])
    assert np.array_equal(ids[: len(line)], line)


def test_a_text_too_small_for_its_subwords_is_refused(cache: Path) -> None:
    with pytest.raises(DataError, match=r"^vocabulary=4000: must be at most \d+"):
        learn("subwords", "a b c\n", 4000)
