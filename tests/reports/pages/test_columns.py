"""What columns mean: every one of every table is told, on real pages of all kinds of experiments."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reports.metrics import METRICS, facts
from reports.pages.columns import COLUMNS, MEANINGS, meaning
from reports.pages.page import build
from tests.reports.fair_study import fair_study
from tests.reports.pages.parsed import Page

Maker = Callable[..., Any]
HEADS = re.compile(r'aria-label="Table: ([^"]*)".*?<thead><tr>(.*?)</tr></thead>', re.DOTALL)


def heads(page: Page) -> list[tuple[str, str]]:
    """Title of each table of a page, and a column of it."""
    found = HEADS.findall(page.source)
    return [(title, text) for title, row in found for text in re.findall(r"<th[^>]*>([^<]*)</th>", row)]


def told(page: Page) -> set[str]:
    """Columns and metrics that the page explains."""
    part = page.source[page.source.index('<section id="columns">') :]
    return set(re.findall(r"<dt>([^<]*)</dt>", part[: part.index("</section>")]))


def test_every_metric_is_told() -> None:
    assert list(MEANINGS.keys() ^ METRICS.keys()) == []
    assert all(text.endswith(".") and len(text) < 120 for text in MEANINGS.values())
    assert all(text.endswith(".") for of in COLUMNS.values() for text in of.values())


def test_a_column_is_looked_up_by_its_table() -> None:
    assert meaning("Variants", "Seeds") != meaning("Effects in numbers", "Seeds") != ""
    assert meaning("Effects in numbers", "98.3 % interval, paired").startswith("Made so that it holds")
    assert meaning("Variants", "Loss") == ""


def factorial(study: Any) -> Path:
    both: dict[str, dict[str, Any]] = {"norm=rms": {"model.norm": "rms"}, "heads=1": {"model.n_heads": 1}}
    both["both"] = {**both["norm=rms"], **both["heads=1"]}
    study.experiment("e", both, design="factorial", headline=["loss"])
    for number, variant in enumerate(("base", *both)):
        for seed in study.seeds:
            values = [("test", "loss", "", 0.5 + number / 8 + seed / 100), ("test", "made_up", "", 1.0)]
            study.run("e", variant, seed, [*values, ("test", "accuracy", "category=noun", 0.5)])
    return Path(study.write())


@pytest.mark.parametrize("kind", ["quick", "fair", "factorial"])
def test_every_column_of_every_table_is_told(kind: str, make: Maker, quick: Path, tmp_path: Path) -> None:
    made = {"fair": fair_study, "factorial": factorial}
    folder = made[kind](make()) if kind in made else Path(shutil.copytree(quick, tmp_path / "quick"))
    page = Page(build(folder))
    known = told(page)
    metrics = {facts(metric).name for metric in (*METRICS, "made_up")}
    by_metric = {column for _, column in heads(page) if column in metrics and column not in known}
    by_category = {column for title, column in heads(page) if title.startswith("Accuracy by category")}
    unknown = {column for _, column in heads(page)} - known - metrics - by_category
    assert unknown == set()
    assert len(heads(page)) > 20
    assert "A metric" in known
    assert by_metric <= {"Made up"}, "that of no metric which is known"
    assert ("A category or a variant" in known) == bool(by_category)
    assert page.source.count('href="#columns"') >= 4


def test_a_page_without_tables_has_no_list(make: Maker) -> None:
    assert "What the columns mean" not in Page(build(make("void").write())).text
