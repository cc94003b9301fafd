"""The picture of a claim: its conditions under each other, a caption, and what is to be seen in words."""

from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import replace

from matplotlib.figure import Figure

from reports.figures.boards import Board
from reports.figures.captions import joined, listed
from reports.figures.conditions import Row
from reports.figures.gallery import Gallery, Picture, slug
from reports.figures.shown import Measured, Shown, as_shown, looks_of
from reports.figures.theme import WIDTH, Style
from reports.verdicts import Verdict
from reports.wording import estimate, sentence

MOST_CONDITIONS = 4
"""In one picture: more of them are spread over several."""


def claim_pictures(
    verdict: Verdict,
    styles: Mapping[str, Mapping[str, Style]],
    gallery: Gallery,
    steps: str = "",
    drawn: MutableMapping[Shown, str] | None = None,
) -> list[Picture]:
    """Pictures of a claim, of MOST_CONDITIONS conditions each; none where no condition has a value.

    `styles` are the looks of variants by experiment, or family, and variant; `steps` those of the training. `drawn`
    has the conditions that other claims' pictures have, with the claim: those are not drawn again, and the new ones of
    this claim are added.
    """
    parts = [as_shown(judged, looks_of(judged, styles)) for judged in verdict.conditions]
    if all(part.value is None for part in parts):
        return []
    parts = once(parts, {} if drawn is None else drawn, verdict.id)
    groups = [parts[start : start + MOST_CONDITIONS] for start in range(0, len(parts), MOST_CONDITIONS)]
    return [
        gallery.hang(
            claim_figure(group),
            f"claim-{slug(verdict.id)}" + (f"-part-{number}" if len(groups) > 1 else ""),
            f"Claim {verdict.id}" + (f", part {number} of {len(groups)}" if len(groups) > 1 else ""),
            claim_caption(verdict, steps),
            alt=claim_alt(verdict, group),
            kind="claim",
        )
        for number, group in enumerate(groups, 1)
    ]


def once(parts: Sequence[Shown], drawn: MutableMapping[Shown, str], claim: str) -> list[Shown]:
    """Conditions of a claim without panels that are there already: `drawn` (claim_pictures), or further up.

    A condition that rests on the measurements of an earlier one keeps its quantity alone.
    """
    found, measured = [], dict[tuple[object, ...], int]()
    for number, part in enumerate(parts):
        where = drawn.setdefault(replace(part, text=""), claim) if part.value is not None else claim
        if where != claim:
            found.append(replace(part, drawn_with=where))
            continue
        picture = number // MOST_CONDITIONS
        first = measured.setdefault((picture, _panel(part), part.labels, part.logs), number)
        repeats = first != number and not part.is_single and bool(part.sides)
        found.append(replace(part, measured_in=first + 1 if repeats else 0))
    return found


def _panel(part: Shown) -> tuple[Measured, ...]:
    """What is drawn of the sides: their curves where there are any, else their values."""
    return tuple(replace(side, values=()) if part.has_curves else side for side in part.sides)


KINDS = {
    "exact": "Exact: an identity, a count or a bound, in every run",
    "structural": "Structural: should hold at any budget",
    "speed": "Speed: holds within {steps}, and a longer run may undo it",
    "hardware": "Hardware: seconds, of the machine named",
}
"""What each of register.KINDS says of a claim."""


def claim_caption(verdict: Verdict, steps: str = "") -> str:
    """Seeds, kind with the steps, data: `3 of 3 seeds. Speed: holds within 500 steps, and a longer run may undo it.`"""
    counts = listed(list(dict.fromkeys(judged.n for judged in verdict.conditions if judged.n)))
    kind = KINDS.get(verdict.kind, verdict.kind).format(steps=f"{steps or 'the'} steps")
    task = f"Task {verdict.task}" if verdict.task else ""
    return joined([sentence(part) for part in (counts, kind, task) if part])


def claim_alt(verdict: Verdict, group: Sequence[Shown]) -> str:
    """What is to be seen, in words: each condition with its outcome, value, interval and region."""
    parts = [
        f"{part.text}: {part.outcome}, {estimate(part.value, part.low, part.high)}, wanted {part.region.text}"
        for part in group
    ]
    return f"{sentence(verdict.statement)} {sentence('; '.join(parts))}"


def claim_figure(conditions: Sequence[Shown]) -> Figure:
    """Conditions under each other, MOST_CONDITIONS at most."""
    rows = [Row(condition) for condition in conditions]
    figure = Figure(figsize=(WIDTH, sum(row.height for row in rows)))
    board, top = Board(figure), 0.0
    for row in rows:
        row.draw(board, top)
        top += row.height
    return figure
