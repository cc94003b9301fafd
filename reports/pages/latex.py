r"""Tables for a paper: one `tabular` for each experiment, to be put into `table` with `\input`; needs booktabs.

Names may hold any letters: compile with XeLaTeX or LuaLaTeX where they are not Latin.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from math import isnan
from typing import Any

from reports.experiment import Experiment
from reports.frames import records
from reports.metrics import facts, number
from reports.pages.grids import optional
from reports.pages.markdown import effects_on, mean
from reports.pages.verdicts import in_words
from reports.sequential import level_text, levels_text
from reports.table import describe_counts
from reports.verdicts import Verdict
from reports.wording import change, estimate, seeds_of

SPECIAL = {
    **{c: f"\\{c}" for c in "&%$#_{}"},
    **{c: f"{{{c}}}" for c in "[]*"},  # after the end of a row, they would belong to it
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "|": r"\textbar{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    '"': r"\string" + '"',
    "`": r"\textasciigrave{}",
    "−": "$-$",
    "±": r"$\pm$",
    "–": r"\textendash{}",
    "×": r"$\times$",
    "…": r"\ldots{}",
    "\N{NO-BREAK SPACE}": "~",
}

LIGATURE = re.compile(r"([-'])(?=\1)")


def escape(text: str) -> str:
    """A text as LaTeX that shows it as it stands, on one line."""
    line = "".join(c if c.isprintable() or c == "\N{NO-BREAK SPACE}" else " " for c in text).strip(" ")
    return LIGATURE.sub(r"\1{}", "".join(SPECIAL.get(c, c) for c in line))


def tabular(columns: Sequence[str], rows: Iterable[Sequence[str]], *, texts: int = 1) -> str:
    """A table with the rules of booktabs; the first `texts` columns to the left, numbers to the right."""
    lines = [f"\\begin{{tabular}}{{{'l' * texts}{'r' * (len(columns) - texts)}}}", r"\toprule", _row(columns)]
    return "\n".join([*lines, r"\midrule", *map(_row, rows), r"\bottomrule", r"\end{tabular}"])


def _row(cells: Sequence[str]) -> str:
    return " & ".join(escape(cell) for cell in cells) + r" \\"


def variants(experiments: Sequence[Experiment]) -> str:
    """Mean ± sample standard deviation over seeds of every variant on the headline metrics, and its seeds."""
    return _file("Mean and sample standard deviation over seeds.", [(e.name, _variants(e)) for e in experiments])


def _variants(experiment: Experiment) -> str:
    rows = {row["variant"]: row for row in records(experiment.tables.variants)}
    return tabular(
        ["Variant", *(f"{facts(metric).name}, mean ± s.d." for metric in experiment.metrics), "Seeds"],
        [
            [variant, *(mean(rows[variant], m) for m in experiment.metrics), describe_counts(rows[variant])]
            for variant in experiment.order
        ],
    )


def effects(experiments: Sequence[Experiment]) -> str:
    """Effect of every variant on the headline metrics: difference ± half of the interval, p after Holm, seeds."""
    compared = [e for e in experiments if e.compared]
    level = levels_text(e.looks for e in compared)
    comment = f"Variant minus base, paired by seed; half-width of the {level} interval; p after Holm."
    return _file(comment, [(e.name, _effects(e)) for e in compared])


def _effects(experiment: Experiment) -> str:
    return tabular(
        ["Metric", "Variant", f"Difference ± {level_text(experiment.plan.get('looks', []))}", "p (Holm)", "Seeds"],
        [
            [
                facts(metric).name,
                row["variant"],
                _difference(row, metric),
                optional(row["p_holm"], ".2g"),
                seeds_of(row),
            ]
            for metric in experiment.compared
            for row in effects_on(experiment, metric)
        ],
        texts=2,
    )


def _difference(row: Mapping[str, Any], metric: str) -> str:
    half = (row["high"] - row["low"]) / 2
    text = change(row["difference"], row["low"], row["high"], metric)
    return text + ("" if isnan(half) else f" ± {number(half, metric, half)}")


def verdicts(found: Sequence[Verdict], steps: Mapping[str, str] | None = None) -> str:
    """Claims and what became of them, a row a condition; `steps` of the training by claim."""
    rows = [row for verdict in found for row in _claim(verdict, (steps or {}).get(verdict.id, ""))]
    columns = ["Claim", "Section", "Statement", "Kind", "Verdict", "Effect", "Wanted", "Seeds"]
    return _file("Claims put to the test.", [("", tabular(columns, rows, texts=5))])


def _claim(verdict: Verdict, steps: str) -> list[list[str]]:
    """What is the same for all conditions stands in the row of the first."""
    outcome = verdict.outcome + (" (provisional)" if verdict.provisional else "")
    shared = [verdict.id, verdict.section, verdict.statement, in_words(verdict, steps), outcome]
    parts = [[estimate(part.value, part.low, part.high), part.region, part.n] for part in verdict.conditions]
    return [[*(shared if not i else [""] * 5), *part] for i, part in enumerate(parts or [["–"] * 3])]


def _file(comment: str, tables: Sequence[tuple[str, str]]) -> str:
    """Tables under comments; a comment ends with its line, so that a name must not break it."""
    parts = [f"% {comment} Needs \\usepackage{{booktabs}}."]
    for name, text in tables:
        parts += [f"% {escape(name)}" if name else "", text]
    return "\n\n".join(part for part in parts if part) + "\n"
