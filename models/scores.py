"""Scores of translated text by sacrebleu (Post 2018), from sums over sentences.

A score is a function of sums of what is counted in each sentence. With these counts stored, a test over sentences needs
neither the model nor sacrebleu's tokeniser again.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.bleu import BLEU, MAX_NGRAM_ORDER, BLEUScore
from sacrebleu.metrics.chrf import CHRF

SCORES: dict[str, Callable[[], Metric]] = {
    # force: else it doubts text that ends in " ." as that of `german` does
    "bleu": partial(BLEU, force=True),
    "bleu-lower": partial(BLEU, force=True, lowercase=True),
    "chrf": CHRF,
}
"""Scores by name, 0 to 100: BLEU with 13a tokens, as they are and in lower case, and chrF (Popović 2015)."""

BLEU_COUNTS = (
    *("hypothesis_tokens", "reference_tokens"),
    *(f"{kind}_{n}" for kind in ("correct", "total") for n in range(1, MAX_NGRAM_ORDER + 1)),
)
COLUMNS = {
    **{name: tuple(f"{name}_{count}" for count in BLEU_COUNTS) for name in ("bleu", "bleu-lower")},
    "chrf": tuple(
        f"chrf_{side}_{n}" for n in range(1, CHRF.CHAR_ORDER + 1) for side in ("hypothesis", "reference", "correct")
    ),
}
"""Names of the counts of a sentence that a score is made from. bleu: tokens of either side; n-grams of the hypothesis
that the reference has too, and all of them. chrf: n-grams of characters of either side, and those of both."""


@dataclass(frozen=True)
class Score:
    """A number for a whole corpus and how it was computed. Two compare only if their signatures are equal."""

    value: float
    signature: str = ""
    """Empty for what can be computed in one way only."""
    length_ratio: float | None = None
    """Tokens of the hypotheses over tokens of the references, where the score counts them."""


def corpus_score(name: str, hypotheses: Sequence[str], references: Sequence[str]) -> Score:
    """A score of plain text with one reference a sentence.

    An empty hypothesis counts as one. Raises ValueError unless there are as many references as hypotheses, and at least
    one.
    """
    check_pairs(hypotheses, references, "references")
    if not hypotheses:
        raise ValueError("no sentences: there is nothing to score")
    metric = SCORES[name]()
    found = metric.corpus_score(list(hypotheses), [list(references)])
    ratio = found.ratio if isinstance(found, BLEUScore) and found.ref_len else None
    return Score(found.score, str(metric.get_signature()), ratio)


def corpus_bleu(hypotheses: Sequence[str], references: Sequence[str]) -> Score:
    """BLEU, cased, by sacrebleu's defaults: the figure of record. Arguments and errors as for `corpus_score`."""
    return corpus_score("bleu", hypotheses, references)


def sentence_counts(name: str, hypotheses: Sequence[str], references: Sequence[str]) -> list[dict[str, int]]:
    """What a score counts in each sentence, by the names in COLUMNS; the arguments as for `corpus_score`."""
    check_pairs(hypotheses, references, "references")
    # what sacrebleu's own tests of significance call; it has no public name
    counts = SCORES[name]()._extract_corpus_statistics(hypotheses, [references])
    return [dict(zip(COLUMNS[name], of_sentence, strict=True)) for of_sentence in counts]


def score_of_counts(name: str, counts: Iterable[dict[str, int]]) -> float:
    """The corpus score of some sentences, at least one, from their counts alone; other columns are passed over."""
    return SCORES[name]()._aggregate_and_compute([[row[column] for column in COLUMNS[name]] for row in counts]).score


def check_pairs(hypotheses: Sequence[str], others: Sequence[str], name: str) -> None:
    """Refuses what sacrebleu scores without complaint: unequal counts, and a string taken apart into letters.

    `name` says what the others are: references, sources.
    """
    if isinstance(hypotheses, str) or isinstance(others, str):
        raise ValueError(f"hypotheses and {name} must be lists of sentences, not one string")
    if any(not isinstance(sentence, str) for sentence in (*hypotheses, *others)):
        raise ValueError(f"hypotheses and {name} must be lists with one string a sentence")
    if len(hypotheses) != len(others):
        raise ValueError(f"{len(hypotheses)} hypotheses but {len(others)} {name}")
