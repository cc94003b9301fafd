from collections import Counter

import numpy as np
import pytest
import torch

from datamodules.oracles import Chances, accuracy_of, largest_count, most_frequent, value_oracle
from datamodules.splits import Integers


def test_hand_made_cases() -> None:
    seen = np.array([[2, 2, 5, 1], [2, 2, 5, 1], [3, 4, 3, 4], [-1, -1, 7, -1]])
    answers = np.array([2, 5, 4, 7])
    assert most_frequent(seen, answers).tolist() == [1.0, 0.0, 0.5, 1.0]


def test_against_counting_row_by_row() -> None:
    rng = np.random.default_rng(4)
    seen, answers = rng.integers(-1, 6, size=(200, 7)), rng.integers(0, 8, size=200)
    seen[:, 0] = 2
    expected = []
    for row, answer in zip(seen.tolist(), answers.tolist(), strict=True):
        counts = Counter(token for token in row if token >= 0)
        best = [token for token, number in counts.items() if number == max(counts.values())]
        expected.append((answer in best) / len(best))
    assert most_frequent(seen, answers).tolist() == pytest.approx(expected)


def test_counts_by_hand() -> None:
    counts = np.array([[0, 3, 1], [2, 0, 2], [0, 0, 0]])
    assert largest_count(counts, np.array([1, 2, 0])).tolist() == pytest.approx([1, 1 / 2, 1 / 3])
    assert largest_count(counts, np.array([2, 1, 2])).tolist() == pytest.approx([0, 0, 1 / 3])


def test_value_oracle_by_hand() -> None:
    """Keys from 5 on are noise, and the query's own value, the question mark, does not count."""
    inputs = np.array([[[7, 3], [0, 1], [4, 3], [2, 3], [0, 9]], [[5, 2], [6, 2], [1, 0], [3, 2], [1, 9]]])
    targets = np.array([[-100] * 4 + [1], [-100] * 4 + [0]])
    assert value_oracle(inputs, targets, n_keys=5).tolist() == [0, 1 / 2]
    targets[0, -1] = 3
    assert value_oracle(inputs, targets, n_keys=5).tolist() == [1, 1 / 2]


def test_accuracy_is_the_mean_over_answers_whatever_the_batches() -> None:
    def oracle(inputs: Integers, targets: Integers) -> Chances:
        return (inputs == targets)[targets >= 0].astype(np.float64)

    inputs, targets = torch.tensor([[4, 2], [4, 4], [7, 1]]), torch.tensor([[4, 9], [-100, 4], [-100, 9]])
    batches = [{"inputs": inputs[rows], "targets": targets[rows]} for rows in (slice(2), slice(2, 3))]
    assert accuracy_of(oracle, batches) == pytest.approx(2 / 4)
