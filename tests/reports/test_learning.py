"""A base that has learned nothing is known by fixed rules."""

from collections.abc import Callable
from math import exp
from typing import Any

import pytest

from reports.experiment import Experiment
from reports.learning import Level, levels
from reports.rows import read_study
from reports.table import make_tables

Maker = Callable[..., Any]


def of_base(
    make: Maker, *seeds: dict[str, float], chance: dict[str, float] | None = None, **plan: Any
) -> dict[str, Level]:
    """Levels by metric of a base with these final values, a dictionary a seed; `accuracy category=a` is of a kind."""
    study = make(seeds=range(len(seeds)))
    headline = ["loss", "perplexity", "bleu", "accuracy"]
    study.experiment("e", {"x": {"model.norm": "none"}}, headline=headline, chance=chance or {}, **plan)
    for seed, values in enumerate(seeds):
        rows = [("test", *name.partition(" ")[::2], value) for name, value in values.items()]
        for variant in ("base", "x"):
            study.run("e", variant, seed, rows)
    return {level.metric: level for level in levels(Experiment(make_tables(read_study(study.write())), "e"))}


# guessing 0.2, perfect 1: a twentieth of the way is 0.24; ln V of 3, perfect 0: 2.85
@pytest.mark.parametrize(("value", "learned"), [(0.23, False), (0.25, True), (0.1, False)])
def test_an_accuracy_has_come_a_twentieth_of_the_way(make: Maker, value: float, learned: bool) -> None:
    found = of_base(make, {"accuracy": value - 0.01}, {"accuracy": value + 0.01}, chance={"accuracy": 0.2})["accuracy"]
    assert (found.without, found.learned) == (0.2, learned)
    assert found.value == pytest.approx(value)


@pytest.mark.parametrize(("value", "learned"), [(2.9, False), (2.8, True), (3.5, False)])
def test_a_loss_goes_the_other_way(make: Maker, value: float, learned: bool) -> None:
    assert of_base(make, {"loss": value}, chance={"loss": 3.0})["loss"].learned == learned


@pytest.mark.parametrize(("loss", "learned"), [(2.9, False), (2.8, True)])
def test_a_perplexity_has_gone_as_far_as_its_loss(make: Maker, loss: float, learned: bool) -> None:
    found = of_base(make, {"loss": loss, "perplexity": exp(loss)}, chance={"loss": 3.0})["perplexity"]
    assert found.learned == learned
    assert found.without == pytest.approx(exp(3.0))


def test_two_seeds_far_apart_and_far_from_chance_have_learned(make: Maker) -> None:
    """Their interval, 0.35 and 0.95 with a half of 3.8, holds chance."""
    assert of_base(make, {"accuracy": 0.35}, {"accuracy": 0.95}, chance={"accuracy": 0.05})["accuracy"].learned


@pytest.mark.parametrize(("bleu", "shuffled", "learned"), [(6.0, 2.0, True), (6.0, 4.0, False), (2.5, None, False)])
def test_bleu_is_more_than_that_of_other_sentences(
    make: Maker, bleu: float, shuffled: float | None, learned: bool
) -> None:
    others = {} if shuffled is None else {"bleu-shuffled": shuffled}
    found = of_base(make, {"bleu": bleu, **others})
    without = shuffled or 0.0
    giver = "the references of other sentences give"
    assert found == {"bleu": Level(metric="bleu", value=bleu, without=without, learned=learned, giver=giver)}


def test_of_a_metric_without_a_known_level_nothing_is_said(make: Maker) -> None:
    assert of_base(make, {"loss": 5.0}) == {}


# the bag gives 0.4: a twentieth of the way from there to 1 is 0.43
@pytest.mark.parametrize(("value", "learned"), [(0.3, False), (0.42, False), (0.44, True)])
def test_what_knows_no_order_has_not_learned_more_than_a_bag_of_tokens(
    make: Maker, value: float, learned: bool
) -> None:
    known = {"accuracy": {"bag of tokens": 0.4, "values without keys": 0.3, "Bayes, both sides": 0.9}}
    found = of_base(make, {"accuracy": value}, chance={"accuracy": 0.2}, references=known)["accuracy"]
    assert (found.without, found.giver, found.learned) == (0.4, "a bag of tokens gives", learned)


def test_of_a_loss_the_better_of_both_is_the_lower(make: Maker) -> None:
    known = {"loss": {"unigram frequencies": 2.0, "entropy rate": 0.5}}
    found = of_base(make, {"loss": 1.95}, chance={"loss": 3.0}, references=known)["loss"]
    assert (found.without, found.giver, found.learned) == (2.0, "frequencies of single tokens give", False)
    worse = {"accuracy": {"more frequent form": 0.4}}
    found = of_base(make, {"accuracy": 0.45}, chance={"accuracy": 0.5}, references=worse)["accuracy"]
    assert (found.without, found.giver) == (0.5, "guessing gives")


def test_where_a_shortcut_is_perfect_there_is_nothing_to_be_learned(make: Maker) -> None:
    known = {"accuracy": {"more frequent form": 1.0}}
    found = of_base(make, {"accuracy": 1.0}, chance={"accuracy": 0.5}, references=known)["accuracy"]
    assert (found.without, found.learned) == (1.0, False)


def test_the_kinds_of_items_from_the_worst_to_the_best(make: Maker) -> None:
    seeds = [
        {"accuracy": 0.5, "accuracy category=a": 0.9 + seed, "accuracy category=b": 0.1, "accuracy distance=3": 0.0}
        for seed in (-0.02, 0.02)
    ]
    assert of_base(make, *seeds, chance={"accuracy": 0.5})["accuracy"].kinds == pytest.approx((0.1, 0.9))
    alone = [{name: value for name, value in values.items() if not name.endswith("b")} for values in seeds]
    assert of_base(make, *alone, chance={"accuracy": 0.5})["accuracy"].kinds is None
