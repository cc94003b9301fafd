"""Factorial designs: levels, cells, contrasts."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from reports.factorials import interactions, main_effects
from reports.figures.heatmaps import (
    contrast_frames,
    contrast_label,
    factor_levels,
    heat_figure,
    luminance,
    plot_heat,
)
from reports.figures.theme import theme
from tests.reports.figures.drawn import check_texts

ROWS, COLUMNS = ["layer", "_x"], ["relu", "gated", "none"]


def cells(sign: float = 1.0) -> pd.DataFrame:
    nan = float("nan")
    return pd.DataFrame(
        {
            "row": row,
            "column": column,
            "mean": 1.0 + sign * (i + j),
            "difference": sign * (i + j) if i + j else nan,
            "low": sign * (i + j) - 0.1 if i + j else nan,
            "high": sign * (i + j) + 0.1 if i + j else nan,
        }
        for i, row in enumerate(ROWS)
        for j, column in enumerate(COLUMNS)
        if (row, column) != ("_x", "none")
    )


def test_every_variant_has_a_level_of_every_factor() -> None:
    changes: dict[str, dict[str, Any]] = {
        "base": {},
        "a": {"m.x": 1},
        "b": {"m.y": "none"},
        "ab": {"m.x": 1, "m.y": "none"},
    }
    assert factor_levels(changes, "base", {"m.x": 0, "m.y": "relu", "m.z": 5}) == {
        "base": {"m.x": 0, "m.y": "relu"},
        "a": {"m.x": 1, "m.y": "relu"},
        "b": {"m.x": 0, "m.y": "none"},
        "ab": {"m.x": 1, "m.y": "none"},
    }
    assert factor_levels(changes, "base", {"m.x": 0}) == {}
    assert factor_levels({"base": {}}, "base", {"m.x": 0}) == {}


@pytest.mark.parametrize(("metric", "sign"), [("loss", 1.0), ("bleu", -1.0)])
def test_worse_is_orange_whichever_way_the_metric_goes(metric: str, sign: float) -> None:
    with theme():
        ax = Figure(figsize=(6, 4)).subplots()
        plot_heat(cells(sign), ax, metric=metric, rows=ROWS, columns=COLUMNS)
    colours = [to_rgb(patch.get_facecolor()) for patch in ax.patches]
    assert len(colours) == 5  # a cell that is not in the design stays empty
    reds = [red - blue for red, _, blue in colours]
    assert reds[0] < reds[1] < reds[2]
    assert [text.get_text() for text in ax.texts][:2] == ["1.000" if metric == "loss" else "1.0", "base"]


def test_a_cell_without_a_value_says_so() -> None:
    gone = cells().assign(mean=lambda frame: frame["mean"].where(frame["row"] != "_x"))
    with theme():
        ax = Figure(figsize=(6, 4)).subplots()
        plot_heat(gone, ax, metric="loss", rows=ROWS, columns=COLUMNS)
    assert [text.get_text() for text in ax.texts].count("no result") == 2
    assert len(ax.patches) == 3


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_numbers_on_cells_stand_out(sign: float) -> None:
    steps = pd.DataFrame(
        {"row": "r", "column": str(i), "mean": 1.0, "difference": sign * i / 20, "low": 0.0, "high": 1.0}
        for i in range(21)
    )
    with theme():
        ax = Figure(figsize=(20, 2)).subplots()
        plot_heat(steps, ax, metric="bleu", rows=["r"], columns=[str(i) for i in range(21)])
    for i, patch in enumerate(ax.patches):
        pair = sorted(luminance(to_rgb(c)) for c in (patch.get_facecolor(), ax.texts[2 * i].get_color()))
        assert (pair[1] + 0.05) / (pair[0] + 0.05) > 4.0
    assert luminance((1, 1, 1)) == pytest.approx(1)
    assert luminance((0.5, 0, 0)) == pytest.approx(0.2126 * 0.21404, rel=1e-4)


def test_better_is_blue() -> None:
    with theme():
        ax = Figure(figsize=(6, 4)).subplots()
        plot_heat(cells(-1.0), ax, metric="loss", rows=ROWS, columns=COLUMNS)
    red, _, blue = to_rgb(ax.patches[2].get_facecolor())
    assert blue > red


def test_maps_stand_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    with theme():
        figure = heat_figure(
            {"loss": cells(), "bleu": cells(-1.0), "accuracy": cells()},
            factors=("model.norm", "model.feed_forward"),
            rows=ROWS,
            columns=COLUMNS,
        )
        texts = check_texts(figure, monkeypatch)
    assert texts.count("model.feed_forward") == 3
    assert texts.count("_x") >= 1
    assert texts.count("+1.000 ±0.100") == 4


def test_contrasts_are_drawn_as_effects() -> None:
    rng = np.random.default_rng(5)
    data = pd.DataFrame(
        {"m.norm": n, "m.heads": h, "seed": s, "value": 2 * (n == "rms") + h + rng.normal(0, 0.1)}
        for n in ("layer", "rms")
        for h in (4, 1)
        for s in range(3)
    )
    base = {"m.norm": "layer", "m.heads": 4}
    found = [*main_effects(data, base), *interactions(data, base)]
    assert [contrast_label(contrast) for contrast in found] == ["norm=rms", "heads=1", "norm=rms × heads=1"]
    effects, differences = contrast_frames(found)
    assert effects["difference"].tolist() == pytest.approx([c.estimate for c in found])
    spread = [np.std(c.per_seed, ddof=1) / np.sqrt(3) for c in found]
    assert (effects["difference"] - effects["low"]).tolist() == pytest.approx([4.302653 * each for each in spread])
    assert (effects["high"] - effects["difference"]).tolist() == pytest.approx([4.302653 * each for each in spread])
    strict, _ = contrast_frames(found, level=0.99)
    assert (strict["high"] - strict["difference"]).tolist() == pytest.approx([9.924843 * each for each in spread])
    assert len(differences) == 9
    of_first = differences[differences["variant"] == "norm=rms"]["difference"]
    assert of_first.mean() == pytest.approx(found[0].estimate)
