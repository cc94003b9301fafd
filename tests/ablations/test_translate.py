"""Lines in, lines out."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from ablations import translate as module
from ablations.restore import Trained, restore
from ablations.text import source_ids, translation_data
from ablations.translate import (
    Candidate,
    Sentence,
    arriving,
    json_line,
    search_settings,
    text_lines,
    translate,
    translate_stream,
)
from datamodules.errors import DataError
from datamodules.vocabulary import END, START
from models.config import ConfigError
from models.decoding import DecodeConfig
from tests.ablations.trained import MODEL, trained

SENTENCES = [
    "the dog slept .",
    "the old cats called the man .",
    "the child that the cats saw in the garden laughed .",
]
USUAL: dict[str, Any] = {"beam": None, "length_penalty": None, "nbest": None, "scores": False, "as_json": False}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose own search is greedy."""
    return trained(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def run(folder: Path) -> Trained:
    return restore(folder)


class Pieces(io.RawIOBase):
    """A stream that gives one piece a read, as a pipe does with a slow writer."""

    def __init__(self, *pieces: bytes) -> None:
        self.pieces = list(pieces)

    def read1(self, _: int = -1) -> bytes:
        return self.pieces.pop(0) if self.pieces else b""


def stream(*pieces: bytes) -> Any:
    return Pieces(*pieces)


def output(folder: Path, text: str | bytes, **options: Any) -> list[str]:
    sink = io.BytesIO()
    data = text.encode() if isinstance(text, str) else text
    translate_stream(folder, io.BytesIO(data), sink, **{**USUAL, **options}, threads=1)
    written = sink.getvalue().decode()
    assert written.endswith("\n") or not written
    return written.split("\n")[:-1]


def in_words(run: Trained, sentence: str, search: DecodeConfig, listed: bool) -> list[Candidate]:
    (((_, found),),) = list(translate(run, io.BytesIO(sentence.encode()), search, listed=listed))
    return found


def test_lines_come_as_they_arrive_and_only_a_newline_ends_one() -> None:
    pieces = (b"a\nb\nc", b"d", b"e\n", b"\n", "f\u0085\u2028g\rh".encode(), b"\ni")
    lines = [[b"a", b"b"], [b"cde"], [b""], ["f\u0085\u2028g\rh".encode()], [b"i"]]
    assert list(arriving(stream(*pieces))) == lines
    assert list(arriving(stream())) == []
    assert list(arriving(stream(b"\n\n"))) == [[b"", b""]]


def test_nothing_waits_for_lines_that_have_not_come(run: Trained) -> None:
    def endless() -> Iterator[bytes]:
        yield b"the dog slept .\n"
        raise AssertionError("a second line was asked for before the first was given")

    pieces = endless()
    waiting = Pieces()
    waiting.read1 = lambda _=-1: next(pieces)  # type: ignore[method-assign]
    batches = translate(run, waiting, DecodeConfig(), listed=False)  # type: ignore[arg-type]
    ((sentence, _),) = next(batches)
    assert sentence.line == 1


@pytest.mark.parametrize("decode", [{}, {"beam": 3, "length_penalty": 0.5}], ids=["greedy", "beam"])
def test_translations_are_those_of_the_runs_test(decode: dict[str, Any], tmp_path: Path) -> None:
    folder = trained(tmp_path, decode=decode)
    table = pd.read_csv(folder / "outputs/translations.csv.gz", keep_default_na=False)
    assert len(table) == 7
    assert output(folder, "\n".join(table["source"])) == list(table["hypothesis"])


def test_every_line_has_one_translation_in_its_place(folder: Path, run: Trained) -> None:
    lines = [*SENTENCES, "", "  ", *SENTENCES[::-1]] * 17 + [SENTENCES[0]]
    alone = {line: in_words(run, line, DecodeConfig(), False)[0].text for line in SENTENCES} | {"": "", "  ": ""}
    assert len(set(alone.values())) > 2
    assert output(folder, "\n".join(lines) + "\n") == [alone[line] for line in lines]


def test_batches_are_bounded_by_sentences_and_by_tokens(
    folder: Path, run: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    shapes = []
    search = module._search

    def seen(run: Trained, sources: list[Any], *rest: Any) -> Any:
        shapes.append((len(sources), max(map(len, sources))))
        return search(run, sources, *rest)

    monkeypatch.setattr(module, "_search", seen)
    monkeypatch.setattr(module, "TOKENS_A_BATCH", 90)
    assert len(output(folder, "the dog .\n" * 17 + SENTENCES[2] + "\n")) == 18
    assert shapes == [(17, 4), (1, len(SENTENCES[2].split()) + 1)]
    shapes.clear()
    monkeypatch.setattr(module, "SENTENCES", 5)
    assert len(output(folder, "\n\n" + "the dog .\n" * 9)) == 11
    assert [number for number, _ in shapes] == [3, 5, 1]


def test_an_empty_input_and_empty_lines_ask_no_model(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_search", None)
    assert output(folder, "") == []
    assert output(folder, "\n \t\n\r\n") == ["", "", ""]
    assert output(folder, "\n\n", scores=True) == ["\t\t"] * 2
    assert output(folder, "\n", nbest=1, scores=True) == ["1\t1\t\t\t"]
    empty = {"text": "", "score": None, "log_probability": None}
    assert json.loads(*output(folder, "\n", as_json=True)) == {"line": 1, "source": "", "translations": [empty]}


@pytest.mark.parametrize("penalty", [0.0, 0.7])
def test_listed_scores_are_those_of_the_model_reading_the_translation(penalty: float, run: Trained) -> None:
    """Beam search gives tokens; one teacher-forced pass over them must find the same probability."""
    data = translation_data(run)
    found = in_words(run, SENTENCES[2], DecodeConfig(beam=4, length_penalty=penalty), True)
    assert len(found) == 4
    assert len({candidate.text for candidate in found}) == 4
    scores = [candidate.score for candidate in found]
    assert scores == sorted(scores, key=lambda score: -(score or 0.0))
    source = torch.from_numpy(source_ids(run, SENTENCES[2]))[None]
    for candidate in found:
        ids = data.target_vocabulary.encode([candidate.text])[0].tolist() if candidate.text else []
        target, expected = torch.tensor([[START, *ids]]), torch.tensor([*ids, END])
        limit = 2 * source.shape[1] + 10
        length = min(len(ids) + 1, limit)  # one that was cut off has no end
        with torch.no_grad():
            log_p = run.model(source, None, target, None)[0].log_softmax(-1)
        total = log_p[torch.arange(length), expected[:length]].sum().item()
        assert candidate.log_probability == pytest.approx(total, abs=1e-4)
        assert candidate.score == pytest.approx(total / length**penalty, abs=1e-4)


def test_the_best_of_a_list_is_what_is_found_without_one(run: Trained) -> None:
    for search in (DecodeConfig(), DecodeConfig(beam=3)):
        for sentence in SENTENCES:
            plain, listed = (in_words(run, sentence, search, wanted) for wanted in (False, True))
            assert [candidate.text for candidate in plain] == [listed[0].text]
            assert len(listed) == search.beam


def test_formats_hold_the_same(folder: Path) -> None:
    text = "\n".join(SENTENCES)
    options: dict[str, Any] = {"beam": 3, "nbest": 2}
    objects = [json.loads(line) for line in output(folder, text, as_json=True, **options)]
    assert [one["line"] for one in objects] == [1, 2, 3]
    assert [one["source"] for one in objects] == SENTENCES
    rows = [line.split("\t") for line in output(folder, text, scores=True, **options)]
    assert [row[:2] for row in rows] == [[str(line), str(rank)] for line in (1, 2, 3) for rank in (1, 2)]
    flat = [candidate for one in objects for candidate in one["translations"]]
    assert [row[4] for row in rows] == [candidate["text"] for candidate in flat]
    for column, name in ((2, "score"), (3, "log_probability")):
        np.testing.assert_allclose([float(row[column]) for row in rows], [one[name] for one in flat], rtol=1e-5)
    assert [line.split("\t") for line in output(folder, text, **options)] == [[*row[:2], row[4]] for row in rows]
    best = [one["translations"][0]["text"] for one in objects]
    assert output(folder, text, beam=3) == best
    assert [line.split("\t")[2] for line in output(folder, text, beam=3, scores=True)] == best


def test_columns_are_in_their_order() -> None:
    sentence = Sentence(7, "x", np.array([2]))
    found = [Candidate("a b", -0.25, -1.5), Candidate("c", -0.1234567, -2e-9)]
    assert text_lines(sentence, found, ranked=False, scores=False) == "a b\nc"
    assert text_lines(sentence, found[:1], ranked=False, scores=True) == "-0.25\t-1.5\ta b"
    assert text_lines(sentence, found, ranked=True, scores=True) == "7\t1\t-0.25\t-1.5\ta b\n7\t2\t-0.123457\t-2e-09\tc"
    assert json.loads(json_line(Sentence(1, "ä\u2028", np.array([2])), found[:1]))["source"] == "ä\u2028"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"the zebra slept .", "'zebra' is not in the vocabulary"),
        (b"the d\xf6g", "not UTF-8 \\(byte 0xf6\\)"),
        (b"dog " * 31, "32 tokens with start or end, and the model has positions for 30"),
    ],
    ids=["word", "encoding", "length"],
)
def test_a_line_that_cannot_be_translated_is_named_after_those_before_it(
    line: bytes, message: str, tmp_path: Path
) -> None:
    folder = trained(tmp_path, model={**MODEL, "position": "learned", "max_length": 30})
    sink = io.BytesIO()
    text = b"the dog slept .\n\nthe cat slept .\n" + line + b"\nthe dog slept .\n"
    with pytest.raises(DataError, match=f"standard input, line 4: {message}"):
        translate_stream(folder, io.BytesIO(text), sink, **USUAL, threads=1)
    assert sink.getvalue().count(b"\n") == 3
    with pytest.raises(DataError, match="standard input, line 4: "):  # however it arrives
        list(translate(restore(folder), stream(text[:16], text[16:40], text[40:]), DecodeConfig(), listed=False))


