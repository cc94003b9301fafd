import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from datamodules import subwords
from datamodules.errors import DataError
from datamodules.subwords import Subwords, load_or_train, train
from datamodules.vocabulary import UNKNOWN
from tests.datamodules.samples import ROOT

LINES = ["Der alte Mann schläft.", "die größte Übung, ja!", "zwei Mädchen hören Vögel", "süß & schön"] * 3


def test_round_trip_with_umlauts_and_without_marks() -> None:
    model = Subwords(train(LINES, 60))
    texts = [*LINES[:4], "Die schönste Übung hört der Mann!"]
    ids = model.encode(texts)
    assert [model.decode(list(row)) for row in ids] == texts
    assert all(UNKNOWN not in row for row in ids)
    assert all(0 <= token < 60 for row in ids for token in row)
    assert model.size == 60


def test_brackets_survive_a_round_trip() -> None:
    """HB-36."""
    line = "[MAX 4 3 [MIN 2 3 ] 1 0 [MEDIAN 1 5 8 9 2 ] ]"
    model = Subwords(train([line] * 3, 30))
    (ids,) = model.encode([line])
    assert model.decode(list(ids)) == line


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


SCRIPT = """
import sys, time, types
from pathlib import Path
package = types.ModuleType("datamodules")  # without the tasks, and so without torch: half a second in place of five
package.__path__ = ["datamodules"]
sys.modules["datamodules"] = package
from datamodules import subwords
here, name = Path(sys.argv[1]), sys.argv[2]
(here / f"{name}.ready").touch()
while len(list(here.glob("*.ready"))) < 2:
    time.sleep(0.01)
train = subwords.train
def slow(lines, vocabulary):
    (here / f"{name}.trained").touch()
    time.sleep(0.5)
    return train(lines, vocabulary)
subwords.train = slow
print(subwords.load_or_train(["zwei alte Hunde laufen", "ein kleiner Ball"] * 5, 40).size)
"""


def test_of_two_processes_at_once_one_trains_and_the_other_waits(tmp_path: Path, cache: Path) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", SCRIPT, str(tmp_path), name],
            cwd=ROOT,
            env={**os.environ, "ABLATIONS_CACHE": str(cache)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in ("one", "two")
    ]
    assert [process.communicate(timeout=120) for process in processes] == [("40\n", "")] * 2
    assert len(list(tmp_path.glob("*.trained"))) == 1
    assert [path.suffix for path in sorted((cache / "subwords").iterdir())] == [".lock", ".model"]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: b"",
        lambda data: data[:7],
        lambda data: data[:-1],
        lambda data: data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1 :],
        lambda data: data[32:],
    ],
)
def test_a_torn_or_changed_file_in_the_cache_is_made_anew(cache: Path, spoil: Callable[[bytes], bytes]) -> None:
    first = load_or_train(LINES, 60)
    (path,) = (cache / "subwords").glob("*.model")
    whole = path.read_bytes()
    path.write_bytes(spoil(whole))
    again = load_or_train(LINES, 60)
    assert path.read_bytes() == whole
    assert [ids.tolist() for ids in first.encode(LINES)] == [ids.tolist() for ids in again.encode(LINES)]


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
