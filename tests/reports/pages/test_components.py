"""A part of the model over all experiments that change it alone."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from reports.experiment import Experiment
from reports.figures.gallery import Gallery
from reports.figures.theme import theme
from reports.pages.components import components, lecture
from reports.pages.grids import Link
from reports.pages.page import build
from reports.pages.sections import make_sections
from reports.pages.verdicts import Article
from reports.register import read_register
from reports.rows import read_study
from reports.table import make_tables
from tests.reports.pages.parsed import Page
from tests.reports.pages.test_verdicts import verdict

Maker = Callable[..., Any]


def made(study: Any) -> list[Experiment]:
    tables = make_tables(read_study(study.write()))
    return [Experiment(tables, name) for name in study.plan["experiments"]]


def two_experiments(make: Maker) -> Any:
    study = make()
    lecture = {"model.norm": "Normalising helps."}
    changes = {
        "no-norm": {"model.norm": "none"},
        "both": {"model.norm": "none", "model.position": "none"},
        "slow": {"train.lr": 0.1},
        "whole": {"model": {"scale": "none"}},
    }
    study.experiment("first", changes, headline=["loss"], components=lecture, marks={"whole": ["leaks_future"]})
    study.experiment("second", {"rms": {"model.norm": "rms"}}, headline=["bleu"])
    for seed in study.seeds:
        for variant, shift in {"base": 0.0, "no-norm": 1.0, "both": 2.0}.items():
            study.run("first", variant, seed, [("test", "loss", "", shift + seed / 8 + 0.01 * shift * seed)])
        for variant in ("base", "rms"):
            study.run("second", variant, seed, [("test", "bleu", "", 30.0 + seed * (variant == "rms"))])
    return study


def test_only_variants_that_change_one_part_of_the_model_speak_of_it(make: Maker) -> None:
    norm, scale = components(made(two_experiments(make)), ["experiment-1", "experiment-2"])
    assert (norm.path, scale.path) == ("model.norm", "model.scale")
    assert (norm.lecture, scale.lecture) == ("Normalising helps.", "")
    assert (norm.anchor, scale.anchor) == ("component-1", "component-2")
    assert norm.grid.columns == ["Experiment", "Value", "Base has", "Loss", "BLEU"]
    assert [[cell.text for cell in row] for row in norm.grid.rows] == [
        ["", "none", "layer", "+1.010", "–"],
        ["", "rms", "layer", "–", "+1.0"],
    ]
    assert [row[0].links[0] for row in norm.grid.rows] == [
        Link(text="first", target="#experiment-1"),
        Link(text="second", target="#experiment-2"),
    ]


def test_changes_have_intervals_names_and_labels(make: Maker) -> None:
    norm, scale = components(made(two_experiments(make)), ["a", "b"])
    none, rms = norm.grid.rows
    assert none[1].note == "no-norm"
    assert rms[1].note == ""
    assert none[3].note == "+0.985 to +1.035"
    assert rms[4].kind == "number undecided"
    (row,) = scale.grid.rows
    assert row[1].tags == ("sees the future",)
    assert row[3].text == "–"


def test_without_single_changes_there_is_nothing(make: Maker) -> None:
    study = make(seeds=(0,))
    study.experiment("e", {"x": {"train.lr": 0.1}, "y": {}})
    assert components(made(study), ["a"]) == []


FULL = {
    "says": "Normalising helps.", "section": "The block (58:00)", "equation": "(x - m) / s", "off": "x stays <x>",
    "next": "ablations run norms",
}  # fmt: skip


def test_a_plan_may_say_of_a_part_a_text_or_all_that_there_is(make: Maker) -> None:
    study = make(seeds=(0,))
    told = {"model.norm": FULL, "model.scale": "Scaling helps.", "model.position": {"says": "Order", "next": None}}
    study.experiment("e", {}, components=told)
    study.experiment("f", {}, components={"model.norm": "not the first"})
    experiments = made(study)
    empty = dict.fromkeys(("lecture", "section", "equation", "off", "next"), "")
    assert lecture(experiments, "model.norm") == {
        "lecture": "Normalising helps.",
        **{k: FULL[k] for k in list(FULL)[1:]},
    }
    assert lecture(experiments, "model.scale") == {**empty, "lecture": "Scaling helps."}
    assert lecture(experiments, "model.position") == {**empty, "lecture": "Order"}
    assert lecture(experiments, "model.n_heads") == empty


def test_a_part_has_the_claims_that_change_it_and_the_pictures_of_its_effect(make: Maker, tmp_path: Path) -> None:
    experiments = made(two_experiments(make))
    with theme():
        sections = list(make_sections(experiments, Gallery(tmp_path / "figures")))
    names = ("positions-loss-german", "mask-loss-german")
    articles = [Article(verdict=verdict(name), anchor=name, steps="", pictures=()) for name in names]
    anchors = [section.anchor for section in sections]
    norm, scale = components(experiments, anchors, sections, articles, read_register())
    assert norm.claims == scale.claims == ()
    assert [link.text for link in norm.figures] == ["effects in first", "effects in second"]
    assert [link.target for link in norm.figures][:1] == ["#figure-01-first-effects"]
    assert [link.text for link in scale.figures] == ["effects in first"]
    study = make(seeds=(0,))
    study.experiment("e", {"x": {"model.position": "none"}})
    (position,) = components(made(study), ["a"], [], articles, read_register())
    assert [article.verdict.id for article in position.claims] == ["positions-loss-german"]


def test_the_page_tells_all_of_a_part(make: Maker) -> None:
    study = two_experiments(make)
    study.plan["experiments"]["first"]["components"] = {"model.norm": FULL}
    page = Page(build(study.write()))
    parts = page.text[page.text.index("Parts of the model Each row") :]
    for text in (
        "The lecture, The block (58:00) : Normalising helps.",
        "(x - m) / s",
        "In its place: x stays <x>",
        "In a picture: effects in first , effects in second",
        "Try next: ablations run norms",
    ):
        assert text in parts
    links = [attributes.get("href") for tag, attributes in page.tags if tag == "a"]
    assert "#figure-01-first-effects" in links
    assert "figure-01-first-effects" in {attributes.get("id") for _, attributes in page.tags}
