"""Results of record: what is kept of a study for good, small enough to be published.

    record.json        command, runs, seeds, time taken, versions, commit
    runs.csv           a row for each run: its state, cost and origin
    metrics.csv.gz     every final value of every run
    effects.csv        every effect with its interval
    claims.csv         every condition of every claim, where the study puts claims to the test
    fairness.csv       raw, matched and tuned, where the study has them
    study.yaml         the study as it was run
    index.html         the report
    figures/*.svg      its figures of effects and of claims
    rows.tar.xz        what all of these can be made of again (reports.archive)

Everything is made from the archive, so that whoever has it comes to the same numbers.
"""

import gzip
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import chdir
from datetime import datetime
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

from reports import claims
from reports.archive import pack, unpack
from reports.experiment import Experiment
from reports.pages import exports
from reports.pages.fairness import read_fairness
from reports.pages.page import build
from reports.pages.recorded import read_record
from reports.rows import ARCHIVE, RunRow, StudyRows, read_study, write_json, write_text
from reports.table import make_tables

RECORD = "record.json"
TABLES = ("runs", "effects", "claims", "fairness")
KEPT = ("*-effects.svg", "*-fair.svg", "*-trials-by-*.svg", "claim-*.svg")
"""Figures that are kept beside the page, which has all of them."""


def record(study_folder: Path, target: Path, command: str) -> Path:
    """Replace the record of a study in `target` by what its folder holds; gives the path of its page.

    `command` is the one that trains the study. Raises RowsError where runs are missing or have failed; the record that
    was there stays then.
    """
    study = read_study(study_folder)
    return _make(target, command, lambda archive: pack(study, archive))


def renew(target: Path) -> Path:
    """Make all of a record anew from its archive, which stays as it is, byte by byte; gives the path of its page.

    After the statistics or the page have changed; nothing is trained. Raises RowsError where it is no whole record;
    what was there stays then.
    """
    folder = target.resolve()  # `.` has no name and cannot be replaced
    command = read_record(folder).facts["command"]
    _make(folder, command, lambda archive: shutil.copy(folder / ARCHIVE, archive))
    return target / "index.html"


def recomputed(target: Path) -> dict[str, str]:
    """The tables of a record (effects, claims, fairness, runs) made again from its archive, as CSV by name.

    Raises RowsError where the archive cannot be read.
    """
    with TemporaryDirectory() as place:
        study = unpack(target / ARCHIVE, Path(place))
        tables = make_tables(study)
        fair, _ = read_fairness(study, [Experiment(tables, name) for name in study.plan["experiments"]])
        found = exports.frames(tables, claims.verdicts(tables), fair)
    return {name: exports.csv_text(found[name]) for name in TABLES if name in found and len(found[name])}


def _make(target: Path, command: str, lay: Callable[[Path], object]) -> Path:
    """Replace `target` by a record whose archive `lay` puts where it is told to."""
    with TemporaryDirectory() as place:
        new = Path(place) / "record"
        new.mkdir()
        lay(new / ARCHIVE)
        _fill(new, Path(place), target.name, command)
        shutil.rmtree(target, ignore_errors=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(new, target)
    return target / "index.html"


def _fill(new: Path, place: Path, name: str, command: str) -> None:
    """Lay the archive out and report it, from a folder whose path says nothing of this machine."""
    runs = Path("runs") / name
    with chdir(place):
        runs.mkdir(parents=True)
        study = unpack(new / ARCHIVE, runs)
        build(runs)
    report = place / runs / "report"
    write_json(new / RECORD, _about(study, command))
    tables = (report / f"{table}.csv" for table in TABLES)
    for file in (place / runs / "study.yaml", *(table for table in tables if _has_rows(table))):
        shutil.copy(file, new)
    (new / "metrics.csv.gz").write_bytes(gzip.compress((report / "metrics.csv").read_bytes(), mtime=0))
    page = (report / "index.html").read_text(encoding="utf-8")
    files = sorted([*(path.name for path in new.iterdir()), "figures/"])
    write_text(new / "index.html", as_kept(page, files, command))
    (new / "figures").mkdir()
    for figure in _kept(report / "figures"):
        write_text(new / "figures" / figure.name, _on_white(figure.read_text(encoding="utf-8")))


def as_kept(page: str, files: Sequence[str], command: str) -> str:
    """The page of a report with links to what lies beside it in a record, and the command that trains the study."""
    links = ", ".join(f'<a href="{file}">{file}</a>' for file in files)
    page = _with_entry(page, "Tables", f"<dt>Files</dt><dd>{links}</dd>")
    page = _with_entry(page, "Repeat with", f"<dt>Repeat with</dt><dd><code>{escape(command)}</code></dd>")
    return re.sub(r'<a href="\.\./[^"]*"[^>]*>run\.json</a>', "", page)


def _with_entry(page: str, name: str, entry: str) -> str:
    """The page with another entry in the place of the one of this name."""
    page, found = re.subn(rf"<dt>{name}</dt><dd>.*?</dd>", lambda _: entry, page, flags=re.DOTALL)
    assert found == 1, f"{name}: {found} times on the page"
    return page


def _on_white(svg: str) -> str:
    """A figure that can be read on a dark page too."""
    return re.sub(r"(<svg[^>]*>)", r'\1\n<rect width="100%" height="100%" fill="white"/>', svg, count=1)


def _has_rows(table: Path) -> bool:
    return table.is_file() and len(pd.read_csv(table)) > 0


def _kept(figures: Path) -> Iterator[Path]:
    for pattern in KEPT:
        yield from sorted(figures.glob(pattern))


def _about(study: StudyRows, command: str) -> dict[str, Any]:
    """What a reader wants to know of a record before its numbers."""
    runs = list({row.id: row for row in study.runs}.values())
    results = [row.result for row in runs if row.result]
    return {
        "study": study.plan["study"],
        "command": command,
        "runs": len(runs),
        "diverged": sum(row.state == "diverged" for row in runs),
        "experiments": len(study.plan["experiments"]),
        "seeds": _seeds(study),
        "busy_seconds": round(sum(_cost(row, "busy_seconds") for row in runs), 1),
        "wall_seconds": round(_under_way(results)),
        "commit": sorted({str(result["commit"]) for result in results}),
        "device": sorted({result["device"] for result in results}),
        "versions": _one_each([result["versions"] for result in results]),
    }


def _under_way(results: Sequence[Mapping[str, Any]]) -> float:
    """Seconds in which some run was under way: a sweep that was stopped, or took runs from another, has gaps."""
    spans = sorted((datetime.fromisoformat(r["started"]), datetime.fromisoformat(r["ended"])) for r in results)
    seconds, until = 0.0, spans[0][0]
    for start, end in spans:
        seconds += max(0.0, (end - max(start, until)).total_seconds())
        until = max(until, end)
    return seconds


def _seeds(study: StudyRows) -> list[int]:
    """Numbers of seeds of its experiments, each once."""
    seeds: dict[str, set[int]] = {}
    for row in study.runs:
        seeds.setdefault(row.experiment, set()).add(row.seed)
    return sorted({len(of) for of in seeds.values()})


def _cost(row: RunRow, name: str) -> float:
    cost: Mapping[str, Any] = row.result["cost"] if row.result else {}
    return float(cost.get(name) or 0.0)


def _one_each(versions: list[dict[str, str]]) -> dict[str, str]:
    """Versions by name; several of one name are joined."""
    names = dict.fromkeys(name for of in versions for name in of)
    return {name: ", ".join(sorted({of[name] for of in versions if name in of})) for name in names}
