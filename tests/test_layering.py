"""Data flows one way: which package may import which, read from the syntax trees."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OURS = {"ablations", "models", "datamodules", "reports"}
ALLOWED = {"models": set(), "datamodules": set(), "reports": set(), "ablations": {"models", "datamodules"}}
PAGES = ("reports.pages.page", "reports.pages.comparison", "reports.pages.watch", "reports.pages.record")
OF_REPORTS = {
    "cli.py": (*PAGES, "reports.figures.attention_maps", "reports.entries"),
    "blocks.py": ("reports.pages.cited", "reports.pages.published", "reports.pages.recorded"),
    "catalogue_pages.py": ("reports.pages.markdown", "reports.pages.published"),
    "handbook.py": (
        *("reports.entries", "reports.wording"),
        *("reports.pages.markdown", "reports.pages.published", "reports.pages.recorded"),
    ),
    "sweep.py": PAGES,
    "looks.py": ("reports.pages.page", "reports.looks", "reports.sequential"),
    "power.py": ("reports.noise",),
    "preview.py": ("reports.wording",),
    "tune.py": ("reports.trials",),
}
"""What files of `ablations` take of `reports` beside the rows, which all may read."""
HEAVY = {"torch", "lightning", "torchmetrics"}


def imports(path: Path, *, inside: bool) -> set[str]:
    """Modules that a file imports: at its top level, or anywhere in it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found: set[str] = set()
    for node in ast.walk(tree) if inside else tree.body:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            found.add(str(node.module))
    return found


def roots(modules: set[str]) -> set[str]:
    return {module.partition(".")[0] for module in modules}


FILES = [path for package in sorted(OURS) for path in sorted((ROOT / package).rglob("*.py"))]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_package_imports_only_what_it_may(path: Path) -> None:
    package = path.relative_to(ROOT).parts[0]
    ours = {module for module in imports(path, inside=True) if module.partition(".")[0] in OURS - {package}}
    if package == "ablations":
        ours -= {"reports.rows", *OF_REPORTS.get(path.name, ())}
    assert roots(ours) <= ALLOWED[package], f"{path} imports {ours}"


@pytest.mark.parametrize("path", sorted((ROOT / "reports").rglob("*.py")), ids=lambda path: path.name)
def test_reports_never_import_torch(path: Path) -> None:
    assert not roots(imports(path, inside=True)) & HEAVY


ORDER = ("", "figures", "pages")
"""Of the parts of reports: each imports only what stands before it, and itself."""


@pytest.mark.parametrize("path", sorted((ROOT / "reports").rglob("*.py")), ids=lambda path: path.name)
def test_within_reports_data_flows_from_tables_to_figures_to_pages(path: Path) -> None:
    part = path.relative_to(ROOT / "reports").parent.as_posix().removeprefix(".")
    later = ORDER[ORDER.index(part) + 1 :]
    allowed = {"reports.figures.theme", "reports.figures.labels"} if path.stem in ("experiment", "families") else set()
    found = {module for module in imports(path, inside=True) if module.startswith(tuple(f"reports.{p}" for p in later))}
    assert not later or found <= allowed


def test_the_check_itself_sees_a_forbidden_import(tmp_path: Path) -> None:
    file = tmp_path / "late.py"
    file.write_text("def f():\n    from models.config import ModelConfig\n    import torch.nn\n")
    assert roots(imports(file, inside=True)) == {"models", "torch"}
    assert imports(file, inside=False) == set()


@pytest.mark.parametrize(
    "module",
    [
        "ablations.claims",
        "ablations.clean",
        "ablations.cli",
        "ablations.find",
        "ablations.listing",
        "ablations.live",
        "ablations.pace",
        "ablations.progress",
        "ablations.states",
        "reports",
        "reports.figures.attention_maps",
        "reports.notebook",
        "reports.pages.comparison",
        "reports.pages.page",
        "reports.pages.watch",
        "reports.rows",
    ],
)
def test_quick_commands_do_not_load_torch(module: str) -> None:
    code = f"import sys, {module}; print(sorted({HEAVY!r} & set(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert ran.stdout.strip() == "[]"
