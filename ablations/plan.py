"""The plan of a study: what its folder should hold, for the report and for `ablations plan`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from ablations.study import Experiment, Run, Study
from reports.rows import SCHEMA, write_json, write_text


def write_plan(study: Study, runs: Sequence[Run], root: Path) -> None:
    """Write plan.json (which runs belong to the study as it stands now) and study.yaml (which repeats it)."""
    root.mkdir(parents=True, exist_ok=True)
    write_json(root / "plan.json", as_dict(study, runs))
    text = yaml.safe_dump(study.source, sort_keys=False, allow_unicode=True, width=120)
    write_text(root / "study.yaml", text)


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
        "chance": {} if data.chance is None else {"accuracy": data.chance},
        "base": experiment.base,
        "design": experiment.design,
        "variants": list(experiment.variants),
        "changes": experiment.changes,
        "grid": experiment.grid,
        "family": experiment.family,
    }
