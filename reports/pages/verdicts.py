"""The claims that a study puts to the test, as the page shows them, with what belongs to each."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from reports.experiment import Experiment
from reports.figures.claims import claim_pictures
from reports.figures.gallery import Gallery, Picture, slug
from reports.figures.theme import Style
from reports.register import Claim
from reports.rows import StudyRows
from reports.table import flat
from reports.verdicts import Verdict

FEW = 6
"""Claims up to which all articles stand open; of more, the first of each outcome."""


@dataclass(frozen=True, kw_only=True)
class Article:
    """A claim on the page."""

    verdict: Verdict
    anchor: str
    steps: str
    """Training steps of the runs: `500`, `300 or 1500`; empty where they are not known."""
    pictures: tuple[Picture, ...]
    is_open: bool = False

    @property
    def kind(self) -> str:
        """As the overview names it: `speed, 500 steps`."""
        return in_words(self.verdict, self.steps)

    @property
    def is_run(self) -> bool:
        """Whether there is more to be told than why there is nothing."""
        return self.verdict.outcome != "not run"


def make_articles(
    study: StudyRows, experiments: Sequence[Experiment], verdicts: Sequence[Verdict], gallery: Gallery
) -> list[Article]:
    """Draw each claim that has a value, and gather what is told of all of them, in their order."""
    looks = looks_by_experiment(experiments)
    opened = _opened(verdicts)
    steps = steps_by_claim(study, verdicts)
    return [
        Article(
            verdict=verdict,
            anchor=f"claim-{place}-{slug(verdict.id)}",
            steps=steps[verdict.id],
            pictures=tuple(claim_pictures(verdict, looks, gallery, steps[verdict.id])),
            is_open=place in opened,
        )
        for place, verdict in enumerate(verdicts, 1)
    ]


def looks_by_experiment(experiments: Sequence[Experiment]) -> dict[str, Mapping[str, Style]]:
    """Looks of the variants by experiment, and by family: those of its first point."""
    families = {e.plan["family"]: e.styles for e in reversed(experiments) if "family" in e.plan}
    return {**families, **{experiment.name: experiment.styles for experiment in experiments}}


def _opened(verdicts: Sequence[Verdict]) -> Collection[int]:
    """Places of the articles that stand open, from 1."""
    if len(verdicts) <= FEW:
        return range(1, len(verdicts) + 1)
    first: dict[str, int] = {}
    for place, verdict in enumerate(verdicts, 1):
        first.setdefault(verdict.outcome, place)
    return first.values()


def steps_by_claim(study: StudyRows, verdicts: Sequence[Verdict]) -> dict[str, str]:
    """Training steps of the runs that each verdict rests on: `500`, `300 or 1500`; empty before any was started."""
    steps: dict[str, set[int]] = {}
    for row in study.runs:
        found = row.run["config"].get("train", {}).get("steps") if row.run else None
        if isinstance(found, int):
            plan = study.plan["experiments"][row.experiment]
            for name in {row.experiment, plan.get("family", row.experiment)}:
                steps.setdefault(name, set()).add(found)
    return {verdict.id: _either(verdict, steps) for verdict in verdicts}


def _either(verdict: Verdict, steps: Mapping[str, set[int]]) -> str:
    places = {side.experiment for judged in verdict.conditions for side in judged.sides} or {verdict.experiment}
    found = sorted(set().union(*(steps.get(place, set()) for place in places)))
    return " or ".join(map(str, found))


def in_words(verdict: Verdict, steps: str) -> str:
    """Kind of a claim with its steps: `speed, 500 steps`."""
    return f"{verdict.kind}, {steps} steps" if verdict.kind == "speed" and steps else verdict.kind


def by_chapter(articles: Sequence[Article]) -> dict[str, list[Article]]:
    """Claims by the part of the lecture that they are from, both in the order of the register."""
    found: dict[str, list[Article]] = {}
    for article in articles:
        found.setdefault(article.verdict.section, []).append(article)
    return found


def changed_by(claims: Sequence[Claim]) -> dict[str, set[str]]:
    """For each dotted path, the ids of the claims of which a condition changes it, or draws its curve over it."""
    found: dict[str, set[str]] = {}
    for claim in claims:
        for path in _paths(claim):
            found.setdefault(path, set()).add(claim.id)
    return found


def _paths(claim: Claim) -> Iterator[str]:
    """Whatever the comparison: every field of a condition that holds changes, one or a list of them."""
    for condition in claim.conditions:
        values = [getattr(condition, field.name) for field in fields(condition)]
        for value in values:
            for changes in value if isinstance(value, tuple | list) else (value,):
                yield from _changed(changes)


def _changed(changes: Any) -> Iterator[str]:
    if isinstance(changes, Mapping):
        yield from (path for path, _ in flat(changes))
