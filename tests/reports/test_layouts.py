"""Whole figures: nothing overlaps, files repeat themselves, an SVG may stand in a page."""

import io
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from reports.figures import styles, theme
from reports.layouts import effects_figure, inline, lines_figure, save
from reports.statistics import paired_effect

HOSTILE = ["<img src=x onerror=alert(1)>", "a&b", "_x", "None", "$x_1$", 'say "no"', "url(#x)", "名前", "x" * 60]


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


def curves(variants: list[str]) -> Figure:
    rows = [
        {"variant": v, "seed": seed, "state": "completed", "step": step, "value": 1.0 / step + 0.1 * i + 0.01 * seed}
        for i, v in enumerate(variants)
        for seed in range(3)
        for step in (50, 100, 150)
    ]
    return lines_figure(
        pd.DataFrame(rows),
        x="step",
        metric="loss",
        order=variants,
        base="base",
        styles=styles(variants[1:], "base"),
        x_label="Training step",
        chance=None,
        mark=None,
    )


def visible_axes(figure: Figure) -> list[Axes]:
    return [ax for ax in figure.axes if ax.get_visible()]


def drawn_texts(figure: Figure, monkeypatch: pytest.MonkeyPatch) -> dict[Text, Bbox]:
    """Every text that is really drawn, with its box: labels of ticks beyond the limits, for one, are not."""
    drawn: list[Text] = []
    draw = Text.draw

    def note(text: Text, renderer: Any) -> None:
        drawn.append(text)
        draw(text, renderer)

    figure.draw_without_rendering()
    with monkeypatch.context() as patch:
        patch.setattr(Text, "draw", note)
        figure.savefig(io.BytesIO(), format="png", dpi=figure.dpi)
    return {text: text.get_window_extent().padded(-0.5) for text in drawn if text.get_text() and text.get_visible()}


@pytest.mark.parametrize(
    "figure",
    [
        lambda: effects([f"variant-{i}" for i in range(20)]),
        lambda: effects(["no-residual", "x" * 60, "_x", "a\nb"]),
        lambda: effects(["no-positions"], ("loss",)),
        lambda: effects(["a", "b"], ("loss", "bleu", "accuracy", "perplexity")),
        lambda: curves(["base", *(f"n_heads={i}" for i in range(20))]),
        lambda: curves(["base", "no-positions", "x" * 60]),
        lambda: curves(["base", *("w" * 60 + str(i) for i in range(5))]),
    ],
)
def test_no_two_texts_overlap_and_all_are_inside_the_figure(
    figure: Callable[[], Figure], monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = figure()
    boxes = drawn_texts(drawn, monkeypatch)
    assert len(boxes) >= 10
    for (a, box), (b, other) in combinations(boxes.items(), 2):
        assert not box.overlaps(other), f"{a.get_text()!r} on {b.get_text()!r}"
    width, height = drawn.get_size_inches() * drawn.dpi
    for text, box in boxes.items():
        assert box.x0 > -2, text.get_text()
        assert box.y0 > -2, text.get_text()
        assert box.x1 < width + 2, text.get_text()
        assert box.y1 < height + 2, text.get_text()
        assert float(text.get_fontsize()) >= 8


def test_few_variants_share_axes_with_a_legend_and_many_get_their_own_beside_the_base() -> None:
    together = curves(["base", "a", "b", "c"])
    (only,) = visible_axes(together)
    assert only.get_legend() is not None
    apart = curves(["base", *"abcdef"])
    assert [ax.get_title(loc="left") for ax in visible_axes(apart)] == list("abcdef")
    assert all(len(ax.lines) == 3 for ax in visible_axes(apart))  # two lines and the ends of diverged runs
    assert len({ax.get_ylim() for ax in visible_axes(apart)}) == 1


def test_a_variant_without_values_has_no_axes() -> None:
    figure = curves(["base", "a"])
    assert len(visible_axes(figure)) == 1
    rows = pd.DataFrame([{"variant": "a", "seed": 0, "step": s, "value": 1.0} for s in (1, 2)])
    arguments: dict[str, Any] = {"x": "step", "metric": "loss", "x_label": "", "chance": None, "mark": None}
    alone = lines_figure(rows, order=["base", "a", "b"], base="base", styles=styles(["a", "b"], "base"), **arguments)
    legend = visible_axes(alone)[0].get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["a"]


def test_an_svg_in_a_page_is_well_formed_whatever_the_names(tmp_path: Path) -> None:
    for number, figure in enumerate((effects(HOSTILE), curves(["base", *HOSTILE[:2]]))):
        svg = save(figure, tmp_path, "figure")
        ElementTree.fromstring(svg)
        text = inline(svg, f"f{number}", 'what "it" <shows> & says')
        root = ElementTree.fromstring(text)
        assert root.get("aria-label") == 'what "it" <shows> & says'
        labels = {element.text for element in root.iter("{http://www.w3.org/2000/svg}text")}
        assert {"a&b", "<img src=x onerror=alert(1)>"} <= labels
        assert number or {"_x", "None", "$x_1$", "url(#x)", 'say "no"'} <= labels
        assert not {element.tag.rpartition("}")[2] for element in root.iter()} & {"script", "img", "metadata", "image"}


def test_identifiers_of_two_figures_in_a_page_do_not_meet(tmp_path: Path) -> None:
    svg = save(effects(["a", "b"]), tmp_path, "figure")
    one, two = inline(svg, "one", ""), inline(svg, "two", "")
    identifiers = [re.findall(r'\bid="([^"]+)"', text) for text in (one, two)]
    assert identifiers[0]
    assert not set(identifiers[0]) & set(identifiers[1])
    for text, known in zip((one, two), identifiers, strict=True):
        used = re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', text)
        assert {a or b for a, b in used} <= set(known)
        assert used


def test_svg_bytes_repeat_in_another_process(tmp_path: Path) -> None:
    code = f"""
import sys, importlib.util
from pathlib import Path
spec = importlib.util.spec_from_file_location("layouts_test", {str(Path(__file__))!r})
test = importlib.util.module_from_spec(spec)
spec.loader.exec_module(test)
with test.theme():
    test.save(test.effects(["a", "b"]), Path({str(tmp_path)!r}), "other")
"""
    save(effects(["a", "b"]), tmp_path, "here")
    subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], check=True)
    assert (tmp_path / "here.svg").read_bytes() == (tmp_path / "other.svg").read_bytes()
    assert (tmp_path / "here.png").read_bytes() == (tmp_path / "other.png").read_bytes()
