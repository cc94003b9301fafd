"""Attention: the kinds, which turn queries and keys into weights, and the projections around them.

B batch, T length, S source length, Tq queries, Tk keys, D width, H heads, K head width, N selected rows.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.linear import LinearLayer
from models.masks import Mask
from models.positions import Position

if TYPE_CHECKING:
    from models.config import ModelConfig


BLOCK = 16
"""Keys come in multiples of this while a translation is written: other sizes are half as fast."""

FEW = 8
"""Queries up to which the plain product is faster than the fused call, where no gradient is wanted."""


class Attention(nn.Module):
    """Base of the kinds of attention: an entry needs `weights`, and may have a faster `forward`."""

    takes_scale: ClassVar[bool] = True
    takes_query_key: ClassVar[bool] = True
    """Has queries and keys; otherwise their projections are not built."""
    takes_rotation: ClassVar[bool] = True
    takes_bias: ClassVar[bool] = True
    takes_window: ClassVar[bool] = False
    changes_size: ClassVar[bool] = False
    """Has another number of parameters than the default, `softmax`."""

    def __init__(self, scale: float) -> None:
        super().__init__()
        self.scale = scale

    @classmethod
    def across(cls) -> "type[Attention]":
        """The kind to use between decoder and encoder."""
        return cls

    def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Mask) -> Tensor:
        """q (B, H, Tq, K), k and v (B, H, Tk, K) -> (B, H, Tq, K), the sums of values by `weights`."""
        return self.weights(q, k, mask) @ v

    def weights(self, q: Tensor, k: Tensor, mask: Mask) -> Tensor:
        """The weights by the plain formula, broadcasting to (B, H, Tq, Tk): the reference for `forward`."""
        raise NotImplementedError

    @staticmethod
    def multiply_adds(n_queries: int, n_keys: int, d_head: int, mask: str) -> int:
        """Multiply-adds of one head's two products, hidden keys included; `mask` is the stack's rule in masks.MASKS."""
        return 2 * n_queries * n_keys * d_head

    @staticmethod
    def count(n_heads: int, d_head: int) -> int:
        """Number of parameters of the kind itself, projections not among them."""
        return 0


class Softmax(Attention):
    """softmax(scale q k^T) v (Vaswani et al. 2017, arXiv:1706.03762, eq. 1)."""

    def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Mask) -> Tensor:
        few = q.shape[-2] <= FEW and not torch.is_grad_enabled()
        if few or mask.kept is not None:  # the fused call cannot drop weights after its softmax
            return self.weights(q, k, mask) @ v
        return F.scaled_dot_product_attention(
            q, k, v, attn_mask=mask.fused, is_causal=mask.is_triangle, scale=self.scale
        )

    def weights(self, q: Tensor, k: Tensor, mask: Mask) -> Tensor:
        return mask.cut(mask.hide(q @ k.mT * self.scale).softmax(-1))


class Uniform(Attention):
    """The plain average of the values in sight: no look-up, no queries and keys."""

    takes_scale = takes_query_key = takes_rotation = takes_bias = False
    changes_size = True

    def weights(self, q: Tensor, k: Tensor, mask: Mask) -> Tensor:
        return mask.cut(mask.hide(q.new_zeros(q.shape[-2], k.shape[-2])).softmax(-1))

    @staticmethod
    def multiply_adds(n_queries: int, n_keys: int, d_head: int, mask: str) -> int:
        return n_queries * n_keys * d_head


class Window(Softmax):
    """Softmax over keys at most `window` positions away (Beltagy et al. 2020, arXiv:2004.05150, 3.1).

    The band is part of the mask, so all scores are computed; between decoder and encoder there is no distance.
    """

    takes_window = True

    @classmethod
    def across(cls) -> type[Attention]:
        return Softmax


class Linear(Attention):
    """f(q) (f(k)^T v) with f = elu + 1 in place of the softmax (Katharopoulos et al. 2020, arXiv:2006.16236, eq. 5-7).

    Its cost is linear in the length where every query sees the same keys; under a mask the plain product is used.
    """

    takes_scale = takes_rotation = takes_bias = False

    def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Mask) -> Tensor:
        if mask.kept is not None or (mask.allowed is not None and mask.allowed.shape[-2] > 1):
            return self.weights(q, k, mask) @ v
        queries, keys = self.features(q), self.features(k)
        if mask.allowed is not None:
            keys = keys * mask.allowed.mT
        sums = (queries * keys.sum(-2, keepdim=True)).sum(-1, keepdim=True)
        return queries @ (keys.mT @ v) / positive(sums)

    def weights(self, q: Tensor, k: Tensor, mask: Mask) -> Tensor:
        products = self.features(q) @ self.features(k).mT
        if mask.allowed is not None:
            products = products.masked_fill(~mask.allowed, 0.0)
        return mask.cut(products / positive(products.sum(-1, keepdim=True)))

    def features(self, x: Tensor) -> Tensor:
        """f(x) > 0."""
        return F.elu(x) + 1

    @staticmethod
    def multiply_adds(n_queries: int, n_keys: int, d_head: int, mask: str) -> int:
        if mask == "none":
            return (n_queries + n_keys) * d_head**2
        return 2 * n_queries * n_keys * d_head


def positive(sums: Tensor) -> Tensor:
    """Sums of weights, fit to divide by: those of rows without keys are 0."""
    return sums.clamp(min=torch.finfo(sums.dtype).tiny)


ATTENTIONS: dict[str, type[Attention]] = {"softmax": Softmax, "uniform": Uniform, "window": Window, "linear": Linear}


class Heads(LinearLayer):
    """Linear map without bias into H heads: x (B, T, D) -> (B, H, T, K)."""

    def __init__(self, d_model: int, n_heads: int, d_head: int) -> None:
        super().__init__(d_model, n_heads * d_head, bias=False)
        self.n_heads = n_heads

    def forward(self, x: Tensor) -> Tensor:
        return split(super().forward(x), self.n_heads)


class RawHeads(nn.Module):
    """The vectors themselves, cut into heads: x (B, T, H K) -> (B, H, T, K)."""

    def __init__(self, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads

    def forward(self, x: Tensor) -> Tensor:
        return split(x, self.n_heads)


class Unread(nn.Module):
    """In place of queries or keys that are never compared: x (B, T, D) -> (B, 1, T, D), there for its length."""

    def forward(self, x: Tensor) -> Tensor:
        return x[:, None]


class Shared(nn.Module):
    """A module under a second name; its parameters stay with the first (a tuple hides it from registration)."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.modules_shared = (module,)

    def forward(self, x: Tensor) -> Tensor:
        return self.modules_shared[0](x)


