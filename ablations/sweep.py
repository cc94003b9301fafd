"""`ablations run`: train what is missing, show how far it is, end with the report."""

import os
import shlex
import shutil
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from typing import Any, Literal

from filelock import FileLock, Timeout

from ablations import ranks
from ablations.calibrate import predicted_flops
from ablations.checkpoints import FOLDER, remove_steps
from ablations.checks import with_data
from ablations.devices import cores_available, parse_devices, visible_gpus
from ablations.events import check_tensorboard, following
from ablations.find import SINGLE
from ablations.live import shown
from ablations.local import Local
from ablations.pace import Shard, shards_at_work, sweep_file, sweep_lock, write_sweep
from ablations.plan import write_plan
from ablations.results import current_commit
from ablations.reuse import take_shared
from ablations.runner import Executor, Outcome, run_all
from ablations.study import Run, Study
from models.config import ConfigError
from reports.rows import COUNTED, RowsError, final_results, read_plan, readable_run, run_folders, status

BUSY = "another sweep is at work in {}; wait for it or choose another --output"
PATIENCE = 1.0  # seconds for `ablations status` to let go of a lock that it tries


@dataclass(frozen=True)
class Options:
    """How a study is run: where, which part of it, and what becomes of runs that fail."""

    devices: str = "auto"
    per_device: int = 1
    executor: Literal["local", "ray"] = "local"
    shard: Shard = (1, 1)
    """I and N: part I of N."""
    retries: int = 1
    timeout: float | None = None
    """Seconds that a run may take."""
    redo: bool = False
    tensorboard: bool = False
    """Whether the curves are written for TensorBoard too."""


def sweep(study: Study, root: Path, options: Options, planned: Study | None = None) -> int:
    """Run a study in `root` and report it. Returns the exit status: 0, or 1 where some run failed.

    Raises ConfigError or DataError as `train_missing` does.
    """
    outcomes = train_missing(study, root, options, planned)
    counts = ", ".join(f"{n} {status}" for status, n in Counter(outcome.status for outcome in outcomes).items())
    say(counts or "nothing to train: all runs are done" + ("" if options.shard == (1, 1) else " in this shard"))
    if options.shard == (1, 1):
        from reports.pages.page import build  # plotting is not needed before

        tell_page(build(root), study, root)
    else:
        say(f"the other shards may be at work still; when all are done: ablations report {study.name}")
    return 1 if any(outcome.status == "failed" for outcome in outcomes) else 0


def train_missing(study: Study, root: Path, options: Options, planned: Study | None = None) -> list[Outcome]:
    """Train what is not done yet (with `redo` everything); what is done is not touched. Returns how each run ended.

    A `planned` study is the one that `study` is a part of: the folder's plan is then its, if there is none yet.

    Raises ConfigError where a model does not suit its data or its devices, where `root` cannot be written and where
    another sweep is at work in it; DataError where data cannot be read. Nothing is written then.
    """
    commit = current_commit()  # of the code that the runs are about to load
    if options.tensorboard:
        check_tensorboard()
    executor = make_executor(root, options, commit)
    runs = _unique(study.runs())
    done = {} if options.redo else final_results(root)
    costs = checked(runs if options.shard != (1, 1) else [run for run in runs if run.id not in done])
    mine = longest_first(runs, costs)[options.shard[0] - 1 :: options.shard[1]]
    for run in mine:
        if run.id not in done:
            executor.check(run)
    with sole_sweep(root, options.shard):
        refuse_other_study(study, root)
        if planned is None:
            _refuse_to_forget_looks(study, root)
            _say_left_out(study, root)
            write_plan(study, study.runs(), root)
        elif not (root / "plan.json").is_file():
            write_plan(planned, planned.runs(), root)
        done = {} if options.redo else final_results(root)  # another sweep may have ended meanwhile
        missing = [run for run in mine if run.id not in done]
        _say_other_code([done[run.id] for run in runs if run.id in done], commit)
        missing = _without_shared(missing, root, options, commit)
        if missing:
            say(f"{len(missing)} of {len(runs)} runs to train in {root}")
        costs = {run.id: costs.get(run.id, 0.0) for run in missing}
        try:
            return _trained(mine, missing, costs, root, executor, options) if missing else []
        finally:
            _prune(mine, root)


def _without_shared(missing: list[Run], root: Path, options: Options, commit: str | None) -> list[Run]:
    """What is left to train once the results that other studies have are here."""
    taken = {} if options.redo else take_shared(missing, root, commit)
    if taken:
        studies = sorted({place.parents[2].name for place in taken.values()})
        say(f"taken from {', '.join(studies)}, with the same settings, seed, data and code: {len(taken)} of the runs")
    return [run for run in missing if run.id not in taken]


def _trained(
    mine: Sequence[Run],
    missing: Sequence[Run],
    costs: Mapping[str, float],
    root: Path,
    executor: Executor,
    options: Options,
) -> list[Outcome]:
    """Train what is missing of this shard's runs."""
    with executor as places, following(root) if options.tensorboard else nullcontext():
        if options.redo:
            forget({run.id for run in mine}, root)
        write_sweep(root, options.shard, places.workers, costs, len(mine) - len(missing))
        outcomes = run_all(missing, root, places, options.retries)
        return [outcome for outcome in shown(outcomes, missing, root, costs) if not outcome.again]


def _prune(runs: Iterable[Run], root: Path) -> None:
    """Remove what a run that was killed just after its result was written could not remove itself."""
    for run in runs:
        if status(root / run.folder) in COUNTED:
            remove_steps(root / run.folder / FOLDER)


