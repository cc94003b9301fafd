"""Tables as text."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from reports.experiment import Experiment
from reports.pages.grids import (
    Cell,
    Grid,
    Link,
    categories_grid,
    changes_grid,
    cost_grid,
    others_grid,
    variants_grid,
)
from reports.rows import read_study
from reports.table import make_tables

Maker = Callable[..., Any]


def experiment(folder: Path, name: str) -> Experiment:
    return Experiment(make_tables(read_study(folder)), name)


def column(grid: Grid, name: str) -> dict[str, tuple[str, str]]:
    """Text and note of a column by the first cell of each row."""
    at = grid.columns.index(name)
    return {row[0].text: (row[at].text, row[at].note) for row in grid.rows}


def test_the_table_of_variants_has_every_headline_number_with_its_change(quick: Path) -> None:
    grid = variants_grid(experiment(quick, "german"), {})
    assert grid.columns == [
        *("Variant", "Loss", "BLEU", "Accuracy", "Long-range accuracy"),
        *("Parameters", "Training FLOPs", "Training seconds", "Tokens per CPU second", "Seeds"),
    ]
    assert column(grid, "Variant")["no-mask"][1] == "model.decoder_mask: none"
    assert column(grid, "BLEU")["base"][1] == ""
    text, note = column(grid, "BLEU")["no-mask"]
    assert 3 < float(text) < 9
    assert note.startswith("−9")
    assert column(grid, "Parameters")["lstm"] == ("256 k", "−11 %")
    assert column(grid, "Parameters")["one-head"] == ("287 k", "")
    assert column(grid, "Training seconds")["one-head"] == ("14.5", "")
    assert set(column(grid, "Seeds").values()) == {("3 of 3", "")}


def test_only_what_exists_has_a_column_and_missing_seeds_show(make: Maker) -> None:
    study = make()
    study.experiment("e", {"x": {"model.norm": "none"}}, headline=["accuracy", "loss", "bleu"])
    for seed in study.seeds:
        study.run("e", "base", seed, [("test", "loss", "", 0.5)], cost={"training_flops": None})
    study.run("e", "x", 0, [("test", "loss", "", 0.7)], cost={"training_flops": None})
    study.run("e", "x", 1, [("test", "loss", "", None)], status="diverged", reason="not finite")
    study.run("e", "x", 2, [("test", "bleu", "", None), ("probe", "rank", "", 3.0)])
    grid = variants_grid(experiment(study.write(), "e"), {})
    assert grid.columns == [
        "Variant",
        "Loss",
        "Parameters",
        "Training FLOPs",
        "Training seconds",
        "Tokens per CPU second",
        "Seeds",
    ]
    assert column(grid, "Loss")["x"] == ("0.700", "+0.200, n = 1")
    assert column(grid, "Seeds")["x"] == ("2 of 3, 1 diverged", "")


def texts(grid: Grid | None) -> list[list[str]]:
    assert grid is not None
    return [[cell.text + (f" ({cell.note})" if cell.note else "") for cell in row] for row in grid.rows]


def test_values_that_no_figure_shows_have_a_table(make: Maker) -> None:
    study = make(seeds=(0, 1))
    study.experiment("e", {"x": {"model.norm": "none"}, "y": {"model.d_ff": 97}}, headline=["loss"])
    for seed in study.seeds:
        values = [("test", "loss", "", 0.5), ("test", "rank", "", 3.0), ("test", "items", "", 9.0)]
        values += [("test", "chrf", "domain=web", 5.0 + seed), ("test", "chrf", "", 40.0)]
        values += [("test", "perplexity", "", 1.5 + seed), ("test", "accuracy", "distance=2", 0.5)]
        values += [("test", "accuracy", "category=verb", 0.25)]
        study.run("e", "base", seed, values)
        diverged = {"status": "diverged", "reason": "not finite"} if seed else {}
        study.run("e", "x", seed, [("test", "loss", "", 9.0)] if seed else values, **diverged)
    grid = others_grid(experiment(study.write(), "e"))
    assert grid is not None
    assert grid.columns == ["Variant", "Perplexity", "chrF", "Rank", "chrF domain=web"]
    assert texts(grid) == [
        ["base", "2.00", "40.0", "3", "5.5"],
        ["x", "1.50 (n = 1)", "40.0 (n = 1)", "3 (n = 1)", "5.0 (n = 1)"],
        ["y", "–", "–", "–", "–"],
    ]


def test_accuracy_by_category_has_a_column_for_each_variant(make: Maker) -> None:
    """A category may look like a number; by token only where it prints otherwise."""
    study = make(seeds=(0, 1))
    study.experiment("e", {"x": {"model.norm": "none"}}, headline=["accuracy"])
    for variant, won in (("base", 0.75), ("x", 0.5)):
        for seed in study.seeds[: 1 + (variant == "base")]:
            values = [("test", "accuracy", "", won), ("test", "accuracy-per-token", "", won)]
            for category, by_token in (("nicht", 0.25 * seed), ("97", won)):
                values += [("test", "accuracy", f"category={category}", won)]
                values += [("test", "accuracy-per-token", f"category={category}", by_token)]
            study.run("e", variant, seed, [*values, ("test", "items", "category=nicht", 2561.0)])
    study.run("e", "x", 1, [("test", "accuracy", "", 0.5)], status="diverged", reason="not finite")
    found = experiment(study.write(), "e")
    grid = categories_grid(found)
    assert grid is not None
    assert grid.columns == ["Category", "Test items", "base (layer)", "x"]
    assert texts(grid) == [
        ["nicht", "2561", "0.750 (0.125 per token)", "0.500 (n = 1, 0.000 per token)"],
        ["97", "–", "0.750", "0.500 (n = 1)"],
    ]
    others = others_grid(found)
    assert others is not None
    assert others.columns == ["Variant", "Accuracy per token"]


def test_more_variants_than_categories_have_a_row_each(make: Maker) -> None:
    study = make(seeds=(0,))
    study.experiment("e", {"x": {"model.norm": "none"}}, headline=["accuracy"])
    for variant, won in (("base", 0.75), ("x", 0.5)):
        study.run("e", variant, 0, [("test", "accuracy", "category=a", won), ("test", "items", "category=a", 19.0)])
    grid = categories_grid(experiment(study.write(), "e"))
    assert grid is not None
    assert grid.columns == ["Variant", "a"]
    assert texts(grid) == [["base (layer)", "0.750"], ["x", "0.500"], ["Test items", "19"]]


def test_without_categories_there_is_no_table_of_them(quick: Path) -> None:
    assert categories_grid(experiment(quick, "german")) is None


def test_changes_show_the_bases_value_and_what_follows(make: Maker) -> None:
    study = make(seeds=(0,))
    study.experiment("e", {"x": {"model.feed_forward": "none"}, "y": {"model.norm": "rms"}})
    for variant in ("base", "x"):
        place = study.run("e", variant, 0, [])
        if variant == "x":
            run = place / "run.json"
            run.write_text(run.read_text("utf-8").replace('"d_ff": 256', '"d_ff": null'), "utf-8")
    found = experiment(study.write(), "e")
    grid = changes_grid(found)
    assert grid is not None
    assert [[cell.text for cell in row] for row in grid.rows] == [
        ["x", "model.feed_forward", "relu", "none", ""],
        ["x", "model.d_ff", "256", "null", "as a consequence"],
        ["y", "model.norm", "layer", "rms", ""],
    ]


def test_before_anything_has_run_the_planned_changes_are_shown(make: Maker) -> None:
    study = make(seeds=(0,))
    study.experiment("e", {"x": {"model.norm": "none"}})
    found = experiment(study.write(), "e")
    grid = changes_grid(found)
    assert grid is not None
    assert [[cell.text for cell in row] for row in grid.rows] == [["x", "model.norm", "–", "none", ""]]
    assert others_grid(found) is None
    assert cost_grid(found.tables) is None


def test_a_whole_section_is_shown_setting_by_setting(make: Maker) -> None:
    study = make(seeds=(0,))
    study.experiment("e", {"x": {"model": {"norm": "rms", "position": "none"}}})
    found = experiment(study.write(), "e")
    assert column(variants_grid(found, {}), "Variant")["x"][1] == "model.norm: rms, model.position: none"
    grid = changes_grid(found)
    assert [row[1:4] for row in texts(grid)] == [["model.norm", "–", "rms"], ["model.position", "–", "none"]]


def test_what_a_section_says_again_is_no_change(make: Maker) -> None:
    study = make(seeds=(0,))
    study.experiment("e", {"x": {"model.norm": "rms", "model.position": "sinusoidal", "model.n_heads": 4}})
    for variant in ("base", "x"):
        study.run("e", variant, 0, [])
    found = experiment(study.write(), "e")
    assert [row[1:4] for row in texts(changes_grid(found))] == [["model.norm", "layer", "rms"]]
    assert column(variants_grid(found, {}), "Variant")["x"][1] == "model.norm: rms"


def test_what_sees_the_future_is_labelled_and_variants_have_their_links(make: Maker) -> None:
    study = make(seeds=(0,))
    changes = {"x": {"model.decoder_mask": "none"}, "y": {"model.norm": "rms"}}
    study.experiment("e", changes, marks={"x": ["leaks_future"]})
    link = Link(text="settings", target="#x")
    grid = variants_grid(experiment(study.write(), "e"), {"y": (link,)})
    assert {row[0].text: row[0].tags for row in grid.rows} == {"base": (), "x": ("sees the future",), "y": ()}
    assert {row[0].text: row[0].links for row in grid.rows} == {"base": (), "x": (), "y": (link,)}


def test_cells_are_sorted_by_number_where_they_have_one(quick: Path) -> None:
    grid = variants_grid(experiment(quick, "german"), {})
    at = grid.columns.index("Training FLOPs")
    assert grid.sortable
    assert {row[at].sort_key for row in grid.rows} == {"1.31e+12"}
    assert Cell(text="x").sort_key == ""
    assert Cell(text="–", value=float("nan")).sort_key == ""
    assert Cell(text="0", value=0.0).sort_key == "0"


def test_costs_add_up_over_runs_and_the_largest_stand_for_what_does_not(make: Maker) -> None:
    study = make(seeds=(0, 1))
    for name in ("d", "e"):
        study.experiment(name, {"x": {"model.norm": "none"}})
    for seed, state in enumerate(("completed", "diverged")):
        cost = {"wall_seconds": 7.0, "train_seconds": 3.0 + seed, "parameters": 100 + seed, "peak_memory_mib": None}
        study.run("e", "x", seed, [("test", "loss", "", 1.0)], status=state, cost={**cost, "busy_seconds": None})
    study.run("e", "base", 0, [], status="failed", reason="killed", cost={"wall_seconds": 1000.0})
    grid = cost_grid(make_tables(read_study(study.write())))
    assert grid is not None
    assert grid.columns == ["Experiment", "Runs", "Training FLOPs", "Seconds", "of them training", "Parameters, most"]
    assert texts(grid) == [["e", "2", "2.62 T", "14", "7", "101"]]


def test_what_was_measured_stands_in_the_table_and_costs_that_are_all_zero_do_not(make: Maker) -> None:
    """Of a study without headline metrics."""
    study = make(seeds=(0, 1))
    study.experiment("e", {"x": {"model.norm": "none"}}, headline=[])
    study.experiment("f", {}, headline=["rank"])
    for variant, rank in (("base", 3.0), ("x", 5.0)):
        for seed in study.seeds:
            cost = {"parameters": 97, "training_flops": 0, "train_seconds": 0}
            study.run("e", variant, seed, [("probe", "rank", "", rank + seed)], cost=cost)
    grid = variants_grid(experiment(study.write(), "e"), {})
    assert grid.columns[:3] == ["Variant", "Rank", "Parameters"]
    assert not {"Training FLOPs", "Training seconds"} & set(grid.columns)
    assert column(grid, "Rank") == {"base": ("3.5", ""), "x": ("5.5", "+2")}
