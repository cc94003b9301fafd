"""Claims as the page tells them: an overview by section, an article for each, those not run in one line."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reports import claims
from reports.experiment import Experiment
from reports.figures.gallery import Gallery
from reports.figures.theme import theme
from reports.pages.page import build
from reports.pages.verdicts import FEW, changed_by, in_words, looks_by_experiment, make_articles, steps_by_claim
from reports.register import read_register
from reports.rows import read_study
from reports.table import make_tables
from reports.verdicts import Judged, Verdict
from tests.reports.figures.test_claims import judged
from tests.reports.pages.parsed import Page

Maker = Callable[..., Any]


def verdict(name: str = "one", *conditions: Judged, **fields: Any) -> Verdict:
    known: dict[str, Any] = {
        "id": name, "section": "Masking (21:23)", "statement": f"Statement of {name}", "outcome": "supported",
        "reason": "", "provisional": False, "counter_evidence": f"Against {name}", "kind": "speed",
        "experiment": "german", "task": "german",
    }  # fmt: skip
    return Verdict(conditions=conditions or (judged(held_equal="steps"),), **known | fields)


def not_run(name: str) -> Verdict:
    nothing = judged(value=None, low=None, high=None, outcome="not run", per_seed={}, n="0 of 2 seeds", sides=())
    return verdict(name, nothing, outcome="not run", reason="needs data: no run of experiment multi30k")


@pytest.fixture
def page_of(quick: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Page]:
    """The page of the quick study with the verdicts that are given in place of its own."""

    def make(*verdicts: Verdict) -> Page:
        folder = tmp_path / "quick"
        shutil.copytree(quick, folder)
        monkeypatch.setattr(claims, "verdicts", lambda tables: list(verdicts))
        return Page(build(folder))

    return make


def test_the_overview_has_a_row_a_claim_that_leads_to_its_article(page_of: Callable[..., Page]) -> None:
    page = page_of(verdict("one"), verdict("two", section="Heads (41:44)", provisional=True), not_run("three"))
    tables = page.source[page.source.index('id="verdicts"') : page.source.index("The evidence for each claim")]
    assert tables.count("<table") == 2
    for text in (
        "Masking (21:23)",
        "Heads (41:44)",
        "0.200 (0.100 to 0.300)",
        "at least 0.1",
        "speed, 250 steps",
        "2 of 2",
    ):
        assert text in tables
    assert tables.count('<span class="tag">provisional</span>') == 1
    links = [attributes["href"] for tag, attributes in page.tags if tag == "a" and attributes.get("href")]
    identifiers = {attributes.get("id") for _, attributes in page.tags}
    for anchor in ("claim-1-one", "claim-2-two", "claim-3-three"):
        assert anchor in identifiers
    assert "#claim-1-one" in links
    assert "#claim-3-three" not in links
    assert "2 supported, 1 not run." in page.text


def test_what_is_not_run_says_why_in_one_row_and_has_no_article(page_of: Callable[..., Page]) -> None:
    page = page_of(not_run("three"))
    assert page.text.count("Statement of three") == 1
    assert page.text.count("Needs data: no run of experiment multi30k.") == 1
    assert "The evidence for each claim" not in page.text
    assert not any("Claim three" in (attributes.get("aria-label") or "") for _, attributes in page.tags)


def test_an_article_has_picture_text_and_counter_evidence(page_of: Callable[..., Page]) -> None:
    page = page_of(verdict("one", judged(1, held_equal="steps"), judged(2, outcome="inconclusive", reason="too few")))
    article = page.source[page.source.index("<article") : page.source.index("</article>")]
    assert article.count("<svg") == 1
    assert "Quantity 1: <b>0.200 (0.100 to 0.300)</b>, wanted: at least 0.1; 2 of 2 seeds." in article
    assert article.count("Held equal: steps.") == 1
    assert "Against it: Against one" in article
    rows = page.source[page.source.index('id="verdicts"') : page.source.index("<article")]
    assert 'rowspan="2"' in rows
    assert rows.count("at least 0.1</td>") == 2


def test_a_condition_without_a_value_says_why_in_the_overview(page_of: Callable[..., Page]) -> None:
    nothing = judged(2, value=None, outcome="not run", reason="no run yet", per_seed={}, n="0 of 2 seeds")
    page = page_of(verdict("one", judged(1), nothing, outcome="inconclusive"))
    rows = page.source[page.source.index('id="verdicts"') : page.source.index("<article")]
    assert "No run yet." in rows


def articles(quick: Path, tmp_path: Path, verdicts: list[Verdict]) -> Any:
    tables = make_tables(read_study(quick))
    experiments = [Experiment(tables, name) for name in tables.study.plan["experiments"]]
    with theme():
        return make_articles(tables.study, experiments, verdicts, Gallery(tmp_path))


def test_of_many_claims_those_in_doubt_stand_open(quick: Path, tmp_path: Path) -> None:
    outcomes = ["supported", "supported", "inconclusive", "not supported", "inconclusive", "supported", "supported"]
    found = articles(quick, tmp_path, [verdict(f"c{i}", outcome=outcome) for i, outcome in enumerate(outcomes)])
    assert [article.is_open for article in found] == [False, False, True, True, True, False, False]
    few = articles(quick, tmp_path / "few", [verdict(f"c{i}") for i in range(FEW)])
    assert all(article.is_open for article in few)


def test_ids_that_look_alike_have_places_of_their_own(quick: Path, tmp_path: Path) -> None:
    found = articles(quick, tmp_path, [verdict("a b"), verdict("a-b")])
    assert len({article.anchor for article in found}) == 2
    assert len({picture.name for article in found for picture in article.pictures}) == 2


def test_steps_are_those_of_the_runs_of_the_sides(make: Maker) -> None:
    study = make(seeds=(0,))
    study.experiment("short", {})
    for distance, steps in ((2, 300), (4, 1500)):
        study.experiment(
            f"far@{distance}", {"x": {"train.steps": steps}}, family="far", grid={"task.distance": distance}
        )
        study.run(f"far@{distance}", "x", 0, [])
    study.run("short", "base", 0, [])
    found = read_study(study.write())
    side = judged().sides[0]
    of_family = judged(sides=(type(side)(label="x", experiment="far", variant="x", values={0: 1.0}),))
    verdicts = [
        verdict("own", judged(sides=()), experiment="short"),
        verdict("family", of_family, experiment="short"),
        verdict("none", judged(sides=()), experiment="gone"),
    ]
    assert steps_by_claim(found, verdicts) == {"own": "250", "family": "300 or 1500", "none": ""}
    assert in_words(verdicts[0], "250") == "speed, 250 steps"
    assert in_words(verdict(kind="structural"), "250") == "structural"


def test_families_have_the_looks_of_their_first_point(make: Maker) -> None:
    study = make(seeds=(0,))
    study.experiment("far@2", {"x": {"model.norm": "none"}}, family="far", grid={"task.distance": 2})
    study.experiment("far@4", {"y": {"model.norm": "rms"}}, family="far", grid={"task.distance": 4})
    tables = make_tables(read_study(study.write()))
    experiments = [Experiment(tables, name) for name in study.plan["experiments"]]
    found = looks_by_experiment(experiments)
    assert set(found) == {"far", "far@2", "far@4"}
    assert found["far"] is experiments[0].styles


def test_claims_are_found_by_what_their_conditions_change() -> None:
    registered = changed_by(read_register())
    assert "positions-loss-german" in registered["model.position"]
    assert "mask-loss-german" not in registered["model.position"]
