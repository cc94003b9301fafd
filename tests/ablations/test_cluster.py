"""Runs as Ray tasks: what is asked of Ray, what comes back, what is lost; then a session with Ray itself."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ablations import cluster
from ablations.cluster import Cluster, Files, pack, requests, sees, unpack, wants_gpus
from ablations.devices import Device, cores_available
from ablations.load import make_study
from ablations.local import Local
from ablations.runner import run_all
from ablations.study import Run
from models.config import ConfigError
from reports.rows import read_result

# what is asked


def runs_on(devices: int, tiny: dict[str, Any]) -> list[Run]:
    tiny["experiments"]["copy"]["train"]["devices"] = devices
    return make_study(tiny).runs()


@pytest.mark.parametrize(
    ("devices", "gpus", "per_device", "wanted"),
    [
        (1, False, 1, {"CPU": 1, "GPU": 0}),
        (1, False, 4, {"CPU": 1, "GPU": 0}),
        (3, False, 1, {"CPU": 3, "GPU": 0}),
        (1, True, 1, {"CPU": 1, "GPU": 1}),
        (1, True, 4, {"CPU": 1, "GPU": 0.25}),
        (2, True, 4, {"CPU": 2, "GPU": 2}),  # Ray divides no GPU of a run that has several
    ],
)
def test_a_run_asks_for_a_core_for_each_rank_and_for_gpus_or_a_share_of_one(
    devices: int, gpus: bool, per_device: int, wanted: dict[str, float], tiny: dict[str, Any]
) -> None:
    assert requests(runs_on(devices, tiny)[0], gpus=gpus, per_device=per_device) == wanted


@pytest.mark.parametrize(("devices", "wanted"), [("auto", None), ("cpu", False), ("cuda", True)])
def test_which_kind_of_device_is_asked_for(devices: str, wanted: bool | None) -> None:
    assert wants_gpus(devices) is wanted


@pytest.mark.parametrize("devices", ["cpu:2", "cuda:0,2", "gpu"])
def test_which_device_is_ray_s_to_know(devices: str) -> None:
    with pytest.raises(ConfigError, match=f"--devices {devices}: with --executor ray choose from auto, cpu, cuda"):
        wants_gpus(devices)


# what comes back


def tree(folder: Path) -> Files:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def write_tree(folder: Path, files: Files) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


KEPT = {"result.json": b"{}\n", "run.json": b"{}\n", "metrics.csv": b"step\n", "outputs/items.csv.gz": b"\x1f\x8b\x00"}
WEIGHTS = {"checkpoints/best.ckpt": b"\x80\x02"}
AT_WORK = {".lock": b"", "progress.json": b"{}"}


@pytest.mark.parametrize(("keep", "packed"), [(False, KEPT), (True, KEPT | WEIGHTS)])
def test_a_folder_comes_back_without_what_only_a_run_at_work_needs(keep: bool, packed: Files, tmp_path: Path) -> None:
    write_tree(tmp_path / "there", KEPT | WEIGHTS | AT_WORK)
    files = pack(tmp_path / "there", keep_checkpoints=keep)
    assert files == packed
    unpack(files, tmp_path / "here")
    assert tree(tmp_path / "here") == packed


def test_a_folder_that_comes_back_replaces_what_an_earlier_try_has_left(tmp_path: Path) -> None:
    write_tree(tmp_path, {"checkpoints/step-7.ckpt": b"\x80", "metrics.csv": b"step\n7\n"})
    unpack(KEPT, tmp_path)
    assert tree(tmp_path) == KEPT


def test_a_result_that_comes_back_alone_leaves_the_folder_as_the_node_has_made_it(tmp_path: Path) -> None:
    write_tree(tmp_path, KEPT | WEIGHTS)
    unpack({"result.json": b"[]\n"}, tmp_path)
    assert tree(tmp_path) == KEPT | WEIGHTS | {"result.json": b"[]\n"}


def test_the_result_is_written_last(tmp_path: Path) -> None:
    with pytest.raises(FileExistsError):
        unpack({"result.json": b"{}\n", "outputs": b"", "outputs/items.csv.gz": b""}, tmp_path / "run")
    assert not (tmp_path / "run/result.json").exists()


def test_a_node_knows_the_study_s_folder_by_its_token(tmp_path: Path) -> None:
    assert not sees(tmp_path, "2f")
    assert not sees(tmp_path / "nowhere", "2f")
    (tmp_path / f"{cluster.MARK}2f").touch()
    assert sees(tmp_path, "2f")
    assert not sees(tmp_path, "2f0")


# the executor, over a stand-in for Ray


class Lost(Exception):
    """Of the kind that Ray raises."""


class Stand:
    """As much of Ray's interface as the executor uses: nothing runs, a test says how each task ends."""

    exceptions = SimpleNamespace(RayError=Lost)

    def __init__(self, *nodes: dict[str, float]) -> None:
        self.there = list(nodes)
        self.asked: list[dict[str, Any]] = []  # options of each task; a task is its number
        self.ends: dict[int, Files | Lost] = {}
        self.cancelled: list[tuple[int, bool]] = []
        self.shut = False

    def nodes(self) -> list[dict[str, Any]]:
        return [{"Alive": True, "Resources": node} for node in self.there] + [{"Alive": False, "Resources": {}}]

    def remote(self, function: Callable[..., Files]) -> "Stand":
        return self if function is cluster.train_on_node else Stand()

    def options(self, **options: Any) -> Any:
        self.asked.append(options)
        return SimpleNamespace(remote=lambda *args, **settings: len(self.asked) - 1)

    def wait(self, tasks: list[int], num_returns: int = 1, timeout: float = 0) -> tuple[list[int], list[int]]:
        ended = [task for task in tasks if task in self.ends][:num_returns]
        return ended, [task for task in tasks if task not in ended]

    def get(self, task: int) -> Files:
        end = self.ends[task]
        if isinstance(end, Lost):
            raise end
        return end

    def cancel(self, task: int, force: bool = False) -> None:
        self.cancelled.append((task, force))

    def shutdown(self) -> None:
        self.shut = True


