"""Colours of the page can be read, on light and on dark paper."""

import pytest

from reports.figures.palette import DARK, LIGHT, properties, variable
from reports.figures.theme import COLOURS, Style

TEXT = ("ink", "grey", "link", "bad", "good", "fig-ink", "fig-grey", "fig-bad")
LINES = tuple(f"fig-{i}" for i in range(7))


def luminance(colour: str) -> float:
    """Relative luminance (WCAG 2.2)."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Contrast ratio (WCAG 2.2): 21 for black on white."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_that_of_the_guidelines() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("colours", [LIGHT, DARK])
@pytest.mark.parametrize("paper", ["paper", "wash"])
def test_text_can_be_read_on_its_paper(colours: dict[str, str], paper: str) -> None:
    assert min(contrast(colours[name], colours[paper]) for name in TEXT) >= 4.5
    assert contrast(colours["ink"], colours["mark"]) >= 4.5


def test_lines_of_figures_stand_out_on_dark_paper_and_where_worse_is_shaded() -> None:
    assert min(contrast(DARK[name], DARK[paper]) for name in LINES for paper in ("fig-paper", "fig-worse")) >= 3
    assert len({DARK[name] for name in LINES}) == 7


def test_both_have_the_same_names_and_the_light_ones_are_those_of_the_files() -> None:
    assert DARK.keys() == LIGHT.keys()
    assert [LIGHT[name] for name in LINES] == COLOURS
    assert properties({"a": "#000000", "b": "#ffffff"}) == "--a: #000000; --b: #ffffff;"


def test_a_variant_has_its_colour_by_name() -> None:
    assert variable(Style(COLOURS[3], "-", "o")) == "var(--fig-3)"
    assert variable(Style(LIGHT["fig-ink"], "-", "o")) == "var(--fig-ink)"
    assert variable(Style("#123456", "-", "o")) == "#123456"
