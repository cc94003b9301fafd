"""The plan as a user sees it before anything is trained."""

import re
from pathlib import Path
from typing import Any

import pytest

from ablations import calibrate
from ablations.calibrate import Speed
from ablations.load import make_study
from ablations.preview import preview, show, wall_seconds
from ablations.results import Result, write_result, write_run
from ablations.study import Run


@pytest.fixture(autouse=True)
def speeds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device of 1 GFLOP/s for training, infinitely fast at the rest; start and report take 80 s and 10 a run."""
    monkeypatch.setattr(calibrate, "_timed", lambda *_: Speed(training=1e-9, forward=0.0, translation=0.0))
    monkeypatch.setattr(calibrate, "LOOP", 0.0)
    monkeypatch.setattr(calibrate, "START", 100.0)
    for name, seconds in {"BEGIN": 60.0, "REPORT": 20.0, "REPORTED": 10.0}.items():
        monkeypatch.setattr(f"ablations.preview.{name}", seconds)


def end(run: Run, root: Path, seconds: float, status: str = "completed") -> None:
    (root / run.folder).mkdir(parents=True)
    write_run(run, root / run.folder, commit=None)
    result = Result(status, cost={"wall_seconds": seconds})
    write_result(run, root / run.folder, result, started="", commit=None)


def test_sizes_and_seconds_are_those_of_the_variant(
    tiny: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tiny["experiments"]["copy"]["vary"] = {"model.n_layers": [2]}
    study = make_study(tiny)
    one, two, *_ = entries = preview(study, tmp_path)
    assert two["parameters"] > one["parameters"] > 0
    assert two["predicted_flops"] > one["predicted_flops"] > 0
    assert [entry["done"] for entry in entries] == [False] * 4
    assert [entry["basis"] for entry in entries] == ["calibrated"] * 4
    for entry in entries:  # setting up the data is added
        assert entry["predicted_seconds"] == pytest.approx(100 + entry["predicted_flops"] * 1e-9, abs=2)
        assert entry["devices"] == 1
    show(study, entries, places=2)
    shown = capsys.readouterr().out
    assert re.search(r"^4 of 4 runs to train: 9 min for one at a time, about 5 min with 2 at a time", shown, re.M)
    assert shown.rstrip().endswith(", start and report included (by steps timed here)")


def test_what_is_done_is_a_better_measure(
    tiny: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = make_study(tiny, seeds=3)
    runs = {(run.variant, run.seed): run for run in study.runs()}
    end(runs["base", 0], tmp_path, 60.0)
    end(runs["base", 1], tmp_path, 180.0, "diverged")
    end(runs["position=none", 0], tmp_path, 60.0, "failed")
    entries = {(entry["variant"], entry["seed"]): entry for entry in preview(study, tmp_path)}
    assert [key for key, entry in entries.items() if entry["done"]] == [("base", 0), ("base", 1)]
    assert [entries["base", seed]["seconds"] for seed in range(3)] == [60.0, 180.0, None]
    assert [entries["base", seed]["predicted_seconds"] for seed in range(3)] == [120.0] * 3
    assert {entries["base", seed]["basis"] for seed in range(3)} == {"measured"}
    assert {entries["position=none", seed]["basis"] for seed in range(3)} == {"calibrated"}
    show(study, list(entries.values()), places=1)
    shown = capsys.readouterr().out
    assert "4 of 6 runs to train: 9 min for one at a time, about 9 min with 1 at a time" in shown
    assert shown.rstrip().endswith("(by runs that are done and steps timed here)")


def test_a_study_that_is_done_is_not_timed(
    tiny: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delattr(calibrate, "_timed")
    study = make_study(tiny)
    for run in study.runs():
        end(run, tmp_path, 5.0)
    show(study, preview(study, tmp_path), places=2)
    assert capsys.readouterr().out.rstrip().endswith("0 of 4 runs to train")


def test_what_two_variants_share_is_trained_once(
    tiny: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tiny["experiments"]["again"] = tiny["experiments"]["copy"]
    study = make_study(tiny)
    entries = preview(study, tmp_path)
    assert len(entries) == 8
    show(study, entries, places=2)
    assert "4 of 4 runs to train: 9 min" in capsys.readouterr().out
    end(study.runs()[0], tmp_path, 5.0)
    assert sum(entry["done"] for entry in preview(study, tmp_path)) == 2


@pytest.mark.parametrize(
    ("runs", "places", "seconds"),
    [
        ([(3.0, 1)], 2, 3.0),
        ([(2.0, 1), (3.0, 1), (5.0, 1)], 2, 5.0),  # 5 | 3 + 2
        ([(4.0, 1), (4.0, 1), (4.0, 1)], 2, 8.0),
        ([(6.0, 1), (5.0, 2), (1.0, 1)], 2, 11.0),  # 5 on both, then 6 | 1
        ([(5.0, 4)], 2, 5.0),
    ],
)
def test_several_devices_first_then_the_longest(runs: list[tuple[float, int]], places: int, seconds: float) -> None:
    assert wall_seconds(runs, places) == seconds
