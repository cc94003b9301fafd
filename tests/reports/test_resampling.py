"""Scores of resampled items against sacrebleu and numpy. M items, K numbers for each, B resamples, S seeds."""

from typing import Any

import numpy as np
import pytest
from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import _bootstrap_resample

from models.scores import COLUMNS, sentence_counts
from reports.resampling import (
    RESAMPLES,
    SCORES,
    item_variance,
    ratio,
    resample_counts,
)

SENTENCE = "a man in the red hat walks two small dogs past an old house on the hill ."
METRICS: dict[str, Metric] = {"bleu": BLEU(force=True), "chrf": CHRF()}


def sentences(seed: int, n: int = 23) -> tuple[list[str], list[str]]:
    """Hypotheses that share words with their references, one of them empty."""
    rng = np.random.default_rng(seed)
    references = [" ".join(rng.choice(SENTENCE.split(), rng.integers(3, 13))) for _ in range(n)]
    kept = [[word for word in reference.split() if rng.random() < 0.85] for reference in references]
    return [" ".join(words) for words in kept[:-1]] + [""], references


def stored(score: str, hypotheses: list[str], references: list[str]) -> list[list[int | float]]:
    return METRICS[score]._extract_corpus_statistics(hypotheses, [references])


def as_sacrebleu(score: str, sums: Any) -> float:
    return METRICS[score]._compute_score_from_stats([int(x) for x in sums]).score


@pytest.mark.parametrize("score", ["bleu", "chrf"])
@pytest.mark.parametrize("seed", range(5))
def test_score_of_summed_counts_is_sacrebleus(score: str, seed: int) -> None:
    hypotheses, references = sentences(seed)
    expected = METRICS[score].corpus_score(hypotheses, [references]).score
    found = SCORES[score](np.sum(stored(score, hypotheses, references), axis=0, dtype=float))
    assert 20 < expected < 99
    assert float(found) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("score", ["bleu", "chrf"])
def test_every_sentence_alone_is_sacrebleus(score: str) -> None:
    """Where orders are absent or have nothing right."""
    hypotheses, references = sentences(9, 200)
    hypotheses += ["", "x", "a b c d e f", "man", "the the the the the the", "a", "hat hat"]
    references += ["", "y", "g h i j k l", "man", "the dog", "a man in the red hat", "hat hat"]
    rows = stored(score, hypotheses, references)
    found = SCORES[score](np.array(rows, dtype=float))
    assert found == pytest.approx([as_sacrebleu(score, row) for row in rows], rel=1e-12)
    assert {0.0} < set(found[-7:].tolist())


@pytest.mark.parametrize("score", ["bleu", "chrf"])
def test_counts_are_in_the_order_that_runs_store(score: str) -> None:
    hypotheses, references = sentences(3)
    rows = [[row[name] for name in COLUMNS[score]] for row in sentence_counts(score, hypotheses, references)]
    assert rows == stored(score, hypotheses, references)


@pytest.mark.parametrize("score", ["bleu", "chrf"])
def test_resampled_scores_are_those_of_sacrebleus_bootstrap(score: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The generator, the draws and the scores of its own significance test."""
    monkeypatch.setenv("SACREBLEU_SEED", "12345")
    rows = stored(score, *sentences(4))
    _, expected = _bootstrap_resample(rows, METRICS[score], 50)
    counts = resample_counts(len(rows), np.random.default_rng(12345), 50)
    found = SCORES[score](counts @ np.array(rows, dtype=float))
    # it computes in 32 bits
    assert found == pytest.approx([one.score for one in expected], rel=1e-5)
    sums = (np.sum([row for row, k in zip(rows, of, strict=True) for _ in range(int(k))], axis=0) for of in counts)
    assert found == pytest.approx([as_sacrebleu(score, row) for row in sums], rel=1e-12)
    assert found.std() > 0.5


def test_counts_are_draws_with_replacement() -> None:
    counts = resample_counts(7, np.random.default_rng(1))
    assert counts.shape == (RESAMPLES, 7)
    assert (counts.sum(axis=1) == 7).all()
    assert counts.mean(axis=0) == pytest.approx(np.ones(7), abs=0.15)
    assert counts.var(axis=0) == pytest.approx(np.full(7, 6 / 7), abs=0.2)  # binomial, 7 draws of 1/7
    assert (resample_counts(7, np.random.default_rng(1)) == counts).all()
    assert (resample_counts(7, np.random.default_rng(2)) != counts).any()


def test_ratio_is_that_of_the_sums() -> None:
    counts = np.array([[2.0, 0, 1], [0, 3, 0]])
    found = ratio(counts @ np.array([[1, 2], [0, 5], [3, 3]]))
    assert found == pytest.approx([(2 * 1 + 3) / (2 * 2 + 3), 0.0])
    assert np.isnan(ratio(np.array([[1.0, 0.0], [1.0, 4.0]]))).tolist() == [True, False]


def test_variance_is_that_of_the_mean_difference() -> None:
    base = np.array([[0.0, 1.0, 2.0], [0.0, 0.0, 0.0]])
    variant = np.array([[1.0, 1.0, 3.0], [4.0, 0.0, 2.0]])
    assert item_variance(base, variant) == pytest.approx(np.var([2.5, 0.0, 1.5], ddof=1))


def test_items_that_all_runs_share_cancel() -> None:
    """Base and variant are drawn together: what makes an item hard for both is no uncertainty of the difference."""
    rng = np.random.default_rng(5)
    hard = rng.uniform(0, 1, 40)
    items = np.stack([hard, np.ones(40)], axis=1)
    better = np.stack([hard + 0.1, np.ones(40)], axis=1)
    counts = resample_counts(40, rng, 200)
    base = ratio(counts @ items)
    variant = ratio(counts @ better)
    assert item_variance([base], [variant]) < 1e-25
    again = ratio(resample_counts(40, rng, 200) @ better)
    assert item_variance([base], [again]) > 1e-3


def test_variance_of_a_mean_is_the_textbooks() -> None:
    """Three seeds, 60 items: variance of the seed-averaged item differences over M, as a bootstrap has it (1/M)."""
    rng = np.random.default_rng(7)
    right = rng.integers(0, 2, (2, 3, 60)).astype(float)
    counts = resample_counts(60, rng, 20_000)
    base, variant = ([ratio(counts @ np.stack([run, np.ones(60)], axis=1)) for run in arm] for arm in right)
    closed = (right[1] - right[0]).mean(axis=0).var() / 60
    assert item_variance(base, variant) == pytest.approx(closed, rel=0.04)


def test_sides_that_do_not_fit_are_refused() -> None:
    for base, variant in (([[1, 2]], [[1, 2], [3, 4]]), ([1, 2], [1, 2]), ([[1]], [[2]]), (np.empty((0, 3)),) * 2):
        with pytest.raises(ValueError, match="seeds by resamples"):
            item_variance(base, variant)
    with pytest.raises(ValueError, match="no score"):
        item_variance([[1, float("nan")]], [[1, 2]])
