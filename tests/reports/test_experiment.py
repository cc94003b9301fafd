"""The order and the looks of variants, and their resolved settings."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from reports.experiment import Experiment
from reports.metrics import LONG_RANGE
from reports.rows import read_study
from reports.table import make_tables

Maker = Callable[..., Any]


def experiment(folder: Path, name: str) -> Experiment:
    return Experiment(make_tables(read_study(folder)), name)


def test_named_variants_stand_by_harm_with_the_base_first(quick: Path) -> None:
    found = experiment(quick, "german")
    assert found.order[:3] == ["base", "no-residual", "lstm"]
    assert found.order[-1] == "no-mask"
    assert found.metrics == ["loss", "bleu", "accuracy", LONG_RANGE]
    assert found.compared == ["loss", "bleu", LONG_RANGE]


def test_designs_keep_their_order_and_variants_without_effect_come_last(make: Maker) -> None:
    study = make(seeds=(0,))
    for design in ("ladder", "variants"):
        study.experiment(design, {v: {f"model.{v}": "none"} for v in ("gone", "a", "b")}, design=design)
        for variant, loss in {"base": 0.1, "a": 0.2, "b": 0.9}.items():
            study.run(design, variant, 0, [("test", "loss", "", loss)])
    folder = study.write()
    assert experiment(folder, "ladder").order == ["base", "gone", "a", "b"]
    assert experiment(folder, "variants").order == ["base", "b", "a", "gone"]


def test_a_variant_looks_the_same_in_all_experiments(make: Maker) -> None:
    study = make(seeds=(0,))
    study.experiment("one", {v: {"model.norm": v} for v in ("a", "b")})
    study.experiment("two", {v: {"model.norm": v} for v in ("c", "b", "a")}, base="plain")
    folder = study.write()
    one, two = experiment(folder, "one"), experiment(folder, "two")
    assert one.styles["a"] == two.styles["a"]
    assert one.styles["b"] == two.styles["b"]
    assert one.styles["base"] == two.styles["plain"]
    assert len({one.styles[v] for v in ("base", "a", "b", "c")}) == 4


def test_settings_are_flat_and_those_of_a_started_run(make: Maker) -> None:
    study = make(seeds=(0, 1))
    study.experiment("e", {"x": {"model.norm": "none"}})
    study.run("e", "x", 1, [], status="failed")
    found = experiment(study.write(), "e")
    assert found.config("base") == {}
    assert found.config("x")["model.norm"] == "none"
    assert found.config("x")["measure"] == []
    assert not {"seed", "data"} & found.config("x").keys()


def test_a_whole_section_is_taken_apart(make: Maker) -> None:
    study = make(seeds=(0,))
    study.experiment("e", {"x": {"model": {"norm": "rms", "position": "none"}, "train.lr": 0.5}, "y": {"model": {}}})
    found = experiment(study.write(), "e")
    assert found.changes("x") == {"model.norm": "rms", "model.position": "none", "train.lr": 0.5}
    assert found.changes("y") == {"model": {}}
    assert found.changes("base") == {}


def test_who_sees_the_future_and_who_diverged(make: Maker) -> None:
    study = make(seeds=(0, 1))
    changes = {v: {"model.decoder_mask": v} for v in ("a", "b", "c")}
    marks = {"a": ["leaks_future"], "b": ["batch_dependent"]}
    study.experiment("e", changes, marks=marks)
    study.run("e", "c", 1, [], status="diverged", reason="not finite")
    study.run("e", "b", 1, [], status="failed", reason="full disk")
    found = experiment(study.write(), "e")
    assert found.leaking == {"a"}
    assert found.diverged == {"c"}
