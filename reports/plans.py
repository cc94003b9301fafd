"""What the plan of an experiment says of its variants: their order, what they change, in words."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from reports.rows import ExperimentPlan


def variant_order(experiment: ExperimentPlan) -> list[str]:
    """Variants in the order of the plan, base first; by size where all change the same field to numbers."""
    base, changes = experiment["base"], experiment["changes"]
    others = [variant for variant in experiment["variants"] if variant != base]
    paths = {path for variant in others for path in changes.get(variant, {})}
    values = [value for variant in others for value in changes.get(variant, {}).values()]
    if len(paths) == 1 and len(values) == len(others) and all(type(value) in (int, float) for value in values):
        (path,) = paths
        others.sort(key=lambda variant: changes[variant][path])
    return [base, *others] if base in experiment["variants"] else others


def flat(config: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Settings by dotted path, sections taken apart: `{"model": {"norm": "rms"}}` gives `model.norm`."""
    for name, value in config.items():
        if isinstance(value, dict) and value:
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def describe_changes(changes: Mapping[str, Any]) -> str:
    """What a variant changes, on one line: `model.position: none, train.lr: 0.001`."""
    return ", ".join(f"{path}: {describe_value(value)}" for path, value in flat(changes))


def describe_value(value: Any) -> str:
    """A setting as YAML would have it on one line."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
