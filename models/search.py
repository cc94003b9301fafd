"""Translation as a configuration says, and how long it may become.

Shapes: B batch, S source length.
"""

from torch import Tensor

from models.beam import beam_search
from models.decoding import Decodable, DecodeConfig, StateT
from models.greedy import greedy


def length_limit(source: Tensor, source_real: Tensor | None) -> Tensor:
    """Most tokens that a translation may have, (B,): twice its own source and ten, whatever stands beside it."""
    lengths = source_real.sum(1) if source_real is not None else source.new_full((source.size(0),), source.size(1))
    return 2 * lengths + 10


def decode(
    model: Decodable[StateT], source: Tensor, source_real: Tensor | None, start: int, end: int, config: DecodeConfig
) -> list[list[int]]:
    """The translation found for each sentence of source (B, S), without start and end, in the batch's order."""
    limits = length_limit(source, source_real)
    if config.beam == 1:
        return greedy(model, source, source_real, start, end, limits)
    found = beam_search(model, source, source_real, start, end, limits, config.beam, config.length_penalty)
    return [best.tokens for best, *_ in found]
