"""Studies so small that training one takes a second."""

from typing import Any

import pytest

TASK = {"name": "order", "target": "previous", "length": 5, "vocabulary": 7, "validation_size": 11, "test_size": 13}
MODEL = {"architecture": "decoder", "d_model": 12, "n_layers": 1, "n_heads": 3}
TRAIN = {"steps": 4, "batch_size": 3, "warmup": 2}


@pytest.fixture
def tiny() -> dict[str, Any]:
    """A study of one experiment with a base and one variant, two seeds."""
    experiment = {"task": dict(TASK), "model": dict(MODEL), "train": dict(TRAIN), "vary": {"model.position": ["none"]}}
    return {"name": "tiny", "seeds": 2, "experiments": {"copy": experiment}}
