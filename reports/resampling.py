"""How much a score depends on the test items that happen to be in the set.

Letters: M items (sentences, contrasts), K numbers stored for each, B resamples, S seeds. A score is a function of sums
over items, so that a resample is a row of counts (how often each item is drawn) and all resamples are one product of
matrices, (B, M) @ (M, K) (Koehn 2004; Post 2018). Every run of a comparison must be scored with the same counts.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

RESAMPLES = 1000
"""Enough to know a standard error to 2 %."""

Floats = NDArray[np.float64]

ORDERS = 4
"""Longest n-gram of words in BLEU."""

BETA = 2
"""Weight of recall against precision in chrF."""


def resample_counts(n_items: int, rng: np.random.Generator, n: int = RESAMPLES) -> Floats:
    """How often each item is drawn in n draws of n_items with replacement: (B, M), each row sums to n_items."""
    counts = np.empty((n, n_items))
    for row in counts:  # all at once would take four times the memory
        row[:] = np.bincount(rng.integers(0, n_items, n_items), minlength=n_items)
    return counts


def bleu(sums: Floats) -> Floats:
    """Corpus BLEU in points (0 to 100) as sacrebleu has it by default, from sums (..., 10) to (...).

    The sums: tokens of the hypotheses, of the references, n-grams that are right for n = 1..4, all n-grams for
    n = 1..4. An order with none right counts as 1/2, 1/4, ... of one (exponential smoothing; Chen & Cherry 2014).
    0 without a right word, and where the hypotheses have no n-gram of some order.
    """
    hypothesis, reference = sums[..., 0], sums[..., 1]
    correct, total = sums[..., 2 : 2 + ORDERS], sums[..., 2 + ORDERS :]
    smoothed = np.where(correct == 0, 0.5 ** np.cumsum(correct == 0, axis=-1), correct)
    precision = np.log(smoothed / np.maximum(total, 1)).mean(axis=-1)
    brevity = np.minimum(0, 1 - reference / np.maximum(hypothesis, 1))
    defined = (correct > 0).any(axis=-1) & (total > 0).all(axis=-1)
    return np.where(defined, 100 * np.exp(precision + brevity), 0.0)


def chrf(sums: Floats) -> Floats:
    """Corpus chrF (Popović 2015) in points (0 to 100) as sacrebleu has it by default, from sums (..., 18) to (...).

    The sums: for n = 1..6, n-grams of characters of the hypotheses, of the references, of both. Precision and recall
    are averaged over the orders that both sides have; 0 where there is none, and where nothing is right.
    """
    hypothesis, reference, correct = (sums[..., i::3] for i in range(3))
    counts = (hypothesis > 0) & (reference > 0)
    orders = np.maximum(counts.sum(axis=-1), 1)
    precision = (counts * correct / np.maximum(hypothesis, 1)).sum(axis=-1) / orders
    recall = (counts * correct / np.maximum(reference, 1)).sum(axis=-1) / orders
    weighted = BETA**2 * precision + recall
    right = weighted > 0
    return np.where(right, 100 * (1 + BETA**2) * precision * recall / np.where(right, weighted, 1), 0.0)


def ratio(sums: Floats) -> Floats:
    """Sum of column 0 over sum of column 1, from sums (..., 2) to (...): right ones over items, loss over tokens.

    NaN where the second sum is 0.
    """
    return np.divide(sums[..., 0], sums[..., 1], out=np.full(sums.shape[:-1], np.nan), where=sums[..., 1] != 0)


def exponential(sums: Floats) -> Floats:
    """The exponential of `ratio`: perplexity from nats and tokens."""
    return np.exp(ratio(sums))


SCORES: dict[str, Callable[[Floats], Floats]] = {"bleu": bleu, "chrf": chrf, "ratio": ratio, "exponential": exponential}
"""Score of a whole set from its sums (..., K), by name; the order of the sums is that of `models.scores.COLUMNS`."""


def item_variance(base: ArrayLike, variant: ArrayLike) -> float:
    """Variance, over resamples, of the mean over seeds of variant - base; both (S, B), of the same seeds in order.

    Goes into `statistics.paired_effect`. What seeds and items do together is in the part over seeds too, which makes
    the interval a little too wide rather than too narrow. The square of the score's unit. Raises ValueError for
    different shapes, fewer than two resamples, and scores that are not finite.
    """
    b, v = np.asarray(base, dtype=np.float64), np.asarray(variant, dtype=np.float64)
    if b.shape != v.shape or b.ndim != 2 or b.shape[0] < 1 or b.shape[1] < 2:
        raise ValueError(f"both arms must be seeds by resamples, of the same seeds: {b.shape} and {v.shape}")
    if not (np.isfinite(b).all() and np.isfinite(v).all()):
        raise ValueError("some resample has no score: an item without weight may be all that it drew")
    return float((v - b).mean(axis=0).var(ddof=1))
