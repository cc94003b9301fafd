"""What a model costs, counted on the model itself rather than from its configuration."""

from collections.abc import Sequence

import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from models.losses import Batch, predict
from models.probes.base import Measurement, exact_copy
from models.probes.inputs import first


@torch.no_grad()
def cost(model: nn.Module, batches: Sequence[Batch]) -> list[Measurement]:
    """parameters, shared ones once, and multiply_adds of the matrix products of one forward pass.

    The multiply-adds are those of one sequence (sentence pair), the mean over some of the first batch, as torch's own
    counter sees them: with attention and recurrent layers written out as plain products, which double precision does.
    """
    exact = exact_copy(model).eval()
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        outputs = predict(exact, first(batches[0]))
    return [
        Measurement("parameters", "", float(sum(parameter.numel() for parameter in model.parameters()))),
        Measurement("multiply_adds", "", counter.get_total_flops() / 2 / len(outputs)),
    ]
