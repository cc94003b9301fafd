"""What the figures of a page share."""

import re
from pathlib import Path

from matplotlib.figure import Figure

from reports.figures.sheet import shared
from reports.figures.svg import inline, save
from reports.figures.theme import theme

STYLE = 'style="fill: none; stroke: var(--fig-ink, #1a1a1a)"'
MARKER = '<path id="{}" d="M0 0 0 3.5" style="stroke-width: 0.6"/>'


def figure(name: str, more: str = "") -> str:
    return (
        f'<svg role="img" aria-label="a" xmlns:xlink="http://www.w3.org/1999/xlink" xmlns="http://www.w3.org/2000/svg">'
        f"<defs>\n{MARKER.format(name)}\n</defs>\n"
        f'<path d="M1 1 2 2" {STYLE}/><use xlink:href="#{name}" x="1"/>{more}</svg>'
    )


def page(*figures: str) -> str:
    return f"<head><style>p{{}}</style></head><body class='x'>{''.join(figures)}<p style=\"color: red\">p</p></body>"


def test_a_style_becomes_one_rule_and_a_marker_one_shape() -> None:
    found = shared(page(figure("f1-i0"), figure("f2-i0")))
    assert found == (
        "<head><style>p{}.v0{fill:none;stroke:var(--fig-ink, #1a1a1a)}\n.v1{stroke-width:0.6}\n</style></head>"
        "<body class='x'>"
        '<svg class="shapes" width="0" height="0" aria-hidden="true"><defs>'
        '<path id="m0" d="M0 0 0 3.5" class="v1"/></defs></svg>'
        + 2 * '<svg role="img" aria-label="a"><path d="M1 1 2 2" class="v0"/><use href="#m0" x="1"/></svg>'
        + '<p style="color: red">p</p></body>'
    )


def test_what_one_figure_alone_has_stays_in_it() -> None:
    clip = '<defs><clipPath id="f1-i1"><path id="f1-i2" d="M9 9"/></clipPath></defs><g clip-path="url(#f1-i1)"/>'
    found = shared(page(figure("f1-i0", clip)))
    assert 'class="shapes"' not in found
    assert '<path id="f1-i0" d="M0 0 0 3.5" class=' in found
    assert 'href="#f1-i0"' in found
    assert clip in found


def test_texts_are_left_alone() -> None:
    text = '<text>style="fill: none" href="#f1-i0"</text>'
    assert '<text>style="fill: none"' in shared(page(figure("f1-i0", text), figure("f2-i0")))
    assert shared("<body>no figure</body>") == "<body>no figure</body>"


def test_every_reference_of_real_figures_is_there_and_the_page_smaller(tmp_path: Path) -> None:
    with theme():
        drawn = Figure(figsize=(3, 2))
        drawn.subplots().plot([1, 2, 3], [1, 2, 1], "o-")
        svg = save(drawn, tmp_path, "a", pixels=False)
    before = page(*(inline(svg, f"f{n}", "text") for n in range(3)))
    after = shared(before)
    assert len(after) < 0.7 * len(before)
    names = set(re.findall(r' id="([^"]*)"', after))
    assert set(re.findall(r'href="#([^"]*)"|url\(#([^)]*)\)', after)) <= {
        pair for name in names for pair in ((name, ""), ("", name))
    }
    rules = set(re.findall(r"\.(v[0-9]+)\{", after))
    assert set(re.findall(r' class="(v[0-9]+)"', after)) == rules
    assert not list(tmp_path.glob("*.png"))


def test_lines_lose_the_spaces_before_them_but_for_those_of_the_script() -> None:
    page = "<style>\n  p { }\n</style>\n<body>\n    <p>one\n  two</p>\n<script>if (a)\n  b();</script>\n  </body>"
    assert shared(page) == (
        "<style>\np { }\n</style>\n<body>\n<p>one\ntwo</p>\n<script>if (a)\n  b();</script>\n  </body>"
    )
    assert shared("<p>\n  no script") == "<p>\nno script"
