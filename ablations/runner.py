"""Many runs over an executor: a queue, bounded tries, and an outcome for each run, whatever becomes of it."""

from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self

from ablations.study import Run
from reports.rows import read_result

TICK = 1.0  # seconds between two looks at runs that say nothing


class Executor(Protocol):
    """Where runs are trained: this machine (ablations.local) or a cluster (ablations.cluster). Entered as a context."""

    @property
    def workers(self) -> int:
        """Runs at a time, at most."""

    def __enter__(self) -> Self:
        """Get ready."""

    def __exit__(self, *error: object) -> None:
        """End what is running and give everything back."""

    def check(self, run: Run) -> None:
        """Raises ConfigError where a run can be seen to have no place, before anything is started or written."""

    def start(self, run: Run) -> bool:
        """Begin a run in its folder below the study's; False where there is no room for it now."""

    def wait(self, seconds: float) -> list[Run]:
        """Runs that have ended since, looked for during at most so many seconds.

        Each has its result.json then, a failed one too. One without was not tried: its device had vanished.
        """

    def stop(self) -> None:
        """End what is running, in good order first, then by force."""


@dataclass(frozen=True)
class Outcome:
    """How one run ended."""

    run: Run
    status: str
    reason: str | None
    again: bool = False
    """Whether it will be tried again."""


def run_all(runs: Iterable[Run], root: Path, executor: Executor, retries: int = 0) -> Iterator[Outcome]:
    """Train the runs below `root` in their order, and yield each as it ends; one that fails stops no other.

    A run is taken from `runs` when there is a place for it. A failed one is tried again after all others, at most
    `retries` times. Closing the iterator, or an interrupt, ends what is running; it goes on from its last checkpoint
    next time.
    """
    queue, tries, running = _Queue(runs), Counter[str](), 0
    try:
        while running or not queue.empty:
            while running < max(1, executor.workers) and (run := queue.take()) is not None:
                if not executor.start(run):
                    queue.put_back(run)
                    break
                running += 1
            for run in executor.wait(TICK) if running else ():
                running -= 1
                tries[run.folder] += 1
                outcome = _outcome(run, root / run.folder, may_fail=tries[run.folder] <= retries)
                if outcome is None:
                    tries[run.folder] -= 1
                    queue.put_back(run)
                    continue
                if outcome.again:
                    queue.add(run)
                yield outcome
    finally:
        executor.stop()


class _Queue:
    """Runs to start: what was put back, what is new, and at last what has failed."""

    def __init__(self, runs: Iterable[Run]) -> None:
        self._new = iter(runs)
        self._first, self._last = deque[Run](), deque[Run]()
        self.empty = False
        """Whether there was nothing when it was last looked."""

    def take(self) -> Run | None:
        """The next run; None where there is none."""
        run = self._first.popleft() if self._first else next(self._new, None)
        run = self._last.popleft() if run is None and self._last else run
        self.empty = run is None
        return run

    def put_back(self, run: Run) -> None:
        """It could not be started now, or its device has vanished."""
        self.empty = False
        self._first.appendleft(run)

    def add(self, run: Run) -> None:
        """To be started after all others."""
        self.empty = False
        self._last.append(run)


def _outcome(run: Run, folder: Path, *, may_fail: bool) -> Outcome | None:
    """What the result says; None where there is none."""
    result = read_result(folder)
    if result is None:
        return None
    failed = result["status"] == "failed"
    return Outcome(run, result["status"], result["reason"], again=failed and may_fail)
