"""Data of every task, ready for use, and a small corpus on disk."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from datamodules import TASKS
from datamodules.base import TaskData
from tests.datamodules.samples import settings, write_corpus


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder of the test's own."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("ABLATIONS_CACHE", str(folder))
    return folder


@pytest.fixture
def corpus(tmp_path: Path, cache: Path) -> Path:
    """Folder of a small corpus."""
    return write_corpus(tmp_path / "corpus")


@pytest.fixture
def make(corpus: Path) -> Callable[..., TaskData[Any]]:
    """Makes a task's data, ready for use: make("recall", seed=1, distance=4)."""

    def build(
        name: str, *, seed: int = 0, steps: int = 13, batch_size: int = 7, batch_tokens: int = 0, **changes: Any
    ) -> TaskData[Any]:
        task = TASKS[name]
        config = task.Config(**(settings(name, corpus) | changes))
        data = task(config, seed=seed, steps=steps, batch_size=batch_size, batch_tokens=batch_tokens)
        data.setup()
        return data

    return build
