"""`ablations train`: one run from flags or from a YAML file, as a study of one variant."""

import argparse
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from jsonargparse import ArgumentError, ArgumentParser, Namespace
from jsonargparse.typing import PositiveFloat

from ablations.components import OPEN_SETS
from ablations.find import SINGLE, has_weights
from ablations.load import make_study
from ablations.screen import say
from ablations.sections import read_fields, read_yaml
from ablations.study import SECTIONS, TrainConfig
from ablations.sweep import Options, train_missing
from ablations.updates import UPDATE_RATIO
from datamodules import TASKS
from models.config import ConfigError, ModelConfig
from models.decoding import DecodeConfig
from models.probes import PROBES
from reports.rows import ResultFile, read_study


def train_one(arguments: Sequence[str]) -> int:
    """Train one run and print its main numbers, where it lies and how to look further. Raises ConfigError or DataError.

    Returns the exit status: 0, or 1 where the run failed.
    """
    task = _task_name(arguments)
    if {"--help", "-h"} & set(arguments):
        print(_help(task))
        return 0
    if task not in TASKS:
        raise ConfigError(f"task.name={task!r}: choose from {', '.join(TASKS)}, as in --task.name german")
    options = _parse(task, arguments)
    study = make_study(_study(options), source="ablations train")
    root = options.output / study.folder
    train_missing(study, root, Options(devices=options.devices, retries=0, timeout=options.timeout, redo=options.redo))
    (row,) = read_study(root).runs
    result = row.result
    assert result is not None
    _show(row.folder, result, as_json=options.json)
    return 1 if result["status"] == "failed" else 0


def _show(folder: Path, result: ResultFile, *, as_json: bool) -> None:
    """Print how a run ended: for people, or as JSON."""
    numbers = {f"{row['split']}/{row['metric']}": row["value"] for row in result["metrics"] if not row["coordinate"]}
    if as_json:
        plain = {"folder": str(folder), "status": result["status"], "reason": result["reason"], "metrics": numbers}
        print(json.dumps(plain, indent=2))
        return
    why = f": {result['reason']}" if result["reason"] else ""
    say(f"{result['status']}{why}", hang="  ")
    for split in dict.fromkeys(name.partition("/")[0] for name in numbers):
        of_split = {name.partition("/")[2]: value for name, value in numbers.items() if name.startswith(f"{split}/")}
        found = ", ".join(f"{metric} {value:.4g}" for metric, value in of_split.items())
        say(f"{split + ':':<12}{found}", hang=" " * 12)
    for line in _further(folder, translates="test/bleu" in numbers):
        print(line)  # not folded: paths and commands are copied


def _further(folder: Path, *, translates: bool) -> Iterator[str]:
    """Where a run lies, and what can be looked at there."""
    yield f"the run:    {folder}"
    yield f"its log:    {folder / 'log.txt'}"
    yield f"its curve:  {folder / 'metrics.csv'}"
    if not has_weights(folder):
        yield "next:       --train.keep_checkpoints true keeps the weights, to look into"
        return
    yield f"next:       ablations attention {folder} SENTENCE"
    if translates:
        yield f"            ablations translate {folder} < FILE"


def _task_name(arguments: Sequence[str]) -> str | None:
    """Name of the task, which decides what other flags there are."""
    first = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    first.add_argument("--config", type=Path)
    first.add_argument("--task.name", dest="task")
    try:
        found, _ = first.parse_known_args(list(arguments))
    except argparse.ArgumentError as error:  # a flag without its value
        raise ConfigError(f"{error.argument_name}: {error.message}") from error
    if found.config is None:
        return found.task
    if not found.config.is_file():
        raise ConfigError(f"--config {found.config}: no such file")
    task = _sections(found.config).get("task")
    return found.task or (task.get("name") if isinstance(task, dict) else None)


