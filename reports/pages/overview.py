"""What a study of several experiments says at the head of its page."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from reports.experiment import Experiment
from reports.fairness import ALPHA, UNDECIDED, originals, verdict
from reports.figures.captions import listed
from reports.learning import guesses
from reports.lengths import at_length, whole
from reports.metrics import facts
from reports.pages.findings import Findings, by_importance, doubts_of, findings, level_text, told_metrics, unlearned
from reports.pages.lengths import KINDS, base_at, lengths_sentences, told_lengths
from reports.wording import clearest, comparable, headline, inside, sentence, times, within

NAMED = 3
"""Experiments that the head of a page names."""

Metrics = Sequence[tuple[Experiment, str]]
"""Experiments with the metric on which their variants are counted."""


def overview(experiments: Sequence[Experiment]) -> Findings | None:
    """The findings of a study; None while there is nothing to compare.

    Of one experiment its own. Of several: in which the base has not learned; how many differences are clear in the
    others, on their first metrics and at their longest lengths; the largest harm in up to NAMED of them.
    """
    comparing = speaking(experiments)
    if not comparing:
        return None
    if len(comparing) == 1:
        return _of_one(comparing[0], alone=len(experiments) == 1)
    first = [(experiment, by_importance(experiment)[0]) for experiment in comparing]
    learned = [(experiment, metric) for experiment, metric in first if metric in told_metrics(experiment)]
    failed = [experiment for experiment in comparing if experiment not in dict(learned)]
    told = [experiment for experiment, _ in learned][:NAMED]
    return Findings(
        headline=" ".join([*_failed(failed), *_tallies(learned)]),
        further=_largest(learned),
        lengths=" ".join(within(e.name, text) for e in told for text in lengths_sentences(e, doubts_of(e))[-1:]),
    )


def speaking(experiments: Sequence[Experiment]) -> list[Experiment]:
    """Experiments that the head of the page is about: those that compare a metric with a better side, if any does.

    What has been made equal in some way is a further view of an experiment, and does not count.
    """
    comparing = [experiment for experiment in originals(experiments) if experiment.compared]
    return [e for e in comparing if facts(by_importance(e)[0]).better] or comparing


def _of_one(experiment: Experiment, *, alone: bool) -> Findings | None:
    found = findings(experiment)
    return found if alone or found is None else replace(found, headline=within(experiment.name, found.headline))


def _failed(experiments: Sequence[Experiment]) -> Iterator[str]:
    """That the bases of some experiments have not learned."""
    if experiments:
        named = [f"{e.name} ({level_text(unlearned(e)[0])})" for e in experiments[:NAMED]]
        more = [times(len(experiments) - NAMED, "other experiment")] if len(experiments) > NAMED else []
        yield f"In {listed([*named, *more])} the base has not learned, and differences from it are no findings."


def _tallies(first: Metrics) -> Iterator[str]:
    """How many differences are clear, over all experiments: on their first metrics, and at their longest lengths."""
    if not first:
        return
    parts = [f"in {times(len(first), 'experiment')}, {_tally(first, 'difference')}"]
    longest = [(experiment, *found[-1]) for experiment, _ in first if (found := told_lengths(experiment))]
    if longest:
        ends = list(dict.fromkeys(f"{length:g}" for length in sorted(length for _, _, length in longest)))
        of = [(experiment, at_length(metric, length)) for experiment, metric, length in longest]
        parts.append(f"at length {' to '.join(ends[:: max(1, len(ends) - 1)])}{_guessing(longest)}, {_tally(of)}")
    yield sentence(f"{'; '.join(parts)} (p after Holm below {ALPHA:g})")


def _guessing(longest: Sequence[tuple[Experiment, str, float]]) -> str:
    """In how many experiments the base is hardly better than guessing at these lengths; empty where it is in all."""
    bases = [(experiment, metric, base_at(experiment, metric, length)) for experiment, metric, length in longest]
    n = sum(value is not None and guesses(experiment, metric, value) for experiment, metric, value in bases)
    where = "the base" if n == len(longest) else f"in {n} of {len(longest)} the base"
    return f", where {where} is hardly better than guessing" if n else ""


def _tally(of: Metrics, noun: str = "") -> str:
    """`4 of 10 differences from the base in loss are clear, 3 worse, 1 better`."""
    found = [verdict(row, m) for e, m in of for row in comparable(e.tables.effects, m, doubts_of(e))]
    names = list(dict.fromkeys(inside(facts(whole(metric)).name) for _, metric in of))
    counts = Counter(found)
    clear = len(found) - counts[UNDECIDED]
    kinds = [f"{'all' if counts[kind] == clear > 1 else counts[kind]} {kind}" for kind in KINDS if counts[kind]]
    of_all = f"{times(len(found), noun)} from the base" if noun else f"{len(found)}"
    many = f"{clear or 'none'} of {of_all} in {listed(names)} {'are' if clear > 1 else 'is'} clear"
    return ", ".join([many, *kinds])


def _largest(first: Metrics) -> str:
    """The largest harm in each experiment; of more than NAMED in those with the smallest p. Empty if none is clear."""
    found = [(e, m, row) for e, m in first if (row := clearest(e.tables.effects, m, doubts_of(e)))]
    shown = sorted(sorted(range(len(found)), key=lambda place: _p(found[place][2]))[:NAMED])
    told = [(e, headline(e.tables.effects, m, doubts_of(e), looks=e.looks)) for e, m, _ in (found[i] for i in shown)]
    clauses = [within(experiment.name, text.removesuffix(".")) for experiment, text in told]
    return sentence("; ".join([*clauses[:1], *(inside(clause) for clause in clauses[1:])])) if clauses else ""


def _p(row: Mapping[str, Any]) -> float:
    """p after Holm; behind all others where there is none."""
    return float(row["p_holm"]) if row["p_holm"] == row["p_holm"] else 2.0
