"""Marked blocks: what is filled, what is kept, what is refused."""

from pathlib import Path

import pytest

from ablations.blocks import fill, main, renew
from reports.rows import RowsError
from tests.recorded import condition, write_record

MAKERS = {"sum": lambda rest: f"\none{rest}\n\n| two |\n", "nothing": lambda rest: " \n"}


def test_what_stands_between_the_marks_is_made_anew_and_the_rest_is_kept_to_the_letter() -> None:
    page = "# Top  \n<!-- results: sum -->\nold\n<!-- end -->\n\tlast, without a line end"
    made = "# Top  \n<!-- results: sum -->\n\none\n\n| two |\n\n<!-- end -->\n\tlast, without a line end"
    assert fill(page, MAKERS, "p.md") == made
    assert fill(made, MAKERS, "p.md") == made


def test_what_stands_behind_the_name_is_given_to_the_maker() -> None:
    assert "one, a; b=c\n" in fill("<!-- results: sum , a; b=c -->\n<!-- end -->", MAKERS, "p.md")


def test_a_page_without_marks_is_kept() -> None:
    page = "one `<!-- results: nonsense -->` in a line\n\n    text\n"
    assert fill(page, MAKERS, "p.md") == page


def test_marks_in_a_fenced_block_are_text() -> None:
    page = "```\n<!-- results: nonsense -->\n<!-- end -->\n```\n<!-- results: sum -->\n<!-- end -->"
    made = fill(page, MAKERS, "p.md")
    assert made.startswith("```\n<!-- results: nonsense -->\n<!-- end -->\n```\n")
    assert made.count("one") == 1


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("a\n<!-- results: some -->\n<!-- end -->", r"p.md:2: results: some: choose from sum, nothing"),
        ("<!-- results:  -->\n<!-- end -->", r"p.md:1: results: no name: choose from sum, nothing"),
        ("\n\n<!-- results: sum -->\nold", r"p.md:3: results: sum: no <!-- end --> before"),
        ("<!-- results: sum -->\n<!-- results: sum -->\n<!-- end -->", r"p.md:1: results: sum: no <!-- end -->"),
        ("a\n<!-- end -->", r"p.md:2: <!-- end --> ends nothing"),
        ("<!-- results: nothing -->\n<!-- end -->", r"p.md:1: results: nothing: there is no record"),
    ],
)
def test_what_is_refused_is_named_by_file_and_line(page: str, message: str) -> None:
    with pytest.raises(RowsError, match=message):
        fill(page, MAKERS, "p.md")


def test_the_command_fills_pages_with_links_from_where_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results, page = tmp_path / "docs" / "results", tmp_path / "docs" / "deep" / "page.md"
    write_record(results, "lecture", claims=[condition("first", 1, "supported")])
    page.parent.mkdir()
    page.write_text("<!-- results: tally -->\n<!-- end -->\n", encoding="utf-8")
    command = ["--results", str(results), str(page)]
    assert main(["--check", *command]) == 1
    assert "differs from the results; renew it with: python -m ablations.blocks" in capsys.readouterr().out
    assert page.read_text(encoding="utf-8").count("\n") == 2
    assert main(command) == 0
    assert "[`lecture`](../results/lecture/): 1 supported of 1 claim." in page.read_text(encoding="utf-8")
    assert main(["--check", *command]) == 0


def test_wrong_input_is_one_line_and_nothing_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pages = [tmp_path / "good.md", tmp_path / "bad.md"]
    write_record(tmp_path / "results", "lecture", claims=[condition("first", 1, "supported")])
    pages[0].write_text("<!-- results: tally -->\n<!-- end -->", encoding="utf-8")
    pages[1].write_text("<!-- results: talley -->\n<!-- end -->", encoding="utf-8")
    assert main(["--results", str(tmp_path / "results"), *map(str, pages)]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"blocks: {pages[1]}:1: results: talley: choose from")
    assert error.count("\n") == 1
    assert pages[0].read_text(encoding="utf-8") == "<!-- results: tally -->\n<!-- end -->"
    assert main(["--results", str(tmp_path), str(tmp_path / "absent.md")]) == 2


@pytest.mark.parametrize(
    ("mark", "message"),
    [
        ("tally all", "results: tally: 'all': it takes nothing behind its name"),
        ("rows lecture/first=inconclusive", "results: rows: 'lecture/first=inconclusive': the record says supported"),
    ],
)
def test_what_a_maker_refuses_is_named_by_line_too(
    mark: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_record(tmp_path / "results", "lecture", claims=[condition("first", 1, "supported")])
    page = tmp_path / "page.md"
    page.write_text(f"\n<!-- results: {mark} -->\n<!-- end -->", encoding="utf-8")
    assert main(["--results", str(tmp_path / "results"), str(page)]) == 2
    assert capsys.readouterr().err == f"blocks: {page}:2: {message}\n"


def test_only_what_differs_is_written(tmp_path: Path) -> None:
    same, other, absent = (tmp_path / name for name in ("same.md", "other.md", "absent.md"))
    same.write_text("a", encoding="utf-8")
    other.write_text("b", encoding="utf-8")
    wanted = {same: "a", other: "c", absent: "d"}
    assert renew(wanted, check=True) == [other, absent]
    assert not absent.exists()
    assert renew(wanted, check=False) == [other, absent]
    assert [path.read_text(encoding="utf-8") for path in wanted] == ["a", "c", "d"]


def test_the_blocks_of_the_readme_and_the_docs_are_those_of_the_results() -> None:
    """Renew them with: python -m ablations.blocks"""
    assert main(["--check"]) == 0
