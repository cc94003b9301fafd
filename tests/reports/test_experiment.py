"""The order and the looks of variants, and their resolved settings."""

import json
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


def test_a_comparison_has_the_order_of_its_origin_and_points_of_a_grid_that_of_the_plan(make: Maker) -> None:
    study = make(seeds=(0,))
    changes = {v: {f"model.{v}": "none"} for v in ("a", "b")}
    study.experiment("e", changes)
    study.experiment("e (tuned)", changes, origin="e", comparison="tuned")
    study.experiment("g@d=1", changes, family="g", grid={"task.d": 1})
    for name, harm in (("e", 1), ("e (tuned)", -1), ("g@d=1", 1)):
        for variant, loss in {"base": 1.0, "a": 1.1, "b": 1.1 + harm / 20}.items():
            study.run(name, variant, 0, [("test", "loss", "", loss)])
    folder = study.write()
    orders = [experiment(folder, name).order for name in study.plan["experiments"]]
    assert orders == [["base", "b", "a"], ["base", "b", "a"], ["base", "a", "b"]]


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


def test_the_base_is_named_with_its_value_where_one_setting_is_varied(make: Maker) -> None:
    study = make(seeds=(0,))
    study.experiment("text", {"a": {"model.position": "none"}, "b": {"model.position": "rotary"}})
    study.experiment("number", {"a": {"model.n_heads": 1}})
    study.experiment("said", {"a": {"model.norm": "none"}}, base="layer norm")
    study.experiment("several", {"a": {"model.norm": "none"}, "b": {"model.n_heads": 1}})
    study.experiment("whole", {"a": {"model": {"norm": "none"}}})
    for name, base in (("text", "base"), ("number", "base"), ("said", "layer norm"), ("several", "base")):
        study.run(name, base, 0, [])
    tables = make_tables(read_study(study.write()))
    found = {name: Experiment(tables, name) for name in study.plan["experiments"]}
    assert {name: e.label(e.base) for name, e in found.items()} == {
        "text": "base (sinusoidal)",
        "number": "base (n_heads=4)",
        "said": "layer norm",
        "several": "base",
        "whole": "base",  # not started yet
    }
    assert found["text"].label("a") == "a"
    assert found["number"].base_setting == {"model.n_heads": 4}


def test_lengths_are_those_with_effects_and_training_has_one_if_all_variants_share_it(make: Maker) -> None:
    study = make(seeds=(0,))
    study.experiment("e", {"x": {"model.norm": "none"}}, headline=["accuracy"])
    study.experiment("other", {"x": {"task.length": 7}}, headline=["accuracy"])
    for variant, lengths in (("base", (128, 48, 64)), ("x", (48, 128))):
        values = [("test", "accuracy", f"length={n}", 0.5) for n in lengths]
        place = study.run("e", variant, 0, [("test", "accuracy", "", 0.9), *values])
        run = json.loads((place / "run.json").read_text())
        run["config"]["task"]["length"] = 32
        (place / "run.json").write_text(json.dumps(run))
        study.run("other", variant, 0, [])
    tables = make_tables(read_study(study.write()))
    found = Experiment(tables, "e")
    assert found.lengths("accuracy") == [48.0, 128.0]
    assert found.lengths("loss") == []
    assert (found.trained_at("length"), found.trained_at("d_ff")) == (32.0, None)
    assert Experiment(tables, "other").trained_at("length") is None
