"""The report of a study: one page that opens from disk and asks for nothing, with its figures and tables as files.

report/index.html   report/figures/*.png, *.svg   report/runs.csv, metrics.csv, curves.csv, variants.csv, effects.csv
"""

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from reports.experiment import Experiment
from reports.families import Family, families
from reports.figures import theme
from reports.grids import (
    Grid,
    categories_grid,
    changes_grid,
    effects_grid,
    others_grid,
    settings_grid,
    variants_grid,
)
from reports.metrics import facts
from reports.pictures import Gallery, Picture, family_pictures, measured, pictures, slug
from reports.rows import COUNTED, ITEMS, STATES, StudyRows, read_study, write_text
from reports.statistics import LEVEL
from reports.table import SPLITS, Tables, make_tables
from reports.wording import categories_caption, headline, other_headlines, others_caption, times

TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True, kw_only=True)
class Section:
    """All that the page shows of one experiment, or of a grid as a whole. Not every one has every part."""

    name: str
    anchor: str
    facts: str
    headline: str = ""
    further: str = ""
    warning: str = ""
    pictures: list[Picture]
    variants: Grid | None = None
    effects: Grid | None = None
    measured: list[Picture] = field(default_factory=list)
    categories: Grid | None = None
    categories_caption: str = ""
    others: Grid | None = None
    others_caption: str = ""
    changes: Grid | None = None
    settings: Grid | None = None
    signature: str = ""


@dataclass(frozen=True, kw_only=True)
class Unfinished:
    """Planned runs of one variant that have no value, all for the same reason."""

    experiment: str
    variant: str
    seeds: str
    state: str
    reason: str


def build(study_folder: Path) -> Path:
    """Write the report of a study into its folder, as far as the study has come; gives the path of the page.

    Raises RowsError where the plan cannot be used.
    """
    study = read_study(study_folder)
    tables = make_tables(study)
    folder = study_folder / "report"
    with theme():
        gallery = Gallery(folder / "figures")
        sections = list(make_sections(tables, gallery))
    write_tables(tables, folder)
    write_text(folder / "index.html", render(study, tables, sections))
    gallery.clear()
    return folder / "index.html"


def write_tables(tables: Tables, folder: Path) -> None:
    """Write every table as CSV. Read them with `keep_default_na=False`: a variant may be called `None`."""
    files = {
        "runs": tables.runs,
        "metrics": tables.values,
        "curves": tables.curves,
        "variants": tables.variants,
        "effects": tables.effects,
    }
    for name, frame in files.items():
        write_text(folder / f"{name}.csv", frame.to_csv(index=False, lineterminator="\n"))


def make_sections(tables: Tables, gallery: Gallery) -> Iterator[Section]:
    """A section for each experiment; before the first point of a grid one for the grid, as soon as it is a curve."""
    experiments = [Experiment(tables, name) for name in tables.study.plan["experiments"]]
    grids = {min(experiments.index(point) for point in family.points): family for family in families(experiments)}
    for place, experiment in enumerate(experiments):
        if place in grids and (section := _family_section(grids[place], place + 1, gallery)).pictures:
            yield section
        yield make_section(experiment, place + 1, gallery)


def _family_section(family: Family, place: int, gallery: Gallery) -> Section:
    plan = family.points[0].plan
    values = ", ".join(f"{value:g}" for value in family.places)
    return Section(
        name=family.name,
        anchor=f"grid-{place}",
        facts=f"Task {plan['task']} ({plan['kind']}) · {len(family.points)} values of {family.path}: {values}",
        pictures=list(family_pictures(family, f"{place:02}-{slug(family.name)}", gallery)),
    )


def make_section(experiment: Experiment, place: int, gallery: Gallery) -> Section:
    """Draw and write what there is of one experiment, the `place`th of the study."""
    stem = f"{place:02}-{slug(experiment.name)}"
    categories = categories_grid(experiment)
    return Section(
        name=experiment.name,
        anchor=f"experiment-{place}",
        facts=_facts(experiment),
        headline=headline(experiment.tables.effects, experiment.compared[0]) if experiment.compared else "",
        further=other_headlines(experiment.tables.effects, experiment.compared[1:]),
        warning=_warning(experiment),
        pictures=list(pictures(experiment, stem, gallery)),
        variants=variants_grid(experiment),
        effects=effects_grid(experiment),
        measured=list(measured(experiment, stem, gallery)),
        categories=categories,
        categories_caption=categories_caption(by_token=_has_note(categories, "per token")),
        others=others_grid(experiment),
        others_caption=others_caption(
            list(experiment.values["metric"].unique()), diverged=any(row.state == "diverged" for row in experiment.runs)
        ),
        changes=changes_grid(experiment),
        settings=settings_grid(experiment),
        signature=next((r.run["signature"] for r in experiment.runs if r.variant == experiment.base and r.run), ""),
    )


def _has_note(grid: Grid | None, text: str) -> bool:
    return grid is not None and any(text in cell.note for row in grid.rows for cell in row)


