import pytest

from datamodules.vocabulary import END, PAD, START, Words


def test_words_get_ids_after_the_special_tokens() -> None:
    words = Words(["das", "mädchen", "schlief"])
    assert words.size == 6
    assert [ids.tolist() for ids in words.encode(["mädchen schlief", "das"])] == [[4, 5], [3]]
    assert words.decode([3, 4, 5]) == "das mädchen schlief"
    assert {PAD, START, END} == {0, 1, 2}


def test_an_unknown_word_is_an_error() -> None:
    with pytest.raises(KeyError):
        Words(["das"]).encode(["dass"])
