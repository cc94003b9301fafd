"""The parts of the model, one by one, over all experiments of a study that change them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reports.experiment import Experiment
from reports.figures.gallery import Picture
from reports.frames import records
from reports.metrics import facts
from reports.pages.evidence import change_cell
from reports.pages.grids import Cell, Grid, Link, tags
from reports.pages.sections import Section
from reports.pages.verdicts import Article, changed_by
from reports.plans import describe_value
from reports.register import Claim

PREFIX = "model."


@dataclass(frozen=True, kw_only=True)
class Component:
    """One part of the model: what the lecture says of it, and what changing it alone did."""

    path: str
    anchor: str
    lecture: str
    """Empty where the plan does not say, as are the next four."""
    section: str
    """Of the lecture."""
    equation: str
    off: str
    """What the values that switch it off do."""
    next: str
    """A command to try."""
    grid: Grid
    figures: tuple[Link, ...]
    """The figures of effects that have these changes in them."""
    claims: tuple[Article, ...]
    """Those of which a condition changes this part."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """One variant that changes one part alone."""

    experiment: Experiment
    variant: str
    path: str
    value: Any


def components(
    experiments: Sequence[Experiment],
    anchors: Sequence[str],
    sections: Sequence[Section] = (),
    articles: Sequence[Article] = (),
    register: Sequence[Claim] = (),
) -> list[Component]:
    """Every field of the model that some variant changes alone, in the order of the study.

    `anchors` are those of the experiments; `register` has the claims that `articles` are about.
    """
    places = {experiment.name: anchor for experiment, anchor in zip(experiments, anchors, strict=True)}
    heroes = {section.anchor: section.hero for section in sections if section.hero}
    changes = [change for experiment in experiments for change in single_changes(experiment)]
    claimed = changed_by(register)
    found = []
    for number, path in enumerate(dict.fromkeys(change.path for change in changes), 1):
        own = [change for change in changes if change.path == path]
        found.append(
            Component(
                path=path,
                anchor=f"component-{number}",
                **lecture(experiments, path),
                grid=_grid(path, own, places),
                figures=tuple(_figures(own, places, heroes)),
                claims=tuple(a for a in articles if a.verdict.id in claimed.get(path, ())),
            )
        )
    return found


def single_changes(experiment: Experiment) -> Iterator[Change]:
    """Variants that change one field of the model and nothing else, in the order of the experiment."""
    for variant in experiment.order:
        changes = experiment.changes(variant)
        if variant != experiment.base and len(changes) == 1:
            ((path, value),) = changes.items()
            if path.startswith(PREFIX):
                yield Change(experiment=experiment, variant=variant, path=path, value=value)


TOLD = {"says": "lecture", "section": "section", "equation": "equation", "off": "off", "next": "next"}
"""What a plan may say of a part, to the field that it becomes."""


def lecture(experiments: Sequence[Experiment], path: str) -> dict[str, str]:
    """What the plan of the first experiment that knows a part says of it, by field; older plans have one text only."""
    known = (experiment.plan.get("components", {}).get(path) for experiment in experiments)
    said: Any = next((entry for entry in known if entry), {})
    entry = {"says": said} if isinstance(said, str) else said
    return {field: str(entry.get(name) or "") for name, field in TOLD.items()}


def _figures(changes: Sequence[Change], places: Mapping[str, str], heroes: Mapping[str, Picture]) -> Iterator[Link]:
    for name in dict.fromkeys(change.experiment.name for change in changes):
        if (hero := heroes.get(places[name])) is not None:
            yield Link(text=f"effects in {name}", target=f"#figure-{hero.name}")


def _grid(path: str, changes: Sequence[Change], places: dict[str, str]) -> Grid:
    """A row a change: experiment, value, and the effect on each headline metric that any of them compares."""
    metrics = list(dict.fromkeys(metric for change in changes for metric in change.experiment.metrics))
    return Grid(
        title=f"What changing {path} alone does",
        columns=["Experiment", "Value", "Base has", *(facts(metric).name for metric in metrics)],
        rows=[_cells(change, metrics, places[change.experiment.name]) for change in changes],
    )


def _cells(change: Change, metrics: Sequence[str], anchor: str) -> list[Cell]:
    experiment, variant = change.experiment, change.variant
    rows = experiment.tables.effects[experiment.tables.effects["variant"] == variant]
    effects = {row["metric"]: row for row in records(rows)}
    base, value = experiment.config(experiment.base), describe_value(change.value)
    return [
        Cell(text="", kind="text", links=(Link(text=experiment.name, target=f"#{anchor}"),)),
        Cell(
            text=value,
            note="" if variant == value else variant,
            kind="name",
            style=experiment.styles[variant],
            tags=tags(experiment, variant),
        ),
        Cell(text=describe_value(base[change.path]) if change.path in base else "–", kind="text"),
        *(change_cell(effects.get(metric), metric) for metric in metrics),
    ]
