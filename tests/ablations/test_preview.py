"""The plan as a user sees it before anything is trained."""

from pathlib import Path
from typing import Any

import pytest

from ablations.load import make_study
from ablations.preview import preview, show
from ablations.results import Result, write_result


def test_sizes_are_those_of_the_variant_and_time_is_claimed_only_from_runs_that_are_done(
    tiny: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tiny["experiments"]["copy"]["vary"] = {"model.n_layers": [2]}
    study = make_study(tiny)
    one, two, *_ = entries = preview(study, tmp_path)
    assert two["parameters"] > one["parameters"] > 0
    assert two["predicted_flops"] > one["predicted_flops"] > 0
    assert not any(entry["done"] for entry in entries)
    show(study, entries)
    assert "core-minutes" not in capsys.readouterr().out

    run = study.runs()[0]
    (tmp_path / run.folder).mkdir(parents=True)
    write_result(run, tmp_path / run.folder, Result("completed", cost={"wall_seconds": 600.0}), started="", commit=None)
    entries = preview(study, tmp_path)
    assert [entry["done"] for entry in entries] == [True, False, False, False]
    show(study, entries)
    left = sum(entry["predicted_flops"] for entry in entries[1:]) / entries[0]["predicted_flops"] * 10
    assert f"3 of 4 runs to train, about {left:.0f} core-minutes" in capsys.readouterr().out
