"""What runs cost beside their training steps: Lightning's loop, set-up and tear-down, a sweep, threads.

Run: OMP_NUM_THREADS=1 python tests/benchmarks/runner.py loop|setup|sweep|threads [--rounds N]

loop: milliseconds a step of `ablations.train.train` and of a bare PyTorch loop that takes the same steps on the same
    batches (loss, clipping, fused AdamW, schedule, the mean loss into a list): blocks of 12 steps by turns in one
    process, so that what else the machine does hits both. Median over the blocks, least and most in brackets; the
    losses that both log must be the same. Validation comes after the last block. --batch-size moves the step from
    its 7 ms.
setup: seconds from the start of a run's process to its end, without the training: a run of one step on very few
    sentences in a process forked as `ablations run` forks them; and how much of it is making the data.
sweep: `ablations run` with 60 runs of about 2 s on two workers: the wall clock from the first run to the last, by half
    the sum of the seconds that their training kept a core busy, and by half the CPU seconds of all processes of the
    command (imports and report included; on Linux).
threads: seconds of two processes of one thread by those of one process of two threads that does the work of both, for
    models of three widths; below 1 two processes are the better use of two cores.
"""

import argparse
import ctypes
import json
import logging
import math
import multiprocessing
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import nn

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # this file is run as a script

from ablations.allocation import keep_freed_memory  # noqa: E402
from ablations.load import make_study  # noqa: E402
from ablations.study import Run  # noqa: E402
from ablations.train import ROUND, task_shape, train  # noqa: E402
from datamodules import TASKS  # noqa: E402
from datamodules.base import Batch  # noqa: E402
from datamodules.order import Order  # noqa: E402
from models.build import build_model  # noqa: E402
from models.losses import predict, token_loss  # noqa: E402
from models.optim import configure  # noqa: E402
from reports.rows import read_metrics, read_result  # noqa: E402

PRELOAD = ["ablations.preload"]  # what the server of the runs has loaded
TWO_WORKERS = ("--devices", "cpu:2")  # of `ablations run`
ORDER = {"name": "order", "target": "reverse", "validation_size": 8, "test_size": 8}
GERMAN = {"name": "german", "validation_size": 8, "test_size": 8, "contrast_size": 8}
ENCODER = {"architecture": "encoder", "d_model": 64, "n_layers": 2, "n_heads": 4}
TRANSLATOR = ENCODER | {"architecture": "encoder-decoder"}
BATCH = 40  # sequences of 16 tokens: about 7 ms a step
STEPS = 300
BLOCK = 3 * ROUND  # steps
PR_SET_CHILD_SUBREAPER = 36  # of Linux' prctl.h


def experiment(task: dict[str, Any], model: dict[str, Any], **settings: Any) -> dict[str, Any]:
    """Of a study: one validation, after the last step."""
    return {"task": task, "model": model, "train": {"validate_every": settings["steps"], **settings}}


def run_of(task: dict[str, Any], model: dict[str, Any], **settings: Any) -> Run:
    """The only run of such a study."""
    study = {"name": "benchmark", "seeds": 1, "experiments": {"only": experiment(task, model, **settings)}}
    return make_study(study).runs()[0]


# ---------------------------------------------------------------------------------------------------------------- loop


def bare(run: Run) -> Iterator[list[float]]:
    """Train a run without Lightning, a step at a time; gives the losses logged so far."""
    data, settings = run.settings.data(run.seed), run.settings.train
    data.setup()
    model = build_model(run.settings.model, task_shape(data), run.seed)
    parameters = list(model.parameters())
    configured: Any = configure(parameters, settings)
    optimiser, schedule = configured["optimizer"], configured["lr_scheduler"]
    logged: list[float] = []
    nats, tokens = torch.zeros((), dtype=torch.float64), torch.zeros((), dtype=torch.int64)
    for step, batch in enumerate(data.train_dataloader(), start=1):
        loss = token_loss(predict(model, batch), batch["targets"], settings.label_smoothing)
        nats += loss.nats.sum()
        tokens += loss.tokens
        optimiser.zero_grad()
        (loss.objective / loss.tokens).backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(parameters, settings.clip)
        optimiser.step()
        schedule.step()
        if step % settings.log_every == 0:
            logged.append(nats.item() / int(tokens))
            nats.zero_()
            tokens.zero_()
        yield logged


