"""The plan of a study: what its folder should hold, for the report and for `ablations plan`."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from ablations.components import COMPONENTS, facts, properties
from ablations.study import Experiment, Run, Settings, Study
from datamodules.base import TaskData
from reports.rows import SCHEMA, write_json, write_text


def write_plan(study: Study, runs: Sequence[Run], root: Path) -> None:
    """Write plan.json (which runs belong to the study as it stands now) and study.yaml (which repeats it)."""
    root.mkdir(parents=True, exist_ok=True)
    write_json(root / "plan.json", as_dict(study, runs))
    write_text(root / "study.yaml", source_text(study))


def source_text(study: Study) -> str:
    """The study as a YAML file that repeats it, every experiment written out."""
    return yaml.dump(study.source, Dumper=_Plain, sort_keys=False, allow_unicode=True, width=120)


class _Plain(yaml.SafeDumper):
    """Writes what stands at two places twice, where PyYAML would set an anchor."""

    def ignore_aliases(self, data: object) -> bool:
        """Never one."""
        return True


def as_dict(study: Study, runs: Sequence[Run]) -> dict[str, Any]:
    """The plan in the schema of `reports.rows`."""
    return {
        "schema": SCHEMA,
        "study": study.name,
        "description": study.description,
        "seeds": list(study.seeds),
        "experiments": {experiment.name: _experiment(experiment) for experiment in study.experiments},
        "runs": [
            {"experiment": run.experiment, "variant": run.variant, "seed": run.seed, "id": run.id, "folder": run.folder}
            for run in runs
        ],
    }


def _experiment(experiment: Experiment) -> dict[str, Any]:
    settings = experiment.variants[experiment.base]
    data = settings.data(0)
    return {
        "task": settings.task_name,
        "kind": data.kind,
        "headline": list(data.headline),
        "chance": _chance(data),
        "base": experiment.base,
        "design": experiment.design,
        "variants": list(experiment.variants),
        "changes": experiment.changes,
        "grid": experiment.grid,
        "family": experiment.family,
        "comparison": experiment.comparison,
        "origin": experiment.origin,
        "left_out": experiment.left_out,
        "looks": list(experiment.looks),
        "units": dict(data.units),
        "marks": {name: ["leaks_future"] for name, of in experiment.variants.items() if _leaks_future(of, data.kind)},
        "components": _components(experiment),
    }


def _chance(data: TaskData[Any]) -> dict[str, float]:
    """What guessing gives, where it is known before the data are there."""
    known = {"accuracy": data.chance, "loss": None if data.kind == "translation" else math.log(data.output_size)}
    return {metric: value for metric, value in known.items() if value is not None}


def _leaks_future(settings: Settings, kind: str) -> bool:
    """Whether a model that is to say the next word can see it: its loss is then none that can be compared."""
    if kind == "tagging" or settings.model.architecture not in ("decoder", "encoder-decoder"):
        return False
    (mask,) = (component for component in COMPONENTS if component.name == "decoder_mask")
    return "leaks_future" in properties(mask, settings.model.decoder_mask)


def _components(experiment: Experiment) -> dict[str, dict[str, str]]:
    """What is said of each part of the model that some variant is there to change, by dotted path."""
    changed: dict[str, list[Any]] = {}
    for variant, settings in experiment.variants.items():
        for field in _changed(experiment, variant):
            changed.setdefault(field, []).append(getattr(settings.model, field))
    return {f"model.{part.name}": facts(part, changed[part.name]) for part in COMPONENTS if part.name in changed}


def _changed(experiment: Experiment, variant: str) -> Iterator[str]:
    """Fields of the model that a variant names and has otherwise than the base; those of a whole section too."""
    base, other = (experiment.variants[name].model for name in (experiment.base, variant))
    for path, value in experiment.changes.get(variant, {}).items():
        for field in value if path == "model" else [path.removeprefix("model.")]:
            if getattr(base, field, None) != getattr(other, field, None):
                yield field
