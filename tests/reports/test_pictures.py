"""Which figures an experiment gets, and what they are said to show."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

from reports.experiment import Experiment
from reports.figures import theme
from reports.layouts import lines_figure
from reports.pictures import Gallery, Picture, measured, pictures, slug
from reports.rows import read_study
from reports.table import make_tables

Maker = Callable[..., Any]


def draw(study: Any, name: str, folder: Path) -> tuple[list[Picture], list[Picture]]:
    found = Experiment(make_tables(read_study(study.write())), name)
    with theme():
        gallery = Gallery(folder)
        return list(pictures(found, "01-e", gallery)), list(measured(found, "01-e", gallery))


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
    assert "chance" in shown[1].svg
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

    monkeypatch.setattr("reports.pictures.lines_figure", remember)
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


def test_curves_need_two_steps_and_say_where_runs_diverged(make: Maker, tmp_path: Path) -> None:
    study = make(seeds=(0, 1))
    study.experiment("e", {"x": {"model.norm": "none"}}, headline=["loss", "accuracy"])
    for variant in ("base", "x"):
        curve = [(10, "loss", 0.9), (20, "loss", 0.5), (20, "accuracy", 1.0)]
        study.run("e", variant, 0, [("test", "loss", "", 0.5), ("test", "accuracy", "", 1.0)], curve=curve)
    curve = [(10, "loss", 0.9), (20, "loss", float("nan"))]
    study.run("e", "x", 1, [("test", "loss", "", 2.77)], status="diverged", curve=curve)
    shown, _ = draw(study, "e", tmp_path)
    assert [picture.title for picture in shown] == ["What each change does", "Loss while training"]
    assert "a run diverged here" in shown[1].caption
    assert "Validation set." in shown[1].caption


def test_figures_of_earlier_reports_go_and_names_stay_unique(tmp_path: Path) -> None:
    (tmp_path / "old.png").touch()
    (tmp_path / "notes.txt").touch()
    with theme():
        gallery = Gallery(tmp_path)
        for _ in range(2):
            gallery.hang(Figure(figsize=(2, 1)), "same", "title", "caption")
        gallery.clear()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *("notes.txt", "same-1.png", "same-1.svg", "same.png", "same.svg"),
    ]


@pytest.mark.parametrize(
    ("text", "name"), [("German", "german"), ("a/../b <c>", "a----b--c"), ("名前", ""), ("x" * 99, "x" * 40)]
)
def test_slugs_are_safe_file_names(text: str, name: str) -> None:
    assert slug(text) == name
