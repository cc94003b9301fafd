"""Which results of other studies are taken, and what is left where it is."""

import json
from pathlib import Path
from typing import Any

import pytest

from ablations import sweep
from ablations.load import make_study
from ablations.results import Metric, Result, write_result, write_run
from ablations.reuse import take_shared
from ablations.study import Run, Study
from ablations.sweep import Options, train_missing
from reports.rows import read_result, read_run, read_study, write_json
from tests.ablations.test_runner import Pretence

CODE = "0123456789abcdef"


def finished(run: Run, root: Path, commit: str = CODE, status: str = "completed") -> Path:
    """A run's folder with a result of its own."""
    folder = root / run.folder
    folder.mkdir(parents=True)
    write_run(run, folder, commit)
    value = [Metric("test", "loss", "", 0.7)]
    write_result(run, folder, Result(status, metrics=value), "2000-01-01T00:00:00+00:00", commit)
    (folder / "outputs").mkdir()
    (folder / "outputs/answers.csv").write_text("right\n5\n")
    return folder


@pytest.fixture
def studies(tiny: dict[str, Any], tmp_path: Path) -> tuple[list[Run], Study, Path]:
    """Runs of a study that lies in a folder with its plan, and a study of the same settings by other names."""
    first = make_study(tiny)
    (tmp_path / first.folder).mkdir()
    write_json(tmp_path / first.folder / "plan.json", {})
    renamed = {**tiny, "name": "second", "experiments": {"again": tiny["experiments"]["copy"]}}
    return first.runs(), make_study(renamed), tmp_path / first.folder


def test_a_result_of_the_same_code_is_taken_whole_under_the_names_of_this_study(
    studies: tuple[list[Run], Study, Path],
) -> None:
    (there, *_), second, folder = studies
    place = finished(there, folder)
    here = next(run for run in second.runs() if run.id == there.id)
    root = folder.parent / "second"
    assert take_shared(second.runs(), root, CODE) == {there.id: place}
    copied = root / here.folder
    assert read_result(copied) == read_result(place)
    assert (copied / "outputs/answers.csv").read_text() == "right\n5\n"
    run, original = read_run(copied), read_run(place)
    assert run is not None
    assert original is not None
    assert (run["study"], run["experiment"]) == ("second", "again")
    assert original["experiment"] == "copy"
    assert run["config"] == original["config"]
    assert [path.name for path in copied.parent.iterdir()] == [copied.name]


@pytest.mark.parametrize("commit", ["fedcba9876543210", f"{CODE}-dirty", None])
def test_a_result_of_other_code_is_not_taken(studies: tuple[list[Run], Study, Path], commit: str | None) -> None:
    (there, *_), second, folder = studies
    finished(there, folder, commit="-" if commit is None else CODE)
    root = folder.parent / "second"
    assert take_shared(second.runs(), root, commit) == {}
    assert not root.exists()


@pytest.mark.parametrize("spoil", ["failed", "torn", "renamed"])
def test_what_is_no_result_of_the_run_is_not_taken(studies: tuple[list[Run], Study, Path], spoil: str) -> None:
    (there, *_), second, folder = studies
    place = finished(there, folder, status="failed" if spoil == "failed" else "completed")
    if spoil == "torn":
        (place / "result.json").write_text("{")
    if spoil == "renamed":
        result = json.loads((place / "result.json").read_text())
        write_json(place / "result.json", {**result, "id": "other"})
    assert take_shared(second.runs(), folder.parent / "second", CODE) == {}


def test_what_an_earlier_try_has_left_is_replaced(studies: tuple[list[Run], Study, Path]) -> None:
    (there, *_), second, folder = studies
    finished(there, folder)
    root = folder.parent / "second"
    here = next(run for run in second.runs() if run.id == there.id)
    (root / here.folder / "checkpoints").mkdir(parents=True)
    take_shared(second.runs(), root, CODE)
    assert not (root / here.folder / "checkpoints").exists()
    assert read_result(root / here.folder) is not None


def test_a_sweep_trains_what_is_left_and_with_redo_everything(
    studies: tuple[list[Run], Study, Path],
    pretended: list[Pretence],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (there, *others), second, folder = studies
    finished(there, folder)
    monkeypatch.setattr(sweep, "current_commit", lambda: CODE)
    root = folder.parent / "second"
    train_missing(second, root, Options())
    assert sorted(pretended[-1].order) == sorted(run.id for run in others)
    assert "taken from" in capsys.readouterr().err
    assert {row.state for row in read_study(root).runs} == {"completed"}
    train_missing(second, root, Options(redo=True))
    assert there.id in pretended[-1].order
