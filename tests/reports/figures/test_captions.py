"""Captions of lines."""

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from reports.experiment import Experiment
from reports.figures.captions import MOST_COUNTS, incomplete, joined, lines_alt, lines_caption, listed
from reports.rows import read_study
from reports.table import make_tables


def frame(seeds: dict[str, int], values: tuple[float, float] = (1.0, 2.0)) -> pd.DataFrame:
    return pd.DataFrame(
        {"variant": v, "seed": s, "step": step, "value": value + i}
        for i, (v, n) in enumerate(seeds.items())
        for s in range(n)
        for step, value in zip((10, 20), values, strict=True)
    )


@pytest.mark.parametrize(
    ("seeds", "caption"),
    [
        ({"base": 1}, "One seed each: no bands."),
        ({"base": 1, "x": 2}, "Thin lines: single seeds, where there are two."),
        (
            {"x": 3},
            "Lines are means over seeds, bands their 95\N{NO-BREAK SPACE}% t intervals (no wider than the line where "
            "all seeds agree).",
        ),
    ],
)
def test_captions_say_what_bands_there_are(seeds: dict[str, int], caption: str) -> None:
    assert lines_caption(frame(seeds), "bleu") == caption


def test_captions_say_where_means_are_those_of_logarithms() -> None:
    assert "of the logarithms" in lines_caption(frame({"base": 2}, (0.01, 2.0)), "loss")
    assert "of the logarithms" not in lines_caption(frame({"base": 1}, (0.01, 2.0)), "loss")


def test_alternative_texts_name_the_extremes_at_the_end() -> None:
    data = frame({"base": 2, "_x": 1, "y": 1})
    assert lines_alt("Loss", data, "step") == (
        "Loss: 3 lines from 10 to 20; at the end base is lowest (2) and y highest (4)."
    )
    data.loc[data["variant"] == "y", "value"] = float("nan")
    assert lines_alt("Loss", data, "step").endswith("and _x highest (3).")
    assert lines_alt("Loss", frame({"base": 1}), "step") == "Loss: 1 line from 10 to 20."


def test_lists() -> None:
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert joined(["A.", "", "B."]) == "A. B."


def test_captions_count_runs_that_are_not_there(make: Callable[..., Any]) -> None:
    study = make(seeds=(0, 1, 2))
    names = [f"v{i}" for i in range(MOST_COUNTS + 1)]
    study.experiment("e", {name: {"model.norm": name} for name in names}, headline=["loss"])
    for variant in ("base", *names):
        for seed in study.seeds:
            if variant == "v0" and seed == 1:
                study.run("e", variant, seed, [], status="failed", reason="x")
            elif variant != "v1" or seed != 2:
                study.run("e", variant, seed, [("test", "loss", "", 1.0)])
    found = Experiment(make_tables(read_study(study.write())), "e")
    assert incomplete(found) == "Runs counted: v0 2 of 3, 1 failed; v1 2 of 3, 1 missing."
    assert incomplete(found, {"base", "v1"}) == "Runs counted: v1 2 of 3, 1 missing."
    assert incomplete(found, {"base", "v2"}) == ""


def test_captions_do_not_count_many_variants_one_by_one(make: Callable[..., Any]) -> None:
    study = make(seeds=(0, 1))
    names = [f"v{i}" for i in range(MOST_COUNTS)]
    study.experiment("e", {name: {"model.norm": name} for name in names}, headline=["loss"])
    for variant in ("base", *names):
        study.run("e", variant, 0, [("test", "loss", "", 1.0)])
    found = Experiment(make_tables(read_study(study.write())), "e")
    assert incomplete(found).startswith("Of 7 variants some runs diverged, failed or are missing")
    assert "v3 1 of 2, 1 missing" in incomplete(found, names)
