"""A fair comparison on the page and in the files beside it."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reports.fairness import Fair
from reports.pages import exports
from reports.pages.fairness import (
    caveats,
    metric_grid,
    read_fairness,
    sentences,
    settings_grid,
    share_of_base,
    texts,
    trials_note,
    verdict_text,
)
from reports.pages.page import build, most_at_once
from reports.rows import read_study
from reports.table import make_tables
from tests.reports.fair_study import WHY, experiments_of, fair_of, fair_study, share_runs, unchanged_study
from tests.reports.pages.parsed import Page

Maker = Callable[..., Any]


@pytest.fixture
def fair(make: Maker) -> Fair:
    return fair_of(fair_study(make()))


def test_sentences_say_which_verdicts_change(fair: Fair) -> None:
    matched, tuned = sentences(fair)
    assert matched == (
        "Matching every variant to the base changes 1 of 2 verdicts on loss (small from worse to better); 1 of 2 "
        "verdicts on BLEU (small from worse to better)."
    )
    assert tuned == (
        "Tuning every variant and the base alike changes 1 of 3 verdicts on loss (slow from worse to undecided); "
        "1 of 3 verdicts on BLEU (slow from worse to undecided)."
    )


def test_sentences_where_nothing_changes_or_nothing_is_there(make: Maker) -> None:
    study = make(seeds=(0, 1, 2))
    for name, facts in (("e", {}), ("e (tuned)", {"comparison": "tuned", "origin": "e"})):
        study.experiment(name, {"x": {"model.norm": "none"}}, headline=["loss"], **facts)
    for variant, losses in (("base", (1.0, 1.5, 2.0)), ("x", (2.0, 2.75, 3.0))):
        for seed, loss in enumerate(losses):
            study.run("e", variant, seed, [("test", "loss", "", loss)])
    assert sentences(fair_of(study.write())) == [
        "Tuning every variant and the base alike cannot be judged yet: nothing can be compared."
    ]
    for variant, losses in (("base", (1.0, 1.5, 2.0)), ("x", (2.0, 2.75, 3.0))):
        for seed, loss in enumerate(losses):
            study.run("e (tuned)", variant, seed, [("test", "loss", "", loss)])
    (sentence,) = sentences(fair_of(study.write()))
    assert sentence == "Tuning every variant and the base alike changes no verdict of 1."


def test_what_is_left_out_and_ends_of_the_search_are_told(fair: Fair) -> None:
    left_out, end = caveats(fair)
    assert left_out == f"Left out of matched: huge ({WHY})."
    assert end.startswith("Best at an end of the values of train.lr that were tried")
    assert end.endswith(": huge.")


def test_a_grid_has_the_effects_of_all_comparisons_and_the_verdicts(fair: Fair) -> None:
    grid = metric_grid(fair, "loss")
    assert grid.columns == ["Variant", "Same settings", "Matched", "Tuned", "Verdict"]
    rows = {row[0].text: row[1:] for row in grid.rows}
    assert [cell.text for cell in rows["base"]] == ["1.100", "1.100", "1.000", "–"]
    assert [cell.text for cell in rows["small"]] == ["+0.253", "−0.247", "+0.253", "worse; matched: better"]
    assert rows["small"][3].kind == "text changed"
    assert [cell.text for cell in rows["huge"]] == ["+0.003", "left out", "+0.003", "undecided"]
    assert rows["huge"][1].note == WHY
    assert rows["huge"][3].kind == "text"
    assert rows["slow"][2].kind == "number undecided"
    assert rows["slow"][0].kind == "number"
    assert rows["slow"][0].note == "+0.489 to +0.518"
    tags = {row[0].text: row[0].tags for row in grid.rows}
    assert tags["huge"] == ("sees the future",)
    assert verdict_text(fair, "loss", "base") == ""


def test_a_grid_says_what_was_made_equal(fair: Fair) -> None:
    grid = settings_grid(fair)
    assert grid.columns == ["Variant", "Same settings: parameters", "Matched: parameters", "Tuned: best point"]
    rows = {row[0]: [text.replace("\N{NO-BREAK SPACE}", " ") for text in row[1:]] for row in texts(grid)}
    assert rows["base (the base)"] == ["250 k", "250 k", "train.lr: 0.003 (validation loss 1.000, best of 4 trials)"]
    assert rows["small"][:2] == [
        "200 k (80.0 %, operations 100.0 %)",
        "250 k (model.d_ff: 300; 100.0 %, operations 100.0 %)",
    ]
    assert rows["slow"][2] == "train.lr: 0.001 (validation loss 1.000, best of 4 trials, 2 trials hopeless)"
    assert rows["huge"][1] == f"left out ({WHY})"
    assert share_of_base(fair, "same", "base") == ""


def test_the_size_of_the_search_is_told(fair: Fair, make: Maker) -> None:
    note = trials_note(fair)
    assert "the base included, was given the same search over train.lr, 4 trials each" in note
    assert "Given up as hopeless or diverged: 2 trials of 16." in note
    assert trials_note(fair_of(fair_study(make(), ["matched"]))) == ""


def test_trials_that_cannot_be_read_are_told_and_the_rest_stays(make: Maker) -> None:
    folder = fair_study(make())
    (folder / "tune" / "trials.csv").write_text("what is this\n", "utf-8")
    (found,), (problem,) = read_fairness(read_study(folder), experiments_of(folder))
    assert found.made_equal == ["matched", "tuned"]
    assert found.trials.empty
    assert "trials.csv" in problem
    assert problem in Page(build(folder)).text


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tests.reports.conftest import MadeUpStudy

    found = fair_study(MadeUpStudy(tmp_path_factory.mktemp("fair") / "study"))
    build(found)
    return found


def test_the_section_follows_its_experiment_and_the_other_views_stand_closed(folder: Path) -> None:
    page = Page(folder / "report" / "index.html")
    places = [page.source.index(f'<section id="{at}">') for at in ("experiment-1", "fair-1", "experiment-2")]
    assert places == sorted(places)
    closed = re.findall(r'<details class="fold point"><summary><h2>(.*?)</h2>', page.source)
    assert closed == ["e (matched)", "e (tuned)"]
    assert "Tuned comparison of e · Task german" in page.text
    contents = page.source[page.source.index("<nav") : page.source.index("</nav>")]
    assert re.findall(r">([^<]+)</a>", contents)[:2] == ["e", "Fair comparison: e"]
    assert 'href="#experiment-2"' not in contents
    images = [tag for tag, attributes in page.tags if tag == "svg" and attributes.get("role") == "img"]
    assert len(images) == page.count("figure")
    labels = [a["aria-label"] for _, a in page.tags if a.get("role") == "region"]
    assert len(set(labels)) == len(labels)
    assert page.count("table") == page.count("caption")


def test_other_views_of_an_experiment_count_for_no_average(folder: Path) -> None:
    page = Page(folder / "report" / "index.html")
    assert 'id="overall"' not in page.source  # one experiment in three comparisons is one
    parts = page.source[page.source.index('<section id="parts">') : page.source.index('<section id="cost">')]
    assert "e (tuned)" not in parts
    assert page.source.count('<p class="headline">') == 1
    assert "Comparison same (12 runs), matched (9 runs), tuned (12 runs)" in page.text


def test_the_files_have_it_too(folder: Path) -> None:
    table = exports.read(folder / "report" / "fairness.csv")
    assert len(table) == 24
    row = table[(table["metric"] == "loss") & (table["variant"] == "slow") & (table["comparison"] == "tuned")].iloc[0]
    assert (row["verdict"], row["changed"], row["settings"]) == ("undecided", True, "train.lr: 0.001")
    text = (folder / "report" / "report.md").read_text("utf-8")
    assert "## Fair comparison: e\n" in text
    assert "worse; tuned: undecided" in text
    assert text.index("## Fair comparison: e") < text.index("## e\n") < text.index("## e (tuned)")
    assert "fairness.csv" in Page(folder / "report" / "index.html").text


def test_a_study_without_comparisons_has_no_file_of_them(make: Maker) -> None:
    folder = fair_study(make(), [])
    (folder / "report").mkdir()
    (folder / "report" / "fairness.csv").write_text("of an earlier report", "utf-8")
    page = Page(build(folder))
    assert not (folder / "report" / "fairness.csv").exists()
    assert "Fair comparison" not in page.text


def test_a_run_that_comparisons_share_is_under_way_once(make: Maker) -> None:
    study = make(seeds=(0,))
    for name, facts in (("e", {}), ("e (matched)", {"comparison": "matched", "origin": "e"})):
        study.experiment(name, {}, headline=["loss"], **facts)
    first, second = study.plan["runs"]
    second |= {"id": first["id"], "folder": first["folder"]}
    study.run("e", "base", 0, [("test", "loss", "", 1.0)])
    tables = make_tables(read_study(study.write()))
    assert len(tables.runs) == 2
    assert most_at_once(tables.runs) == 1


def test_added_seeds_are_told_in_the_section_and_in_the_text(make: Maker) -> None:
    study = make(seeds=(0, 1))
    study.experiment("e", {"x": {"model.norm": "none"}}, headline=["loss"], looks=[5, 10, 20])
    for variant in ("base", "x"):
        for seed in study.seeds:
            study.run("e", variant, seed, [("test", "loss", "", 1.0 + seed / 7 + (variant == "x") * (1 + seed / 9))])
    page = Page(build(study.write()))
    assert "at looks fixed beforehand (5, 10 and 20 seeds)" in page.text
    assert "at looks fixed beforehand (5, 10 and 20 seeds)" in (study.folder / "report" / "report.md").read_text()


def test_a_variant_that_matching_leaves_as_it_is_says_so_and_why(make: Maker) -> None:
    folder = unchanged_study(make())
    fair = fair_of(folder)
    rows = {row[0].text: row[1:] for row in metric_grid(fair, "loss").rows}
    assert [cell.text for cell in rows["slow"]] == ["+0.503", "as it is", "worse"]
    assert rows["slow"][1].note == "of the size of the base already"
    assert rows["slow"][1].value == rows["slow"][0].value, "it is sorted by its effect"
    assert [cell.text for cell in rows["small"]] == ["+0.253", "−0.247", "worse; matched: better"]
    assert [cell.text for cell in rows["base"]][:2] == ["1.100", "1.100"]
    made = {row[0]: [text.replace("\N{NO-BREAK SPACE}", " ") for text in row[1:]] for row in texts(settings_grid(fair))}
    assert made["slow"][1] == "as it is (100.0 %, operations 100.0 %)"
    (sentence,) = sentences(fair)
    assert sentence == (
        "Matching every variant to the base (1 of 2 variants stays as it is, of the size of the base already) changes "
        "1 of 1 verdict on loss (small from worse to better); 1 of 1 verdict on BLEU (small from worse to better)."
    )
    assert "as it is" in Page(build(folder)).text


def test_a_search_that_finds_the_settings_that_were_there_changes_nothing(make: Maker) -> None:
    study = make(seeds=(0, 1))
    for name, facts in (("e", {}), ("e (tuned)", {"comparison": "tuned", "origin": "e"})):
        study.experiment(name, {"x": {"model.norm": "none"}}, headline=["loss"], **facts)
    share_runs(study, "e", "e (tuned)", ["base", "x"])
    for variant, loss in (("base", 1.0), ("x", 2.0)):
        for seed in study.seeds:
            study.run("e", variant, seed, [("test", "loss", "", loss + seed)])
    assert sentences(fair_of(study.write())) == [
        "Tuning every variant and the base alike (1 of 1 variant stays as it is, the search found the same settings) "
        "changes nothing."
    ]
