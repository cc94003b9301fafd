"""Body of a run's process: its output goes to its log, its device is the only one it sees, an exception is a result."""

import logging
import multiprocessing
import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import torch
from filelock import FileLock

from ablations.interruption import StopRequest
from ablations.progress import LOCK
from ablations.ranks import Place
from ablations.results import Result, now, write_result
from ablations.study import Run
from ablations.train import train

GONE = 69
"""Exit status of a run whose device is not there; EX_UNAVAILABLE of sysexits.h."""
LOG_TAIL = 2000  # characters of a log that go into a failed result
PATIENCE = 30.0  # seconds for an earlier process of the same run, whose sweep was killed, to end


@dataclass(frozen=True)
class Job:
    """What a process of a run is given."""

    run: Run
    folder: Path
    place: Place
    visible: str
    """For CUDA_VISIBLE_DEVICES: names of GPUs, or nothing."""
    commit: str | None


def log_name(rank: int) -> str:
    """Name of the log of a rank in its run's folder."""
    return f"log-rank-{rank}.txt" if rank else "log.txt"


def log_tail(folder: Path, rank: int) -> str:
    """The end of a rank's log, for a result that says why there is none."""
    log = folder / log_name(rank)
    return log.read_text(encoding="utf-8", errors="replace")[-LOG_TAIL:].strip() if log.is_file() else ""


def main(job: Job) -> None:
    """Train one run, or one rank of it. The exit status is 0 where the run has a result of its own that is final."""
    for number in (signal.SIGINT, signal.SIGHUP):  # Ctrl-C and a closed terminal are the parent's to handle
        signal.signal(number, signal.SIG_IGN)
    stop = StopRequest()
    stop.listen()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    logging.getLogger("lightning.pytorch").setLevel(logging.WARNING)  # its notes and advertisements
    warnings.filterwarnings("ignore", ".*treespec, LeafSpec.*")
    # children of a forkserver do not see what the parent's environment has become since
    os.environ["CUDA_VISIBLE_DEVICES"] = job.visible
    job.folder.mkdir(parents=True, exist_ok=True)
    first = job.place.rank == 0
    with _output_to(job.folder / log_name(job.place.rank)), _alone_in(job.folder) if first else nullcontext():
        if job.place.kind == "cuda" and torch.cuda.device_count() < job.place.ranks:
            print(f"CUDA_VISIBLE_DEVICES={job.visible}: not there", file=sys.stderr)
            sys.exit(GONE)
        started = now()
        try:
            train(job.run, job.folder, commit=job.commit, place=job.place, stop=stop)
        except Exception as error:
            traceback.print_exc()
            if first:
                failed = Result("failed", reason(error), log=log_tail(job.folder, 0))
                write_result(job.run, job.folder, failed, started, job.commit)
            sys.exit(1)


def reason(error: Exception) -> str:
    """Why a run has failed, in words for its result."""
    text = f"{type(error).__name__}: {error}"
    memory = isinstance(error, MemoryError | torch.OutOfMemoryError) or "can't allocate memory" in text
    return f"out of memory: {text}" if memory else text


@contextmanager
def _output_to(log: Path) -> Iterator[None]:
    """Append all that the process prints to a log. Earlier tries of the run stand before it."""
    with log.open("a", encoding="utf-8", buffering=1) as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        yield


def _alone_in(folder: Path) -> FileLock:
    """The run's lock: two processes that train one run would mix their files."""
    return FileLock(folder / LOCK, timeout=PATIENCE)


def _end_with_parent() -> None:
    """A run whose sweep was killed must not go on: the next sweep trains it again, in the same folder."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
