"""Runs that were trained for a few steps and kept their weights."""

from pathlib import Path
from typing import Any

from ablations.load import make_study
from ablations.train import train

TASK = {"name": "german", "train_size": 40, "validation_size": 5, "test_size": 7, "contrast_size": 7}
MODEL = {"architecture": "encoder-decoder", "d_model": 12, "n_layers": 2, "n_heads": 3}
TRAIN = {"steps": 6, "batch_size": 4, "lr": 0.01, "warmup": 2, "keep_checkpoints": True}


def trained(root: Path, name: str = "tiny", **sections: dict[str, Any]) -> Path:
    """Folder of a run below `root`, where a sweep would have it. Given sections take the place of the usual ones."""
    experiment = {"task": TASK, "model": MODEL, "train": TRAIN, **sections}
    study = make_study({"name": name, "seeds": 1, "experiments": {"e": experiment}})
    (run,) = study.runs()
    folder = root / study.folder / run.folder
    train(run, folder)
    return folder
