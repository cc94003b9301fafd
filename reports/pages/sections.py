"""The sections of the page: one for each experiment, and one for each grid that is a curve."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pandas as pd

from reports.experiment import Experiment
from reports.fairness import COMPARISONS, Fair
from reports.families import Family, families
from reports.figures.gallery import Gallery, Picture, slug
from reports.figures.pictures import family_pictures, measured, pictures, training_pictures
from reports.pages.configurations import Configuration, configurations
from reports.pages.evidence import effects_grid, noise_grid
from reports.pages.examples import Example, examples, examples_caption
from reports.pages.fairness import FairSection, fair_section
from reports.pages.findings import Findings, findings
from reports.pages.grids import Grid, Link, categories_grid, changes_grid, others_grid, variants_grid
from reports.pages.importance import importance_caption, importance_grid
from reports.rows import ITEMS
from reports.sequential import looks_sentence
from reports.table import SPLITS, records, with_axis, with_category
from reports.wording import categories_caption, others_caption, times

EFFECTS = "effects"
"""Kind of the picture that stands at the head of the page."""


@dataclass(frozen=True, kw_only=True)
class Section:
    """All that the page shows of one experiment, or of a grid as a whole. Not every one has every part."""

    name: str
    anchor: str
    facts: str
    findings: Findings | None = None
    notes: tuple[str, ...] = ()
    warning: str = ""
    pictures: list[Picture]
    noise: Grid | None = None
    importance: Grid | None = None
    importance_caption: str = ""
    variants: Grid | None = None
    effects: Grid | None = None
    measured: list[Picture] = field(default_factory=list)
    categories: Grid | None = None
    categories_caption: str = ""
    others: Grid | None = None
    others_caption: str = ""
    changes: Grid | None = None
    examples: Sequence[Example] = ()
    examples_caption: str = ""
    configurations: Sequence[tuple[str, Configuration]] = ()
    """With the anchor of each."""
    signature: str = ""
    is_point: bool = False
    """One point of a grid that has a section of its own, or one comparison of an experiment; it stands closed."""
    fair: FairSection | None = None
    """The experiment in all its comparisons, where it has others than this."""

    @property
    def hero(self) -> Picture | None:
        """The picture of effects."""
        return next((picture for picture in self.pictures if picture.kind == EFFECTS), None)


def make_sections(experiments: Sequence[Experiment], gallery: Gallery, fair: Sequence[Fair] = ()) -> Iterator[Section]:
    """A section for each experiment; before the first point of a grid one for the grid, as soon as it is a curve.

    `fair`: those that have been made equal in some way, whose sections have the comparison with them.
    """
    compared = {found.origin.name: found for found in fair}
    grids = {min(experiments.index(point) for point in family.points): family for family in families(experiments)}
    shown: set[str] = set()
    for place, experiment in enumerate(experiments):
        if place in grids and (section := _family_section(grids[place], place + 1, gallery)).pictures:
            shown |= {point.name for point in grids[place].points}
            yield section
        in_grid = experiment.name in shown
        section = make_section(experiment, place + 1, gallery, training=not in_grid)
        is_point = in_grid or bool(experiment.plan.get("origin"))
        yield replace(section, is_point=is_point, fair=_fair(compared, experiment, place + 1, gallery))


def _fair(compared: Mapping[str, Fair], experiment: Experiment, place: int, gallery: Gallery) -> FairSection | None:
    found = compared.get(experiment.name)
    return None if found is None else fair_section(found, place, f"{place:02}-{slug(experiment.name)}", gallery)


def anchor(place: int) -> str:
    """Where the `place`th experiment of a study stands on the page."""
    return f"experiment-{place}"


def _family_section(family: Family, place: int, gallery: Gallery) -> Section:
    plan = family.points[0].plan
    values = ", ".join(f"{value:g}" for value in family.places)
    return Section(
        name=family.name,
        anchor=f"grid-{place}",
        facts=f"Task {plan['task']} ({plan['kind']}) · {len(family.points)} values of {family.path}: {values}",
        pictures=list(family_pictures(family, f"{place:02}-{slug(family.name)}", gallery)),
    )


def make_section(experiment: Experiment, place: int, gallery: Gallery, *, training: bool = True) -> Section:
    """Draw and write what there is of one experiment, the `place`th of the study.

    Without `training` no learning curves and costs: the points of a grid are many, and the rows are in the CSV files.
    """
    stem = f"{place:02}-{slug(experiment.name)}"
    categories = categories_grid(experiment)
    importance = importance_grid(experiment)
    shown = [(f"{anchor(place)}-{found.anchor_key}", found) for found in configurations(experiment) if found.settings]
    return Section(
        name=experiment.name,
        anchor=anchor(place),
        facts=_facts(experiment),
        findings=findings(experiment),
        notes=tuple(notes(experiment)),
        warning=_warning(experiment),
        pictures=[
            *pictures(experiment, stem, gallery),
            *(training_pictures(experiment, stem, gallery) if training else ()),
        ],
        noise=noise_grid(experiment),
        importance=importance,
        importance_caption=importance_caption(importance) if importance else "",
        variants=variants_grid(experiment, _links(shown)),
        effects=effects_grid(experiment),
        measured=list(measured(experiment, stem, gallery)),
        categories=categories,
        categories_caption=categories_caption(by_token=_has_note(categories, "per token")),
        others=others_grid(experiment),
        others_caption=others_caption(
            list(experiment.values["metric"].unique()), diverged=any(row.state == "diverged" for row in experiment.runs)
        ),
        changes=changes_grid(experiment),
        examples=examples(experiment),
        examples_caption=examples_caption(experiment),
        configurations=shown,
        signature=next((r.run["signature"] for r in experiment.runs if r.variant == experiment.base and r.run), ""),
    )


def _links(shown: Sequence[tuple[str, Configuration]]) -> dict[str, tuple[Link, ...]]:
    """From each variant to its settings on the page, and to run.json of one of its runs."""
    return {
        found.variant: (
            Link(text="settings", target=f"#{place}"),
            *([Link(text="run.json", target=found.address)] if found.address else []),
        )
        for place, found in shown
    }


def notes(experiment: Experiment) -> list[str]:
    """How seeds were added, if they were; warnings of the data, once each, with the number of runs that have it.

    The number is left out where all have it. Other notes of the data are in the logs.
    """
    looks = looks_sentence(experiment.looks)
    results = [row.result for row in experiment.runs if row.result]
    said = (note for result in results for note in dict.fromkeys(result.get("notes", [])))
    found = Counter(note for note in said if note.startswith("warning:"))
    warnings = [note if n == len(results) else f"{note} ({times(n, 'run')})" for note, n in found.items()]
    return [looks, *warnings] if looks else warnings


def _has_note(grid: Grid | None, text: str) -> bool:
    return grid is not None and any(text in cell.note for row in grid.rows for cell in row)


def _facts(experiment: Experiment) -> str:
    plan, runs, values = experiment.plan, experiment.runs, experiment.values
    counted = experiment.tables.variants["counted"].sum()
    splits = set(values.loc[values["metric"].isin(experiment.metrics), "split"])
    origin = plan.get("origin")
    parts = [
        f"{COMPARISONS.get(plan.get('comparison', ''), 'Other')} comparison of {origin}" if origin else "",
        f"Task {plan['task']} ({plan['kind']})",
        f"{times(len(plan['variants']) - (experiment.base in plan['variants']), 'variant')} against {experiment.base}",
        f"{counted} of {times(len(runs), 'run')} counted",
        items_note(values),
        "measured on the validation set" if splits & set(SPLITS) == {"validation"} else "",
    ]
    return " · ".join(part for part in parts if part)


def items_note(values: pd.DataFrame) -> str:
    """Test items of an experiment: `500 test items, accuracy by distance over 1040`."""
    rows = values[(values["metric"] == ITEMS) & values["value"].notna()]
    overall = rows.loc[rows["coordinate"] == "", "value"]
    named = with_category(rows).assign(axis="category")
    parts = [f"{overall.max():.0f} test items"] if len(overall) else []
    for axis, of_axis in pd.concat([with_axis(rows), named]).groupby("axis", sort=False):
        total = of_axis.groupby("coordinate")["value"].max().sum()
        if not len(overall) or total != overall.max():
            parts.append(f"numbers by {axis} over {total:.0f}")
    return ", ".join(parts)


def _warning(experiment: Experiment) -> str:
    variants = experiment.tables.variants
    counted = {row["variant"] for row in records(variants) if row["counted"]}
    if not counted:
        return "No run of this experiment has finished."
    if experiment.base not in counted:
        return f"The base, {experiment.base}, has no finished run: there is nothing to compare with, only values."
    return ""


def measurements(sections: Sequence[Section]) -> list[str]:
    """Titles of the pictures of measurements, once each."""
    return list(dict.fromkeys(picture.title for section in sections for picture in section.measured))
