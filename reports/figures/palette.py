"""Colours of the page and of the figures on it, on light and on dark paper, as custom properties of CSS.

Figures that are files have the light colours; on the page they follow the reader's choice.
"""

from collections.abc import Mapping

from reports.figures.svg import PROPERTIES
from reports.figures.theme import Style

LIGHT: Mapping[str, str] = {
    "ink": "#1a1a1a",
    "grey": "#5f5f5f",
    "line": "#e2e2e2",
    "rule": "#b5b5b5",
    "paper": "#ffffff",
    "wash": "#f6f5f2",
    "link": "#0b5cad",
    "bad": "#b00020",
    "good": "#1b6e3c",
    "mark": "#ffeeb8",
    "shade": "#1a1a1a40",
    **{name.removeprefix("--"): colour for colour, name in PROPERTIES.items()},
}

DARK: Mapping[str, str] = {
    "ink": "#e9e7e3",
    "grey": "#a9a7a2",
    "line": "#34363b",
    "rule": "#5c5f66",
    "paper": "#16181c",
    "wash": "#212429",
    "link": "#83bdf5",
    "bad": "#ff8a8f",
    "good": "#7fd3a0",
    "mark": "#5a4a10",
    "shade": "#e9e7e355",
    "fig-ink": "#e9e7e3",
    "fig-grey": "#a9a7a2",
    "fig-hairline": "#34363b",
    "fig-worse": "#2a2320",
    "fig-bad": "#ff8a8f",
    "fig-paper": "#16181c",
    "fig-0": "#4a9fdc",
    "fig-1": "#f0a93b",
    "fig-2": "#2fbf93",
    "fig-3": "#f0783c",
    "fig-4": "#dd93cf",
    "fig-5": "#cfa583",
    "fig-6": "#9ad6fa",
}
"""The seven of a colour-blind safe palette, lighter: each stands out from the paper by 3 : 1 and more (WCAG 1.4.11)."""


def properties(colours: Mapping[str, str]) -> str:
    """Declarations of custom properties: `--ink: #1a1a1a; ...`."""
    return " ".join(f"--{name}: {colour};" for name, colour in colours.items())


def variable(style: Style) -> str:
    """The colour of a variant as the page knows it; as it is where it is none of the figures'."""
    name = PROPERTIES.get(style.colour)
    return f"var({name})" if name else style.colour
