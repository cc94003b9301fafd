"""Which contrasts of made-up rows are decided."""

from collections.abc import Callable
from typing import Any

import pytest

from reports.frames import records
from reports.looks import contrasts
from reports.rows import read_study

Maker = Callable[..., Any]

NOISE = (0.0, 0.01, -0.02, 0.015, 0.005)


def found(study: Any) -> list[tuple[str, str, int, bool]]:
    rows = records(contrasts(read_study(study.write())))
    return [(row["experiment"], row["variant"], row["n_seeds"], bool(row["decided"])) for row in rows]


def begin(make: Maker, **plan: Any) -> Any:
    study = make(seeds=range(5))
    study.experiment("e", {"far": {"model.norm": "none"}, "near": {"model.norm": "rms"}}, **plan)
    return study


def fill(study: Any, metric: str = "loss", experiment: str = "e") -> None:
    for variant, shift in {"base": 0.0, "far": 1.0, "near": 0.0}.items():
        for seed, noise in enumerate(NOISE):
            value = 0.5 + shift + (noise if variant == "near" else 0.0) + (0.001 * seed if variant == "far" else 0.0)
            study.run(experiment, variant, seed, [("test", metric, "", value)])


def test_effects_are_decided_and_what_is_near_zero_is_not(make: Maker) -> None:
    study = begin(make, looks=[5, 10, 20])
    fill(study)
    assert found(study) == [("e", "far", 5, True), ("e", "near", 5, False)]


def test_experiments_without_looks_are_left_out(make: Maker) -> None:
    study = begin(make)
    fill(study)
    assert found(study) == []


def test_the_first_headline_metric_that_is_there_decides(make: Maker) -> None:
    """BLEU, without any loss: accuracy, which is far off, has no say."""
    study = begin(make, looks=[5, 10], headline=["loss", "bleu", "accuracy"])
    for variant, shift in {"base": 0.0, "far": 7.0, "near": 0.0}.items():
        for seed, noise in enumerate(NOISE):
            bleu = 20 + shift + (noise if variant != "base" else 0.0)
            accuracy = 0.5 if variant == "base" else 0.1 + noise
            study.run("e", variant, seed, [("test", "accuracy", "", accuracy), ("test", "bleu", "", bleu)])
    assert found(study) == [("e", "far", 5, True), ("e", "near", 5, False)]


def test_only_seeds_that_both_have_are_counted(make: Maker) -> None:
    study = begin(make, looks=[5, 10])
    for seed in range(5):
        study.run("e", "base", seed, [("test", "loss", "", 0.1 * seed)])
    study.run("e", "far", 3, [("test", "loss", "", 0.7)])
    study.run("e", "far", 4, [("test", "loss", "", 0.9)], status="failed", reason="out of memory")
    assert found(study) == [("e", "far", 1, False)]


def test_a_diverged_run_counts_with_its_value(make: Maker) -> None:
    study = begin(make, looks=[5, 10])
    for seed in range(5):
        study.run("e", "base", seed, [("test", "loss", "", 0.1 * seed)])
        study.run("e", "far", seed, [("test", "loss", "", 2.77)], status="diverged", reason="loss is NaN")
    assert found(study) == [("e", "far", 5, True)]


def test_nothing_yet(make: Maker) -> None:
    assert found(begin(make, looks=[5, 10])) == []


@pytest.mark.parametrize("metric", ["loss", "accuracy"])
def test_several_experiments(make: Maker, metric: str) -> None:
    study = begin(make, looks=[5, 10], headline=[metric])
    study.experiment("other", {"far": {"model.norm": "none"}, "near": {"model.norm": "rms"}}, headline=[metric])
    fill(study, metric)
    fill(study, metric, "other")
    assert [row[:2] for row in found(study)] == [("e", "far"), ("e", "near")]
