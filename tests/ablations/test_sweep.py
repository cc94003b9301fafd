"""One sweep at a time in a folder."""

from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from ablations.load import make_study
from ablations.sweep import _check, sweep
from models.config import ConfigError


def test_a_second_sweep_in_the_folder_is_refused_and_changes_nothing(tiny: dict[str, Any], tmp_path: Path) -> None:
    with FileLock(tmp_path / ".lock"), pytest.raises(ConfigError, match="another sweep is at work"):
        sweep(make_study(tiny), tmp_path, workers=1)
    assert {path.name for path in tmp_path.iterdir()} <= {".lock"}


def test_warnings_of_the_data_are_shown_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ABLATIONS_CACHE", str(tmp_path / "cache"))
    for name in ("train", "val", "test_2016_flickr"):
        for language in ("de", "en"):
            (tmp_path / f"{name}.{language}").write_text(f"ein satz {language}\nnoch einer\n", encoding="utf-8")
    task = {"name": "translation", "root": str(tmp_path), "vocabulary": 22}
    spec = {"task": task, "model": {"architecture": "gru"}, "vary": {"train.lr": [1e-3, 1e-4]}}
    _check(make_study({"name": "overlap", "experiments": {"e": spec}}).runs())
    warnings = [line for line in capsys.readouterr().err.splitlines() if line.startswith("warning: ")]
    assert any("2 of 2 test sentences are in the training text" in line for line in warnings)
    assert len(set(warnings)) == len(warnings)