class ByTurns(Order):
    """Whenever it is asked for the first batch of a block, the other loop has its turn."""

    turn: ClassVar[Callable[[], None]]

    def training_batch(self, index: int) -> Batch:
        if index % BLOCK == 0:
            ByTurns.turn()
        return super().training_batch(index)


class Turns:
    """Seconds of the blocks of both loops."""

    def __init__(self, run: Run) -> None:
        self.steps = bare(run)
        self.plain: list[float] = []
        self.ours: list[float] = []
        self.losses: list[float] = []
        self._since: float | None = None

    def __call__(self) -> None:
        now = time.perf_counter()
        if self._since is not None:
            self.ours.append(now - self._since)
        *_, self.losses = islice(self.steps, BLOCK)
        self._since = time.perf_counter()
        self.plain.append(self._since - now)


def loop(rounds: int, batch_size: int) -> None:
    """Both loops by turns; the first block of each round warms up."""
    TASKS["by-turns"] = ByTurns
    settings = {"steps": STEPS, "batch_size": batch_size}
    plain: list[float] = []
    ours: list[float] = []
    for _ in range(rounds):
        ByTurns.turn = turns = Turns(run_of(ORDER, ENCODER, **settings))
        with tempfile.TemporaryDirectory() as folder:
            train(run_of(ORDER | {"name": "by-turns"}, ENCODER, **settings), Path(folder))
            check_same(logged(Path(folder)), turns.losses)
        plain += [1000 * seconds / BLOCK for seconds in turns.plain[1:-1]]
        ours += [1000 * seconds / BLOCK for seconds in turns.ours[1:]]
    pairs = list(zip(plain, ours, strict=True))
    print(f"bare loop             {spread(plain)} ms a step")
    print(f"Lightning's loop      {spread(ours)} ms a step")
    print(f"difference            {spread([b - a for a, b in pairs])} ms a step")
    print(f"ratio                 {spread([b / a for a, b in pairs])}  (at most 1.10)")


def logged(folder: Path) -> list[float]:
    """The training losses of a run, in order."""
    return [row.value for row in read_metrics(folder) if (row.split, row.metric) == ("train", "loss")]


def check_same(ours: Sequence[float], theirs: Sequence[float]) -> None:
    """A loop that does something else is not to be compared."""
    if not all(math.isclose(*pair, rel_tol=1e-7) for pair in zip(ours, theirs, strict=False)):
        raise SystemExit("the two loops have not trained the same")


# --------------------------------------------------------------------------------------------------------------- setup


def setup(rounds: int) -> None:
    """A run of one step in a process of its own."""
    context = server()
    for name, task, model in (("order", ORDER, ENCODER), ("german", GERMAN, TRANSLATOR)):
        run = run_of(task, model, steps=1, batch_size=8)
        whole, data = [], []
        with tempfile.TemporaryDirectory() as folder:
            for number in range(rounds + 1):
                into = Path(folder) / str(number)
                seconds = in_a_process(context, train, run, into)
                result = read_result(into)
                assert result is not None
                if number:  # the first warms up
                    whole.append(seconds - (result["cost"]["train_seconds"] or 0.0))
                    data.append(in_a_process(context, make_data, run) - in_a_process(context, nothing))
        print(f"{name:<10}{spread(whole)} s  (at most 0.3), of which the data {spread(data)} s")


def server() -> ForkServerContext:
    """Where runs are forked from."""
    os.environ["OMP_NUM_THREADS"] = "1"
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOAD)
    return context


def in_a_process(context: ForkServerContext, function: Callable[..., object], *arguments: object) -> float:
    """Seconds from the start of the process to its end."""
    started = time.perf_counter()
    process = context.Process(target=function, args=arguments)
    process.start()
    process.join()
    assert process.exitcode == 0
    return time.perf_counter() - started


def make_data(run: Run) -> None:
    """What a run does first."""
    run.settings.data(run.seed).setup()


