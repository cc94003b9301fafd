"""Two studies on one page."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from reports.pages.comparison import build_comparison, tally
from reports.pages.exports import read
from reports.rows import RowsError
from tests.reports.pages.parsed import Page

Maker = Callable[..., Any]
HOSTILE = ["<img src=x onerror=alert(1)>", "a<b & c", "_x", "None", "a|b", "$x_1$"]


@pytest.fixture(scope="module")
def itself(quick: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Page of the quick study against itself, in a copy."""
    folder = tmp_path_factory.mktemp("copy") / "quick"
    shutil.copytree(quick, folder)
    return build_comparison(folder, folder)


def small(make: Maker, name: str, shift: float = 0.0) -> Any:
    study = make(name)
    study.experiment("e", {variant: {"model.position": variant} for variant in HOSTILE}, headline=["loss"])
    for i, variant in enumerate(["base", *HOSTILE[:-1]]):
        for seed in study.seeds:
            loss = 0.5 + seed / 8 + i * (1 + (seed + i) % 3 / 7) + shift * i * (1 + seed / 5)
            study.run("e", variant, seed, [("test", "loss", "", loss)])
    return study


def test_identical_studies_differ_in_nothing(itself: Path) -> None:
    assert itself.name == "versus-quick.html"
    table = read(itself.with_suffix(".csv"))
    assert len(table) == 9 * 4
    assert (table["difference"] == 0).all()
    assert set(table["agreement"]) == {"", "identical"}
    assert (table.loc[~table["is_base"], "change"] == 0).all()
    page = Page(itself)
    assert "32 effects in both: 32 identical." in page.text
    assert "What differs Nothing that was recorded." in page.text


def test_the_page_asks_for_nothing_and_is_whole(itself: Path) -> None:
    page = Page(itself)
    assert not {"script", "link", "img"} & {tag for tag, _ in page.tags}
    identifiers = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(identifiers) == len(set(identifiers))
    for _, attributes in page.tags:
        for name in ("src", "href", "xlink:href"):
            target = attributes.get(name) or ""
            assert not re.match(r"(https?:)?//", target)
            assert not target or target.startswith("#") or (itself.parent / target).exists(), target
    (figure,) = [attributes for tag, attributes in page.tags if tag == "svg" and attributes.get("role") == "img"]
    assert "8 variants" in str(figure.get("aria-label"))
    assert {path.suffix for path in (itself.parent / "versus-quick").iterdir()} == {".png", ".svg"}


def test_both_studies_and_their_agreement_are_shown(make: Maker) -> None:
    first, second = small(make, "one"), small(make, "two", shift=2.0)
    path = build_comparison(first.write(), second.write())
    assert path == first.folder / "report" / "versus-two.html"
    page = Page(path)
    assert "A: one, B: two" in page.text
    assert "5 effects in both:" in page.text
    assert "differ in size" in page.text
    for name in HOSTILE:
        assert name in page.text
    assert "21 runs planned: 18 completed, 3 missing." in page.text
    assert "0 of 3, 3 missing" in page.text
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)


def test_the_markdown_says_the_same(make: Maker) -> None:
    first, second = small(make, "one"), small(make, "two|b", shift=2.0)
    text = build_comparison(first.write(), second.write()).with_suffix(".md").read_text(encoding="utf-8")
    assert text.startswith("# one and two\\|b: comparison\n\n5 effects in both:")
    lines = [line for line in text.splitlines() if line.startswith("| Loss")]
    assert len(lines) == 7
    assert all(len(re.split(r"(?<!\\)\|", line)) == 9 + 2 for line in lines)


def test_studies_with_nothing_in_common_say_so(make: Maker) -> None:
    first, second = make("one"), make("two")
    for study, names in ((first, "ab"), (second, "cd")):
        for name in names:
            study.experiment(name, {"x": {"model.norm": "none"}})
    page = Page(build_comparison(first.write(), second.write()))
    assert "The two studies have no experiment of one name and task in common." in page.text
    assert "Only A has experiments a, b." in page.text
    assert "Only B has experiments c, d." in page.text


def test_scores_computed_in_different_ways_are_not_compared_silently(make: Maker) -> None:
    studies = [make("one"), make("two")]
    for study, signature in zip(studies, ("tok:13a", "tok:none"), strict=True):
        study.experiment("e", {"x": {"model.norm": "none"}}, headline=["bleu"])
        for seed in study.seeds:
            for variant in ("base", "x"):
                study.run("e", variant, seed, [("test", "bleu", "", 30.0 + seed)], signatures={"bleu": signature})
    page = Page(build_comparison(*(study.write() for study in studies)))
    assert "BLEU: computed in different ways in A and B." in page.text
    assert "BLEU tok:13a tok:none" in page.text


def test_two_builds_are_the_same_bytes_and_old_figures_go(make: Maker) -> None:
    first, second = small(make, "one").write(), small(make, "two", shift=1.0).write()
    path = build_comparison(first, second)
    old = path.with_suffix("") / "99-old.png"
    old.touch()
    before = {file: file.read_bytes() for file in path.parent.rglob("*") if file.is_file() and file != old}
    build_comparison(first, second)
    assert {file: file.read_bytes() for file in path.parent.rglob("*") if file.is_file()} == before


def test_unfinished_studies_are_no_error(make: Maker) -> None:
    study = make("empty")
    study.experiment("e", {"x": {"model.norm": "none"}})
    page = Page(build_comparison(study.write(), study.write()))
    assert "No effect is there in both studies yet." in page.text


def test_a_folder_without_a_plan_is_refused_and_nothing_written(quick: Path, tmp_path: Path) -> None:
    shutil.copytree(quick, tmp_path / "quick")
    with pytest.raises(RowsError, match=r"plan\.json"):
        build_comparison(tmp_path / "quick", tmp_path)
    assert not (tmp_path / "quick" / "report").exists()


def test_the_tally_is_in_a_fixed_order() -> None:
    rows = pd.DataFrame({"agreement": ["undecided", "agree", "opposite", "agree"]}).to_dict("records")
    assert tally([{str(k): v for k, v in row.items()} for row in rows]) == (
        "4 effects in both: 2 agree, 1 opposite, 1 undecided."
    )


def test_what_cannot_be_read_is_named(make: Maker) -> None:
    first, second = small(make, "one"), small(make, "two")
    (second.folder / second.planned("e", "base", 0)["folder"] / "metrics.csv").write_text("a,b\n", encoding="utf-8")
    page = build_comparison(first.write(), second.write())
    for text in (Page(page).text, page.with_suffix(".md").read_text(encoding="utf-8")):
        assert re.search(r"B: \S*metrics\.csv: the columns must be", text)
