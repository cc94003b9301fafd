"""What the checks that need a GPU share. Run them with: python -m pytest tests/gpu"""

from typing import Any

import pytest
import torch

from ablations.devices import Device, visible_gpus
from ablations.load import make_study
from ablations.study import Run

ORDER = {"name": "order", "target": "previous", "length": 5, "vocabulary": 7, "validation_size": 11, "test_size": 13}
GERMAN = {"name": "german", "train_size": 40, "validation_size": 5, "test_size": 7, "contrast_size": 7}
KINDS: dict[str, dict[str, Any]] = {
    "tagger": {"task": ORDER, "model": {"architecture": "decoder", "d_model": 12, "n_heads": 3}},
    "lstm": {"task": ORDER, "model": {"architecture": "lstm", "d_hidden": 13, "d_model": 7}},
    "translator": {"task": GERMAN, "model": {"architecture": "encoder-decoder", "d_model": 12, "n_heads": 3}},
    "recurrent translator": {
        "task": GERMAN,
        "model": {"architecture": "gru", "d_hidden": 13, "d_model": 7, "cross_attention": "additive"},
    },
}
TRAIN = {"steps": 20, "batch_size": 5, "warmup": 2, "log_every": 4}


def needs(number: int) -> pytest.MarkDecorator:
    """Skips what it marks where fewer GPUs are to be seen."""
    there = torch.cuda.device_count()
    return pytest.mark.skipif(there < number, reason=f"needs {number} GPU(s), and {there} are to be seen here")


def gpus(number: int) -> list[Device]:
    """The first GPUs that this process may use."""
    return [Device("cuda", name) for name in visible_gpus()[:number]]


def study_of(
    kind: str, *, seeds: int = 1, measure: tuple[str, ...] = (), model: dict[str, Any] | None = None, **train: Any
) -> dict[str, Any]:
    """A study of one tiny model, with changes."""
    experiment = {
        "task": KINDS[kind]["task"],
        "model": KINDS[kind]["model"] | (model or {}),
        "train": TRAIN | train,
        "measure": list(measure),
    }
    return {"name": "tiny", "seeds": seeds, "experiments": {"e": experiment}}


def runs_of(kind: str, **changes: Any) -> list[Run]:
    """Its runs, one for each seed."""
    return make_study(study_of(kind, **changes)).runs()