@pytest.fixture
def entered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Cluster, Stand]]:
    def enter(*nodes: dict[str, float], **options: Any) -> tuple[Cluster, Stand]:
        stand = Stand(*nodes)
        monkeypatch.setattr(cluster, "_connect", lambda address, root: stand)
        monkeypatch.setattr(cluster, "find_spec", lambda name: name)
        monkeypatch.delenv("RAY_ADDRESS", raising=False)
        return Cluster(tmp_path, **{"gpus": None} | options).__enter__(), stand

    return enter


def test_no_more_is_handed_to_ray_than_its_nodes_hold(entered: Any, tiny: dict[str, Any]) -> None:
    executor, ray = entered({"CPU": 2.0}, {"CPU": 1.0})
    runs = make_study(tiny).runs()
    assert executor.workers == 3
    assert [executor.start(run) for run in runs] == [True, True, True, False]
    assert ray.asked[0] == {"num_cpus": 1, "num_gpus": 0, "max_retries": 0, "name": runs[0].folder}
    ray.ends[1] = {"result.json": b"{}\n"}
    assert executor.wait(0) == [runs[1]]
    assert executor.start(runs[3])


def test_runs_share_gpus_where_the_cluster_has_some(entered: Any, tiny: dict[str, Any]) -> None:
    executor, ray = entered({"CPU": 8.0, "GPU": 1.0}, per_device=3)
    assert executor.workers == 3
    assert [executor.start(run) for run in make_study(tiny).runs()] == [True, True, True, False]
    assert [options["num_gpus"] for options in ray.asked] == [1 / 3] * 3


def test_a_run_that_no_node_could_hold_is_refused(entered: Any, tiny: dict[str, Any]) -> None:
    executor, _ = entered({"CPU": 8.0, "GPU": 1.0}, {"CPU": 8.0, "GPU": 1.0}, gpus=True)
    with pytest.raises(ConfigError, match=r"train.devices=2: no node has so many; there are 8 CPUs, 1 GPUs; 8 CPUs"):
        executor.start(runs_on(2, tiny)[0])


