"""Files of figures: they repeat themselves, may stand in a page, and follow its colours."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread

from reports.figures.svg import PROPERTIES, compact, inline, save
from reports.figures.theme import COLOURS, GREY, INK, PAPER, axes_at, theme

HOSTILE = [
    *("<img src=x onerror=alert(1)>", "a&b", "_x", "None", "$x_1$", 'say "no"', "url(#x)", "fill: #1a1a1a", "名前"),
    *('<g id="a">', "--", "]]>"),
]


@pytest.fixture(autouse=True)
def themed() -> Iterator[None]:
    with theme():
        yield


def drawn(names: list[str] = HOSTILE) -> Figure:
    """Lines, markers, bands and names."""
    figure = Figure(figsize=(5, 4))
    ax = axes_at(figure, 0.5, 0.5, 4, 3)
    x = np.linspace(0, 1, 5)
    for i, name in enumerate(names):
        colour = COLOURS[i % len(COLOURS)]
        ax.plot(x, x * i / 7, "o-", color=colour, markeredgecolor=PAPER)
        ax.fill_between(x, x * i / 7, x * i / 7 + 0.05, color=colour, alpha=0.18, linewidth=0)
        ax.text(0.5, i, name, color=GREY)
    return figure


def texts(svg: str) -> set[str | None]:
    return {element.text for element in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")}


def test_an_svg_in_a_page_is_well_formed_whatever_the_names(tmp_path: Path) -> None:
    svg = save(drawn(), tmp_path, "figure")
    assert svg == (tmp_path / "figure.svg").read_text("utf-8")
    assert set(HOSTILE) <= texts(svg)
    text = inline(svg, "f1", 'what "it" <shows> & says')
    root = ElementTree.fromstring(text)
    assert root.get("aria-label") == 'what "it" <shows> & says'
    assert root.get("role") == "img"
    assert set(HOSTILE) <= texts(text)
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert not tags & {"script", "img", "metadata", "image", "style"}


def test_identifiers_of_two_figures_in_a_page_do_not_meet(tmp_path: Path) -> None:
    svg = save(drawn(["a"]), tmp_path, "figure")
    one, two = inline(svg, "one", ""), inline(svg, "two", "")
    identifiers = [re.findall(r'\bid="([^"]+)"', text) for text in (one, two)]
    assert identifiers[0]
    assert not set(identifiers[0]) & set(identifiers[1])
    for text, known in zip((one, two), identifiers, strict=True):
        used = re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', text)
        assert {a or b for a, b in used} == set(known)


def test_on_a_page_colours_are_properties_and_in_files_plain(tmp_path: Path) -> None:
    svg = save(drawn(["a"]), tmp_path, "figure")
    assert "var(" not in svg
    text = inline(svg, "f", "")
    for colour, name in ((INK, "--fig-ink"), (GREY, "--fig-grey"), (PAPER, "--fig-paper"), (COLOURS[0], "--fig-0")):
        assert PROPERTIES[colour] == name
        assert f"var({name}, {colour})" in text
    left = re.findall(r"#[0-9a-f]{6}", re.sub(r"var\([^)]*\)", "", text))
    assert not left
    assert len(set(PROPERTIES.values())) == len(PROPERTIES) == 13


def test_there_is_no_background_in_an_svg_and_a_white_one_in_a_png(tmp_path: Path) -> None:
    svg = save(drawn([]), tmp_path, "figure")
    assert PAPER not in svg
    corner = imread(tmp_path / "figure.png")[0, 0]
    assert corner.tolist() == [1, 1, 1, 1]


def test_compact_keeps_the_picture_in_fewer_bytes() -> None:
    svg = (
        '<?xml version="1.0"?>\n<svg width="10pt" viewBox="0 0 10.123456 10">\n <metadata><a/></metadata>\n'
        ' <defs>\n  <style type="text/css">*{stroke-linejoin: round}</style>\n </defs>\n'
        ' <g id="figure_1">\n  <g id="patch_1">\n   <path d="M 0 0 \nL 9 9 \nz\n" style="fill: none"/>\n  </g>\n'
        '  <path d="M 12.345678 1 \nL 3.14159 -0.001 \n" style="fill: none; stroke: #e4e4e4"/>\n'
        '  <path d="M 1 1 \nL 2 2 \n" style="fill: none; stroke: #e4e4e4"/>\n'
        '  <path d="M 1 1 \nC 2 2 3 3 4 4 \nL 5 -0.5 \n" style="fill: #e4e4e4; fill-opacity: 0.18"/>\n'
        '  <g clip-path="url(#pabc)">\n   <use xlink:href="#mdef" x="1" y="2" style="fill: #1a1a1a"/>\n  </g>\n'
        '  <g clip-path="url(#pabc)">\n   <use xlink:href="#mdef" x="3" y="4" style="fill: #1a1a1a"/>\n  </g>\n'
        '  <text style="font-size: 9px; font-family: \'DejaVu Sans\', sans-serif; fill: #1a1a1a" x="1.23456" y="20.25"'
        ' transform="rotate(-0 1.2 20.2)">a 1.23456 &lt;</text>\n'
        ' </g>\n <defs><clipPath id="pabc"/><path id="mdef" d="M 0 0 \nL 1 1 \n"/></defs>\n</svg>\n'
    )
    assert compact(svg).splitlines()[2:] == [
        '<path d="M12.3 1 3.14 0M1 1 2 2" style="fill: none; stroke: #e4e4e4"/>',
        '<path d="M1 1C2 2 3 3 4 4L5-.5" style="fill: #e4e4e4; fill-opacity: 0.18"/>',
        '<g clip-path="url(#i0)" style="fill: #1a1a1a">',
        '<use xlink:href="#i1" x="1" y="2"/>',
        '<use xlink:href="#i1" x="3" y="4"/></g>',
        '<text style="font-size: 9px; fill: #1a1a1a" x="1.23" y="20.2">a 1.23456 &lt;</text>',
        '<defs><clipPath id="i0"/><path id="i1" d="M0 0 1 1"/></defs>',
        "</svg>",
    ]
    assert 'viewBox="0 0 10.123456 10"' in compact(svg)


def test_lines_that_let_through_what_is_under_them_stay_apart() -> None:
    line = '<path d="M 1 1 L 2 2" style="fill: none; stroke: #e4e4e4; stroke-opacity: 0.5"/>'
    assert compact(f"<svg >{line}{line}</svg>").count("<path") == 2
    opaque = line.replace("; stroke-opacity: 0.5", "")
    assert compact(f"<svg >{opaque}{opaque}</svg>").count("<path") == 1


def test_bytes_repeat_in_another_process(tmp_path: Path) -> None:
    code = f"""
import sys
from pathlib import Path
sys.path.insert(0, {str(Path(__file__).parents[3])!r})
from tests.reports.figures import test_svg as test
with test.theme():
    test.save(test.drawn(["a", "b"]), Path({str(tmp_path)!r}), "other")
"""
    save(drawn(["a", "b"]), tmp_path, "here")
    subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[3], check=True)
    assert (tmp_path / "here.svg").read_bytes() == (tmp_path / "other.svg").read_bytes()
    assert (tmp_path / "here.png").read_bytes() == (tmp_path / "other.png").read_bytes()
