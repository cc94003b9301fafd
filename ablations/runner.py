"""Many runs at once: one process each, forked from a server that has already imported torch and lightning.

Importing these takes seconds, many runs not much more; a forked child starts in hundredths of a second. The server only
imports: it computes nothing, so that no thread pool exists when it forks.
"""

import multiprocessing
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import wait
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from typing import Any

from ablations.results import Result, current_commit, now, write_result
from ablations.study import Run
from reports.rows import COUNTED, RowsError, read_result

LOG_TAIL = 2000  # characters of a dead run's log that go into its result


@dataclass(frozen=True)
class Outcome:
    """How one run ended."""

    run: Run
    status: str
    reason: str | None


def is_final(folder: Path) -> bool:
    """Whether a run has ended for good (completed or diverged); a failed one is run again."""
    return status(folder) in COUNTED


def status(folder: Path) -> str | None:
    """Status in a run's result.json; None where there is none that can be read."""
    try:
        result = read_result(folder)
    except RowsError:
        return None
    return result["status"] if result else None


def workers_available() -> int:
    """Cores that this process may use: so many one-thread runs go at a time."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_all(runs: Sequence[Run], root: Path, workers: int) -> Iterator[Outcome]:
    """Train the runs below `root`, `workers` at a time, and yield each as it ends; one that fails stops no other.

    Closing the iterator, or an interrupt, ends the processes that are still running; their runs are redone next time.
    """
    with _environment_of_runs():
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["ablations.train"])
        commit = current_commit()  # of the code that the server is about to load
        waiting = list(reversed(runs))
        running: dict[Any, tuple[ForkServerProcess, Run, str]] = {}  # by sentinel
        try:
            while waiting or running:
                while waiting and len(running) < workers:
                    run = waiting.pop()
                    process = _start(context, run, root, commit)
                    running[process.sentinel] = (process, run, now())
                for sentinel in wait(list(running)):
                    process, run, started = running.pop(sentinel)
                    process.join()
                    yield _outcome(process, run, root / run.folder, started, commit)
        finally:
            for process, _, _ in running.values():
                process.terminate()
            for process, _, _ in running.values():
                process.join()


@contextmanager
def _environment_of_runs() -> Iterator[None]:
    """What the server, and through it every run, inherits when it starts.

    One thread a process, for they share the cores; no import from the current folder, where another `models` may lie.
    """
    settings = {"OMP_NUM_THREADS": "1", "PYTHONSAFEPATH": "1"}
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def _start(context: ForkServerContext, run: Run, root: Path, commit: str | None) -> ForkServerProcess:
    folder = root / run.folder
    (folder / "result.json").unlink(missing_ok=True)  # of an earlier try that failed
    process = context.Process(target=_child, args=(run, folder, commit), name=run.folder)
    process.start()
    return process


def _child(run: Run, folder: Path, commit: str | None) -> None:
    """Body of a run's process: everything it prints goes to its log, an exception becomes a failed result."""
    from ablations.train import train

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    threading.Thread(target=_end_with_parent, daemon=True).start()
    folder.mkdir(parents=True, exist_ok=True)
    started = now()
    with (folder / "log.txt").open("w", encoding="utf-8", buffering=1) as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
        try:
            train(run, folder, commit=commit)
        except Exception as error:
            traceback.print_exc(file=log)
            write_result(run, folder, Result("failed", f"{type(error).__name__}: {error}"), started, commit)
            sys.exit(1)


def _end_with_parent() -> None:
    """A run whose sweep was killed must not go on: the next sweep trains it again, in the same folder."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _outcome(process: ForkServerProcess, run: Run, folder: Path, started: str, commit: str | None) -> Outcome:
    """Read what the process left; where it left nothing (killed, out of memory), write that it failed."""
    if status(folder) is None:
        folder.mkdir(parents=True, exist_ok=True)
        reason = f"the process ended with {_exit(process)}{_log_tail(folder)}"
        write_result(run, folder, Result("failed", reason), started, commit)
    result = read_result(folder)
    assert result is not None
    return Outcome(run, result["status"], result["reason"])


def _exit(process: ForkServerProcess) -> str:
    code = process.exitcode or 0
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"status {code}"


def _log_tail(folder: Path) -> str:
    log = folder / "log.txt"
    tail = log.read_text(encoding="utf-8", errors="replace")[-LOG_TAIL:].strip() if log.is_file() else ""
    return f"; its log ends: {tail}" if tail else ""