def test_a_byte_order_mark_and_carriage_returns_are_no_text(folder: Path) -> None:
    assert output(folder, b"\xef\xbb\xbfthe dog slept .\r\nthe dog slept .") == output(folder, "the dog slept .\n" * 2)


def test_search_settings_are_the_runs_own_unless_given(run: Trained, tmp_path: Path) -> None:
    own: dict[str, Any] = {"beam": 4, "length_penalty": 0.5}
    beamed = restore(trained(tmp_path, decode=own))
    assert search_settings(beamed, None, None, 4) == DecodeConfig(**own)
    assert search_settings(beamed, 7, None, None) == DecodeConfig(beam=7, length_penalty=0.5)
    assert search_settings(beamed, None, 0.9, None) == DecodeConfig(beam=4, length_penalty=0.9)
    assert search_settings(beamed, 1, None, None) == DecodeConfig()
    assert search_settings(run, 5, None, None) == DecodeConfig(beam=5)
    with pytest.raises(ConfigError, match=r"length_penalty=0\.9: has no effect with beam=1"):
        search_settings(run, None, 0.9, None)
    with pytest.raises(ConfigError, match="nbest=3: must be at most the beam, which is 1; give --beam 3"):
        search_settings(run, None, None, 3)
    with pytest.raises(ConfigError, match="nbest=5: must be at most the beam, which is 4"):
        search_settings(beamed, None, None, 5)


def test_a_task_without_sentences_is_refused(tmp_path: Path) -> None:
    task = {"name": "order", "target": "previous", "length": 5, "vocabulary": 7, "validation_size": 11, "test_size": 13}
    folder = trained(tmp_path, task=task, model={**MODEL, "architecture": "decoder"})
    with pytest.raises(ConfigError, match="its task order translates nothing"):
        output(folder, "1 2 3\n")
