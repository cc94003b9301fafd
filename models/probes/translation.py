"""How far a translator sees.

B batch, T length, S source length, D width, V vocabulary.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from models.embeddings import Embedding
from models.losses import IGNORED, Batch, predict
from models.probes.base import Measurement, exact_copy
from models.probes.inputs import first

SENTENCES = 8
"""Sentence pairs of the first batch."""


def source_reach(model: nn.Module, batches: Sequence[Batch]) -> list[Measurement]:
    """source_reach_least: the smallest gradient norm over all pairs of a target position and a source position.

    Of the logit of the right token at a target position with respect to the embedding of a source token, padding left
    out, in double precision. 0 where a target position cannot see a source position. Raises ValueError for a task
    without a source.
    """
    batch = first(batches[0], SENTENCES)
    if "source" not in batch:
        raise ValueError("source-reach: needs a translation")
    norms = _norms(exact_copy(model).eval(), batch)  # (T, B, S)
    asked = batch["targets"].T != IGNORED  # (T, B)
    real = batch["source_real"]
    pairs = asked[..., None] if real is None else asked[..., None] & real
    return [Measurement("source_reach_least", "", norms[pairs.expand_as(norms)].min().item())]


def _norms(model: nn.Module, batch: Batch) -> Tensor:
    """Gradient norms (T, B, S): the sentences of a batch do not touch one another, so one sum serves them all."""
    embedded: list[Tensor] = []

    def record(module: nn.Module, inputs: tuple[Tensor], output: Tensor) -> None:
        if inputs[0] is batch["source"]:
            embedded.append(output)

    for module in model.modules():
        if isinstance(module, Embedding):
            module.register_forward_hook(record)
    logits = predict(model, batch)
    right = logits.gather(-1, batch["targets"].clamp(min=0)[..., None]).squeeze(-1)  # (B, T)
    if not embedded:  # nobody reads the source
        return right.new_zeros(right.shape[1], *batch["source"].shape)
    sums = right.sum(0).unbind()
    gradients = [torch.autograd.grad(one, embedded, retain_graph=True, materialize_grads=True)[0] for one in sums]
    return torch.stack(gradients).norm(dim=-1)
