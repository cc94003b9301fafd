"""Which settings of the model the shipped studies vary, read from their files alone: no data need be there."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from ablations.components import COMPONENTS
from ablations.designs import DESIGNS, Named, apply, grid_points, point_name
from ablations.listing import SHIPPED
from ablations.load import BASE
from ablations.sections import load_yaml, parse_section
from ablations.study import SECTIONS
from ablations.study_file import ExperimentFile, StudyFile, all_experiments
from models.config import ModelConfig

ARCHITECTURE = "architecture"
NAMES = tuple(component.name for component in COMPONENTS)
DEFAULTS = {field.name: field.default for field in fields(ModelConfig)}


@dataclass(frozen=True, kw_only=True)
class Arm:
    """One variant of one experiment of a shipped study, beside its base."""

    study: str
    experiment: str
    """With its point where it is one of a grid."""
    family: str
    task: str
    variant: str
    model: Mapping[str, Any]
    """Every component of the model; None where a default depends on others."""
    base: Mapping[str, Any]
    taken: bool
    """Whether the experiment is another study's, and as it is there."""

    @property
    def changed(self) -> frozenset[str]:
        """Components that differ from the base's. Another architecture stands for all that comes with it."""
        differing = frozenset(name for name in NAMES if self.model[name] != self.base[name])
        return differing & {ARCHITECTURE} or differing


def read_arms(study: str) -> list[Arm]:
    """The base and the variants of every experiment of a shipped study."""
    path = SHIPPED / f"{study}.yaml"
    top = parse_section(StudyFile, load_yaml(path.read_text(encoding="utf-8"), str(path)), str(path))
    return [
        arm
        for family, plain in all_experiments(top, str(path)).items()
        for arm in _arms(study, family, parse_section(ExperimentFile, plain, family), family not in top.experiments)
    ]


def _arms(study: str, family: str, spec: ExperimentFile, taken: bool) -> Iterator[Arm]:
    for point in grid_points(spec.grid):
        base = apply(point, {section: getattr(spec, section) for section in SECTIONS}, "")
        for variant, changes in {BASE: {}, **_named(spec)}.items():
            sections = apply(changes, base, "")
            yield Arm(
                study=study,
                experiment=point_name(family, point),
                family=family,
                task=spec.task["name"],
                variant=variant,
                model=_components(sections["model"]),
                base=_components(base["model"]),
                taken=taken,
            )


def _named(spec: ExperimentFile) -> Named:
    """The changes of an experiment under their names. What is factorial has the base among them."""
    for key, usual in (("vary", "one-at-a-time"), ("ladder", "ladder"), ("variants", "variants")):
        if given := getattr(spec, key):
            return DESIGNS[spec.design or usual](given)
    return {}


def _components(model: Mapping[str, Any]) -> dict[str, Any]:
    return {name: model.get(name, DEFAULTS[name]) for name in NAMES}


def values_varied(arms: Iterable[Arm], name: str) -> list[Any]:
    """The values that a component has in models that are alike in their architecture; [] where it has one alone.

    Of the architecture itself every value counts. None, which stands for a default, is left out.
    """
    found: dict[str, list[Any]] = {}
    for arm in arms:
        for model in (arm.base, arm.model):
            group = "" if name == ARCHITECTURE else model[ARCHITECTURE]
            found.setdefault(group, []).append(model[name])
    varied = [value for values in found.values() if len(set(values)) > 1 for value in values]
    return [value for value in dict.fromkeys(varied) if value is not None]
