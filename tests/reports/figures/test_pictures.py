"""Which figures an experiment gets, and what they are said to show."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from reports.experiment import Experiment
from reports.families import families
from reports.figures.fairness import again
from reports.figures.gallery import Gallery, Picture
from reports.figures.layouts import lines_figure
from reports.figures.pictures import (
    MOST_STEPS,
    family_pictures,
    measured,
    not_drawn_before,
    pictures,
    thinned,
    training_pictures,
)
from reports.figures.theme import theme
from reports.rows import read_study
from reports.table import make_tables
from tests.reports.fair_study import share_runs

Maker = Callable[..., Any]


def draw(study: Any, name: str, folder: Path) -> tuple[list[Picture], list[Picture]]:
    found = Experiment(make_tables(read_study(study.write())), name)
    with theme():
        gallery = Gallery(folder)
        results = [*pictures(found, "01-e", gallery), *training_pictures(found, "01-e", gallery)]
        return results, list(measured(found, "01-e", gallery))


def test_extra_lengths_get_a_figure_with_the_length_trained_at(make: Maker, tmp_path: Path) -> None:
    study = make(seeds=(0, 1, 2))
    study.experiment("e", {"x": {"model.norm": "none"}}, headline=["accuracy"], chance={"accuracy": 0.25})
    for variant in ("base", "x"):
        for seed in study.seeds:
            values = [("test", "accuracy", "", 0.99), ("test", "accuracy", "length=48", 0.7 + seed / 100)]
            place = study.run("e", variant, seed, values)
            run = place / "run.json"
            run.write_text(run.read_text("utf-8").replace('"name": "german"', '"name": "order", "length": 32'), "utf-8")
    shown, _ = draw(study, "e", tmp_path / "figures")
    assert [picture.title for picture in shown] == ["What each change does", "Accuracy by length"]
    assert "trained at 32" in shown[1].svg
    assert ">chance 0.25<" in shown[1].svg
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {
        f"01-e-{name}.{kind}" for name in ("effects", "accuracy-by-length") for kind in ("png", "svg")
    }


def test_points_on_a_handful_of_items_are_left_out(
    make: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = make(seeds=(0, 1, 2))
    study.experiment("e", {"x": {"model.norm": "none"}}, headline=["accuracy"])
    for variant in ("base", "x"):
        for seed in study.seeds:
            shares = [("test", "accuracy", f"distance={d}", 0.5 + d / 100) for d in (1, 2, 3)]
            counts = [("test", "items", f"distance={d}", n) for d, n in ((1, 10), (2, 9), (3, 400))]
            study.run("e", variant, seed, [("test", "accuracy", "", 0.6), *shares, *counts])
    drawn: list[Any] = []

    def remember(data: Any, **options: Any) -> Figure:
        drawn.append(sorted(set(data["at"])))
        return lines_figure(data, **options)

    monkeypatch.setattr("reports.figures.pictures.lines_figure", remember)
    shown, _ = draw(study, "e", tmp_path / "figures")
    assert drawn[0] == [1, 3]
    assert "fewer than 10 test items are left out" in shown[1].caption


def test_measurements_are_apart_from_results(make: Maker, tmp_path: Path) -> None:
    study = make(seeds=(0,))
    study.experiment("e", {"x": {"model.residual": "none"}}, headline=[])
    for variant in ("base", "x"):
        layers = [("probe", "gradient_norm", f"layer={k}", 10.0 ** (-k)) for k in range(1, 5)]
        study.run("e", variant, 0, layers, cost={"tokens_per_second": None})
    shown, probes = draw(study, "e", tmp_path)
    assert shown == []
    assert [picture.title for picture in probes] == ["Gradient norm by layer"]
    assert "One seed each: no bands." in probes[0].caption


def test_curves_need_three_steps_and_say_where_runs_diverged(make: Maker, tmp_path: Path) -> None:
    study = make(seeds=(0, 1))
    study.experiment("e", {"x": {"model.norm": "none"}}, headline=["loss", "accuracy"])
    for variant in ("base", "x"):
        curve = [(10, "loss", 0.9), (20, "loss", 0.5), (30, "loss", 0.4), (20, "accuracy", 0.9), (30, "accuracy", 1.0)]
        study.run("e", variant, 0, [("test", "loss", "", 0.5), ("test", "accuracy", "", 1.0)], curve=curve)
    curve = [(10, "loss", 0.9), (20, "loss", float("nan"))]
    study.run("e", "x", 1, [("test", "loss", "", 2.77)], status="diverged", curve=curve)
    shown, _ = draw(study, "e", tmp_path)
    assert [picture.title for picture in shown] == ["What each change does", "Loss while training"]
    assert "a run diverged here" in shown[1].caption
    assert "Validation set." in shown[1].caption


def test_every_picture_says_what_it_is_and_the_effects_come_first(quick: Path, tmp_path: Path) -> None:
    found = Experiment(make_tables(read_study(quick)), "german")
    with theme():
        gallery = Gallery(tmp_path)
        shown = [*pictures(found, "01-german", gallery), *training_pictures(found, "01-german", gallery)]
    assert [picture.kind for picture in shown] == ["effects", "distance", "curve", "curve"]
    assert "Difference of 8 variants to base in Loss, BLEU and Long-range accuracy" in shown[0].alt
    assert "Loss is higher for " in shown[0].alt
    assert shown[1].alt.startswith("Accuracy by distance: 9 lines from 1 to 17; at the end lstm is lowest (0.")
    assert all(picture.alt.endswith(".") and f'aria-label="{picture.alt}"' in picture.svg for picture in shown)


def test_units_levels_and_marks_of_the_plan_are_drawn(make: Maker, tmp_path: Path) -> None:
    study = make(seeds=(0, 1, 2))
    plan = {
        "marks": {"x": ["leaks_future"], "y": ["other"]},
        "units": {"distance": "words"},
        "references": {"accuracy": {"ceiling": 0.9}},
    }
    study.experiment("e", {"x": {"model.decoder_mask": "none"}, "y": {}}, headline=["accuracy"], **plan)
    for variant in ("base", "x", "y"):
        for seed in study.seeds:
            at = [("test", "accuracy", f"distance={d}", 0.6 + seed / 50) for d in (1, 2, 3)]
            study.run("e", variant, seed, [("test", "accuracy", "", 0.7 + seed / 50), *at])
    shown, _ = draw(study, "e", tmp_path)
    effects, distances = shown[0], shown[1]
    assert effects.svg.count(">sees the future<") == 1
    assert "Hollow: the variant sees the tokens" in effects.caption
    assert ">Distance (words)<" in distances.svg
    assert ">ceiling 0.9<" in distances.svg
    assert ">chance 0.5<" in distances.svg
    assert "x sees the tokens that are to be predicted." in distances.caption


def test_costs_are_drawn_where_they_differ(make: Maker, tmp_path: Path) -> None:
    study = make(seeds=(0, 1))
    study.experiment("e", {"x": {"model.d_ff": 8}}, headline=["loss"])
    for variant, flops in (("base", 2e12), ("x", 1e12)):
        for seed in study.seeds:
            study.run("e", variant, seed, [("test", "loss", "", 0.5 + seed / 50)], cost={"training_flops": flops})
    shown, _ = draw(study, "e", tmp_path)
    assert [(picture.title, picture.kind) for picture in shown[1:]] == [("Loss against cost", "cost")]
    assert shown[1].alt == "Loss of 2 variants against training FLOPs."
    assert ">Training FLOPs<" in shown[1].svg
    assert ">Seconds of training<" not in shown[1].svg  # all took the same


@pytest.mark.parametrize(("metric", "left_out"), [("loss", True), ("bleu", False)])
def test_a_variant_that_sees_the_future_is_no_bargain(make: Maker, tmp_path: Path, metric: str, left_out: bool) -> None:
    study = make(seeds=(0, 1))
    study.experiment("e", {"leak": {}, "x": {}}, headline=[metric], marks={"leak": ["leaks_future"]})
    for variant, flops in (("base", 2e12), ("x", 1.5e12), ("leak", 1e12)):
        for seed in study.seeds:
            study.run("e", variant, seed, [("test", metric, "", 0.5 + seed / 50)], cost={"training_flops": flops})
    (shown,) = [picture for picture in draw(study, "e", tmp_path)[0] if picture.kind == "cost"]
    assert ("Left out: leak, which sees the tokens that are to be predicted." in shown.caption) == left_out
    assert (">leak<" in shown.svg) != left_out


def test_diverged_runs_of_a_family_are_counted(make: Maker, tmp_path: Path) -> None:
    study = make(seeds=(0, 1))
    for rate in (0.001, 0.01):
        study.experiment(f"e {rate}", {"_x": {}}, headline=["loss"], family="e", grid={"train.lr": rate})
        for variant in ("base", "_x"):
            for seed in study.seeds:
                ends = {"status": "diverged", "reason": "x"} if variant == "_x" and rate == 0.01 else {}
                study.run(f"e {rate}", variant, seed, [("test", "loss", "", 2.0 + seed)], **ends)
    tables = make_tables(read_study(study.write()))
    (family,) = families([Experiment(tables, name) for name in study.plan["experiments"]])
    with theme():
        (shown,) = family_pictures(family, "e", Gallery(tmp_path))
    assert "✕: a diverged run, with the value fixed for it beforehand. Diverged: 2 of _x at 0.01." in shown.caption


def test_time_and_memory_by_length_are_fitted_and_other_measurements_are_not(make: Maker, tmp_path: Path) -> None:
    study = make(seeds=(0, 1, 2))
    study.experiment("e", {"_x": {"model.attention": "linear"}}, headline=[])
    for variant, exponent in (("base", 2), ("_x", 1)):
        for seed in study.seeds:
            seconds = [
                ("timing", "seconds", f"length={n}", 1e-6 * n ** (exponent + seed / 100)) for n in (64, 128, 256)
            ]
            other = [("timing", "gradient_norm", f"length={n}", 1.0 + seed) for n in (64, 128)]
            study.run("e", variant, seed, [*seconds, *other])
    _, probes = draw(study, "e", tmp_path)
    assert [(p.title, p.kind) for p in probes] == [
        ("Gradient norm by length", "measured"),
        ("Seconds by length", "growth"),
    ]
    assert "_x: length^1.01 (0.99 to 1.03)" in probes[1].svg


def test_long_curves_are_thinned_and_keep_their_ends_and_those_of_diverged_runs() -> None:
    steps = range(1, 1002)
    curves = pd.DataFrame(
        {"variant": v, "seed": 0, "state": state, "step": step, "value": 1.0 if step <= last else float("nan")}
        for v, state, last in (("base", "completed", 1001), ("x", "diverged", 456))
        for step in steps
    )
    found = thinned(curves)
    kept = sorted(set(found["step"]))
    assert (kept[0], kept[-1]) == (1, 1001)
    assert len(kept) in (MOST_STEPS, MOST_STEPS + 1)
    of_x = found[(found["variant"] == "x") & found["value"].notna()]
    assert of_x["step"].max() == 456
    few = curves[curves["step"] <= MOST_STEPS]
    assert thinned(few) is few


def test_the_parts_of_intervals_are_explained_where_items_have_one(quick: Path, tmp_path: Path) -> None:
    tables = make_tables(read_study(quick))
    said = []
    one_seed = tables.effects.assign(item_variance=0.01, low=np.nan, high=np.nan)
    for effects in (*(tables.effects.assign(item_variance=variance) for variance in (0.0, 0.01)), one_seed):
        known = replace(tables, effects=effects)
        with theme():
            said.append(next(pictures(Experiment(known, "german"), "e", Gallery(tmp_path))).caption)
    assert ["The thick part" in caption for caption in said] == [False, True, False]


def test_runs_that_a_comparison_shares_are_drawn_once(make: Maker, tmp_path: Path) -> None:
    study = make(seeds=(0, 1))
    for name, facts in (("e", {}), ("e (matched)", {"comparison": "matched", "origin": "e"})):
        study.experiment(name, {"x": {"model.norm": "none"}, "y": {"model.n_heads": 1}}, headline=["loss"], **facts)
    share_runs(study, "e", "e (matched)", ["base", "x"])
    for name, variants in (("e", ("base", "x", "y")), ("e (matched)", ("y",))):
        for variant in variants:
            for seed in study.seeds:
                curve = [(10, "loss", 3.0), (15, "loss", 2.5), (20, "loss", 2.0 + seed)]
                study.run(name, variant, seed, [("test", "loss", "", 2.0 + seed)], curve=curve)
    tables = make_tables(read_study(study.write()))
    origin, matched = (Experiment(tables, name) for name in ("e", "e (matched)"))
    assert again(origin) == set()
    assert again(matched) == {"base", "x"}
    kept = not_drawn_before(matched, matched.tables.curves)
    assert set(kept["variant"]) == {"base", "y"}
    assert len(not_drawn_before(origin, origin.tables.curves)) == len(origin.tables.curves)
    only = kept[kept["variant"] != "y"]
    assert not_drawn_before(matched, only).empty, "the base alone is nothing new"
    with theme():
        curves = list(training_pictures(matched, "m", Gallery(tmp_path)))
        shown = list(pictures(matched, "m", Gallery(tmp_path)))
    assert "Not drawn again: 1 variant, its runs are those of e." in curves[0].caption
    assert shown == [], "effects stand in the figure of all comparisons"
