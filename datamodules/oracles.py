"""Accuracy of answerers that know which tokens there are but not where: the ceiling of a model without order.

Shapes: N questions, M tokens seen, V vocabulary.
"""

import numpy as np
from numpy.typing import NDArray

from datamodules.splits import Integers


def most_frequent(seen: Integers, answers: Integers) -> NDArray[np.float64]:
    """How often "the most frequent of the tokens seen" is right.

    Args:
        seen: (N, M) tokens, or a negative number where there is none.
        answers: (N,) right answers.

    Returns:
        (N,) 1 where right, 0 where wrong, 1 / k where the answer is one of k equally frequent tokens.
    """
    counts = np.zeros((len(seen), int(max(seen.max(), answers.max())) + 1), dtype=np.int64)
    row, column = np.nonzero(seen >= 0)
    np.add.at(counts, (row, seen[row, column]), 1)
    best = counts == counts.max(axis=1, keepdims=True)
    return best[np.arange(len(seen)), answers] / best.sum(axis=1)
