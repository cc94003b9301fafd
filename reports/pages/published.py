"""What pages say of the results of record: cells and tables of Markdown, each made from the rows of a record.

The functions of BLOCKS make the marked parts of README.md and docs/*.md (`ablations.blocks`). Each takes the records
and the path that leads from the page to their folder; it gives no text where there is no record that it speaks of.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import isnan
from typing import Any

from reports.fairness import COMPARISONS, SAME, UNDECIDED
from reports.frames import records as rows_of
from reports.metrics import facts, number, place
from reports.pages.markdown import escape
from reports.pages.recorded import LECTURE, REAL, Record, Records
from reports.wording import (
    SYMBOLS,
    Doubts,
    caveats,
    change,
    effect_note,
    estimate,
    has_interval,
    interval,
    outcomes,
    seeds_of,
    times,
)

Row = Mapping[str, Any]

TOLD = (LECTURE, REAL, "multi30k", "agreement")
"""Studies whose claims are told: those of the last two stand in `lecture-real` too, once that has been run."""
HEADLINES = ("loss", "bleu", "accuracy", "long_range_accuracy")
"""Metrics that pages show of a translator or a language model."""
OUTCOMES = ("supported", "not supported", "inconclusive")
EXPOSURE_GAP = "exposure-gap"
LEAK = 20.0
"""Points by which the exposure gap of a variant that sees the words that it is to say is above the base's, at least."""
ARMS = {SAME: "", **{name: f" ({name})" for name in COMPARISONS if name != SAME}}
"""What the name of a fair comparison's experiment ends with, by comparison."""


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A claim that a record puts to the test."""

    record: Record
    conditions: Sequence[Row]
    """Its rows of claims.csv, a condition each."""

    @property
    def first(self) -> Row:
        """A row to read the verdict from: all have it."""
        return self.conditions[0]

    @property
    def deciding(self) -> Row:
        """The first condition that came to what the claim came to."""
        outcome = self.first["outcome"]
        return next((row for row in self.conditions if row["condition_outcome"] == outcome), self.first)


def judged(records: Records, studies: Collection[str]) -> list[Judged]:
    """The claims of these studies' records, those that were run, in the order of the files."""
    found = []
    for study, record in records.items():
        if study in studies and record.puts_claims_to_the_test:
            by_id: dict[str, list[Row]] = {}
            for row in rows_of(record.claims):
                by_id.setdefault(row["id"], []).append(row)
            found += [Judged(record=record, conditions=rows) for rows in by_id.values()]
    return [one for one in found if one.first["outcome"] in OUTCOMES]


def told(records: Records) -> list[Judged]:
    """The claims of the lecture, each from the first study of TOLD that puts it to the test."""
    found: dict[str, Judged] = {}
    for study in TOLD:
        for one in judged(records, (study,)):
            found.setdefault(one.first["id"], one)
    return list(found.values())


def grid(columns: Sequence[str], rows: Iterable[Sequence[str]], *, texts: int = 1) -> str:
    """A table of cells that are Markdown already; the first `texts` columns to the left, the others to the right."""
    rule = ["---" if place < texts else "---:" for place in range(len(columns))]
    return "\n".join(f"| {' | '.join(line)} |" for line in [columns, rule, *rows])


def link(record: Record, where: str, file: str = "") -> str:
    """The name of a study or of one of its files, leading to the record; `where` leads from the page to all of them."""
    return f"[{file or f'`{record.study}`'}]({where}/{record.study}/{file})"


def verdict_cell(row: Row) -> str:
    """Sign and word of a verdict: `✓ supported`."""
    provisional = ", provisional" if row["provisional"] else ""
    return f"{SYMBOLS[row['outcome']]}\N{NO-BREAK SPACE}{row['outcome']}{provisional}"


def value_cell(row: Row) -> str:
    """The value of a condition with its interval, where there is one."""
    return estimate(row["condition_value"], row["condition_low"], row["condition_high"])


def condition_cell(row: Row, others: int = 0) -> str:
    """What a condition measures, its value, and how many others there are."""
    more = f" (and {times(others, 'more condition')})" if others else ""
    return f"{escape(row['condition_text'])}: **{value_cell(row)}**{more}"


def effect_cell(row: Row) -> str:
    """An effect of effects.csv with its interval, or why there is none: `+0.212 (+0.193 to +0.231)`."""
    metric = row["metric"]
    span = interval(row["low"], row["high"], metric) if has_interval(row) else effect_note(row)
    shown = change(row["difference"], row["low"], row["high"], metric)
    return f"{shown} ({span})" if span else shown


def effects_of(
    record: Record, experiment: str, variants: Collection[str] | None = None, metrics: Collection[str] = HEADLINES
) -> list[Row]:
    """Rows of effects.csv of one experiment, of these variants and metrics; of all variants where none are named."""
    return [
        row
        for row in rows_of(record.effects)
        if row["experiment"] == experiment
        and row["metric"] in metrics
        and (variants is None or row["variant"] in variants)
    ]


