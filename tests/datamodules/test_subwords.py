import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from datamodules import subwords
from datamodules.errors import DataError
from datamodules.subwords import Subwords, load_or_train, train
from datamodules.vocabulary import UNKNOWN

LINES = ["Der alte Mann schläft.", "die größte Übung, ja!", "zwei Mädchen hören Vögel", "süß & schön"] * 3


def test_round_trip_with_umlauts_and_without_marks() -> None:
    model = Subwords(train(LINES, 60))
    texts = [*LINES[:4], "Die schönste Übung hört der Mann!"]
    ids = model.encode(texts)
    assert [model.decode(list(row)) for row in ids] == texts
    assert all(UNKNOWN not in row for row in ids)
    assert all(0 <= token < 60 for row in ids for token in row)
    assert model.size == 60


def test_a_character_that_training_lacks_is_unknown_and_leaves_no_trace_in_text() -> None:
    model = Subwords(train(LINES, 60))
    ids = model.encode(["der Mann 漢"])[0].tolist()
    assert ids.count(UNKNOWN) == 1
    assert model.decode(ids) == "der Mann"


def test_common_words_become_one_piece() -> None:
    model = Subwords(train(["haus baum"] * 50 + ["hund"], 22))
    assert len(model.encode(["haus"])[0]) < len(model.encode(["hund"])[0])


def test_training_is_deterministic_and_quiet(capfd: pytest.CaptureFixture[str]) -> None:
    assert train(LINES, 60) == train(LINES, 60)
    assert capfd.readouterr() == ("", "")


def test_a_size_that_the_text_does_not_allow_says_which_it_allows() -> None:
    with pytest.raises(
        DataError, match=r"^vocabulary=4000: must be at most \d+ for a training text this small$"
    ) as most:
        train(LINES, 4000)
    largest = int(str(most.value).split("at most ")[1].split()[0])
    assert Subwords(train(LINES, largest)).size == largest
    with pytest.raises(DataError, match=r"^vocabulary=9: must be at least \d+ for the characters of the ") as least:
        train(LINES, 9)
    smallest = int(str(least.value).split("at least ")[1].split()[0])
    assert Subwords(train(LINES, smallest)).size == smallest


def test_no_text_is_refused_in_one_line() -> None:
    with pytest.raises(DataError, match=r"^vocabulary=60: refused by sentencepiece: .*$"):
        train([], 60)


def test_a_model_is_trained_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = load_or_train(LINES, 60)
    (kept,) = (cache / "subwords").glob("*.model")
    assert not list((cache / "subwords").glob("*.part"))

    def fail(lines: list[str], vocabulary: int) -> bytes:
        raise AssertionError("trained again")

    monkeypatch.setattr(subwords, "train", fail)
    second = load_or_train(list(LINES), 60)
    assert [ids.tolist() for ids in first.encode(LINES)] == [ids.tolist() for ids in second.encode(LINES)]
    with pytest.raises(AssertionError, match="trained again"):
        load_or_train(LINES, 61)
    with pytest.raises(AssertionError, match="trained again"):
        load_or_train(LINES[1:], 60)
    assert list((cache / "subwords").glob("*.model")) == [kept]


def test_of_several_at_once_one_trains_and_the_others_wait(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trained = []

    def slow(lines: list[str], vocabulary: int) -> bytes:
        trained.append(vocabulary)
        time.sleep(0.2)
        return train(lines, vocabulary)

    monkeypatch.setattr(subwords, "train", slow)
    with ThreadPoolExecutor(4) as pool:
        sizes = list(pool.map(lambda _: load_or_train(LINES, 60).size, range(4)))
    assert (sizes, trained) == ([60] * 4, [60])


def test_a_failed_training_leaves_no_model(cache: Path) -> None:
    with pytest.raises(DataError):
        load_or_train(LINES, 4000)
    assert not list(cache.glob("**/*.model"))


def test_a_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ABLATIONS_CACHE", str(tmp_path / "file"))
    with pytest.raises(DataError, match=r"Not a directory; set ABLATIONS_CACHE to a folder that can be written$"):
        load_or_train(LINES, 60)


def test_without_a_setting_the_cache_is_in_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ABLATIONS_CACHE", raising=False)
    monkeypatch.chdir(tmp_path)
    load_or_train(LINES, 60)
    assert len(list((tmp_path / "runs/.cache/subwords").glob("*.model"))) == 1
