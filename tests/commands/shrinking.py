"""What is appended to a command so that a long study takes seconds: five steps, one seed, little data, a shard."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ablations.load import find_study, load_study
from ablations.sections import load_yaml, parse_section
from ablations.study_file import StudyFile, all_experiments
from ablations.sweep import checked, longest_first
from tests.commands.corpora import VOCABULARY

STEPS = 5
RUNS = 6
"""Runs of a study that are trained, at most; of more of them a shard is taken."""
SIZES = {
    "german": {"train_size": 80, "validation_size": 16, "test_size": 24, "contrast_size": 24},
    "translation": {"vocabulary": VOCABULARY},
    "sums": {},  # the tables of all items
    "text": {"validation_size": 300, "test_size": 300},
}
GENERATED = {"validation_size": 32, "test_size": 48}
"""Of all other tasks."""


def settings(name: str, corpora: Path | None = None) -> list[str]:
    """`--set` of steps, sizes and folders of every experiment of a study, where the study has no grid over them."""
    return [word for path, value in _smaller(name, corpora) for word in ("--set", f"{path}={value}")]


def _smaller(name: str, corpora: Path | None) -> Iterator[tuple[str, Any]]:
    path = find_study(name)
    top = parse_section(StudyFile, load_yaml(path.read_text(encoding="utf-8"), name), name)
    for experiment, spec in all_experiments(top, name).items():
        wanted = {**_sizes(spec["task"]), **_steps(spec.get("train", {})), **_root(spec["task"], corpora)}
        yield from ((f"{experiment}.{at}", value) for at, value in wanted.items() if at not in spec.get("grid", {}))


def _sizes(task: dict[str, Any]) -> dict[str, Any]:
    return {f"task.{field}": value for field, value in SIZES.get(task["name"], GENERATED).items()}


def _steps(train: dict[str, Any]) -> dict[str, Any]:
    """Where there are none, something is measured before training: so it stays."""
    wanted = {"train.steps": STEPS, "train.warmup": 2} if train.get("steps", 1) else {}
    return wanted | ({"train.validate_every": STEPS} if "validate_every" in train else {})


def _root(task: dict[str, Any], corpora: Path | None) -> dict[str, Any]:
    return {"task.root": corpora / task["corpus"]} if corpora and "corpus" in task else {}


def shard(name: str, corpora: Path | None = None, seeds: int = 1) -> list[str]:
    """`--shard` where the study has many runs, or some whose variant has steps of its own.

    The last part is taken, which holds none of the longest.
    """
    runs = load_study(name, settings(name, corpora)[1::2], seeds).runs()
    ordered = longest_first(runs, checked(runs))
    for parts in range(-(-len(runs) // RUNS), len(runs) + 1):
        if all(run.settings.train.steps <= STEPS for run in ordered[parts - 1 :: parts]):
            break
    return ["--shard", f"{parts}/{parts}"] if parts > 1 else []
