"""The sentences of an experiment, and which experiment speaks for a study."""

from collections.abc import Callable
from typing import Any

from reports.experiment import Experiment
from reports.pages.findings import findings, lead
from reports.rows import read_study
from reports.table import make_tables

Maker = Callable[..., Any]


def experiments(study: Any) -> list[Experiment]:
    tables = make_tables(read_study(study.write()))
    return [Experiment(tables, name) for name in study.plan["experiments"]]


def test_the_experiment_with_most_metrics_speaks_for_the_study(make: Maker) -> None:
    study = make(seeds=(0, 1))
    metrics = {"none": [], "one": ["loss"], "two": ["loss", "bleu"], "also two": ["loss", "bleu"]}
    for name, headline in metrics.items():
        study.experiment(name, {"x": {"model.norm": "none"}}, headline=headline)
        for variant in ("base", "x"):
            for seed in study.seeds:
                study.run(name, variant, seed, [("test", metric, "", 1.0 + seed) for metric in headline])
    found = experiments(study)
    leading = lead(found)
    assert leading is not None
    assert leading.name == "two"
    assert lead(found[:1]) is None
    assert findings(found[0]) is None


def test_a_lower_loss_with_the_future_in_sight_or_after_divergence_is_no_gain(make: Maker) -> None:
    study = make(seeds=(0, 1))
    changes = {v: {"model.decoder_mask": v} for v in ("seer", "wreck", "plain")}
    study.experiment("e", changes, headline=["loss"], marks={"seer": ["leaks_future"]})
    for seed in study.seeds:
        for variant, loss in {"base": 5.0, "seer": 0.1, "plain": 5.5}.items():
            study.run("e", variant, seed, [("test", "loss", "", loss + seed / 8)])
        study.run("e", "wreck", seed, [("test", "loss", "", 3.0)], status="diverged", reason="not finite")
    (found,) = experiments(study)
    sentences = findings(found)
    assert sentences is not None
    assert sentences.headline.startswith("Loss rises most with plain")
    assert sorted(sentences.caveats) == [
        "seer sees the words that it is to say: its better loss is no gain.",
        "wreck diverged, and has a value fixed for that: its better loss is no gain.",
    ]


def test_a_base_that_diverged_is_said(make: Maker) -> None:
    study = make(seeds=(0, 1))
    study.experiment("e", {"x": {"model.norm": "none"}}, headline=["loss"])
    for seed in study.seeds:
        status = {"status": "diverged", "reason": "not finite"} if seed else {}
        study.run("e", "base", seed, [("test", "loss", "", 4.0 + seed)], **status)
        study.run("e", "x", seed, [("test", "loss", "", 1.0)])
    (found,) = experiments(study)
    sentences = findings(found)
    assert sentences is not None
    assert sentences.caveats == (
        "Runs of the base, base, diverged: differences from it are from values fixed for that.",
    )


def test_a_metric_with_a_better_side_is_spoken_of_before_one_without(make: Maker) -> None:
    study = make(seeds=(0, 1))
    study.experiment("e", {"x": {"model.norm": "none"}}, headline=["parameters", "loss"])
    for seed in study.seeds:
        for variant, loss in {"base": 1.0, "x": 1.5}.items():
            study.run("e", variant, seed, [("test", "parameters", "", 97.0 * loss), ("test", "loss", "", loss)])
    (found,) = experiments(study)
    sentences = findings(found)
    assert sentences is not None
    assert sentences.headline == "Loss rises most with x: +0.5 nats per token (the same in 2 of 2 seeds)."
    assert sentences.further == ""


def unlearned(make: Maker, values: dict[str, dict[str, float]], **facts: Any) -> Experiment:
    """One experiment with these final values by variant, the same in two seeds but for an eighth of a hundredth."""
    study = make(seeds=(0, 1))
    changes = {v: {"model.norm": v} for v in values if v != "base"}
    study.experiment("e", changes, headline=["loss", "bleu", "accuracy"], **facts)
    for seed in study.seeds:
        for variant, of in values.items():
            study.run("e", variant, seed, [("test", m, "", value + seed / 800) for m, value in of.items()])
    (found,) = experiments(study)
    return found


def test_a_base_that_has_not_learned_comes_first_and_nothing_is_found(make: Maker) -> None:
    """Not even on the loss, of which it is not known what guessing gives."""
    values = {"base": {"loss": 5.0, "bleu": 0.1, "bleu-shuffled": 0.1}, "x": {"loss": 6.0, "bleu": 0.0}}
    sentences = findings(unlearned(make, values))
    assert sentences is not None
    assert sentences.headline == (
        "The base has not learned the task: BLEU 0.1, where the references of other sentences give 0.1. "
        "Differences from it are no findings."
    )
    assert sentences.texts == [sentences.headline]


def test_what_a_base_has_learned_is_told_of_beside_what_it_has_not(make: Maker) -> None:
    values = {"base": {"loss": 1.0, "accuracy": 0.26}, "x": {"loss": 1.5, "accuracy": 0.1}}
    sentences = findings(unlearned(make, values, chance={"loss": 3.0, "accuracy": 0.25}))
    assert sentences is not None
    assert sentences.headline == (
        "The base is hardly better than guessing: accuracy 0.261, where guessing gives 0.250. "
        "Differences in accuracy are no findings."
    )
    assert sentences.further == "Loss rises most with x: +0.5 nats per token (the same in 2 of 2 seeds)."


def test_a_base_below_guessing_is_no_better(make: Maker) -> None:
    values = {"base": {"loss": 1.0, "accuracy": 0.2}, "x": {"loss": 1.5, "accuracy": 0.1}}
    sentences = findings(unlearned(make, values, chance={"loss": 3.0, "accuracy": 0.25}))
    assert sentences is not None
    assert sentences.headline.startswith("The base is no better than guessing: accuracy 0.2")
