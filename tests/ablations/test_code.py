"""Which code has been loaded."""

from pathlib import Path

import pytest

from ablations import code


def test_any_change_of_the_source_is_another_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in code.PACKAGES:
        (tmp_path / package).mkdir()
    (tmp_path / "models/norms.py").write_text("a = 1\n")
    monkeypatch.setattr(code, "__file__", str(tmp_path / "ablations/code.py"))
    seen = [code.digest()]
    (tmp_path / "models/norms.py").write_text("a = 2\n")
    seen.append(code.digest())
    (tmp_path / "models/norms.py").rename(tmp_path / "models/forms.py")
    seen.append(code.digest())
    assert len(set(seen)) == 3
    assert code.digest() == seen[2]


def test_what_was_loaded_is_what_lies_here() -> None:
    assert code.digest() == code.CODE
