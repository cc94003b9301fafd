"""Reading agreement suites, each form with small files."""

import gzip
import json
import os
from collections import Counter
from pathlib import Path

import pytest

from datamodules.agreement import Pair, read_pairs
from datamodules.errors import DataError

HEADER = "pattern\tconstr_id\tsent_id\tform\tclass\ttype\tprefix\tn_attr\tlen_context\tsent\n"
ROWS = (
    'A\t1\t7\tsings\tcorrect\tgenerated\t"The "" cat "" by dogs"\t1\t4\t"x"\n'
    'A\t1\t7\tsing\twrong\tgenerated\t"The "" cat "" by dogs"\t1\t4\t"x"\n'
    "A\t0\t0\tare\twrong\toriginal\tThe cat\t0\t1\tx\n"
    "A\t0\t0\tis\tcorrect\toriginal\tThe cat\t0\t1\tx\n"
)


def _write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_objects_on_lines(tmp_path: Path) -> None:
    first = {"sentence_good": "A cat runs.", "sentence_bad": "A cat run.", "dependency_length": 3, "UID": "verb"}
    second = {"sentence_good": "He sees himself.", "sentence_bad": "He sees herself."}
    path = _write(tmp_path / "set.jsonl", f"\ufeff{json.dumps(first)}\r\n{json.dumps(second)}\r\n")
    assert read_pairs(path) == [
        Pair("A cat runs.", "A cat run.", 3, "verb", True),
        Pair("He sees himself.", "He sees herself.", -1, "set", True),
    ]


def test_conditions_say_whether_two_nouns_match(tmp_path: Path) -> None:
    lines = [
        "sing_MS_MV\tthe cat runs\tthe cat run",
        "sing_MS_MV_sing_ES\tthe cat by the dog runs\tthe cat by the dog run",
        "sing_MS_MV_plur_ES_EV\tthe cat by the dogs runs\tthe cat by the dogs run",
    ]
    path = tmp_path / "prep.tsv.gz"
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    found = read_pairs(tmp_path / "prep.tsv")
    assert [pair.category for pair in found] == ["prep", "prep match", "prep mismatch"]
    assert found[2] == Pair("the cat by the dogs runs", "the cat by the dogs run", -1, "prep mismatch", True)


def test_a_table_gives_prefixes_with_either_form(tmp_path: Path) -> None:
    assert read_pairs(_write(tmp_path / "generated.tab", HEADER + ROWS)) == [
        Pair('The " cat " by dogs sings ', 'The " cat " by dogs sing ', 4, "nonsense attractors=1", False),
        Pair("The cat is ", "The cat are ", 1, "original attractors=0", False),
    ]


def test_the_place_of_a_verb_gives_the_sentence_up_to_it(tmp_path: Path) -> None:
    _write(tmp_path / "s.text", "the cats by a dog are here . <eos>\nit runs <eos>\n")
    _write(tmp_path / "s.gold", "5\tare\tis\t1\n1\tRuns\tRun\t0\n")
    assert read_pairs(tmp_path / "s.text") == [
        Pair("the cats by a dog are ", "the cats by a dog is ", -1, "attractors=1", False),
        Pair("it Runs ", "it Run ", -1, "attractors=0", False),
    ]


def test_a_folder_is_all_its_suites_by_name_and_gold_files_are_none(tmp_path: Path) -> None:
    _write(tmp_path / "s.text", "it runs\n")
    _write(tmp_path / "s.gold", "1\truns\trun\t0\n")
    _write(tmp_path / "b.tsv", "sing_MS\tit runs\tit run\n")
    _write(tmp_path / "notes.md", "nothing\n")
    assert [pair.category for pair in read_pairs(tmp_path)] == ["b", "attractors=0"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.jsonl", "{}\n", r"a.jsonl:1: must be an object with sentence_good and sentence_bad$"),
        ("a.jsonl", "[1]\n", r"a.jsonl:1: must be an object"),
        ("a.jsonl", '{"sentence_good": "x y"\n', r"a.jsonl:1: not JSON"),
        (
            "a.jsonl",
            '{"sentence_good": "a", "sentence_bad": "b", "dependency_length": "far"}\n',
            r"a.jsonl:1: dependency_length='far': must be an integer of at least -1$",
        ),
        ("a.tsv", "x\ty\n", r"a.tsv:1: columns=2 \(by tabs\): must be at least 3$"),
        ("a.tsv", "x\ty\tz\nx\t\tz\n", r"a.tsv:2: a sentence is empty$"),
        ("a.tab", "form\tclass\n", r"a.tab:1: the header lacks pattern, constr_id, sent_id, type, prefix"),
        ("a.tab", HEADER + "A\t1\t7\tsing\n", r"a.tab:2: fewer columns than the header$"),
        ("a.tab", HEADER + ROWS.split("\n")[0] + "\n", r"a.tab: item A 1 7: must have a row of class correct and one"),
        ("a.tab", HEADER + ROWS.replace("\t4\t", "\tmany\t"), r"a.tab: len_context='many': must be an integer"),
        ("a.text", "it runs\n", r"a.gold: no such file, packed \(.gz\) or not$"),
        ("a.txt", "it runs\n", r"a.txt: an agreement suite must be a folder, or end in .jsonl, .tsv, .tab, .text$"),
        ("empty folder", "", r"no agreement suite: must hold one of \*.jsonl, \*.tsv, \*.tab, \*.text"),
    ],
)
def test_what_is_no_suite_is_refused_in_one_line(tmp_path: Path, name: str, text: str, message: str) -> None:
    path = tmp_path if name == "empty folder" else _write(tmp_path / name, text)
    with pytest.raises(DataError, match=message) as refused:
        read_pairs(path)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("gold", "message"),
    [
        ("2\truns\trun\t0\n", r"s.gold:1: place=2: word 'runs' does not stand there in s.text$"),
        ("0\truns\trun\t0\n", r"s.gold:1: place=0: word 'runs'"),
        ("-1\truns\trun\t0\n", r"s.gold:1: place='-1': must be an integer of at least 0$"),
        ("1\truns\trun\tx\n", r"s.gold:1: attractors='x'"),
        ("1\truns\trun\t0\n1\truns\trun\t0\n", r"s.text has 1 lines, .*s.gold has 2: must be the same number$"),
    ],
)
def test_verbs_that_do_not_fit_their_sentences_are_refused(tmp_path: Path, gold: str, message: str) -> None:
    _write(tmp_path / "s.text", "it runs\n")
    _write(tmp_path / "s.gold", gold)
    with pytest.raises(DataError, match=message):
        read_pairs(tmp_path / "s.text")


def test_the_published_suites() -> None:
    data = os.environ.get("ABLATIONS_DATA")
    if not data or not (Path(data) / "agreement_en").is_dir():
        pytest.skip("needs ABLATIONS_DATA with agreement_en")
    root = Path(data) / "agreement_en"
    linzen = Counter(pair.category for pair in read_pairs(root / "linzen_filtered"))
    assert linzen == {f"attractors={n}": size for n, size in enumerate((1972, 1957, 1943, 1287, 330))}
    colorless = Counter(pair.distance for pair in read_pairs(root / "colorless_green"))
    assert colorless == {4: 160, 5: 110, 6: 60, 7: 40, 8: 20, 9: 10, 10: 10}
    assert len(read_pairs(root / "blimp")) == 17_000
    assert len(read_pairs(root / "marvin_linzen")) == 152_300
    with pytest.raises(DataError, match="no agreement suite"):
        read_pairs(root / "linzen_numpred")
