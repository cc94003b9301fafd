"""Figures that follow from how an experiment is laid out."""

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from reports.experiment import Experiment
from reports.figures import designs
from reports.figures.designs import design_pictures
from reports.figures.gallery import Gallery, Picture
from reports.figures.heatmaps import contrast_frames
from reports.figures.ladders import ladder_figure
from reports.figures.theme import theme
from reports.rows import read_study
from reports.table import make_tables

Maker = Callable[..., Any]


def draw(study: Any, folder: Path) -> list[Picture]:
    (name,) = study.plan["experiments"]
    found = Experiment(make_tables(read_study(study.write())), name)
    with theme():
        return list(design_pictures(found, "01-e", Gallery(folder)))


def fill(study: Any, value: Callable[[str], float], skip: tuple[str, ...] = ()) -> None:
    """Runs of every variant, loss rising by 0.01 a seed."""
    for variant in study.plan["experiments"]["e"]["variants"]:
        for seed in study.seeds:
            if variant not in skip:
                noise = 0.01 * seed + 0.001 * (seed + len(variant)) % 0.003
                study.run("e", variant, seed, [("test", "loss", "", value(variant) + noise)])


def test_ladders(make: Maker, tmp_path: Path) -> None:
    study = make()
    study.experiment("e", {"_a": {"x.a": 1}, "b": {"x.a": 1, "x.b": 1}}, design="ladder", headline=["loss"])
    fill(study, {"base": 3.0, "_a": 2.0, "b": 1.0}.__getitem__)
    (shown,) = draw(study, tmp_path)
    assert (shown.title, shown.kind, shown.name) == ("Step by step", "ladder", "01-e-ladder")
    assert shown.alt == "3 steps from base to b, which reaches Loss 1.01."
    assert "−1.000" in shown.svg
    assert ">_a<" in shown.svg


def test_a_ladder_without_its_start_is_not_drawn(make: Maker, tmp_path: Path) -> None:
    study = make()
    study.experiment("e", {"a": {"x.a": 1}}, design="ladder", headline=["loss"])
    fill(study, lambda _: 1.0, skip=("base",))
    assert draw(study, tmp_path) == []


def test_a_setting_that_is_varied_alone_is_a_curve(make: Maker, tmp_path: Path) -> None:
    study = make()
    changes = {f"n_heads={h}": {"model.n_heads": h} for h in (1, 2, 3, 6, 8, 12)}
    study.experiment("e", changes, design="one-at-a-time", headline=["loss"])
    fill(study, lambda variant: 0.1 * len(variant))
    (shown,) = draw(study, tmp_path)
    assert (shown.title, shown.kind) == ("By model.n_heads", "setting")
    assert shown.alt == "Loss at model.n_heads of 1, 2, 3, 4, 6, 8, 12."
    for value in (1, 2, 3, 4, 6, 8, 12):
        assert f">{value}<" in shown.svg


def test_two_factors_are_a_heat_map_with_the_base_first(make: Maker, tmp_path: Path) -> None:
    study = make()
    both = {
        f"{n},{f}": {"model.norm": n, "model.feed_forward": f} for n, f in product(("rms", "_x"), ("gated", "none"))
    }
    study.experiment("e", both, design="factorial", headline=["loss"])
    fill(study, lambda variant: 0.5 if variant == "base" else 0.7)
    (shown,) = draw(study, tmp_path)  # not all combinations are there: no contrasts
    assert (shown.title, shown.kind) == ("model.norm by model.feed_forward", "factorial")
    assert shown.alt == "Means of Loss for 3 values of model.norm by 3 of model.feed_forward."
    places = [shown.svg.index(f">{level}<") for level in ("layer", "rms", "_x")]
    assert places == sorted(places)
    assert ">base<" in shown.svg


def test_two_factors_have_their_contrasts_beside_the_heat_map(make: Maker, tmp_path: Path) -> None:
    study = make()
    cells = {f"{n},{h}": {"model.norm": n, "model.n_heads": h} for n, h in product(("layer", "rms"), (4, 1))}
    study.experiment("e", {name: cells[name] for name in cells if name != "layer,4"}, design="factorial")
    fill(study, {"base": 1.0, "rms,4": 1.2, "layer,1": 1.5, "rms,1": 2.4}.__getitem__)
    heat, contrasts = draw(study, tmp_path)
    assert (heat.name, contrasts.name) == ("01-e-factorial", "01-e-interactions")
    assert contrasts.title == "Main effects and interactions"
    for text in ("norm=rms", "n_heads=1", "norm=rms × n_heads=1", "+0.70"):
        assert f">{text}" in contrasts.svg


def three(study: Any) -> None:
    levels = {"model.norm": ("layer", "rms"), "model.feed_forward": ("relu", "gated"), "model.n_heads": (4, 1)}
    found = {}
    for chosen in product(*levels.values()):
        if chosen != ("layer", "relu", 4):
            found[",".join(map(str, chosen))] = dict(zip(levels, chosen, strict=True))
    study.experiment("e", found, design="factorial", headline=["loss"])


