"""What a sweep shows while it runs: a bar and a line for each run at work on a terminal, plain lines elsewhere.

Imports no torch.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from ablations.pace import duration, seconds_left
from ablations.progress import PROGRESS, Progress, read_progress
from reports.rows import RowsError, read_result

if TYPE_CHECKING:  # the runner imports torch
    from ablations.runner import Outcome
    from ablations.study import Run

STILL = 60.0  # seconds without a line after which one says that the sweep is alive
NAMED = 4  # runs at work that such a line names
REFRESHES = 2  # a second
ROOM = 80  # columns below which only the step of a run is shown: its name needs the rest

Running = list[tuple["Run", Progress]]


def shown(
    outcomes: Iterable["Outcome"], runs: Sequence["Run"], root: Path, costs: Mapping[str, float]
) -> Iterator["Outcome"]:
    """Pass the outcomes of `runs` on, showing on standard error how far the sweep is; ends with the iterator.

    `costs`: predicted FLOPs of each run, by id.
    """
    watch = Watch(runs, root, costs)
    console = _Patient(stderr=True)
    display = _bars if console.is_terminal and not console.is_dumb_terminal else _lines
    with display(watch, console) as say:
        for outcome in outcomes:
            say(watch.end(outcome))
            yield outcome


class _Patient(Console):
    """Goes quiet when whoever read it has gone; rich would end the sweep."""

    def on_broken_pipe(self) -> None:
        self.quiet = True


class Watch:
    """What is known of a sweep: which of its runs have ended, and how far those at work are."""

    def __init__(self, runs: Sequence["Run"], root: Path, costs: Mapping[str, float]) -> None:
        self.total = len(runs)
        self._root, self._costs = root, costs
        self._began = time.time()
        self._open = {run.folder: (run, self._began) for run in runs}  # and since when what it says of itself counts
        self._ended: set[str] = set()
        self._workers = 1

    @property
    def done(self) -> int:
        """Runs that have ended for this sweep."""
        return self.total - len(self._open)

    @property
    def seconds(self) -> float:
        """Since the sweep began."""
        return time.time() - self._began

    def end(self, outcome: "Outcome") -> str:
        """Take note of an outcome and put it into words."""
        run = outcome.run
        if outcome.again:
            self._open[run.folder] = (run, time.time())
        elif self._open.pop(run.folder, None):
            self._ended.add(run.id)
        status = f"{outcome.status}, will be tried again" if outcome.again else outcome.status
        reason = f" ({outcome.reason.splitlines()[0]})" if outcome.reason else ""
        taken = _seconds_taken(self._root / run.folder)
        after = "" if taken is None else f", {duration(taken)}"
        return f"[{self.done}/{self.total}] {name(run)}: {status}{reason}{after}"

    def running(self) -> Running:
        """The runs at work and what they say. What a killed run has left is older than the sweep, or than its end."""
        # a copy: the other thread takes runs out
        known = [(run, _said_since(self._root / folder, since)) for folder, (run, since) in list(self._open.items())]
        running = [(run, progress) for run, progress in known if progress is not None]
        self._workers = max(self._workers, len(running))
        return running

    def left(self, running: Running) -> str:
        """The time left, in words."""
        shares = {run.id: progress for run, progress in running}
        seconds = seconds_left(self._costs, self._ended, shares, self.seconds, self._workers)
        return "time left not known yet" if seconds is None else f"about {duration(seconds)} left"

    def line(self) -> str:
        """How far everything is."""
        running = self.running()
        names = [f"{name(run)} ({progress.words()[0]})" for run, progress in running[:NAMED]]
        names += [f"{len(running) - NAMED} more"] if len(running) > NAMED else []
        at_work = f"; at work: {', '.join(names)}" if names else ""
        return f"{self.done} of {self.total} runs have ended{at_work}; {self.left(running)}"


def name(run: "Run") -> str:
    """A run for people."""
    trial = "" if run.trial is None else f" / trial {run.trial.number}"
    return f"{run.experiment} / {run.variant}{trial} / seed {run.seed}"


def _said_since(folder: Path, since: float) -> Progress | None:
    try:
        fresh = (folder / PROGRESS).stat().st_mtime >= since
    except OSError:
        return None
    return read_progress(folder) if fresh else None


def _seconds_taken(folder: Path) -> float | None:
    """Wall seconds of a run; of one that failed, the time between beginning and end."""
    try:
        result = read_result(folder)
        if result is None:
            return None
        seconds = result["cost"].get("wall_seconds")
        ends = [datetime.fromisoformat(result[end]) for end in ("started", "ended")]
    except (RowsError, ValueError):
        return None
    return (ends[1] - ends[0]).total_seconds() if seconds is None else seconds


@contextmanager
def _bars(watch: Watch, console: Console) -> Iterator[Callable[[str], None]]:
    """On a terminal: lines that stay, and below them a picture that is drawn again and again."""
    # standard output is the caller's, and may be a file
    with Live(
        console=console,
        get_renderable=lambda: _picture(watch, console.height, console.width),
        refresh_per_second=REFRESHES,
        transient=True,
        redirect_stdout=False,
    ):
        yield lambda text: console.print(text, markup=False, highlight=False, soft_wrap=True)


def _picture(watch: Watch, height: int, width: int) -> RenderableType:
    """The bar first: what does not fit below it is cut off. On a narrow terminal runs do not say how fast they are."""
    running = watch.running()
    most = max(1, height - 4)
    more = [Text(f"and {len(running) - most} more")] if len(running) > most else []
    return Group(_bar(watch, running), _table(running[:most], 3 if width >= ROOM else 1), *more)


def _bar(watch: Watch, running: Running) -> Table:
    grid = Table.grid(padding=(0, 2), expand=True)
    for _ in range(3):
        grid.add_column(no_wrap=True)
    grid.add_column(ratio=1)
    texts = (f"{watch.done}/{watch.total} runs", duration(watch.seconds), watch.left(running))
    completed = watch.done + sum(progress.share for _, progress in running)
    grid.add_row(*texts, ProgressBar(total=watch.total, completed=completed))
    return grid


def _table(running: Running, words: int) -> Table:
    """A line for each run, with the first `words` of what it says."""
    grid = Table.grid(padding=(0, 2), expand=True)
    grid.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
    for _ in range(1 + words):
        grid.add_column(no_wrap=True, justify="right")
    for run, progress in running:
        cells = (f"{run.experiment} / {run.variant}", f"seed {run.seed}", *progress.words()[:words])
        grid.add_row(*map(Text, cells))
    return grid


class _Lines:
    """Elsewhere: a line for each run that ends, and one now and then while none does."""

    def __init__(self, watch: Watch, console: Console) -> None:
        self._watch, self._console = watch, console
        self._speaking = threading.Lock()
        self._spoke = time.monotonic()

    def say(self, text: str) -> None:
        """Print a line, never into another one."""
        with self._speaking:
            self._console.print(text, markup=False, highlight=False, soft_wrap=True)
            self._spoke = time.monotonic()

    def remind(self, closed: threading.Event) -> None:
        """Say how far everything is whenever nothing was said for a while, until `closed` is set."""
        while not closed.wait(max(0.0, self._spoke + STILL - time.monotonic())):
            if time.monotonic() >= self._spoke + STILL:
                self.say(self._watch.line())


@contextmanager
def _lines(watch: Watch, console: Console) -> Iterator[Callable[[str], None]]:
    lines, closed = _Lines(watch, console), threading.Event()
    thread = threading.Thread(target=lines.remind, args=(closed,), daemon=True)
    thread.start()
    try:
        yield lines.say
    finally:
        closed.set()
        thread.join()
