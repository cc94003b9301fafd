"""What takes disk, and what is removed of it: never a result, never anything of a run at work."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from ablations import cli, flags
from ablations.clean import KINDS, clean, show
from ablations.load import make_study
from ablations.pace import sweep_file, sweep_lock, write_sweep
from ablations.plan import write_plan
from ablations.progress import LOCK, Progress, write_progress
from ablations.results import Result, write_result, write_run
from ablations.study import Run

RESULTS = ("run.json", "metrics.csv", "log.txt", "outputs/translations.csv.gz")
Tree = dict[str, int]


@pytest.fixture
def runs(tiny: dict[str, Any], tmp_path: Path) -> list[Run]:
    """Planned: the first has ended and kept its weights, the second failed, the third was killed, the fourth waits."""
    study = make_study(tiny)
    write_plan(study, study.runs(), tmp_path)
    ended, failed, killed, _ = study.runs()
    fill(ended, tmp_path, "completed", {"best.ckpt": 101, "subwords.model": 13, "step-9.ckpt": 7})
    fill(failed, tmp_path, "failed", {"step-2.ckpt": 211, "step-4.ckpt": 223, ".step-6.ckpt": 17})
    fill(killed, tmp_path, None, {"step-2.ckpt": 227})
    (tmp_path / killed.folder / LOCK).touch()
    write_progress(tmp_path / killed.folder, Progress(1, 4, None, None, "cpu", 1.0))
    (tmp_path / "report").mkdir()
    (tmp_path / "report/index.html").write_bytes(bytes(307))
    return study.runs()


def fill(run: Run, root: Path, status: str | None, checkpoints: dict[str, int]) -> Path:
    folder = root / run.folder
    for name, size in {**dict.fromkeys(RESULTS, 3), **{f"checkpoints/{n}": s for n, s in checkpoints.items()}}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(bytes(size))
    write_run(run, folder, commit=None)
    if status is not None:
        write_result(run, folder, Result(status), started="", commit=None)
    return folder


def foreign(tiny: dict[str, Any], root: Path) -> Path:
    """A run with other settings than the plan's."""
    tiny["experiments"]["copy"]["train"]["steps"] = 5
    return fill(make_study(tiny).runs()[0], root, "completed", {"best.ckpt": 401})


def files(root: Path) -> set[str]:
    return {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file() or path.is_symlink()}


def below(folder: str, names: Iterable[str]) -> set[str]:
    return {f"{folder}/{name}" for name in names}


def dead_pid() -> int:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    return ended.pid


def numbers(found: dict[str, Any]) -> dict[str, tuple[int, int]]:
    return {kind: (there["number"], there["bytes"]) for kind, there in found["removable"].items()}


