"""A page of the docs for each component, docs/components/*.md: `python -m ablations.handbook [--check]`.

Made from the catalogue, the register of claims, the shipped studies and the results of record; nothing is written by
hand. Small components that belong together share a page.
"""

import argparse
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from ablations import components as catalogue
from ablations.blocks import RESULTS, ROOT, renew, tell
from ablations.catalogue_pages import of_component, plain, sources, span
from ablations.components import COMPONENTS, Component
from ablations.listing import studies
from ablations.varied import Arm, read_arms, values_varied
from reports.entries import registered
from reports.pages.markdown import escape
from reports.pages.published import (
    HEADLINES,
    Judged,
    effects_of,
    effects_table,
    fair_table,
    grid,
    judged,
    link,
    not_recorded,
    value_cell,
    verdict_cell,
)
from reports.pages.recorded import LECTURE, Record, Records, read_records
from reports.rows import RowsError
from reports.wording import SYMBOLS, Doubts, caveats, outcomes

PAGES = Path("docs/components")
INDEX = "README"
WITH_EFFECTS = ("components", "multi30k", LECTURE, "extrapolation", "agreement")
"""Studies of record whose effects pages show; `lecture-real` has those of `multi30k` again."""

Claims = Sequence[Mapping[str, Any]]
"""Entries of the register, as `reports.entries.registered` gives them."""


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page of the handbook."""

    slug: str
    """Name of its file, without the suffix."""
    title: str
    names: tuple[str, ...]
    """Components that it is about."""

    @property
    def components(self) -> list[Component]:
        """Their entries in the catalogue."""
        return [component for component in COMPONENTS if component.name in self.names]

    @property
    def it(self) -> str:
        """The pronoun for its components."""
        return "it" if len(self.names) == 1 else "them"


SHARED = (
    Page(slug="masks", title="Masks", names=("decoder_mask", "encoder_mask")),
    Page(slug="heads", title="Heads", names=("n_heads", "d_head")),
    Page(
        slug="projections",
        title="Value and output projections",
        names=("value_projection", "output_projection"),
    ),
    Page(slug="initialisation", title="Initialisation", names=("initialisation", "gain")),
    Page(
        slug="recurrent",
        title="Parts of recurrent nets",
        names=("forget_bias", "bidirectional", "input_feeding"),
    ),
    Page(
        slug="embeddings_and_dropout",
        title="Tied embeddings and dropout",
        names=("tie_embeddings", "dropout"),
    ),
)
"""Pages of several components; every other component has one of its own."""
TITLES = {"n_layers": "Number of layers", "query_key": "Queries and keys", "feed_forward": "Feed-forward net"}
"""Of pages whose name does not say it."""


def handbook() -> list[Page]:
    """Every page, in the order of the catalogue."""
    of = {name: page for page in SHARED for name in page.names}
    pages = (of.get(component.name, _own(component)) for component in COMPONENTS)
    return list({page.slug: page for page in pages}.values())


def _own(component: Component) -> Page:
    title = TITLES.get(component.name, component.name.replace("_", " ").capitalize())
    return Page(slug=component.name, title=title, names=(component.name,))


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What pages are made from, beside the catalogue."""

    claims: Claims
    records: Records
    arms: Sequence[Arm]
    """Of all shipped studies."""
    where: str
    """Path from the pages to the folder of the records."""

    def tested(self, names: Iterable[str]) -> list[Mapping[str, Any]]:
        """The claims that change one of these components, or are about it."""
        paths = {f"model.{name}" for name in names}
        return [claim for claim in self.claims if paths & set(claim["changes"])]

    def outcome(self, claim: Mapping[str, Any]) -> str:
        """What a claim came to in the first record that puts it to the test."""
        found = self.judged.get(claim["id"])
        return found[0].first["outcome"] if found else "not run"

    @cached_property
    def judged(self) -> dict[str, list[Judged]]:
        """What the records say of each claim; of those that say the very same the first alone."""
        found: dict[str, list[Judged]] = {}
        for one in judged(self.records, self.records.keys()):
            others = found.setdefault(one.first["id"], [])
            if all(_numbers(one) != _numbers(other) for other in others):
                others.append(one)
        return found


def _numbers(one: Judged) -> list[tuple[str, str]]:
    return [(row["condition_outcome"], value_cell(row)) for row in one.conditions]


