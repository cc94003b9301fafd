"""The plan on disk."""

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
