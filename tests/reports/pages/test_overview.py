"""The head of a page speaks of the study as a whole."""

from collections.abc import Callable
from typing import Any

from reports.experiment import Experiment
from reports.pages.findings import findings
from reports.pages.overview import overview, speaking
from reports.rows import read_study
from reports.table import make_tables

Maker = Callable[..., Any]


def study_of(make: Maker, harms: dict[str, dict[str, float]], base: float = 1.0, **facts: Any) -> list[Experiment]:
    """Experiments with a loss of `base` and these differences by variant, in three seeds that differ a little."""
    study = make()
    for name, of in harms.items():
        study.experiment(name, {v: {"model.norm": v} for v in of}, headline=["loss"], chance={"loss": 3.0}, **facts)
        for seed in study.seeds:
            for variant, harm in {"base": 0.0, **of}.items():
                value = (3.0 if name == "stuck" else base) + harm * (1 + 0.01 * seed)
                study.run(name, variant, seed, [("test", "loss", "", value)])
    tables = make_tables(read_study(study.write()))
    return [Experiment(tables, name) for name in study.plan["experiments"]]


def test_several_experiments_are_counted_together_and_the_largest_harms_named(make: Maker) -> None:
    found = overview(study_of(make, {"one": {"a": 0.5, "b": 0.0}, "two": {"c": 0.26, "d": -0.5}, "three": {"e": 0.0}}))
    assert found is not None
    assert found.headline == (
        "In 3 experiments, 3 of 5 differences from the base in loss are clear, 2 worse, 1 better (p after Holm below "
        "0.05)."
    )
    assert found.further.startswith("In one, loss rises most with a: +0.505 nats per token (95")
    assert "; in two, loss rises most with c: +0.263" in found.further
    assert "three" not in found.further


def test_a_base_that_has_not_learned_comes_first_and_is_not_counted(make: Maker) -> None:
    found = overview(study_of(make, {"stuck": {"a": 0.5}, "two": {"a": 0.5}, "three": {"a": 0.5}}))
    assert found is not None
    assert found.headline == (
        "In stuck (loss 3.000, where guessing gives 3.000) the base has not learned, and differences from it are no "
        "findings. In 2 experiments, 2 of 2 differences from the base in loss are clear, all worse (p after Holm below "
        "0.05)."
    )
    assert "stuck" not in found.further


def test_if_no_base_has_learned_nothing_else_is_said(make: Maker) -> None:
    harms = {name: {"a": 0.5} for name in ("p", "q", "r", "s", "t")}
    found = overview(study_of(make, harms, base=2.99))
    assert found is not None
    assert found.headline.endswith(
        "r (loss 2.990, where guessing gives 3.000) and 2 other experiments the base has not learned, and differences "
        "from it are no findings."
    )
    assert found.texts == [found.headline]


def test_of_many_experiments_those_with_the_smallest_p_are_named_in_their_order(make: Maker) -> None:
    study = make()
    noise = {"p": 0.04, "q": 0.001, "r": 0.01, "s": 0.02}
    for name, of in noise.items():
        study.experiment(name, {"x": {"model.norm": "x"}}, headline=["loss"], chance={})
        for seed in study.seeds:
            study.run(name, "base", seed, [("test", "loss", "", 1.0)])
            study.run(name, "x", seed, [("test", "loss", "", 1.5 + of * seed)])
    tables = make_tables(read_study(study.write()))
    found = overview([Experiment(tables, name) for name in noise])
    assert found is not None
    assert [clause.partition(",")[0].lower() for clause in found.further.split("; ")] == ["in q", "in r", "in s"]


def test_one_experiment_keeps_its_own_headline(make: Maker) -> None:
    (one,) = study_of(make, {"one": {"a": 0.5}})
    assert overview([one]) == findings(one)


def test_what_was_made_equal_does_not_count_but_the_experiment_is_named(make: Maker) -> None:
    study = make(seeds=(0,))
    for name, facts in (("e", {}), ("e (tuned)", {"origin": "e", "comparison": "tuned"})):
        study.experiment(name, {"x": {"model.norm": "none"}}, headline=["loss"], **facts)
        for variant, loss in (("base", 1.0), ("x", 1.5)):
            study.run(name, variant, 0, [("test", "loss", "", loss)])
    tables = make_tables(read_study(study.write()))
    found = overview([Experiment(tables, name) for name in study.plan["experiments"]])
    assert found is not None
    assert found.headline == "In e, loss rises most with x: +0.5 nats per token (one seed: no interval)."


def test_measurements_do_not_speak_where_something_was_tested(make: Maker) -> None:
    study = make(seeds=(0,))
    study.experiment("tested", {"x": {"model.norm": "none"}}, headline=["loss"])
    study.experiment("probed", {"x": {"model.norm": "none"}}, headline=[])
    for variant in ("base", "x"):
        study.run("tested", variant, 0, [("test", "loss", "", 1.0)])
        study.run("probed", variant, 0, [("probe", "rank", "", 4.0)])
    tables = make_tables(read_study(study.write()))
    tested, probed = (Experiment(tables, name) for name in ("tested", "probed"))
    assert speaking([probed, tested]) == [tested]
    assert speaking([probed]) == [probed]
    assert overview([]) is None
