"""Runs as Ray tasks (`--executor ray`), on the cluster of RAY_ADDRESS, else on one that lives as long as the sweep.

A task trains its run through ablations.local on the node that Ray has chosen: a result does not depend on the executor.
Where a node sees the study's folder the run works in it; where it does not, the run's files come back with the task.
"""

import os
import secrets
import shutil
import signal
import socket
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, chdir, contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

from ablations.devices import Device, cores_available, visible_gpus
from ablations.local import GRACE, Local
from ablations.progress import LOCK
from ablations.results import Result, current_commit, now, write_result
from ablations.study import Run
from models.config import ConfigError
from reports.rows import status, write_text

TICK = 0.5  # seconds between two moments in which a task can be cancelled
ANSWER = 10.0  # seconds for a cluster to accept a connection
LOCAL = "local"
"""Ray's word for a cluster that is started here and ends with its driver."""
RESULT = "result.json"
MARK = ".cluster-"
"""Begins the name of a file in the study's folder by which a node sees that it is the same folder; a token ends it."""
STAYS = (LOCK, "progress.json")  # files of a run at work, of no use elsewhere

Files = dict[str, bytes]  # path below a run's folder to content


class Cluster:
    """An Executor (ablations.runner) over the nodes of a Ray cluster, to be entered as a context.

    Args:
        root: the study's folder.
        gpus: whether runs are trained on GPUs; None: where the cluster has any.
        per_device: runs at a time on each GPU.
        timeout: seconds that a run may take; None: no limit.
        commit: of the code here, for runs that a node has lost; other results carry that of their node.

    Raises ConfigError where Ray is not installed or nothing answers at RAY_ADDRESS; when entered, where the cluster
    cannot be joined.
    """

    def __init__(
        self,
        root: Path,
        *,
        gpus: bool | None,
        per_device: int = 1,
        timeout: float | None = None,
        commit: str | None = None,
    ) -> None:
        if find_spec("ray") is None:
            raise ConfigError("--executor ray: needs Ray; pip install -e '.[ray]'")
        self.address = os.environ.get("RAY_ADDRESS") or LOCAL
        _check(self.address)
        self.root = root.absolute()
        self.gpus = gpus
        self.per_device = per_device
        self.timeout = timeout
        self.commit = commit
        self.token = secrets.token_hex(8)
        self._tasks: dict[Any, _Task] = {}  # by Ray's reference
        self._contexts = ExitStack()

    def __enter__(self) -> Self:
        self.root.mkdir(parents=True, exist_ok=True)
        with ExitStack() as entering:
            self._ray = _connect(self.address, self.root)
            entering.callback(self._ray.shutdown)
            mark = self.root / f"{MARK}{self.token}"
            mark.touch()
            entering.callback(mark.unlink, missing_ok=True)
            self._work = self._ray.remote(train_on_node)
            if self.gpus is None:
                self.gpus = any(node.get("GPU") for node in self._nodes())
            self._contexts = entering.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.stop()
        finally:
            self._contexts.close()

    @property
    def workers(self) -> int:
        """Runs at a time, at most, where each is on one device."""
        cores, gpus = (sum(node.get(name, 0.0) for node in self._nodes()) for name in ("CPU", "GPU"))
        return int(min(cores, gpus * self.per_device) if self.gpus else cores)

    def check(self, run: Run) -> None:
        """Nothing: which nodes there are is not known before the cluster is joined."""

    def start(self, run: Run) -> bool:
        """Hand a run to Ray; False where the cluster is full. ConfigError where no node could ever hold it."""
        wanted = requests(run, gpus=bool(self.gpus), per_device=self.per_device)
        nodes = self._nodes()
        if not any(_fits(wanted, node) for node in nodes):
            there = "; ".join(f"{node.get('CPU', 0):g} CPUs, {node.get('GPU', 0):g} GPUs" for node in nodes)
            raise ConfigError(f"train.devices={run.settings.train.devices}: no node has so many; there are {there}")
        total = {name: sum(node.get(name, 0.0) for node in nodes) for name in wanted}
        if not _fits(wanted, total, [task.wanted for task in self._tasks.values()]):
            return False
        (self.root / run.folder / RESULT).unlink(missing_ok=True)  # of an earlier try that failed
        work = self._work.options(num_cpus=wanted["CPU"], num_gpus=wanted["GPU"], max_retries=0, name=run.folder)
        reference = work.remote(run, self.root, self.token, Path.cwd(), gpus=self.gpus, timeout=self.timeout)
        self._tasks[reference] = _Task(run, wanted, now())
        return True

    def wait(self, seconds: float) -> list[Run]:
        """Runs that have ended since, each with a result; one that went down with its node has failed."""
        if not self._tasks:
            return []
        self._ray.wait(list(self._tasks), timeout=seconds)
        ended, _ = self._ray.wait(list(self._tasks), num_returns=len(self._tasks), timeout=0)
        return [self._close(reference) for reference in ended]

    def stop(self) -> None:
        """Cancel the tasks, which ends their runs in good order; after a grace, or an interrupt, by force."""
        if not self._tasks:
            return
        tasks, left = list(self._tasks), list(self._tasks)
        self._tasks = {}
        try:
            for reference in tasks:
                self._ray.cancel(reference)
            # a node needs GRACE for its own run
            _, left = self._ray.wait(tasks, num_returns=len(tasks), timeout=GRACE + 5)
        finally:
            for reference in left:
                self._ray.cancel(reference, force=True)

    def _close(self, reference: Any) -> Run:
        """Write what a task has brought back, or why it has brought nothing."""
        task = self._tasks.pop(reference)
        folder = self.root / task.run.folder
        try:
            unpack(self._ray.get(reference), folder)
        except self._ray.exceptions.RayError as error:
            folder.mkdir(parents=True, exist_ok=True)
            write_result(task.run, folder, Result("failed", reason(error)), task.started, self.commit)
        return task.run

    def _nodes(self) -> list[dict[str, float]]:
        """Resources of each node, by Ray's names."""
        return [node["Resources"] for node in self._ray.nodes() if node["Alive"]]


