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


def of_base(make: Maker, *seeds: dict[str, float], chance: dict[str, float] | None = None) -> dict[str, Level]:
    """Levels by metric of a base with these final values, a dictionary a seed."""
    study = make(seeds=range(len(seeds)))
    study.experiment(
        "e", {"x": {"model.norm": "none"}}, headline=["loss", "perplexity", "bleu", "accuracy"], chance=chance or {}
    )
    for seed, values in enumerate(seeds):
        for variant in ("base", "x"):
            study.run("e", variant, seed, [("test", metric, "", value) for metric, value in values.items()])
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
    assert found == {"bleu": Level(metric="bleu", value=bleu, without=shuffled or 0.0, learned=learned)}


def test_of_a_metric_without_a_known_level_nothing_is_said(make: Maker) -> None:
    assert of_base(make, {"loss": 5.0}) == {}
