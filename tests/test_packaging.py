"""The four packages are ours, and the wheel holds them and nothing else."""

import importlib
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("ablations", "models", "datamodules", "reports")


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_is_the_one_in_this_repository(name: str) -> None:
    """Another project's `models` on the path would shadow ours in silence."""
    assert Path(str(importlib.import_module(name).__file__)).is_relative_to(ROOT)


def test_the_editable_install_exposes_only_the_four(tmp_path: Path) -> None:
    names = (*PACKAGES, "tests")
    code = f"import importlib.util as u; print([n for n in {names!r} if u.find_spec(n)])"
    ran = subprocess.run([sys.executable, "-P", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == str(list(PACKAGES))


def test_the_wheel_holds_the_four_with_their_data(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)],
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.partition("/")[0] for name in names if ".dist-info/" not in name}
    assert tops == set(PACKAGES)
    for needed in (
        "ablations/studies/quick.yaml",
        "reports/pages/templates/index.html",
        "reports/claims/30-position.yaml",
        "models/py.typed",
    ):
        assert needed in names
