"""The rows of a study as one small file, from which tables, effects, verdicts and page can be made again.

    rows.tar.xz   plan.json, study.yaml, tune/trials.csv; of each run run.json, result.json, metrics.csv, outputs/

What no table needs is left out: the logs, curves of other splits than validation, extra test sets. Numbers of single
test items are rounded as far as the metrics that they add up to allow. So that an archive can be published, machines
are numbered, times count from the first run, and absolute paths keep their last part.
"""

import gzip
import io
import json
import lzma
import tarfile
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from math import ceil, log10
from pathlib import Path, PurePath
from typing import Any

import numpy as np
import pandas as pd

from reports.items import ANSWERS, PAIRS, SENTENCES, TIE, Floats, group_starts
from reports.rows import RowsError, StudyRows, read_study
from reports.trials import TRIALS

START = datetime(2000, 1, 1, tzinfo=UTC)
"""When the first run of every archived study began."""

EXACT = 5e-7
"""How far rounding may move a mean over test items: half of what `reports.items` takes for the same number."""

FINE = 10
"""Steps of rounded numbers in a standard deviation of the items, at least: their variance grows by 1 in 600."""

DIGITS = range(7, -2, -1)
"""Decimals of log-probabilities, the most exact first."""

Scrub = Callable[[Any], Any]


def pack(study: StudyRows, path: Path) -> None:
    """Write the archive of a study; its bytes depend on the rows alone.

    Raises RowsError where a planned run has no result, or more than one: what is missing could not be seen later.
    """
    for row in study.runs:
        if row.result is None or row.run is None or row.state == "failed":
            raise RowsError(f"{row.folder}: {row.state}; an archive holds finished studies")
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        for name, text in _files(study):
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            tar.addfile(entry, io.BytesIO(text))
    path.write_bytes(lzma.compress(content.getvalue(), preset=9 | lzma.PRESET_EXTREME))


def unpack(path: Path, folder: Path) -> StudyRows:
    """Lay an archive out in an empty folder, as the study that it was made of. RowsError where it cannot be read."""
    try:
        with tarfile.open(path, mode="r:xz") as tar:
            tar.extractall(folder, filter="data")
    except (OSError, EOFError, lzma.LZMAError, tarfile.TarError) as error:
        raise RowsError(f"{path}: cannot be read: {error}") from error
    for table in folder.glob("*/*/*/outputs/*.csv"):
        table.with_name(f"{table.name}.gz").write_bytes(gzip.compress(table.read_bytes(), mtime=0))
        table.unlink()
    return read_study(folder)


def _files(study: StudyRows) -> Iterator[tuple[str, bytes]]:
    """What the archive holds, by name; like files side by side, which makes it small."""
    scrub = _scrubber(study)
    for name in ("plan.json", "study.yaml", TRIALS):
        if (study.folder / name).is_file():
            yield name, (study.folder / name).read_bytes()
    runs = list({row.folder: row for row in study.runs}.values())
    places = {row.folder: row.folder.relative_to(study.folder).as_posix() for row in runs}
    yield from ((f"{places[row.folder]}/run.json", _json(scrub(row.run))) for row in runs)
    yield from ((f"{places[row.folder]}/result.json", _json(scrub(row.result))) for row in runs)
    for name, thin in THINNED.items():
        for row in (row for row in runs if (row.folder / name).is_file()):
            yield f"{places[row.folder]}/{name.removesuffix('.gz')}", thin(row.folder / name)


def _json(content: Any) -> bytes:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()


def _scrubber(study: StudyRows) -> Scrub:
    """What takes machine, day and folders out of a run's files."""
    results = [row.result for row in study.runs if row.result]
    hosts = {host: f"machine {n}" for n, host in enumerate(dict.fromkeys(r["host"] for r in results), 1)}
    first = min(datetime.fromisoformat(result["started"]) for result in results)

    def time(text: str) -> str:
        return (START + (datetime.fromisoformat(text) - first)).isoformat(timespec="seconds")

    def scrub(value: Any, name: str = "") -> Any:
        if isinstance(value, Mapping):
            return {key: scrub(part, key) for key, part in value.items()}
        if isinstance(value, list):
            return [scrub(part) for part in value]
        if name == "host":
            return hosts[value]
        if name in ("started", "ended"):
            return time(value)
        return PurePath(value).name if isinstance(value, str) and PurePath(value).is_absolute() else value

    return scrub


