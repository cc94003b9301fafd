"""Which runs a sweep trains, in which order, and alone in its folder."""

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from ablations import sweep
from ablations.comparisons import pilot
from ablations.load import make_study
from ablations.results import Result, write_result, write_run
from ablations.study import Run, Study
from ablations.sweep import Options, train_missing
from models.config import ConfigError
from reports.rows import read_plan, read_study
from tests.ablations.test_runner import Pretence


def ids(runs: Sequence[Run]) -> list[str]:
    return [run.id for run in runs]


def several(tiny: dict[str, Any], **train: Any) -> Study:
    """Two seeds of runs of 4, 9 and 2 steps."""
    tiny["experiments"]["copy"]["vary"] = {"train.steps": [9, 2]}
    tiny["experiments"]["copy"]["train"] |= train
    return make_study(tiny)


def test_the_longest_runs_come_first_and_a_second_sweep_trains_nothing(
    tiny: dict[str, Any], tmp_path: Path, pretended: list[Pretence]
) -> None:
    study = several(tiny)
    steps = {run.id: run.settings.train.steps for run in study.runs()}
    outcomes = train_missing(study, tmp_path, Options())
    assert [steps[run] for run in pretended[0].order] == [9, 9, 4, 4, 2, 2]
    assert len(outcomes) == 6
    assert train_missing(study, tmp_path, Options()) == []
    assert sum(executor.started.total() for executor in pretended) == 6


def test_what_failed_and_what_is_new_is_trained_and_what_is_done_is_not(
    tiny: dict[str, Any], tmp_path: Path, pretended: list[Pretence]
) -> None:
    runs = make_study(tiny).runs()
    for run, status in zip(runs, ("completed", "diverged", "failed"), strict=False):
        (tmp_path / run.folder).mkdir(parents=True)
        write_run(run, tmp_path / run.folder, None)
        write_result(run, tmp_path / run.folder, Result(status), "", None)
    train_missing(make_study(tiny), tmp_path, Options())
    assert set(pretended[0].order) == set(ids(runs[2:]))
    train_missing(make_study(tiny, seeds=3), tmp_path, Options())
    assert len(pretended[1].order) == 2


def test_redo_forgets_what_was_there(tiny: dict[str, Any], tmp_path: Path, pretended: list[Pretence]) -> None:
    study = make_study(tiny)
    train_missing(study, tmp_path, Options())
    left = tmp_path / study.runs()[0].folder / "checkpoints/step-3.ckpt"
    left.parent.mkdir()
    left.touch()
    copy = tmp_path / "copy/renamed/seed-0"
    shutil.copytree(left.parents[1], copy)
    train_missing(study, tmp_path, Options(redo=True))
    assert sorted(pretended[1].order) == sorted(ids(study.runs()))
    assert not left.exists()
    assert not copy.exists()


def test_a_pilot_keeps_the_plan_of_the_study(tiny: dict[str, Any], tmp_path: Path, pretended: list[Pretence]) -> None:
    study = make_study(tiny)
    train_missing(pilot(study, 1), tmp_path, Options(), planned=study)
    assert len(pretended[0].order) == 1
    assert len(read_plan(tmp_path)["runs"]) == len(study.runs())
    train_missing(make_study(tiny, seeds=3), tmp_path, Options())
    before = (tmp_path / "plan.json").read_bytes()
    train_missing(pilot(study, 5), tmp_path, Options(), planned=study)
    assert (tmp_path / "plan.json").read_bytes() == before


def test_what_was_planned_before_and_is_no_more_is_said(
    tiny: dict[str, Any], tmp_path: Path, pretended: list[Pretence], capsys: pytest.CaptureFixture[str]
) -> None:
    more = {**tiny, "experiments": {**tiny["experiments"], "other": dict(tiny["experiments"]["copy"])}}
    train_missing(make_study(more), tmp_path, Options())
    assert "planned before" not in capsys.readouterr().err
    train_missing(make_study(tiny), tmp_path, Options())
    assert "planned before and not now: other, in whole or part" in capsys.readouterr().err


def test_checkpoints_of_a_run_killed_just_after_its_result_go_with_the_next_sweep(
    tiny: dict[str, Any], tmp_path: Path, pretended: list[Pretence]
) -> None:
    study = make_study(tiny)
    train_missing(study, tmp_path, Options())
    first, second = (tmp_path / run.folder / "checkpoints" for run in study.runs()[:2])
    for folder in (first, second):
        folder.mkdir()
        for name in ("step-3.ckpt", ".step-6.ckpt.4711"):
            (folder / name).touch()
    (second / "best.ckpt").touch()
    assert train_missing(study, tmp_path, Options()) == []
    assert not first.exists()
    assert [path.name for path in second.iterdir()] == ["best.ckpt"]


