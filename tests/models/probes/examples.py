"""Small models and batches for the probes, and what every probe owes to them.

B 3 sequences, T 5 tokens, V 13 words, d_model 12 = 3 heads of width 4.
"""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from models.build import build_model
from models.config import RECURRENT, ModelConfig, TaskShape
from models.losses import Batch
from models.probes import Measurement

V, D, H = 13, 12, 3
TAGGING = TaskShape(kind="tagging", input_sizes=(V,), output_size=V)
NEXT_TOKEN = TaskShape(kind="next-token", input_sizes=(V,), output_size=V)
TRANSLATION = TaskShape(kind="translation", input_sizes=(V,), output_size=V, shared_vocabulary=True, start=1, end=2)


def made(architecture: str, shape: TaskShape = TAGGING, seed: int = 0, **parts: Any) -> nn.Module:
    """A model in evaluation mode."""
    sizes = {} if architecture in RECURRENT else {"n_heads": H}
    config = ModelConfig(**{"architecture": architecture, "d_model": D, **sizes, **parts})
    return build_model(config, shape, seed).eval()


def drawn(*size: int, seed: int = 1) -> Tensor:
    """Tokens below V."""
    return torch.randint(V, size, generator=torch.Generator().manual_seed(seed))


def tags(n_sequences: int = 3, length: int = 5, seed: int = 1) -> Batch:
    """The task "previous": each position but the first is asked for the token before it."""
    inputs = drawn(n_sequences, length, seed=seed)
    targets, places = inputs.roll(1, 1), torch.arange(-1, length - 1).repeat(n_sequences, 1)
    targets[:, 0] = -100
    distance = torch.where(places >= 0, 1, -1)
    return {"inputs": inputs, "targets": targets, "distance": distance, "answer_at": places}


def text(n_sequences: int = 3, length: int = 5, seed: int = 1) -> Batch:
    """Next tokens."""
    tokens = drawn(n_sequences, length + 1, seed=seed)
    return {"inputs": tokens[:, :-1].clone(), "targets": tokens[:, 1:].clone()}


def pairs(n_sequences: int = 3, seed: int = 1) -> Batch:
    """Sources of 4 and targets of 5 words, of which the second sentence has 3 and 2."""
    source, target = drawn(n_sequences, 4, seed=seed), drawn(n_sequences, 5, seed=seed + 1)
    source_real, target_real = (torch.ones_like(side, dtype=torch.bool) for side in (source, target))
    source_real[1, 3:] = target_real[1, 2:] = False
    targets = target.roll(-1, 1).masked_fill(~target_real, -100)
    sides = {"source": source, "source_real": source_real, "target": target, "target_real": target_real}
    return {**sides, "targets": targets}


def values(measured: list[Measurement]) -> dict[tuple[str, str], float]:
    """By metric and coordinate, none of which stands there twice."""
    found = {row[:2]: row.value for row in measured}
    assert len(found) == len(measured)
    return found


@contextmanager
def untouched(model: nn.Module, batches: list[Batch]) -> Iterator[None]:
    """Fails if the block leaves a weight, a gradient, a hook, the mode, a batch or the random state changed."""
    state, parts = copy.deepcopy(model.state_dict()), copy.deepcopy(batches)
    random, modes = torch.get_rng_state(), [module.training for module in model.modules()]
    yield
    assert torch.equal(torch.get_rng_state(), random)
    assert [module.training for module in model.modules()] == modes
    assert all(parameter.grad is None and parameter.requires_grad for parameter in model.parameters())
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
    for name, value in model.state_dict().items():
        assert value.dtype == state[name].dtype
        assert torch.equal(value, state[name])
    for batch, before in zip(batches, parts, strict=True):
        assert batch.keys() == before.keys()
        assert all(torch.equal(batch[name], part) for name, part in before.items())
