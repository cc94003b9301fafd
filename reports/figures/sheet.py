"""What the figures of one page have in common, written once: looks as classes of CSS, markers as shapes to refer to.

In a file a figure stands alone, and repeats the style of every line; a page with hundreds of figures need not.
"""

import re
from collections import Counter
from itertools import count

FIGURE = re.compile(r'<svg role="img".*?</svg>', re.DOTALL)
BEFORE_SCRIPT = re.compile(r".*?(?=<script>|\Z)", re.DOTALL)
SHAPE = re.compile(r'<path id="([^"]*)"([^>]*)/>')
SPACES = ' xmlns:xlink="http://www.w3.org/1999/xlink"', ' xmlns="http://www.w3.org/2000/svg"', ' version="1.1"'
"""Attributes that a file needs, and an element of a page does not."""


def shared(page: str) -> str:
    """The same page in fewer bytes: its figures (svg.inline) take their looks and markers from its head.

    The rules go to the end of the first style sheet, the shapes to the beginning of the body. Lines lose the spaces
    before them, but for those of the script, whose digest the page holds.
    """
    page = BEFORE_SCRIPT.sub(lambda found: re.sub(r"\n +", "\n", found[0]), page, count=1)
    figures = FIGURE.findall(page)
    names = (f"m{n}" for n in count())
    shapes = {shape: next(names) for shape, n in Counter(_shapes(figures)).items() if n > 1}
    classes: dict[str, str] = {}

    def adapted(found: re.Match[str]) -> str:
        figure = _with_shapes(found[0], shapes)
        for attribute in SPACES:
            figure = figure.replace(attribute, "", 1)
        return _with_classes(figure.replace("xlink:href", "href"), classes)

    page = FIGURE.sub(adapted, page)
    drawn = _with_classes("".join(f'<path id="{name}"{shape}/>' for shape, name in shapes.items()), classes)
    rules = "".join(f".{name}{{{style}}}\n" for style, name in classes.items())
    page = page.replace("</style>", f"{rules}</style>", 1)
    held = f'<svg class="shapes" width="0" height="0" aria-hidden="true"><defs>{drawn}</defs></svg>'
    return re.sub(r"<body[^>]*>", lambda body: body[0] + held, page, count=1) if shapes else page


def _shapes(figures: list[str]) -> list[str]:
    """The attributes of each marker of each figure, but for its name."""
    return [shape for figure in figures for _, shape in SHAPE.findall(figure)]


def _with_shapes(figure: str, shapes: dict[str, str]) -> str:
    """A figure whose markers are those of the page, where the page has them."""
    own = {name: shapes[shape] for name, shape in SHAPE.findall(figure) if shape in shapes}
    figure = SHAPE.sub(lambda found: "" if found[1] in own else found[0], figure)
    figure = re.sub(r"<defs>\s*</defs>\n?", "", figure)
    return re.sub(r'href="#([^"]*)"', lambda found: f'href="#{own.get(found[1], found[1])}"', figure)


def _with_classes(figure: str, classes: dict[str, str]) -> str:
    """A figure with a class in place of each style; `classes` has those that are known, and takes in others."""

    def named(tag: re.Match[str]) -> str:
        return re.sub(r' style="([^"]*)"', lambda style: f' class="{_class_of(style[1], classes)}"', tag[0])

    return re.sub(r"<[a-z][^>]*>", named, figure)


def _class_of(style: str, classes: dict[str, str]) -> str:
    text = re.sub(r"\s*([:;])\s*", r"\1", style)
    return classes.setdefault(text, f"v{len(classes)}")