def page_text(page: Page, evidence: Evidence) -> str:
    """One page of the handbook in Markdown."""
    parts = [
        f"# {page.title}",
        f"Made by `python -m ablations.handbook` from the catalogue and the results of record. "
        f"[All components]({INDEX}.md)",
        *(part for component in page.components for part in of_component(component)),
        *_studies(page, evidence.arms),
        *_claims(page, evidence),
        *_effects(page, evidence),
        *sources(page.components),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


# What the studies do.


def _studies(page: Page, arms: Sequence[Arm]) -> Iterator[str]:
    """Which experiments vary the page's components, and over which values."""
    families: dict[tuple[str, str], list[Arm]] = {}
    for arm in arms:
        if not arm.taken:
            families.setdefault((arm.study, arm.family), []).append(arm)
    rows: dict[tuple[str, str, str], list[str]] = {}
    for (study, family), found in families.items():
        for name in page.names:
            if values := ", ".join(map(plain, values_varied(found, name))):
                rows.setdefault((study, name, values), []).append(f"`{family}`")
    yield f"## Studies that vary {page.it}"
    if not rows:
        yield "No shipped study does."
        return
    cells = [[f"`{study}`", ", ".join(of), f"`{name}`", values] for (study, name, values), of in rows.items()]
    yield grid(("study", "experiments", "component", "values"), cells, texts=4)
    yield "`ablations run STUDY` runs one. Not listed: studies that only take these experiments, such as `lecture`."


# What the claims came to.


def _claims(page: Page, evidence: Evidence) -> Iterator[str]:
    tested = evidence.tested(page.names)
    yield "## Claims"
    if not tested:
        yield f"No claim of the register changes {page.it}."
        return
    counted = outcomes([evidence.outcome(claim) for claim in tested])
    yield (
        f"{len(tested)} of the register ([reports/claims](../../reports/claims)): {counted}. A condition holds where "
        "the 95 % interval of its value lies in the region that was wanted, which was fixed before the runs."
    )
    for claim in tested:
        yield from _claim(claim, evidence)
    yield from _against(tested)


def _claim(claim: Mapping[str, Any], evidence: Evidence) -> Iterator[str]:
    """A claim in each record that puts it to the test, or the command that would."""
    found, statement = evidence.judged.get(claim["id"], []), escape(claim["statement"])
    if not found:
        yield f"### `{claim['id']}`: {SYMBOLS['not run']} not run"
        yield f"{statement} ({claim['kind']}) Not run for the record yet: `ablations run {claim['studies'][0]}`."
    for one in found:
        yield f"### `{claim['id']}`: {verdict_cell(one.first)}"
        yield f"{statement} ({claim['kind']}; {link(one.record, evidence.where)})"
        yield _conditions(claim, one)
        yield escape(one.first["reason"])


def _against(tested: Claims) -> Iterator[str]:
    """What speaks against the claims elsewhere, each text once."""
    told: dict[str, list[str]] = {}
    for claim in tested:
        if not claim["counter_evidence"].startswith("None"):
            told.setdefault(claim["counter_evidence"], []).append(f"`{claim['id']}`")
    if told:
        yield "### Counter-evidence and limits"
        yield "\n".join(f"- {', '.join(ids)}: {escape(text)}" for text, ids in told.items())


def _conditions(claim: Mapping[str, Any], one: Judged) -> str:
    columns = ("", "quantity", "experiment", "value (95 % interval)", "wanted", "runs")
    rows = [
        [
            SYMBOLS[row["condition_outcome"]],
            escape(row["condition_text"]),
            f"`{_experiment(claim, row)}`",
            value_cell(row),
            escape(row["condition_region"]),
            escape(row["condition_n"]),
        ]
        for row in one.conditions
    ]
    return grid(columns, rows, texts=len(columns))


def _experiment(claim: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    """Where a condition was measured: conditions are counted from 1 in the order of the register."""
    conditions = claim["conditions"][: row["condition"]]
    return conditions[-1]["experiment"] if conditions else row["experiment"]


# What it does to loss, BLEU and long-range accuracy.


def _effects(page: Page, evidence: Evidence) -> Iterator[str]:
    """For each study that shows effects: those of the page's components, or the command that would give them."""
    yield "## Effects"
    told = [part for study in WITH_EFFECTS for part in _of_study(study, page, evidence)]
    yield from told or [f"No study of record changes {page.it} alone."]


def _of_study(study: str, page: Page, evidence: Evidence) -> Iterator[str]:
    arms = [arm for arm in evidence.arms if arm.study == study and arm.changed & set(page.names)]
    if study == LECTURE:  # its other numbers stand under the claims
        arms = [arm for arm in arms if arm.task == "german"]
    if arms:
        yield f"### In `{study}`"
        record = evidence.records.get(study)
        told = [not_recorded(study)] if record is None else list(_of_record(record, arms, evidence.where))
        yield from told or ["The record has no effect of these variants on loss, BLEU or accuracy."]


def _of_record(record: Record, arms: Sequence[Arm], where: str) -> Iterator[str]:
    """Tables of the effects of some variants, an experiment each."""
    for experiment in dict.fromkeys(arm.experiment for arm in arms):
        found = [arm for arm in arms if arm.experiment == experiment]
        rows = effects_of(record, experiment, [arm.variant for arm in found])
        if not rows:
            continue
        fair = record.is_fair
        yield f"Experiment `{experiment}`{', compared in three ways' if fair else ''}:"
        yield fair_table(record, variants=[arm.variant for arm in found]) if fair else effects_table(rows)
        file = link(record, where, "fairness.csv" if fair else "effects.csv")
        yield f"Change minus base on the test set, mean over seeds with its 95 % interval. Rows: {file}."
        yield "\n".join(f"- {escape(text)}" for text in _caveats(rows, found))


def _caveats(rows: Sequence[Mapping[str, Any]], arms: Sequence[Arm]) -> list[str]:
    """A sentence for each change whose better numbers are no gain."""
    leaking = {arm.variant for arm in arms if arm.model["decoder_mask"] != "causal"}
    diverged = {row["variant"] for row in rows if row["diverged"]}
    return caveats(pd.DataFrame(rows), HEADLINES, Doubts(leaking=leaking, diverged=diverged))


# All pages.


def index_text(pages: Iterable[Page], evidence: Evidence) -> str:
    """The page that lists the others, by section of the lecture."""
    of = {name: page for page in pages for name in page.names}
    parts = [
        "# Components",
        "Every part that can be switched, its values (the default first) and what became of the claims that change it. "
        "Made by `python -m ablations.handbook` from the catalogue and the results of record. A name leads to a page "
        "with equation, values, studies, claims, effects and sources, and of some a worked example.",
    ]
    for section in (*catalogue.SECTIONS, ""):
        rows = [
            _entry(component, of[component.name], evidence) for component in COMPONENTS if component.section == section
        ]
        parts += [f"## {section or 'Not in the lecture'}", grid(("component", "values", "claims"), rows, texts=3)]
    return "\n\n".join(parts) + "\n"


def _entry(component: Component, page: Page, evidence: Evidence) -> list[str]:
    values = ", ".join(f"`{value}`" for value in catalogue.choices(component)) or span(component)
    counted = outcomes([evidence.outcome(claim) for claim in evidence.tested([component.name])])
    return [f"[`{component.name}`]({page.slug}.md)", values, counted or "none"]


def texts(results: Path, folder: Path) -> dict[Path, str]:
    """Every page of the handbook by its path. Raises RowsError where a record cannot be used."""
    evidence = Evidence(
        claims=registered(),
        records=read_records(results),
        arms=[arm for study in studies() for arm in read_arms(study["name"])],
        where=Path(os.path.relpath(results, folder)).as_posix(),
    )
    found = {folder / f"{page.slug}.md": page_text(page, evidence) for page in handbook()}
    return {folder / f"{INDEX}.md": index_text(handbook(), evidence), **found}


def main(argv: Sequence[str] | None = None) -> int:
    """Write every page anew; with --check say which differ. Exit status 0, 1 (some differ), 2 (wrong input)."""
    parser = argparse.ArgumentParser(prog="python -m ablations.handbook", description=main.__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing, and exit with 1 if a page differs")
    parser.add_argument("--results", type=Path, default=ROOT / RESULTS, help="folder of the records")
    parser.add_argument("--output", type=Path, default=ROOT / PAGES, help="folder of the pages")
    options = parser.parse_args(argv)
    try:
        wanted = texts(options.results, options.output)
        if not options.check:
            options.output.mkdir(parents=True, exist_ok=True)
        return tell(renew(wanted, check=options.check), parser.prog, check=options.check)
    except (RowsError, OSError) as error:
        print(f"handbook: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
