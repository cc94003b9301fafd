"""Pairs of sentences as evaluation batches of a language model: is the right one likelier?

Either side begins with a line's end, as the first sentence of a line does in the text, and a whole sentence ends with
one. What both sides begin with is read and not scored: a causal model gives it the same probability on both.

A batch: inputs, real, targets (B, T) of the right side, wrong_inputs, wrong_real, wrong_targets (B, U) of the other,
distance (B,) int64, category (B strings).

Shapes: B pairs, T and U tokens of the longest sides.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from datamodules.agreement import Pair
from datamodules.base import IGNORE, Batch
from datamodules.batching import cut, pad
from datamodules.splits import Integers
from datamodules.units import Units


class Encoded(NamedTuple):
    """A pair as ids."""

    pair: Pair
    right: Integers
    wrong: Integers
    shared: int
    """Tokens that both sides begin with; at least the line's end."""

    def scored(self) -> tuple[Integers, Integers]:
        """The tokens of either side behind what both begin with."""
        return self.right[self.shared :], self.wrong[self.shared :]


def encode_pairs(pairs: Sequence[Pair], units: Units) -> tuple[list[Encoded], str]:
    """The pairs that the vocabulary can tell apart, and what was left out, in words.

    Left out are pairs with an unknown token where the sides differ, be it on both, and those of which one side is the
    beginning of the other: the longer one would always be the less likely.
    """
    sides = [units.encode_lines([getattr(pair, side) for pair in pairs]) for side in ("right", "wrong")]
    kept, unknown, begun = [], 0, 0
    for pair, right, wrong in zip(pairs, *sides, strict=True):
        item = _encoded(pair, right, wrong, units.line_end)
        if np.array_equal(right, wrong) or any(units.unknown in side for side in _difference(item)):
            unknown += 1
        elif min(map(len, item.scored())) == 0:
            begun += 1
        else:
            kept.append(item)
    left_out = (
        f"left out: {unknown} with an unknown word where the sides differ, {begun} with one side within the other"
    )
    return kept, f"{len(kept)} of {len(pairs)} pairs; {left_out}"


def _encoded(pair: Pair, right: Integers, wrong: Integers, line_end: int) -> Encoded:
    ends = [line_end] if pair.is_whole else []
    right, wrong = (np.concatenate([[line_end], side, ends]).astype(np.int64) for side in (right, wrong))
    return Encoded(pair, right, wrong, _common(right, wrong))


def _difference(item: Encoded) -> tuple[Integers, Integers]:
    """What is left of either side without what both begin and end with."""
    right, wrong = item.scored()
    tail = _common(right[::-1], wrong[::-1])
    return right[: len(right) - tail], wrong[: len(wrong) - tail]


def _common(first: Integers, second: Integers) -> int:
    """How many tokens two sequences have in common at their beginnings."""
    size = min(len(first), len(second))
    differ = np.flatnonzero(first[:size] != second[:size])
    return int(differ[0]) if len(differ) else size


def draw(items: Sequence[Encoded], most: int | None, rng: np.random.Generator) -> list[Encoded]:
    """At most so many pairs of each category, drawn by `rng`, in their order; None: all."""
    if most is None:
        return list(items)
    taken: Counter[str] = Counter()
    rows = []
    for row in rng.permutation(len(items)).tolist():
        category = items[row].pair.category
        taken[category] += 1
        if taken[category] <= most:
            rows.append(row)
    return [items[row] for row in sorted(rows)]


def won_by(weights: np.ndarray, items: Sequence[Encoded]) -> Iterator[float]:
    """Of each pair, whether the right side has more weight than the wrong one (1), as much (0.5) or less (0).

    Args:
        weights: (V,) of every token; a side has the sum over its scored ones.
    """
    for item in items:
        right, wrong = (weights[side].sum() for side in item.scored())
        yield 0.5 if np.isclose(right, wrong) else float(right > wrong)


def pair_batches(items: Sequence[Encoded], positions: int) -> list[Batch]:
    """Batches of all pairs, sides of like length together, of at most `positions` tokens a side, padding counted."""
    longest = [max(len(item.right), len(item.wrong)) for item in items]
    order = np.argsort(longest, kind="stable")
    cuts = cut(np.sort(longest).tolist(), positions)
    return [_batch([items[row] for row in rows]) for rows in np.split(order, cuts[1:])] if items else []


def _batch(items: Sequence[Encoded]) -> Batch:
    right = _tensors([item.right for item in items], [item.shared for item in items])
    wrong = _tensors([item.wrong for item in items], [item.shared for item in items])
    names = ("inputs", "real", "targets")
    return {
        **dict(zip(names, right, strict=True)),
        **{f"wrong_{name}": value for name, value in zip(names, wrong, strict=True)},
        "distance": torch.tensor([item.pair.distance for item in items]),
        "category": [item.pair.category for item in items],
    }


def _tensors(sides: list[Integers], shared: list[int]) -> tuple[Tensor, Tensor, Tensor]:
    """Inputs, which of them are real, and targets, IGNORE for tokens that are shared: (B, T) each."""
    inputs, real = pad([side[:-1] for side in sides])
    targets, _ = pad([side[1:] for side in sides])
    scored = real & (torch.arange(1, inputs.shape[1] + 1) >= torch.tensor(shared)[:, None])
    return inputs, real, torch.where(scored, targets, IGNORE)