def test_shards_cut_the_plan_into_parts_of_like_size_whatever_is_done(
    tiny: dict[str, Any], tmp_path: Path, pretended: list[Pretence]
) -> None:
    study = several(tiny)
    steps = {run.id: run.settings.train.steps for run in study.runs()}
    for index in (1, 2):
        train_missing(study, tmp_path, Options(shard=(index, 2)))
    parts = [sorted(steps[run] for run in executor.order) for executor in pretended]
    assert parts == [[2, 4, 9], [2, 4, 9]]
    assert sorted(pretended[0].order + pretended[1].order) == sorted(steps)
    assert train_missing(study, tmp_path, Options(shard=(1, 3))) == []


def test_variants_with_the_same_settings_are_trained_once_and_both_have_the_result(
    tiny: dict[str, Any], tmp_path: Path, pretended: list[Pretence]
) -> None:
    tiny["experiments"]["again"] = {**tiny["experiments"]["copy"], "vary": {"model.position": ["learned"]}}
    study = make_study(tiny, seeds=1)
    assert len(study.runs()) == 4
    train_missing(study, tmp_path, Options())
    assert pretended[0].started.total() == 3
    assert [row.state for row in read_study(tmp_path).runs] == ["completed"] * 4


def test_too_few_devices_for_a_run_that_shares_its_batches_are_refused(tiny: dict[str, Any], tmp_path: Path) -> None:
    tiny["experiments"]["copy"]["model"]["norm"] = "batch"
    tiny["experiments"]["copy"]["train"]["devices"] = 2
    with pytest.raises(ConfigError, match=r"train.devices=2: must be 1 with model.norm='batch'"):
        train_missing(make_study(tiny), tmp_path / "new", Options())
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(("held", "shard"), [("1-1", (1, 1)), ("1-1", (2, 3)), ("2-3", (1, 1)), ("2-3", (2, 3))])
def test_a_second_sweep_in_the_folder_is_refused_and_changes_nothing(
    held: str, shard: tuple[int, int], tiny: dict[str, Any], tmp_path: Path, pretended: list[Pretence]
) -> None:
    lock = FileLock(tmp_path / f".lock-{held}")
    with lock, pytest.raises(ConfigError, match="another sweep is at work"):
        train_missing(make_study(tiny), tmp_path, Options(shard=shard))
    assert {path.name for path in tmp_path.iterdir()} <= {".lock-1-1", ".lock-2-3"}
    assert pretended[0].order == []


def test_other_shards_may_be_at_work(tiny: dict[str, Any], tmp_path: Path, pretended: list[Pretence]) -> None:
    with FileLock(tmp_path / ".lock-2-3"):
        train_missing(make_study(tiny), tmp_path, Options(shard=(1, 3)))
    assert len(pretended[0].order) == 2


def test_warnings_of_the_data_are_shown_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ABLATIONS_CACHE", str(tmp_path / "cache"))
    for name in ("train", "val", "test_2016_flickr"):
        for language in ("de", "en"):
            (tmp_path / f"{name}.{language}").write_text(f"ein satz {language}\nnoch einer\n", encoding="utf-8")
    task = {"name": "translation", "root": str(tmp_path), "vocabulary": 22}
    spec = {"task": task, "model": {"architecture": "gru"}, "vary": {"train.lr": [1e-3, 1e-4]}}
    sweep.checked(make_study({"name": "overlap", "experiments": {"e": spec}}).runs())
    warnings = [line for line in capsys.readouterr().err.splitlines() if line.startswith("warning: ")]
    assert any("2 of 2 test sentences are in the training text" in line for line in warnings)
    assert len(set(warnings)) == len(warnings)


@pytest.mark.parametrize(
    ("name", "root", "told"),
    [
        ("tiny", "runs/tiny", "ablations report tiny --open"),
        ("my study", "runs/my_study", "ablations report 'my study' --open"),
        ("tiny", "elsewhere/tiny", "ablations report elsewhere/tiny/ --open"),
        ("tiny", "here", "ablations report here/ --open"),
    ],
)
def test_the_end_of_a_sweep_says_how_its_report_is_opened(
    name: str,
    root: str,
    told: str,
    tiny: dict[str, Any],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sweep, "which", lambda name: f"/bin/{name}")
    sweep.tell_page(Path(root) / "report/index.html", make_study({**tiny, "name": name}), Path(root))
    shown = capsys.readouterr()
    assert shown.out == f"{root}/report/index.html\n"
    assert shown.err == f"that is the report; this opens it: {told}\n"


