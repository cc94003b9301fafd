"""Which experiment and variant of one study is which of another, and what differs."""

from collections.abc import Callable
from typing import Any

from reports.experiment import Experiment
from reports.pages.matches import alone, differences, matches
from reports.rows import StudyRows, read_study
from reports.table import make_tables

Maker = Callable[..., Any]


def read(study: Any) -> tuple[StudyRows, list[Experiment]]:
    rows = read_study(study.write())
    tables = make_tables(rows)
    return rows, [Experiment(tables, name) for name in rows.plan["experiments"]]


def study_of(make: Maker, plans: dict[str, list[str]], *, base: str = "base", seeds: Any = (0, 1)) -> Any:
    study = make(seeds=seeds)
    for name, variants in plans.items():
        study.experiment(name, {variant: {"model.position": variant} for variant in variants}, base=base)
    return study


def test_experiments_and_variants_match_by_name(make: Maker) -> None:
    _, first = read(study_of(make, {"a": ["x", "y"], "b": ["z"], "c": []}))
    _, second = read(study_of(make, {"b": ["z"], "a": ["y", "w", "x"]}))
    found = matches(first, second)
    assert [(match.first.name, match.second.name, match.name) for match in found] == [("a", "a", "a"), ("b", "b", "b")]
    assert found[0].variants == (("base", "base"), ("x", "x"), ("y", "y"))
    assert alone(first, second, found) == ["Only A has experiment c.", "a: only B has the variant w."]


def test_experiments_of_one_name_and_two_tasks_are_not_compared(make: Maker) -> None:
    made = study_of(make, {"copy": ["x"], "a": ["y"]})
    _, first = read(made)
    made.plan["experiments"]["copy"]["task"] = "recall"
    _, second = read(made)
    found = matches(first, second)
    assert [match.name for match in found] == ["a"]
    assert alone(first, second, found) == ["copy is not compared: its task is german in A and recall in B."]


def test_experiments_of_other_names_do_not_match_even_if_alone(make: Maker) -> None:
    _, first = read(study_of(make, {"a": []}))
    _, second = read(study_of(make, {"c": []}))
    assert matches(first, second) == []
    assert alone(first, second, []) == ["Only A has experiment a.", "Only B has experiment c."]


def test_bases_of_two_names_are_each_others_partner(make: Maker) -> None:
    _, first = read(study_of(make, {"a": ["x"]}))
    _, second = read(study_of(make, {"a": ["x"]}, base="full"))
    (match,) = matches(first, second)
    assert match.variants == (("base", "full"), ("x", "x"))
    assert match.unmatched() == ([], [])


def test_a_base_that_is_a_variant_there_keeps_its_name(make: Maker) -> None:
    _, first = read(study_of(make, {"a": ["x"]}, base="base"))
    _, second = read(study_of(make, {"a": ["base"]}, base="x"))
    (match,) = matches(first, second)
    assert sorted(match.variants) == [("base", "base"), ("x", "x")]


def test_what_differs(make: Maker) -> None:
    first, second = study_of(make, {"a": ["x", "y"]}), study_of(make, {"a": ["x", "y"]}, seeds=(0, 1, 2))
    for study, commit in ((first, "aaaa"), (second, "bbbb")):
        for variant in ("base", "x", "y"):
            study.run(
                "a", variant, 0, [("test", "loss", "", 1.0)], commit=commit, ended=f"2026-01-05T10:00:0{len(commit)}"
            )
    for path in second.folder.glob("*/*/*/run.json"):
        path.write_text(path.read_text().replace('"steps": 250', '"steps": 500'))
    place = next(path for path in second.folder.glob("*/*/*/run.json") if '"variant": "y"' in path.read_text())
    place.write_text(place.read_text().replace('"lr": 0.003', '"lr": 0.001'))
    (a, first_experiments), (b, second_experiments) = read(first), read(second)
    assert differences(a, b, matches(first_experiments, second_experiments)) == [
        ("Seeds", "0, 1", "0, 1, 2"),
        ("a: train.steps", "250", "500"),
        ("a: train.lr (y)", "0.003", "0.001"),
        ("Commit", "aaaa", "bbbb"),
    ]
    assert differences(a, a, matches(first_experiments, first_experiments)) == []


def test_a_base_that_is_not_planned_is_no_variant(make: Maker) -> None:
    study = study_of(make, {"a": ["x"]})
    study.plan["experiments"]["a"]["base"] = "gone"
    _, first = read(study)
    (match,) = matches(first, first)
    assert match.variants == (("base", "base"), ("x", "x"))