def test_a_run_that_went_down_with_its_node_has_failed(entered: Any, tiny: dict[str, Any], tmp_path: Path) -> None:
    executor, ray = entered({"CPU": 2.0}, commit="0123abc")
    lost, broken = make_study(tiny).runs()[:2]
    assert executor.start(lost)
    assert executor.start(broken)
    ray.ends = {0: Lost("the node is dead"), 1: Lost("a long text of Ray's")}
    ray.ends[1].cause = OSError("no such disk")
    assert executor.wait(0) == [lost, broken]
    results: list[Any] = [read_result(tmp_path / run.folder) for run in (lost, broken)]
    assert [result["status"] for result in results] == ["failed", "failed"]
    assert [result["commit"] for result in results] == ["0123abc", "0123abc"]
    assert results[0]["reason"] == "lost by Ray: Lost: the node is dead"
    assert results[1]["reason"] == "on its node: OSError: no such disk"


def test_the_result_of_an_earlier_try_is_gone_when_a_run_starts(
    entered: Any, tiny: dict[str, Any], tmp_path: Path
) -> None:
    executor, _ = entered({"CPU": 1.0})
    run = make_study(tiny).runs()[0]
    write_tree(tmp_path / run.folder, {"result.json": b"{}\n"})
    executor.start(run)
    assert not (tmp_path / run.folder / "result.json").exists()


def test_leaving_cancels_what_runs_at_last_by_force(entered: Any, tiny: dict[str, Any], tmp_path: Path) -> None:
    executor, ray = entered({"CPU": 2.0})
    for run in make_study(tiny).runs()[:2]:
        executor.start(run)
    assert sees(tmp_path, executor.token)
    ray.ends[0] = Lost("cancelled")
    executor.__exit__(None, None, None)
    assert ray.cancelled == [(0, False), (1, False), (1, True)]
    assert ray.shut
    assert not sees(tmp_path, executor.token)
    executor.stop()
    assert len(ray.cancelled) == 3


# before there is a cluster


