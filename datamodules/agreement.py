"""Reading agreement suites of one language: a right sentence and one that is wrong by a word or two.

Four forms, told by the file's name, any of them packed (.gz) or not:

- NAME.jsonl, as BLiMP has it (Warstadt et al. 2020): on each line an object with sentence_good and sentence_bad, and as
  it may be dependency_length, the distance, and UID, the category; where there is none, that is NAME.
- NAME.tsv, as converted from Marvin and Linzen (2018): condition, right and wrong sentence, no header. The category is
  NAME, with `match` or `mismatch` behind it where the condition tells the numbers of two nouns.
- NAME.tab, as Gulordava et al. (2018): a table with a header, two rows an item that differ in `class` (correct, wrong)
  and `form`; `prefix` is the sentence up to the verb. The distance is len_context; the category `nonsense` or
  `original`, with the number of attractors.
- NAME.text and NAME.gold, as Linzen et al. (2016) filtered by Gulordava et al.: sentences, and for each the place of
  its verb, counted from 0, the right and the wrong form, and the number of attractors, which is the category. The place
  of the subject is not told: no distance.

The last two give the sentence up to the verb, with either form of it.
"""

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from datamodules.base import NO_DISTANCE
from datamodules.errors import DataError
from datamodules.parallel_text import find, read_columns, read_lines, read_text, split_lines

SIDES = ("sentence_good", "sentence_bad")  # of BLiMP
COLUMNS = ("pattern", "constr_id", "sent_id", "class", "form", "type", "prefix", "n_attr", "len_context")
"""What is read of a table of Gulordava et al.; the first three name an item."""


class Pair(NamedTuple):
    """Two sentences, of which one is right."""

    right: str
    wrong: str
    distance: int
    """Words from the subject to the verb (1: next to it); NO_DISTANCE where that is not known."""
    category: str
    is_whole: bool
    """Whether the sentences end where the text does; else they go on behind a blank, and how is not told."""


def read_pairs(path: Path) -> list[Pair]:
    """The pairs of one file, or of all suites in a folder (not in folders within), in the order of the names.

    Raises:
        DataError: if it is missing, unusable or no suite; with the line where there is one.
    """
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if _kind(file) in READERS)
        if not files:
            raise DataError(f"{path}: no agreement suite: must hold one of *{', *'.join(READERS)}, packed (.gz) or not")
    else:
        files = [find(path.parent, path.name)]
        if _kind(path) not in READERS:
            raise DataError(f"{path}: an agreement suite must be a folder, or end in {', '.join(READERS)}")
    return [pair for file in files for pair in READERS[_kind(file)](file)]


def _plain(path: Path) -> Path:
    """The name without .gz."""
    return path.with_suffix("") if path.suffix == ".gz" else path


def _kind(path: Path) -> str:
    return _plain(path).suffix


def _read_json_lines(path: Path) -> Iterator[Pair]:
    for number, line in enumerate(split_lines(read_text(path)), start=1):
        where = f"{path}:{number}"
        try:
            item = json.loads(line)
        except json.JSONDecodeError as error:
            raise DataError(f"{where}: not JSON: {error.msg}") from error
        right, wrong = (str(item.get(side, "")).strip() for side in SIDES) if isinstance(item, dict) else ("", "")
        if not (right and wrong):
            raise DataError(f"{where}: must be an object with {' and '.join(SIDES)}")
        distance = _integer(item.get("dependency_length", NO_DISTANCE), "dependency_length", where, NO_DISTANCE)
        yield Pair(right, wrong, distance, str(item.get("UID", _plain(path).stem)), True)


def _read_conditions(path: Path) -> Iterator[Pair]:
    for number, (condition, right, wrong) in enumerate(zip(*read_columns(path, (1, 2, 3), 3), strict=True), start=1):
        if not (right and wrong):
            raise DataError(f"{path}:{number}: a sentence is empty")
        numbers = [part for part in condition.split("_") if part in ("sing", "plur")]
        match = {1: " match", 2: " mismatch"}[len(set(numbers))] if len(numbers) > 1 else ""
        yield Pair(right, wrong, NO_DISTANCE, _plain(path).stem + match, True)


def _read_table(path: Path) -> Iterator[Pair]:
    rows = csv.DictReader(split_lines(read_text(path).replace("\r\n", "\n")), delimiter="\t")
    if missing := [column for column in COLUMNS if column not in (rows.fieldnames or [])]:
        raise DataError(f"{path}:1: the header lacks {', '.join(missing)}")
    items: dict[tuple[str, ...], dict[str, dict[str, str]]] = {}
    for row in rows:
        if any(row[column] is None for column in COLUMNS):
            raise DataError(f"{path}:{rows.line_num}: fewer columns than the header")
        items.setdefault(tuple(row[column] for column in COLUMNS[:3]), {})[row["class"]] = row
    for name, forms in items.items():
        if set(forms) != {"correct", "wrong"}:
            raise DataError(f"{path}: item {' '.join(name)}: must have a row of class correct and one of class wrong")
        yield _of_prefix(path, forms["correct"], forms["wrong"])


def _of_prefix(path: Path, right: dict[str, str], wrong: dict[str, str]) -> Pair:
    distance, attractors = (_integer(right[column], column, str(path), 0) for column in ("len_context", "n_attr"))
    kind = "original" if right["type"] == "original" else "nonsense"
    first, second = (f"{right['prefix'].strip()} {form['form'].strip()} " for form in (right, wrong))
    return Pair(first, second, distance, f"{kind} attractors={attractors}", False)


def _read_verbs(path: Path) -> Iterator[Pair]:
    gold = find(path.parent, f"{_plain(path).stem}.gold")
    sentences, columns = read_lines(path), read_columns(gold, (1, 2, 3, 4), 4)
    if len(columns[0]) != len(sentences):
        raise DataError(f"{path} has {len(sentences)} lines, {gold} has {len(columns[0])}: must be the same number")
    rows = zip(sentences, *columns, strict=True)
    for number, (sentence, place, right, wrong, attractors) in enumerate(rows, start=1):
        where = f"{gold}:{number}"
        words, at = sentence.split(), _integer(place, "place", where, 0)
        if at >= len(words) or words[at].lower() != right.lower() or not wrong:
            raise DataError(f"{where}: place={at}: word {right!r} does not stand there in {path.name}")
        before = "".join(f"{word} " for word in words[:at])
        category = f"attractors={_integer(attractors, 'attractors', where, 0)}"
        yield Pair(f"{before}{right} ", f"{before}{wrong} ", NO_DISTANCE, category, False)


def _integer(value: Any, field: str, where: str, minimum: int) -> int:
    try:
        number = int(str(value))
    except ValueError:
        number = minimum - 1
    if number < minimum:
        raise DataError(f"{where}: {field}={value!r}: must be an integer of at least {minimum}")
    return number


READERS: dict[str, Callable[[Path], Iterator[Pair]]] = {
    ".jsonl": _read_json_lines,
    ".tsv": _read_conditions,
    ".tab": _read_table,
    ".text": _read_verbs,
}
"""By the end of a file's name."""
