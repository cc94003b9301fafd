"""Each form of a contrastive set, small and made here; and what is refused."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from datamodules.base import NO_DISTANCE
from datamodules.contrastive import LONGEST_DISTANCE, read_contrasts
from datamodules.errors import DataError
from datamodules.parallel import Contrast

LANGUAGES = ("en", "de")


def _message(path: Path) -> str:
    with pytest.raises(DataError) as caught:
        read_contrasts(path, LANGUAGES)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def _set(folder: Path, source: str, right: str, wrong: str) -> Path:
    folder.mkdir(parents=True)
    (folder / "src.en").write_text(source)
    (folder / "tgt.correct.de.gz").write_bytes(gzip.compress(right.encode()))
    (folder / "tgt.incorrect.de").write_text(wrong)
    return folder


def test_a_folder_of_sets_and_one_set(tmp_path: Path) -> None:
    _set(tmp_path / "sets" / "verb.mt", "dogs run\na dog runs\n", "hunde laufen\nein hund läuft\n", "hunde läuft\nx\n")
    _set(tmp_path / "sets" / "affix.mt", "unhappy\n", "unglücklich\n", "glücklich\n")
    (tmp_path / "sets" / ".hidden").mkdir()
    (tmp_path / "sets" / "README").write_text("no set")
    affix = [Contrast("unhappy", "unglücklich", "glücklich", NO_DISTANCE, "affix.mt")]
    verb = [
        Contrast("dogs run", "hunde laufen", "hunde läuft", NO_DISTANCE, "verb.mt"),
        Contrast("a dog runs", "ein hund läuft", "x", NO_DISTANCE, "verb.mt"),
    ]
    assert read_contrasts(tmp_path / "sets", LANGUAGES) == affix + verb
    assert read_contrasts(tmp_path / "sets" / "verb.mt", LANGUAGES) == verb


def test_a_folder_that_is_no_set(tmp_path: Path) -> None:
    whole = _set(tmp_path / "sets" / "a", "one\ntwo\n", "eins\nzwei\n", "zwei\n")
    assert _message(tmp_path / "sets") == (
        f"{whole}/src.en has 2 lines, {whole}/tgt.incorrect.de has 1: must be the same number"
    )
    (tmp_path / "sets" / "0").mkdir()
    assert _message(tmp_path / "sets") == f"{tmp_path}/sets/0/src.en: no such file, packed (.gz) or not"
    assert _message(tmp_path / "sets" / "0") == f"{tmp_path}/sets/0/src.en: no such file, packed (.gz) or not"
    assert _message(tmp_path / "none") == f"{tmp_path}/none: no such file, packed (.gz) or not"
    (tmp_path / "a.csv").write_text("x")
    assert _message(tmp_path / "a.csv") == f"{tmp_path}/a.csv: a contrastive set must be a folder, .tsv or .json"


def test_a_table(tmp_path: Path) -> None:
    header = "category\tcorrect\tsource\tincorrect\tdistance\n"
    rows = [
        "verb\thunde laufen\tdogs run\thunde läuft\t1\n",
        '\tein "hund"\ta dog \teine hund\t\n',
        "\tja\tyes\tnein\t-1",
    ]
    (tmp_path / "agree.tsv.gz").write_bytes(gzip.compress("".join([header, *rows]).encode()))
    expected = [
        Contrast("dogs run", "hunde laufen", "hunde läuft", 1, "verb"),
        Contrast("a dog", 'ein "hund"', "eine hund", NO_DISTANCE, "agree"),
        Contrast("yes", "ja", "nein", NO_DISTANCE, "agree"),
    ]
    assert read_contrasts(tmp_path / "agree.tsv", LANGUAGES) == expected
    (tmp_path / "short.tsv").write_bytes(b"\xef\xbb\xbfsource\tcorrect\tincorrect\r\ndogs\thunde\thund\r\n")
    assert read_contrasts(tmp_path / "short.tsv", LANGUAGES) == [
        Contrast("dogs", "hunde", "hund", NO_DISTANCE, "short")
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dogs\thunde\thund\n", ":1: header ['dogs', 'hunde', 'hund']: lacks source, correct, incorrect"),
        (
            "source\tcorrect\tincorrect\tsource\n",
            ":1: header ['source', 'correct', 'incorrect', 'source']: a column stands there twice",
        ),
        ("source\tcorrect\tincorrect\n", ": no contrastive item"),
        ("source\tcorrect\tincorrect\na\tb\n", ":2: columns=2 (by tabs): must be 3, as in the header"),
        ("source\tcorrect\tincorrect\na\tb\tc\n\n", ":3: columns=1 (by tabs): must be 3, as in the header"),
        (
            "source\tcorrect\tincorrect\tdistance\na\tb\tc\t2.5\n",
            ":2: distance='2.5': must be an integer from 0 to 16383, or nothing",
        ),
        (
            "source\tcorrect\tincorrect\tdistance\na\tb\tc\t-2\n",
            ":2: distance='-2': must be an integer from 0 to 16383, or nothing",
        ),
        (
            "source\tcorrect\tincorrect\tdistance\na\tb\tc\t16384\n",
            ":2: distance='16384': must be an integer from 0 to 16383, or nothing",
        ),
    ],
)
def test_a_table_that_is_none(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "a.tsv").write_text(text)
    assert _message(tmp_path / "a.tsv") == f"{tmp_path}/a.tsv{message}"


def test_the_longest_distance(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text(f"source\tcorrect\tincorrect\tdistance\na\tb\tc\t{LONGEST_DISTANCE}\na\tb\tc\t0")
    assert [item.distance for item in read_contrasts(tmp_path / "a.tsv", LANGUAGES)] == [LONGEST_DISTANCE, 0]


ENTRY: dict[str, Any] = {
    "source": "The keys of the house are old .",
    "reference": "Die Schlüssel des Hauses sind alt .",
    "origin": "newstest2099.7",
    "errors": [
        {"type": "verb", "contrastive": "Die Schlüssel des Hauses ist alt .", "distance": 3, "frequency": 11},
        {"type": "nicht_ins", "contrastive": "Die Schlüssel des Hauses sind nicht alt ."},
    ],
}


def test_a_list_of_entries(tmp_path: Path) -> None:
    none = {"source": "Yes .", "reference": "Ja .", "origin": "newstest2099.8", "errors": []}
    (tmp_path / "a.json").write_text(json.dumps([none, ENTRY]))
    source, right = ENTRY["source"], ENTRY["reference"]
    assert read_contrasts(tmp_path / "a.json", LANGUAGES) == [
        Contrast(source, right, "Die Schlüssel des Hauses ist alt .", 3, "verb"),
        Contrast(source, right, "Die Schlüssel des Hauses sind nicht alt .", NO_DISTANCE, "nicht_ins"),
    ]


FORM = "must have source, reference and errors, each with contrastive and type"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[\n{]", ":2: not JSON: Expecting property name enclosed in double quotes"),
        ("{}", ": must hold a list of entries"),
        ("[]", ": no contrastive item"),
        (json.dumps([{**ENTRY, "errors": []}]), ": no contrastive item"),
        (json.dumps([ENTRY, {"source": "a"}]), f": entry 2: {FORM}"),
        (json.dumps([{**ENTRY, "reference": None}]), f": entry 1: {FORM}"),
        (json.dumps([{**ENTRY, "errors": [{"type": "verb"}]}]), f": entry 1: {FORM}"),
        (json.dumps([3]), f": entry 1: {FORM}"),
        (
            json.dumps([{**ENTRY, "errors": [{**ENTRY["errors"][0], "distance": 2.5}]}]),
            ": entry 1: distance=2.5: must be an integer from 0 to 16383, or nothing",
        ),
    ],
)
def test_a_list_that_is_none(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "a.json").write_text(text)
    assert _message(tmp_path / "a.json") == f"{tmp_path}/a.json{message}"
