"""Translated sentences of an evaluation: their scores as a whole, and what is kept of each."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from models.scores import COLUMNS, SCORES, Score, check_pairs, corpus_score, sentence_counts


@dataclass(frozen=True)
class Translation:
    """One sentence."""

    source: str
    reference: str
    """The original text, never made from tokens."""
    hypothesis: str
    """What the search found, running free."""
    forced: str
    """The likeliest token at each place, given the true ones before it."""
    nats: float
    """Cross-entropy of the reference's tokens, its end included, summed."""
    tokens: int
    """Number of those tokens."""


def make_translations(
    sources: list[str],
    references: list[str],
    hypotheses: list[str],
    forced: list[str],
    nats: list[float],
    tokens: list[int],
) -> list[Translation]:
    """The sentences of a batch. Raises ValueError unless there is one reference and one source for each hypothesis."""
    check_pairs(hypotheses, references, "references")
    check_pairs(hypotheses, sources, "sources")
    rows = zip(sources, references, hypotheses, forced, nats, tokens, strict=True)
    return [Translation(*row) for row in rows]


def translation_scores(translations: Sequence[Translation]) -> dict[str, Score]:
    """Scores of a set of sentences; none without sentences.

    bleu, bleu-lower, chrf: see models.scores.
    bleu-shuffled: BLEU of the same hypotheses against the references of other sentences, which is what can be had
        without a look at the source; two sentences at least.
    length-ratio: tokens of the hypotheses over tokens of the references, as BLEU counts them.
    empty: share of hypotheses without a word.
    chrf-forced: chrF of the likeliest tokens given the true ones before (Translation.forced).
    exposure-gap: chrf-forced - chrf, the leak check. A few points on either side of zero for a model that sees the past
        alone; tens of points for one that could see the token it is asked for, and has nothing to copy when it runs
        free. By chrF, because BLEU is 0 for want of a single 4-gram in sentences that are short or poor.
    """
    if not translations:
        return {}
    references, hypotheses = [t.reference for t in translations], [t.hypothesis for t in translations]
    scores = {name: corpus_score(name, hypotheses, references) for name in SCORES}
    if len(references) > 1:
        half = len(references) // 2
        scores["bleu-shuffled"] = Score(corpus_score("bleu", hypotheses, references[half:] + references[:half]).value)
    if (ratio := scores["bleu"].length_ratio) is not None:
        scores["length-ratio"] = Score(ratio)
    scores["empty"] = Score(sum(not text.strip() for text in hypotheses) / len(hypotheses))
    forced = corpus_score("chrf", [t.forced for t in translations], references)
    scores["chrf-forced"] = Score(forced.value)
    scores["exposure-gap"] = Score(forced.value - scores["chrf"].value)
    return scores


def translation_rows(translations: Sequence[Translation]) -> list[dict[str, Any]]:
    """A row for each sentence: the sentence, and the counts that each score is made from (scores.COLUMNS)."""
    references, hypotheses = [t.reference for t in translations], [t.hypothesis for t in translations]
    rows = [asdict(translation) for translation in translations]
    for name in COLUMNS:
        counts = sentence_counts(name, hypotheses, references)
        rows = [row | count for row, count in zip(rows, counts, strict=True)]
    return rows
