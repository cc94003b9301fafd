"""Reading contrastive sets: sources, each with a right and a wrong translation.

Three forms, any file packed (.gz) or not:

- a folder of line-aligned files src.en, tgt.correct.de, tgt.incorrect.de, or a folder of such folders. The name of the
  set's folder is its category; there is no distance.
- NAME.tsv, a table with tabs and a header: source, correct, incorrect, and as it may be category and distance. No
  quotation. Where there is no category, it is NAME; where there is no distance, there is none.
- NAME.json as LingEval97 has it (Sennrich 2017): a list of {"source", "reference", "errors"}, where each error has
  "contrastive" and "type", which is the category, and as it may be "distance".
"""

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from datamodules.base import NO_DISTANCE
from datamodules.errors import DataError
from datamodules.parallel import Contrast
from datamodules.parallel_text import find, read_aligned, read_text, split_lines

LONGEST_DISTANCE = 16_383  # as for the distances of other tasks


def read_contrasts(path: Path, languages: Sequence[str]) -> list[Contrast]:
    """The items of one set or one folder of sets, in the order of the files; sets by name.

    Args:
        path: a folder or a file, as above.
        languages: source and target, as in the names of files.

    Raises:
        DataError: if it is missing or unusable; with line or entry where there is one.
    """
    if path.is_dir():
        found = _read_folder(path, languages)
    else:
        path = find(path.parent, path.name)
        name = path.name.removesuffix(".gz")
        if name.endswith(".tsv"):
            found = _read_table(path, name.removesuffix(".tsv"))
        elif name.endswith(".json"):
            found = _read_json(path)
        else:
            raise DataError(f"{path}: a contrastive set must be a folder, .tsv or .json")
    if not found:
        raise DataError(f"{path}: no contrastive item")
    for number, item in enumerate(found, start=1):
        if not (item.source and item.right and item.wrong):
            raise DataError(f"{path}: item {number} of category {item.category!r}: a side is empty; leave the item out")
    return found


def _read_folder(folder: Path, languages: Sequence[str]) -> list[Contrast]:
    """Every folder within is a set; or else this one is."""
    sets = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    source, target = languages
    found = []
    names = (f"src.{source}", f"tgt.correct.{target}", f"tgt.incorrect.{target}")
    for place in sets or [folder]:
        lines = read_aligned(*(find(place, name) for name in names))
        items = zip(*lines, strict=True)
        found += [Contrast(source, right, wrong, NO_DISTANCE, place.name) for source, right, wrong in items]
    return found


def _read_table(path: Path, name: str) -> list[Contrast]:
    header, *rows = ([cell.strip() for cell in line.split("\t")] for line in split_lines(read_text(path)))
    missing = [column for column in ("source", "correct", "incorrect") if column not in header]
    if missing:
        raise DataError(f"{path}:1: header {header}: lacks {', '.join(missing)}")
    if len(set(header)) < len(header):
        raise DataError(f"{path}:1: header {header}: a column stands there twice")
    found = []
    for number, row in enumerate(rows, start=2):
        if len(row) != len(header):
            raise DataError(f"{path}:{number}: columns={len(row)} (by tabs): must be {len(header)}, as in the header")
        cells = dict(zip(header, row, strict=True))
        distance = _distance(cells.get("distance"), f"{path}:{number}")
        category = cells.get("category") or name
        found.append(Contrast(cells["source"], cells["correct"], cells["incorrect"], distance, category))
    return found


def _read_json(path: Path) -> list[Contrast]:
    text = read_text(path)
    try:
        entries = json.loads(text)
    except json.JSONDecodeError as error:
        raise DataError(f"{path}:{error.lineno}: not JSON: {error.msg}") from error
    if not isinstance(entries, list):
        raise DataError(f"{path}: must hold a list of entries")
    numbered = enumerate(entries, start=1)
    return [contrast for number, entry in numbered for contrast in _errors(entry, f"{path}: entry {number}")]


def _errors(entry: Any, where: str) -> Iterable[Contrast]:
    try:
        for error in entry["errors"]:
            texts = (entry["source"], entry["reference"], error["contrastive"])
            source, right, wrong = (text.strip() for text in texts)
            distance = _distance(error.get("distance"), where)
            yield Contrast(source, right, wrong, distance, str(error["type"]))
    except (KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{where}: must have source, reference and errors, each with contrastive and type") from error


def _distance(value: Any, where: str) -> int:
    """A distance as an integer; nothing, and NO_DISTANCE itself, are NO_DISTANCE."""
    if value in ("", None, NO_DISTANCE, str(NO_DISTANCE)):
        return NO_DISTANCE
    if re.fullmatch(r"[0-9]+", str(value)) and int(value) <= LONGEST_DISTANCE:
        return int(value)
    raise DataError(f"{where}: distance={value!r}: must be an integer from 0 to {LONGEST_DISTANCE}, or nothing")