def make_executor(root: Path, options: Options, commit: str | None) -> Executor:
    """Where the runs go. Raises ConfigError for devices that are not there."""
    common: Any = {"per_device": options.per_device, "timeout": options.timeout, "commit": commit}
    if options.executor == "ray":
        from ablations.cluster import Cluster, wants_gpus

        return Cluster(root, gpus=wants_gpus(options.devices), **common)
    gpus = visible_gpus()
    devices = parse_devices(options.devices, gpus, cores_available())
    if options.devices == "auto" and not gpus:
        say("no GPU is to be seen; the runs go to the CPU, a thread each")
    return Local(root, devices, **common)


def _unique(runs: Iterable[Run]) -> list[Run]:
    """One of those that have the same id, and so the same result: two experiments may share their base."""
    return list({run.id: run for run in reversed(list(runs))}.values())[::-1]


def checked(runs: Sequence[Run]) -> dict[str, float]:
    """Look at model, data and devices of each variant before anything is written.

    Returns the operations of each run, by id. Warnings of the data are shown, each once.
    """
    variants = {(run.experiment, run.variant, run.trial): run.settings for run in runs}
    for settings in variants.values():
        ranks.check(settings)
    costs, notes = {}, dict[str, None]()
    for key, (settings, data) in zip(variants, with_data(variants.values()), strict=True):
        costs[key] = predicted_flops(settings, data)
        notes |= dict.fromkeys(data.notes)
    for note in notes:
        if note.startswith("warning:"):
            say(note)
    return {run.id: costs[run.experiment, run.variant, run.trial] for run in runs}


def longest_first(runs: Iterable[Run], costs: Mapping[str, float]) -> list[Run]:
    """What needs several devices, then what takes longest: the last to end are short, and no device waits for long."""
    return sorted(runs, key=lambda run: (-run.settings.train.devices, -costs.get(run.id, 0.0), run.seed))


@contextmanager
def sole_sweep(root: Path, shard: Shard) -> Iterator[None]:
    """Hold the lock of a shard. Other shards of as many may be at work, nothing else.

    Raises ConfigError where something else is, and where `root` cannot be written.
    """
    lock = FileLock(sweep_lock(root, shard), timeout=PATIENCE)
    try:
        root.mkdir(parents=True, exist_ok=True)
        lock.acquire()
        sweep_file(root, shard).unlink(missing_ok=True)  # of a sweep that was killed
    except Timeout as error:
        raise ConfigError(BUSY.format(root)) from error
    except (FileExistsError, NotADirectoryError, PermissionError) as error:
        raise ConfigError(f"--output: {error.filename}: {error.strerror}") from error
    try:
        if any(number != shard[1] for _, number in shards_at_work(root)):
            raise ConfigError(BUSY.format(root))
        yield
    finally:
        lock.release()


def refuse_other_study(study: Study, root: Path) -> None:
    """Two studies may have names that make one folder: the plan of the second would make the first's runs foreign."""
    if (root / "plan.json").is_file():
        with suppress(RowsError):  # a plan that cannot be read is written anew
            there = read_plan(root)["study"]
            if there != study.name:
                raise ConfigError(f"name={study.name!r}: {root} holds the study {there!r}; give one another name")


def _refuse_to_forget_looks(study: Study, root: Path) -> None:
    """Seeds that were added after looking make other intervals than seeds fixed beforehand."""
    fixed = {experiment.name for experiment in study.experiments if not experiment.looks}
    with suppress(RowsError):
        before = read_plan(root)["experiments"]
        looked = [name for name, plan in before.items() if plan.get("looks") and name in fixed]
        if looked:
            raise ConfigError(
                f"{looked[0]}: its seeds were added by looking at results; go on with --until-resolved, or elsewhere "
                "with another --output"
            )


def _say_left_out(study: Study, root: Path) -> None:
    """What was planned before and is no more: its runs stay, and the report does not have them."""
    if study.name == SINGLE:
        return  # its plan names the last run alone
    with suppress(RowsError):
        now = {experiment.name: len(experiment.variants) for experiment in study.experiments}
        before = {name: len(plan["variants"]) for name, plan in read_plan(root)["experiments"].items()}
        left = [name for name, variants in before.items() if now.get(name, 0) < variants]
        if left:
            say(f"planned before and not now: {', '.join(left)}, in whole or part; their runs stay, without a report")


def forget(ids: Collection[str], root: Path) -> None:
    """Remove what earlier tries left of these runs, wherever it lies, so that nothing is taken from there."""
    for folder in run_folders(root):
        run = readable_run(folder)
        inside = folder.resolve() == root.resolve() / folder.relative_to(root)  # and not where a link leads
        if inside and run is not None and run["id"] in ids:
            shutil.rmtree(folder)


def _say_other_code(done: Iterable[Mapping[str, object]], commit: str | None) -> None:
    """The id of a run does not hold the code: say where results come from other code than is here now."""
    others = sum(result["commit"] != commit or str(commit).endswith("-dirty") for result in done)
    if others:
        say(f"{others} of the runs that are done come from other code or from changed files; --redo trains them again")


def tell_page(page: Path, study: Study, root: Path) -> None:
    """Where the report of the study in `root` lies, on standard output; on standard error how it is opened."""
    print(page, flush=True)
    named = study.name if root == Path("runs") / study.folder else os.path.join(root, "")
    say(f"that is the report; this opens it: {_program()} report {shlex.quote(named)} --open")


def _program() -> str:
    """How this command is typed: by its name where the shell finds it, else by its path."""
    beside = Path(sys.executable).with_name("ablations")
    return "ablations" if which("ablations") or not beside.is_file() else os.path.relpath(beside)


def say(text: str) -> None:
    """A line on standard error."""
    with suppress(BrokenPipeError):  # whoever read it has gone; the runs go on
        print(text, file=sys.stderr, flush=True)
