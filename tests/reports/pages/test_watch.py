"""The report follows a sweep, with a clock and a builder of the test's own."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reports.pages.watch import is_complete, signature, watch
from reports.rows import RowsError

Maker = Callable[..., Any]


def study_of(make: Maker) -> Any:
    study = make(seeds=(0, 1))
    study.experiment("e", {"x": {"model.norm": "none"}}, headline=["loss"])
    study.write()
    return study


RUNS = [("base", 0), ("base", 1), ("x", 0), ("x", 1)]


class Scene:
    """What happens between two looks, one step a sleep; and what was built."""

    def __init__(self, *steps: Callable[[], Any]) -> None:
        self.steps = list(steps)
        self.slept: list[float] = []
        self.built: list[int | None] = []
        self.at_work = False

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        assert self.steps, "watched for too long"
        self.steps.pop(0)()

    def build(self, folder: Path, refresh: int | None) -> Path:
        self.built.append(refresh)
        return folder / "report" / "index.html"

    def watch(self, folder: Path, seconds: float = 5.0, **options: Any) -> Path:
        return watch(folder, seconds, busy=lambda: self.at_work, build=self.build, sleep=self.sleep, **options)


def run(study: Any, *which: int, **fields: Any) -> Callable[[], Any]:
    return lambda: [study.run("e", *RUNS[i], [("test", "loss", "", 0.5)], **fields) for i in which]


def nothing() -> None: ...


def test_it_builds_when_results_change_and_ends_with_the_sweep(make: Maker, capsys: pytest.CaptureFixture[str]) -> None:
    study = study_of(make)
    scene = Scene(run(study, 0), nothing, nothing, run(study, 1, 2), run(study, 3))
    shown: list[Path] = []
    page = scene.watch(study.folder, 7.0, shown=shown.append)
    assert scene.built == [5, 5, 5, None]
    assert scene.slept == [7.0] * 5
    assert page == study.folder / "report" / "index.html"
    assert shown == [page]
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = captured.err.splitlines()
    assert [line.split(": ")[-1] for line in lines[:-1]] == [f"{n} of 4 runs have ended" for n in (0, 1, 3)]
    assert lines[-1] == f"the sweep has ended: 4 of 4 runs have ended; {page}"


def test_a_finished_study_is_built_once_and_left(make: Maker) -> None:
    study = study_of(make)
    run(study, 0, 1, 2, 3)()
    scene = Scene()
    shown: list[Path] = []
    page = scene.watch(study.folder, shown=shown.append)
    assert scene.built == [None]
    assert scene.slept == []
    assert shown == [page]


def test_failed_runs_end_a_sweep_once_nobody_tries_them_again(make: Maker) -> None:
    study = study_of(make)
    run(study, 0, 1, 2)()
    run(study, 3, status="failed", reason="out of memory")()
    scene = Scene(nothing, lambda: setattr(scene, "at_work", False))
    scene.at_work = True
    scene.watch(study.folder)
    assert scene.built == [5, None]
    assert len(scene.slept) == 2


def test_a_sweep_that_stops_early_ends_it(make: Maker) -> None:
    study = study_of(make)
    scene = Scene(run(study, 0), lambda: setattr(scene, "at_work", False))
    scene.at_work = True
    scene.watch(study.folder)
    assert scene.built == [5, 5, None]


def test_it_waits_for_a_sweep_that_has_not_begun(make: Maker) -> None:
    study = study_of(make)
    scene = Scene(nothing, lambda: setattr(scene, "at_work", True), lambda: setattr(scene, "at_work", False))
    scene.watch(study.folder)
    assert scene.built == [5, None]
    assert len(scene.slept) == 3


def test_results_of_the_last_moment_are_reported(make: Maker) -> None:
    """A result that is written while the page is being built belongs to the next."""
    study = study_of(make)
    run(study, 0, 1, 2)()
    scene = Scene(nothing)
    built: list[int | None] = []

    def build(folder: Path, refresh: int | None) -> Path:
        if not built:
            run(study, 3)()
        built.append(refresh)
        return folder

    watch(study.folder, build=build, sleep=scene.sleep)
    assert built == [5, None]


def test_folders_that_vanish_for_a_moment_are_looked_at_again(make: Maker, capsys: pytest.CaptureFixture[str]) -> None:
    study = study_of(make)
    run(study, 0, 1, 2)()
    away = study.folder.with_name("away")

    def build(folder: Path, refresh: int | None) -> Path:
        if not folder.exists():
            raise RowsError(f"{folder}: no such file")
        scene.built.append(refresh)
        return folder

    scene = Scene(
        lambda: study.folder.rename(away),
        lambda: away.rename(study.folder),
        lambda: (study.folder / "plan.json").write_text("{"),
        lambda: study.write(),
        run(study, 3),
    )
    watch(study.folder, build=build, sleep=scene.sleep)
    assert scene.built[-1] is None
    assert scene.built == [5, 5, 5, None]
    assert "not yet:" in capsys.readouterr().err


def test_a_disk_that_is_full_for_a_moment_is_tried_again(make: Maker) -> None:
    study = study_of(make)
    run(study, 0, 1, 2)()
    tries: list[int | None] = []

    def build(folder: Path, refresh: int | None) -> Path:
        tries.append(refresh)
        if len(tries) == 1:
            raise OSError(28, "No space left on device")
        return folder

    watch(study.folder, build=build, sleep=Scene(nothing, run(study, 3)).sleep)
    assert tries == [5, 5, None]


def test_control_c_leaves_a_page_that_does_not_load_itself(make: Maker) -> None:
    study = study_of(make)

    def interrupt() -> None:
        raise KeyboardInterrupt

    scene = Scene(run(study, 0), interrupt)
    with pytest.raises(KeyboardInterrupt):
        scene.watch(study.folder)
    assert scene.built == [5, 5, None]


def test_a_folder_without_a_plan_is_refused(tmp_path: Path) -> None:
    scene = Scene()
    with pytest.raises(RowsError, match=r"plan\.json"):
        scene.watch(tmp_path)
    assert scene.built == []


def test_the_signature_changes_with_what_is_reported_and_with_nothing_else(make: Maker) -> None:
    study = study_of(make)
    seen = [signature(study.folder)]

    def changed() -> bool:
        seen.append(signature(study.folder))
        return seen[-1] != seen[-2]

    place = study.run("e", "base", 0, [("test", "loss", "", 0.5)])
    assert changed()
    assert not changed()
    (study.folder / "report").mkdir()
    (study.folder / "report" / "index.html").write_text("page")
    (place / "progress.json").write_text("{}")
    assert not changed()
    result = json.loads((place / "result.json").read_text())
    (place / "result.json").write_text(json.dumps(result | {"commit": "0" * 40}))
    os.utime(place / "result.json", ns=(5, 5))
    assert changed()
    with (place / "metrics.csv").open("a") as file:
        file.write("1,validation,loss,,0.5\n")
    assert changed()
    shutil.rmtree(place)
    assert changed()


def test_complete_is_a_plan_without_missing_runs(make: Maker, tmp_path: Path) -> None:
    study = study_of(make)
    assert not is_complete(study.folder)
    run(study, 0, 1, 2, 3)()
    assert is_complete(study.folder)
    assert not is_complete(tmp_path / "absent")
