"""Runs on this machine: a process for each, forked from a server that has already imported torch and lightning.

Importing these takes seconds, many runs not much more; a forked child starts in hundredths of a second. The server only
imports: it computes nothing, so that no thread pool and no CUDA context exists when it forks.
"""

import itertools
import multiprocessing
import os
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Self

from ablations import child
from ablations.devices import Device
from ablations.interruption import STOPPED
from ablations.progress import remove_progress
from ablations.ranks import Place
from ablations.results import Result, now, write_result
from ablations.study import Run
from models.config import ConfigError
from reports.rows import status

GRACE = 10.0
"""Seconds that a run has to end in good order before it is killed."""


@dataclass
class _Job:
    """A run at work: a process for each of its ranks."""

    run: Run
    folder: Path
    devices: list[Device]
    started: str
    begun: float
    oom_kills: int
    processes: list[ForkServerProcess] = field(default_factory=list)
    reason: str | None = None
    """Why it was ended from here."""
    kill_at: float | None = None
    first_to_die: list[int] = field(default_factory=list)
    """Ranks that were found dead before the others were ended."""

    def alive(self) -> list[ForkServerProcess]:
        return [process for process in self.processes if process.is_alive()]

    def codes(self) -> list[int]:
        return [process.exitcode or 0 for process in self.processes]


class Local:
    """An Executor (ablations.runner) over devices of this machine, to be entered as a context.

    Args:
        root: the study's folder.
        devices: where runs go; one that has vanished is used no more.
        per_device: runs at a time on each.
        timeout: seconds that a run may take; None: no limit.
        commit: of the code, for the results.
    """

    def __init__(
        self,
        root: Path,
        devices: Sequence[Device],
        *,
        per_device: int = 1,
        timeout: float | None = None,
        commit: str | None = None,
    ) -> None:
        self.root = root
        self.devices = list(devices)
        self.per_device = per_device
        self.timeout = timeout
        self.commit = commit
        self._jobs: list[_Job] = []
        self._numbers = itertools.count()
        self._contexts = ExitStack()
        self._context = multiprocessing.get_context("forkserver")

    def __enter__(self) -> Self:
        self._contexts.enter_context(_environment_of_runs())
        # rendezvous by file: no port that another run could have
        self._rendezvous = Path(self._contexts.enter_context(tempfile.TemporaryDirectory()))
        self._context.set_forkserver_preload(["ablations.preload"])
        return self

    def __exit__(self, *error: object) -> None:
        try:
            self.stop()
        finally:
            self._contexts.close()

    @property
    def workers(self) -> int:
        """Runs at a time, at most."""
        return len(self.devices) * self.per_device

    def check(self, run: Run) -> None:
        """Raises ConfigError where there are too few devices for a run in all."""
        wanted = run.settings.train.devices
        if wanted > len(self.devices):
            there = ", ".join(map(str, self.devices)) or "none is left"
            raise ConfigError(f"train.devices={wanted}: more than the devices here: {there}")

    def start(self, run: Run) -> bool:
        """Begin a run; False where too few devices are free. ConfigError where there are too few in all."""
        self.check(run)
        wanted = run.settings.train.devices
        devices = self._free()[:wanted]
        if len(devices) < wanted:
            return False
        self._begin(run, devices)
        return True

    def wait(self, seconds: float) -> list[Run]:
        """Runs that have ended since, each with a result; without one where its device had vanished."""
        sentinels = [process.sentinel for job in self._jobs for process in job.alive()]
        wait(sentinels, timeout=max(0.0, min([seconds, *(self._seconds_left(job) for job in self._jobs)])))
        for job in self._jobs:
            self._watch(job)
        ended = [job for job in self._jobs if not job.alive()]
        self._jobs = [job for job in self._jobs if job.alive()]
        for job in ended:
            self._close(job)
        return [job.run for job in ended]

    def stop(self) -> None:
        """End what is running: asked first, so that it writes a checkpoint; after GRACE, or an interrupt, by force."""
        try:
            for job in self._jobs:
                _ask_to_stop(job)
            end = time.monotonic() + GRACE
            while (alive := [p.sentinel for job in self._jobs for p in job.alive()]) and time.monotonic() < end:
                wait(alive, timeout=max(0.0, end - time.monotonic()))
        finally:
            for job in self._jobs:
                _kill(job)
            self._jobs = []

    def _free(self) -> list[Device]:
        """Devices with room for one more run, the emptiest first."""
        load = Counter(device for job in self._jobs for device in job.devices)
        return sorted((d for d in self.devices if load[d] < self.per_device), key=lambda device: load[device])

    def _begin(self, run: Run, devices: list[Device]) -> None:
        folder = self.root / run.folder
        (folder / "result.json").unlink(missing_ok=True)  # of an earlier try that failed
        job = _Job(run, folder, devices, now(), time.monotonic(), _oom_kills())
        self._jobs.append(job)
        visible = ",".join(device.name for device in devices if device.kind == "cuda")
        rendezvous = str(self._rendezvous / str(next(self._numbers)))
        for rank in range(len(devices)):
            place = Place(devices[0].kind, rank, len(devices), rendezvous if len(devices) > 1 else None)
            work = child.Job(run, folder, place, visible, self.commit)
            process = self._context.Process(target=child.main, args=(work,), name=run.folder)
            process.start()
            job.processes.append(process)

    def _seconds_left(self, job: _Job) -> float:
        """Until something has to be done about a job."""
        if job.kill_at is not None:
            return job.kill_at - time.monotonic()
        return float("inf") if self.timeout is None else job.begun + self.timeout - time.monotonic()

    def _watch(self, job: _Job) -> None:
        """End a job whose time is over, and the other ranks of one that has died."""
        died = [rank for rank, code in enumerate(job.codes()) if code]
        job.first_to_die = job.first_to_die or died
        if died or (job.kill_at is not None and self._seconds_left(job) <= 0):
            _kill(job)
        elif job.kill_at is None and self._seconds_left(job) <= 0:
            job.reason = f"timed out after {self.timeout:g} s"
            _ask_to_stop(job)
            job.kill_at = time.monotonic() + GRACE

    def _close(self, job: _Job) -> None:
        """Write that a run has failed where it could not say so itself; give up a device that is not there."""
        for process in job.processes:
            process.join()
        job.folder.mkdir(parents=True, exist_ok=True)  # it may have died before it came to that
        remove_progress(job.folder)
        if child.GONE in job.codes():
            self.devices = [device for device in self.devices if device not in job.devices]
        elif status(job.folder) is None or _another_rank_failed(job):
            write_result(job.run, job.folder, _failure(job), job.started, self.commit)


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


