"""Studies so small that training one takes a second."""

from pathlib import Path
from typing import Any

import pytest

from ablations import sweep
from ablations.runner import Executor
from ablations.sweep import Options
from tests.ablations.test_runner import Pretence

TASK = {"name": "order", "target": "previous", "length": 5, "vocabulary": 7, "validation_size": 11, "test_size": 13}
MODEL = {"architecture": "decoder", "d_model": 12, "n_layers": 1, "n_heads": 3}
TRAIN = {"steps": 4, "batch_size": 3, "warmup": 2}


@pytest.fixture
def tiny() -> dict[str, Any]:
    """A study of one experiment with a base and one variant, two seeds."""
    experiment = {"task": dict(TASK), "model": dict(MODEL), "train": dict(TRAIN), "vary": {"model.position": ["none"]}}
    return {"name": "tiny", "seeds": 2, "experiments": {"copy": experiment}}


@pytest.fixture
def pretended(monkeypatch: pytest.MonkeyPatch) -> list[Pretence]:
    """Sweeps go to executors that only pretend to train; here they are, in their order."""
    made: list[Pretence] = []

    def pretend(root: Path, options: Options, commit: str | None) -> Executor:
        made.append(Pretence(root))
        return made[-1]

    monkeypatch.setattr(sweep, "make_executor", pretend)
    return made
