"""Which split a generated item belongs to, and the random numbers it is drawn from.

An item belongs to the split that a hash of its content says, whatever seed it was drawn with, so no item can be in two
splits. 8 items of 10 are training items, one is for validation, one for the test.

Shapes: N items, T numbers an item.
"""

import hashlib
from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Split = Literal["train", "validation", "test"]

SPLITS: tuple[Split, ...] = ("train", "validation", "test")
TENTHS: tuple[Split, ...] = ("train",) * 8 + ("validation", "test")
ENOUGH = 4096  # a task with fewer different items than this might leave a split without any


def generator(split: Split, seed: int, *index: int) -> np.random.Generator:
    """Random numbers of the item (or batch) `index` of a split, independent of every other one's."""
    return np.random.default_rng((SPLITS.index(split), seed, *index))


def split_of_text(text: str) -> Split:
    """Split of a sentence."""
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return TENTHS[int.from_bytes(digest, "little") % len(TENTHS)]


def split_of_rows(rows: Integers) -> Integers:
    """Split of each row.

    Args:
        rows: (N, T) numbers.

    Returns:
        (N,) indices into SPLITS.
    """
    state = np.full(len(rows), rows.shape[1], dtype=np.uint64)
    for column in rows.T.astype(np.uint64):
        state = _mix(state ^ column)
    of_tenth = np.array([SPLITS.index(split) for split in TENTHS])
    return of_tenth[(state % np.uint64(len(TENTHS))).astype(np.int64)]


def draw(split: Split, count: int, propose: Callable[[int], Integers]) -> Integers:
    """Items of one split, by rejection: what `propose` draws and the hash puts into another split is dropped.

    Args:
        split: the split wanted.
        count: number of items wanted.
        propose: draws (n, ...) random items for a given n.

    Returns:
        (count, ...) items.
    """
    share = TENTHS.count(split) / len(TENTHS)
    found: list[Integers] = []
    missing = count
    while missing > 0:
        rows = propose(int(1.2 * missing / share) + 8)
        rows = rows[split_of_rows(rows.reshape(len(rows), -1)) == SPLITS.index(split)]
        found.append(rows[:missing])
        missing -= len(found[-1])
    return np.concatenate(found)


def _mix(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """One step of splitmix64 (Steele, Lea and Flood 2014), modulo 2^64 on purpose: (N,) to (N,)."""
    state = state + np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))
