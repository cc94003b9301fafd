"""Scores of text: values known to be right, and the whole again from what is counted in each sentence."""

import math
import random
from collections import Counter

import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from models.scores import COLUMNS, SCORES, corpus_bleu, corpus_score, score_of_counts, sentence_counts

CAT = ["the cat sat on the mat .", "a dog ran in the park today .", "birds fly south in the cold winter ."]
CAT_REFERENCES = ["the cat sat on the mat .", "a dog was running in the park .", "birds go south when winter comes ."]
FOX = "the quick brown fox jumps over the lazy dog ."
SHARDS = ["the cat sat on the mat", "hello world this is nice", "we like green apples a lot"]
SHARD_REFERENCES = ["the cat sat on the mat", "hello world this was very nice", "they like red apples a lot"]


@pytest.mark.parametrize(
    ("hypotheses", "references", "score"),
    [
        pytest.param(CAT, CAT_REFERENCES, 42.79, id="HB-01"),
        pytest.param(CAT[::-1], CAT_REFERENCES[::-1], 42.79, id="HB-02 order of pairs"),
        pytest.param(["the the the cat"], ["the cat sat down here"], 24.88, id="HB-02 not swapped"),
        pytest.param([FOX, ""], [FOX, "hello there my friend ."], 60.65, id="HB-03 empty counts"),
        pytest.param(["", ""], [FOX, FOX], 0.0, id="HB-03 all empty"),
        pytest.param(["the cat sat there"], ["the cat sat here"], 59.46, id="HB-04 smoothed"),
        pytest.param(["Zhongjian Plaza"], ["Zhongjian Plaza"], 0.0, id="HB-04 no effective order"),
        pytest.param(
            ["hello world how are you today"], ["hello world how are you this morning"], 64.32, id="HB-05 joined"
        ),
        pytest.param(SHARDS, SHARD_REFERENCES, 54.09, id="HB-06"),
    ],
)
def test_bleu_has_the_value_of_sacrebleu(hypotheses: list[str], references: list[str], score: float) -> None:
    bleu = corpus_bleu(hypotheses, references)
    assert bleu.value == pytest.approx(score, abs=0.005)
    assert bleu.signature.startswith("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:")