def test_kinds_are_counted_and_nothing_is_removed_unless_told(
    runs: list[Run], tiny: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = foreign(tiny, tmp_path)
    before = files(tmp_path)
    found = clean(tmp_path)
    progress = (tmp_path / runs[2].folder / "progress.json").stat().st_size
    size = sum(path.stat().st_size for path in other.rglob("*") if path.is_file())
    assert numbers(found) == {
        "weights": (2, 114),
        "checkpoints": (3, 211 + 223 + 227),
        "foreign": (1, size),
        "leftovers": (4, 7 + 17 + progress),  # two checkpoints, a lock, progress
        "trials": (0, 0),
        "report": (1, 307),
    }
    assert found["bytes"] == sum((tmp_path / name).stat().st_size for name in before)
    assert files(tmp_path) == before
    show(found, [])
    shown = capsys.readouterr().out
    assert all(f"\n{kind} " in shown for kind in KINDS)
    assert "nothing is removed; --remove " in shown


REMOVED = {
    "weights": {0: below("checkpoints", ["best.ckpt", "subwords.model"])},
    "checkpoints": {1: below("checkpoints", ["step-2.ckpt", "step-4.ckpt"]), 2: {"checkpoints/step-2.ckpt"}},
    "leftovers": {0: {"checkpoints/step-9.ckpt"}, 1: {"checkpoints/.step-6.ckpt"}, 2: {LOCK, "progress.json"}},
}


@pytest.mark.parametrize("kind", REMOVED)
def test_only_the_kind_that_was_named_goes(kind: str, runs: list[Run], tmp_path: Path) -> None:
    before = files(tmp_path)
    found = clean(tmp_path, [kind])
    gone = {f"{runs[place].folder}/{name}" for place, names in REMOVED[kind].items() for name in names}
    assert before - files(tmp_path) == gone
    assert files(tmp_path) < before
    assert {path.removeprefix(f"{tmp_path}/") for path in found["removed"][kind]["paths"]} == gone
    assert sum(there["number"] for there in found["removed"].values()) == len(gone)


def test_foreign_runs_and_the_report_go_as_a_whole(runs: list[Run], tiny: dict[str, Any], tmp_path: Path) -> None:
    before = files(tmp_path)
    other = foreign(tiny, tmp_path)
    clean(tmp_path, ["foreign", "report"])
    assert not other.exists()
    assert before - files(tmp_path) == {"report/index.html"}


def test_all_leaves_the_results(runs: list[Run], tiny: dict[str, Any], tmp_path: Path) -> None:
    foreign(tiny, tmp_path)
    clean(tmp_path, list(KINDS))
    left = {f"{run.folder}/{name}" for run in runs[:3] for name in RESULTS}
    left |= {f"{run.folder}/result.json" for run in runs[:2]}
    assert files(tmp_path) == left | {"plan.json", "study.yaml"}
    assert numbers(clean(tmp_path)) == dict.fromkeys(KINDS, (0, 0))
    assert not (tmp_path / runs[0].folder / "checkpoints").exists()


def test_a_copy_of_a_planned_run_is_a_result(runs: list[Run], tmp_path: Path) -> None:
    """As read_study takes it: a variant that was renamed keeps its numbers."""
    copy = tmp_path / "copy/renamed" / Path(runs[0].folder).name
    copy.parent.mkdir()
    (tmp_path / runs[0].folder).rename(copy)
    clean(tmp_path, ["foreign"])
    assert (copy / "result.json").is_file()


def test_a_run_at_work_is_left_alone(runs: list[Run], tiny: dict[str, Any], tmp_path: Path) -> None:
    other = foreign(tiny, tmp_path)
    before = files(tmp_path)
    places = [*(tmp_path / run.folder for run in runs[:3]), other]
    locks = [FileLock(place / LOCK) for place in places]
    for lock in locks:
        lock.acquire()
    try:
        found = clean(tmp_path, list(KINDS))
    finally:
        for lock in locks:
            lock.release()
    assert files(tmp_path) - {f"{place.relative_to(tmp_path)}/{LOCK}" for place in places} == (
        before - {"report/index.html", f"{runs[2].folder}/{LOCK}"}
    )
    assert found["busy"] == sorted(map(str, places))


def test_a_run_that_begins_meanwhile_is_left_alone(
    runs: list[Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ablations.clean._busy", lambda root, plan: set())
    folder = tmp_path / runs[2].folder
    with FileLock(folder / LOCK):
        found = clean(tmp_path, ["checkpoints"])
    assert (folder / "checkpoints/step-2.ckpt").is_file()
    assert found["removed"]["checkpoints"]["number"] == 2


def test_while_a_sweep_is_at_work_no_run_that_it_may_go_on_with_is_touched(
    runs: list[Run], tiny: dict[str, Any], tmp_path: Path
) -> None:
    foreign(tiny, tmp_path)
    write_sweep(tmp_path, (2, 3), 1, {}, done=0)
    with FileLock(sweep_lock(tmp_path, (2, 3))):
        before = files(tmp_path)
        found = clean(tmp_path, list(KINDS))
        after = files(tmp_path)
    assert found["busy"] == sorted(str(tmp_path / run.folder) for run in runs[1:])
    assert {name for name in after if name.startswith(runs[0].folder)} == {
        f"{runs[0].folder}/{name}" for name in (*RESULTS, "result.json")
    }
    assert all(name in after for name in before if name.startswith(tuple(run.folder for run in runs[1:])))
    assert sweep_file(tmp_path, (2, 3)).name in after
    assert found["removed"]["foreign"]["number"] == 1


def test_stale_files_of_sweeps_and_writers_are_leftovers(runs: list[Run], tmp_path: Path) -> None:
    write_sweep(tmp_path, (1, 1), 1, {}, done=0)
    sweep_lock(tmp_path, (1, 1)).touch()
    dead, folder = dead_pid(), tmp_path / runs[0].folder
    stale = [tmp_path / f".plan.json.{dead}", folder / f".result.json.{dead}"]
    others = [folder / f".run.json.{os.getpid()}", folder / f".metrics.csv.{dead}", folder / "notes.12"]
    for path in (*stale, *others):
        path.touch()
    hour_ago = time.time() - 3600
    for path in (*stale, others[0], others[2]):
        os.utime(path, (hour_ago, hour_ago))  # the second of the others may be another machine's, just being written
    before = files(tmp_path)
    clean(tmp_path, ["leftovers"])
    gone = before - files(tmp_path)
    assert {path.relative_to(tmp_path).as_posix() for path in stale} | {"sweep-1-1.json", ".lock-1-1"} <= gone
    assert all(path.exists() for path in others)


def test_no_link_is_followed(runs: list[Run], tiny: dict[str, Any], tmp_path: Path) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    (outside / "precious").write_text("x")
    # a link among the weights, checkpoints elsewhere, a foreign run that is a link, a report that is one
    (tmp_path / runs[0].folder / "checkpoints/link.ckpt").symlink_to(outside / "precious")
    shutil.rmtree(tmp_path / runs[1].folder / "checkpoints")
    (tmp_path / runs[1].folder / "checkpoints").symlink_to(outside)
    other = foreign(tiny, tmp_path)
    shutil.move(other, outside / "run")
    other.symlink_to(outside / "run")
    shutil.rmtree(tmp_path / "report")
    (tmp_path / "report").symlink_to(outside)
    there = files(outside)
    clean(tmp_path, list(KINDS))
    assert files(outside) == there
    assert not (tmp_path / runs[0].folder / "checkpoints").exists()
    assert (tmp_path / runs[1].folder / "checkpoints").is_symlink()
    assert other.is_symlink()


def test_a_plan_that_leads_elsewhere_leads_nowhere(runs: list[Run], tmp_path: Path) -> None:
    root = tmp_path / "copy"
    text = (tmp_path / "plan.json").read_text().replace(f'"{runs[1].folder}"', f'"../{runs[1].folder}"')
    (root / "plan.json").write_text(text)
    before = files(tmp_path)
    clean(root, list(KINDS))
    assert files(tmp_path) == before


def test_the_command_says_what_it_has_removed(
    runs: list[Run], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["clean", tmp_path.name, "--output", str(tmp_path.parent), "--remove", "weights,report"]
    assert cli.main([*command, "--remove", "checkpoints"]) == 0
    shown = capsys.readouterr().out
    assert "removed weights: 2, 0.0 MiB" in shown
    assert "removed checkpoints: 3, 0.0 MiB" in shown
    assert "removed report: 1, 0.0 MiB" in shown
    assert "removed leftovers" not in shown


def test_the_command_line_knows_the_kinds() -> None:
    assert tuple(KINDS) == flags.CLEANED


def test_runs_of_a_search_can_go_and_what_they_came_to_stays(tiny: dict[str, Any], tmp_path: Path) -> None:
    root = tmp_path / "tiny"
    study = make_study(tiny)
    write_plan(study, study.runs(), root)
    trial = root / "tune" / "copy" / "base" / "seed-1000-0a93fcbe"
    trial.mkdir(parents=True)
    (trial / "run.json").write_text("{}")
    (root / "tune" / "trials.csv").write_text("experiment,variant,number\n")
    (root / "events" / "copy").mkdir(parents=True)
    found = clean(root, ["trials", "report"])
    assert [found["removed"][kind]["number"] for kind in ("trials", "report")] == [1, 1]
    assert not trial.exists()
    assert not (root / "events").exists()
    assert (root / "tune" / "trials.csv").exists()
