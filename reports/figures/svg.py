"""How a figure is written: PNG and SVG files with plain colours, and SVG elements that follow the colours of a page."""

import io
import re
from collections.abc import Mapping
from html import escape
from pathlib import Path

from matplotlib.figure import Figure

from reports.figures.theme import COLOURS, DIVERGED, GREY, HAIRLINE, INK, PAPER, WORSE

PROPERTIES = {
    INK: "--fig-ink",
    GREY: "--fig-grey",
    HAIRLINE: "--fig-hairline",
    WORSE: "--fig-worse",
    DIVERGED: "--fig-bad",
    PAPER: "--fig-paper",
    **{colour: f"--fig-{i}" for i, colour in enumerate(COLOURS)},
}
"""Colour to the CSS custom property that the page may set for it."""

ROOT = "font-family: 'DejaVu Sans', Verdana, sans-serif; stroke-linejoin: round; stroke-linecap: butt"
"""Style of a whole figure. Verdana is as wide as DejaVu Sans: labels do not meet where that one is missing."""


def save(figure: Figure, folder: Path, name: str, *, pixels: bool = True) -> str:
    """Write a figure as SVG and, with `pixels`, as PNG; gives the SVG, whose bytes depend on the figure alone."""
    if pixels:
        figure.savefig(folder / f"{name}.png", pil_kwargs={"compress_level": 1})  # the usual takes three times as long
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None}, facecolor="none")
    svg = compact(buffer.getvalue())
    (folder / f"{name}.svg").write_text(svg, encoding="utf-8")
    return svg


def inline(svg: str, name: str, description: str) -> str:
    """An SVG file as an element of a page: identifiers begin with `name`, which must be unique on the page.

    Colours of PROPERTIES become `var(--fig-ink, #1a1a1a)` and so on: the page may set them, or leave them.
    """
    svg = re.sub(r"<[^>]*>", lambda tag: _adapt(tag[0], name), svg[svg.index("<svg") :])
    return svg.replace("<svg", f'<svg role="img" aria-label="{escape(description)}"', 1)


def _adapt(tag: str, name: str) -> str:
    tag = re.sub(r'( id="|href="#|url\(#)', rf"\g<1>{name}-", tag)
    return re.sub(r": (#[0-9a-f]{6})", lambda found: f": {_property(found[1])}", tag)


def _property(colour: str) -> str:
    name = PROPERTIES.get(colour)
    return f"var({name}, {colour})" if name else colour


def compact(svg: str) -> str:
    """The same picture in fewer bytes: coordinates to a tenth of a point, no metadata, no names that nothing uses.

    The style sheet that matplotlib puts into each file goes too: inside a page it would style the whole page.
    """
    svg = re.sub(r"<metadata>.*?</metadata>|<defs>\s*<style.*?</style>\s*</defs>", "", svg, flags=re.DOTALL)
    found = re.findall(r'<[^>]*(?:href="#([^"]+)"|url\(#([^)]+)\))', svg)
    short = {name: f"i{n}" for n, name in enumerate(dict.fromkeys(a or b for a, b in found))}
    svg = re.sub(r"<[^?!>][^>]*>", lambda tag: _compact_tag(tag[0], short), svg)
    svg = re.sub(r"<g([^>]*)>((?:\s*<use [^>]*/>)+)\s*</g>", _share_style, svg)
    svg = re.sub(r"\s*\n\s*", "\n", _without_bare_groups(svg))
    svg = re.sub(r"(<g[^>]*>)(?:\s*<use [^>]*/>)+\s*</g>(?:\s*\1(?:\s*<use [^>]*/>)+\s*</g>)+", _join_groups, svg)
    svg = re.sub(r'<path d="[^"]*"([^>]*"fill: none;[^>]*)/>(?:\s*<path d="[^"]*"\1/>)+', _join_paths, svg)
    return svg.replace("<svg ", f'<svg style="{ROOT}" ', 1)


def _compact_tag(tag: str, short: Mapping[str, str]) -> str:
    if re.fullmatch(r'<path [^>]*style="fill: none"/>', tag):  # nothing is to be seen of it
        return ""
    tag = re.sub(r' id="([^"]*)"', lambda name: f' id="{short[name[1]]}"' if name[1] in short else "", tag)
    tag = re.sub(r'(href="#|url\(#)([^")]+)', lambda name: name[1] + short[name[2]], tag)
    tag = re.sub(r' transform="rotate\(-0 [^)]*\)"', "", tag)
    tag = re.sub(r"; font-family: [^;\"]*|font-family: [^;\"]*; ", "", tag)
    tag = re.sub(r' d="([^"]*)"', _compact_path, tag)
    if tag.startswith("<svg"):
        return tag
    tag = re.sub(r"(?<![\w#.])-?[0-9]+\.[0-9]{2,}", _rounded, tag)
    return re.sub(r' d="([^"]*)"', _tight, tag)


def _compact_path(found: re.Match[str]) -> str:
    path = " ".join(found[1].split())
    if not re.search("[A-KN-Y]", path):  # straight lines alone: what follows a place is a line to the next
        path = path.replace(" L ", " ")
    return f' d="{path}"'


def _tight(found: re.Match[str]) -> str:
    """A path without the spaces and zeros that nobody needs: `M 0 -0.5 L 2 1` is `M0-.5L2 1`."""
    path = re.sub(r"(?<![0-9.])(-?)0\.", r"\1.", found[1])
    return f' d="{re.sub(" ?([A-Za-z]) ?| (?=-)", lambda space: space[1] or "", path)}"'


def _rounded(number: re.Match[str]) -> str:
    """Two decimals for what is small (markers, opacities), one for the rest."""
    value = float(number[0])
    text = (f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}").rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _share_style(found: re.Match[str]) -> str:
    """Markers of one style have it from their group."""
    styles = set(re.findall(r' style="[^"]*"', found[2]))
    if len(styles) != 1 or " style=" in found[1] or found[2].count("<use") != found[2].count(" style="):
        return found[0]
    (style,) = styles
    return f"<g{found[1]}{style}>{found[2].replace(style, '')}</g>"


def _join_groups(found: re.Match[str]) -> str:
    """One group of markers in place of several that are alike."""
    return re.sub(rf"\s*</g>\s*{re.escape(found[1])}", "", found[0])


def _join_paths(found: re.Match[str]) -> str:
    """One path in place of several lines that are alike; where they let through what is under them it would show."""
    if "opacity" in found[1]:
        return found[0]
    lines = re.findall(r' d="([^"]*)"', found[0])
    return f'<path d="{"".join(lines)}"{found[1]}/>'


def _without_bare_groups(svg: str) -> str:
    """Without the groups that say nothing of what is in them."""
    bare: list[bool] = []

    def drop(tag: re.Match[str]) -> str:
        if tag[0] != "</g>":
            bare.append(tag[0] == "<g>")
            return "" if bare[-1] else tag[0]
        return "" if bare.pop() else tag[0]

    return re.sub(r"</?g\b[^>]*(?<!/)>", drop, svg)
