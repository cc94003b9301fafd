"""What an experiment says in a few sentences: which part matters most, by how much, how surely."""

from collections.abc import Sequence
from dataclasses import dataclass

from reports.experiment import Experiment
from reports.figures.captions import listed
from reports.learning import GUESSING, OTHERS, Level, levels
from reports.metrics import facts, number
from reports.pages.lengths import lengths_sentences
from reports.wording import Doubts, caveats, headline, inside, other_headlines


@dataclass(frozen=True, kw_only=True)
class Findings:
    """The sentences of one experiment, or of a study."""

    headline: str
    """Of the first metric that has a better side, if any has; or that the base has not learned."""
    further: str = ""
    """Of the others, a clause each."""
    lengths: str = ""
    """Of test sets of other lengths, where there are any."""
    learned: bool = True
    """Whether the base has, as far as it is known."""
    caveats: tuple[str, ...] = ()
    """Numbers in the figures that must not be taken for gains."""

    @property
    def texts(self) -> list[str]:
        """All of them in their order."""
        return [text for text in (self.headline, self.further, self.lengths, *self.caveats) if text]


def findings(experiment: Experiment) -> Findings | None:
    """What an experiment says of the metrics it compares; None while there is nothing to compare.

    Where its base has not learned (reports.learning), that comes first, and of the effects only those are told that are
    on metrics on which it has.
    """
    if not experiment.compared:
        return None
    effects, doubts, looks = experiment.tables.effects, doubts_of(experiment), experiment.looks
    first, *others = by_importance(experiment)
    failed, told = unlearned(experiment), told_metrics(experiment)
    return Findings(
        headline=_unlearned(experiment, failed, told) if failed else headline(effects, first, doubts, looks=looks),
        further=other_headlines(effects, told if failed else others, doubts, looks=looks),
        lengths=" ".join(lengths_sentences(experiment, doubts)) if first in told else "",
        learned=not failed,
        caveats=tuple(caveats(effects, experiment.compared, doubts)),
    )


def doubts_of(experiment: Experiment) -> Doubts:
    """Whose better numbers are no gain: variants that see the future, and those that diverged."""
    return Doubts(
        leaking=experiment.leaking,
        diverged=experiment.diverged - {experiment.base},
        base=experiment.base if experiment.base in experiment.diverged else "",
    )


def by_importance(experiment: Experiment) -> list[str]:
    """Metrics that are compared, those with a better side first."""
    return sorted(experiment.compared, key=lambda metric: not facts(metric).better)


def unlearned(experiment: Experiment) -> list[Level]:
    """Where the base is that has not learned; [] of one that has, or of which it is not known."""
    return [level for level in levels(experiment) if not level.learned]


def told_metrics(experiment: Experiment) -> list[str]:
    """Metrics whose effects are findings: all; if the base has not learned on some, only those on which it has."""
    if not unlearned(experiment):
        return by_importance(experiment)
    learned = {level.metric for level in levels(experiment) if level.learned}
    return [metric for metric in by_importance(experiment) if metric in learned]


def level_text(level: Level) -> str:
    """A base that has not learned, on one metric: `accuracy 0.077, where guessing gives 0.063`."""
    value, without = (number(value, level.metric) for value in (level.value, level.without))
    kinds = level.kinds and " to ".join(number(value, level.metric) for value in level.kinds)
    by_kind = f" ({kinds} by category)" if kinds else ""
    return f"{inside(facts(level.metric).name)} {value}{by_kind}, where {level.giver} {without}"


def lead(experiments: Sequence[Experiment]) -> Experiment | None:
    """The experiment whose figure of effects stands for the study: the one with most metrics, the first of those."""
    comparing = [experiment for experiment in experiments if experiment.compared]
    return max(comparing, key=lambda experiment: len(experiment.compared), default=None)


def _unlearned(experiment: Experiment, failed: Sequence[Level], told: Sequence[str]) -> str:
    where = "; ".join(map(level_text, failed))
    if not told:
        return f"The base has not learned the task: {where}. Differences from it are no findings."
    silent = [inside(facts(metric).name) for metric in experiment.metrics if metric not in told]
    how = "hardly" if any(facts(of.metric).better * (of.value - of.without) > 0 for of in failed) else "no"
    than = "guessing" if all(of.giver in (GUESSING, OTHERS) for of in failed) else "a rule that learns no more"
    whole = "On the whole the" if any(of.kinds for of in failed) else "The"
    return f"{whole} base is {how} better than {than}: {where}. Differences in {listed(silent)} are no findings."
