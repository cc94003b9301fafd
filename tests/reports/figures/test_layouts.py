"""Whole figures: nothing overlaps, every variant is there."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

from reports.figures.layouts import effects_figure, lines_figure, value_label
from reports.figures.theme import styles, theme
from reports.statistics import paired_effect
from tests.reports.figures.drawn import check_texts


@pytest.fixture(autouse=True)
def themed() -> Iterator[None]:
    with theme():
        yield


def effects(variants: list[str], metrics: tuple[str, ...] = ("loss", "bleu", "accuracy")) -> Figure:
    """A figure of effects with made-up numbers."""
    rows: list[dict[str, Any]] = []
    seeds: list[dict[str, Any]] = []
    for m, metric in enumerate(metrics):
        for i, variant in enumerate(variants):
            differences = [(-1) ** m * 0.3 * i + 0.02 * seed - 0.02 for seed in range(3)]
            rows.append({"metric": metric, "variant": variant, **vars(paired_effect([0.0] * 3, differences))})
            seeds += [
                {"metric": metric, "variant": variant, "seed": seed, "state": "completed", "difference": d}
                for seed, d in enumerate(differences)
            ]
    return effects_figure(
        pd.DataFrame(rows),
        pd.DataFrame(seeds),
        metrics=metrics,
        base_values={"loss": 0.083, "bleu": 96.0},
        order=variants,
        notes={variants[0]: "2 of 3, 1 diverged"},
        styles=styles(variants, "base"),
    )


def curves(variants: list[str], steps: tuple[float, ...] = (50, 100, 150), **options: Any) -> Figure:
    """Learning curves with made-up numbers."""
    rows = [
        {"variant": v, "seed": seed, "state": "completed", "step": step, "value": 1 / n + 0.1 * i + 0.01 * seed}
        for i, v in enumerate(variants)
        for seed in range(3)
        for n, step in enumerate(steps, start=1)
    ]
    return lines_figure(
        pd.DataFrame(rows),
        x="step",
        metric="loss",
        order=variants,
        styles=styles(variants[1:], variants[0]),
        x_label="Training step",
        **{"references": {}, "base": "base", **options},
    )


@pytest.mark.parametrize(
    "figure",
    [
        lambda: effects([f"variant-{i}" for i in range(20)]),
        lambda: effects(["no-residual", "x" * 60, "_x", "a\nb"]),
        lambda: effects(["no-positions"], ("loss",)),
        lambda: effects(["a", "b"], ("loss", "bleu", "accuracy", "perplexity")),
        lambda: effects(["w" * 60 for _ in range(1)], ("loss", "bleu", "accuracy")),
        lambda: curves(["base", *(f"n_heads={i}" for i in range(20))], references={"chance": 2.0, "floor": 0.1}),
        lambda: curves(["base", "no-positions", "x" * 60], references={"chance": 1.0}),
        lambda: curves(["base", *("w" * 60 + str(i) for i in range(5))], mark=(60.0, "trained at 60")),
        lambda: curves(["base", "a", "b", "c"], at_places=True),
        lambda: curves(["base", *"abcde"], at_places=True, steps=(0.0001, 0.0003, 0.001, 0.003, 0.01)),
        lambda: curves(["base", *"abcdefghijkl"], at_places=True, steps=tuple(0.0001 * 2**k for k in range(9))),
    ],
)
def test_no_two_texts_overlap_and_all_are_inside_the_figure(
    figure: Callable[[], Figure], monkeypatch: pytest.MonkeyPatch
) -> None:
    check_texts(figure(), monkeypatch)


@pytest.mark.parametrize("n", [1, 3, 4, 9, 20])
def test_every_variant_has_its_name_once(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["_x", "None", "$a$", "a<b & c", *(f"n_heads={i}" for i in range(20))][:n]
    shown = check_texts(curves(["base", *names]), monkeypatch, least=5)
    for name in names:
        assert shown.count(name) == 1
    assert shown.count("base") == 1


def test_few_variants_share_axes_and_many_are_small_multiples() -> None:
    (together,) = curves(["base", "a", "b", "c"]).axes
    assert len([line for line in together.lines if line.get_marker() != "None"]) == 4
    (apart,) = curves(["base", *"abcdef"]).axes
    assert not apart.lines
    (drawn,) = [c for c in apart.collections if isinstance(c, PolyCollection)]
    assert len(drawn.get_paths()) == 12  # bands of two variants in each of six panels


def test_a_key_names_the_base_of_small_multiples_levels_and_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {"references": {"chance": 1.5, "floor": -40.0}, "mark": (100.0, "trained at 100")}
    many = check_texts(curves(["_b", *"cdefg"], base="_b", **options), monkeypatch)
    assert {"_b", "chance 1.5", "↓ floor −40", "trained at 100"} <= set(many)
    few = check_texts(curves(["base", "c"], **options), monkeypatch)
    assert {"chance 1.5", "↓ floor −40", "trained at 100"} <= set(few)


def test_lines_break_at_places_without_a_value_but_not_at_steps() -> None:
    rows = [
        {"variant": v, "seed": 0, "state": "completed", "at": at, "step": at, "value": 1.0 * at}
        for v, places in (("base", (1, 2, 3)), ("a", (1, 3)))
        for at in places
    ]
    broken = []
    for x in ("at", "step"):
        figure = lines_figure(
            pd.DataFrame(rows), x=x, metric="loss", order=["base", "a"], base="base", styles=styles(["a"], "base"),
            x_label="", references={},
        )  # fmt: skip
        broken.append(any(np.isnan(np.atleast_1d(line.get_ydata())).any() for line in figure.axes[0].lines))
    assert broken == [True, False]


def test_a_figure_of_one_metric_is_no_wider_than_what_is_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    figure = effects(["a"], ("loss",))
    right = max(text.get_window_extent().x1 for text in figure.axes[0].texts) / figure.dpi
    assert figure.get_figwidth() - right < 0.6


def test_a_legend_takes_the_place_of_names_at_ends_where_lines_end_early() -> None:
    rows = [
        {"variant": v, "seed": 0, "state": "completed", "step": step, "value": 1.0 / step}
        for v, steps in (("base", (1, 2, 3)), ("a", (1, 2)))
        for step in steps
    ]
    options: dict[str, Any] = {"x": "step", "metric": "loss", "x_label": "", "references": {}}
    looks = styles(["a", "b"], "base")
    (ax,) = lines_figure(pd.DataFrame(rows), order=["base", "a", "b"], base="base", styles=looks, **options).axes
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["base", "a"]


@pytest.mark.parametrize(
    ("mark_ends", "mark_diverged", "crosses"), [(False, False, 0), (True, False, 1), (False, True, 3)]
)
def test_diverged_runs_are_marked_as_asked(mark_ends: bool, mark_diverged: bool, crosses: int) -> None:
    rows = [
        {"variant": v, "seed": s, "state": "diverged" if s and v == "a" else "completed", "step": t, "value": 1.0 * t}
        for v in ("base", "a")
        for s in (0, 1)
        for t in (1, 2, 3)
    ]
    options: dict[str, Any] = {"x": "step", "metric": "loss", "x_label": "", "references": {}}
    figure = lines_figure(
        pd.DataFrame(rows),
        order=["base", "a"],
        base="base",
        styles=styles(["a"], "base"),
        mark_ends=mark_ends,
        mark_diverged=mark_diverged,
        **options,
    )
    marked = [line for line in figure.axes[0].lines if line.get_marker() == "x"]
    assert sum(np.size(line.get_xdata()) for line in marked) == crosses


def test_axes_are_named_with_units() -> None:
    assert value_label("loss") == "Loss (nats per token)"
    assert value_label("gradient_norm") == "Gradient norm"


LONG = ["base", "lstm, forget bias 3, 700 steps in all", "no scale, default initialisation", "x", "y", "z"]


@pytest.mark.parametrize("metric", ["log_reach", "gradient_decades", "loss"])
@pytest.mark.parametrize("n", [3, 5])
def test_long_names_of_axes_variants_and_levels_are_whole(metric: str, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        {"variant": v, "seed": s, "state": "completed", "step": t, "value": -1.0 - t - i - s / 9}
        for i, v in enumerate(LONG[:n])
        for s in range(3)
        for t in (1, 2, 3)
    ]
    levels = {"bag of earlier tokens": -3.0, "what the longest known rule gives": -4.0, "chance": -2.0}
    figure = lines_figure(
        pd.DataFrame(rows), x="step", metric=metric, order=LONG[:n], base="base", styles=styles(LONG[1:], "base"),
        x_label="Distance", references={**levels, **{f"{name} too": v - 1 for name, v in levels.items()}},
        mark=(2.0, "trained at 2"),
    )  # fmt: skip
    texts = [" ".join(text.split("\n")) for text in check_texts(figure, monkeypatch)]
    assert value_label(metric) in texts
    assert set(LONG[:n]) <= set(texts)
    assert "what the longest known rule gives too −5" in texts


def test_rows_of_long_names_with_notes_do_not_touch(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"norm_placement=post,warmup=1,n_layers={n}" for n in range(20)]
    rows = [{"metric": "loss", "variant": v, **vars(paired_effect([0.0] * 3, [0.1, 0.2, 0.3]))} for v in names]
    seeds = [
        {"metric": "loss", "variant": v, "seed": s, "state": "completed", "difference": 0.1}
        for v in names
        for s in (0, 1)
    ]
    figure = effects_figure(
        pd.DataFrame(rows), pd.DataFrame(seeds), metrics=["loss"], base_values={"loss": 1.0}, order=names,
        notes=dict.fromkeys(names, "2 of 3, 1 diverged"), styles=styles(names, "base"),
    )  # fmt: skip
    texts = check_texts(figure, monkeypatch)
    assert [text for text in texts if text.startswith("norm")] == [
        f"norm_placement=post,warmup=1,\nn_layers={n}" for n in range(20)
    ]