def _curves(path: Path) -> bytes:
    """The lines of metrics.csv that tables are made of: its header, and validation over all of the set."""
    header, *lines = path.read_text(encoding="utf-8").splitlines()
    parts = ((line, line.split(",")) for line in lines)
    kept = [line for line, (_, split, _, coordinate, _) in parts if (split, coordinate) == ("validation", "")]
    return "".join(f"{line}\n" for line in [header, *kept]).encode()


def _items(thin: Callable[[pd.DataFrame], pd.DataFrame], path: Path) -> bytes:
    """A table of items, thinned; its main test set alone. One in which some number is none stays as it is."""
    table = pd.read_csv(path, na_filter=False)
    main = table[table["set"] == ""]
    numbers = [name for name in ("nats", "right", "wrong") if name in table.columns]
    are_numbers = len(main) and np.isfinite(main[numbers].apply(pd.to_numeric, errors="coerce")).all(axis=None)
    return (thin(main) if are_numbers else main).to_csv(index=False).encode()


def _sentences(table: pd.DataFrame) -> pd.DataFrame:
    return _rounded(table.drop(columns="forced", errors="ignore"), "nats", "tokens")


def _answers(table: pd.DataFrame) -> pd.DataFrame:
    """Groups of sequences as `reports.items` draws them, with how many sequences each has."""
    starts = group_starts(len(table))
    sums = table.drop(columns="set").assign(sequences=1).groupby(np.searchsorted(starts, range(len(table)), "right"))
    return _rounded(sums.sum(min_count=1).assign(set=""), "nats", "answers")


def _pairs(table: pd.DataFrame) -> pd.DataFrame:
    """Log-probabilities as exact as it takes to see in each row which side is likelier, in sum and per token."""
    found, wanted = table.copy(), _winners(table)
    sides = ["right", "wrong"]
    for digits in DIGITS:
        rounded = table[sides].round(digits)
        kept = (_winners(table.assign(**{side: rounded[side] for side in sides})) == wanted).all(axis=1)
        found.loc[kept, sides] = rounded[kept]
    return found


def _winners(table: pd.DataFrame) -> pd.DataFrame:
    won = {"sum": table["right"] - table["wrong"] > TIE}
    if {"right_tokens", "wrong_tokens"} <= {*table.columns}:
        ahead = table["right"] / table["right_tokens"] - table["wrong"] / table["wrong_tokens"]
        won["per token"] = ahead > TIE / table["right_tokens"]
    return pd.DataFrame(won)


def _rounded(table: pd.DataFrame, column: str, weight: str) -> pd.DataFrame:
    """The table with a column that has as few decimals as its mean and its variance allow."""
    values, weights = table[column].to_numpy(float), table[weight].to_numpy(float)
    step = min(values.std() / FINE, 2 * EXACT * weights.sum())
    if not step > 0:  # all alike, or not finite
        return table
    digits = max(0, ceil(-log10(step)))
    return table.assign(**{column: _rounded_sums(values, digits)})


def _rounded_sums(values: Floats, digits: int) -> Floats:
    """Numbers whose running sums are the rounded running sums of `values`, so that errors do not add up."""
    sums = np.round(np.cumsum(values), digits)
    return np.round(np.diff(sums, prepend=0.0), digits)


THINNED: Mapping[str, Callable[[Path], bytes]] = {
    "metrics.csv": _curves,
    SENTENCES: partial(_items, _sentences),
    PAIRS: partial(_items, _pairs),
    ANSWERS: partial(_items, _answers),
}
