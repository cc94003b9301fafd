"""The trials of one search in an Optuna storage: each has a number, is claimed by one worker, and finished once.

A trial waits, is running, or is finished (complete or pruned). One whose worker has died, or whose run has failed,
waits again under its own number; so n trials are n in all, whatever happens in between. Points are made from numbers
(ablations.space): what Optuna stores as a trial's parameters is for its readers.
"""

import json
import os
import platform
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import optuna
from filelock import FileLock
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution
from optuna.exceptions import DuplicatedStudyError, StorageInternalError, UpdateFinishedTrialError
from optuna.storages import BaseStorage, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState, create_trial
from sqlalchemy.exc import IntegrityError, ProgrammingError
from sqlalchemy.pool import NullPool

from ablations.background import beside
from models.config import ConfigError

if TYPE_CHECKING:  # it imports the models
    from ablations.space import Interval, Point, Space

BEAT = 20.0  # seconds between two signs of life
SILENCE = 120.0
"""Seconds by one's own clock without a sign of life after which a worker on another machine counts as dead."""
GRACE = 1.0
"""Seconds in which of several who find the same worker dead the last to say so is found."""
REASON, SECONDS, REVIVER = "reason", "seconds", "revived by"
"""User attributes of a trial: why it waits again or was pruned, what it took, who has found its worker dead."""
WORKER = "worker "
"""Begins the name of a user attribute of a trial whose rest is a worker that has it, or is about to; it holds the
number of its last sign of life, and nothing when the worker has let go."""

ATTEMPTS = 10  # to open a database in which others are making the tables

JOURNAL = "journal.log"


class Worker(NamedTuple):
    """A process that works at trials. The time of its start tells it from a later one with the same number."""

    host: str
    pid: int
    started: str

    @property
    def mark(self) -> str:
        """Name of its attribute."""
        return WORKER + json.dumps(self)

    @classmethod
    def of(cls, mark: str) -> "Worker":
        """The worker of an attribute."""
        return cls(*json.loads(mark.removeprefix(WORKER)))


class Standing(NamedTuple):
    """A trial as it stands, for people."""

    number: int
    state: str
    """waiting, running, completed, pruned (hopeless) or diverged."""
    value: float | None
    """Mean validation loss over the seeds of the search; None where the trial was not completed."""
    seconds: float | None
    reason: str | None


