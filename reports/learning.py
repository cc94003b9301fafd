"""Whether a base has learned anything: what is compared with a base that has not is no finding.

The mean of the base over its seeds is compared with what can be had without learning:

    accuracy, loss    guessing (chance, and ln V; of perplexity by its loss), or a SHORTCUT that the task has scored
                      on its test items, whichever is better. A base that has come less than NEAR of the way from
                      there to a perfect score has not learned
    BLEU              BLEU of the same translations against the references of other sentences, which a model has that
                      does not look at the source. A base that has less than LEAST_BLEU points more has not learned

The interval over seeds decides nothing here: of two or three seeds it often holds chance although every seed is far
from it. Of other metrics, and of the loss of a translator, it is not known what can be had without learning.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from math import exp, log
from statistics import fmean

from reports.experiment import Experiment
from reports.levels import known_levels
from reports.metrics import LONG_RANGE, facts
from reports.values import CATEGORY, by_seed

NEAR = 0.05
"""Part of the way from guessing to a perfect score."""
LEAST_BLEU = 3.0
"""Points; the margin of the claim `cross-attention` on the same difference."""
PERPLEXITY = "perplexity"
UNLEARNED = {"bleu": "bleu-shuffled"}
"""A metric and the one that says what it is without learning; 0 in a run that lacks the latter."""
GUESSING, OTHERS = "guessing gives", "the references of other sentences give"
SHORTCUTS = {
    "bag of tokens": "a bag of tokens gives",
    "bag of earlier tokens": "a bag of the earlier tokens gives",
    "values without keys": "values without keys give",
    "unigram frequencies": "frequencies of single tokens give",
    "unigram entropy": "frequencies of single tokens give",
    "more frequent form": "choosing the more frequent form gives",
}
"""Levels of tasks that need no order, no key or no context, and who gives them."""


@dataclass(frozen=True, kw_only=True)
class Level:
    """A base on one metric, and what can be had without learning."""

    metric: str
    value: float
    """Mean over seeds."""
    without: float
    learned: bool
    giver: str = GUESSING
    """Who gives what can be had without learning, with its verb."""
    kinds: tuple[float, float] | None = None
    """The smallest and the largest mean of a category of test items, where there are several."""


def levels(experiment: Experiment) -> list[Level]:
    """The base on each headline metric of which it is known what can be had without learning."""
    found = (_level(experiment, metric) for metric in experiment.metrics)
    return [level for level in found if level is not None]


def _level(experiment: Experiment, metric: str) -> Level | None:
    value = _base(experiment, metric)
    if value is None:
        return None
    if metric in UNLEARNED:
        without = _base(experiment, UNLEARNED[metric]) or 0.0
        return Level(metric=metric, value=value, without=without, learned=value - without >= LEAST_BLEU, giver=OTHERS)
    chance = _guessing(experiment.plan["chance"], metric)
    if chance is None:
        return None
    without, giver = max([(chance, GUESSING), *_shortcuts(experiment, metric)], key=partial(_goodness, metric))
    learned = _way(metric, value, without) >= NEAR
    kinds = _kinds(experiment, metric)
    return Level(metric=metric, value=value, without=without, learned=learned, giver=giver, kinds=kinds)


def _shortcuts(experiment: Experiment, metric: str) -> list[tuple[float, str]]:
    known = known_levels(experiment.plan, metric)
    return [(level, SHORTCUTS[name]) for name, level in known.items() if name in SHORTCUTS]


def _goodness(metric: str, known: tuple[float, str]) -> float:
    return facts(metric).better * known[0]


def _kinds(experiment: Experiment, metric: str) -> tuple[float, float] | None:
    """Means of the base on the category that it does worst and best."""
    rows = experiment.values
    of_base = (rows["variant"] == experiment.base) & (rows["metric"] == metric) & (rows["split"] == "test")
    means = rows[of_base & rows["coordinate"].str.startswith(f"{CATEGORY}=")].groupby("coordinate")["value"].mean()
    return (float(means.min()), float(means.max())) if len(means) > 1 else None


def guesses(experiment: Experiment, metric: str, value: float) -> bool:
    """Whether a value of a metric has come less than NEAR of the way from guessing; False where that is not known."""
    chance = _guessing(experiment.plan["chance"], metric)
    return chance is not None and _way(metric, value, chance) < NEAR


def _guessing(chance: Mapping[str, float], metric: str) -> float | None:
    """What guessing gives: of perplexity by the loss, of accuracy at a distance by accuracy."""
    if metric == PERPLEXITY and "loss" in chance:
        return exp(chance["loss"])
    return chance.get("accuracy" if metric == LONG_RANGE else metric)


def _way(metric: str, value: float, guessing: float) -> float:
    """Part of the way from guessing to a perfect score that has been gone; of a perplexity that of its loss.

    None of it where what needs no learning is perfect already.
    """
    if metric == PERPLEXITY:
        value, guessing = log(value), log(guessing)
    perfect = float(facts(metric).better > 0)
    return (value - guessing) / (perfect - guessing) if guessing != perfect else 0.0


def _base(experiment: Experiment, metric: str) -> float | None:
    found: Mapping[int, float] = by_seed(experiment.values, experiment.name, metric).get(experiment.base, {})
    return fmean(found.values()) if found else None
