"""What a mask hides, and how long an input may be."""

import copy
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from models.attention import attention_maps
from models.config import ModelConfig
from models.losses import Batch, predict
from models.positions import Position
from models.probes.base import Measurement, largest
from models.probes.inputs import first, read_one_by_one, stretched

CUTS = 8
"""Places after which the future is changed."""


@torch.no_grad()
def mask(model: nn.Module, batches: Sequence[Batch]) -> list[Measurement]:
    """future_change and row_sum_error, on the first batch, as the model runs: fused and in its own precision.

    future_change: largest change of a word's logits when all later words become others; 0 to the last bit where they
    are hidden. row_sum_error: largest distance of the sum of a query's weights from 1. Both are large where weights are
    set to zero after the softmax. A model without attention heads has no row_sum_error.
    """
    copied, batch = copy.deepcopy(model).eval(), first(batches[0])
    with attention_maps(copied) as maps:
        outputs = predict(copied, batch)
    length = outputs.shape[1]
    cuts = range(1, length, -(-length // CUTS))
    changes = [(predict(copied, _other_future(batch, cut)) - outputs)[:, :cut].abs().max().item() for cut in cuts]
    found = [Measurement("future_change", "", largest(changes or [0.0]))]
    if maps:
        errors = [(weights.sum(-1) - 1).abs().max().item() for weights in maps.values()]
        found.append(Measurement("row_sum_error", "", largest(errors)))
    return found


def _other_future(batch: Batch, cut: int) -> Batch:
    """The batch with the tokens from place `cut` on exchanged for those of another place of another row."""
    name = read_one_by_one(batch)
    tokens: Tensor = batch[name]
    return {**batch, name: torch.cat((tokens[:, :cut], tokens.roll((1, 1), (0, 1))[:, cut:]), dim=1)}


@torch.no_grad()
def beyond_table(model: nn.Module, batches: Sequence[Batch]) -> list[Measurement]:
    """refused and takes_longer, 1 or 0: what becomes of an input one token longer than the position table.

    Where there is no table, of one longer than a table has by default. An input as long as the table is taken, or its
    error raised.
    """
    copied, name, batch = copy.deepcopy(model).eval(), read_one_by_one(batches[0]), first(batches[0], 1)
    schemes = [module for module in copied.modules() if isinstance(module, Position) and module.takes_length]
    rows = [scheme.get_parameter("weight").shape[0] for scheme in schemes]
    longest = max(rows, default=ModelConfig.max_length)
    # nothing is padding here, whose mask would have to grow too
    batch = {part: None if part.endswith("real") else value for part, value in batch.items()}
    predict(copied, {**batch, name: stretched(batch[name], longest)})
    try:
        outputs = predict(copied, {**batch, name: stretched(batch[name], longest + 1)})
        takes = outputs.shape[1] == longest + 1 and bool(outputs.isfinite().all())
        refused = False
    except ValueError:
        takes, refused = False, True
    return [Measurement("refused", "", float(refused)), Measurement("takes_longer", "", float(takes))]
