"""TensorBoard's event files of a study: what stands in the metrics.csv of each run, once more, in the folder `events`.

They are made from the files that runs write anyway, by the process that wants to show them (`run --tensorboard`,
`dashboard`). A run knows nothing of it, so its result cannot depend on it, and curves of earlier runs can be shown too.
One process at a time keeps them up to date. Needs the extra `dashboard`. Imports no torch.
"""

import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

from filelock import FileLock, Timeout

from ablations.background import beside
from reports.rows import MetricRow, RowsError, read_metrics

FOLDER = "events"
"""Below the study's folder; in it a folder for each run, where the run has its own."""
PAUSE = 3.0  # seconds between two looks
METRICS = "metrics.csv"
PREFIX = "events.out.tfevents."
"""Of the names of event files; TensorBoard reads them in their order. The rest is a time."""


def check_tensorboard() -> None:
    """Raises ConfigError where TensorBoard is not installed."""
    if find_spec("tensorboard") is None:
        from models.config import ConfigError  # imports torch

        raise ConfigError("--tensorboard: needs TensorBoard; pip install -e '.[dashboard]'")


class Events:
    """The event files of the study in `root`, to be entered as a context.

    Raises ConfigError where TensorBoard is not installed; when entered, OSError where the folder cannot be written.
    """

    def __init__(self, root: Path) -> None:
        check_tensorboard()
        self.root = root
        self.folder = root / FOLDER
        self._lock = FileLock(self.folder / ".lock", timeout=0)
        self._copied: dict[Path, tuple[int, MetricRow | None]] = {}  # number of rows of each run, and the last

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        return self

    def __exit__(self, *error: object) -> None:
        self._lock.release()

    def update(self) -> None:
        """Copy what runs have logged since; nothing while another process keeps the files up to date."""
        if not self._lock.is_locked:
            try:
                self._lock.acquire()
            except Timeout:
                return
        for run in _logging(self.root):
            with suppress(RowsError):  # a file that is just being written, or that is none of ours
                self._copy(run, read_metrics(run))

    def _copy(self, run: Path, rows: Sequence[MetricRow]) -> None:
        copied, last = self._copied.get(run, (0, None))
        place = self.folder / run.relative_to(self.root)
        if run not in self._copied or len(rows) < copied or (copied and rows[copied - 1] != last):
            copied = 0  # not seen before, or begun anew
            _begin(place)
        if len(rows) > copied:
            _append(place, rows[copied:])
        self._copied[run] = (len(rows), rows[-1] if rows else None)


@contextmanager
def following(root: Path) -> Iterator[None]:
    """Keep the event files of the study in `root` up to date, from a thread, while the body runs and once after it."""
    with Events(root) as events, beside(partial(_follow, events)):
        yield


def _follow(events: Events, over: threading.Event) -> None:
    """Errors of the disk are left to the runs, which have them too."""
    last = False
    while not last:
        last = over.wait(PAUSE)
        with suppress(OSError):
            events.update()


def _logging(root: Path) -> list[Path]:
    """Folders of runs that have logged something, trials of a search among them."""
    found = []
    for folder, below, files in os.walk(root):
        if METRICS in files:
            found.append(Path(folder))
        below[:] = [] if METRICS in files else sorted(set(below) - ({FOLDER} if Path(folder) == root else set()))
    return found


def _begin(place: Path) -> None:
    """An event file that says to forget what was shown before.

    Those that are there are emptied and stay: a TensorBoard that reads one which is removed never gets to the next.
    """
    from tensorboard.compat.proto.event_pb2 import Event, SessionLog

    place.mkdir(parents=True, exist_ok=True)
    for old in place.glob(f"{PREFIX}*"):
        os.truncate(old, 0)
    now = time.time()
    _write(
        place / f"{PREFIX}{time.time_ns()}",
        [
            Event(wall_time=now, step=0, file_version="brain.Event:2"),
            Event(wall_time=now, step=0, session_log=SessionLog(status=SessionLog.START)),
        ],
    )


def _append(place: Path, rows: Sequence[MetricRow]) -> None:
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary

    now = time.time()
    values = [(row.step, Summary.Value(tag=_tag(row), simple_value=row.value)) for row in rows]
    newest = max(place.glob(f"{PREFIX}*"))
    _write(newest, [Event(wall_time=now, step=step, summary=Summary(value=[value])) for step, value in values])


def _tag(row: MetricRow) -> str:
    """TensorBoard groups by what stands before the slash."""
    return f"{row.split}/{row.metric}{'@' if row.coordinate else ''}{row.coordinate}"


def _write(path: Path, events: Sequence[Any]) -> None:
    from tensorboard.summary.writer.record_writer import RecordWriter

    with path.open("ab") as file:
        writer = RecordWriter(file)
        for event in events:
            writer.write(event.SerializeToString())
