"""What a figure really shows: its texts with their boxes."""

import io
from itertools import combinations
from typing import Any

import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox


def drawn_texts(figure: Figure, monkeypatch: pytest.MonkeyPatch) -> dict[Text, Bbox]:
    """Every text that is really drawn, with its box: labels of ticks beyond the limits, for one, are not."""
    drawn: list[Text] = []
    draw = Text.draw

    def note(text: Text, renderer: Any) -> None:
        drawn.append(text)
        draw(text, renderer)

    with monkeypatch.context() as patch:
        patch.setattr(Text, "draw", note)
        figure.savefig(io.BytesIO(), format="png", dpi=figure.dpi)
    return {text: text.get_window_extent().padded(-0.5) for text in drawn if text.get_text() and text.get_visible()}


def hexes(colours: Any) -> list[str]:
    """Colours of artists as `#1a1a1a`."""
    return [to_hex(colour) for colour in colours]


def check_texts(figure: Figure, monkeypatch: pytest.MonkeyPatch, least: int = 10) -> list[str]:
    """No two texts overlap, all are inside the figure and none is tiny; gives them."""
    boxes = drawn_texts(figure, monkeypatch)
    assert len(boxes) >= least
    for (a, box), (b, other) in combinations(boxes.items(), 2):
        assert not box.overlaps(other), f"{a.get_text()!r} on {b.get_text()!r}"
    width, height = figure.get_size_inches() * figure.dpi
    for text, box in boxes.items():
        assert box.x0 > -2, text.get_text()
        assert box.y0 > -2, text.get_text()
        assert box.x1 < width + 2, text.get_text()
        assert box.y1 < height + 2, text.get_text()
        assert float(text.get_fontsize()) >= 8
    return [text.get_text() for text in boxes]
