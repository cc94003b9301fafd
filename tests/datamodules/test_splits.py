import numpy as np
import pytest

from datamodules.splits import SPLITS, Integers, Split, draw, generator, split_of_rows, split_of_text


def _mixed(state: int) -> int:
    """One step of splitmix64 in plain integers."""
    top = 2**64
    state = (state + 0x9E3779B97F4A7C15) % top
    state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 % top
    state = (state ^ (state >> 27)) * 0x94D049BB133111EB % top
    return state ^ (state >> 31)


def _split_of_row(row: list[int]) -> int:
    state = len(row)
    for token in row:
        state = _mixed(state ^ token)
    return ([0] * 8 + [1, 2])[state % 10]


def test_vectorised_hash_equals_a_plain_one() -> None:
    rows = np.random.default_rng(0).integers(100, size=(300, 7))
    assert split_of_rows(rows).tolist() == [_split_of_row(row) for row in rows.tolist()]


def test_splitmix64_gives_the_published_first_output() -> None:
    assert _mixed(0) == 0xE220A8397B1DCDAF


def test_splits_are_eight_one_and_one_tenth() -> None:
    shares = np.bincount(split_of_rows(np.random.default_rng(1).integers(16, size=(50_000, 9)))) / 50_000
    assert np.abs(shares - [0.8, 0.1, 0.1]).max() < 0.006
    texts = [split_of_text(f"sentence {number}") for number in range(20_000)]
    assert np.abs(np.array([texts.count(split) for split in SPLITS]) / 20_000 - [0.8, 0.1, 0.1]).max() < 0.01


def test_similar_rows_fall_into_different_splits() -> None:
    rows = np.zeros((10_000, 5), dtype=np.int64)
    rows[:, 3] = np.arange(10_000)
    assert np.abs(np.bincount(split_of_rows(rows)) / 10_000 - [0.8, 0.1, 0.1]).max() < 0.012


@pytest.mark.parametrize("split", SPLITS)
def test_draw_gives_items_of_the_split_only_and_as_many_as_asked_for(split: Split) -> None:
    rng = generator(split, 3, 5)

    def propose(n: int) -> Integers:
        return rng.integers(13, size=(n, 2, 3))

    rows = draw(split, 211, propose)
    assert rows.shape == (211, 2, 3)
    assert set(split_of_rows(rows.reshape(211, 6)).tolist()) == {SPLITS.index(split)}


def test_draw_goes_on_where_one_proposal_is_not_enough() -> None:
    calls = []

    def propose(n: int) -> Integers:
        calls.append(n)
        return np.arange(5)[:, None] + 5 * len(calls)

    assert len(draw("train", 31, propose)) == 31
    assert len(calls) > 6


def test_generators_differ_by_split_seed_and_index_and_repeat() -> None:
    asked: list[tuple[Split, int, int]] = [("train", 0, 1), ("train", 1, 0), ("test", 0, 1), ("train", 0, 2)]
    first = [int(generator(*place).integers(2**60)) for place in asked]
    assert len(set(first)) == 4
    assert first == [int(generator(*place).integers(2**60)) for place in asked]
