"""Tables as rows, and rows as tables."""

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a table."""
    return [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]


def frame(rows: Iterable[Mapping[str, Any]], columns: Iterable[str]) -> pd.DataFrame:
    """A table of these columns, which it has without any rows too."""
    return pd.DataFrame(list(rows), columns=list(columns))
