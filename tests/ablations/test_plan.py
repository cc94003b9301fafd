"""The plan on disk."""

import math
from pathlib import Path
from typing import Any

import pytest

from ablations.load import load_study, make_study
from ablations.plan import write_plan
from reports.rows import read_plan


def test_the_plan_reads_back_and_study_yaml_repeats_it(tiny: dict[str, Any], tmp_path: Path) -> None:
    study = make_study(tiny, ["train.lr=2e-3"])
    runs = study.runs()
    write_plan(study, runs, tmp_path)
    plan = read_plan(tmp_path)
    assert [run["id"] for run in plan["runs"]] == [run.id for run in runs]
    experiment = plan["experiments"]["copy"]
    assert experiment["variants"] == ["base", "position=none"]
    assert experiment["chance"]["accuracy"] == pytest.approx(1 / 7)
    assert experiment["design"] == "one-at-a-time"
    assert (experiment["task"], experiment["kind"]) == ("order", "tagging")
    again = load_study(str(tmp_path / "study.yaml"))
    assert [run.id for run in again.runs()] == [run.id for run in runs]


def test_the_plan_says_what_guessing_gives_and_what_the_lecture_says_of_each_part_that_changes(
    tiny: dict[str, Any], tmp_path: Path
) -> None:
    tiny["experiments"]["copy"]["vary"] = {"model.position": ["none"], "train.lr": [0.5]}
    write_plan(study := make_study(tiny), study.runs(), tmp_path)
    experiment = read_plan(tmp_path)["experiments"]["copy"]
    assert experiment["chance"] == {"accuracy": pytest.approx(1 / 7), "loss": pytest.approx(math.log(7))}
    assert list(experiment["components"]) == ["model.position"]
    assert experiment["units"] == {}
    assert experiment["marks"] == {}


def test_a_variant_that_sees_the_words_it_is_to_say_is_marked_and_a_whole_section_counts_by_what_differs(
    tmp_path: Path,
) -> None:
    study = load_study("quick", ["train.steps=1"])
    write_plan(study, study.runs(), tmp_path)
    experiment = read_plan(tmp_path)["experiments"]["german"]
    assert experiment["marks"] == {"no mask": ["leaks_future"]}
    assert experiment["units"] == {"distance": "words from the subject to its verb, 1: next to it"}
    assert "model.architecture" in experiment["components"]
    assert not {"model.initialisation", "model.d_model"} & set(experiment["components"])


def test_of_a_part_the_plan_says_what_the_lecture_says_and_what_the_values_do(
    tiny: dict[str, Any], tmp_path: Path
) -> None:
    tiny["experiments"]["copy"]["vary"] = {}
    tiny["experiments"]["copy"]["variants"] = {
        "a": {"model.position": "none", "model.scale": "none"},
        "b": {"model.position": "rotary", "model.n_heads": 1},
        "c": {"model.position": "none", "model.n_heads": 1},
    }
    write_plan(study := make_study(tiny), study.runs(), tmp_path)
    components = read_plan(tmp_path)["experiments"]["copy"]["components"]
    assert list(components) == ["model.position", "model.n_heads", "model.scale"], "in the order of the catalogue"
    position, heads, scale = components.values()
    assert isinstance(position, dict)
    assert isinstance(heads, dict)
    assert isinstance(scale, dict)
    assert list(position) == ["says", "section", "equation", "next", "off"]
    assert "order of the words" in position["says"]
    assert position["section"] == "Position, nonlinearity, masking (21:23)"
    assert position["equation"].startswith("x_i + p_i")
    assert position["next"] == "ablations run positions"
    first, second = position["off"].split("; ")
    assert first == "none: No position signal"
    assert second.startswith("rotary: Queries and keys turned"), "each value once, the base's not at all"
    assert heads["off"] == "", "of a number nothing is known"
    assert scale["off"] == "none: scores as they are"
