"""What an experiment shows at other lengths than that of its main test set: sentences and a table."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from reports.experiment import Experiment
from reports.fairness import verdict
from reports.figures.captions import listed
from reports.frames import records
from reports.learning import guesses
from reports.lengths import at_length, with_lengths
from reports.metrics import facts, number
from reports.pages.evidence import change_cell
from reports.pages.grids import Cell, Grid
from reports.values import by_seed
from reports.wording import Doubts, comparable, inside, size_of, times

KINDS = ("worse", "better", "higher", "lower")
"""Verdicts on an effect that is decided (reports.fairness.verdict)."""


def told_lengths(experiment: Experiment) -> list[tuple[str, float]]:
    """The metric that is told by length, with the length nearest to twice that of training and with the longest.

    A share, such as accuracy, if there is one: it can be read where a loss no longer says much.
    """
    metrics = [metric for metric in experiment.metrics if facts(metric).better and experiment.lengths(metric)]
    if not metrics:
        return []
    metric = next((metric for metric in metrics if facts(metric).share), metrics[0])
    lengths, trained = experiment.lengths(metric), experiment.trained_at("length")
    twice = min(lengths, key=lambda length: abs(length - 2 * trained)) if trained else lengths[-1]
    return [(metric, length) for length in dict.fromkeys((twice, lengths[-1]))]


def lengths_sentences(experiment: Experiment, doubts: Doubts) -> list[str]:
    """How many variants are better or worse than the base, which most: at each of `told_lengths`."""
    told = told_lengths(experiment)
    return [_sentence(experiment, *at, doubts) + _otherwise(experiment, *at, doubts) for at in told]


def _sentence(experiment: Experiment, metric: str, length: float, doubts: Doubts) -> str:
    rows = comparable(experiment.tables.effects, at_length(metric, length), doubts)
    chance, base = experiment.plan["chance"].get(metric), base_at(experiment, metric, length)
    known = "" if chance is None else number(chance, metric)
    if base is not None and guesses(experiment, metric, base):
        guess = f", hardly better than guessing ({known})"
    else:
        guess = f" (guessing: {known})" if known else ""
    told = [text for kind in KINDS if (text := _most(rows, metric, kind, experiment.looks))]
    return (
        f"At length {length:g}{_factor(experiment, length, ', {} times that of training,')} the base's "
        f"{inside(facts(metric).name)} is {_base(experiment, metric, length)}{guess}; "
        f"{', '.join(told) or 'no variant differs clearly'}."
    )


def _otherwise(experiment: Experiment, metric: str, length: float, doubts: Doubts) -> str:
    """Which variants are worse on another metric and better on this one, or the other way round; empty if none is."""
    came = _verdicts(experiment, metric, length, doubts)
    parts = []
    for other in experiment.metrics:
        if other != metric and facts(other).better and length in experiment.lengths(other):
            found = _verdicts(experiment, other, length, doubts)
            parts += [
                f"{variant} is {kind} in {inside(facts(other).name)}"
                for variant, kind in found.items()
                if {kind, came.get(variant)} == {"better", "worse"}
            ]
    return f" But {listed(parts)} there." if parts else ""


def _verdicts(experiment: Experiment, metric: str, length: float, doubts: Doubts) -> dict[str, str]:
    rows = comparable(experiment.tables.effects, at_length(metric, length), doubts)
    return {row["variant"]: verdict(row, metric) for row in rows}


def _most(rows: Sequence[Mapping[str, Any]], metric: str, kind: str, looks: Sequence[int]) -> str:
    """`4 of 5 variants are better, alibi most: +0.9 (...)`; empty where none is."""
    found = [row for row in rows if verdict(row, metric) == kind]
    if not found:
        return ""
    most = max(found, key=lambda row: abs(row["difference"]))
    size = size_of(most, metric, looks)
    if len(found) == 1:
        return f"{most['variant']} is {kind}: {size}"
    return f"{len(found)} of {times(len(rows), 'variant')} are {kind}, {most['variant']} most: {size}"


def lengths_grid(experiment: Experiment) -> Grid | None:
    """Effects at every length, a column each; above them the base's means. None where there are none."""
    metrics = [metric for metric in experiment.metrics if experiment.lengths(metric)]
    if not metrics:
        return None
    lengths = sorted({length for metric in metrics for length in experiment.lengths(metric)})
    return Grid(
        title=f"Effects at other lengths in {experiment.name}",
        columns=["Metric", "Variant", *(f"Length {n:g}{_factor(experiment, n, ' (× {})')}" for n in lengths)],
        rows=[row for metric in metrics for row in _rows(experiment, metric, lengths)],
    )


def lengths_caption(experiment: Experiment) -> str:
    """How to read the table of lengths."""
    trained = experiment.trained_at("length")
    factor = "" if trained is None else f" In brackets: times the length of training, {trained:g}."
    return (
        "Of the base the mean over seeds, of the others the difference from it with its interval, which speaks of new "
        f"seeds on the same test items.{factor} p (Holm), in the table of every effect, is corrected for the variants "
        "at one length on one metric; nothing is corrected for the number of lengths."
    )


def _rows(experiment: Experiment, metric: str, lengths: Sequence[float]) -> Iterator[list[Cell]]:
    effects = experiment.tables.effects
    found = {(row["metric"], row["variant"]): row for row in records(effects)}
    name = Cell(text=facts(metric).name, kind="text")
    for variant in experiment.order:
        label = Cell(text=experiment.label(variant), kind="name", style=experiment.styles[variant])
        if variant == experiment.base:
            yield [name, label, *(Cell(text=_base(experiment, metric, length)) for length in lengths)]
        else:
            cells = (change_cell(found.get((at_length(metric, length), variant)), metric) for length in lengths)
            yield [name, label, *cells]


def base_at(experiment: Experiment, metric: str, length: float) -> float | None:
    """Mean of the base at a length; None where it has no value."""
    name = at_length(metric, length)
    values = by_seed(with_lengths(experiment.values), experiment.name, name).get(experiment.base, {})
    return fmean(values.values()) if values else None


def _base(experiment: Experiment, metric: str, length: float) -> str:
    value = base_at(experiment, metric, length)
    return "–" if value is None else number(value, metric)


def _factor(experiment: Experiment, length: float, form: str) -> str:
    """How many times the length of training; empty where that is not known."""
    trained = experiment.trained_at("length")
    return form.format(f"{length / trained:.3g}") if trained else ""
