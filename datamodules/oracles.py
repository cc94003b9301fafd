"""Accuracy of answerers that know which tokens there are but not where: the ceiling of a model without order.

Each gives, for every answer asked for, how likely it is right: 1, 0, or 1 / k where k tokens are equally frequent.

Shapes: B batch, T length, N questions, M tokens seen, V vocabulary.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from datamodules.base import Batch
from datamodules.splits import Integers

Chances = NDArray[np.float64]


def most_frequent(seen: Integers, answers: Integers) -> Chances:
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
    return largest_count(counts, answers)


def largest_count(counts: Integers, answers: Integers) -> Chances:
    """The same of tokens that are counted already: counts (N, V) and right answers (N,) to (N,)."""
    best = counts == counts.max(axis=1, keepdims=True)
    return best[np.arange(len(counts)), answers] / best.sum(axis=1)


def value_oracle(inputs: Integers, targets: Integers, n_keys: int) -> Chances:
    """How often the value that most of the pairs have is right; the best that is possible without their keys.

    Args:
        inputs: (B, T, 2) keys and values, the query last; keys from `n_keys` on are noise.
        targets: (B, T), of which the last one counts.
        n_keys: different keys.

    Returns:
        (B,)
    """
    keys, values = inputs[:, :-1, 0], inputs[:, :-1, 1]
    return most_frequent(np.where(keys < n_keys, values, -1), targets[:, -1])


def accuracy_of(oracle: Callable[[Integers, Integers], Chances], batches: Sequence[Batch]) -> float:
    """Mean over all answers of some batches; the oracle takes inputs and targets of each."""
    found = [oracle(batch["inputs"].numpy(), batch["targets"].numpy()) for batch in batches]
    return float(np.concatenate(found).mean())
