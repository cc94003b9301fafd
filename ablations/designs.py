"""The designs of an experiment: what is varied, as named changes to the base."""

import itertools
from collections.abc import Callable, Collection, Mapping
from typing import Any

from ablations.study import SECTIONS, Changes, Sections, section_fields
from models.config import ConfigError

Named = dict[str, dict[str, Any]]  # variant name -> changes


def one_at_a_time(vary: Mapping[str, list[Any]]) -> Named:
    """Each value of each field against the base."""
    labels = _labels(vary)
    return {f"{labels[path]}={_text(value)}": {path: value} for path, values in vary.items() for value in values}


def factorial(vary: Mapping[str, list[Any]]) -> Named:
    """Every combination of the values."""
    combinations = (dict(zip(vary, values, strict=True)) for values in itertools.product(*vary.values()))
    return {combination_name(changes): changes for changes in combinations}


def combination_name(changes: Changes, own: Collection[str] = ()) -> str:
    """Name of a combination by its values, without those of the paths in `own`, which are the base's."""
    labels = _labels(changes)
    return ",".join(f"{labels[path]}={_text(value)}" for path, value in changes.items() if path not in own)


def ladder(steps: Mapping[str, Changes]) -> Named:
    """Changes that pile up: each rung keeps those before it. The base is the lowest rung."""
    rungs: Named = {}
    reached: dict[str, Any] = {}
    for name, changes in steps.items():
        reached = {**reached, **changes}
        rungs[name] = reached
    return rungs


def variants(named: Mapping[str, Changes]) -> Named:
    """Changes under names of their own."""
    return {name: dict(changes) for name, changes in named.items()}


Design = Callable[[Mapping[str, Any]], Named]
DESIGNS: dict[str, Design] = {
    "one-at-a-time": one_at_a_time,
    "factorial": factorial,
    "ladder": ladder,
    "variants": variants,
}


def grid_points(grid: Mapping[str, list[Any]]) -> list[dict[str, Any]]:
    """All points of a grid; one empty point where there is no grid."""
    return [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]


def point_name(family: str, point: Mapping[str, Any]) -> str:
    """Name of the experiment that stands for one point of a grid, such as `recall@distance=8`."""
    labels = _labels(point)
    return "@".join([family, *(f"{labels[path]}={_text(value)}" for path, value in point.items())])


def apply(changes: Changes, sections: Sections, where: str) -> Sections:
    """New sections with the changes made. A section's bare name replaces it whole; a dotted path sets one field.

    Raises ConfigError for a path that names no field.
    """
    changed = {name: dict(values) for name, values in sections.items()}
    for path, value in changes.items():
        section, _, field = str(path).partition(".")
        if section not in SECTIONS or "." in field:
            raise ConfigError(
                f"{where}{path}: a path is {', '.join(f'{name}.FIELD' for name in SECTIONS)} or a whole section"
            )
        if not field and not isinstance(value, dict):
            raise ConfigError(f"{where}{path}={value!r}: expected a mapping of fields to values")
        if field:
            changed[section][field] = value
        elif section == "model" and "architecture" not in value:
            raise ConfigError(
                f"{where}model: replaces the whole section and so must name the architecture; one field is model.FIELD"
            )
        else:
            changed[section] = dict(value)
    return changed


def _labels(paths: Mapping[str, Any]) -> dict[str, str]:
    """The last part of each path, or the whole path where two would be the same."""
    last = [path.rpartition(".")[2] for path in paths]
    return {path: name if last.count(name) == 1 else path for path, name in zip(paths, last, strict=True)}


def _text(value: Any) -> str:
    return "x".join(map(str, value)) if isinstance(value, list) else str(value)


def has_field(path: str, sections: Sections) -> bool:
    """Whether a dotted path names a field of these sections."""
    section, _, field = path.partition(".")
    return section in SECTIONS and field in section_fields(section, sections)
