from collections import Counter

import numpy as np
import pytest

from datamodules.oracles import most_frequent


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
