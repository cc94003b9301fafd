"""The report of a study: one page that opens from disk and asks for nothing, with its figures and tables as files.

report/index.html   report/figures/*.png, *.svg   and the tables of reports.pages.exports
"""

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup

from reports import claims
from reports.experiment import Experiment
from reports.fairness import originals
from reports.figures.gallery import Gallery, Picture
from reports.figures.sheet import shared
from reports.figures.theme import theme
from reports.pages import exports, summary
from reports.pages.components import components
from reports.pages.environment import TEMPLATES, environment
from reports.pages.fairness import read_fairness
from reports.pages.findings import Findings, lead
from reports.pages.grids import Link, cost_grid
from reports.pages.overall import overall_grid
from reports.pages.overview import overview, speaking
from reports.pages.sections import Section, anchor, make_sections, measurements
from reports.pages.verdicts import Article, by_chapter, make_articles, told_by_claims
from reports.rows import StudyRows, read_study, write_text
from reports.sequential import levels_text
from reports.statistics import LEVEL
from reports.table import Tables, make_tables
from reports.verdicts import false_verdicts
from reports.wording import outcomes

ENDS = ("started", "ended")


def build(study_folder: Path, refresh: int | None = None) -> Path:
    """Write the report of a study into its folder, as far as the study has come; gives the path of the page.

    The page loads itself anew every `refresh` seconds, if that is given. RowsError where the plan cannot be used.
    """
    study = read_study(study_folder)
    tables = make_tables(study)
    folder = study_folder / "report"
    experiments = [Experiment(tables, name) for name in study.plan["experiments"]]
    fair, problems = read_fairness(study, experiments)
    tables = replace(tables, problems=[*tables.problems, *problems])
    with theme():
        gallery = Gallery(folder / "figures")
        sections = list(make_sections(experiments, gallery, fair))
        verdicts = claims.verdicts(tables)
        articles = make_articles(study, experiments, verdicts, gallery)
    files = exports.write(tables, verdicts, folder, measurements(sections), fair)
    page = render(tables, experiments, sections, articles, files=files, refresh=refresh)
    write_text(folder / "index.html", shared(page))
    gallery.clear()
    return folder / "index.html"


def render(
    tables: Tables,
    experiments: Sequence[Experiment],
    sections: Sequence[Section],
    articles: Sequence[Article],
    *,
    files: Sequence[str] = (),
    refresh: int | None = None,
) -> str:
    """The page as HTML; `files` are those that lie beside it."""
    study, template = tables.study, environment().get_template("index.html")
    verdicts = [article.verdict for article in articles]
    told = told_by_claims(verdicts, always=summary.trains_nothing(study))
    leading = None if told else lead(speaking(experiments))
    found = None if told else overview(experiments)
    head = next((s for s in sections if leading and s.anchor == anchor(experiments.index(leading) + 1)), None)
    anchors = [anchor(place) for place, _ in enumerate(experiments, 1)]
    register = claims.read_register() if articles else ()
    same = [(e, at) for e, at in zip(experiments, anchors, strict=True) if e in originals(experiments)]
    parts = components([e for e, _ in same], [at for _, at in same], sections, articles, register)
    unfinished, cost = summary.unfinished(study), cost_grid(tables)
    overall = overall_grid(originals(experiments))
    return template.render(
        study=study.plan["study"],
        description=study.plan.get("description", "").replace("`", ""),
        headline=told or _headline(study, sections, found),
        found=found,
        lead=head,
        told=len(speaking(experiments)) == 1,
        hero=_hero(head, experiments),
        progress=summary.progress(study),
        warnings=[*summary.warnings(study), *summary.unreadable(tables.problems)],
        foreign=summary.foreign(study),
        contents=_contents(sections, overall=overall, parts=parts, verdicts=verdicts, unfinished=unfinished, cost=cost),
        verdicts=verdicts,
        articles=articles,
        chapters=by_chapter(articles),
        tally=outcomes([verdict.outcome for verdict in verdicts]),
        expected=false_verdicts(verdicts),
        levels=levels_text(plan.get("looks", []) for plan in study.plan["experiments"].values()),
        sections=sections,
        components=parts,
        overall=overall,
        cost=cost,
        shared=shared_note(tables.runs),
        shares=len(summary.once(study)) < len(study.runs),
        unfinished=unfinished,
        origin=summary.origin(study),
        multiplicity=_multiplicity(tables),
        command=summary.command(study),
        files=files,
        refresh=refresh,
        **_script(),
    )


