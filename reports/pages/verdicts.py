"""The claims that a study puts to the test, as the page shows them, with what belongs to each."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from reports.experiment import Experiment
from reports.figures.claims import claim_pictures
from reports.figures.gallery import Gallery, Picture, slug
from reports.figures.shown import Shown
from reports.figures.theme import Style
from reports.register import Claim
from reports.rows import StudyRows
from reports.verdicts import Verdict
from reports.wording import SYMBOLS

FEW = 6
"""Claims up to which all articles stand open; of more, those in DOUBT."""
DOUBT = ("not supported", "inconclusive")
"""Outcomes of which a reader wants to see why."""


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
    drawn: dict[Shown, str] = {}
    return [
        Article(
            verdict=verdict,
            anchor=f"claim-{place}-{slug(verdict.id)}",
            steps=steps[verdict.id],
            pictures=tuple(claim_pictures(verdict, looks, gallery, steps[verdict.id], drawn)),
            is_open=place in opened,
        )
        for place, verdict in enumerate(verdicts, 1)
    ]


def looks_by_experiment(experiments: Sequence[Experiment]) -> dict[str, Mapping[str, Style]]:
    """Looks of the variants by experiment, and by family: those of its first point."""
    families = {e.plan["family"]: e.styles for e in reversed(experiments) if "family" in e.plan}
    return {**families, **{experiment.name: experiment.styles for experiment in experiments}}


def told_by_claims(verdicts: Sequence[Verdict], *, always: bool = False) -> str:
    """What a study that tests many claims comes to, as a sentence; empty for a study that tests few.

    `always`: of a study that trains nothing, where there is nothing else to be told, a few do.
    """
    if len(verdicts) <= (0 if always else FEW):
        return ""
    counted = Counter[str](verdict.outcome for verdict in verdicts)
    ends = [f"{counted[outcome]} {outcome}" for outcome in SYMBOLS if counted[outcome] and outcome != "supported"]
    return ", ".join([f"{counted['supported']} of {len(verdicts)} claims supported", *ends]) + "."


def _opened(verdicts: Sequence[Verdict]) -> Collection[int]:
    """Places of the articles that stand open, from 1."""
    return [n for n, verdict in enumerate(verdicts, 1) if len(verdicts) <= FEW or verdict.outcome in DOUBT]


def steps_by_claim(study: StudyRows, verdicts: Sequence[Verdict]) -> dict[str, str]:
    """Training steps of the runs that each verdict rests on: `500`, `300 or 1500`; empty before any was started."""
    steps: dict[tuple[str, str], set[int]] = {}
    for row in study.runs:
        found = row.run["config"].get("train", {}).get("steps") if row.run else None
        if isinstance(found, int):
            plan = study.plan["experiments"][row.experiment]
            for name in {row.experiment, plan.get("family", row.experiment)}:
                steps.setdefault((name, row.variant), set()).add(found)
    return {verdict.id: _either(verdict, steps) for verdict in verdicts}


def _either(verdict: Verdict, steps: Mapping[tuple[str, str], set[int]]) -> str:
    measured = {(side.experiment, side.variant) for judged in verdict.conditions for side in judged.sides}
    sides = measured or {place for place in steps if place[0] == verdict.experiment}
    found = sorted(set().union(*(steps.get(side, set()) for side in sides)))
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
        for path in claim.paths:
            found.setdefault(path, set()).add(claim.id)
    return found
