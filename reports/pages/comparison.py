"""Two studies on one page: the same experiments under another version of the code, on other data, with other settings.

report/versus-<B>.html   versus-<B>.csv   versus-<B>.md   versus-<B>/*.png, *.svg   in the folder of the first study, A
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import Any

import pandas as pd

from reports.experiment import Experiment
from reports.figures.gallery import Gallery, Picture, slug
from reports.figures.layouts import effects_figure
from reports.figures.sheet import shared
from reports.figures.theme import theme
from reports.frames import records
from reports.metrics import facts, number
from reports.pages import markdown, summary
from reports.pages.agreement import AGREEMENTS, comparison_table
from reports.pages.environment import environment
from reports.pages.exports import csv_text
from reports.pages.matches import Match, alone, differences, matches
from reports.rows import StudyRows, read_study, write_text
from reports.sequential import levels_text
from reports.table import make_tables
from reports.wording import change, interval, times

COLUMNS = ("Metric", "Variant", "A", "B", "B − A", "Effect in A", "Effect in B", "Change of the effect", "The effects")
EXPLANATION = (
    "A and B: means over seeds. B − A: with its interval (95 %, and where seeds were added at looks in either study "
    "that of a look), paired by seed where the runs of both studies have the same task and data, else unpaired "
    "(Welch). Effects: variant minus base within each study. Change of the effect: that in B minus that in A. Effects "
    "agree where both intervals lie on the same side of zero and that of the change holds zero; they are undecided "
    "where an interval of theirs holds zero and that of the change does too. Intervals of B − A and of the change "
    "speak of new seeds on the same test items."
)


Cell = tuple[str, str]
"""A text, and what stands smaller under it."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """What the page shows of one matched experiment."""

    name: str
    anchor: str
    sentence: str
    picture: Picture | None
    rows: list[list[Cell]]
    """In the order of COLUMNS."""


def build_comparison(first: Path, second: Path) -> Path:
    """Compare two studies, matching experiments by name and task, variants by name; gives the path of the page.

    Raises RowsError where a plan cannot be used.
    """
    studies = read_study(first), read_study(second)
    a, b = (_experiments(study) for study in studies)
    found = matches(a, b)
    table = comparison_table(found)
    place = first / "report" / f"versus-{slug(studies[1].plan['study'])}"
    with theme():
        gallery = Gallery(place)
        parts = [_part(match, table[table["experiment"] == match.name], i, gallery) for i, match in enumerate(found, 1)]
    gallery.clear()
    texts = _texts(studies, found, table, alone(a, b, found), doubts(studies, (a, b)))
    write_text(place.with_name(f"{place.name}.csv"), csv_text(table))
    write_text(place.with_name(f"{place.name}.md"), document(texts, parts))
    page = place.with_name(f"{place.name}.html")
    write_text(page, shared(_render(texts, parts, place.name)))
    return page


def _experiments(study: StudyRows) -> list[Experiment]:
    tables = make_tables(study)
    return [Experiment(tables, name) for name in study.plan["experiments"]]


def _part(match: Match, table: pd.DataFrame, place: int, gallery: Gallery) -> Part:
    rows = records(table)
    effects = [row for row in rows if row["agreement"]]
    return Part(
        name=match.name,
        anchor=f"experiment-{place}",
        sentence=tally(effects),
        picture=_picture(match, effects, f"{place:02}-{slug(match.name)}-effects", gallery) if effects else None,
        rows=[_row(row) for row in rows],
    )


def tally(effects: Sequence[Mapping[str, Any]]) -> str:
    """How many effects agree: `8 effects in both: 6 agree, 2 undecided.`"""
    counts = Counter(effect["agreement"] for effect in effects)
    found = ", ".join(f"{counts[name]} {name}" for name in AGREEMENTS if counts[name])
    return (
        f"{times(len(effects), 'effect')} in both: {found}." if effects else "No effect is there in both studies yet."
    )


def _row(row: Mapping[str, Any]) -> list[Cell]:
    metric = row["metric"]
    return [
        (facts(metric).name, ""),
        (row["variant"], "the base" if row["is_base"] else ""),
        _value(row, "first"),
        _value(row, "second"),
        _gap(row["difference"], row["low"], row["high"], metric, row["method"]),
        _gap(row["first_effect"], row["first_effect_low"], row["first_effect_high"], metric),
        _gap(row["second_effect"], row["second_effect_low"], row["second_effect_high"], metric),
        _gap(row["change"], row["change_low"], row["change_high"], metric),
        (row["agreement"], ""),
    ]


def _value(row: Mapping[str, Any], side: str) -> Cell:
    """A mean, and its runs where not all completed."""
    value, runs = row[f"{side}_mean"], row[f"{side}_runs"]
    counted, _, planned = runs.partition(" of ")
    return "–" if isnan(value) else number(value, row["metric"]), "" if counted == planned else runs


def _gap(difference: float, low: float, high: float, metric: str, method: str = "") -> Cell:
    if isnan(difference):
        return "–", ""
    notes = ["" if isnan(low) else interval(low, high, metric), "unpaired" if method == "Welch" else ""]
    return change(difference, low, high, metric), ", ".join(note for note in notes if note)


def _picture(match: Match, effects: Sequence[Mapping[str, Any]], name: str, gallery: Gallery) -> Picture:
    """The forest of effects with two rows a variant: a dot for A, a ring for B."""
    metrics = [m for m in match.first.compared if any(effect["metric"] == m for effect in effects)]
    shown = {effect["variant"] for effect in effects}
    pairs = [names for names in match.variants if names[0] in shown]
    rows = {side: dict(_row_names(pairs, side)) for side in (0, 1)}
    sides = (match.first, match.second)
    figure = effects_figure(
        _renamed([e.tables.effects for e in sides], rows),
        _renamed([e.tables.differences for e in sides], rows),
        metrics=metrics,
        base_values={},
        order=[rows[side][names[side]] for names in pairs for side in (0, 1)],
        notes={},
        styles={rows[side][names[side]]: match.first.styles[names[0]] for names in pairs for side in (0, 1)},
        hollow=list(rows[1].values()),
    )
    caption = (
        "Variant minus base in each study, A above B. Large mark: mean, filled in A, a ring in B. Small dots: single "
        "seeds. Bar and ±: "
        f"{levels_text(e.plan.get('looks', []) for e in sides)} interval within each study."
    )
    alt = f"Forest of effects with two rows for each of {times(len(pairs), 'variant')}. {tally(effects)}"
    return gallery.hang(figure, name, "Effects in A and in B", caption, alt=alt, kind="effects")


def _row_names(pairs: Sequence[tuple[str, str]], side: int) -> Iterator[tuple[str, str]]:
    for names in pairs:
        yield names[side], f"{names[0]} · {'AB'[side]}"


def _renamed(frames: Sequence[pd.DataFrame], rows: Mapping[int, Mapping[str, str]]) -> pd.DataFrame:
    """Rows of both studies under the names that they have in the figure; those of variants not shown left out."""
    parts = []
    for side, frame in enumerate(frames):
        kept = frame[frame["variant"].isin(rows[side].keys())]
        parts.append(kept.assign(variant=[rows[side][variant] for variant in kept["variant"]]))
    return pd.concat(parts, ignore_index=True)


def doubts(studies: Sequence[StudyRows], experiments: Sequence[Sequence[Experiment]]) -> list[str]:
    """What makes the rows of each study doubtful, and what of it could not be read."""
    found = []
    for letter, study, of_study in zip("AB", studies, experiments, strict=True):
        problems = of_study[0].tables.problems if of_study else []
        found += [f"{letter}: {text}" for text in (*summary.warnings(study), *summary.unreadable(problems))]
    return found


def _texts(
    studies: tuple[StudyRows, StudyRows],
    found: Sequence[Match],
    table: pd.DataFrame,
    unmatched: Sequence[str],
    warnings: Sequence[str],
) -> dict[str, Any]:
    """What page and Markdown say of both studies as wholes."""
    differing = differences(*studies, found)
    effects = [row for row in records(table) if row["agreement"]]
    metrics = {name for name, *_ in differing}
    mixed = [facts(m).name for m in table["metric"].unique() if facts(m).name in metrics]
    computed = [f"{' and '.join(mixed)}: computed in different ways in A and B."] if mixed else []
    return {
        "studies": [
            (letter, study.plan["study"], str(study.folder), summary.progress(study))
            for letter, study in zip("AB", studies, strict=True)
        ],
        "headline": tally(effects) if found else "The two studies have no experiment of one name and task in common.",
        "warnings": [*computed, *warnings],
        "unmatched": list(unmatched),
        "differing": differing,
    }


def _render(texts: Mapping[str, Any], parts: Sequence[Part], stem: str) -> str:
    shown = {"parts": parts, "columns": COLUMNS, "explanation": EXPLANATION, "stem": stem}
    return environment().get_template("comparison.html").render(**texts, **shown)


def document(texts: Mapping[str, Any], parts: Sequence[Part]) -> str:
    """The comparison as Markdown."""
    escape = markdown.escape
    lines = [f"- {letter}: {escape(f'{name}, in {place}. {said}')}" for letter, name, place, said in texts["studies"]]
    blocks = [
        f"# {' and '.join(escape(name) for _, name, _, _ in texts['studies'])}: comparison",
        escape(texts["headline"]),
        "\n".join(lines),
        *(f"Warning: {escape(text)}" for text in texts["warnings"]),
        *(escape(text) for text in texts["unmatched"]),
    ]
    for part in parts:
        rows = [[f"{text} ({note})" if note else text for text, note in row] for row in part.rows]
        sentence = part.sentence if len(parts) > 1 else ""
        blocks += [f"## {escape(part.name)}", sentence, markdown.table(COLUMNS, rows, texts=2)]
    blocks += [EXPLANATION] if parts else []
    blocks += ["## What differs"]
    differing = [list(line) for line in texts["differing"]]
    blocks += [markdown.table(["", "A", "B"], differing, texts=3) if differing else "Nothing that was recorded."]
    return "\n\n".join(block for block in blocks if block) + "\n"