def split(x: Tensor, n_heads: int) -> Tensor:
    """x (B, T, H K) -> (B, H, T, K): head h has features h K to (h + 1) K - 1 of each position."""
    batch, length, _ = x.shape
    return x.view(batch, length, n_heads, -1).transpose(1, 2)


@dataclass
class Cache:
    """Keys and values (B, H, T, K) of the positions that one layer has read so far; empty at first.

    After the first call they have room for more, a multiple of BLOCK, and new ones are written in place: of two copies
    of a cache that are both extended the later overwrites what the earlier one has added.
    """

    keys: Tensor | None = None
    values: Tensor | None = None
    length: int = 0
    """Number of positions read; what stands behind them is of no meaning."""

    def room(self, n_new: int) -> int:
        """How many keys `extend` will give for so many new positions."""
        return n_new if self.keys is None else max(self.keys.shape[2], whole_blocks(self.length + n_new))

    def extend(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Append those of new positions, and give all, with the room behind them."""
        start, room = self.length, self.room(keys.shape[2])
        self.length += keys.shape[2]
        if self.keys is None or self.values is None:
            self.keys, self.values = keys, values
        else:
            self.keys = write(self.keys, start, keys, room)
            self.values = write(self.values, start, values, room)
        return self.keys, self.values

    def select(self, rows: Tensor) -> "Cache":
        """The batch rows `rows` (N,)."""
        if self.keys is None or self.values is None:
            return Cache()
        return Cache(self.keys.index_select(0, rows), self.values.index_select(0, rows), self.length)


def whole_blocks(n: int) -> int:
    """`n` or the next multiple of BLOCK."""
    return -(-n // BLOCK) * BLOCK


def write(old: Tensor, start: int, new: Tensor, room: int) -> Tensor:
    """`old` (B, H, T, K) with `new` (B, H, n, K) from position `start` on, made `room` long where it is shorter."""
    if old.shape[2] < room:
        old = F.pad(old, (0, 0, 0, room - old.shape[2]))
    old[:, :, start : start + new.shape[2]] = new
    return old


class MultiHeadAttention(nn.Module):
    """The projections around an attention kind (Vaswani et al. 2017, 3.2.2), without biases."""

    def __init__(self, config: "ModelConfig", kind: type[Attention]) -> None:
        super().__init__()
        d_model, n_heads, d_head = config.d_model, config.n_heads, config.head_width
        self.kind = kind(scale_factor(config))
        self.query: nn.Module
        self.key: nn.Module
        match config.query_key if kind.takes_query_key else "absent":
            case "separate":
                self.query = Heads(d_model, n_heads, d_head)
                self.key = Heads(d_model, n_heads, d_head)
            case "tied":
                self.query = Heads(d_model, n_heads, d_head)
                self.key = Shared(self.query)
            case "identity":
                self.query = self.key = RawHeads(n_heads)
            case "absent":
                self.query = self.key = Unread()
        self.value: nn.Module
        match config.value_projection:
            case "linear":
                self.value = Heads(d_model, n_heads, d_head)
            case "identity":
                self.value = RawHeads(n_heads)
        self.output: nn.Module
        match config.output_projection:
            case "linear":
                self.output = LinearLayer(n_heads * d_head, d_model, bias=False)
            case "identity":
                self.output = nn.Identity()

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Mask) -> Tensor:
        """Heads q (B, H, Tq, K), k and v (B, H, Tk, K) -> (B, Tq, D)."""
        return self.output(self.kind(q, k, v, mask).transpose(1, 2).flatten(2))


class SelfAttention(MultiHeadAttention):
    """Attention of a sequence to itself."""

    def __init__(self, config: "ModelConfig") -> None:
        super().__init__(config, ATTENTIONS[config.attention])

    def forward(self, x: Tensor, mask: Mask, position: Position, cache: Cache) -> Tensor:
        """x (B, Tq, D), which continues the positions in `cache`, -> (B, Tq, D)."""
        start = cache.length
        q = position.rotate(self.query(x), start)
        k, v = cache.extend(position.rotate(self.key(x), start), self.value(x))
        return self.attend(q, k, v, mask)


class CrossAttention(MultiHeadAttention):
    """Attention of a decoder to the encoder's output; positions play no part in it."""

    def __init__(self, config: "ModelConfig") -> None:
        super().__init__(config, ATTENTIONS[config.attention].across())

    def read(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values (B, H, S, K) of the encoder's output (B, S, D)."""
        return self.key(memory), self.value(memory)

    def forward(self, x: Tensor, mask: Mask, keys: Tensor, values: Tensor) -> Tensor:
        """x (B, T, D) and what `read` gave -> (B, T, D); B may be a multiple of the memory's.

        Several translations of one source then stand side by side: each position reads for itself, so that all of them
        are queries to one memory, which nobody copies.
        """
        queries = x.reshape(keys.shape[0], -1, x.shape[2])
        return self.attend(self.query(queries), keys, values, mask).reshape(x.shape)


def scale_factor(config: "ModelConfig") -> float:
    """The factor on the scores q k^T."""
    match config.scale:
        case "sqrt-head":
            return config.head_width**-0.5
        case "sqrt-model":
            return config.d_model**-0.5
        case "head":
            return 1 / config.head_width
        case "none":
            return 1.0


@contextmanager
def attention_maps(model: nn.Module) -> Iterator[dict[str, Tensor]]:
    """Inside the block, a forward pass leaves its weights (B, H, Tq, Tk) in the dict, by name of the attention module.

    They are computed again by the plain formula, so that the model itself runs as it always does.
    """
    maps: dict[str, Tensor] = {}

    def record(kind: Attention, inputs: tuple[Tensor, Tensor, Tensor, Mask], name: str) -> None:
        q, k, v, mask = inputs
        maps[name] = kind.weights(q, k, mask).expand(*v.shape[:2], -1, -1)

    with watched(model, Attention, lambda kind, inputs, name: record(kind, inputs, name.removesuffix(".kind"))):
        yield maps


@contextmanager
def watched(model: nn.Module, kind: type[nn.Module], record: Callable[[Any, Any, str], None]) -> Iterator[None]:
    """Inside the block, every call of a module of this kind ends in record(module, its inputs, its name)."""
    handles = [
        module.register_forward_hook(lambda module, inputs, _, name=name: record(module, inputs, name))
        for name, module in model.named_modules()
        if isinstance(module, kind)
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