def not_recorded(study: str) -> str:
    """What stands where a record is not there."""
    return f"`{study}` has not been run for the record yet: `ablations run {study}`."


# The blocks.


def verdicts(records: Records, where: str) -> str:
    """A row for each claim of the lecture by section: verdict, effect of the condition that decided it, seeds."""
    found = told(records)
    chapters = dict.fromkeys(one.first["section"] for one in found)
    columns = ("claim", "what the lecture says", "verdict", "measured (95 % interval)", "wanted", "seeds", "record")
    parts = []
    for chapter in chapters:
        rows = [_verdict(one, where) for one in found if one.first["section"] == chapter]
        parts += [f"**{escape(chapter)}**", grid(columns, rows, texts=len(columns))]
    missing = [not_recorded(study) for study in (LECTURE, REAL) if study not in records]
    return "\n\n".join([*parts, *missing]) if parts else ""


def _verdict(one: Judged, where: str) -> list[str]:
    row = one.deciding
    return [
        f"`{row['id']}`",
        escape(row["statement"]),
        verdict_cell(row),
        condition_cell(row, len(one.conditions) - 1),
        escape(row["condition_region"]),
        escape(row["condition_n"]),
        link(one.record, where),
    ]


def conditions(records: Records, where: str) -> str:
    """The same with every condition in a row of its own; what all of them share stands in the first."""
    found = told(records)
    columns = ("claim", "verdict", "condition: measured (95 % interval)", "wanted", "seeds", "kind", "record")
    parts = []
    for chapter in dict.fromkeys(one.first["section"] for one in found):
        rows = [row for one in found if one.first["section"] == chapter for row in _whole(one, where)]
        parts += [f"**{escape(chapter)}**", grid(columns, rows, texts=len(columns))]
    return "\n\n".join(parts)


def _whole(one: Judged, where: str) -> Iterator[list[str]]:
    for row in one.conditions:
        is_first = row is one.first
        name, came = (f"`{row['id']}`", verdict_cell(row)) if is_first else ("", "")
        kind, record = (row["kind"], link(one.record, where)) if is_first else ("", "")
        sign = f"{SYMBOLS[row['condition_outcome']]} " if len(one.conditions) > 1 else ""
        yield [
            name,
            came,
            sign + condition_cell(row),
            escape(row["condition_region"]),
            escape(row["condition_n"]),
            kind,
            record,
        ]


def tally(records: Records, where: str) -> str:
    """How many claims of the lecture came to what, a clause for each study, in one sentence."""
    clauses = []
    for record, of in groupby(told(records), key=lambda one: one.record):
        found = [one.first["outcome"] for one in of]
        clauses.append(f"{link(record, where)}: {outcomes(found)} of {times(len(found), 'claim')}")
    return f"{'; '.join(clauses)}." if clauses else ""


def components(records: Records, where: str) -> str:
    """`components`: every change with the same settings, matched and tuned, and the verdicts; a table a metric."""
    record = records.get("components")
    if record is None:
        return ""
    metrics = list(dict.fromkeys(record.fairness["metric"]))
    parts = [part for metric in metrics for part in (f"**{facts(metric).name}**", fair_table(record, (metric,)))]
    note = (
        "Change minus base of the same comparison, mean over seeds with its 95 % interval; of the base the mean. The "
        f"verdict is that with the same settings, and in bold those that differ. Rows: {link(record, where)}, "
        f"{link(record, where, 'fairness.csv')}."
    )
    return "\n\n".join([*parts, note, *_no_gain(record, metrics, set(record.fairness["experiment"]))])


def _no_gain(record: Record, metrics: Sequence[str], experiments: Collection[str]) -> list[str]:
    """Sentences on variants of these experiments whose better numbers are no gain."""
    effects = record.effects[record.effects["experiment"].isin(list(experiments))]
    gap = effects["metric"].eq(EXPOSURE_GAP) & effects["difference"].ge(LEAK)
    doubts = Doubts(
        leaking=set(effects.loc[gap, "variant"]), diverged=set(effects.loc[effects["diverged"] > 0, "variant"])
    )
    return [escape(text) for text in caveats(effects, metrics, doubts)]


