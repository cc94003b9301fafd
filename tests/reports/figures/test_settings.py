"""Curves over a setting that the variants of one experiment vary."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from reports.figures.settings import numeric_settings, plot_setting, settings_figure, settings_rows
from reports.figures.theme import styles, theme
from reports.statistics import t_interval
from tests.reports.figures.drawn import check_texts

HEADS = {"one": 1.0, "twelve": 12.0, "base": 4.0, "three": 3.0}


def rows(scale: float = 1.0) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "variant": v,
            "seed": seed,
            "state": "diverged" if v == "twelve" and seed == 2 else "completed",
            "metric": "loss",
            "coordinate": "",
            "value": scale * (0.1 + 0.2 / h + 0.01 * seed),
        }
        for v, h in HEADS.items()
        for seed in range(3)
    )


def test_settings_are_those_that_variants_change_alone_to_numbers() -> None:
    changes: dict[str, dict[str, Any]] = {
        "base": {},
        "one": {"model.n_heads": 1},
        "twelve": {"model.n_heads": 12},
        "both": {"model.n_heads": 2, "model.norm": "rms"},
        "deep": {"model.n_layers": 6},
        "flag": {"model.bias": True},
        "named": {"model.norm": "none"},
    }
    config = {"model.n_heads": 4, "model.n_layers": 2, "model.bias": False, "model.norm": "layer"}
    assert numeric_settings(changes, "base", config) == {"model.n_heads": {"one": 1.0, "twelve": 12.0, "base": 4.0}}
    assert numeric_settings(changes, "base", {}) == {}  # two values make no curve


def test_ticks_are_exactly_the_values_and_points_have_the_looks_of_their_variants() -> None:
    data = settings_rows(rows(), "loss", HEADS)
    chosen = styles([v for v in HEADS if v != "base"], "base")
    with theme():
        ax = Figure(figsize=(6, 4)).subplots()
        scale = plot_setting(data, ax, metric="loss", styles=chosen, references={"floor": 0.05})
    assert ax.get_xscale() == "log"
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "3", "4", "12"]
    curve = ax.lines[0]
    assert list(np.atleast_1d(curve.get_xdata())) == [1, 3, 4, 12]
    assert list(np.atleast_1d(curve.get_ydata())) == pytest.approx([0.31, 0.11 + 0.2 / 3, 0.16, 0.11 + 0.2 / 12])
    for variant, at in HEADS.items():
        (point,) = [li for li in ax.lines if li.get_markersize() == 8 and list(np.atleast_1d(li.get_xdata())) == [at]]
        assert (point.get_color(), point.get_marker()) == (chosen[variant].colour, chosen[variant].marker)
    bar = next(line for line in ax.lines if list(np.atleast_1d(line.get_xdata())) == [4, 4])
    assert list(np.atleast_1d(bar.get_ydata())) == pytest.approx(t_interval([0.15, 0.16, 0.17]))
    crosses = [line for line in ax.lines if line.get_marker() == "x"]
    assert [list(np.atleast_1d(line.get_xdata())) for line in crosses] == [[12]]
    assert [0.05, 0.05] in [list(np.atleast_1d(line.get_ydata())) for line in ax.lines]
    assert scale.low < 0.05 < scale.high


def test_metrics_stand_side_by_side_and_the_base_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = styles([v for v in HEADS if v != "base"], "base")
    data = {m: settings_rows(rows().assign(metric=m), m, HEADS) for m in ("loss", "bleu", "accuracy")}
    with theme():
        figure = settings_figure(
            data, path="model.n_heads", base=("base", 4.0), styles=chosen, references={"accuracy": {"chance": 0.1}}
        )
        texts = check_texts(figure, monkeypatch)
    assert texts.count("base") == texts.count("model.n_heads") == 3
    assert texts.count("chance 0.1") == 1


def test_rows_are_of_one_metric_over_all_of_the_test_set() -> None:
    other = rows().assign(coordinate="distance=3")
    mixed = pd.concat([rows(), other, rows().assign(metric="bleu"), rows().assign(variant="x")])
    found = settings_rows(mixed, "loss", HEADS)
    assert len(found) == 12
    assert dict(zip(found["variant"], found["at"], strict=True)) == HEADS
