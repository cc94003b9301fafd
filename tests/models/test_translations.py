"""Scores of translated sentences, and that each can be had again from the rows."""

from dataclasses import asdict
from itertools import chain

import pytest

from models.scores import COLUMNS, corpus_score, score_of_counts
from models.translations import Translation, make_translations, translation_rows, translation_scores

REFERENCES = ["The cat sat on the mat .", "hello world this was very nice", "they like red apples a lot"]
HYPOTHESES = ["the cat sat on the mat .", " ", "we like green apples a lot and lot"]
FORCED = ["The cat sat on a mat .", "hello world that was very nice", "they like green apples a lot"]


def made() -> list[Translation]:
    sources = [f"source {i}" for i in range(3)]
    return make_translations(sources, REFERENCES, HYPOTHESES, FORCED, [3.5, 2.0, 1.25], [8, 7, 6])


def test_sentences_keep_what_belongs_together() -> None:
    assert asdict(made()[2]) == {
        "source": "source 2",
        "reference": REFERENCES[2],
        "hypothesis": HYPOTHESES[2],
        "forced": FORCED[2],
        "nats": 1.25,
        "tokens": 6,
    }


def test_unequal_counts_are_refused() -> None:
    """HB-02."""
    rest = (HYPOTHESES, FORCED, [0.0] * 3, [1] * 3)
    with pytest.raises(ValueError, match="3 hypotheses but 2 references"):
        make_translations(["a", "b", "c"], REFERENCES[:2], *rest)
    with pytest.raises(ValueError, match="3 hypotheses but 1 sources"):
        make_translations(["a"], REFERENCES, *rest)


def test_scores_of_a_set() -> None:
    scores = translation_scores(made())
    values = {name: score.value for name, score in scores.items()}
    for name in ("bleu", "bleu-lower", "chrf"):
        assert scores[name] == corpus_score(name, HYPOTHESES, REFERENCES)
    assert values["bleu-lower"] > values["bleu"]
    assert values["length-ratio"] == (7 + 0 + 8) / (7 + 6 + 6)
    assert values["empty"] == pytest.approx(1 / 3)
    assert values["chrf-forced"] == corpus_score("chrf", FORCED, REFERENCES).value
    assert values["exposure-gap"] == values["chrf-forced"] - values["chrf"] > 10
    assert {name for name, score in scores.items() if score.signature} == {"bleu", "bleu-lower", "chrf"}


def test_no_sentences_have_no_scores_and_no_rows() -> None:
    """HB-03."""
    assert translation_scores([]) == {}
    assert translation_rows([]) == []


def test_the_scores_of_a_set_are_those_of_its_rows() -> None:
    rows, scores = translation_rows(made()), translation_scores(made())
    assert [row["hypothesis"] for row in rows] == HYPOTHESES
    assert list(rows[0]) == [*asdict(made()[0]), *chain(*COLUMNS.values())]
    for name in COLUMNS:
        assert score_of_counts(name, rows) == scores[name].value
    ratio = sum(row["bleu_hypothesis_tokens"] for row in rows) / sum(row["bleu_reference_tokens"] for row in rows)
    assert ratio == scores["length-ratio"].value
