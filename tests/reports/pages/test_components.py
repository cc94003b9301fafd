"""A part of the model over all experiments that change it alone."""

from collections.abc import Callable
from typing import Any

from reports.experiment import Experiment
from reports.pages.components import components
from reports.pages.grids import Link
from reports.rows import read_study
from reports.table import make_tables

Maker = Callable[..., Any]


def made(study: Any) -> list[Experiment]:
    tables = make_tables(read_study(study.write()))
    return [Experiment(tables, name) for name in study.plan["experiments"]]


def two_experiments(make: Maker) -> Any:
    study = make()
    lecture = {"model.norm": "Normalising helps."}
    changes = {
        "no-norm": {"model.norm": "none"},
        "both": {"model.norm": "none", "model.position": "none"},
        "slow": {"train.lr": 0.1},
        "whole": {"model": {"scale": "none"}},
    }
    study.experiment("first", changes, headline=["loss"], components=lecture, marks={"whole": ["leaks_future"]})
    study.experiment("second", {"rms": {"model.norm": "rms"}}, headline=["bleu"])
    for seed in study.seeds:
        for variant, shift in {"base": 0.0, "no-norm": 1.0, "both": 2.0}.items():
            study.run("first", variant, seed, [("test", "loss", "", shift + seed / 8 + 0.01 * shift * seed)])
        for variant in ("base", "rms"):
            study.run("second", variant, seed, [("test", "bleu", "", 30.0 + seed * (variant == "rms"))])
    return study


def test_only_variants_that_change_one_part_of_the_model_speak_of_it(make: Maker) -> None:
    norm, scale = components(made(two_experiments(make)), ["experiment-1", "experiment-2"])
    assert (norm.path, scale.path) == ("model.norm", "model.scale")
    assert (norm.lecture, scale.lecture) == ("Normalising helps.", "")
    assert (norm.anchor, scale.anchor) == ("component-1", "component-2")
    assert norm.grid.columns == ["Experiment", "Value", "Base has", "Loss", "BLEU"]
    assert [[cell.text for cell in row] for row in norm.grid.rows] == [
        ["", "none", "layer", "+1.010", "–"],
        ["", "rms", "layer", "–", "+1.0"],
    ]
    assert [row[0].links[0] for row in norm.grid.rows] == [
        Link(text="first", target="#experiment-1"),
        Link(text="second", target="#experiment-2"),
    ]


def test_changes_have_intervals_names_and_labels(make: Maker) -> None:
    norm, scale = components(made(two_experiments(make)), ["a", "b"])
    none, rms = norm.grid.rows
    assert none[1].note == "no-norm"
    assert rms[1].note == ""
    assert none[3].note == "+0.985 to +1.035"
    assert rms[4].kind == "number undecided"
    (row,) = scale.grid.rows
    assert row[1].tags == ("sees the future",)
    assert row[3].text == "–"


def test_without_single_changes_there_is_nothing(make: Maker) -> None:
    study = make(seeds=(0,))
    study.experiment("e", {"x": {"train.lr": 0.1}, "y": {}})
    assert components(made(study), ["a"]) == []
