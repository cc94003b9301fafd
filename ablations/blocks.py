"""Marked blocks in README.md and docs/*.md, filled from the results of record: `python -m ablations.blocks [--check]`.

    <!-- results: NAME -->
    what is made: one of `reports.pages.published.BLOCKS`
    <!-- end -->

    <!-- results: rows STUDY/CLAIM=OUTCOME; STUDY/METRIC/VARIANT=VERDICT -->
    the rows that a page rests on (`reports.pages.cited`)
    <!-- end -->

Each mark stands alone on its line; marks inside a fenced block are text. Imports no torch.
"""

import argparse
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from ablations.flags import RESULTS as RESULTS
from reports.pages.cited import cited
from reports.pages.published import BLOCKS
from reports.pages.recorded import Records, read_records
from reports.rows import RowsError, write_text

ROOT = Path(__file__).parents[1]
BEGIN = re.compile(r"<!-- results:\s*(\S*?)(?:\s+(.*?))?\s*-->")
END = "<!-- end -->"
FENCE = "```"

Makers = Mapping[str, Callable[[str], str]]
"""Name of a block to what makes its text of what stands behind the name in the mark."""


def fill(text: str, makers: Makers, source: str) -> str:
    """A page with every marked block made anew; what stands outside the marks is kept to the letter.

    Raises RowsError naming `source` and the line for a name that is unknown, a mark without its partner, and a block
    of which nothing comes.
    """
    kept: list[str] = []
    opened = ""  # where the block began that has not ended
    for at, line, mark in _marks(text, source):
        begin = BEGIN.fullmatch(mark)
        if opened and begin:
            break
        if begin:
            kept += [line, *_made(begin[1], begin[2] or "", makers, at)]
            opened = f"{at}: results: {begin[1]}"
        elif mark == END and not opened:
            raise RowsError(f"{at}: {END} ends nothing")
        elif mark == END or not opened:
            kept.append(line)
            opened = ""
    if opened:
        raise RowsError(f"{opened}: no {END} before the next block or the last line")
    return "\n".join(kept)


def _marks(text: str, source: str) -> Iterator[tuple[str, str, str]]:
    """Each line with its place and, outside of fenced blocks, what may be a mark on it."""
    fenced = False
    for number, line in enumerate(text.split("\n"), 1):
        fenced ^= line.startswith(FENCE)
        yield f"{source}:{number}", line, "" if fenced else line.strip()


def _made(name: str, rest: str, makers: Makers, at: str) -> list[str]:
    """The lines of a block, between blank ones, so that a table at its ends is one."""
    if name not in makers:
        raise RowsError(f"{at}: results: {name or 'no name'}: choose from {', '.join(makers)}")
    try:
        text = makers[name](rest).strip("\n")
    except RowsError as error:
        raise RowsError(f"{at}: results: {name}: {error}") from error
    if not text.strip():
        raise RowsError(f"{at}: results: {name}: there is no record to make it from")
    return ["", *text.split("\n"), ""]


def makers_for(page: Path, records: Records, results: Path) -> Makers:
    """The makers of a page's blocks, with links from the page to the results."""
    where = Path(os.path.relpath(results, page.parent)).as_posix()
    plain = {name: partial(_plain, partial(make, records, where)) for name, make in BLOCKS.items()}
    return {**plain, "rows": lambda rest: cited(rest, records, where)}


def _plain(make: Callable[[], str], rest: str) -> str:
    if rest:
        raise RowsError(f"{rest!r}: it takes nothing behind its name")
    return make()


def filled(pages: Iterable[Path], results: Path) -> dict[Path, str]:
    """The text that each page should have. Raises RowsError as `fill` does, before anything is written."""
    records = read_records(results)
    return {
        page: fill(page.read_text(encoding="utf-8"), makers_for(page, records, results), str(page)) for page in pages
    }


def renew(wanted: Mapping[Path, str], *, check: bool) -> list[Path]:
    """Write the pages that differ from what they should be, or with `check` only name them.

    A page that is not there differs.
    """
    stale = [path for path, text in wanted.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    for path in [] if check else stale:
        write_text(path, wanted[path])
    return stale


def tell(stale: Sequence[Path], command: str, *, check: bool) -> int:
    """Name the pages that were renewed, or must be; the exit status."""
    for path in stale:
        print(f"{path}: {f'differs from the results; renew it with: {command}' if check else 'renewed'}")
    return 1 if check and stale else 0


def main(argv: Sequence[str] | None = None) -> int:
    """Fill the blocks of all pages; with --check say which differ. Exit status 0, 1 (some differ), 2 (wrong input)."""
    parser = argparse.ArgumentParser(prog="python -m ablations.blocks", description=main.__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing, and exit with 1 if a page differs")
    parser.add_argument("--results", type=Path, default=ROOT / RESULTS, help="folder of the records")
    parser.add_argument("pages", nargs="*", type=Path, help="pages to fill; by default README.md and docs/*.md")
    options = parser.parse_args(argv)
    pages = options.pages or [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    try:
        wanted = filled(pages, options.results)
    except (RowsError, OSError) as error:
        print(f"blocks: {error}", file=sys.stderr)
        return 2
    return tell(renew(wanted, check=options.check), parser.prog, check=options.check)


if __name__ == "__main__":
    sys.exit(main())
