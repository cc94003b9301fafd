"""Rows of the records that a page rests on, each with the verdict that the page takes it to have.

    lecture/CLAIM=OUTCOME                        a claim of that record
    components/METRIC/VARIANT=VERDICT            an effect: worse, better (higher, lower) or undecided
    components/METRIC/VARIANT/tuned=VERDICT      the same in another comparison

Several are parted by semicolons. A row that is not there, or has another verdict, is refused.
"""

from collections.abc import Mapping
from typing import Any

from reports.fairness import SAME, verdict
from reports.frames import records as rows_of
from reports.metrics import facts
from reports.pages.markdown import escape
from reports.pages.published import ARMS, condition_cell, effect_cell, grid, judged, link, verdict_cell
from reports.pages.recorded import Record, Records
from reports.rows import RowsError
from reports.wording import seeds_of

Row = Mapping[str, Any]

COLUMNS = ("record", "row", "verdict", "effect (95 % interval)", "seeds")


def cited(text: str, records: Records, where: str) -> str:
    """A table of the rows that a text names, as above. Raises RowsError naming the first that does not hold."""
    return grid(COLUMNS, [_cells(part.strip(), records, where) for part in text.split(";")], texts=len(COLUMNS))


def _cells(part: str, records: Records, where: str) -> list[str]:
    name, equals, taken = part.rpartition("=")
    study, *place = name.split("/")
    if not equals or not 1 <= len(place) <= 3:
        raise RowsError(f"{part!r}: expected STUDY/CLAIM=OUTCOME or STUDY/METRIC/VARIANT=VERDICT")
    if study not in records:
        raise RowsError(f"{part!r}: there is no record of {study}")
    found, cells = (_claim if len(place) == 1 else _effect)(records[study], *place)
    if found != taken:
        raise RowsError(f"{part!r}: the record says {found or 'nothing of it'}")
    return [link(records[study], where), *cells]


def _claim(record: Record, name: str) -> tuple[str, list[str]]:
    """Outcome and cells of a claim; no outcome where it was not run."""
    one = next((one for one in judged({record.study: record}, (record.study,)) if one.first["id"] == name), None)
    if one is None:
        return "", []
    row = one.deciding
    value = f"{condition_cell(row, len(one.conditions) - 1)}; wanted {escape(row['condition_region'])}"
    return row["outcome"], [
        f"`{name}`: {escape(row['statement'])}",
        verdict_cell(row),
        value,
        escape(row["condition_n"]),
    ]


def _effect(record: Record, metric: str, variant: str, comparison: str = SAME) -> tuple[str, list[str]]:
    """Verdict and cells of the effect of a variant, of which the record must have one alone."""
    if comparison not in ARMS:
        raise RowsError(f"{comparison!r}: no comparison; choose from {', '.join(ARMS)}")
    named = [row for row in rows_of(record.effects) if (row["metric"], row["variant"]) == (metric, variant)]
    found = [row for row in named if _comparison(row) == comparison]
    if len(found) != 1:
        return "", []
    row, came = found[0], verdict(found[0], metric)
    what = f"{escape(variant)}, {facts(metric).name}" + ("" if comparison == SAME else f", {comparison}")
    return came, [what, came, effect_cell(row), seeds_of(row)]


def _comparison(row: Row) -> str:
    """Which comparison an effect's experiment is, by the end of its name."""
    return next((name for name, end in ARMS.items() if end and row["experiment"].endswith(end)), SAME)
