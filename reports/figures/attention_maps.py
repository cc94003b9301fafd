"""Attention weights of one sentence as a figure: a row for each layer, a column for each head, runs side by side.

Tidy data, one weight a row: run, part (ordered categories), layer, head, query and key (places from 0), query_token,
key_token, weight. Lengths are in inches; a token takes a cell, whose size follows from how many there are.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from reports.figures.theme import GREY, INK, NOTE, RC, TEXT, axes_at, plain, text_width, theme, write_at
from reports.rows import RowsError

FORMATS = ("png", "svg", "pdf")
COLOURS = sns.color_palette("Blues", as_cmap=True)
SCALE = Normalize(0, 1)
NOTE_TEXT = "A row attends to the columns. A decoder's row is\nthe token last read; it predicts the next one."

LARGEST_CELL, PANEL = 0.3, 2.4
"""A cell is as large as makes a panel of PANEL, and at most LARGEST_CELL."""
SMALLEST_CELL = 0.15
"""Unless the figure would be larger than LARGEST."""
LARGEST = 32.0
NARROWEST_COLUMN, LOWEST_ROW = 0.75, 0.5
MARGIN, GAP, RUN_GAP = 0.2, 0.12, 0.45
HEADER = 1.35
"""Width of the names of the rows."""
TITLES = 0.62
"""Height of the names of runs and heads."""
FOOTER = 0.4
BAR = 0.95
"""Width of the colour bar with its labels."""
SMALLEST_FONT = 5.0
"""In points; where cells are smaller than that, some tokens go without a label."""
TOKEN_LENGTH, TITLE_LENGTH = 18, 40
"""In characters."""

Row = tuple[int, int]
"""Place of a part in the order of parts, and layer."""


@dataclass(frozen=True)
class Labels:
    """How the tokens are written."""

    cell: float
    """Side of a cell in inches."""

    @property
    def points(self) -> float:
        """Font size."""
        return max(SMALLEST_FONT, min(RC["ytick.labelsize"], 72 * self.cell * 0.8))

    @property
    def step(self) -> int:
        """Every so many tokens have a label."""
        return ceil(self.points * 1.15 / (72 * self.cell))

    def longest(self, sentences: Iterable[Sequence[str]]) -> float:
        """Length in inches of the longest label of some sentences."""
        names = {plain(token, TOKEN_LENGTH) for sentence in sentences for token in sentence}
        return max(text_width(name, self.points) for name in names) + 0.06


def tokens(data: pd.DataFrame, side: str) -> list[str]:
    """Tokens of one side, `query` or `key`, in their order."""
    return list(data.drop_duplicates(side).sort_values(side)[f"{side}_token"])


class Panels:
    """The data by run, row and head."""

    def __init__(self, maps: pd.DataFrame) -> None:
        maps = maps.assign(place=maps["part"].cat.codes)
        self.parts = list(maps["part"].cat.categories)
        self.runs: list[str] = list(maps["run"].unique())
        groups: Any = maps.groupby(["run", "place", "layer", "head"], sort=False)  # whose keys the stubs do not know
        self.data: dict[tuple[str, int, int, int], pd.DataFrame] = {
            key: data.sort_values(["query", "key"]) for key, data in groups
        }
        self._tokens = {key: {side: tokens(data, side) for side in ("query", "key")} for key, data in self.data.items()}
        self.rows: list[Row] = sorted({(part, layer) for _, part, layer, _ in self.data})

    def heads(self, run: str) -> list[int]:
        """Heads of a run."""
        return sorted({head for name, _, _, head in self.data if name == run})

    def tokens(self, side: str, run: str | None = None, row: Row | None = None) -> list[list[str]]:
        """Tokens of one side, `query` or `key`, in each run and row that there is, or in those given."""
        return [
            sides[side]
            for (name, part, layer, head), sides in self._tokens.items()
            if head == 1 and run in (None, name) and row in (None, (part, layer))
        ]

    def most(self, side: str, run: str | None = None, row: Row | None = None) -> int:
        """Most tokens of one side."""
        return max(map(len, self.tokens(side, run, row)))

    def first(self, run: str) -> Row:
        """First row of a run."""
        return min((part, layer) for name, part, layer, _ in self.data if name == run)

    def is_last(self, run: str, row: Row) -> bool:
        """Whether no further row of the run shows the same part."""
        return not any(name == run and part == row[0] and layer > row[1] for name, part, layer, _ in self.data)


@dataclass(frozen=True)
class Grid:
    """Where everything stands, from the upper left corner."""

    panels: Panels
    labels: Labels

    def left(self, run: str) -> float:
        """Left edge of a run's labels."""
        before = self.panels.runs[: self.panels.runs.index(run)]
        return MARGIN + HEADER + sum(self.width(name) + RUN_GAP for name in before)

    def width(self, run: str) -> float:
        """Width of a run, its labels included."""
        title = text_width(plain(run, TITLE_LENGTH), RC["axes.titlesize"], RC["axes.titleweight"])
        return self.margin(run) + max(title, len(self.panels.heads(run)) * (self.column(run) + GAP) - GAP)

    def margin(self, run: str) -> float:
        """Width of the labels left of a run's first head."""
        return self.labels.longest(self.panels.tokens("query", run))

    def column(self, run: str) -> float:
        """Width of a head."""
        return max(NARROWEST_COLUMN, self.panels.most("key", run) * self.labels.cell)

    def top(self, row: Row) -> float:
        """Upper edge of a row's panels."""
        before = self.panels.rows[: self.panels.rows.index(row)]
        return MARGIN + TITLES + sum(self.height(other) + self.below(other) for other in before)

    def height(self, row: Row) -> float:
        """Height of a row's panels."""
        return max(LOWEST_ROW, self.panels.most("query", row=row) * self.labels.cell)

    def below(self, row: Row) -> float:
        """Height of what stands under a row: the labels, after the last layer of a part."""
        last = [run for run in self.panels.runs if self.panels.is_last(run, row)]
        sentences = [sentence for run in last for sentence in self.panels.tokens("key", run, row)]
        return self.labels.longest(sentences) + 2 * GAP if sentences else GAP

    @property
    def right(self) -> float:
        """Right edge of the last run."""
        last = self.panels.runs[-1]
        return self.left(last) + self.width(last)

    @property
    def bottom(self) -> float:
        """Lower edge of the last row's labels."""
        last = self.panels.rows[-1]
        return self.top(last) + self.height(last) + self.below(last)


