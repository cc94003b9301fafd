"""Text and tables on a terminal: as wide as it is, folded at spaces alone; in a file or a pipe nothing is folded.

A table that is too wide is made narrower step by step, until it fits: names of columns are folded; what rows have in
common in the first column becomes a heading above them; texts are folded; the columns that matter least are left out,
and named below it. Imports no torch.
"""

import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, zip_longest
from math import inf

from rich.cells import cell_len

GAP = 2
"""Blanks between columns."""
ROOMY = 24.0
"""Width below which texts are folded only when no column is left to leave out."""
HANG = "  "
"""What lines after the first of a folded text begin with."""

Row = Sequence[str]


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of a table."""

    name: str
    right: bool = False
    """Numbers: to the right, never folded."""
    rank: int = 0
    """Where there is no room the column of the highest rank is left out first; one of rank 0 never is."""


def columns() -> int | None:
    """Width of the terminal that standard output goes to; None where it goes elsewhere."""
    if sys.stdout is None or not sys.stdout.isatty():
        return None
    return shutil.get_terminal_size().columns


def say(text: str = "", indent: str = "", hang: str | None = None) -> None:
    """Print a paragraph, folded to the terminal; lines after the first begin with `hang` (None: with `indent`)."""
    for line in fold(text, columns(), indent, indent if hang is None else hang):
        print(line)


def show(heads: Sequence[Column], rows: Sequence[Row], *, grouped: bool = False) -> None:
    """Print a table as `table` makes it, folded to the terminal."""
    for line in table(heads, rows, columns(), grouped=grouped):
        print(line)


def fold(text: str, width: float | None, indent: str = "", hang: str = "") -> list[str]:
    """The text in lines of at most `width` cells, broken at spaces alone: a longer word stands in a line of its own."""
    lines, line = [], indent
    for place, word in enumerate(text.split(" ")):
        starts = place == 0 or line == hang
        if not starts and width is not None and cell_len(line) + 1 + cell_len(word) > width:
            lines.append(line.rstrip())
            line = hang + word
        else:
            line += word if starts else f" {word}"
    return [*lines, line.rstrip()]


def table(
    heads: Sequence[Column], rows: Sequence[Row], width: int | None = None, *, grouped: bool = False
) -> list[str]:
    """The lines of a table of at most `width` columns (None: as wide as it must be).

    Without a single name of a column there is no head. `grouped`: rows that follow one another with the same first cell
    may have it as a heading. What does not fit whatever is left out is as narrow as its longest words.
    """
    room = inf if width is None else width
    kept: list[int] = []
    widths: list[int] = []
    for kept, floor in _attempts(heads, grouped):
        cells = [[row[i] for row in rows] for i in kept]
        natural = [max(map(cell_len, (heads[i].name, *found))) for i, found in zip(kept, cells, strict=True)]
        least = [_least(heads[i], found, floor) for i, found in zip(kept, cells, strict=True)]
        inset = len(HANG) if 0 not in kept else 0
        widths = _fitted(natural, least, room - inset - GAP * (len(kept) - 1))
        if sum(widths) + inset + GAP * (len(kept) - 1) <= room:
            break
    lines = _lines(heads, rows, kept, widths)
    gone = [head.name for i, head in enumerate(heads) if i not in kept and not (grouped and i == 0)]
    note = f"(a wider terminal also shows: {', '.join(gone)})"
    return lines + (fold(note, width) if gone else [])


def _attempts(heads: Sequence[Column], grouped: bool) -> Iterator[tuple[list[int], float]]:
    """Indices of the columns that are kept, and how wide texts stay at least; the widest form first."""
    kept = list(range(len(heads)))
    yield kept, inf
    kept = kept[grouped:]
    yield kept, inf
    yield kept, ROOMY
    for index in sorted((i for i in kept if heads[i].rank), key=lambda i: -heads[i].rank):
        kept = [i for i in kept if i != index]
        yield kept, ROOMY
    yield kept, 0.0


def _least(head: Column, cells: Sequence[str], floor: float) -> int:
    """The narrowest that a column may be: its longest word, numbers whole, texts folded to no less than `floor`."""
    names = max(map(cell_len, head.name.split(" ")))
    whole = max(map(cell_len, cells), default=0)
    if head.right or whole <= floor:
        return max(names, whole)
    words = max(cell_len(word) for cell in cells for word in cell.split(" ")) + len(HANG)
    return max(names, min(whole, max(words, int(floor))))


def _fitted(natural: Sequence[int], least: Sequence[int], room: float) -> list[int]:
    """Widths between the two that come to `room` if they can; the widest gives way first."""
    widths = list(natural)
    while sum(widths) > room and (places := [i for i, width in enumerate(widths) if width > least[i]]):
        widths[max(places, key=widths.__getitem__)] -= 1
    return widths


def _lines(heads: Sequence[Column], rows: Sequence[Row], kept: Sequence[int], widths: Sequence[int]) -> list[str]:
    shown = [heads[i] for i in kept]
    lines: list[str] = []
    if any(head.name for head in shown):
        lines += _row([head.name for head in shown], shown, widths, hang="")
        lines.append((" " * GAP).join("─" * width for width in widths))
    if 0 in kept:
        return lines + [line for row in rows for line in _row([row[i] for i in kept], shown, widths)]
    found = [HANG + line for line in lines]
    for name, group in groupby(rows, key=lambda row: row[0]):
        found.append(name)
        found += [HANG + line for row in group for line in _row([row[i] for i in kept], shown, widths)]
    return found


def _row(cells: Row, heads: Sequence[Column], widths: Sequence[int], hang: str = HANG) -> Iterator[str]:
    """The lines of a row, as many as its longest cell takes."""
    folded = [fold(cell, width, hang=hang) for cell, width in zip(cells, widths, strict=True)]
    for line in zip_longest(*folded, fillvalue=""):
        placed = [_placed(cell, head, width) for cell, head, width in zip(line, heads, widths, strict=True)]
        yield (" " * GAP).join(placed).rstrip()


def _placed(cell: str, head: Column, width: int) -> str:
    blanks = " " * (width - cell_len(cell))
    return blanks + cell if head.right else cell + blanks
