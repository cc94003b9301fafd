"""Whatever a probe does: the model, the batches and the random state stay as they were."""

import copy
from typing import Any

import pytest
import torch
from torch import nn

from models.build import build_model
from models.config import ModelConfig, TaskShape
from models.losses import Batch
from models.probes import PROBES, complexity

V, B, T, S = 13, 3, 11, 5
TAGGING = TaskShape(kind="tagging", input_sizes=(V,), output_size=V)
TRANSLATION = TaskShape(kind="translation", input_sizes=(V,), output_size=V, shared_vocabulary=True, start=1, end=2)
MODELS: dict[str, tuple[TaskShape, dict[str, Any]]] = {
    "encoder": (TAGGING, {"architecture": "encoder", "n_heads": 3, "norm": "batch"}),
    "lstm": (TAGGING, {"architecture": "lstm", "n_layers": 2, "cross_attention": "dot"}),
    "encoder-decoder": (TRANSLATION, {"architecture": "encoder-decoder", "n_heads": 3}),
}


def batches(shape: TaskShape) -> list[Batch]:
    draw = torch.Generator().manual_seed(1)
    inputs = torch.randint(V, (B, T), generator=draw)
    answers = torch.arange(T).expand(B, T).clone() - 1
    if shape is TAGGING:
        return [{"inputs": inputs, "targets": inputs.roll(1, 1), "answer_at": answers, "distance": answers.clone()}] * 2
    source, real = torch.randint(V, (B, S), generator=draw), torch.arange(S) < torch.tensor([[S], [2], [3]])
    target_real = torch.ones(B, T, dtype=torch.bool)
    parts = {"source": source, "source_real": real, "target": inputs, "target_real": target_real, "targets": inputs}
    return [parts] * 2


def hooks(model: nn.Module) -> int:
    return sum(len(module._forward_hooks) + len(module._forward_pre_hooks) for module in model.modules())


def refusal_of(probe: str, model: nn.Module, given: list[Batch]) -> str:
    """What the probe has against the model; empty if it measures."""
    try:
        PROBES[probe](model, given)
    except ValueError as refusal:
        return str(refusal)
    return ""


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("probe", PROBES)
def test_nothing_changes(probe: str, name: str, training: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for lengths in ("OPERATION_LENGTHS", "CORE_LENGTHS", "TIMED_LENGTHS"):
        monkeypatch.setattr(complexity, lengths, (3, 6, 12))
    shape, changes = MODELS[name]
    model = build_model(ModelConfig(d_model=12, dropout=0.2, **changes), shape, seed=0).train(training)
    given = batches(shape)
    before = copy.deepcopy((model.state_dict(), given, torch.get_rng_state()))
    refusal = refusal_of(probe, model, given)
    assert refusal.startswith(f"{probe}: ") or not refusal
    assert "\n" not in refusal
    assert torch.is_grad_enabled()
    torch.testing.assert_close((model.state_dict(), given, torch.get_rng_state()), before, rtol=0, atol=0)
    assert all(module.training == training for module in model.modules())
    assert all(parameter.grad is None and parameter.requires_grad for parameter in model.parameters())
    assert hooks(model) == 0
