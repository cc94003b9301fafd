"""A run by its folder or by its id."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ablations.find import SHOWN, WEIGHTS, find_run
from reports.rows import SCHEMA, RowsError

ROOT = Path(__file__).parents[2]


def make(root: Path, run_id: str, place: str = "study/e/base", *, weights: bool = True) -> Path:
    folder = root / place / f"seed-0-{run_id}"
    folder.mkdir(parents=True)
    names = {"study": "study", "experiment": "e", "variant": "base", "comparison": "same", "signature": ""}
    content = {"schema": SCHEMA, "id": run_id, "seed": 0, "config": {"task": {}, "model": {}, "train": {}}, **names}
    (folder / "run.json").write_text(json.dumps(content))
    if weights:
        (folder / WEIGHTS).parent.mkdir()
        (folder / WEIGHTS).touch()
    return folder


def test_a_run_is_found_by_folder_id_and_beginning_of_the_id(tmp_path: Path) -> None:
    folder = make(tmp_path, "1a2b3c4d")
    make(tmp_path, "1a3b3c4d")
    for name in (str(folder), "1a2b3c4d", "1a2"):
        assert find_run(name, tmp_path) == folder
    assert find_run(str(folder), tmp_path / "nowhere") == folder


def test_hidden_folders_and_those_within_a_run_are_not_looked_into(tmp_path: Path) -> None:
    folder = make(tmp_path, "1a2b3c4d")
    make(tmp_path / ".cache", "1a3b3c4d")
    make(folder / "outputs", "1a4b3c4d")
    assert find_run("1a", tmp_path) == folder


def test_a_beginning_of_several_ids_is_refused_by_name(tmp_path: Path) -> None:
    folders = [make(tmp_path, f"1a2b3c4{digit}") for digit in range(SHOWN + 2)]
    with pytest.raises(RowsError, match=f"run '1a': {SHOWN + 2} ids begin so: ") as caught:
        find_run("1a", tmp_path)
    assert all((str(folder) in str(caught.value)) == (place < SHOWN) for place, folder in enumerate(folders))
    assert str(caught.value).endswith(" and 2 more")


@pytest.mark.parametrize("name", ["ffff", "", ".", "no/such/folder", "study"])
def test_an_unknown_run_is_refused_with_those_that_have_weights(name: str, tmp_path: Path) -> None:
    with pytest.raises(RowsError, match="there is no run"):
        find_run(name, tmp_path)
    without = make(tmp_path, "00000000", weights=False)
    with pytest.raises(RowsError, match="none there has weights"):
        find_run(name, tmp_path)
    folder = make(tmp_path, "1a2b3c4d")
    with pytest.raises(RowsError, match="those with weights: ") as caught:
        find_run(name, tmp_path)
    assert str(folder) in str(caught.value)
    assert str(without) not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_of_copies_one_with_weights_is_taken(tmp_path: Path) -> None:
    make(tmp_path, "1a2b3c4d", "a/e/base", weights=False)
    folder = make(tmp_path, "1a2b3c4d", "b/e/base")
    make(tmp_path, "1a2b3c4d", "c/e/base", weights=False)
    assert find_run("1a", tmp_path) == folder


def test_a_file_that_cannot_be_read_hides_no_other_run(tmp_path: Path) -> None:
    broken = make(tmp_path, "1a2b3c4d")
    (broken / "run.json").write_text("{")
    folder = make(tmp_path, "1b2b3c4d")
    assert find_run("1", tmp_path) == folder


def test_a_wrong_name_is_refused_without_loading_torch() -> None:
    code = "import sys, ablations.find; print('torch' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert ran.stdout.strip() == "False"