class Trials:
    """The trials of one search, of which `number` counts from 0 to one below `count`.

    Args:
        storage: where they are kept.
        name: of the Optuna study; it decides which trials are the same search's.
        points: the points by number.
        distributions: what Optuna is told of each path.
        silence: see SILENCE.
    """

    def __init__(
        self,
        storage: BaseStorage,
        name: str,
        points: Sequence["Point"],
        distributions: Mapping[str, BaseDistribution],
        silence: float = SILENCE,
    ) -> None:
        self.storage, self.name, self.points, self.silence = storage, name, points, silence
        self.distributions = distributions
        self.me = worker()
        self.mine: dict[int, int] = {}
        """Numbers of the trials that run here, and Optuna's ids of them."""
        self._tried: set[int] = set()
        self._beats = 0
        self._heard: dict[tuple[int, str], tuple[int | None, float]] = {}
        """By trial and mark: the last sign of life, and when it was new here."""
        self._reviving: dict[int, tuple[Any, float]] = {}  # by trial: who was about to, and when that was new here
        self.study = _study(storage, name)
        while len(self._all()) < len(points):
            storage.create_new_trial(self.study, create_trial(state=TrialState.WAITING))

    def claim(self, number: int) -> bool:
        """Make a waiting trial one's own; False where it is not to be had, or has been tried here already."""
        trial = self._all()[number]
        if trial.state != TrialState.WAITING or number in self._tried:
            return False
        if not self._take(trial._trial_id):
            return False
        self.mine[number] = trial._trial_id
        self._tried.add(number)
        for path, value in self.points[number].items():
            if path not in trial.params:
                distribution = self.distributions[path]
                internal = distribution.to_internal_repr(_plain(value, distribution))
                self.storage.set_trial_param(trial._trial_id, path, internal, distribution)
        return True

    def _take(self, trial: int) -> bool:
        """Have a waiting trial run, if nobody else was first. However it ends, one that runs has its worker's mark."""
        with suppress(UpdateFinishedTrialError):
            self.storage.set_trial_user_attr(trial, self.me.mark, self._beats)
            if self.storage.set_trial_state_values(trial, TrialState.RUNNING):
                return True
            self.storage.set_trial_user_attr(trial, self.me.mark, None)
        return False

    def finish(self, number: int, value: float | None, seconds: float, reason: str | None = None) -> None:
        """A trial has its value; None: it is pruned, for a reason. One that another worker has finished stays so."""
        trial = self.mine.pop(number)
        state = TrialState.PRUNED if value is None else TrialState.COMPLETE
        with suppress(UpdateFinishedTrialError):
            self.storage.set_trial_user_attr(trial, REASON, reason)
            self.storage.set_trial_user_attr(trial, SECONDS, seconds)
            self.storage.set_trial_state_values(trial, state, None if value is None else [value])

    def give_back(self, number: int, reason: str) -> None:
        """A trial could not be ended here: it waits again, for others and for the next start."""
        self._wait_again(self.mine.pop(number), reason)

    def revive(self) -> list[int]:
        """Have the trials of dead workers wait again. Returns their numbers.

        Several may find the same: the last to say so does it, if nobody has laid hands on the trial meanwhile. Whoever
        sees that another is about to leaves it to him for a while.
        """
        found = [trial for trial in self._all() if trial.state == TrialState.RUNNING and self._is_dead(trial)]
        dead = {trial._trial_id: _marks(trial) for trial in found if not self._left_to_another(trial)}
        for trial in dead:
            self._set(trial, REVIVER, self.me)
        if dead:
            time.sleep(GRACE)
        revived = []
        for trial, marks in dead.items():
            now = self.storage.get_trial(trial)
            mine = now.user_attrs.get(REVIVER) == [*self.me]
            if mine and now.state == TrialState.RUNNING and _marks(now) == marks:
                for name in (*marks, REVIVER):
                    self._set(trial, name, None)
                self._wait_again(trial, "its worker has died")
                revived.append(now.number)
        return revived

    def beat(self) -> None:
        """Give a sign of life for all trials that run here."""
        self._beats += 1
        for trial in list(self.mine.values()):
            self._set(trial, self.me.mark, self._beats)

    def standing(self) -> list[Standing]:
        """Every trial as it stands."""
        return [_standing(trial) for trial in self._all()[: len(self.points)]]

    def open(self) -> tuple[bool, bool]:
        """Whether a trial waits that was not tried here yet, and whether one is running elsewhere."""
        there = self._all()[: len(self.points)]
        waiting = (t.number not in self._tried for t in there if t.state == TrialState.WAITING)
        return any(waiting), any(t.number not in self.mine for t in there if t.state == TrialState.RUNNING)

    def _all(self) -> list[FrozenTrial]:
        return _by_number(self.storage, self.study)

    def _set(self, trial: int, name: str, value: Any) -> None:
        """Set an attribute of a trial; of one that another worker has finished it is of no more use."""
        with suppress(UpdateFinishedTrialError):
            self.storage.set_trial_user_attr(trial, name, value)

    def _wait_again(self, trial: int, reason: str) -> None:
        with suppress(UpdateFinishedTrialError):
            self.storage.set_trial_user_attr(trial, REASON, reason)
            self.storage.set_trial_user_attr(trial, self.me.mark, None)
            self.storage.set_trial_state_values(trial, TrialState.WAITING)

    def _is_dead(self, trial: FrozenTrial) -> bool:
        """Whether every worker that may have a running trial is gone; this one knows what it has."""
        if trial.number in self.mine:
            return False
        others = {mark: beats for mark, beats in _marks(trial).items() if mark != self.me.mark}
        dead = [self._is_dead_worker(trial.number, mark, beats) for mark, beats in others.items()]  # listens to each
        return all(dead)

    def _left_to_another(self, trial: FrozenTrial) -> bool:
        """Whether another has said only now that he will revive a trial."""
        who, now = trial.user_attrs.get(REVIVER), time.monotonic()
        last, since = self._reviving.get(trial.number, (None, now))
        since = since if who == last else now
        self._reviving[trial.number] = (who, since)
        return who not in (None, [*self.me]) and now - since < 3 * GRACE

    def _is_dead_worker(self, number: int, mark: str, beats: int) -> bool:
        """On this host a worker is seen to be gone, elsewhere by its silence."""
        who, now = Worker.of(mark), time.monotonic()
        if who.host == self.me.host:
            return is_gone(who)
        last, since = self._heard.get((number, mark), (None, now))
        since = since if last == beats else now
        self._heard[number, mark] = (beats, since)
        return now - since > self.silence