def wants_gpus(devices: str) -> bool | None:
    """Whether `--devices` asks for GPUs; None for auto. ConfigError where it says which, for that is Ray's to know."""
    choices = {"auto": None, "cpu": False, "cuda": True}
    if devices not in choices:
        raise ConfigError(f"--devices {devices}: with --executor ray choose from {', '.join(choices)}")
    return choices[devices]


@dataclass(frozen=True)
class _Task:
    run: Run
    wanted: Mapping[str, float]
    started: str


def requests(run: Run, *, gpus: bool, per_device: int) -> dict[str, float]:
    """What a run asks of Ray, by Ray's names of resources.

    A core for each rank; with `gpus` a share of a GPU for a run on one, and whole GPUs for a run on several, which Ray
    does not divide. All are resources of one task, so Ray gives them on one node or not at all: what a placement group
    of one bundle would say, for the ranks of a run are processes on one node.
    """
    ranks = run.settings.train.devices
    if not gpus:
        return {"CPU": ranks, "GPU": 0}
    return {"CPU": ranks, "GPU": 1 / per_device if ranks == 1 else ranks}


def _fits(wanted: Mapping[str, float], there: Mapping[str, float], taken: Sequence[Mapping[str, float]] = ()) -> bool:
    """Whether resources suffice beside what others have taken."""
    slack = 1e-6  # three thirds of a GPU are one
    return all(
        amount + sum(other[name] for other in taken) <= there.get(name, 0.0) + slack for name, amount in wanted.items()
    )


def train_on_node(run: Run, root: Path, token: str, here: Path, *, gpus: bool, timeout: float | None) -> Files:
    """Body of a Ray task: train a run in a process of its own. Returns the files of its folder.

    Where the node sees the study's folder `root`, the run works in place and only its result is returned: what another
    machine has just written may not be seen through a network disk yet. `here` is what relative paths of data start at.
    """
    vars(sys.modules["__main__"]).pop("__file__", None)  # or each run would import Ray's worker again
    if here.is_dir():
        os.chdir(here)
    if sees(root, token):
        _train(run, root, gpus, timeout)
        return {RESULT: (root / run.folder / RESULT).read_bytes()}
    with TemporaryDirectory(prefix="ablations-") as own:
        _train(run, Path(own), gpus, timeout)
        return pack(Path(own) / run.folder, keep_checkpoints=run.settings.train.keep_checkpoints)


