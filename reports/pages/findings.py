"""What a study says in a few sentences: which part matters most, by how much, how surely."""

from collections.abc import Sequence
from dataclasses import dataclass

from reports.experiment import Experiment
from reports.metrics import facts
from reports.wording import Doubts, caveats, headline, other_headlines


@dataclass(frozen=True, kw_only=True)
class Findings:
    """The sentences of one experiment."""

    headline: str
    """Of its first metric that has a better side, if any has."""
    further: str
    """Of the others, a clause each."""
    caveats: tuple[str, ...]
    """Numbers in the figures that must not be taken for gains."""


def findings(experiment: Experiment) -> Findings | None:
    """What an experiment says of the metrics it compares; None while there is nothing to compare."""
    if not experiment.compared:
        return None
    effects, doubts, looks = experiment.tables.effects, doubts_of(experiment), experiment.looks
    first, *others = sorted(experiment.compared, key=lambda metric: not facts(metric).better)
    return Findings(
        headline=headline(effects, first, doubts, looks=looks),
        further=other_headlines(effects, others, doubts, looks=looks),
        caveats=tuple(caveats(effects, experiment.compared, doubts)),
    )


def doubts_of(experiment: Experiment) -> Doubts:
    """Whose better numbers are no gain: variants that see the future, and those that diverged."""
    return Doubts(
        leaking=experiment.leaking,
        diverged=experiment.diverged - {experiment.base},
        base=experiment.base if experiment.base in experiment.diverged else "",
    )


def lead(experiments: Sequence[Experiment]) -> Experiment | None:
    """The experiment that speaks for the study: the one with most metrics to compare, the first of those."""
    comparing = [experiment for experiment in experiments if experiment.compared]
    return max(comparing, key=lambda experiment: len(experiment.compared), default=None)