def _marks(trial: FrozenTrial) -> dict[str, int]:
    """The marks of workers that may have a trial, and the number of the last sign of life."""
    return {name: value for name, value in trial.user_attrs.items() if name.startswith(WORKER) and value is not None}


@contextmanager
def beating(trials: Sequence[Trials], every: float = BEAT) -> Iterator[None]:
    """Give signs of life while something else is done; a storage that is away for a while is asked again later."""

    def beat(over: threading.Event) -> None:
        while not over.wait(every):
            for one in trials:
                with suppress(StorageInternalError, OSError):
                    one.beat()

    with beside(beat):
        yield


def read_trials(storage: BaseStorage, name: str) -> list[Standing]:
    """The trials of a search as they stand; none where nobody has begun it. Writes nothing."""
    try:
        study = storage.get_study_id_from_name(name)
    except KeyError:
        return []
    return [_standing(trial) for trial in _by_number(storage, study)]


def forget(storage: BaseStorage, name: str) -> None:
    """Remove a search, if it is there."""
    with suppress(KeyError):
        storage.delete_study(storage.get_study_id_from_name(name))


def _by_number(storage: BaseStorage, study: int) -> list[FrozenTrial]:
    """Those beyond the count of a search were made by two workers at once, or for more trials than are wanted now."""
    return sorted(storage.get_all_trials(study, deepcopy=False), key=lambda trial: trial.number)


def _standing(trial: FrozenTrial) -> Standing:
    states = {
        TrialState.WAITING: "waiting",
        TrialState.RUNNING: "running",
        TrialState.COMPLETE: "completed",
        TrialState.PRUNED: "pruned",
        TrialState.FAIL: "failed",
    }
    reason, state = trial.user_attrs.get(REASON), states[trial.state]
    if state == "pruned" and str(reason).startswith("diverged"):
        state = "diverged"
    value = trial.value if trial.state == TrialState.COMPLETE else None
    return Standing(trial.number, state, value, trial.user_attrs.get(SECONDS), reason)


def _study(storage: BaseStorage, name: str) -> int:
    """Optuna's id of a study, made where it is not there."""
    with suppress(DuplicatedStudyError):
        return storage.create_new_study([StudyDirection.MINIMIZE], name)
    return storage.get_study_id_from_name(name)


def distributions(space: "Space") -> dict[str, BaseDistribution]:
    """What Optuna is told of the paths of a space; numbers on a logarithmic scale, where it can be."""
    return {path: _distribution(axis) for path, axis in space.axes.items()}


def _distribution(axis: "tuple[Any, ...] | Interval") -> BaseDistribution:
    if not isinstance(axis, tuple):
        return FloatDistribution(axis.low, axis.high, log=True)
    if all(isinstance(value, float) and value > 0 for value in axis) and len(axis) > 1:
        return FloatDistribution(min(axis), max(axis), log=True)
    return CategoricalDistribution([_choice(value) for value in axis])


def _plain(value: Any, distribution: BaseDistribution) -> Any:
    return value if isinstance(distribution, FloatDistribution) else _choice(value)


def _choice(value: Any) -> Any:
    """Optuna's choices are numbers, texts or nothing."""
    return json.dumps(value) if isinstance(value, list | dict) else value


