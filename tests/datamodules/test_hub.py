"""Data sets of the library `datasets` in local folders, made here; and what is said where it is not installed."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from datamodules.errors import DataError
from datamodules.hub import read_hub

PAIRS = [
    {"de": " zwei\u0085Hunde ", "en": "two dogs"},
    {"de": "ein\nBall", "en": "a ball"},
    {"de": "süß", "en": "sweet"},
]
TEXT = [["zwei\u0085Hunde", "ein Ball", "süß"], ["two dogs", "a ball", "sweet"]]


@pytest.fixture
def datasets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The library, with a cache of the test's own and off the network."""
    library = pytest.importorskip("datasets", reason="needs the extra `hub`")
    monkeypatch.setattr(library.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(library.config, "HF_HUB_OFFLINE", True)
    return library


def _json_lines(folder: Path, records: list[dict[str, Any]], split: str = "train") -> str:
    folder.mkdir(exist_ok=True)
    (folder / f"{split}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return str(folder)


def _message(*arguments: Any) -> str:
    with pytest.raises(DataError) as caught:
        read_hub(*arguments)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.usefixtures("datasets")
def test_records_of_translations(tmp_path: Path) -> None:
    name = _json_lines(tmp_path / "set", [{"id": 7, "translation": pair} for pair in PAIRS])
    assert read_hub(name, "", "train", ("de", "en")) == TEXT
    assert read_hub(name, "", "train[1:]", ("en", "de")) == [side[1:] for side in TEXT[::-1]]


@pytest.mark.usefixtures("datasets")
def test_columns_named_by_language(tmp_path: Path) -> None:
    name = _json_lines(tmp_path / "set", [{"fr": "?", **pair} for pair in PAIRS], "test")
    assert read_hub(name, "", "test", ("de", "en")) == TEXT


@pytest.mark.parametrize("split", ["validation", None])
def test_a_folder_that_datasets_has_saved(datasets: Any, tmp_path: Path, split: str | None) -> None:
    saved = datasets.Dataset.from_list([{"translation": pair} for pair in PAIRS])
    (datasets.DatasetDict({split: saved}) if split else saved).save_to_disk(str(tmp_path / "set"))
    assert read_hub(str(tmp_path / "set"), "", "validation", ("de", "en")) == TEXT


@pytest.mark.usefixtures("datasets")
def test_what_cannot_be_loaded_is_refused_in_one_line(tmp_path: Path) -> None:
    name = _json_lines(tmp_path / "set", [{"translation": pair} for pair in PAIRS])
    assert _message(name, "", "dev", ("de", "en")).startswith(f"hub:{name}: split 'dev' cannot be loaded: ")
    nowhere = str(tmp_path / "nowhere")
    assert _message(nowhere, "", "train", ("de", "en")).startswith(f"hub:{nowhere}: split 'train' cannot be loaded: ")


@pytest.mark.usefixtures("datasets")
def test_records_without_the_text(tmp_path: Path) -> None:
    name = _json_lines(tmp_path / "one", [{"de": "eins", "fr": "un"}])
    assert _message(name, "", "train", ("de", "en")) == (
        f"hub:{name}: columns de, fr: must be translation, or de and en"
    )
    name = _json_lines(tmp_path / "two", [{"translation": {"de": "eins", "fr": "un"}}])
    assert _message(name, "", "train", ("de", "en")) == f"hub:{name}: record 0: en=None: must be text"
    name = _json_lines(tmp_path / "three", [{"de": "eins", "en": "one"}, {"de": "zwei", "en": None}])
    assert _message(name, "", "train", ("de", "en")) == f"hub:{name}: record 1: en=None: must be text"


def test_no_records(datasets: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = datasets.Dataset.from_dict({"de": [], "en": []})
    monkeypatch.setattr(datasets, "load_dataset", lambda name, config, split: nothing)
    assert _message("a/b", "", "test", ("de", "en")) == "hub:a/b: split 'test' has no records"


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    assert _message("a/b", "", "train", ("de", "en")) == "hub:a/b: needs the library datasets: pip install -e '.[hub]'"
