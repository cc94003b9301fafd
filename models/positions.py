"""Position schemes. A scheme may act at three places: on the embeddings, on queries and keys, or on the scores.

B batch, T length, D width, H heads, K head width, Tq queries, Tk keys.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn


@dataclass(frozen=True, kw_only=True)
class PositionShape:
    """What a scheme must know of its stack."""

    d_model: int
    n_heads: int
    d_head: int
    max_length: int
    """Rows of a learned table."""
    causal: bool
    """Whether a query sees no key behind itself."""


class Position(nn.Module):
    """No position signal.

    Also the base class: a scheme overrides the one hook that it uses.
    """

    absolute: ClassVar[bool] = False
    """The signal tells where in the sequence a token stands."""
    relative: ClassVar[bool] = False
    """The signal depends on the distance between query and key alone."""
    rotates: ClassVar[bool] = False
    """Uses the `rotate` hook."""
    biases: ClassVar[bool] = False
    """Uses the `bias` hook."""
    takes_length: ClassVar[bool] = False
    """Has `max_length` rows, and no place for longer inputs."""
    needs_even_head: ClassVar[bool] = False
    """Works on pairs of head features."""
    changes_size: ClassVar[bool] = False
    """Has another number of parameters than the default, `sinusoidal`."""

    def __init__(self, shape: PositionShape) -> None:
        super().__init__()

    def embed(self, x: Tensor, start: int) -> Tensor:
        """Mark embeddings x (B, T, D) of positions start, start + 1, ..."""
        return x

    def rotate(self, x: Tensor, start: int) -> Tensor:
        """Mark queries or keys x (B, H, T, K) of positions start, start + 1, ..."""
        return x

    def bias(self, offset: Tensor) -> Tensor | None:
        """Summands (H or 1, Tq, Tk) of the scores, from key position - query position (Tq, Tk), int64."""
        return None

    @staticmethod
    def count(shape: PositionShape) -> int:
        """Number of parameters."""
        return 0


class Sinusoidal(Position):
    """Sines and cosines of geometrically spaced wavelengths, added (Vaswani et al. 2017, arXiv:1706.03762, 3.5)."""

    absolute = True

    def embed(self, x: Tensor, start: int) -> Tensor:
        angle = angles(start, x.shape[1], x.shape[2], x)
        table = torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1)  # an odd width drops the last cosine
        return x + table[:, : x.shape[2]].to(x.dtype)


class Learned(Position):
    """A trained vector for each position, added (Gehring et al. 2017, arXiv:1705.03122, 3.1)."""

    absolute = True
    takes_length = True
    changes_size = True

    def __init__(self, shape: PositionShape) -> None:
        super().__init__(shape)
        self.weight = nn.Parameter(torch.empty(shape.max_length, shape.d_model))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.normal_(self.weight, std=0.5)

    def embed(self, x: Tensor, start: int) -> Tensor:
        """Raises ValueError for a position beyond the table, which has no row to give."""
        end, n_rows = start + x.shape[1], self.weight.shape[0]
        if end > n_rows:
            raise ValueError(f"an input of length {end} is longer than the learned position table, max_length={n_rows}")
        return x + self.weight[start:end]

    @staticmethod
    def count(shape: PositionShape) -> int:
        return shape.max_length * shape.d_model


class Rotary(Position):
    """Queries and keys turned by angles that grow with the position (Su et al. 2021, arXiv:2104.09864, eq. 34).

    Feature i is paired with i + K/2 rather than with its neighbour: a renaming of features, quicker to compute.
    """

    relative = True
    rotates = True
    needs_even_head = True

    def rotate(self, x: Tensor, start: int) -> Tensor:
        angle = angles(start, x.shape[2], x.shape[3], x)
        sin, cos = angle.sin(), angle.cos()
        first, second = x.chunk(2, dim=-1)
        turned = torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)
        return turned.to(x.dtype)  # angles are float32 at least, x may be half precision


class ALiBi(Position):
    """A penalty on the score that grows with the distance (Press et al. 2022, arXiv:2108.12409, 3).

    Symmetric, so that it serves stacks without a mask too. Slopes are 2 ** (-8 h / H) for h = 1 ... H, for every H:
    the paper interpolates where H is not a power of two.
    """

    relative = True
    biases = True
    slopes: Tensor

    def __init__(self, shape: PositionShape) -> None:
        super().__init__(shape)
        heads = torch.arange(1, shape.n_heads + 1)
        self.register_buffer("slopes", 2.0 ** (-8 * heads / shape.n_heads), persistent=False)

    def bias(self, offset: Tensor) -> Tensor:
        return -self.slopes[:, None, None] * offset.abs()


class Relative(Position):
    """A trained summand for each head and bucket of distances (T5: Raffel et al. 2020, arXiv:1910.10683, 2.1).

    Half of the buckets are single distances, the others grow geometrically up to 128; farther keys share the last one.
    A causal stack gives all 32 to the past, another stack 16 to each side. One table serves all layers of the stack.
    """

    relative = True
    biases = True
    changes_size = True
    n_buckets: ClassVar[int] = 32
    farthest: ClassVar[int] = 128

    def __init__(self, shape: PositionShape) -> None:
        super().__init__(shape)
        self.causal = shape.causal
        self.deviation = shape.d_model**-0.5  # as in the T5 code
        self.weight = nn.Parameter(torch.empty(self.n_buckets, shape.n_heads))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.normal_(self.weight, std=self.deviation)

    def bias(self, offset: Tensor) -> Tensor:
        return self.weight[self.bucket(offset)].permute(2, 0, 1)

    def bucket(self, offset: Tensor) -> Tensor:
        """Bucket of each offset (key - query)."""
        if self.causal:
            return self._one_sided(offset.neg().clamp(min=0), self.n_buckets)
        half = self.n_buckets // 2
        return self._one_sided(offset.abs(), half) + half * (offset > 0)

    def _one_sided(self, distance: Tensor, n_buckets: int) -> Tensor:
        exact = n_buckets // 2
        growth = (distance.clamp(min=exact) / exact).log() / math.log(self.farthest / exact)
        far = exact + (growth * (n_buckets - exact)).long()
        return torch.where(distance < exact, distance, far.clamp(max=n_buckets - 1))

    @classmethod
    def count(cls, shape: PositionShape) -> int:
        return cls.n_buckets * shape.n_heads


def angles(start: int, length: int, width: int, like: Tensor) -> Tensor:
    """Angles (length, ceil(width / 2)): position / 10000 ** (2 i / width) for pair i of features.

    Made anew for each call, in float32 or better, on the device of `like`: nothing to go stale.
    """
    precision = torch.promote_types(like.dtype, torch.float32)
    positions = torch.arange(start, start + length, device=like.device, dtype=precision)
    frequencies = 10000.0 ** (-torch.arange(0, width, 2, device=like.device, dtype=precision) / width)
    return positions[:, None] * frequencies


POSITIONS: dict[str, type[Position]] = {
    "sinusoidal": Sinusoidal,
    "learned": Learned,
    "rotary": Rotary,
    "alibi": ALiBi,
    "relative": Relative,
    "none": Position,
}