def open_storage(folder: Path, url: str | None = None) -> BaseStorage:
    """The storage at an Optuna URL; without one the journal file in a folder, made where it is not there.

    Raises ConfigError in one line where it cannot be opened. PostgreSQL is spoken to by psycopg 3, unless the URL names
    another driver.
    """
    optuna.logging.set_verbosity(optuna.logging.WARNING)  # it would tell of each study on standard error
    if url is None:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            return JournalStorage(Journal(folder / JOURNAL))
        except (ValueError, KeyError, AssertionError) as error:
            raise ConfigError(f"{folder / JOURNAL}: damaged: {error!r}; without it the search starts anew") from error
    scheme, colon, rest = url.partition("://")
    if not colon:
        raise ConfigError(f"--storage {url}: an Optuna URL is wanted, such as postgresql://user@host/database")
    scheme = "postgresql+psycopg" if scheme in ("postgresql", "postgres") else scheme
    shown = f"{scheme}://{rest.rpartition('@')[2]}"  # without a password
    try:
        return optuna.storages.get_storage(_database(f"{scheme}://{rest}"))
    except ImportError as error:
        raise ConfigError(f"--storage {shown}: its driver is missing; pip install -e '.[postgres]'") from error
    except Exception as error:  # of SQLAlchemy and of the driver, in as many kinds as there are drivers
        why = " ".join(str(error.__cause__ or error).split())[:200]
        raise ConfigError(f"--storage {shown}: cannot be opened: {why}") from error


def _database(url: str) -> RDBStorage:
    """A database with Optuna's tables. Where two make them at once one fails, and finds them when it asks again."""
    options = {"poolclass": NullPool}  # minutes lie between two questions, and no connection is left open
    for _ in range(ATTEMPTS):
        with suppress(IntegrityError, ProgrammingError):
            return RDBStorage(url, engine_kwargs=options)
        time.sleep(0.5)
    return RDBStorage(url, engine_kwargs=options)


class Journal(JournalFileBackend):
    """Optuna's journal file, which a writer that was killed cannot break.

    Its lock is the system's, which ends with its holder (Optuna's own stays behind for 30 s). A last line that was only
    half written is cut off before the next is.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self._path = path
        self._alone = FileLock(path.with_name(f".{path.name}.lock"))  # Optuna's own has another name

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        """Add lines, whole ones after whole ones."""
        with self._alone:
            cut_torn_line(self._path)
            lines = "".join(json.dumps(log, separators=(",", ":")) + "\n" for log in logs)
            with self._path.open("ab") as file:
                file.write(lines.encode())
                file.flush()
                os.fsync(file.fileno())


def cut_torn_line(path: Path) -> None:
    """Cut a file after its last whole line; for whoever holds its lock."""
    with path.open("r+b") as file:
        end = file.seek(0, os.SEEK_END)
        if end == 0:
            return
        file.seek(end - 1)
        if file.read(1) != b"\n":
            file.seek(0)
            file.truncate(file.read().rfind(b"\n") + 1)


def worker() -> Worker:
    """This process."""
    return Worker(_host(), os.getpid(), _started(os.getpid()) or "")


def is_gone(other: Worker) -> bool:
    """Whether a process of this host has ended; its number may be another's by now."""
    try:
        os.kill(other.pid, 0)
    except (ProcessLookupError, OverflowError):
        return True
    except PermissionError:
        pass
    started = _started(other.pid)
    return started != other.started and bool(other.started)


def _host() -> str:
    """This machine since it was started, or the container: process numbers mean something here alone."""
    boot, space = Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/pid")
    parts = [platform.node(), boot.read_text().strip() if boot.is_file() else ""]
    with suppress(OSError):
        parts.append(str(space.stat().st_ino))
    return "/".join(parts)


def _started(pid: int) -> str | None:
    """When a process was started, in the system's own unit; None where it has ended, "" where that is not known."""
    if not Path("/proc/self/stat").is_file():
        return ""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else fields[19]  # dead, and not taken note of