def test_a_cell_whose_runs_all_failed_is_there_and_counted(make: Maker, tmp_path: Path) -> None:
    study = make()
    both = {
        f"{n},{f}": {"model.norm": n, "model.feed_forward": f} for n, f in product(("rms", "_x"), ("gated", "none"))
    }
    study.experiment("e", both, design="factorial", headline=["loss"])
    fill(study, lambda _: 0.5, skip=("_x,gated",))
    (shown,) = draw(study, tmp_path)
    assert shown.svg.count(">no result<") == 1
    assert "Runs counted: _x,gated 0 of 3, 3 missing." in shown.caption


def test_more_factors_are_main_effects_and_interactions(make: Maker, tmp_path: Path) -> None:
    study = make()
    three(study)
    fill(study, lambda variant: 0.5 + 0.3 * ("rms" in variant))
    (shown,) = draw(study, tmp_path)
    assert "not drawn" not in shown.caption
    assert (shown.title, shown.kind) == ("Main effects and interactions", "factorial")
    for name in ("norm=rms", "feed_forward=gated", "n_heads=1", "norm=rms × n_heads=1"):
        assert f">{name}<" in shown.svg
    assert "+0.300" in shown.svg
    assert not any(f"--fig-{i}" in shown.svg for i in range(7))  # the colours of variants


def test_names_of_pairs_are_whole_and_rows_that_are_left_out_are_counted(
    make: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(designs, "MOST_CONTRASTS", 5)
    study = make()
    three(study)
    fill(study, lambda variant: 0.5 + 0.3 * ("rms" in variant))
    (shown,) = draw(study, tmp_path)
    assert ">norm=rms × feed_forward=gated<" in shown.svg
    assert ">norm=rms × n_heads=1<" in shown.svg
    assert "feed_forward=gated × n_heads=1" not in shown.svg
    assert "1 more contrasts are not drawn." in shown.caption


def test_an_unfinished_factorial_design_has_no_effects_yet(make: Maker, tmp_path: Path) -> None:
    study = make()
    three(study)
    fill(study, lambda _: 0.5, skip=("rms,gated,1",))
    assert draw(study, tmp_path) == []


@pytest.mark.parametrize("design", ["variants", "ladder", "factorial"])
def test_without_values_nothing_is_drawn(make: Maker, tmp_path: Path, design: str) -> None:
    study = make()
    study.experiment("e", {"x": {"model.norm": "none"}}, design=design, headline=["loss"])
    assert draw(study, tmp_path) == []


LOOKED = [5, 10, 20]
THIRD = "98.3\N{NO-BREAK SPACE}%"


def test_changes_between_rungs_are_at_the_level_of_a_look(
    make: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[Any] = []

    def ladder(steps: Any, styles: Any) -> Any:
        drawn.append(steps)
        return ladder_figure(steps, styles)

    monkeypatch.setattr(designs, "ladder_figure", ladder)
    losses = {"base": (3.0, 3.1, 2.9), "a": (2.0, 2.2, 2.1)}
    for looks in ([], LOOKED):
        study = make(f"looks-{len(looks)}")
        study.experiment("e", {"a": {"x.a": 1}}, design="ladder", headline=["loss"], looks=looks)
        for variant, values in losses.items():
            for seed, value in enumerate(values):
                study.run("e", variant, seed, [("test", "loss", "", value)])
        (shown,) = draw(study, tmp_path / str(len(looks)))
        assert (f"the change from the row above, seeds paired, with its {THIRD} interval" in shown.caption) == bool(
            looks
        )
        step = drawn[-1]["loss"][1]
        expected = stats.ttest_rel(losses["a"], losses["base"]).confidence_interval(1 - 0.05 / max(1, len(looks)))
        assert (step.difference_low, step.difference_high) == pytest.approx((expected.low, expected.high))


def test_contrasts_and_cells_are_at_the_level_of_a_look(
    make: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    levels: list[float] = []

    def frames(contrasts: Any, *, level: float) -> Any:
        levels.append(level)
        return contrast_frames(contrasts, level=level)

    monkeypatch.setattr(designs, "contrast_frames", frames)
    cells = {"rms,4": ("rms", 4), "layer,1": ("layer", 1), "rms,1": ("rms", 1)}
    changes = {name: {"model.norm": norm, "model.n_heads": heads} for name, (norm, heads) in cells.items()}
    study = make()
    study.experiment("e", changes, design="factorial", headline=["loss"], looks=LOOKED)
    fill(study, lambda variant: 0.1 * len(variant))
    heat, contrasts = draw(study, tmp_path)
    assert f"the difference to the base with its {THIRD} interval." in heat.caption
    assert f"Bars: {THIRD} t intervals over seeds" in contrasts.caption
    assert levels == [pytest.approx(1 - 0.05 / 3)]
