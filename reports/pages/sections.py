"""The sections of the page: one for each experiment, and one for each grid that is a curve."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pandas as pd

from reports.experiment import Experiment
from reports.fairness import COMPARISONS, Fair, originals
from reports.families import Family, families
from reports.figures.gallery import Gallery, Picture, slug
from reports.figures.pictures import family_pictures, measured, pictures, training_pictures
from reports.frames import records
from reports.pages.configurations import addresses, base_settings
from reports.pages.evidence import effects_caption, effects_grid, noise_caption, noise_grid
from reports.pages.examples import Example, examples, examples_caption
from reports.pages.fairness import FairSection, fair_section
from reports.pages.findings import Findings, findings, lead
from reports.pages.grids import (
    Grid,
    Link,
    categories_grid,
    changes_grid,
    others_grid,
    settings_anchor,
    variants_grid,
)
from reports.pages.importance import importance_caption, importance_grid
from reports.pages.lengths import lengths_caption, lengths_grid
from reports.rows import ITEMS
from reports.sequential import looks_sentence
from reports.values import SPLITS, with_axis, with_category
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
    noise_caption: str = ""
    importance: Grid | None = None
    importance_caption: str = ""
    variants: Grid | None = None
    effects: Grid | None = None
    effects_caption: str = ""
    lengths: Grid | None = None
    lengths_caption: str = ""
    measured: list[Picture] = field(default_factory=list)
    categories: Grid | None = None
    categories_caption: str = ""
    others: Grid | None = None
    others_caption: str = ""
    changes: Grid | None = None
    examples: Sequence[Example] = ()
    examples_caption: str = ""
    settings: Sequence[tuple[str, str]] = ()
    """Dotted paths and values of the base."""
    settings_anchor: str = ""
    signature: str = ""
    is_point: bool = False
    """One point of a grid that has a section of its own, or one comparison of an experiment; it stands closed."""
    fair: FairSection | None = None
    """The experiment in all its comparisons, where it has others than this."""

    @property
    def hero(self) -> Picture | None:
        """The picture of effects."""
        return next((picture for picture in self.pictures if picture.kind == EFFECTS), None)

    @property
    def by_length(self) -> list[Picture]:
        """Pictures of the metrics that are tested at other lengths."""
        return [picture for picture in self.pictures if picture.title.endswith(" by length")] if self.lengths else []


def make_sections(experiments: Sequence[Experiment], gallery: Gallery, fair: Sequence[Fair] = ()) -> Iterator[Section]:
    """A section for each experiment; before the first point of a grid one for the grid, as soon as it is a curve.

    `fair`: those that have been made equal in some way, whose sections have the comparison with them.
    """
    compared = {found.origin.name: found for found in fair}
    grids = {min(experiments.index(point) for point in family.points): family for family in families(experiments)}
    shown: set[str] = set()
    leading = lead(originals(experiments))
    for place, experiment in enumerate(experiments):
        if place in grids and (section := _family_section(grids[place], place + 1, gallery)).pictures:
            shown |= {point.name for point in grids[place].points}
            yield section
        in_grid = experiment.name in shown
        is_point = in_grid or bool(experiment.plan.get("origin"))
        own = gallery if experiment is leading or not is_point else gallery.of_vectors()
        section = make_section(
            experiment, place + 1, own, in_grid=in_grid, effects=experiment is leading or not in_grid
        )
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


def make_section(
    experiment: Experiment, place: int, gallery: Gallery, *, in_grid: bool = False, effects: bool = True
) -> Section:
    """Draw and write what there is of one experiment, the `place`th of the study.

    Those `in_grid` are many, and the figure of the grid shows their values: they have no learning curves and costs of
    their own, and without `effects` no figure of these. The numbers are in tables, and the rows in the CSV files.
    """
    stem = f"{place:02}-{slug(experiment.name)}"
    categories = categories_grid(experiment)
    importance = importance_grid(experiment)
    settings, changes = base_settings(experiment), changes_grid(experiment, anchor(place))
    return Section(
        name=experiment.name,
        anchor=anchor(place),
        facts=_facts(experiment),
        findings=findings(experiment),
        notes=tuple(notes(experiment)),
        warning=_warning(experiment),
        pictures=[
            *pictures(experiment, stem, gallery, effects=effects),
            *(() if in_grid else training_pictures(experiment, stem, gallery)),
        ],
        noise=noise_grid(experiment),
        noise_caption=noise_caption(experiment.looks),
        importance=importance,
        importance_caption=importance_caption(importance) if importance else "",
        variants=variants_grid(experiment, _links(experiment, place, bool(settings))),
        effects=effects_grid(experiment),
        effects_caption=effects_caption(experiment),
        lengths=lengths_grid(experiment),
        lengths_caption=lengths_caption(experiment),
        measured=list(measured(experiment, stem, gallery)),
        categories=categories,
        categories_caption=categories_caption(by_token=_has_note(categories, "per token")),
        others=others_grid(experiment),
        others_caption=others_caption(
            list(experiment.values["metric"].unique()), diverged=any(row.state == "diverged" for row in experiment.runs)
        ),
        changes=changes,
        examples=examples(experiment),
        examples_caption=examples_caption(experiment),
        settings=settings,
        settings_anchor=settings_anchor(anchor(place), experiment, experiment.base),
        signature=next((r.run["signature"] for r in experiment.runs if r.variant == experiment.base and r.run), ""),
    )


def _links(experiment: Experiment, place: int, has_base: bool) -> dict[str, tuple[Link, ...]]:
    """From each variant to its settings on the page (the base's: if there), and to run.json of one of its runs."""
    files = addresses(experiment)
    return {
        variant: (
            *_if(
                variant != experiment.base or has_base,
                "settings",
                f"#{settings_anchor(anchor(place), experiment, variant)}",
            ),
            *_if(variant in files, "run.json", files.get(variant, "")),
        )
        for variant in experiment.order
    }


def _if(holds: bool, text: str, target: str) -> tuple[Link, ...]:
    return (Link(text=text, target=target),) if holds else ()


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
    origin, base = plan.get("origin"), experiment.label(experiment.base)
    others = len(plan["variants"]) - (experiment.base in plan["variants"])
    parts = [
        f"{COMPARISONS.get(plan.get('comparison', ''), 'Other')} comparison of {origin}" if origin else "",
        f"Task {plan['task']} ({plan['kind']})",
        f"{times(others, 'variant')} against {base}" if others else "no variant beside the base",
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
