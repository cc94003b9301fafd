"""How alike the vectors of a sequence's tokens are, layer by layer.

B batch, T length, D width.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pad_packed_sequence

from models.losses import Batch, predict
from models.probes.base import Measurement, exact_copy
from models.probes.layers import Place, by_layer, place
from models.probes.sample import real_queries, sample
from models.transformer import Block

SEQUENCES = 128


@torch.no_grad()
def token_similarity(model: nn.Module, batches: Sequence[Batch]) -> list[Measurement]:
    """token_similarity: mean cosine between different tokens of a sequence, by layer, and after the last.

    1: all tokens have become alike (rank collapse, Dong et al. 2021, arXiv:2103.03404). After each layer as it hands
    its vectors on, before a pre-norm stack's last norm, on 128 sequences, in double precision and without dropout. Of a
    recurrent net the states of the last layer alone. For a translator the metric begins with encoder_ or decoder_.
    """
    exact = exact_copy(model)
    sums: dict[Place, Tensor] = {}
    for batch in sample(batches, SEQUENCES):
        for where, vectors in _outputs(exact, batch).items():
            found = _cosines(vectors, real_queries(batch, where[0]))
            sums[where] = sums.get(where, 0) + found
    if any(n_pairs == 0 for _, n_pairs in sums.values()):
        raise ValueError("token-similarity: needs sequences of two tokens or more")
    means = {where: (total / n_pairs).item() for where, (total, n_pairs) in sums.items()}
    return by_layer("token_similarity", means, lambda layers: list(layers)[-1])


def _outputs(model: nn.Module, batch: Batch) -> dict[Place, Tensor]:
    """Vectors (B, T, D) after each layer."""
    found: dict[Place, list[Tensor]] = {}

    def record(where: Place, output: Tensor | tuple[Tensor | PackedSequence, ...]) -> None:
        vectors = output if isinstance(output, Tensor) else output[0]  # a recurrent net gives its states too
        if not isinstance(vectors, Tensor):
            vectors, _ = pad_packed_sequence(vectors, batch_first=True)
        found.setdefault(where, []).append(vectors)

    handles = [
        module.register_forward_hook(lambda _, inputs, output, where=where: record(where, output))
        for where, module in _layers(model).items()
    ]
    predict(model, batch)
    for handle in handles:
        handle.remove()
    return {where: torch.cat(steps, 1) for where, steps in found.items()}  # one word a call with input feeding


def _layers(model: nn.Module) -> dict[Place, nn.Module]:
    blocks = {place(name): module for name, module in model.named_modules() if isinstance(module, Block)}
    nets = {name: module for name, module in model.named_modules() if isinstance(module, nn.RNNBase)}
    prefixes = {name: f"{name.partition('.')[0]}_" if "." in name else "" for name in nets}
    return blocks | {(prefixes[name], net.num_layers): net for name, net in nets.items()}


def _cosines(vectors: Tensor, real: Tensor) -> Tensor:
    """Sum of the cosines of all pairs of different real positions (B, T), and the number of pairs; (2,)."""
    real = real[:, : vectors.shape[1]]  # a recurrent encoder stops after the longest sentence
    norms = vectors.norm(dim=-1, keepdim=True).clamp(min=torch.finfo(vectors.dtype).tiny)
    units = vectors / norms * real[..., None]
    n = real.sum(1)
    total = units.sum(1).square().sum(-1) - units.square().sum((1, 2))
    return torch.stack((total.sum(), (n * (n - 1)).sum().to(total.dtype)))
