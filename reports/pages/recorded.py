"""The reader of results of record: the folders below docs/results, one a study, as `ablations record` writes them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from reports.pages.exports import read
from reports.rows import RowsError

LECTURE, REAL = "lecture", "lecture-real"
STUDIES = (LECTURE, REAL, "multi30k", "components", "extrapolation", "complexity", "agreement")
"""The order in which records are shown; others come after them, by name."""
FACTS: dict[str, tuple[type, ...]] = {
    "command": (str,),
    "runs": (int,),
    "diverged": (int,),
    "seeds": (list,),
    "wall_seconds": (int, float),
    "busy_seconds": (int, float),
}
"""What record.json must say, and of which types."""

Facts = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Record:
    """One study that has been run for the record; its tables are read when they are asked for.

    RowsError where one of them is not there.
    """

    study: str
    folder: Path
    facts: Facts
    """What record.json holds (`reports.pages.record`)."""

    @cached_property
    def effects(self) -> pd.DataFrame:
        """effects.csv"""
        return self._table("effects.csv")

    @cached_property
    def claims(self) -> pd.DataFrame:
        """claims.csv: a row a condition."""
        return self._table("claims.csv")

    @cached_property
    def fairness(self) -> pd.DataFrame:
        """fairness.csv, of a study that is compared fairly."""
        return self._table("fairness.csv")

    @cached_property
    def values(self) -> pd.DataFrame:
        """metrics.csv.gz: the values of every run."""
        return self._table("metrics.csv.gz")

    @property
    def puts_claims_to_the_test(self) -> bool:
        """Whether there is a table of claims."""
        return (self.folder / "claims.csv").is_file()

    @property
    def is_fair(self) -> bool:
        """Whether its experiments have been made equal in some way."""
        return (self.folder / "fairness.csv").is_file()

    def _table(self, name: str) -> pd.DataFrame:
        path = self.folder / name
        if not path.is_file():
            raise RowsError(f"{path}: no such file; `ablations record {self.study}` writes it")
        return read(path)


Records = Mapping[str, Record]


def read_records(root: Path) -> Records:
    """The records below a folder by study, in the order of STUDIES; none where there is no such folder.

    Raises RowsError naming the file and what is wrong with it.
    """
    names = [path.parent.name for path in root.glob("*/record.json")]
    place = {name: number for number, name in enumerate(STUDIES)}
    ordered = sorted(names, key=lambda name: (place.get(name, len(place)), name))
    return {name: read_record(root / name) for name in ordered}


def read_record(folder: Path) -> Record:
    """One record. Raises RowsError naming the file and what is wrong with it."""
    return Record(study=folder.name, folder=folder, facts=_facts(folder / "record.json"))


def _facts(path: Path) -> Facts:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RowsError(f"{path}: cannot be read: {' '.join(str(error).split())}") from error
    for name, types in FACTS.items():
        value = found.get(name) if isinstance(found, dict) else None
        if not isinstance(value, types) or isinstance(value, bool):
            kinds = " or ".join(kind.__name__ for kind in types)
            raise RowsError(f"{path}: {name}={value!r}: expected {kinds}")
    return dict(found)
