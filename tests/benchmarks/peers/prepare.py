"""From a trained run to what the workers measure with."""

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ablations.load import load_study
from ablations.restore import restore
from ablations.train import train
from datamodules import TASKS
from datamodules.base import Batch, TaskData
from datamodules.batching import pad
from datamodules.vocabulary import END, PAD, START, UNKNOWN
from models.config import ModelConfig
from tests.benchmarks.peers.ours import STATE, model_config
from tests.benchmarks.peers.prepared import TEXT, Array, Prepared, Sizes, TrainingBatch, save

SENTENCES_A_BATCH = 100
RUNS = Path(__file__).parents[3] / "runs" / ".benchmark"


def prepare(run: Path | None, folder: Path, *, steps: int, batches: int) -> Prepared:
    """Write `folder` for `steps` training batches and `batches` batches of test sentences, by a trained run.

    Ends the program with one line where there is no such run, or where its model is not the one that all systems have.
    """
    try:
        return _prepare(run or trained_run(), folder, steps, batches)
    except ValueError as error:  # a user can mend it, as in ablations.cli
        raise SystemExit(str(error)) from error


def trained_run() -> Path:
    """Folder of the base of `multi30k-quick`, seed 0, trained if it is not there. Raises DataError without the text."""
    study = load_study("multi30k-quick", ("train.keep_checkpoints=true",), seeds=1)
    (run,) = (run for run in study.runs() if run.variant == "base")
    folder = RUNS / run.folder
    if not (folder / "result.json").is_file():
        print(f"training {folder}", file=sys.stderr)
        train(run, folder)
    return folder


def _prepare(run: Path, folder: Path, steps: int, batches: int) -> Prepared:
    trained = restore(run)
    settings, state = trained.settings, trained.model.state_dict()
    sizes = replace(sizes_of(settings.model), vocabulary=trained.data.output_size)
    data = TASKS[settings.task_name](settings.task, seed=0, steps=steps, batch_size=1, batch_tokens=sizes.batch_tokens)
    data.setup()
    torch.save(state, folder / STATE)
    write_text(data, folder)
    training = [training_batch(data.training_batch(index)) for index in range(steps)]
    prepared = Prepared(sizes, neutral(state), training, sentences_to_translate(data, batches))
    save(prepared, folder)
    return prepared


def sizes_of(model: ModelConfig) -> Sizes:
    """Raises ValueError for a model with another part than the peers have."""
    assert model.d_ff is not None
    sizes = Sizes(
        vocabulary=1,
        d_model=model.d_model,
        n_layers=model.n_layers,
        n_heads=model.n_heads,
        d_ff=model.d_ff,
        dropout=model.dropout,
        pad=PAD,
        start=START,
        end=END,
        unknown=UNKNOWN,
    )
    plain = replace(model_config(sizes), initialisation=model.initialisation, gain=model.gain)
    if plain != model:
        raise ValueError(f"{model}: must be pre-norm, sinusoidal and tied, as the peers' models are: {plain}")
    return sizes


def neutral(state: dict[str, Tensor]) -> dict[str, Array]:
    """Our parameter names as those of Prepared.weights."""
    changes = (
        (r"^embedding\.factors\.0\.weight$", "embedding"),
        (r"^head\.bias$", "output.bias"),
        (r"^encoder\.stack\.", "encoder."),
        (r"\.layers\.", "."),
        (r"\.attention\.", ".self."),
        (r"\.cross_attention\.", ".cross."),
        (r"\.inner\.", "."),
        (r"(self|cross)\.(query|key|value|output)\.weight$", r"\1.\2"),
    )
    weights = {}
    for name, value in state.items():
        for pattern, replacement in changes:
            name = re.sub(pattern, replacement, name)
        weights[name] = value.numpy()
    return weights


def training_batch(batch: Batch) -> TrainingBatch:
    """A datamodule's batch."""
    return TrainingBatch(*(batch[name].numpy() for name in ("source", "target", "targets")))


def sentences_to_translate(data: TaskData[Any], batches: int) -> list[Array]:
    """Of all test sources, by length, as many batches of neighbours as asked for, evenly spread."""
    sources = [
        row[real].numpy()
        for batch in data.evaluation_batches("test")[0]
        for row, real in zip(batch["source"], batch["source_real"], strict=True)
    ]
    sources.sort(key=len)
    cuts = range(0, len(sources) - SENTENCES_A_BATCH + 1, SENTENCES_A_BATCH)
    chosen = np.linspace(0, len(cuts) - 1, min(batches, len(cuts)) + 2)[1:-1].round().astype(int)
    return [pad(sources[cuts[place] : cuts[place] + SENTENCES_A_BATCH])[0].numpy() for place in chosen]


def write_text(data: Any, folder: Path) -> None:
    """All training pairs as text of ids, for the peer that makes its own batches."""
    for side, sentences in zip(("src", "trg"), data.training_pairs(), strict=True):
        lines = (" ".join(str(index) for index in sentence) + "\n" for sentence in sentences)
        (folder / f"{TEXT}.{side}").write_text("".join(lines))
