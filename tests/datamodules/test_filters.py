"""Filters by hand."""

import numpy as np

from datamodules.filters import Sieve, occurring, overlap, repeated, uneven
from datamodules.parallel import Pairs


def test_a_pair_counts_for_the_first_reason() -> None:
    sieve = Sieve(5)
    sieve.leave_out("dull", np.array([True, False, False, False, False]))
    sieve.leave_out("long", np.array([True, False, True, False, True]))
    sieve.leave_out("odd", np.array([False, False, False, False, True]))
    assert sieve.kept.tolist() == [1, 3]
    assert sieve.report == "left out: 1 dull, 2 long, 0 odd"


def test_thousands_are_parted() -> None:
    sieve = Sieve(1203)
    sieve.leave_out("dull", np.ones(1203, dtype=bool))
    assert sieve.report == "left out: 1,203 dull"


def test_uneven_pairs_in_either_direction() -> None:
    lengths = np.array([[4, 2], [5, 2], [2, 4], [2, 5], [3, 3], [0, 1], [1, 0], [0, 0]])
    assert uneven(lengths, 2.0).tolist() == [False, True, False, True, False, True, True, False]
    assert uneven(lengths[:5], 2.5).tolist() == [False] * 5


def test_a_repeated_pair_is_the_same_on_both_sides() -> None:
    pairs = Pairs(["a", "a", "b", "a", "a"], ["x", "y", "x", "x", "y"])
    assert repeated(pairs).tolist() == [False, False, False, True, True]


def test_sources_that_are_held_out() -> None:
    assert occurring(["a", "b", "a", "A"], {"a", "c"}).tolist() == [True, False, True, False]


def test_overlap_counts_what_is_held_out() -> None:
    training = Pairs(["a", "a", "b", "d"], ["x", "y", "z", "v"])
    held = Pairs(["a", "a", "b", "c", "b"], ["y", "w", "z", "v", "z"])
    assert overlap(held, training) == (4, 3)
    assert overlap(Pairs(["c"], ["x"]), training) == (0, 0)