def fair_table(record: Record, metrics: Collection[str] = (), variants: Collection[str] | None = None) -> str:
    """A row for each change and metric: its effect in every comparison, the seeds, and the verdicts.

    Args:
        metrics: those to show; (): all, with a column that names them.
        variants: those to show; None: all, the base too.
    """
    effects = {(row["experiment"], row["variant"], row["metric"]): row for row in rows_of(record.effects)}
    rows: dict[tuple[str, str], dict[str, Row]] = {}
    for row in rows_of(record.fairness):
        wanted = variants is None or row["variant"] in variants
        if wanted and (not metrics or row["metric"] in metrics):
            effect = effects.get((row["experiment"] + ARMS[row["comparison"]], row["variant"], row["metric"]), {})
            rows.setdefault((row["variant"], row["metric"]), {})[row["comparison"]] = {**row, **effect}
    arms = list(dict.fromkeys(record.fairness["comparison"]))
    named = ["metric"] if len(metrics) != 1 else []
    head = ["change", *named, *(COMPARISONS[arm].lower() for arm in arms), "seeds", "verdict"]
    cells = [
        [
            escape(variant),
            *(facts(metric).name for _ in named),
            *(_fair_cell(by_arm[arm]) if arm in by_arm else "–" for arm in arms),
            "; ".join(dict.fromkeys(seeds_of(row) for row in by_arm.values() if "planned" in row)),
            _fair_verdict(by_arm),
        ]
        for (variant, metric), by_arm in rows.items()
    ]
    return grid(head, cells, texts=len(head))


def _fair_cell(row: Row) -> str:
    """Of the base its value; of a change its effect, or why it was left out."""
    if row["is_base"]:
        return number(row["value"], row["metric"])
    if "planned" not in row or isnan(row["difference"]):
        return f"left out: {escape(row['reason'])}" if row["reason"] else "–"
    return effect_cell(row)


def _fair_verdict(by_arm: Mapping[str, Row]) -> str:
    same = by_arm.get(SAME)
    if same is None or same["is_base"]:
        return "the base"
    changed = [f"**{arm}: {row['verdict']}**" for arm, row in by_arm.items() if row["changed"]]
    return "; ".join([same["verdict"] or UNDECIDED, *changed])


def multi30k(records: Records, where: str) -> str:
    """`multi30k`: loss and BLEU of the base, and what every change adds to them, with intervals."""
    record = records.get("multi30k")
    if record is None:
        return ""
    metrics = ("loss", "bleu")
    rows = effects_of(record, "multi30k", metrics=metrics)
    note = (
        "Of the base the mean over seeds; of a change the difference from it, with its 95 % interval. Loss in nats per "
        f"token, BLEU in points (sacreBLEU, test 2016). Rows: {link(record, where)}, "
        f"{link(record, where, 'effects.csv')}."
    )
    base = ["base", *(_mean(record, "multi30k", metric) for metric in metrics), ""]
    return (
        "\n\n".join([effects_table(rows, base=[base]), note, *_no_gain(record, metrics, {"multi30k"})]) if rows else ""
    )


def effects_table(rows: Sequence[Row], base: Sequence[Sequence[str]] = ()) -> str:
    """A row for each change of one experiment, a column for each metric among `rows` of effects.csv, and the seeds."""
    metrics = sorted(dict.fromkeys(row["metric"] for row in rows), key=place)
    by_variant: dict[str, dict[str, Row]] = {}
    for row in rows:
        by_variant.setdefault(row["variant"], {})[row["metric"]] = row
    head = ["change", *(facts(metric).name for metric in metrics), "seeds"]
    cells = [
        [
            escape(variant),
            *(effect_cell(of[metric]) if metric in of else "–" for metric in metrics),
            seeds_of(next(iter(of.values()))),
        ]
        for variant, of in by_variant.items()
    ]
    return grid(head, [*base, *cells], texts=len(head))


def _mean(record: Record, experiment: str, metric: str) -> str:
    """Mean over seeds of the base's value on the test set."""
    found = record.values
    wanted = {"experiment": experiment, "variant": "base", "split": "test", "metric": metric, "coordinate": ""}
    for column, value in wanted.items():
        found = found[found[column] == value]
    return number(float(found["value"].mean()), metric) if len(found) else "–"


def recorded(records: Records, where: str) -> str:
    """A row for each record: runs, seeds, command, time in which runs were under way, CPU time."""
    columns = ("study", "runs", "seeds", "command", "time", "CPU time")
    rows = [
        [
            link(record, where),
            _runs(record),
            " or ".join(map(str, record.facts["seeds"])),
            f"`{record.facts['command']}`",
            _time(record.facts["wall_seconds"]),
            _time(record.facts["busy_seconds"]),
        ]
        for record in records.values()
    ]
    return grid(columns, rows, texts=len(columns)) if rows else ""


def _runs(record: Record) -> str:
    diverged = record.facts["diverged"]
    return f"{record.facts['runs']:,}" + (f", {diverged} diverged" if diverged else "")


def _time(seconds: float) -> str:
    """`40 s`; from a hundred seconds on `12 min`; from two hours on `3.4 h`."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


BLOCKS: dict[str, Callable[[Records, str], str]] = {
    "verdicts": verdicts,
    "conditions": conditions,
    "tally": tally,
    "components": components,
    "multi30k": multi30k,
    "records": recorded,
}
"""By the name that a page's mark has."""
