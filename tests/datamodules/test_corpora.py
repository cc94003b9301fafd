"""Each kind of corpus by its name, alone and joined."""

import gzip
from pathlib import Path

import pytest

from datamodules import corpora
from datamodules.corpora import Names, as_names, check_names, read_corpora
from datamodules.errors import DataError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One corpus of every kind of file."""
    (tmp_path / "news").mkdir()
    (tmp_path / "news" / "2014.de").write_text("eins\nzwei\n")
    (tmp_path / "news" / "2014.en.gz").write_bytes(gzip.compress(b"one\ntwo\n"))
    (tmp_path / "news" / "2015-deen-src.de").write_text("drei\n")
    (tmp_path / "news" / "2015-deen-ref.en").write_text("three\n")
    (tmp_path / "talk.txt").write_text("vier\tfour\n")
    (tmp_path / "help.tsv.gz").write_bytes(gzip.compress(b"page\tid\t\tfive\tf\xc3\xbcnf\n"))
    return tmp_path


def _read(folder: Path, names: Names) -> list[tuple[str, str]]:
    return list(zip(*read_corpora(names, ("de", "en"), "train", folder.joinpath), strict=True))


@pytest.mark.parametrize(
    ("name", "pairs"),
    [
        ("news/2014", [("eins", "one"), ("zwei", "two")]),
        ("news/2015", [("drei", "three")]),
        ("talk.txt", [("vier", "four")]),
        ("talk.txt:2:1", [("four", "vier")]),
        ("help.tsv:5:4", [("fünf", "five")]),
        ("help.tsv.gz:5:4", [("fünf", "five")]),
    ],
)
def test_a_corpus_by_name(folder: Path, name: str, pairs: list[tuple[str, str]]) -> None:
    assert _read(folder, name) == _read(folder, (name,)) == pairs
    assert _read(Path("/nowhere"), str(folder / name)) == pairs


def test_corpora_are_joined_in_the_order_given(folder: Path) -> None:
    names = ("help.tsv:5:4", "news/2014", "talk.txt", "news/2015")
    assert [source for source, _ in _read(folder, names)] == ["fünf", "eins", "zwei", "vier", "drei"]
    assert [target for _, target in _read(folder, names)] == ["five", "one", "two", "four", "three"]


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("hub:sets/talk", ("sets/talk", "", "train")),
        ("hub:talk:de-en", ("talk", "de-en", "train")),
        ("hub:talk::dev", ("talk", "", "dev")),
        ("hub:talk.tsv:de-en:train[:5%]", ("talk.tsv", "de-en", "train[:5%]")),
    ],
)
def test_names_of_the_hub(monkeypatch: pytest.MonkeyPatch, name: str, asked: tuple[str, str, str]) -> None:
    def read(*arguments: object) -> list[list[str]]:
        assert arguments == (*asked, ("de", "en"))
        return [["eins"], ["one"]]

    monkeypatch.setattr(corpora, "read_hub", read)
    check_names("train", name)
    assert _read(Path("/nowhere"), name) == [("eins", "one")]


def test_what_is_missing(folder: Path) -> None:
    messages: dict[str, str] = {
        "news/2016": f"{folder}/news/2016.de: no such file, packed (.gz) or not",
        "talk.tsv": f"{folder}/talk.tsv: no such file, packed (.gz) or not",
        "old/2014": f"{folder}/old: no such folder",
        "help.tsv:5:6": f"{folder}/help.tsv.gz:1: columns=5 (by tabs): must be at least 6",
    }
    for name, message in messages.items():
        with pytest.raises(DataError) as caught:
            _read(folder, ("news/2014", name))
        assert str(caught.value) == message


COLUMNS = "must end in two different columns, counted from 1, such as .tsv:1:2"


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("", "train='': must be the name of a corpus, or several"),
        ((), "train=(): must be the name of a corpus, or several"),
        (("a", ""), "train=('a', ''): must be the name of a corpus, or several"),
        (("a", "b", "a"), "train=('a', 'b', 'a'): a corpus stands there twice"),
        (("a", "b.tsv:1"), f"train='b.tsv:1': {COLUMNS}"),
        ("b.txt:0:2", f"train='b.txt:0:2': {COLUMNS}"),
        ("b.tsv.gz:2:2", f"train='b.tsv.gz:2:2': {COLUMNS}"),
        ("b.tsv:de:en", f"train='b.tsv:de:en': {COLUMNS}"),
        ("b.tsv:", f"train='b.tsv:': {COLUMNS}"),
    ],
)
def test_wrong_names_are_refused(names: Names, message: str) -> None:
    with pytest.raises(DataError) as caught:
        check_names("train", names)
    assert str(caught.value) == message


def test_one_name_is_several() -> None:
    check_names("train", ("a", "b.tsv:12:3", "hub:c"))
    assert (as_names("ab"), as_names(("a", "b"))) == (("ab",), ("a", "b"))
