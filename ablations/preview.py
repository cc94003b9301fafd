"""`ablations plan`: what a study would train, how large it is and what is done already. Trains nothing."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ablations.callbacks import batch_flops
from ablations.checks import with_data
from ablations.listing import Entries
from ablations.runner import is_final
from ablations.study import Settings, Study
from ablations.train import task_shape
from datamodules.base import TaskData
from models.size import parameter_count
from reports.rows import read_result


def preview(study: Study, root: Path) -> Entries:
    """Every run: what it is, its size, what it will cost and whether it is done. Reads the data.

    Raises ConfigError or DataError as training would.
    """
    variants = {(run.experiment, run.variant): run.settings for run in study.runs()}
    sizes = {key: _size(*made) for key, made in zip(variants, with_data(variants.values()), strict=True)}
    return [
        {
            "experiment": run.experiment,
            "variant": run.variant,
            "seed": run.seed,
            "id": run.id,
            **sizes[run.experiment, run.variant],
            "done": is_final(root / run.folder),
            "seconds": _seconds(root / run.folder),
            "folder": run.folder,
        }
        for run in study.runs()
    ]


def _size(settings: Settings, data: TaskData[Any]) -> dict[str, Any]:
    """Parameters, and operations predicted from the first batch."""
    shape = task_shape(data)
    flops = settings.train.steps * batch_flops(settings.model, shape, data.training_batch(0))
    return {"parameters": parameter_count(settings.model, shape), "predicted_flops": flops}


def _seconds(folder: Path) -> float | None:
    result = read_result(folder) if is_final(folder) else None
    return result["cost"].get("wall_seconds") if result else None


def show(study: Study, entries: Entries) -> None:
    """Print a line for each variant, and what is left to do."""
    table = Table(title=study.name, title_justify="left")
    for column in ("experiment", "variant", "parameters", "FLOPs a run", "done"):
        table.add_column(column, overflow="fold")
    variants: dict[tuple[str, str], Entries] = {}
    for entry in entries:
        variants.setdefault((entry["experiment"], entry["variant"]), []).append(entry)
    for (experiment, variant), runs in variants.items():
        size = (f"{runs[0]['parameters']:,}", f"{runs[0]['predicted_flops']:.2e}")
        table.add_row(escape(experiment), escape(variant), *size, f"{sum(run['done'] for run in runs)}/{len(runs)}")
    console = Console()
    console.print(table)
    left = [entry for entry in entries if not entry["done"]]
    console.print(f"{len(left)} of {len(entries)} runs to train{_time_left(entries, left)}", highlight=False)


def _time_left(entries: Sequence[dict[str, Any]], left: Sequence[dict[str, Any]]) -> str:
    """Time by the rate of the runs that are done; without any, nothing is claimed."""
    done = [entry for entry in entries if entry["seconds"] and entry["predicted_flops"]]
    if not done or not left:
        return ""
    rate = sum(entry["seconds"] for entry in done) / sum(entry["predicted_flops"] for entry in done)
    seconds = rate * sum(entry["predicted_flops"] for entry in left)
    return f", about {seconds / 60:.0f} core-minutes at the rate of those done"
