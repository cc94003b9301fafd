"""Sentences of different lengths put together into batches.

Shapes: N sentences, B sentences of a batch, T longest of them.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from datamodules.splits import SPLITS, Integers
from datamodules.vocabulary import PAD


def pad(sequences: list[Integers]) -> tuple[Tensor, Tensor]:
    """Put sequences into one tensor, padding at the end.

    Returns:
        ids (B, T) and real (B, T): True where a token is no padding.
    """
    lengths = np.array([len(sequence) for sequence in sequences])
    real = np.arange(lengths.max())[None, :] < lengths[:, None]
    ids = np.full(real.shape, PAD, dtype=np.int64)
    ids[real] = np.concatenate(sequences)
    return torch.from_numpy(ids), torch.from_numpy(real)


class Batches:
    """Which sentences make up which training batch.

    By number: every epoch deals all sentences in a new random order, `batch_size` to a batch.

    By tokens: sentences are ordered by length and cut into batches of as many as fit into `tokens` target tokens with
    padding counted (a longer sentence stands alone). Every epoch draws anew the order of sentences of the same two
    lengths and the order of the batches. The cuts depend on the lengths only.

    Either way all epochs have the same number of batches, and any batch can be had without the ones before.

    Args:
        source_lengths: (N,) tokens of each source sentence.
        target_lengths: (N,) tokens of each target sentence.
        batch_size: sentences a batch (if tokens is 0).
        tokens: target tokens a batch, or 0.
        seed: of the orders.
    """

    def __init__(
        self, source_lengths: Integers, target_lengths: Integers, *, batch_size: int, tokens: int, seed: int
    ) -> None:
        self._seed = seed
        self._number = len(target_lengths)
        self._lengths = (source_lengths, target_lengths)
        if tokens:
            # within a target length short sources come first, within the next one last: neighbours have like lengths
            self._keys: tuple[Integers, ...] = (
                np.where(target_lengths % 2, -source_lengths, source_lengths),
                target_lengths,
            )
            self._cuts = np.array(cut(np.sort(target_lengths).tolist(), tokens))
        else:
            self._keys = ()
            self._cuts = np.arange(0, self._number, batch_size)
        self._epoch = -1
        self._rows: list[Integers] = []

    def __len__(self) -> int:
        """Batches of an epoch."""
        return len(self._cuts)

    def rows(self, index: int) -> Integers:
        """Indices of the sentences of batch `index`, counted over all epochs: (B,)."""
        epoch, place = divmod(index, len(self))
        if epoch != self._epoch:
            self._epoch, self._rows = epoch, self._deal(epoch)
        return self._rows[place]

    def shares(self) -> tuple[float, float]:
        """Which share of the positions of an epoch's batches hold a real token, not padding: source and target."""
        source, target = (
            lengths.sum() / sum(len(rows) * lengths[rows].max() for rows in self._deal(0)) for lengths in self._lengths
        )
        return float(source), float(target)

    def _deal(self, epoch: int) -> list[Integers]:
        """The batches of an epoch, a pure function of (seed, epoch)."""
        rng = np.random.default_rng((len(SPLITS), self._seed, epoch))  # apart from what the splits are drawn from
        order = np.lexsort((rng.random(self._number), *self._keys))  # the last key counts most
        batches = np.split(order, self._cuts[1:])
        return [batches[place] for place in rng.permutation(len(batches))]


def cut(lengths: Sequence[int], tokens: int, most: int | None = None) -> list[int]:
    """First sentence of each batch, where batches are to hold neighbours.

    Args:
        lengths: tokens of each of the N sentences.
        tokens: of a batch, padding counted; a longer sentence stands alone.
        most: sentences of a batch.
    """
    cuts = [0]
    longest = 0
    for index, length in enumerate(lengths):
        longest, number = max(longest, length), index - cuts[-1]
        if number and ((number + 1) * longest > tokens or number == most):
            cuts.append(index)
            longest = length
    return cuts