def test_a_command_that_the_shell_does_not_find_is_named_by_its_path(
    tiny: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sweep, "which", lambda name: None)
    monkeypatch.setattr(sys, "executable", str(tmp_path / ".venv/bin/python"))
    named = []
    for _ in range(2):
        sweep.tell_page(Path("page"), make_study(tiny), Path("runs/tiny"))
        named.append(capsys.readouterr().err.split()[-4])
        (tmp_path / ".venv/bin").mkdir(parents=True, exist_ok=True)
        (tmp_path / ".venv/bin/ablations").touch()
    assert named == ["ablations", ".venv/bin/ablations"]


@pytest.mark.parametrize(("name", "again"), [("result.json", 1), ("run.json", 0), ("metrics.csv", 0)])
def test_a_torn_file_costs_its_run_at_most_and_finished_ones_are_not_touched(
    name: str, again: int, tiny: dict[str, Any], tmp_path: Path, pretended: list[Pretence]
) -> None:
    """HB-30, HB-31: the last 20 bytes are cut off."""
    study = make_study(tiny)
    train_missing(study, tmp_path, Options())
    torn, *others = (tmp_path / run.folder for run in study.runs())
    (torn / "metrics.csv").write_text("step,split,metric,coordinate,value\n1,train,loss,,2.0\n2,train,loss,,1.0\n")
    os.truncate(torn / name, (torn / name).stat().st_size - 20)
    before = [(path, path.stat().st_mtime_ns, path.read_bytes()) for place in others for path in place.iterdir()]
    assert len(train_missing(study, tmp_path, Options())) == again
    assert [row.state for row in read_study(tmp_path).runs] == ["completed"] * 4
    assert before == [
        (path, path.stat().st_mtime_ns, path.read_bytes()) for place in others for path in place.iterdir()
    ]


def test_a_variant_more_keeps_what_is_done(tiny: dict[str, Any], tmp_path: Path, pretended: list[Pretence]) -> None:
    """HB-30."""
    train_missing(make_study(tiny), tmp_path, Options())
    tiny["experiments"]["copy"]["vary"] = {"model.position": ["learned", "none"]}
    outcomes = train_missing(make_study(tiny), tmp_path, Options())
    assert [outcome.run.variant for outcome in outcomes] == ["position=learned"] * 2
    assert [row.state for row in read_study(tmp_path).runs] == ["completed"] * 6


@pytest.mark.parametrize(("gpus", "devices"), [([], ["cpu 0", "cpu 1"]), (["2", "5"], ["cuda 2", "cuda 5"])])
def test_runs_go_to_the_gpus_else_to_the_cpu_which_is_said(
    gpus: list[str], devices: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """HB-34."""
    monkeypatch.setattr(sweep, "visible_gpus", lambda: gpus)
    monkeypatch.setattr(sweep, "cores_available", lambda: 2)
    executor: Any = sweep.make_executor(tmp_path, Options(), None)
    assert [str(device) for device in executor.devices] == devices
    assert capsys.readouterr().err == ("" if gpus else "no GPU is to be seen; the runs go to the CPU, a thread each\n")


@pytest.mark.parametrize("redo", [False, True])
def test_a_run_for_which_there_are_too_few_devices_is_refused_before_anything_is_touched(
    redo: bool, tiny: dict[str, Any], tmp_path: Path, pretended: list[Pretence], monkeypatch: pytest.MonkeyPatch
) -> None:
    train_missing(make_study(tiny, seeds=1), tmp_path, Options())
    monkeypatch.undo()
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    study = make_study(tiny, ["train.devices=3"], seeds=2)
    with pytest.raises(ConfigError, match=r"train.devices=3: more than the devices here: cpu 0"):
        train_missing(study, tmp_path, Options(devices="cpu:1", redo=redo))
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_study_whose_name_makes_the_same_folder_is_refused(
    tiny: dict[str, Any], tmp_path: Path, pretended: list[Pretence]
) -> None:
    train_missing(make_study(tiny), tmp_path, Options())
    tiny["name"] = "tiny!"
    with pytest.raises(ConfigError, match=r"name='tiny!': .* holds the study 'tiny'"):
        train_missing(make_study(tiny), tmp_path, Options())
    assert read_study(tmp_path).plan["study"] == "tiny"