def _headline(study: StudyRows, sections: Sequence[Section], found: Findings | None) -> str:
    return found.headline if found else summary.instead(study, measurements(sections))


def _hero(head: Section | None, experiments: Sequence[Experiment]) -> Picture | None:
    """The figure at the head of the page; among several experiments its title names its own."""
    if head is None or head.hero is None or len(speaking(experiments)) == 1:
        return head.hero if head else None
    return replace(head.hero, title=f"{head.hero.title} in {head.name}")


def _script() -> dict[str, Any]:
    """The one script of the page, with its digest, by which alone the page allows it."""
    script = (TEMPLATES / "page.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return {"script": Markup(script), "digest": digest}


def _contents(sections: Sequence[Section], **parts: Any) -> list[Link]:
    """What the page has, in its order."""
    named = {
        "verdicts": "Claims",
        "overall": "Over all experiments",
        "parts": "Parts of the model",
        "cost": "Cost",
        "unfinished": "What did not complete",
    }
    has = {name: Link(text=text, target=f"#{name}") for name, text in named.items() if parts[name]}
    experiments = [link for section in sections if not section.is_point for link in _links(section)]
    before = [link for name, link in has.items() if name == "verdicts"]
    after = [link for name, link in has.items() if name != "verdicts"]
    return [*before, *experiments, *after, Link(text="How to repeat it", target="#origin")]


def _links(section: Section) -> list[Link]:
    fair = [Link(text=section.fair.name, target=f"#{section.fair.anchor}")] if section.fair else []
    return [Link(text=section.name, target=f"#{section.anchor}"), *fair]


def shared_note(runs: pd.DataFrame) -> str:
    """How far seconds can be compared: whether runs were under way at once on one machine."""
    most = most_at_once(runs)
    if most < 2:
        return ""
    return f"Seconds are by the clock; up to {most} runs were under way at once on one machine and shared its cores."


def most_at_once(runs: pd.DataFrame) -> int:
    """The largest number of runs that were under way at one moment on one machine; `runs` as in Tables.

    Variants with the same settings are one run, which is counted once.
    """
    runs = runs.drop_duplicates("folder")
    times_of = {end: pd.to_datetime(runs[end], errors="coerce", utc=True, format="ISO8601") for end in ENDS}
    known = runs[["host"]].assign(**times_of).dropna()
    moments = pd.concat([known.assign(at=known[end], step=step) for end, step in zip(ENDS, (1, -1), strict=True)])
    moments = moments.sort_values(["at", "step"], kind="stable")  # ends before starts of the same second
    at_once = moments.groupby("host")["step"].cumsum()
    return int(at_once.max()) if len(at_once) else 0


def _multiplicity(tables: Tables) -> str:
    """How many intervals may be wrong. Where seeds were added, the looks at one interval share LEVEL's chance of it."""
    shown = tables.effects[tables.effects["low"].notna()]
    n = len(shown)
    if n < 2:
        return ""
    plans = tables.study.plan["experiments"]
    looks = [plans[name].get("looks", []) for name in shown["experiment"].unique()]
    about = "At most about" if any(looks) else "About"
    return (
        f"This page has {n} intervals of {levels_text(looks)}, on metrics that go together. {about} "
        f"{n * (1 - LEVEL):.2g} of them are to be expected not to hold the true difference, by chance alone. The "
        "column p (Holm) is corrected for the variants of one experiment on one metric; the intervals are not."
    )
