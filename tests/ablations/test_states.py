"""States of the runs of a study."""

from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from ablations.load import make_study
from ablations.plan import write_plan
from ablations.results import Result, write_result, write_run
from ablations.states import show, states


def test_every_planned_run_has_a_state(
    tiny: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = make_study(tiny, seeds=3)
    runs = study.runs()
    write_plan(study, runs, tmp_path)
    endings = [("completed", None), ("diverged", "not finite at step 3"), ("failed", "no memory\nmore"), None]
    for run, ending in zip(runs, endings, strict=False):
        folder = tmp_path / run.folder
        folder.mkdir(parents=True)
        write_run(run, folder, commit=None)
        if ending is not None:
            write_result(run, folder, Result(*ending), started="", commit=None)
    found = states(tmp_path)
    expected = ["completed", "diverged", "failed", "interrupted", "waiting", "waiting"]
    assert [run["state"] for run in found["runs"]] == expected
    assert {state: n for state, n in found["counts"].items() if n} == {**dict.fromkeys(expected, 1), "waiting": 2}
    with FileLock(tmp_path / ".lock"):
        assert states(tmp_path)["runs"][3]["state"] == "running"
    show(found)
    shown = capsys.readouterr().out
    assert "no memory" in shown
    assert "more" not in shown
    assert "2 of 6 runs are done" in shown
