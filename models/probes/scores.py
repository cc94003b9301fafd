"""The scores that go into the softmax, and what the softmax lets through of a gradient.

B batch, H heads, Tq queries, Tk keys.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

import torch
from torch import Tensor, nn

from models.attention import Attention, Softmax
from models.losses import Batch, predict, token_loss
from models.masks import Mask
from models.probes.base import Measurement, exact_copy
from models.probes.inputs import first
from models.probes.layers import by_layer, place
from models.probes.sample import real_queries

SEQUENCES = 64
"""A fixed number, since the gradient of a mean loss falls with it."""
DEAD = 1e-8


def root_mean_square(values: Iterable[float]) -> float:
    """Of at least one value."""
    return math.sqrt(fmean(value**2 for value in values))


WHOLES: dict[str, Callable[[Iterable[float]], float]] = {
    "score_deviation": root_mean_square,
    "score_entropy": fmean,
    "softmax_gradient": fmean,
    "dead_scores": fmean,
}
"""What becomes of the values of all layers."""


@dataclass
class Call:
    """What one attention has computed."""

    scores: Tensor
    """(B, H, Tq, Tk), scaled and with the bias of positions; a node of the graph."""
    visible: Tensor
    """Boolean (B, H, Tq, Tk): keys that a query sees, for real queries that see two keys or more."""


def scores(model: nn.Module, batches: Sequence[Batch]) -> list[Measurement]:
    """Size of the scores and saturation of the softmax, on 64 sequences of the first batch, in double precision.

    By layer, over heads, real queries that see two keys or more, and the keys that they see:
    score_deviation, the standard deviation of the scores as the softmax sees them, scaled; all layers: root mean square
    score_entropy, the mean entropy of the weights w in nats; all layers: mean
    softmax_gradient, the mean trace of the softmax Jacobian, sum_j w_j (1 - w_j); all layers: mean
    dead_scores, the share of scores with |d loss / d score| < 1e-8, loss being the mean over the targets; mean

    Queries at places without a target have no gradient in the last layer, and so count as dead there. For a translator
    the metrics begin with encoder_, decoder_ and cross_. Raises ValueError without a softmax.
    """
    exact, batch = exact_copy(model), first(batches[0], SEQUENCES)
    calls = _recorded(exact)
    loss = token_loss(predict(exact, batch), batch["targets"], smoothing=0.0)
    seen = {place(name): _of_real(call, real_queries(batch, place(name)[0])) for name, call in calls.items()}
    if not seen or not all(call.visible.any() for call in seen.values()):
        raise ValueError("scores: needs a softmax with a choice between keys")
    tensors = [call.scores for call in seen.values()]
    gradients = torch.autograd.grad(loss.objective / loss.tokens.clamp(min=1), tensors, materialize_grads=True)
    parts = {where: _summary(call, g) for (where, call), g in zip(seen.items(), gradients, strict=True)}
    return [
        row
        for metric, whole in WHOLES.items()
        for row in by_layer(metric, {where: values[metric] for where, values in parts.items()}, whole)
    ]


def _recorded(model: nn.Module) -> dict[str, Call]:
    """Replaces each softmax attention of a model by the plain formula, which leaves its scores here, by its name."""
    calls: dict[str, Call] = {}

    def plain(name: str, inputs: tuple[Tensor, Tensor, Tensor, Mask], scale: float) -> Tensor:
        q, k, v, mask = inputs
        found = mask.hide(q @ k.mT * scale)
        calls[name] = Call(found, found > torch.finfo(found.dtype).min)
        return mask.cut(found.softmax(-1)) @ v

    for name, kind in model.named_modules():
        if isinstance(kind, Softmax):
            kind.register_forward_hook(lambda kind, inputs, _, name=name: plain(name, inputs, kind.scale))
        elif isinstance(kind, Attention):
            raise ValueError(f"scores: needs a softmax, {type(kind).__name__.lower()} attention has none over scores")
    return calls


def _of_real(call: Call, real: Tensor) -> Call:
    """With what is visible to real queries (B, Tq) that have a choice."""
    choice = call.visible.sum(-1, keepdim=True) > 1
    return Call(call.scores, call.visible & choice & real[:, None, :, None])


def _summary(call: Call, gradient: Tensor) -> dict[str, float]:
    weights = call.scores.detach().softmax(-1)[call.visible.any(-1)]  # (N, Tk), hidden keys having 0
    return {
        "score_deviation": call.scores.detach()[call.visible].std(correction=0).item(),
        "score_entropy": torch.special.entr(weights).sum(-1).mean().item(),
        "softmax_gradient": (weights * (1 - weights)).sum(-1).mean().item(),
        "dead_scores": (gradient[call.visible].abs() < DEAD).double().mean().item(),
    }
