"""Padding by hand; batches by tokens and by number on made-up lengths."""

import numpy as np
import pytest

from datamodules.batching import Batches, cut, pad
from datamodules.splits import Integers


def _lengths(number: int) -> tuple[Integers, Integers]:
    """Source and target lengths such as sentences have: long tail, correlated."""
    rng = np.random.default_rng(5)
    target = np.clip(rng.lognormal(2.6, 0.4, size=number), 2, 90).astype(np.int64)
    source = np.clip(target * rng.normal(1.0, 0.2, size=number), 2, 90).astype(np.int64)
    return source, target


def _by_tokens(number: int = 29_000, tokens: int = 1024, seed: int = 0) -> Batches:
    source, target = _lengths(number)
    return Batches(source, target, batch_size=64, tokens=tokens, seed=seed)


def _epoch(batches: Batches, epoch: int) -> list[list[int]]:
    first = epoch * len(batches)
    return [batches.rows(index).tolist() for index in range(first, first + len(batches))]


def test_padding_stands_at_the_end() -> None:
    ids, real = pad([np.array([5, 6, 7]), np.array([8]), np.array([9, 4])])
    assert ids.tolist() == [[5, 6, 7], [8, 0, 0], [9, 4, 0]]
    assert real.tolist() == [[True, True, True], [True, False, False], [True, True, False]]


def test_at_least_95_percent_of_the_tokens_are_real() -> None:
    source, target = _lengths(29_000)
    batches = _by_tokens()
    rows = [batches.rows(index) for index in range(len(batches))]
    shares = [lengths.sum() / sum(len(row) * lengths[row].max() for row in rows) for lengths in (source, target)]
    assert shares[0] > 0.95
    assert shares[1] > 0.98
    assert batches.shares() == pytest.approx(shares)


def test_shares_by_hand() -> None:
    source, target = np.array([1, 4, 3]), np.array([2, 2, 5])
    assert Batches(source, target, batch_size=3, tokens=0, seed=0).shares() == pytest.approx((8 / 12, 9 / 15))
    assert Batches(source, target, batch_size=1, tokens=5, seed=0).shares() == pytest.approx((8 / 11, 1.0))


def test_cuts_by_hand() -> None:
    assert cut([2, 2, 3, 4, 4, 9, 1, 1], tokens=8) == [0, 2, 4, 5, 6]  # 3 stands with 4, as two of 4 are 8
    assert cut([9, 1, 1, 1], tokens=20) == [0, 2]  # the longest need not come last
    assert cut([1, 1, 1, 1, 1, 9], tokens=8, most=2) == [0, 2, 4, 5]
    assert cut([], tokens=8) == [0]


def test_no_batch_is_above_the_budget_and_no_batch_could_take_the_next_sentence() -> None:
    _, target = _lengths(29_000)
    batches = _by_tokens()
    rows = sorted((batches.rows(index) for index in range(len(batches))), key=lambda row: int(target[row].max()))
    padded = np.array([len(row) * target[row].max() for row in rows])
    assert padded.max() <= 1024
    assert padded[:-1].min() > 1024 - 2 * target.max()


def test_batches_by_tokens_come_in_random_order() -> None:
    _, target = _lengths(29_000)
    batches = _by_tokens()
    longest = [int(target[batches.rows(index)].max()) for index in range(len(batches))]
    assert abs(np.corrcoef(longest, range(len(longest)))[0, 1]) < 0.2


def test_a_sentence_longer_than_the_budget_stands_alone() -> None:
    target = np.array([3, 50, 3, 40])
    batches = Batches(target, target, batch_size=1, tokens=9, seed=0)
    assert sorted(sorted(rows) for rows in _epoch(batches, 0)) == [[0, 2], [1], [3]]
    batches = Batches(target[1::2], target[1::2], batch_size=1, tokens=9, seed=0)
    assert sorted(_epoch(batches, 0)) == [[0], [1]]


@pytest.mark.parametrize("tokens", [0, 100])
def test_every_epoch_has_every_sentence_once_in_a_new_order(tokens: int) -> None:
    batches = _by_tokens(number=301, tokens=tokens)
    epochs = [_epoch(batches, epoch) for epoch in range(3)]
    for epoch in epochs:
        assert sorted(row for rows in epoch for row in rows) == list(range(301))
    assert epochs[0] != epochs[1] != epochs[2]
    assert {frozenset(rows) for rows in epochs[0]} != {frozenset(rows) for rows in epochs[1]}


@pytest.mark.parametrize("tokens", [0, 100])
def test_a_batch_depends_on_seed_and_index_only(tokens: int) -> None:
    straight = [rows.tolist() for rows in map(_by_tokens(301, tokens).rows, range(100))]
    for index in (99, 0, 57, 58):
        assert _by_tokens(301, tokens).rows(index).tolist() == straight[index]
    assert _by_tokens(301, tokens, seed=1).rows(3).tolist() != straight[3]


def test_batches_by_number_have_that_number_of_sentences_of_any_length() -> None:
    source, target = _lengths(1001)
    batches = Batches(source, target, batch_size=64, tokens=0, seed=0)
    sizes = [len(rows) for rows in _epoch(batches, 0)]
    assert sorted(sizes) == [1001 % 64] + [64] * 15
    spread = [target[rows].max() - target[rows].min() for rows in _epoch(batches, 0)]
    assert np.median(spread) > 15
