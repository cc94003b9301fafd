"""What all figures share: the settings they are drawn under, the looks of variants, names as labels, places in inches.

A variant looks the same in every figure; the base is black and comes first. Each kind of figure has a file of its own,
with functions of tidy data and axes. Intervals and bands are those of reports.statistics, never a bootstrap, so that
the same rows always give the same picture.
"""

import gc
import re
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.textpath import text_to_path

INK, GREY, HAIRLINE, WORSE, DIVERGED, PAPER = "#1a1a1a", "#6b6b6b", "#e4e4e4", "#faf1ea", "#b00020", "#ffffff"
TEXT, TICK, NOTE = 11.5, 10.5, 9.5
"""Sizes in points: a figure fills a slide of 13 inches, and a page of 1,200 pixels, as it is."""
WIDTH = 12.4
"""Inches of a figure that fills a page."""
COLOURS = [sns.color_palette("colorblind").as_hex()[i] for i in (0, 1, 2, 3, 4, 5, 9)]
Dash = Literal["-"] | tuple[float, Sequence[float]]
DASHES: tuple[Dash, ...] = ("-", (0, (5, 1.6)), (0, (1.4, 1.4)), (0, (6, 1.5, 1.4, 1.5)))
MARKERS = "osD^vPXp<"

RC: Any = {  # matplotlib-stubs list every key as a Literal
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": TEXT,
    "axes.titlesize": 12.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": TEXT,
    "axes.edgecolor": GREY,
    "axes.facecolor": "none",
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.labelcolor": INK,
    "text.color": INK,
    "text.parse_math": False,  # a name may hold dollar signs
    "xtick.color": GREY,
    "xtick.labelcolor": INK,
    "xtick.labelsize": TICK,
    "xtick.major.width": 0.6,
    "ytick.color": GREY,
    "ytick.labelcolor": INK,
    "ytick.labelsize": TICK,
    "ytick.major.width": 0.6,
    "lines.linewidth": 2.0,
    "lines.markersize": 5,
    "legend.frameon": False,
    "legend.fontsize": TEXT,
    "figure.facecolor": PAPER,
    "savefig.dpi": 160,
    "svg.fonttype": "none",  # text stays text: it can be searched, read aloud, and takes the fonts of the page
    "svg.hashsalt": "ablations",
}

LABEL_LENGTH = 40
"""Letters of a name on one line."""
ROW_LENGTH = 30
"""Letters of a name beside a row, beyond which it goes on in a second line."""
BREAKS = (r"(?<= )(?=\()", r"(?<=[ ,])(?<!× )", r"(?<=[ ,=_/])(?<!× )")
"""Where a name may be broken, in the order in which it is tried: before what is in brackets, at spaces, in keys."""


@dataclass(frozen=True)
class Style:
    """How a variant is drawn."""

    colour: str
    dash: Dash
    marker: str
    width: float = 2.0


@contextmanager
def theme() -> Iterator[None]:
    """Settings under which figures are made and saved; the caller's own come back afterwards."""
    with mpl.rc_context(RC), warnings.catch_warnings(), _collecting_seldom():
        # a name in a script that the font lacks: boxes in the PNG, but right in the SVG and on the page
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


@contextmanager
def _collecting_seldom() -> Iterator[None]:
    """Figures are very many objects that live on: looking for dead ones as usual takes an eighth of the time."""
    usual = gc.get_threshold()
    gc.set_threshold(20_000, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)


def styles(variants: Sequence[str], base: str, groups: Iterable[Collection[str]] = ()) -> dict[str, Style]:
    """Black for the base; for each other in turn the first looks that are free: 252 of colour, dash and marker.

    Give the variants of the whole study, so that one looks the same in all its experiments, and as `groups` those of
    each experiment: of a group no two have one colour while there are others (7), then none have one colour and dash
    (28), nor one colour and marker (63); a few less where groups share many variants.
    """
    near: dict[str, set[str]] = {variant: set() for variant in variants}
    for group in groups:
        for variant in near.keys() & set(group):
            near[variant].update(group)
    uses, chosen = dict.fromkeys(COLOURS, 0), dict[str, Style]()
    for variant in near:
        beside = [chosen[other] for other in near[variant] if other in chosen]
        colours = Counter(style.colour for style in beside)
        _, times, i = min((colours[colour], uses[colour], i) for i, colour in enumerate(COLOURS))
        alike = [style for style in beside if style.colour == COLOURS[i]]
        dash = _least(DASHES, times, [style.dash for style in alike])
        marker = _least(MARKERS, i + len(COLOURS) * times, [style.marker for style in alike])
        chosen[variant] = Style(COLOURS[i], dash, marker)
        uses[COLOURS[i]] += 1
    return {**chosen, base: Style(INK, "-", "o", 1.4)}