def _train(run: Run, root: Path, gpus: bool, timeout: float | None) -> None:
    """Raises RuntimeError where a GPU that Ray gave is not there."""
    cores = [Device("cpu", str(rank)) for rank in range(run.settings.train.devices)]
    devices = [Device("cuda", name) for name in visible_gpus()] if gpus else cores
    with Local(root, devices, timeout=timeout, commit=current_commit()) as local:
        local.start(run)
        while not local.wait(TICK):
            pass
    if status(root / run.folder) is None:
        raise RuntimeError(f"{', '.join(map(str, devices))}: not there")


def sees(root: Path, token: str) -> bool:
    """Whether the study's folder here is the one in which the sweep has left its mark."""
    return (root / f"{MARK}{token}").is_file()


def pack(folder: Path, *, keep_checkpoints: bool) -> Files:
    """What a run's folder holds, without what only a run at work needs."""
    paths = {path.relative_to(folder): path for path in sorted(folder.rglob("*")) if path.is_file()}
    return {
        name.as_posix(): path.read_bytes()
        for name, path in paths.items()
        if name.name not in STAYS and (keep_checkpoints or name.parts[0] != "checkpoints")
    }


def unpack(files: Files, folder: Path) -> None:
    """Write what a node has brought back, the result last. A whole folder replaces what an earlier try has left."""
    if set(files) != {RESULT}:
        shutil.rmtree(folder, ignore_errors=True)  # an old checkpoint would not suit a new metrics.csv
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        if name != RESULT:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
    write_text(folder / RESULT, files[RESULT].decode())


def reason(error: Exception) -> str:
    """Why Ray has brought no result: what the task raised, else what became of its worker or node."""
    cause = getattr(error, "cause", None)
    if isinstance(cause, Exception):
        return f"on its node: {type(cause).__name__}: {cause}"
    return f"lost by Ray: {type(error).__name__}: {error}"


def _check(address: str) -> None:
    """ConfigError where there is no cluster at an address: Ray itself would try for minutes. `auto` is left to it."""
    if address in (LOCAL, "auto"):
        return
    host, _, port = address.rpartition(":")
    if not host or "/" in host or not port.isdecimal():
        raise ConfigError(f"RAY_ADDRESS={address!r}: HOST:PORT of the cluster's head is wanted, or auto")
    try:
        socket.create_connection((host, int(port)), timeout=ANSWER).close()
    except (OSError, OverflowError) as error:
        raise ConfigError(f"RAY_ADDRESS={address!r}: no Ray cluster answers there: {error}") from error


def _connect(address: str, root: Path) -> Any:
    """Become a driver of the cluster at an address, or of a new one. Raises ConfigError where that cannot be.

    Returns the module of Ray, which is not typed throughout.
    """
    settings: dict[str, Any] = {"address": address}
    if address == LOCAL:
        _stay_on_loopback()
        settings |= {"num_cpus": cores_available(), "include_dashboard": False}
    os.environ.setdefault("RAY_AUTH_MODE", "token")
    os.environ["RAY_DEDUP_LOGS_SKIP_REGEX"] = "."  # Ray would tell of lost workers on standard output
    ray = import_module("ray")
    try:
        # Ray puts the current folder on the import path of its workers, where another `models` may lie
        with chdir(root), _own_signals():
            ray.init(**settings, log_to_driver=False, logging_level="ERROR")
    except (ConnectionError, RuntimeError, ray.exceptions.RayError) as error:
        why = str(error).partition("\n")[0].partition(". ")[0]
        raise ConfigError(f"RAY_ADDRESS={address!r}: {why}; docs/cluster.md says what a cluster needs") from error
    if address == LOCAL and ray.util.get_node_ip_address() != "127.0.0.1":
        ray.shutdown()
        raise ConfigError(f"--executor ray: Ray {ray.__version__} does not keep to the loopback; set RAY_ADDRESS")
    return ray


def _stay_on_loopback() -> None:
    """Settings of a cluster that only this machine can reach, and only with its token. Ray reads them when imported."""
    os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # no node but this: Ray listens on 127.0.0.1, not everywhere
    os.environ["RAY_AUTH_MODE"] = "token"
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    # not one from the home folder, which Ray would make readable for all users
    os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))


@contextmanager
def _own_signals() -> Iterator[None]:
    """Ray takes SIGTERM for itself, which is the sweep's to handle."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
