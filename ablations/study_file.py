"""What a study's YAML holds, and the experiments that it takes from shipped studies."""

from dataclasses import dataclass, field
from typing import Any, Literal

from ablations.listing import SHIPPED
from ablations.sections import load_yaml, parse_section
from models.config import ConfigError


@dataclass(frozen=True, kw_only=True)
class StudyFile:
    """The top level of a study's YAML."""

    name: str
    """Name of the study and of its folder."""
    description: str = ""
    """One line for `ablations list`."""
    seeds: int | list[int] = 3
    """How many seeds (0, 1, ...) or which."""
    take: dict[str, Any] = field(default_factory=dict)
    """Shipped studies whose experiments are part of this one: name to `all`, or to a list of experiments. What stands
    under such an experiment's name in `experiments` replaces the parts of the same names."""
    experiments: dict[str, Any] = field(default_factory=dict)
    """Name to experiment."""
    comparison: list[Literal["same", "tuned", "matched"]] = field(default_factory=list)
    """What is compared beside variants with the same settings: tuned ones, ones of the same size."""
    tune: dict[str, Any] = field(default_factory=dict)
    """Fields of the search (`ablations.fairness.TuneConfig`)."""
    match: dict[str, Any] = field(default_factory=dict)
    """What is made equal, and by what (`ablations.fairness.MatchConfig`)."""


@dataclass(frozen=True, kw_only=True)
class ExperimentFile:
    """One experiment of a study's YAML."""

    task: dict[str, Any]
    """`name` of the task and its fields."""
    model: dict[str, Any] = field(default_factory=dict)
    """Fields of the base model."""
    train: dict[str, Any] = field(default_factory=dict)
    """Fields of the training."""
    decode: dict[str, Any] = field(default_factory=dict)
    """Fields of the search for translations (translation tasks only)."""
    design: Literal["one-at-a-time", "factorial", "ladder", "variants"] | None = None
    """How the changes are combined; by default as the key says under which they stand."""
    vary: dict[str, Any] = field(default_factory=dict)
    """Dotted path to a list of values (one-at-a-time, factorial)."""
    ladder: dict[str, Any] = field(default_factory=dict)
    """Name to changes that pile up."""
    variants: dict[str, Any] = field(default_factory=dict)
    """Name to changes."""
    grid: dict[str, Any] = field(default_factory=dict)
    """Dotted path to a list of values: the whole experiment is repeated at every point."""
    measure: list[str] = field(default_factory=list)
    """Probes to take: before training where train.steps is 0, else of the best checkpoint."""
    seeds: int | list[int] | None = None
    """Seeds of this experiment; by default the study's."""


def all_experiments(top: StudyFile, source: str, within: tuple[str, ...] = ()) -> dict[str, Any]:
    """The plain experiments of a study, those that it takes from others first.

    Raises ConfigError for a study that is not shipped, an experiment that it does not have, one that two studies give,
    and studies that take from each other in a circle.
    """
    found: dict[str, Any] = {}
    for name, wanted in top.take.items():
        where = f"{source}.take.{name}"
        if name in within or name not in {path.stem for path in SHIPPED.glob("*.yaml")}:
            raise ConfigError(f"{where}: {'takes from itself' if name in within else 'no shipped study'}")
        other = _shipped(name)
        theirs = all_experiments(other, name, (*within, name))
        chosen = list(theirs) if wanted == "all" else wanted
        if not isinstance(chosen, list) or not chosen or not all(isinstance(one, str) for one in chosen):
            raise ConfigError(f"{where}={wanted!r}: expected `all` or a list of experiments")
        for experiment in chosen:
            if experiment not in theirs:
                raise ConfigError(f"{where}: it has no experiment {experiment!r}; choose from {', '.join(theirs)}")
            if experiment in found:
                raise ConfigError(f"{where}: {experiment!r} is taken twice")
            found[experiment] = theirs[experiment]
    for experiment, spec in top.experiments.items():
        replaced = experiment in found and isinstance(spec, dict)
        found[experiment] = {**found[experiment], **spec} if replaced else spec
    return found


def _shipped(name: str) -> StudyFile:
    path = SHIPPED / f"{name}.yaml"
    return parse_section(StudyFile, load_yaml(path.read_text(encoding="utf-8"), str(path)), str(path))
