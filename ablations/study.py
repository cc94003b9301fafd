"""What is to be run: a study holds experiments, an experiment holds variants, a run is one variant with one seed.

Nothing here trains. A run's id is a hash of what decides its result, so that the same run has the same id on every
machine, whatever the order of keys, the name of the study or the folder that its data lie in.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, get_args

from ablations.fairness import MatchConfig, TuneConfig
from ablations.listing import folder_name
from ablations.sections import parse_section
from ablations.updates import UPDATE_RATIO
from datamodules import TASKS
from datamodules.base import TaskConfig, TaskData
from models.build import check_kind
from models.config import ConfigError, ModelConfig, check_choice, checked_number
from models.decoding import DecodeConfig
from models.optim import OptimConfig
from models.probes import PROBES
from reports.rows import SCHEMA

Sections = dict[str, dict[str, Any]]  # of SECTIONS: the fields that were given
Changes = Mapping[str, Any]  # dotted path, or the name of a whole section, to the new value

SECTIONS = ("task", "model", "train", "decode")
Precision = Literal["float32", "bf16-mixed"]
Comparison = Literal["same", "tuned", "matched"]
"""The same settings for all variants; the best of each that a search of equal budget found; the same size or cost."""

LEAST = {
    "batch_size": 1,
    "batch_tokens": 0,
    "validate_every": 0,
    "log_every": 1,
    "checkpoint_steps": 0,
    "devices": 1,
}  # smallest value of each whole number

NOT_IN_IDENTITY = ("keep_checkpoints", "log_every", "checkpoint_seconds", "checkpoint_steps", "devices")
"""Fields of `train` that change what is kept or how fast, not the result."""


@dataclass(frozen=True, kw_only=True)
class TrainConfig(OptimConfig):
    """How one run is trained: the optimiser's settings, batches and validation."""

    batch_size: int | None = None
    """Sequences (sentence pairs) in a batch; by default 32, where `batch_tokens` does not decide."""
    batch_tokens: int = 0
    """Translation only: target tokens in a batch, in place of `batch_size`; 0: not used."""
    validate_every: int = 0
    """Optimiser steps between two validations; 0: a fifth of `steps`. The last step is followed by one in any case."""
    until_accuracy: float | None = None
    """Validation accuracy at which the training ends before `steps` are done; None: it does not."""
    until_loss: float | None = None
    """The same for the validation loss, in nats a token."""
    log_every: int = 10
    """Optimiser steps between two rows of the training loss."""
    keep_checkpoints: bool = False
    """Keep the best checkpoint when the run is done."""
    checkpoint_seconds: float = 60.0
    """Seconds between two checkpoints from which an interrupted run goes on; 0: none by time."""
    checkpoint_steps: int = 0
    """Optimiser steps between two such checkpoints; 0: none by steps."""
    devices: int = 1
    """Devices that share each batch (Lightning DDP): processes on a CPU, else GPUs."""
    precision: Precision = "float32"
    """Numbers that a GPU multiplies; in bf16-mixed the weights stay float32 (CPUs too, slowly)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, least in LEAST.items():
            value = getattr(self, name)
            if value is not None and value < least:
                raise ConfigError(f"{name}={value}: must be at least {least}")
        check_choice("precision", self.precision, get_args(Precision))
        self._check_targets()
        seconds = checked_number("checkpoint_seconds", self.checkpoint_seconds)
        if seconds < 0:
            raise ConfigError(f"checkpoint_seconds={seconds!r}: must be 0 or more")
        object.__setattr__(self, "checkpoint_seconds", seconds)
        if self.batch_tokens and self.batch_size is not None:
            raise ConfigError(f"batch_size={self.batch_size}: has no effect beside batch_tokens={self.batch_tokens}")
        if not self.batch_tokens and self.batch_size is None:
            object.__setattr__(self, "batch_size", 32)
        interval = self.validate_every or self.steps // 5
        object.__setattr__(self, "validate_every", max(1, min(interval, self.steps)))

    def _check_targets(self) -> None:
        for name in ("until_accuracy", "until_loss"):
            if getattr(self, name) is not None:
                value = checked_number(name, getattr(self, name))
                if value <= 0 or (name == "until_accuracy" and value > 1):
                    limits = "above 0 and at most 1" if name == "until_accuracy" else "above 0"
                    raise ConfigError(f"{name}={value!r}: must be {limits}")
                object.__setattr__(self, name, value)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Everything that decides a result but the seed, resolved: no field is left to a default."""

    task_name: str
    task: TaskConfig
    model: ModelConfig
    train: TrainConfig
    decode: DecodeConfig
    measure: tuple[str, ...]
    fingerprint: str
    """Of the data: it stands for the paths in the identity of a run."""

    def data(self, seed: int) -> TaskData[Any]:
        """The task's data for one seed, not yet set up. Raises DataError where the training does not fit the task."""
        train = self.train
        return TASKS[self.task_name](
            self.task, seed=seed, steps=train.steps, batch_size=train.batch_size or 1, batch_tokens=train.batch_tokens
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain values, in the shape of a study's experiment."""
        return {
            "task": {"name": self.task_name, **asdict(self.task)},
            "model": asdict(self.model),
            "train": asdict(self.train),
            "decode": asdict(self.decode),
            "measure": list(self.measure),
        }

    def identity(self) -> dict[str, Any]:
        """What decides a result. Paths are left out, for which the data's fingerprint stands, and what is only kept."""
        plain = self.as_dict()
        for name in type(self.task).path_fields:
            del plain["task"][name]
        for name in NOT_IN_IDENTITY:
            del plain["train"][name]
        return {**plain, "data": self.fingerprint}


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Variants of one model on one task, compared with the variant called `base`."""

    name: str
    base: str
    design: str
    variants: dict[str, Settings]
    """In the order of the report, the base first."""
    changes: dict[str, dict[str, Any]]
    """For each variant, what it changes in the base: dotted path to value."""
    grid: dict[str, Any]
    """Where the experiment is one point of a grid: dotted path to value."""
    family: str
    """The experiment's name in the study file; several points of a grid share it."""
    seeds: tuple[int, ...]
    """Of the variants that have none of their own."""
    more_seeds: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """Seeds of variants that have been given further ones, in place of `seeds`."""
    looks: tuple[int, ...] = ()
    """Numbers of seeds at which it was to be looked whether more are needed; (): at no time."""
    comparison: Comparison = "same"
    """What has been made equal beside the settings that are not ablated."""
    origin: str = ""
    """Name of the experiment whose variants were made equal; "" where `comparison` is `same`."""
    left_out: dict[str, str] = field(default_factory=dict)
    """Variants of the origin that could not be made equal, and why."""

    def seeds_of(self, variant: str) -> tuple[int, ...]:
        """Seeds of one variant."""
        return self.more_seeds.get(variant, self.seeds)

    def most_seeds(self) -> int:
        """Seeds of the variant that has the most."""
        return max(len(self.seeds_of(variant)) for variant in self.variants)


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What a run is where it only tries a point of a search: not tested, and ended early where it is hopeless."""

    number: int
    """Of the point in its search, from 0."""
    give_up_after: float
    """As in TuneConfig."""
    give_up_above: float


@dataclass(frozen=True, kw_only=True)
class Run:
    """One variant of one experiment with one seed."""

    study: str
    experiment: str
    variant: str
    seed: int
    settings: Settings
    comparison: Comparison = "same"
    """Decides no result: a variant that was equal already has the same run in every comparison."""
    trial: Trial | None = None

    @property
    def id(self) -> str:
        """Eight hexadecimal digits: a hash of the resolved settings, the seed, the data and the schema."""
        identity = {**self.settings.identity(), "seed": self.seed, "schema": SCHEMA, "comparison": "same"}
        if self.trial is not None:
            identity["trial"] = asdict(self.trial)
        text = json.dumps(identity, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()[:8]

    @property
    def folder(self) -> str:
        """Place inside the study's folder. Nothing is ever read back out of it."""
        return f"{folder_name(self.experiment)}/{folder_name(self.variant)}/seed-{self.seed}-{self.id}"


@dataclass(frozen=True, kw_only=True)
class Study:
    """Experiments that are run and reported together."""

    name: str
    description: str
    seeds: tuple[int, ...]
    """Of every experiment that has none of its own."""
    experiments: tuple[Experiment, ...]
    comparisons: tuple[Comparison, ...] = ()
    """Those that are made beside `same`, which always is."""
    tune: TuneConfig = field(default_factory=TuneConfig)
    match: MatchConfig = field(default_factory=MatchConfig)
    source: dict[str, Any]
    """The study file with all overrides made: what `study.yaml` in the study's folder holds."""

    @property
    def folder(self) -> str:
        """Place below the output folder."""
        return folder_name(self.name)

    def runs(self) -> list[Run]:
        """Every run, the first seed of all variants before the second of any."""
        return [
            Run(
                study=self.name,
                experiment=experiment.name,
                variant=variant,
                seed=seed,
                settings=settings,
                comparison=experiment.comparison,
            )
            for place in range(max(experiment.most_seeds() for experiment in self.experiments))
            for experiment in self.experiments
            for variant, settings in experiment.variants.items()
            for seed in experiment.seeds_of(variant)[place : place + 1]
        ]


def resolve(sections: Sections, measure: tuple[str, ...], where: str) -> Settings:
    """Check and complete the sections of one variant. Raises ConfigError or DataError with `where` in front."""
    task = dict(sections["task"])
    name = task.pop("name", None)
    if not isinstance(name, str) or name not in TASKS:
        raise ConfigError(f"{where}task.name={name!r}: choose from {', '.join(TASKS)}")
    task_config = parse_section(TASKS[name].Config, task, f"{where}task")
    with _named(f"{where}task: "):
        fingerprint = TASKS[name].fingerprint(task_config)
    settings = Settings(
        task_name=name,
        task=task_config,
        model=parse_section(ModelConfig, sections["model"], f"{where}model"),
        train=parse_section(TrainConfig, sections["train"], f"{where}train"),
        decode=parse_section(DecodeConfig, sections["decode"], f"{where}decode"),
        measure=measure,
        fingerprint=fingerprint,
    )
    with _named(f"{where}model."):
        check_kind(settings.model, TASKS[name].kind)
    with _named(f"{where}train."):
        settings.data(0)
    if settings.train.until_accuracy is not None and TASKS[name].kind == "translation":
        raise ConfigError(f"{where}train.until_accuracy={settings.train.until_accuracy}: task {name} has no accuracy")
    check_measure(measure, settings.train, where)
    if TASKS[name].kind != "translation" and settings.decode != DecodeConfig():
        raise ConfigError(f"{where}decode={sections['decode']!r}: task {name} translates nothing, leave it out")
    return settings


@contextmanager
def _named(where: str) -> Iterator[None]:
    """Put in front of a refusal where it comes from."""
    try:
        yield
    except ValueError as error:
        raise ConfigError(f"{where}{error}") from error


def check_measure(measure: Sequence[str], train: TrainConfig, where: str) -> None:
    """Raises ConfigError for a probe that is none or stands there twice, and for a run that would do nothing."""
    for probe in measure:
        if probe not in (*PROBES, UPDATE_RATIO):
            raise ConfigError(f"{where}measure: {probe!r}: choose from {', '.join((*PROBES, UPDATE_RATIO))}")
    if len(set(measure)) < len(measure):
        raise ConfigError(f"{where}measure={list(measure)}: a probe stands there twice")
    if not train.steps and UPDATE_RATIO in measure:
        raise ConfigError(f"{where}measure: {UPDATE_RATIO!r}: needs train.steps above 0")
    if not train.steps and not measure:
        raise ConfigError(f"{where}train.steps=0: trains nothing, so name what to measure: {', '.join(PROBES)}")


def section_fields(section: str, sections: Sections) -> list[str]:
    """Names of the fields of a section; those of `task` depend on the task that it names."""
    if section == "task":
        task = TASKS.get(str(sections["task"].get("name")))
        return ["name", *(field.name for field in fields(task.Config))] if task else ["name"]
    if section == "decode":  # there for all, and of use to translation alone
        task = TASKS.get(str(sections["task"].get("name")))
        return [field.name for field in fields(DecodeConfig)] if task and task.kind == "translation" else []
    return [field.name for field in fields({"model": ModelConfig, "train": TrainConfig}[section])]