def _least(choices: Sequence[Any], first: int, taken: Sequence[Any]) -> Any:
    """The choice that is taken least often; of equal ones the next from the `first`, round and round."""
    in_turn = [choices[(first + k) % len(choices)] for k in range(len(choices))]
    return min(in_turn, key=taken.count)


def axes_at(figure: Figure, left: float, top: float, width: float, height: float) -> Axes:
    """New axes at a place in inches from the upper left corner.

    Places are worked out from the widths of texts: matplotlib's layout engines draw a figure several times to find
    them, which takes most of the time of a report with many panels.
    """
    across, down = figure.get_size_inches()
    return figure.add_axes((left / across, 1 - (top + height) / down, width / across, height / down))


def write_at(figure: Figure, left: float, top: float, text: str, **style: Any) -> None:
    """A text at a place in inches from the upper left corner."""
    across, down = figure.get_size_inches()
    figure.text(left / across, 1 - top / down, text, **style)


def size_of(ax: Axes) -> tuple[float, float]:
    """Width and height of axes in points."""
    across, down = ax.get_figure(root=True).get_size_inches()  # type: ignore[union-attr]
    place = ax.get_position()
    return 72 * across * place.width, 72 * down * place.height


@cache
def text_width(text: str, points: float = TEXT, weight: str = "normal") -> float:
    """Length of a text in inches, with some room: letters are moved to whole pixels, and a reader may lack the font."""
    font = FontProperties(family=RC["font.sans-serif"], size=points, weight=weight)
    return 1.04 * text_to_path.get_text_width_height_descent(text, font, ismath=False)[0] / 72


def label_width(label: str, points: float = TEXT, weight: str = "normal") -> float:
    """Length of the longest line of a label in inches."""
    return max(text_width(line, points, weight) for line in label.split("\n"))


def fitting(text: str, points: float) -> str:
    """A name as a title over axes of a width in points: in one line or two, and cut only where it is longer."""

    def fits(line: str) -> bool:
        return 72 * text_width(line, RC["axes.titlesize"], RC["axes.titleweight"]) < points

    if lines := broken(_printable(text), fits):
        return "\n".join(lines)
    return next((label for n in range(LABEL_LENGTH, 2, -1) if fits(label := plain(text, n))), "…")


def row_label(text: str, length: int = ROW_LENGTH) -> str:
    """A name beside a row or under a column: in one line or two of so many letters, and cut only where it is longer."""
    lines = broken(_printable(text), lambda line: len(line) <= length)
    return "\n".join(lines) if lines else plain(text, length)


def broken(text: str, fits: Callable[[str], bool], most: int = 2) -> list[str]:
    """A text in at most so many lines that each fit, broken where it means least (BREAKS); [] where it cannot be."""
    for places in (r"(?!)", *BREAKS):
        lines = [""]
        for piece in re.split(places, text):
            if fits((lines[-1] + piece).rstrip()):
                lines[-1] += piece
            else:
                lines.append(piece)
        lines = [line.strip() for line in lines if line] or [""]
        if len(lines) <= most and all(map(fits, lines)):
            return lines
    return []