@pytest.mark.parametrize(
    ("hypotheses", "references", "message"),
    [
        pytest.param(CAT, CAT_REFERENCES[:2], "3 hypotheses but 2 references", id="HB-02"),
        pytest.param(CAT[:2], CAT_REFERENCES, "2 hypotheses but 3 references", id="HB-02 the other way"),
        pytest.param([], CAT_REFERENCES, "0 hypotheses but 3 references", id="HB-02 none"),
        pytest.param(CAT[:1], CAT_REFERENCES[0], "not one string", id="HB-01 bare reference"),
        pytest.param(CAT[0], CAT_REFERENCES[:1], "not one string", id="HB-01 bare hypothesis"),
        pytest.param(CAT, [[text] for text in CAT_REFERENCES], "one string a sentence", id="HB-01 nested"),
        pytest.param([], [], "no sentences", id="HB-03 no data"),
    ],
)
@pytest.mark.parametrize("name", SCORES)
def test_what_would_be_scored_wrongly_is_refused(
    name: str, hypotheses: list[str], references: list[str], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        corpus_score(name, hypotheses, references)


def test_case_counts_in_the_figure_of_record_and_not_in_the_lower_one() -> None:
    hypotheses, references = ["Two dogs Run in The park ."], ["two Dogs run in the park ."]
    lower = corpus_score("bleu-lower", hypotheses, references)
    assert corpus_bleu(hypotheses, references).value < 20
    assert lower.value == pytest.approx(100)
    assert lower.signature.startswith("nrefs:1|case:lc|eff:no|tok:13a|smooth:exp|version:")


def chrf_by_hand(hypotheses: list[str], references: list[str]) -> float:
    """Mean precision and recall of n-grams of 1 to 6 characters, blanks left out; F with beta 2 (Popović 2015)."""
    precisions, recalls = [], []
    for n in range(1, 7):
        right = found = wanted = 0
        for pair in zip(hypotheses, references, strict=True):
            ours, theirs = (Counter(t[i : i + n] for i in range(len(t) - n + 1)) for t in map(without_blanks, pair))
            right += (ours & theirs).total()
            found += ours.total()
            wanted += theirs.total()
        precisions.append(right / found)
        recalls.append(right / wanted)
    precision, recall = sum(precisions) / 6, sum(recalls) / 6
    return 100 * 5 * precision * recall / (4 * precision + recall)


def without_blanks(text: str) -> str:
    return "".join(text.split())


def test_chrf_is_that_of_its_definition() -> None:
    chrf = corpus_score("chrf", CAT, CAT_REFERENCES)
    assert chrf.value == pytest.approx(chrf_by_hand(CAT, CAT_REFERENCES))
    assert chrf.signature.startswith("nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:")
    assert chrf.length_ratio is None


def test_the_length_ratio_is_that_of_the_tokens_that_bleu_counts() -> None:
    """The full stop is a token of its own: 4 against 3, and nothing against 2."""
    assert corpus_bleu(["one two three.", ""], ["one two.", "three."]).length_ratio == 4 / 5
    assert corpus_bleu(["one"], [""]).length_ratio is None


def corpus(seed: int, n_sentences: int = 57) -> tuple[list[str], list[str]]:
    """Sentences of 0 to 12 words, hypotheses and references independently corrupted."""
    rng = random.Random(seed)
    words = ["der", "Hund", "sieht", "eine", "kleine", "Straße", "U.S.", "3,5", "–", "&quot;", "nicht!"]
    truth = [[rng.choice(words) for _ in range(rng.randrange(13))] for _ in range(n_sentences)]
    sides = ([" ".join(word for word in sentence if rng.random() < 0.9) for sentence in truth] for _ in range(2))
    hypotheses, references = sides
    return hypotheses, references


@pytest.mark.parametrize("name", COLUMNS)
def test_the_score_of_any_sentences_is_that_of_their_summed_counts(name: str) -> None:
    hypotheses, references = corpus(1)
    counts = sentence_counts(name, hypotheses, references)
    assert len(counts) == len(hypotheses)
    assert score_of_counts(name, counts) == corpus_score(name, hypotheses, references).value
    rng = random.Random(2)
    for _ in range(5):
        drawn = rng.choices(range(len(hypotheses)), k=30)
        expected = corpus_score(name, [hypotheses[i] for i in drawn], [references[i] for i in drawn]).value
        assert score_of_counts(name, [counts[i] for i in drawn]) == pytest.approx(expected, rel=1e-12)


def test_the_counts_of_bleu_are_those_that_sacrebleu_gives_for_a_sentence() -> None:
    """By its public face: counts of one sentence, and the score of any counts."""
    hypotheses, references = corpus(3)
    counts = sentence_counts("bleu", hypotheses, references)
    metric = BLEU(force=True, effective_order=True)
    for row, hypothesis, reference in zip(counts, hypotheses, references, strict=True):
        theirs = metric.sentence_score(hypothesis, [reference])
        assert list(row.values()) == [theirs.sys_len, theirs.ref_len, *theirs.counts, *theirs.totals]
        assert row["bleu_hypothesis_tokens"] == row["bleu_total_1"] == theirs.sys_len
    sums = [sum(row[column] for row in counts) for column in COLUMNS["bleu"]]
    by_sums = BLEU.compute_bleu(sums[2:6], sums[6:], sums[0], sums[1], smooth_method="exp").score
    assert by_sums == corpus_bleu(hypotheses, references).value


def test_the_counts_of_chrf_are_its_n_grams_of_characters() -> None:
    (row,) = sentence_counts("chrf", ["ab ba"], ["aba"])
    assert len(row) == 3 * CHRF.CHAR_ORDER
    by_order = [[row[f"chrf_{side}_{n}"] for side in ("hypothesis", "reference", "correct")] for n in range(1, 7)]
    assert by_order == [[4, 3, 3], [3, 2, 2], [2, 1, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0]]  # orders not in the reference


def test_other_columns_of_a_row_are_passed_over() -> None:
    rows = [row | {"source": 7} for row in sentence_counts("bleu", CAT, CAT_REFERENCES)]
    assert math.isclose(score_of_counts("bleu", rows), corpus_bleu(CAT, CAT_REFERENCES).value)


def test_the_library_of_record_decides_what_others_decide_differently() -> None:
    """HB-04: two references equally near in length, in either order; a perfect translation of two words."""
    references = ["the cat is on the mat today", "a cat mat"]
    for first, second in (references, references[::-1]):
        assert BLEU(force=True).corpus_score(["the cat is on mat"], [[first], [second]]).score == pytest.approx(
            70.71, abs=5e-3
        )
    plaza = "Zhongjian Plaza"
    assert corpus_score("bleu", [plaza], [plaza]).value == 0.0
    assert BLEU(effective_order=True).sentence_score(plaza, [plaza]).score == pytest.approx(100.0)
    assert "eff:no" in corpus_score("bleu", [plaza], [plaza]).signature


def test_marks_of_subwords_would_change_the_score() -> None:
    """HB-05: joined 64.32, as the vocabularies of datamodules give it back; 64.96 if the marks stayed."""
    hypothesis, reference = "he@@ llo wor@@ ld how are you to@@ day", "he@@ llo wor@@ ld how are you this mor@@ ning"
    plain = BLEU(tokenize="none", force=True)
    joined = [text.replace("@@ ", "") for text in (hypothesis, reference)]
    assert plain.corpus_score([joined[0]], [[joined[1]]]).score == pytest.approx(64.32, abs=5e-3)
    assert plain.corpus_score([hypothesis], [[reference]]).score == pytest.approx(64.96, abs=5e-3)