def nothing() -> None:
    """A process is started and ends."""


# --------------------------------------------------------------------------------------------------------------- sweep


def sweep(batch_size: int) -> None:
    """The command, on 60 runs."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)  # the server outlives the command and is then ours to wait for
    train_for = experiment(ORDER, ENCODER, steps=STEPS - 10, batch_size=batch_size)
    study = {"name": "sweep", "seeds": 30, "experiments": {"only": train_for | {"vary": {"model.position": ["none"]}}}}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sweep.yaml"
        path.write_text(json.dumps(study), encoding="utf-8")  # JSON is YAML
        wall = seconds_of_runs([sys.executable, "-m", "ablations", "run", str(path), "--output", folder, *TWO_WORKERS])
        costs = [json.loads(path.read_text(encoding="utf-8"))["cost"] for path in Path(folder).rglob("result.json")]
    wait_for_all()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = sum(cost["busy_seconds"] for cost in costs)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"{len(costs)} runs: {wall:.1f} s; training {busy:.1f} s, {busy / len(costs):.2f} s a run; CPU {cpu:.1f} s")
    print(f"wall / (training / 2) {wall / (busy / 2):.3f}  (at most 1.25)")
    print(f"wall / (CPU / 2)      {wall / (cpu / 2):.3f}")


def seconds_of_runs(command: Sequence[str]) -> float:
    """Seconds between the line that says how many runs there are and that of the last run."""
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        assert process.stderr is not None
        moments = [time.perf_counter() for line in process.stderr if "runs to train" in line or line.startswith("[")]
    assert process.returncode == 0
    return moments[-1] - moments[0]


def wait_for_all() -> None:
    """Until no child is left."""
    while True:
        try:
            os.wait()
        except ChildProcessError:
            return


# ------------------------------------------------------------------------------------------------------------- threads


def threads(rounds: int, batch_size: int) -> None:
    """Two processes and one, by turns."""
    context = server()
    for width in (32, 64, 128):
        run = run_of(ORDER, ENCODER | {"d_model": width}, steps=STEPS, batch_size=batch_size)
        ratios = [together(context, run, 1, 1) / together(context, run, 2) for _ in range(rounds)]
        print(f"d_model {width:<4} two processes / one of two threads, for the work of both: {spread(ratios)}")


def together(context: ForkServerContext, run: Run, *each: int) -> float:
    """Seconds of processes with these many threads that share the steps of two runs."""
    barrier, queue = context.Barrier(len(each)), context.Queue()
    work = [(run, count, 2 // len(each), barrier, queue) for count in each]
    processes = [context.Process(target=worker, args=arguments) for arguments in work]
    for process in processes:
        process.start()
    seconds = max(float(queue.get()) for _ in processes)
    for process in processes:
        process.join()
    return seconds


def worker(run: Run, count: int, times: int, barrier: Any, queue: Any) -> None:
    """Train a run `times` times, after some steps to warm up; the processes begin at a time."""
    torch.set_num_threads(count)
    keep_freed_memory()  # as in every run
    exhaust(islice(bare(run), BLOCK))
    barrier.wait()
    started = time.perf_counter()
    for _ in range(times):
        exhaust(bare(run))
    queue.put(time.perf_counter() - started)


def exhaust(steps: Iterator[object]) -> None:
    """Take them all."""
    for _ in steps:
        pass


# ------------------------------------------------------------------------------------------------------------- command


def spread(values: Sequence[float]) -> str:
    """Median, least, most."""
    least, middle, most = (f"{f(values):.3f}" for f in (min, statistics.median, max))
    return f"{middle} ({least} to {most})"


def main() -> None:
    """Measure one thing and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("loop", "setup", "sweep", "threads"))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--batch-size", type=int, default=BATCH)
    options = parser.parse_args()
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", ".*does not have many workers.*|.*LeafSpec.*")
    match options.what:
        case "loop":
            loop(options.rounds, options.batch_size)
        case "setup":
            setup(options.rounds)
        case "sweep":
            sweep(options.batch_size)
        case "threads":
            threads(options.rounds, options.batch_size)


if __name__ == "__main__":
    main()