def _printable(text: str) -> str:
    """On one line, without what cannot be seen."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split(" "))


def plain(text: str, length: int = LABEL_LENGTH) -> str:
    """A name as a label on one line: cut between words where it is too long, `key=value` pairs in their keys.

    The beginning and the end stay, since names of variants differ there. A single long word is cut in its middle.
    """
    text = _printable(text)
    if len(text) <= length:
        return text
    half = (length - 1) // 2
    return (
        _with_short_keys(text, length) or _without_middle(text, length) or f"{text[: length - 1 - half]}…{text[-half:]}"
    )


def _without_middle(text: str, length: int) -> str:
    """The longest text with an ellipsis in place of words between the first and the last; empty where none fits."""
    words = re.split(BREAKS[1], text)
    ends = [(i, j) for i in range(1, len(words)) for j in range(i + 1, len(words))]
    shorter = ("".join(words[:i]).rstrip() + " … " + "".join(words[j:]) for i, j in ends)
    return max((label for label in shorter if len(label) <= length), key=len, default="")


def _with_short_keys(text: str, length: int) -> str:
    """`norm_placement=post,warmup=1` as `norm_p…=post,warmup=1`: combinations differ in their values. Empty if none."""
    parts = [part.partition("=") for part in text.split(",")]
    if len(parts) < 2 or not all(sign for _, sign, _ in parts):
        return ""
    for kept in range(max(len(key) for key, _, _ in parts), 0, -1):
        keys = [key if len(key) <= kept + 1 else f"{key[:kept]}…" for key, _, _ in parts]
        shorter = ",".join(f"{key}={value}" for key, (_, _, value) in zip(keys, parts, strict=True))
        if len(shorter) <= length:
            return shorter
    return ""


def spread(places: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Places moved as little as need be so that neighbours are `gap` apart, within `low` and `high` if they fit.

    Clusters of places that are too close are laid out around their own middle and joined until none overlap.
    """
    order = sorted(range(len(places)), key=lambda i: places[i])
    clusters: list[tuple[float, int]] = []  # middle, how many
    for i in order:
        clusters.append((places[i], 1))
        while len(clusters) > 1 and _overlap(clusters[-2], clusters[-1], gap):
            (a, n), (b, m) = clusters[-2:]
            clusters[-2:] = [((n * a + m * b) / (n + m), n + m)]
    found = [middle + gap * (k - (n - 1) / 2) for middle, n in clusters for k in range(n)]
    for k in range(len(found)):  # push up from the lower end, then down from the upper one
        found[k] = max(found[k], low + gap * k)
    for k in reversed(range(len(found))):
        found[k] = min(found[k], high - gap * (len(found) - 1 - k))
    moved = dict(zip(order, found, strict=True))
    return [moved[i] for i in range(len(places))]


def _overlap(lower: tuple[float, int], upper: tuple[float, int], gap: float) -> bool:
    return upper[0] - lower[0] < gap * (lower[1] + upper[1]) / 2


def label_ends(
    ax: Axes, ends: Mapping[str, tuple[float, float]], styles: Mapping[str, Style], labels: Mapping[str, str]
) -> Axes:
    """Names right of the axes, each joined to the end of its line; `ends` are in data. Call when limits are final."""
    width, height = size_of(ax)
    to_axes = ax.transData + ax.transAxes.inverted()
    at = {variant: to_axes.transform(end) * (width, height) for variant, end in ends.items()}
    moved = spread([float(y) for _, y in at.values()], TEXT + 3, 4, height - 4)
    for (variant, (x, y)), label_y in zip(at.items(), moved, strict=True):
        places = np.array([(x + 4, y), (width + 6, y), (width + 16, label_y), (width + 20, label_y)])
        places = places / (width, height)
        style = styles[variant]
        line: dict[str, Any] = {
            "color": style.colour,
            "linewidth": 0.9,
            "transform": ax.transAxes,
            "clip_on": False,
            "zorder": 1.8,
        }
        ax.plot(places[:, 0], places[:, 1], **line)
        ax.annotate(
            labels[variant], (places[-1, 0], places[-1, 1]), xytext=(3, 0), xycoords="axes fraction",
            textcoords="offset points", va="center", annotation_clip=False,
        )  # fmt: skip
    return ax


def add_legend(ax: Axes, order: Sequence[str], styles: Mapping[str, Style]) -> Axes:
    """A legend right of the axes with exactly the variants of `order`, as they are drawn."""
    handles = [
        Line2D([], [], color=s.colour, linestyle=s.dash, linewidth=s.width, marker=s.marker, markeredgewidth=0)
        for s in (styles[variant] for variant in order)
    ]
    labels = [plain(variant) for variant in order]
    ax.legend(handles, labels, loc="upper left", bbox_to_anchor=(1.01, 1.02), handlelength=3.2, borderaxespad=0)
    return ax


def legend_width(names: Sequence[str]) -> float:
    """Inches right of axes that a legend or names at the ends of lines take."""
    return max(text_width(plain(name)) for name in names) + 0.8
