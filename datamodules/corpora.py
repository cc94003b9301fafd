"""Corpora of sentence pairs and how they are named in the settings of a task.

A name is one of

- NAME, for two files: NAME.de and NAME.en, or NAME-deen-src.de and NAME-deen-ref.en as in WMT's folders;
- NAME.tsv or NAME.txt, for one file with tabs between source and target; NAME.tsv:4:5 where these are columns 4 and 5;
- hub:NAME, hub:NAME:CONFIG or hub:NAME:CONFIG:SPLIT, for a data set of the Hugging Face hub or a local folder of one.

All files may be packed (.gz). A name may hold folders, and be a whole path.
"""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from datamodules.errors import DataError
from datamodules.hub import read_hub
from datamodules.parallel import Pairs
from datamodules.parallel_text import find, find_pair, read_aligned, read_columns
from datamodules.splits import Split

Names = tuple[str, ...] | str
HUB = "hub:"
TABLE = re.compile(r"(.+\.(?:tsv|txt)(?:\.gz)?)(?::(.*))?")


def as_names(names: Names) -> tuple[str, ...]:
    """One name or several, as several."""
    return (names,) if isinstance(names, str) else tuple(names)


def check_names(field: str, names: Names) -> None:
    """Refuse what names no corpus, or one corpus twice.

    Raises:
        DataError: naming field and value.
    """
    given = as_names(names)
    if not given or not all(isinstance(name, str) and name for name in given):
        raise DataError(f"{field}={names!r}: must be the name of a corpus, or several")
    if len(set(given)) < len(given):
        raise DataError(f"{field}={names!r}: a corpus stands there twice")
    for name in given:
        table = None if name.startswith(HUB) else TABLE.fullmatch(name)
        if table and not _columns(table[2]):
            raise DataError(f"{field}={name!r}: must end in two different columns, counted from 1, such as .tsv:1:2")


def read_corpora(names: Names, languages: tuple[str, str], split: Split, locate: Callable[[str], Path]) -> Pairs:
    """The pairs of all corpora, one after the other.

    Args:
        names: of the corpora.
        languages: source and target, as in the names of files.
        split: the one to take of a data set of the hub that names none.
        locate: where a file of a name lies.

    Raises:
        DataError: if a file is missing or unusable.
    """
    sources: list[str] = []
    references: list[str] = []
    for name in as_names(names):
        source, target = _read(name, languages, split, locate)
        sources += source
        references += target
    return Pairs(sources, references)


def _read(name: str, languages: tuple[str, str], split: Split, locate: Callable[[str], Path]) -> Sequence[list[str]]:
    if name.startswith(HUB):
        data_set, config, part = [*name.removeprefix(HUB).split(":", 2), "", ""][:3]
        return read_hub(data_set, config, part or split, languages)
    if table := TABLE.fullmatch(name):
        path = locate(table[1])
        columns, exactly = _columns(table[2]), 2 if table[2] is None else None
        return read_columns(find(path.parent, path.name), columns, exactly)
    path = locate(name)
    return read_aligned(*find_pair(path.parent, path.name, *languages))


def _columns(text: str | None) -> tuple[int, ...]:
    """Columns of source and target, counted from 1; nothing if the text names no such two."""
    if text is None:
        return 1, 2
    found = re.fullmatch(r"([1-9]\d*):([1-9]\d*)", text)
    return (int(found[1]), int(found[2])) if found and found[1] != found[2] else ()
