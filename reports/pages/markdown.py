"""The report as one page of GitHub-flavoured Markdown."""

import re
from collections.abc import Iterator, Mapping, Sequence
from math import isnan
from typing import Any

from reports.experiment import Experiment
from reports.fairness import Fair
from reports.frames import records
from reports.metrics import facts, number
from reports.pages import summary
from reports.pages.fairness import caveats, metric_grid, sentences, settings_grid, texts, trials_note
from reports.pages.findings import findings
from reports.pages.grids import describe_base, optional
from reports.pages.overview import overview
from reports.pages.verdicts import in_words, steps_by_claim
from reports.rows import StudyRows
from reports.sequential import level_text, looks_sentence
from reports.table import Tables, describe_counts
from reports.verdicts import Verdict
from reports.wording import change, effect_note, estimate, interval, outcomes, seeds_of

SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|&~!$]|:(?=[a-z+-][\w+-]*:))")  # the last: names of emoji
LIST = re.compile(r"^(\d*)([-+.)])(?=\s|$)")


def document(
    tables: Tables,
    experiments: Sequence[Experiment],
    verdicts: Sequence[Verdict],
    measured: Sequence[str] = (),
    fair: Sequence[Fair] = (),
) -> str:
    """The page: headline, variants and effects of each experiment, verdicts, what did not complete, origin.

    `measured`: titles of figures of measurements, which stand in for a finding where nothing was trained. `fair`: the
    experiments that have been made equal in some way.
    """
    study = tables.study
    doubts = [*summary.warnings(study), *summary.unreadable(tables.problems)]
    parts = [
        f"# {escape(study.plan['study'])}: ablation report",
        escape(study.plan.get("description", "")),
        escape(_headline(experiments) or summary.instead(study, measured)),
        escape(summary.progress(study)),
        *(f"Warning: {escape(text)}" for text in doubts),
        escape(summary.foreign(study)),
        *(part for found in fair for part in _fair(found)),
        *(part for experiment in experiments for part in _experiment(experiment, alone=len(experiments) == 1)),
        *_verdicts(verdicts, steps_by_claim(study, verdicts)),
        *_unfinished(study),
        *_origin(study),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def escape(text: str) -> str:
    """A text from outside as Markdown that shows it as it stands, on one line, in a table too."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return LIST.sub(r"\1\\\2", SPECIAL.sub(r"\\\1", line))


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, texts: int = 1) -> str:
    """A table of texts, escaped here; the first `texts` columns to the left, the others, numbers, to the right."""
    rule = ["---" if place < texts else "---:" for place in range(len(columns))]
    lines = [[escape(column) for column in columns], rule, *([escape(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _headline(experiments: Sequence[Experiment]) -> str:
    """What the study says at its head; empty where there is nothing to compare."""
    found = overview(experiments)
    return " ".join(found.texts) if found else ""


def _sentences(experiment: Experiment) -> str:
    found = findings(experiment)
    return " ".join(found.texts) if found else ""


def _fair(fair: Fair) -> Iterator[str]:
    yield f"## Fair comparison: {escape(fair.origin.name)}"
    yield "\n".join(f"- {escape(text)}" for text in [*sentences(fair), *caveats(fair)])
    yield escape(trials_note(fair))
    for metric in fair.metrics:
        yield f"### {escape(facts(metric).name)} in all comparisons"
        grid = metric_grid(fair, metric)
        yield table(grid.columns, texts(grid), texts=len(grid.columns))
    yield (
        "Variant minus base of the same comparison; of the base the mean over seeds. The verdict is that with the same "
        "settings (p corrected by Holm below 0.05), and after it those of other comparisons that differ."
    )
    yield "### What was made equal"
    made = settings_grid(fair)
    yield table(made.columns, texts(made), texts=len(made.columns))
    yield "Under the parameters: share of the base's, and the share of its operations of training."


def _experiment(experiment: Experiment, *, alone: bool) -> Iterator[str]:
    yield f"## {escape(experiment.name)}"
    yield "" if alone else escape(_sentences(experiment))
    looks = experiment.looks
    yield escape(looks_sentence(looks))
    yield "### Variants"
    yield _variants(experiment)
    yield "Means over seeds, with the sample deviation where there are two seeds or more."
    rows = [row for metric in experiment.compared for row in _effects_on(experiment, metric)]
    if rows:
        yield "### Effects"
        interval_column = f"{level_text(looks)} interval"
        yield table(
            ["Metric", "Variant", "Difference", interval_column, "p", "p (Holm)", "Seeds", "Note"], rows, texts=2
        )
        yield (
            "Variant minus base, paired by seed. p (Holm) is corrected for the variants compared on the same metric of "
            "the experiment."
        )


def _variants(experiment: Experiment) -> str:
    rows = {row["variant"]: row for row in records(experiment.tables.variants)}
    return table(
        ["Variant", "Changes", *(facts(metric).name for metric in experiment.metrics), "Seeds"],
        [
            [
                variant,
                describe_base(experiment) if variant == experiment.base else rows[variant]["changes"],
                *(mean(rows[variant], metric) for metric in experiment.metrics),
                describe_counts(rows[variant]),
            ]
            for variant in experiment.order
        ],
        texts=2,
    )


def mean(row: Mapping[str, Any], metric: str) -> str:
    """Mean and sample deviation of one variant; how many seeds they rest on, where these are not all that counted."""
    n = row.get(f"{metric}_n") or 0
    if not n:
        return "–"
    deviation = row[f"{metric}_sd"]
    spread = "" if isnan(deviation) else f" ± {number(deviation, metric, deviation)}"
    value = number(row[f"{metric}_mean"], metric, deviation if spread else 0.0)
    return f"{value}{spread}" + ("" if n == row["counted"] else f" (n = {n})")


def effects_on(experiment: Experiment, metric: str) -> list[dict[str, Any]]:
    """Rows of the effects on a metric, in the order of the experiment's variants."""
    place = {variant: place for place, variant in enumerate(experiment.order)}
    rows = records(experiment.tables.effects[experiment.tables.effects["metric"] == metric])
    return sorted(rows, key=lambda row: place[row["variant"]])


def _effects_on(experiment: Experiment, metric: str) -> list[list[str]]:
    return [
        [
            facts(metric).name,
            row["variant"],
            change(row["difference"], row["low"], row["high"], metric),
            interval(row["low"], row["high"], metric),
            optional(row["p_value"], ".2g"),
            optional(row["p_holm"], ".2g"),
            seeds_of(row),
            effect_note(row),
        ]
        for row in effects_on(experiment, metric)
    ]


def _verdicts(verdicts: Sequence[Verdict], steps: Mapping[str, str]) -> Iterator[str]:
    if not verdicts:
        return
    yield "## Claims"
    yield escape(f"{outcomes([verdict.outcome for verdict in verdicts])}.")
    chapters = dict.fromkeys(verdict.section for verdict in verdicts)
    for chapter in chapters:
        yield f"### {escape(chapter)}" if chapter else ""
        rows = [_claim(verdict, steps.get(verdict.id, "")) for verdict in verdicts if verdict.section == chapter]
        yield table(["Claim", "Statement", "Kind", "Verdict", "Reason", "Conditions"], rows, texts=6)


def _claim(verdict: Verdict, steps: str) -> list[str]:
    outcome = f"{verdict.outcome} (provisional)" if verdict.provisional else verdict.outcome
    texts = [
        f"{judged.text}: {judged.outcome}, {estimate(judged.value, judged.low, judged.high)}, "
        f"wanted {judged.region}, n {judged.n}"
        for judged in verdict.conditions
    ]
    return [verdict.id, verdict.statement, in_words(verdict, steps), outcome, verdict.reason, "; ".join(texts)]


def _unfinished(study: StudyRows) -> Iterator[str]:
    runs = summary.unfinished(study)
    if runs:
        yield "## What did not complete"
        rows = [[run.experiment, run.variant, run.seeds, run.state, run.reason] for run in runs]
        yield table(["Experiment", "Variant", "Seeds", "State", "Reason"], rows, texts=5)
        yield (
            "A diverged run is a result and is counted, with values fixed beforehand. Failed runs, missing ones and "
            "those in conflict have no value in any number here."
        )


def _origin(study: StudyRows) -> Iterator[str]:
    yield "## How to repeat it"
    yield f"    {' '.join(summary.command(study).split())}"
    if lines := summary.origin(study):
        yield "\n".join(f"- {escape(name)}: {escape(text)}" for name, text in lines)