def test_ray_is_asked_for_in_one_line_where_it_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "ray" not in sys.modules, "importing ablations.cluster must not need it"
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ConfigError, match=r"--executor ray: needs Ray; pip install -e '\.\[ray\]'"):
        Cluster(tmp_path / "study", gpus=None)
    assert not (tmp_path / "study").exists()


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("ray://127.0.0.1:10001", "HOST:PORT of the cluster's head is wanted, or auto"),
        ("head", "HOST:PORT of the cluster's head is wanted, or auto"),
        ("127.0.0.1:1", "no Ray cluster answers there"),
        ("127.0.0.1:70000", "no Ray cluster answers there"),
    ],
)
def test_a_wrong_address_is_said_at_once(
    address: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", address)
    monkeypatch.setattr(cluster, "find_spec", lambda name: name)
    with pytest.raises(ConfigError, match=f"RAY_ADDRESS='{address}': {why}"):
        Cluster(tmp_path / "study", gpus=None)
    assert not (tmp_path / "study").exists()


# with Ray, in a process of its own

LONG = 2_000_000
CHECKPOINT = 77  # steps; not one after which something is logged
SESSION = "import runpy, sys; runpy.run_path(sys.argv[1])['session'](*sys.argv[2:])"


def study() -> dict[str, Any]:
    """One run whose worker is killed, one on a node that does not see the study's folder, one on two devices."""
    task = {"name": "order", "target": "previous", "length": 5, "vocabulary": 7, "validation_size": 11, "test_size": 13}
    model = {"architecture": "decoder", "d_model": 12, "n_layers": 1, "n_heads": 3, "dropout": 0.1}
    train = {"steps": 900, "batch_size": 3, "warmup": 2, "checkpoint_steps": CHECKPOINT}
    copy = {"task": task, "model": model, "train": train, "vary": {"model.position": ["none"]}}
    devices = min(2, cores_available())
    pair = {"task": task, "model": model, "train": {"steps": 4, "batch_size": 3, "warmup": 2, "devices": devices}}
    return {"name": "tiny", "seeds": 1, "experiments": {"copy": copy, "pair": pair}}


def long_run() -> Run:
    long = study()
    long["experiments"] = {"long": {**long["experiments"]["copy"], "vary": {"train.steps": [LONG]}}}
    return make_study(long).runs()[1]


class Apart(Cluster):
    """Its nodes see the study's folder for all runs but those of one variant."""

    def start(self, run: Run) -> bool:
        own = self.token
        self.token = "of another disk" if run.variant == "position=none" else own
        try:
            return super().start(run)
        finally:
            self.token = own


def session(root: Path | str) -> None:
    """What the test looks at: run the study, kill a worker, leave in the middle of a long run; print what is seen."""
    root, runs = Path(root), make_study(study()).runs()
    seen: dict[str, Any] = {}
    with Apart(root, gpus=None) as executor:
        threading.Thread(target=kill_worker, args=(root, runs[0]), daemon=True).start()
        outcomes = list(run_all(runs, root, executor, retries=1))
        seen["outcomes"] = [(outcome.run.folder, outcome.status, outcome.reason) for outcome in outcomes]
        seen["listening"] = sorted(set(listening(os.getsid(0))))
        seen["sigterm"] = signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
        executor.start(long_run())
        wait_until(lambda: any((root / long_run().folder).glob("checkpoints/step-*.ckpt")))
    print(json.dumps(seen))


def wait_until(true: Callable[[], bool], seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.02)


def kill_worker(root: Path, run: Run) -> None:
    """Kill the Ray worker that has the run, once there is a checkpoint."""
    wait_until(lambda: any((root / run.folder).glob("checkpoints/step-*.ckpt")))
    (worker,) = (pid for pid, _ in members(os.getsid(0)) if title(pid) == f"ray::{run.folder}")
    os.kill(worker, signal.SIGKILL)


def title(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().strip("\0 ")
    except OSError:
        return ""


def members(sid: int) -> Iterator[tuple[int, str]]:
    """Processes of a session that have not ended: their number and name."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, rest = stat.read_text().split("(", 1)[1].rsplit(")", 1)
        except OSError:
            continue
        state, _, _, session_of, *_ = rest.split()
        if int(session_of) == sid and state not in "ZX":
            yield int(stat.parent.name), name


def listening(sid: int) -> Iterator[str]:
    """Addresses, in hexadecimal, at which the processes of a session wait for TCP connections."""
    links = (link for pid, _ in members(sid) for link in Path(f"/proc/{pid}/fd").glob("*"))
    sockets = {os.readlink(link) for link in links if link.is_symlink()}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            _, address, _, state, *_, inode = line.split()[:10]
            if state == "0A" and f"socket:[{inode}]" in sockets:
                yield address.split(":")[0]


@pytest.mark.slow
@pytest.mark.skipif(find_spec("ray") is None, reason="the extra `ray` is not installed")
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
def test_a_study_on_ray_has_the_results_of_this_machine_whatever_is_killed(tmp_path: Path) -> None:
    runs, here, there = make_study(study()).runs(), tmp_path / "here", tmp_path / "there"
    with Local(here, [Device("cpu", "0"), Device("cpu", "1")]) as executor:
        assert {outcome.status for outcome in run_all(runs, here, executor)} == {"completed"}

    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    command = [sys.executable, "-c", SESSION, __file__, str(there)]
    process = subprocess.Popen(
        command,
        env=environment | {"HOME": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    seen = json.loads(output)  # and nothing else: Ray prints nothing

    assert sorted(folder for folder, status, _ in seen["outcomes"] if status == "completed") == sorted(
        run.folder for run in runs
    )
    ((folder, status, reason),) = (outcome for outcome in seen["outcomes"] if outcome[1] != "completed")
    assert (folder, status) == (runs[0].folder, "failed")
    assert "WorkerCrashedError" in reason
    assert "goes on from step-" in (there / folder / "log.txt").read_text()
    for run in runs:
        mine, rays = (read_result(root / run.folder) for root in (here, there))
        assert mine is not None
        assert rays is not None
        assert mine["metrics"] == rays["metrics"]
        assert (here / run.folder / "metrics.csv").read_bytes() == (there / run.folder / "metrics.csv").read_bytes()
    assert (there / runs[0].folder / ".lock").exists(), "worked in place"
    assert not (there / runs[1].folder / ".lock").exists(), "worked elsewhere"

    assert read_result(there / long_run().folder) is None
    assert any((there / long_run().folder).glob("checkpoints/step-*.ckpt"))
    assert set(seen["listening"]) <= {"0100007F", "0000000000000000FFFF00000100007F"}
    assert seen["listening"]
    assert seen["sigterm"]
    assert not (tmp_path / ".ray").exists(), "the token is of this cluster alone"
    assert not list(members(process.pid))
