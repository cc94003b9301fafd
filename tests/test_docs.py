"""The docs say what is there."""

import re
import shlex
from pathlib import Path

import pytest

from ablations.cli import USER_ERRORS, main
from ablations.components import choices
from ablations.explain import find
from ablations.listing import studies
from ablations.worked import EXAMPLES
from reports.register import read_register

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
    there = {path.name for package in (*PACKAGES, "tests") for path in (ROOT / package).rglob("*.py")}
    assert set(re.findall(r"\b\w+\.py\b", tree)) <= there


def test_the_readme_lists_the_shipped_studies_in_the_order_of_the_command() -> None:
    table = README[README.index("| study | what |") :].partition("\n\n")[0]
    assert re.findall(r"^\| `([\w-]+)` \|", table, re.M) == [study["name"] for study in studies()]


def test_the_errors_that_the_command_line_turns_into_one_line_exist() -> None:
    from datamodules.errors import DataError
    from models.config import ConfigError
    from reports.rows import RowsError

    assert {error.__name__ for error in (ConfigError, DataError, RowsError)} == set(USER_ERRORS)


PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.joinpath("docs").rglob("*.md"))]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text):
        assert target.startswith("http") or (path.parent / target).exists(), target
    headings = {
        re.sub(r"[^\w -]", "", line.lstrip("# ").lower()).replace(" ", "-") for line in re.findall("^#.*", text, re.M)
    }
    assert set(re.findall(r"\]\(#([^)]+)\)", text)) <= headings


LECTURE = (ROOT / "docs/lecture.md").read_text(encoding="utf-8")
DOCS = sorted(ROOT.joinpath("docs").glob("*.md"))
CLAIMS = {claim.id: claim for claim in read_register()}
STUDIES = {study["name"] for study in studies()}


def rows_of_the_lecture() -> list[tuple[str, str, list[str]]]:
    """Of each row of its tables of claims: question, command (that of the row above where there is none), claims."""
    found = []
    for part in LECTURE.split("\n## ")[1:]:
        command = ""
        for line in part[part.find("| ask it with |") :].splitlines()[2:] if "| ask it with |" in part else ():
            if not line.startswith("|"):
                break
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            command = cells[0].strip("`") or command
            found.append((part.splitlines()[0], command, re.findall(r"`([^`]+)`", cells[1])))
    return found


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_worked_examples_of_the_lecture_page_are_what_the_program_prints(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    blocks = re.findall(r"```text\n(.*?)\n```", LECTURE, re.S)
    assert len(blocks) == len(EXAMPLES)
    assert main(["explain", name]) == 0
    printed = capsys.readouterr().out
    assert sum(f"\n\n{block}\n\n" in printed for block in blocks) == 1


def test_the_lecture_page_names_every_claim_beside_a_study_that_tests_it() -> None:
    rows = rows_of_the_lecture()
    for _, command, ids in rows:
        _, verb, name = command.split()
        assert (verb, name in STUDIES) == ("run", True) or (verb == "explain" and find(name).name == name)
        for claim in ids:
            assert claim in CLAIMS, claim
            assert name in CLAIMS[claim].studies, f"{name} does not test {claim}"
    assert {claim for _, _, ids in rows for claim in ids} == set(CLAIMS)


QUESTIONS = {
    "two faults of recurrent nets": {"reach", "recall-steps", "sequential", "explain architecture"},
    "one word attend": {"look-up", "query-key", "explain attention"},
    "positions, and sinusoidal or learned": {"order-blind", "learned-length", "sinusoid-length", "explain position"},
    "mask, why in decoders only, and how": {"mask-cheat", "mask-softmax", "mask-encoder", "explain decoder_mask"},
    "several heads, and what is the price of length": {"heads-few", "heads-cost", "quadratic", "explain n_heads"},
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_question_of_the_lecture_has_its_command_and_its_claims(question: str) -> None:
    rows = [row for row in rows_of_the_lecture() if question in row[0]]
    named = {claim for _, _, ids in rows for claim in ids} | {row[1].removeprefix("ablations ") for row in rows}
    assert named >= QUESTIONS[question]


def test_the_lecture_page_gives_each_part_that_it_explains_a_section_of_its_own() -> None:
    explained = [command.split()[-1] for _, command, _ in rows_of_the_lecture() if " explain " in command]
    assert set(EXAMPLES) <= set(explained)
    assert len(set(explained)) == len(explained)


def written(path: Path) -> list[str]:
    """Commands as they stand in a page: in backticks, or on indented lines without what follows the `#`."""
    text = path.read_text(encoding="utf-8")
    lines = [line.strip().partition(" # ")[0] for line in text.splitlines() if line.startswith("    ablations ")]
    return [command.partition(" <")[0] for command in [*lines, *re.findall(r"`(ablations [^`]+)`", text)]]


@pytest.mark.parametrize("path", [ROOT / "README.md", *DOCS], ids=lambda path: path.name)
def test_studies_and_components_that_a_page_names_are_there(path: Path) -> None:
    for command in written(path):
        verb, *words = shlex.split(command)[1:]
        name = next((word for word in words if not word.startswith("-")), "")
        if verb in ("run", "plan", "claims", "status", "report") and name and name.islower() and ".yaml" not in name:
            assert name in STUDIES, command
        elif verb == "explain" and name.islower():
            assert find(name).name == name


def test_the_values_that_the_lecture_page_names_are_there() -> None:
    values = re.findall(r"`(\w+): ([\w-]+)`", LECTURE)
    assert len(values) == 3
    assert all(value in choices(find(name)) for name, value in values)
