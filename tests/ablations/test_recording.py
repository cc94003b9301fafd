"""The command that a record names is one that trains the same study."""

from pathlib import Path
from typing import Any

import pytest

from ablations.load import load_study, make_study
from ablations.plan import write_plan
from ablations.recording import command_for

TARGET = Path("docs/results/quick")


def test_a_shipped_study_is_named(tmp_path: Path) -> None:
    study = load_study("quick")
    write_plan(study, study.runs(), tmp_path)
    assert command_for(tmp_path, TARGET) == "ablations run quick"


@pytest.mark.parametrize(("settings", "seeds"), [([], 2), (["train.steps=7"], None)])
def test_a_shipped_study_that_was_changed_is_trained_by_its_file(
    settings: list[str], seeds: int | None, tmp_path: Path
) -> None:
    study = load_study("quick", settings, seeds)
    write_plan(study, study.runs(), tmp_path)
    assert command_for(tmp_path, TARGET) == "ablations run docs/results/quick/study.yaml"
    again = load_study(str(tmp_path / "study.yaml"))
    assert [run.id for run in again.runs()] == [run.id for run in study.runs()]


def test_a_study_of_ones_own_is_trained_by_its_file(tiny: dict[str, Any], tmp_path: Path) -> None:
    study = make_study(tiny)
    write_plan(study, study.runs(), tmp_path)
    assert command_for(tmp_path, Path("kept/tiny")) == "ablations run kept/tiny/study.yaml"
