"""What there is: studies, components, tasks, and the plan of one study."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_type_hints

import yaml
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ablations import components as catalogue
from ablations.callbacks import batch_flops
from ablations.load import SHIPPED
from ablations.runner import is_final
from ablations.study import Settings, Study
from ablations.train import task_shape
from datamodules import TASKS
from models.config import ModelConfig
from models.size import parameter_count
from reports.rows import read_result

Entries = list[dict[str, Any]]


def studies() -> Entries:
    """The shipped studies."""
    plain = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(SHIPPED.glob("*.yaml"))]
    return [{"name": study["name"], "description": study.get("description", "")} for study in plain]


def tasks() -> Entries:
    """The tasks: kind, metrics and what they are."""
    return [
        {"name": name, "kind": task.kind, "metrics": list(task.headline), "description": _first_line(task)}
        for name, task in TASKS.items()
    ]


def components() -> Entries:
    """Every component with its values, their meaning and properties."""
    return [
        {
            "name": component.name,
            "default": catalogue.default(component),
            "values": [
                {
                    "value": value,
                    "does": catalogue.meaning(component, value),
                    "properties": list(catalogue.properties(component, value)),
                }
                for value in catalogue.choices(component)
            ]
            or _number(component),
            "where": component.where,
            "lecture": component.lecture,
        }
        for component in catalogue.COMPONENTS
    ]


def _number(component: catalogue.Component) -> str:
    kind = get_type_hints(ModelConfig)[component.name]
    return f"any {kind.__name__ if isinstance(kind, type) else kind}"


def _first_line(entry: Any) -> str:
    return (entry.__doc__ or "").strip().splitlines()[0]


def show(what: str, entries: Entries) -> None:
    """Print one line for each entry; of components, the values."""
    table = Table(box=None, pad_edge=False, show_header=False)
    for entry in entries:
        if what == "components":
            values = entry["values"]
            text = values if isinstance(values, str) else ", ".join(value["value"] for value in values)
            table.add_row(entry["name"], escape(text), entry["where"])
        else:
            table.add_row(entry["name"], entry.get("kind", ""), escape(entry["description"]))
    Console().print(table)


def markdown() -> str:
    """The catalogue as docs/components.md, defaults first."""
    lines = [
        "# Components",
        "",
        "Every part that can be switched, made by `ablations list components --markdown`. The default stands first.",
        "",
        "| component | value | what it does | properties |",
        "| --- | --- | --- | --- |",
    ]
    for entry in components():
        values = entry["values"]
        if isinstance(values, str):
            lines.append(f"| `{entry['name']}` | {_cell(values)}; default `{entry['default']}` | | |")
            continue
        for number, value in enumerate(values):
            name = f"`{entry['name']}`" if number == 0 else ""
            properties = ", ".join(value["properties"]).replace("_", " ")
            lines.append(f"| {name} | `{value['value']}` | {_cell(value['does'])} | {properties} |")
    lines += ["", "## What the lecture says of each", ""]
    lines += [f"- **{entry['name']}** ({entry['where']}): {entry['lecture']}" for entry in components()]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def plan(study: Study, root: Path) -> Entries:
    """Every run: what it is, its size, what it will cost and whether it is done. Reads the data, trains nothing."""
    sizes: dict[tuple[str, str], dict[str, Any]] = {}
    entries = []
    for run in study.runs():
        key = (run.experiment, run.variant)
        if key not in sizes:
            sizes[key] = _size(run.settings)
        folder = root / run.folder
        name = {"experiment": run.experiment, "variant": run.variant, "seed": run.seed, "id": run.id}
        entries.append(
            {**name, **sizes[key], "done": is_final(folder), "folder": run.folder, "seconds": _seconds(folder)}
        )
    return entries


def _size(settings: Settings) -> dict[str, Any]:
    """Parameters, and operations predicted from the first batch."""
    data = settings.data(0)
    data.setup()
    shape = task_shape(data)
    flops = settings.train.steps * batch_flops(settings.model, shape, data.training_batch(0))
    return {"parameters": parameter_count(settings.model, shape), "predicted_flops": flops}


def _seconds(folder: Path) -> float | None:
    result = read_result(folder) if is_final(folder) else None
    return result["cost"].get("wall_seconds") if result else None


def show_plan(study: Study, entries: Entries) -> None:
    """Print a line for each variant, and what is left to do."""
    table = Table("experiment", "variant", "parameters", "FLOPs a run", "done", title=study.name, title_justify="left")
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