def _ask_to_stop(job: _Job) -> None:
    for process in job.alive():
        assert process.pid is not None
        with suppress(ProcessLookupError):  # it has ended, and nobody has said so yet
            os.kill(process.pid, signal.SIGUSR1)


def _kill(job: _Job) -> None:
    for process in job.processes:
        process.kill()
    for process in job.processes:
        process.join()


def _failure(job: _Job) -> Result:
    """What is known of a run that has left no result of its own."""
    codes = job.codes()
    if job.reason or len(codes) == 1:
        return Result("failed", job.reason or _end(job, codes[0]), log=child.log_tail(job.folder, 0))
    ends = (f"rank {rank} ended with {_exit(codes[rank])}" for rank in job.first_to_die)
    logs = (f"rank {rank}: {child.log_tail(job.folder, rank)}" for rank in job.first_to_die)
    return Result("failed", "; ".join(ends), log="\n".join(logs))


def _end(job: _Job, code: int) -> str:
    memory = "; the system has ended processes for want of memory meanwhile" if _oom_kills() > job.oom_kills else ""
    return f"the process ended with {_exit(code)}{memory}"


def _another_rank_failed(job: _Job) -> bool:
    """Whether a rank failed that writes no result: what the first says may be no more than the consequence."""
    return status(job.folder) == "failed" and any(rank > 0 for rank in job.first_to_die)


def _exit(code: int) -> str:
    if code == STOPPED:
        return "a request to stop"
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"status {code}"


def _oom_kills() -> int:
    """Processes that the Linux kernel has ended for want of memory since it started; 0 elsewhere."""
    counters = Path("/proc/vmstat")
    lines = counters.read_text().splitlines() if counters.is_file() else []
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)
