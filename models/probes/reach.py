"""How much of an answer's gradient arrives at the token that holds the answer.

B batch, T length, D width.
"""

import math
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn

from models.losses import IGNORED, Batch, predict
from models.probes.base import Measurement, exact_copy, largest
from models.probes.gradients import LEAST
from models.probes.inputs import first, sequences
from models.probes.sample import MOST, answer_places

SEQUENCES = 32
"""For each distance."""


def reach(model: nn.Module, batches: Sequence[Batch]) -> list[Measurement]:
    """log_reach by distance: log10 of the mean norm of d logit / d embedding.

    The logit is that of the right answer, the embedding that of the token which holds it, before positions are added.
    In double precision and without dropout, mean over 32 sequences of each distance that the batches have; a mean below
    1e-300 counts as that, so that -300 stands for a gradient that has vanished altogether.
    """
    exact = exact_copy(model).eval()
    found: dict[int, list[Tensor]] = {}
    for distance, batch in _questions(batches):
        found.setdefault(distance, []).append(_norms(exact, batch, distance))
    means = {distance: torch.cat(norms).mean().item() for distance, norms in sorted(found.items())}
    return [Measurement("log_reach", f"distance={n}", math.log10(largest((mean, LEAST)))) for n, mean in means.items()]


def _questions(batches: Sequence[Batch]) -> Iterator[tuple[int, Batch]]:
    """Each distance with SEQUENCES rows that ask over it, from at most MOST batches."""
    where: dict[int, list[Batch]] = {}
    for batch in batches:
        sequences(batch, "reach")
        if answer_places(batch, "reach").shape[2] > 1 or "distance" not in batch:
            raise ValueError("reach: needs one answer a position and its distance")
        for distance in batch["distance"][(batch["answer_at"] >= 0) & (batch["distance"] >= 0)].unique().tolist():
            where.setdefault(distance, []).append(batch)
    for distance, holders in where.items():
        chosen = holders[:: -(-len(holders) // MOST)]
        for batch in chosen:
            yield distance, first(_with_rows(batch, distance), -(-SEQUENCES // len(chosen)))


def _with_rows(batch: Batch, distance: int) -> Batch:
    """The rows of a batch that ask over a distance."""
    rows = _asked(batch, distance).any(1)
    return {name: part[rows] for name, part in batch.items() if isinstance(part, Tensor)}


def _asked(batch: Batch, distance: int) -> Tensor:
    """Boolean (B, T): where a place is asked over a distance."""
    return (batch["distance"] == distance) & (batch["answer_at"] >= 0) & (batch["targets"] != IGNORED)


def _norms(model: nn.Module, batch: Batch, distance: int) -> Tensor:
    """Norms (B,), for the first question of each row that is asked over the distance."""
    rows, at = torch.arange(len(batch["targets"])), _asked(batch, distance).int().argmax(1)
    embedded: list[Tensor] = []
    handle = model.get_submodule("embedding").register_forward_hook(lambda *call: embedded.append(call[2]))
    logits = predict(model, batch)
    handle.remove()
    # sequences do not see one another, so that the gradient of a sum holds that of each
    (gradient,) = torch.autograd.grad(logits[rows, at, batch["targets"][rows, at]].sum(), embedded)
    return gradient[rows, batch["answer_at"][rows, at]].norm(dim=-1)
