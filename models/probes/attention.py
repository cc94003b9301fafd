"""Where attention looks, and how widely.

B batch, T length, H heads, K answers a position, Tq queries, Tk keys.
"""

from collections.abc import Iterator, Sequence
from statistics import fmean

import torch
from torch import Tensor, nn

from models.attention import attention_maps
from models.losses import Batch, predict
from models.probes.base import Measurement, exact_copy
from models.probes.inputs import sequences
from models.probes.layers import Place, by_layer, place
from models.probes.sample import answer_places, real_queries, sample

SEQUENCES = 256


@torch.no_grad()
def attention_mass(model: nn.Module, batches: Sequence[Batch]) -> list[Measurement]:
    """Weight on the token that holds the answer, and on the asking token itself, from 0 to 1.

    attention_mass and attention_self_mass by layer, and the largest of all layers. Mean over 256 sequences, all places
    that ask and all heads; where a place asks for several answers, each is left to the head that looks at it most, and
    the mean is over answers. A weight of 1 / n is that of a plain average of n tokens.
    """
    mass, own = _Tally(), _Tally()
    for batch, where, weights in _maps(model, _asking(batches), "attention-mass"):
        places = answer_places(batch, "attention-mass")
        asks = (places >= 0).any(-1, keepdim=True)
        mass.add(where, weights, places)
        own.add(where, weights, torch.arange(places.shape[1])[:, None].where(asks, -1))
    return by_layer("attention_mass", mass.values(), max) + by_layer("attention_self_mass", own.values(), max)


def _asking(batches: Sequence[Batch]) -> list[Batch]:
    chosen = sample(batches, SEQUENCES)
    for batch in chosen:
        sequences(batch, "attention-mass")
        answer_places(batch, "attention-mass")
    return chosen


class _Tally:
    """Weights that were found at certain keys, by place in the model."""

    def __init__(self) -> None:
        self.sums: dict[Place, Tensor] = {}
        self.counts: dict[Place, Tensor] = {}

    def add(self, where: Place, weights: Tensor, keys: Tensor) -> None:
        """Weights (B, H, T, T) at keys (B, T, K), of which those below 0 are none."""
        asked = (keys >= 0)[:, None]
        index = keys.clamp(min=0)[:, None].expand(-1, weights.shape[1], -1, -1)
        found = weights.gather(-1, index) * asked  # (B, H, T, K)
        self.sums[where] = self.sums.get(where, 0) + found.sum((0, 2))
        self.counts[where] = self.counts.get(where, 0) + asked.sum((0, 1, 2))

    def values(self) -> dict[Place, float]:
        """Mean weight: of all heads for one answer, of the best head of each for several."""
        found = {}
        for where, sums in self.sums.items():
            means = sums / self.counts[where]  # (H, K)
            heads = means.mean(0) if means.shape[1] == 1 else means.amax(0)
            found[where] = heads.mean().item()
        return found


@torch.no_grad()
def attention_entropy(model: nn.Module, batches: Sequence[Batch]) -> list[Measurement]:
    """attention_entropy, -sum w ln w in nats: by layer the mean over 256 sequences, queries and heads; mean of layers.

    A plain average of n tokens has ln n. For a translator the metrics begin with encoder_, decoder_ and cross_.
    """
    found: dict[Place, list[Tensor]] = {}
    for batch, where, weights in _maps(model, sample(batches, SEQUENCES), "attention-entropy"):
        entropy = torch.special.entr(weights).sum(-1).transpose(1, 2)  # (B, Tq, H)
        found.setdefault(where, []).append(entropy[real_queries(batch, where[0])])
    return by_layer("attention_entropy", {where: torch.cat(rows).mean().item() for where, rows in found.items()}, fmean)


def _maps(model: nn.Module, batches: Sequence[Batch], probe: str) -> Iterator[tuple[Batch, Place, Tensor]]:
    """Each batch with each attention and its weights (B, H, Tq, Tk), in double precision and without dropout.

    Raises ValueError in the name of a probe where there is none.
    """
    exact = exact_copy(model).eval()
    for batch in batches:
        with attention_maps(exact) as maps:
            predict(exact, batch)
        if not maps:
            raise ValueError(f"{probe}: needs a Transformer, this model has no attention of its kind")
        for name, weights in maps.items():
            yield batch, place(name), weights
