"""The docs say what is there."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from ablations.cli import USER_ERRORS
from ablations.describe import markdown
from ablations.listing import studies
from ablations.load import make_study
from ablations.sections import load_yaml

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PACKAGES = ("ablations", "models", "datamodules", "reports")


@pytest.mark.parametrize("package", PACKAGES)
def test_the_tree_in_the_readme_names_every_file(package: str) -> None:
    tree = re.split(r"\n(?=\w+/ )", README[README.index(f"\n{package}/ ") + 1 :])[0]
    for path in (ROOT / package).rglob("*.py"):
        if path.stem not in ("__init__", "__main__"):
            assert re.search(rf"\b{path.name}\b", tree), f"{path} is not in README's tree"


def test_the_tree_names_no_file_that_is_not_there() -> None:
    tree = README[README.index("pyproject.toml   ") :]
    there = {path.name for package in PACKAGES for path in (ROOT / package).rglob("*.py")}
    assert set(re.findall(r"\b\w+\.py\b", tree)) <= there


def test_the_page_of_components_is_the_catalogue() -> None:
    """Renew it with: ablations list components --markdown > docs/components.md"""
    assert (ROOT / "docs/components.md").read_text(encoding="utf-8") == markdown()


def test_the_readme_lists_the_shipped_studies() -> None:
    assert set(re.findall(r"^\| `([\w-]+)` \|", README, re.M)) == {study["name"] for study in studies()}


def test_the_ten_line_study_of_the_readme_is_one() -> None:
    text = re.search(r"```yaml\n(.*?)```", README, re.S)
    assert text is not None
    study = make_study(load_yaml(text[1], "README.md"))
    assert len(study.experiments[0].variants) == 5


def test_commands_of_the_readme_exist(capsys: pytest.CaptureFixture[str]) -> None:
    from ablations.cli import _parser

    lines = [line.strip().partition("#")[0] for line in README.splitlines() if line.startswith("    ablations ")]
    assert len(lines) >= 8
    for line in lines:
        command = shlex.split(line.partition("<")[0])[1:]
        if command[0] != "train":  # has flags of its own, see test_cli
            _parser().parse_args(command)


def test_the_errors_that_the_command_line_turns_into_one_line_exist() -> None:
    from datamodules.errors import DataError
    from models.config import ConfigError
    from reports.rows import RowsError

    assert {error.__name__ for error in (ConfigError, DataError, RowsError)} == set(USER_ERRORS)


@pytest.mark.parametrize("path", [ROOT / "README.md", ROOT / "CONTRIBUTING.md"], ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", path.read_text(encoding="utf-8")):
        assert target.startswith("http") or (path.parent / target).exists(), target


def test_the_position_scheme_of_the_contributing_page_works(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    from models import positions
    from models.build import build_model
    from models.config import ModelConfig, TaskShape

    code = re.search(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.S)
    assert code is not None
    names: dict[str, Any] = {"Position": positions.Position, "Tensor": torch.Tensor}
    exec(code[1], names)
    monkeypatch.setitem(positions.POSITIONS, "tent", names["Tent"])
    shape = TaskShape(kind="tagging", input_sizes=(7,), output_size=7)
    ids = torch.tensor([[1, 2, 3, 4, 5]])
    tent, none = (
        build_model(ModelConfig(architecture="encoder", d_model=12, n_heads=3, position=name), shape, seed=0)(ids)
        for name in ("tent", "none")
    )
    assert not torch.allclose(tent, none)
