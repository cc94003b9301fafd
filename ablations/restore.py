"""A trained run, back from its folder: its settings, what turns text into ids and back, the model with its weights."""

import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ablations.find import SINGLE, WEIGHTS
from ablations.kept import take_subwords
from ablations.sections import parse_section
from ablations.study import SECTIONS, Settings, TrainConfig
from ablations.train import task_shape
from datamodules import TASKS
from datamodules.base import TaskData
from datamodules.errors import DataError
from datamodules.parallel import ParallelData
from models.build import build_model
from models.config import ConfigError, ModelConfig
from models.decoding import DecodeConfig
from reports.rows import RowsError, RunFile, read_run

PREFIX = "model."  # of the parameters' names in a checkpoint


@dataclass(frozen=True, kw_only=True)
class Trained:
    """A run that has been trained."""

    file: RunFile
    settings: Settings
    data: TaskData[Any]
    """Not set up: it has no batches, but a translation task has its vocabularies."""
    model: nn.Module
    """With the weights of the best validation, in evaluation mode."""


def restore(folder: Path) -> Trained:
    """The run in a folder. Only where the run kept no subword models are its data read again.

    Raises RowsError, ConfigError or DataError where the run kept no weights, where they do not fit its settings, and
    where the data have changed.
    """
    file = read_run(folder)
    if file is None:
        raise RowsError(f"{folder}: no run.json, so not the folder of a run")
    settings = _settings(file, folder / "run.json")
    weights = _weights(file, settings, folder)
    data = _data(file, settings, folder)
    model = build_model(settings.model, task_shape(data), file["seed"])
    try:
        model.load_state_dict(weights)
    except RuntimeError as error:
        raise ConfigError(f"{folder / WEIGHTS}: does not fit the model that run.json describes") from error
    return Trained(file=file, settings=settings, data=data, model=model.eval())


def _settings(file: RunFile, path: Path) -> Settings:
    """The settings that run.json holds; no data are read."""
    sections = {name: file["config"].get(name, {}) for name in SECTIONS}
    task = dict(sections["task"])
    name = task.pop("name", None)
    if name not in TASKS:
        raise ConfigError(f"{path}: config.task.name={name!r}: choose from {', '.join(TASKS)}")
    where = f"{path}: config"
    return Settings(
        task_name=name,
        task=parse_section(TASKS[name].Config, task, f"{where}.task"),
        model=parse_section(ModelConfig, sections["model"], f"{where}.model"),
        train=parse_section(TrainConfig, sections["train"], f"{where}.train"),
        decode=parse_section(DecodeConfig, sections["decode"], f"{where}.decode"),
        measure=(),
        fingerprint=file["config"]["data"],
    )


def _weights(file: RunFile, settings: Settings, folder: Path) -> dict[str, Tensor]:
    """The model's parameters from a run's checkpoint."""
    path = folder / WEIGHTS
    if not path.is_file():
        raise ConfigError(f"run {file['id']}: no weights in {path.parent}; {_remedy(file, settings, folder)}")
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)["state_dict"]
    except (RuntimeError, OSError, EOFError, KeyError, TypeError, pickle.UnpicklingError) as error:
        raise ConfigError(f"{path}: cannot be read, or is not a whole checkpoint") from error
    weights = {name.removeprefix(PREFIX): value for name, value in state.items() if name.startswith(PREFIX)}
    if not all(value.isfinite().all() for value in weights.values()):
        raise ConfigError(f"{path}: weights that are no numbers; the run diverged")
    return weights


def _remedy(file: RunFile, settings: Settings, folder: Path) -> str:
    """How to get the weights of a run that has none."""
    if not settings.train.steps:
        return "it trains nothing (train.steps=0)"
    if settings.train.keep_checkpoints:
        return "it has not got as far as a validation with a finite loss"
    if file["study"] == SINGLE:
        return "train it again with --train.keep_checkpoints true --redo"
    study = folder.parents[2] / "study.yaml" if len(folder.parents) > 2 else Path()
    name = study if study.is_file() else file["study"]  # with all that was overridden
    return f"train again: ablations run {name} --set train.keep_checkpoints=true --redo"


def _data(file: RunFile, settings: Settings, folder: Path) -> TaskData[Any]:
    """The task with its sizes known, and its vocabularies if it translates."""
    data = settings.data(file["seed"])
    if not isinstance(data, ParallelData):
        _check_unchanged(file, settings)
        return data
    if not take_subwords(data, (folder / WEIGHTS).parent):
        _check_unchanged(file, settings)
        data.load()
    data.input_sizes, data.output_size = (data.source_vocabulary.size,), data.target_vocabulary.size
    return data


def _check_unchanged(file: RunFile, settings: Settings) -> None:
    """Other data may have other ids. Raises DataError then, and where they cannot be read."""
    try:
        now = TASKS[settings.task_name].fingerprint(settings.task)
    except DataError as error:
        raise DataError(f"run {file['id']}: kept no subword models, and its data cannot be read: {error}") from error
    if now != settings.fingerprint:
        raise DataError(
            f"run {file['id']}: was trained on other data ({settings.fingerprint}) than are there now ({now})"
        )