def draw(maps: pd.DataFrame) -> Figure:
    """The whole figure."""
    panels = Panels(maps)
    grid = fitted(panels)
    figure = Figure(figsize=(grid.right + BAR + MARGIN, grid.bottom + FOOTER + MARGIN))
    for (run, part, layer, head), data in panels.data.items():
        row, heads = (part, layer), panels.heads(run)
        keys, queries = (data[side].nunique() * grid.labels.cell for side in ("key", "query"))
        x = grid.left(run) + grid.margin(run) + heads.index(head) * (grid.column(run) + GAP)
        ax = axes_at(figure, x, grid.top(row), keys, queries)
        is_first, is_last = head == heads[0], panels.is_last(run, row)
        plot_weights(data, ax, grid.labels, queries=is_first, keys=is_last)
    _write_titles(figure, grid)
    _add_bar(figure, grid)
    return figure


def fitted(panels: Panels) -> Grid:
    """The grid with the largest cells that keep the figure within LARGEST."""
    most = max(panels.most("query"), panels.most("key"))
    cell = min(LARGEST_CELL, max(SMALLEST_CELL, PANEL / most))
    grid = Grid(panels, Labels(cell))
    while max(grid.right, grid.bottom) > LARGEST and cell > 0.01:
        cell *= 0.95
        grid = Grid(panels, Labels(cell))
    return grid


def plot_weights(data: pd.DataFrame, ax: Axes, labels: Labels, *, queries: bool, keys: bool) -> Axes:
    """One head: darker is more, 0 to 1. `queries` and `keys` say whether the tokens are written beside it."""
    weights = data.pivot(index="query", columns="key", values="weight")
    ax.imshow(weights, cmap=COLOURS, norm=SCALE, aspect="auto", interpolation="nearest")
    ax.spines[:].set_visible(True)
    for axis, side, wanted in ((ax.yaxis, "query", queries), (ax.xaxis, "key", keys)):
        names = [plain(token, TOKEN_LENGTH) for token in tokens(data, side)]
        places = range(0, len(names), labels.step) if wanted else []
        axis.set_ticks(list(places), [names[place] for place in places])
    ax.tick_params(length=0, pad=3, labelsize=labels.points)
    ax.tick_params(axis="x", rotation=90)
    return ax


def check_path(path: Path) -> None:
    """Raises RowsError for a file that cannot become a figure."""
    if path.suffix.removeprefix(".") not in FORMATS:
        raise RowsError(f"output={str(path)!r}: the name must end in {', '.join(f'.{name}' for name in FORMATS)}")
    if not path.parent.is_dir():
        raise RowsError(f"output={str(path)!r}: there is no folder {path.parent}")


def save_maps(maps: pd.DataFrame, path: Path) -> None:
    """Draw and write the figure, as the suffix of `path` says (FORMATS)."""
    with theme():
        figure = draw(maps)
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def _write_titles(figure: Figure, grid: Grid) -> None:
    """Names of runs, heads and rows, and how to read the rest."""
    for run in grid.panels.runs:
        x, top = grid.left(run) + grid.margin(run), grid.top(grid.panels.first(run))
        style = {"weight": RC["axes.titleweight"], "size": RC["axes.titlesize"]}
        write_at(figure, x, MARGIN, plain(run, TITLE_LENGTH), va="top", **style)
        for place, head in enumerate(grid.panels.heads(run)):
            shift = place * (grid.column(run) + GAP)
            write_at(figure, x + shift, top - 0.06, f"head {head}", va="bottom", size=TEXT, color=GREY)
    for row in grid.panels.rows:
        middle = grid.top(row) + grid.height(row) / 2
        write_at(figure, MARGIN, middle, grid.panels.parts[row[0]], va="bottom", size=TEXT, color=INK)
        write_at(figure, MARGIN, middle, f"layer {row[1]}", va="top", size=NOTE, color=GREY)
    write_at(figure, MARGIN, grid.bottom + FOOTER, NOTE_TEXT, va="bottom", size=NOTE, color=GREY)


def _add_bar(figure: Figure, grid: Grid) -> None:
    height = min(2.0, grid.bottom - MARGIN - TITLES)
    ax = axes_at(figure, grid.right + 0.25, MARGIN + TITLES, 0.14, height)
    bar = figure.colorbar(ScalarMappable(SCALE, COLOURS), cax=ax, ticks=[0, 0.5, 1])
    bar.set_label("attention weight", size=NOTE)
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0)
