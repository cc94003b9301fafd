"""Identities of a model's parts, each with its largest error over many inputs; 0 up to rounding where it holds.

B batch, T length, D width, H heads, K head width, Tq queries, Tk keys.
"""

import copy
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from models.attention import Attention, attention_maps, watched
from models.feed_forwards import FeedForward
from models.losses import Batch, predict
from models.masks import Mask
from models.probes.base import Measurement, exact_copy, largest, smallest
from models.probes.inputs import first, sequences
from models.transformer import TransformerSequenceModel

ORDERS = 4
"""Permutations that are tried."""
WORDS = 8
"""Words that are held while all others change."""
MIXTURES = ((2.0, -0.5), (0.3, 1.7), (-1.0, 1.0))
"""Factors of the sums that a linear map keeps."""


@torch.no_grad()
def equal_keys(model: nn.Module, batches: Sequence[Batch]) -> list[Measurement]:
    """equal_keys_error: how far tokens with equal keys and different values are from sharing the weight.

    For the queries, keys and values of every attention on the first batch, in double precision. With all keys made
    equal the output must be the mean of the values in sight; with keys equal in pairs, and all in sight, it must stay
    the same when both values of a pair become their mean. Largest difference, relative to the largest value.
    """
    calls: list[tuple[Attention, Tensor, Tensor, Tensor, Mask]] = []
    exact = exact_copy(model).eval()
    with watched(exact, Attention, lambda kind, inputs, name: calls.append((kind, *inputs))):
        predict(exact, first(batches[0]))
    if not calls:
        raise ValueError("equal-keys: a model without attention heads has no keys")
    errors = [error(*call) for call in calls for error in (_from_mean, _from_pairs)]
    return [Measurement("equal_keys_error", "", largest(errors))]


def _from_mean(kind: Attention, q: Tensor, k: Tensor, v: Tensor, mask: Mask) -> float:
    seen = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool)
    for part in (mask.allowed, mask.kept):
        seen = seen if part is None else seen & part
    seen = seen.to(v.dtype)
    means = seen @ v / seen.sum(-1, keepdim=True).clamp(min=1)
    return _difference(kind(q, k[:, :, :1].expand_as(k), v, mask), means, v)


def _from_pairs(kind: Attention, q: Tensor, k: Tensor, v: Tensor, mask: Mask) -> float:
    pairs = torch.stack((v[:, :, :-1:2], v[:, :, 1::2]), dim=3)  # (B, H, Tk // 2, 2, K)
    keys = k[:, :, : pairs.shape[2]].repeat_interleave(2, dim=2)
    means = pairs.mean(3, keepdim=True).expand_as(pairs)
    return _difference(kind(q, keys, pairs.flatten(2, 3), Mask()), kind(q, keys, means.flatten(2, 3), Mask()), v)


@torch.no_grad()
def permutation(model: nn.Module, batches: Sequence[Batch]) -> list[Measurement]:
    """permutation_error: largest change of the logits of a word when the words of its sequence change places.

    Relative to the largest logit, over some random permutations of the first batch, in double precision. 0 for a stack
    without positions and mask (Vaswani et al. 2017, arXiv:1706.03762, 3.5). Raises ValueError for a translation.
    """
    inputs, exact = sequences(first(batches[0]), "permutation"), exact_copy(model).eval()
    outputs, draw = exact(inputs), torch.Generator().manual_seed(0)
    errors = []
    for _ in range(ORDERS):
        order = torch.randperm(inputs.shape[1], generator=draw)
        errors.append(_difference(exact(inputs[:, order]), outputs[:, order], outputs))
    return [Measurement("permutation_error", "", largest(errors))]


@torch.no_grad()
def per_word(model: nn.Module, batches: Sequence[Batch]) -> list[Measurement]:
    """per_word_change: largest change of a feed-forward sublayer's output at a word when all other words change.

    For the inputs that each sublayer gets in the first batch, some words after one another; 0 to the last bit
    (Vaswani et al. 2017, 3.3: "to each position separately"). Raises ValueError for a model without such a sublayer.
    """
    calls: list[tuple[FeedForward, Tensor]] = []
    copied = copy.deepcopy(model).eval()
    with watched(copied, FeedForward, lambda sublayer, inputs, name: calls.append((sublayer, *inputs))):
        predict(copied, first(batches[0]))
    if not calls:
        raise ValueError("per-word: the model has no feed-forward sublayer")
    return [Measurement("per_word_change", "", largest(_of_others(*call) for call in calls))]


def _of_others(sublayer: FeedForward, x: Tensor) -> float:
    draw, outputs, changes = torch.Generator().manual_seed(0), sublayer(x), []
    for word in range(0, x.shape[1], -(-x.shape[1] // WORDS)):
        others = torch.randn(x.shape, generator=draw, dtype=x.dtype)
        others[:, word] = x[:, word]
        changes.append((sublayer(others)[:, word] - outputs[:, word]).abs().max().item())
    return largest(changes)


class Fixed(Attention):
    """Attention with the weights (B, H, Tq, Tk) of another call, whatever its queries and keys are."""

    def __init__(self, given: Tensor) -> None:
        super().__init__(scale=1.0)
        self.given = given

    def weights(self, q: Tensor, k: Tensor, mask: Mask) -> Tensor:
        return self.given


@torch.no_grad()
def frozen_linear(model: nn.Module, batches: Sequence[Batch]) -> list[Measurement]:
    """How far a stack f is from f(a x + b y) = a f(x) + b f(y), relative to the larger side.

    frozen_linear_error: with the attention weights that x gives, the largest error; 0 for attention alone, without
    norm, feed-forward sublayer and added positions. unfrozen_linear_error: with weights of the input, the least error.
    x are the embeddings of the first batch, y those in reversed order; in double precision. Raises ValueError where
    there is no single stack.
    """
    exact = exact_copy(model).eval()
    if not isinstance(exact, TransformerSequenceModel):
        raise ValueError("frozen-linear: needs a model of one Transformer stack")
    x = exact.embedding(first(batches[0])["inputs"])
    with attention_maps(exact) as maps:
        exact.stack.encode(x, None)
    free = _from_linear(lambda inputs: exact.stack.encode(inputs, None), x)
    frozen = copy.deepcopy(exact)
    for name, weights in maps.items():
        frozen.get_submodule(name).kind = Fixed(weights)
    fixed = _from_linear(lambda inputs: frozen.stack.encode(inputs, None), x)
    return [
        Measurement("frozen_linear_error", "", largest(fixed)),
        Measurement("unfrozen_linear_error", "", smallest(free)),
    ]


def _from_linear(f: Callable[[Tensor], Tensor], x: Tensor) -> list[float]:
    y = x.flip(0, 1)
    of_x, of_y = f(x), f(y)
    sums = [(f(a * x + b * y), a * of_x + b * of_y) for a, b in MIXTURES]
    return [_difference(one, other, torch.stack((one, other))) for one, other in sums]


def _difference(one: Tensor, other: Tensor, scale: Tensor) -> float:
    """Largest difference between two tensors, relative to the largest element of a third."""
    return ((one - other).abs().max() / scale.abs().max()).item()
