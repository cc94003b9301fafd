"""One sweep at a time in a folder."""

from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from ablations.load import make_study
from ablations.sweep import sweep
from models.config import ConfigError


def test_a_second_sweep_in_the_folder_is_refused_and_changes_nothing(tiny: dict[str, Any], tmp_path: Path) -> None:
    with FileLock(tmp_path / ".lock"), pytest.raises(ConfigError, match="another sweep is at work"):
        sweep(make_study(tiny), tmp_path, workers=1)
    assert {path.name for path in tmp_path.iterdir()} <= {".lock"}
