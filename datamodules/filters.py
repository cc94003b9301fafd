"""Which training pairs are left out, and how many for which reason.

Shapes: N pairs.
"""

import numpy as np
from numpy.typing import NDArray

from datamodules.parallel import Pairs
from datamodules.splits import Integers

Mask = NDArray[np.bool_]


class Sieve:
    """Leaves out pairs, one reason after the other; a pair counts for the first reason that it falls under.

    Args:
        number: N.
    """

    def __init__(self, number: int) -> None:
        self._in = np.ones(number, dtype=bool)
        self._reasons: list[str] = []

    def leave_out(self, reason: str, mask: Mask) -> None:
        """Leave out where the mask (N,) is True."""
        self._reasons.append(f"{(self._in & mask).sum():,} {reason}")
        self._in &= ~mask

    @property
    def kept(self) -> Integers:
        """Indices of the pairs that are left."""
        return np.nonzero(self._in)[0]

    @property
    def report(self) -> str:
        """How many were left out for each reason."""
        return f"left out: {', '.join(self._reasons)}"


def uneven(lengths: Integers, ratio: float) -> Mask:
    """Where the longer side is more than `ratio` times as long as the shorter: (N, 2) to (N,)."""
    return lengths.max(axis=1) > ratio * lengths.min(axis=1)


def repeated(pairs: Pairs) -> Mask:
    """Where both sides are those of an earlier pair: (N,)."""
    seen: set[tuple[str, str]] = set()
    found = []
    for pair in zip(pairs.sources, pairs.references, strict=True):
        found.append(pair in seen)
        seen.add(pair)
    return np.array(found)


def occurring(sources: list[str], held: set[str]) -> Mask:
    """Where a source is one of those held out: (N,)."""
    return np.array([source in held for source in sources])


def overlap(held: Pairs, training: Pairs) -> tuple[int, int]:
    """How many sentences held out are training sources, and how many of those have the same translation there."""
    sources, pairs = set(training.sources), set(zip(*training, strict=True))
    return (
        sum(source in sources for source in held.sources),
        sum(pair in pairs for pair in zip(*held, strict=True)),
    )