def render(study: StudyRows, tables: Tables, sections: Sequence[Section]) -> str:
    """The page as HTML."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    lead = next((section for section in sections if section.headline), None)
    return environment.get_template("index.html").render(
        study=study.plan["study"],
        description=study.plan.get("description", ""),
        headline=_headline(study, sections, lead),
        lead=lead,
        progress=_progress(study),
        warnings=[*_warnings(study), *tables.problems],
        foreign=_foreign(study.foreign),
        sections=sections,
        unfinished=_unfinished(study),
        origin=_origin(study),
        multiplicity=_multiplicity(tables.effects),
        command=f"ablations run {shlex.quote(str(study.folder / 'study.yaml'))}",
    )


def _headline(study: StudyRows, sections: Sequence[Section], lead: Section | None) -> str:
    """The page in one sentence: that of the first experiment that has something to compare, or what was measured."""
    if lead is not None:
        return lead.headline
    if not any(row.state in COUNTED for row in study.runs):
        return "Nothing has finished yet."
    titles = dict.fromkeys(picture.title for section in sections for picture in section.measured)
    if titles:
        return f"Measured, nothing trained: {', '.join(titles)}."
    if all(row.variant == study.plan["experiments"][row.experiment]["base"] for row in study.runs):
        return "Nothing to compare: no experiment has a variant beside its base."
    return "Nothing to compare yet: no variant has finished together with its base."


def _progress(study: StudyRows) -> str:
    states = ", ".join(f"{study.count(state)} {state}" for state in STATES if study.count(state))
    return f"{times(len(study.runs), 'run')} planned: {states}." if study.runs else "No run is planned."


def _warnings(study: StudyRows) -> list[str]:
    """What makes rows doubtful or incomparable."""
    results = [row.result for row in study.runs if row.result]
    commits = {result["commit"] for result in results}
    signatures = {(metric, text) for result in results for metric, text in result["signatures"].items()}
    mixed = sorted(facts(metric).name for metric, n in Counter(metric for metric, _ in signatures).items() if n > 1)
    dirty = any(commit and commit.endswith("-dirty") for commit in commits)
    found = [
        (study.count("conflict"), f"{times(study.count('conflict'), 'run')} with two results: neither is counted."),
        (len(commits) > 1, "Runs come from different commits: what differs may not be the variants alone."),
        (dirty, "Some runs come from a checkout with changes that no commit holds."),
        (mixed, f"{' and '.join(mixed)}: computed in different ways, the numbers cannot be compared."),
    ]
    return [text for holds, text in found if holds]


def _foreign(runs: int) -> str:
    are = "is" if runs == 1 else "are"
    return f"{times(runs, 'other run')} in this folder {are} not part of the current plan." if runs else ""


def _unfinished(study: StudyRows) -> list[Unfinished]:
    """Runs that did not complete, grouped; what is wrong comes before what has only not been run."""
    seeds: dict[tuple[str, str, str, str], list[int]] = {}
    for state in ("conflict", "failed", "diverged", "missing"):
        for row in study.runs:
            if row.state == state:
                reason = row.reason or ("not run yet" if state == "missing" else "no reason was recorded")
                seeds.setdefault((row.experiment, row.variant, row.state, reason), []).append(row.seed)
    return [
        Unfinished(experiment=e, variant=v, seeds=", ".join(map(str, numbers)), state=state, reason=reason)
        for (e, v, state, reason), numbers in seeds.items()
    ]


def _origin(study: StudyRows) -> list[tuple[str, str]]:
    """Where the numbers come from: name and what is known, with numbers of runs where it is not one for all."""
    results = [row.result for row in study.runs if row.result]
    runs = [row.run for row in study.runs if row.run]
    versions = dict.fromkeys(name for result in results for name in result["versions"])
    signatures = dict.fromkeys(metric for result in results for metric in result["signatures"])
    lines = [
        ("Comparison", _tally([run["comparison"] for run in runs])),
        ("Data", _tally([f"{run['experiment']}: {run['config'].get('data', '–')}" for run in runs], counted=False)),
        *((facts(m).name, _tally([r["signatures"][m] for r in results if m in r["signatures"]])) for m in signatures),
        ("Commit", _tally([result["commit"] or "not in a checkout" for result in results])),
        ("Hardware", _tally([f"{result['device']} on {result['host']}" for result in results])),
        ("Last run ended", max((result["ended"] for result in results), default="")),
        *((name, _tally([r["versions"][name] for r in results if name in r["versions"]])) for name in versions),
    ]
    return [(name, text) for name, text in lines if text]


def _tally(values: Sequence[str], *, counted: bool = True) -> str:
    found = Counter(values)
    if len(found) == 1 or not counted:
        return ", ".join(found)
    return ", ".join(f"{value} ({times(n, 'run')})" for value, n in found.items())


def _multiplicity(effects: pd.DataFrame) -> str:
    n = int(effects["low"].notna().sum())
    if n < 2:
        return ""
    return (
        f"This page has {n} intervals of 95\N{NO-BREAK SPACE}%, on metrics that go together. About "
        f"{n * (1 - LEVEL):.2g} of them are to be expected not to hold the true difference, by chance alone; nothing "
        "is corrected for their number."
    )


def _facts(experiment: Experiment) -> str:
    plan, runs, values = experiment.plan, experiment.runs, experiment.values
    items = values.loc[(values["metric"] == ITEMS) & (values["coordinate"] == ""), "value"]
    counted = experiment.tables.variants["counted"].sum()
    splits = set(values.loc[values["metric"].isin(experiment.metrics), "split"])
    parts = [
        f"Task {plan['task']} ({plan['kind']})",
        f"{times(len(plan['variants']) - (experiment.base in plan['variants']), 'variant')} against {experiment.base}",
        f"{counted} of {times(len(runs), 'run')} counted",
        f"{items.max():.0f} test items" if len(items) else "",
        "measured on the validation set" if splits & set(SPLITS) == {"validation"} else "",
    ]
    return " · ".join(part for part in parts if part)


def _warning(experiment: Experiment) -> str:
    variants = experiment.tables.variants
    counted = set(variants.loc[variants["counted"] > 0, "variant"])
    if not counted:
        return "No run of this experiment has finished."
    if experiment.base not in counted:
        return f"The base, {experiment.base}, has no finished run: there is nothing to compare with, only values."
    return ""