def _sections(config: Path) -> dict[str, Any]:
    """What a configuration file holds. Raises ConfigError for a value of another type, which a flag would read anew."""
    plain = read_yaml(config)
    if not isinstance(plain, dict):
        raise ConfigError(f"--config {config}: expected task, model, train, decode and seed")
    for name, cls in {"model": ModelConfig, "train": TrainConfig, "decode": DecodeConfig}.items():
        read_fields(cls, plain.get(name, {}), f"--config {config}: {name}")
    task = dict(plain["task"]) if isinstance(plain.get("task"), dict) else {}
    if (name := str(task.pop("name", None))) in TASKS:
        read_fields(TASKS[name].Config, task, f"--config {config}: task")
    if type(plain.get("seed", 0)) is not int:
        raise ConfigError(f"--config {config}: seed={plain['seed']!r}: expected int")
    return plain


def _help(task: str | None) -> str:
    """All flags; where no task was named, those of every task."""
    if task in TASKS:
        return f"{_parser(task).format_help()}\n{_names()}"
    tasks = (f"--task.name {name}:\n{_flags_of(TASKS[name].Config, 'task')}" for name in TASKS)
    return "\n".join([_parser(None).format_help(), *tasks, _names()])


def _names() -> str:
    """The names that stand in the tables beside the classes."""
    lines = (f"  --model.{field}: {', '.join(table)}" for field, table in OPEN_SETS.items())
    return "\n".join(["names:", *lines])


def _flags_of(config: type, section: str) -> str:
    parser = ArgumentParser(add_help=False, usage=argparse.SUPPRESS)
    parser.add_class_arguments(config, section)
    return parser.format_help()


def _parser(task: str | None) -> ArgumentParser:
    parser = ArgumentParser(
        allow_abbrev=False,
        prog="ablations train",
        exit_on_error=False,
        description="Train one run from flags or a YAML file.",
    )
    parser.add_argument(
        "--config", action="config", help="YAML file with task, model, train, decode and seed; later flags override it"
    )
    parser.add_argument("--output", type=Path, default=Path("runs"), help="where studies lie")
    parser.add_argument("--devices", default="auto", help="auto, cpu, cpu:2, cuda or cuda:0,2")
    parser.add_argument("--timeout", type=PositiveFloat | None, default=None, help="seconds that the run may take")
    parser.add_argument("--redo", action="store_true", help="train again what is done already")
    parser.add_argument("--json", action="store_true", help="machine-readable, on standard output")
    parser.add_argument("--seed", type=int, default=0, help="decides weights, order, dropout and training data")
    parser.add_argument(
        "--measure", type=list[str], default=[], help=f"probes to take: {', '.join((*PROBES, UPDATE_RATIO))}"
    )
    parser.add_argument("--task.name", type=str, help=f"one of {', '.join(TASKS)}")
    if task is not None:
        parser.add_class_arguments(TASKS[task].Config, "task")
    parser.add_class_arguments(ModelConfig, "model")
    parser.add_class_arguments(TrainConfig, "train")
    parser.add_class_arguments(DecodeConfig, "decode")
    return parser


def _parse(task: str, arguments: Sequence[str]) -> Namespace:
    try:
        return _parser(task).parse_args(list(arguments))
    except (ArgumentError, argparse.ArgumentError) as error:
        text = re.sub(r'^Parser key "([^"]+)":', r"--\1:", " ".join(str(error).split()))
        text = re.sub(r"Does not validate against any of the Union.*", "no value that it takes; see --help", text)
        raise ConfigError(re.sub(r"typing\.|<class '(\w+)'>", r"\1", text)) from error


def _study(options: Namespace) -> dict[str, Any]:
    """The YAML of a study that holds just this run."""
    experiment = {name: options[name].as_dict() for name in SECTIONS}
    return {
        "name": SINGLE,
        "seeds": [options.seed],
        "experiments": {options.task.name: {**experiment, "measure": options.measure}},
    }
