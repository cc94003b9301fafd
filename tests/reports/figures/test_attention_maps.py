"""Attention maps as a figure: what the artists hold, and that nothing lies over anything else."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from reports.figures.attention_maps import LARGEST, Labels, check_path, draw, plot_weights, save_maps
from reports.figures.theme import theme
from reports.rows import RowsError

PARTS = ["encoder", "decoder", "cross-attention", "earlier states"]
Layers = Mapping[str, int]
FULL = {"encoder": 2, "decoder": 2, "cross-attention": 2}


@pytest.fixture(autouse=True)
def themed() -> Iterator[None]:
    with theme():
        yield


def words(n: int, prefix: str = "word") -> list[str]:
    return [f"{prefix}{i}" for i in range(n)]


def maps(
    run: str, n_heads: int, source: Sequence[str], target: Sequence[str], layers: Layers = FULL, seed: int = 0
) -> pd.DataFrame:
    """Random weights of a made-up model."""
    rng = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    for part, number in layers.items():
        queries = source if part == "encoder" else target
        keys = target if part == "decoder" else source
        for layer in range(1, number + 1):
            for head in range(1, n_heads + 1):
                weights = rng.dirichlet(np.ones(len(keys)), len(queries))
                rows += [
                    {
                        "run": run,
                        "part": part,
                        "layer": layer,
                        "head": head,
                        "query": q,
                        "key": k,
                        "query_token": queries[q],
                        "key_token": keys[k],
                        "weight": weights[q, k],
                    }
                    for q, k in np.ndindex(weights.shape)
                ]
    frame = pd.DataFrame(rows)
    return frame.assign(part=pd.Categorical(frame["part"], PARTS))


def panels(figure: Figure) -> list[Axes]:
    return [ax for ax in figure.axes if ax.images]


def boxes(figure: Figure) -> dict[str, Bbox]:
    """Place of every text and of every pair of axes, in pixels."""
    figure.draw_without_rendering()
    found: dict[str, Bbox] = {}
    for number, ax in enumerate(figure.axes):
        found[f"axes {number}"] = ax.get_window_extent()
        for label in (*ax.get_xticklabels(), *ax.get_yticklabels(), ax.yaxis.label):
            if label.get_text():
                found[f"axes {number}: {label.get_text()!r} {label.get_position()}"] = label.get_window_extent()
    for text in figure.findobj(Text):
        if text in figure.texts:
            found[f"text {text.get_text()!r} {text.get_position()}"] = text.get_window_extent()
    return found


TWO = [maps("base", 3, words(7, "s"), words(5, "t")), maps("one head", 1, words(7, "s"), words(9, "t"), seed=1)]
RECURRENT = maps("lstm, additive", 1, words(7, "s"), words(4, "t"), {"cross-attention": 1})
FIGURES = {
    "short": maps("base", 1, ["."], ["<s>"]),
    "eight heads": maps("base", 8, words(11), words(13)),
    "long": maps("base", 8, words(61), [], {"encoder": 1}),
    "long tokens": maps("a variant of a long name " * 3, 2, ["x" * 40, "Donaudampfschifffahrt", "y"], ["mmmmmmmmmmmm"]),
    "two runs": pd.concat(TWO),
    "transformer and recurrent net": pd.concat([TWO[0], RECURRENT]),
    "recurrent net first": pd.concat([RECURRENT, TWO[0]]),
    "hostile": maps("$x_1$", 2, ["$a$", "_", "<b>", "&", "", "\t", "…"], ["$", "\\frac", "100%"]),
    "one stack": maps("base", 2, words(8), [], {"encoder": 1}),
}


@pytest.mark.parametrize("name", FIGURES)
def test_nothing_lies_over_anything_else_or_beyond_the_edge(name: str) -> None:
    figure = draw(FIGURES[name])
    page = Bbox.from_bounds(0, 0, *(figure.get_size_inches() * figure.dpi))
    found = boxes(figure)
    for place, box in found.items():
        assert page.x0 <= box.x0
        assert box.x1 <= page.x1, place
        assert page.y0 <= box.y0
        assert box.y1 <= page.y1, place
    for (first, one), (second, other) in combinations(found.items(), 2):
        across = min(one.x1, other.x1) - max(one.x0, other.x0)
        down = min(one.y1, other.y1) - max(one.y0, other.y0)
        assert min(across, down) < 1.5, f"{first} over {second}"


def test_a_panel_shows_its_own_weights_on_one_scale() -> None:
    data = maps("base", 2, words(5), words(3))
    shuffled = data.sample(frac=1, random_state=1)
    figure = draw(shuffled)
    shown = panels(figure)
    expected = [
        group.pivot(index="query", columns="key", values="weight").to_numpy()
        for _, group in data.groupby(["part", "layer", "head"], observed=True)
    ]
    assert len(shown) == len(expected) == 12
    placed = sorted(shown, key=lambda ax: (-round(ax.get_position().y0, 3), ax.get_position().x0))
    for ax, weights in zip(placed, expected, strict=True):
        np.testing.assert_allclose(np.asarray(ax.images[0].get_array()), weights)
        assert ax.images[0].get_clim() == (0, 1)


def test_tokens_stand_beside_the_first_head_and_under_the_last_layer() -> None:
    source, target = words(5, "s"), words(3, "t")
    figure = draw(maps("base", 2, source, target))
    placed = sorted(panels(figure), key=lambda ax: (-round(ax.get_position().y0, 3), ax.get_position().x0))
    beside = [[label.get_text() for label in ax.get_yticklabels()] for ax in placed]
    under = [[label.get_text() for label in ax.get_xticklabels()] for ax in placed]
    empty: list[str] = []
    assert beside == [source, empty] * 2 + [target, empty] * 4
    assert under == [empty] * 2 + [source] * 2 + [empty] * 2 + [target] * 2 + [empty] * 2 + [source] * 2
    texts = [text.get_text() for text in figure.texts]
    assert texts.count("base") == 1
    assert [text for text in texts if text.startswith("head")] == ["head 1", "head 2"]
    assert [text for text in texts if text.startswith("layer")] == ["layer 1", "layer 2"] * 3


def test_a_cell_is_a_square_and_rows_of_two_runs_align() -> None:
    figure = draw(pd.concat(TWO))
    sizes = set()
    for ax in panels(figure):
        box, (n_queries, n_keys) = ax.get_window_extent(), np.asarray(ax.images[0].get_array()).shape
        sizes |= {round(box.width / n_keys, 3), round(box.height / n_queries, 3)}
    assert len(sizes) == 1
    tops = {round(ax.get_position().y1, 4) for ax in panels(figure)}
    assert len(tops) == 6


def test_a_long_sentence_makes_a_bounded_figure_with_fewer_labels() -> None:
    figure = draw(FIGURES["long"])
    assert max(figure.get_size_inches()) < LARGEST + 2
    first = panels(figure)[0]
    labels = first.get_yticklabels()
    assert 20 < len(labels) < 61
    assert all(float(label.get_fontsize()) >= 5 for label in labels)
    assert labels[0].get_text() == "word0"
    short = panels(draw(FIGURES["eight heads"]))[0].get_yticklabels()
    assert len(short) == 11
    assert all(float(label.get_fontsize()) > 8 for label in short)


def test_a_single_map_is_drawn_on_given_axes() -> None:
    data = maps("base", 1, words(4), [], {"encoder": 1})
    ax = Figure().subplots()
    assert plot_weights(data, ax, Labels(0.2), queries=True, keys=False) is ax
    assert [label.get_text() for label in ax.get_yticklabels()] == words(4)
    assert not ax.get_xticklabels()


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_a_file_is_written_as_its_name_says(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"maps.{suffix}"
    check_path(path)
    save_maps(FIGURES["hostile"], path)
    beginning = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[suffix]
    assert path.read_bytes().startswith(beginning)
    if suffix != "pdf":
        before = path.read_bytes()
        save_maps(FIGURES["hostile"], path)
        assert path.read_bytes() == before


def test_a_name_that_can_be_no_figure_is_refused(tmp_path: Path) -> None:
    for name in ("maps", "maps.jpg", "maps.PNG.txt"):
        with pytest.raises(RowsError, match=r"the name must end in \.png, \.svg, \.pdf"):
            check_path(tmp_path / name)
    with pytest.raises(RowsError, match="there is no folder"):
        check_path(tmp_path / "nowhere/maps.png")
