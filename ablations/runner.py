"""Many runs over an executor: a queue, bounded tries, and an outcome for each run, whatever becomes of it."""

from collections import Counter, deque
from collections.abc import Iterator, Sequence
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


def run_all(runs: Sequence[Run], root: Path, executor: Executor, retries: int = 0) -> Iterator[Outcome]:
    """Train the runs below `root` in their order, and yield each as it ends; one that fails stops no other.

    A failed run is tried again after all others, at most `retries` times. Closing the iterator, or an interrupt, ends
    what is running; it goes on from its last checkpoint next time.
    """
    waiting, tries, running = deque(runs), Counter[str](), 0
    try:
        while waiting or running:
            while waiting and executor.start(waiting[0]):
                waiting.popleft()
                running += 1
            for run in executor.wait(TICK):
                running -= 1
                tries[run.id] += 1
                outcome = _outcome(run, root / run.folder, may_fail=tries[run.id] <= retries)
                if outcome is None:
                    tries[run.id] -= 1
                    waiting.appendleft(run)
                    continue
                if outcome.again:
                    waiting.append(run)
                yield outcome
    finally:
        executor.stop()


def _outcome(run: Run, folder: Path, *, may_fail: bool) -> Outcome | None:
    """What the result says; None where there is none."""
    result = read_result(folder)
    if result is None:
        return None
    failed = result["status"] == "failed"
    return Outcome(run, result["status"], result["reason"], again=failed and may_fail)
