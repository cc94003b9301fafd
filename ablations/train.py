"""One run, from its settings to its result. The only place that makes a Trainer."""

import math
import resource
import sys
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import lightning as L
import torch
from torch import nn

from ablations.allocation import keep_freed_memory
from ablations.callbacks import Best, Heartbeat, Hopeless, NoProfiler, Stopwatch, Target
from ablations.checkpoints import Checkpoints, WholeFiles, marks
from ablations.find import WEIGHTS
from ablations.interruption import StopRequest
from ablations.kept import keep_subwords
from ablations.ranks import Place, joined, noise_seed, trainer_options
from ablations.results import Metric, MetricsCsv, Result, now, write_result, write_run, write_table
from ablations.study import Run
from ablations.updates import UPDATE_RATIO, UpdateRatios
from datamodules.base import TaskData, in_rounds
from models.build import build_model
from models.config import TaskShape
from models.lit import Diverged, Module, Translator, make_module
from models.probes import PROBES
from models.size import parameter_count
from models.translations import translation_rows
from reports.rows import ITEMS

MONITOR = "validation/loss"
ROUND = 4
"""Training steps that Lightning is handed at once: its loop costs as much for one as for several."""
ONE_CPU = Place()
PRECISIONS: dict[str, Literal["32-true", "bf16-mixed"]] = {"float32": "32-true", "bf16-mixed": "bf16-mixed"}
"""Lightning's names."""


def train(
    run: Run, folder: Path, *, commit: str | None = None, place: Place = ONE_CPU, stop: StopRequest | None = None
) -> Result:
    """Train, test and measure one run; `folder` ends up with all that a run's folder holds, result.json last.

    Goes on from the last checkpoint in the folder that fits. Where the run has several devices, each calls this with a
    place of its own, and the first writes. What is tested are the weights of the best validation loss. A loss that is
    not finite ends the run as `diverged`, which is a result with values fixed beforehand: accuracy at chance, BLEU 0,
    loss ln V. Anything else is raised; Stopped where `stop` asked for it.

    A trial of a search is neither tested nor measured; one that is hopeless is completed early, with a reason.
    """
    started = now()
    checkpoints = Checkpoints(folder, run.settings.train, marks(run, place.kind), stop or StopRequest())
    torch.set_num_threads(1)  # the order of a sum depends on the threads, and so would the last bits of a result
    torch.backends.cudnn.allow_tf32 = False  # float32 is float32: torch's default for cuDNN alone keeps ten bits
    keep_freed_memory()
    if place.rank == 0:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "result.json").unlink(missing_ok=True)
        write_run(run, folder, commit)
    data = run.settings.data(run.seed)
    data.setup()
    for note in data.notes:  # pairs dropped and the like, for the log
        print(note, file=sys.stderr)
    fitting = Fitting(run, folder, place, data, checkpoints)
    result = Result("completed")
    try:
        if run.settings.train.steps:
            with joined(place):
                result = fitting.fit() if run.trial else fitting.fit_and_test()
        result.metrics += _probed(run, data, fitting.model)
    except (Diverged, NoFiniteLoss) as diverged:
        result = Result("diverged", str(diverged), [] if run.trial else _fixed_values(data))
    result.device, result.cost, result.notes = device_name(place), fitting.cost(), data.notes
    result.references = {} if run.trial else data.references()  # these are scored on the test
    if place.rank == 0:
        write_result(run, folder, result, started, commit)
        checkpoints.prune()
    return result


class NoFiniteLoss(RuntimeError):
    """Training went through, but an evaluation has no finite loss."""


def task_shape(data: TaskData[Any]) -> TaskShape:
    """What the model must know of the task."""
    return TaskShape(
        kind=data.kind,
        input_sizes=data.input_sizes,
        output_size=data.output_size,
        shared_vocabulary=data.shared_vocabulary,
        start=data.start,
        end=data.end,
        n_answers=data.n_answers,
    )


class Fitting:
    """Fitting and testing the model of one run, and what it took. The data are set up."""

    def __init__(self, run: Run, folder: Path, place: Place, data: TaskData[Any], checkpoints: Checkpoints) -> None:
        self.run, self.folder, self.place, self.data, self.checkpoints = run, folder, place, data, checkpoints
        self.shape = task_shape(data)
        self.model = build_model(run.settings.model, self.shape, run.seed)
        heartbeat = Heartbeat(folder, run.settings.train.steps, device_name(place)) if place.rank == 0 else None
        self.stopwatch = Stopwatch(run.settings.model, self.shape, place.rank, heartbeat)
        self.best = Best(MONITOR)
        self.target = Target(run.settings.train.until_accuracy, run.settings.train.until_loss)
        self.hopeless = _hopeless(run, data)

    def fit(self) -> Result:
        """Train; the values are those of the best validation. Raises Diverged and NoFiniteLoss."""
        self._fit()
        reason = self.hopeless[0].reason if self.hopeless else None
        return Result("completed", reason, [Metric.from_key(*value) for value in self.best.values.items()])

    def fit_and_test(self) -> Result:
        """Train, then test the best weights, which the model has then. Raises Diverged and NoFiniteLoss."""
        module, trainer = self._fit()
        if self.run.settings.train.keep_checkpoints:
            trainer.save_checkpoint(self.folder / WEIGHTS, weights_only=True)
            keep_subwords(self.data, (self.folder / WEIGHTS).parent)
        trainer.test(module, datamodule=self.data, verbose=False)
        tested = {name: float(value) for name, value in trainer.callback_metrics.items() if name.startswith("test/")}
        return self._result(module, tested)

    def _fit(self) -> tuple[Module, L.Trainer]:
        """Train. The model has the best weights then."""
        settings = self.run.settings
        torch.manual_seed(noise_seed(self.run.seed, self.place))  # dropout
        module = make_module(self.model, settings.train, self.shape, self.data.detokenise, settings.decode)
        last = self.checkpoints.last_usable()
        trainer = self._trainer(new=last is None)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*smaller than the logging interval.*")  # it counts rounds
            trainer.fit(module, datamodule=self.data, ckpt_path=last, weights_only=True)
        if self.best.weights is None:
            raise NoFiniteLoss("no validation loss is finite")
        self.model.load_state_dict(self.best.weights)
        return module, trainer

    def cost(self) -> dict[str, float | None]:
        """Columns of the result's cost."""
        return {
            "parameters": parameter_count(self.run.settings.model, self.shape),
            **self.stopwatch.cost(),
            "wall_seconds": round(self.checkpoints.seconds(), 3),
            "peak_memory_mib": peak_memory(self.place),
        }

    def _trainer(self, *, new: bool) -> L.Trainer:
        settings, placed = self.run.settings.train, trainer_options(self.place)
        watching = (
            [UpdateRatios(settings.validate_every, settings.steps)] if UPDATE_RATIO in self.run.settings.measure else []
        )
        self.data.rounds = in_rounds(settings.steps, settings.validate_every, ROUND)
        return L.Trainer(
            **placed | {"plugins": [*placed["plugins"], WholeFiles()]},
            precision=PRECISIONS[settings.precision],
            max_steps=settings.steps,
            logger=MetricsCsv(self.checkpoints.rows, new=new and self.place.rank == 0),
            callbacks=[self.stopwatch, self.best, self.target, *self.hopeless, self.checkpoints, *watching],
            val_check_interval=math.ceil(settings.validate_every / ROUND),
            check_val_every_n_epoch=None,
            num_sanity_val_steps=0,
            log_every_n_steps=min(settings.log_every, settings.steps),
            profiler=NoProfiler(),
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            default_root_dir=self.folder,
        )

    def _result(self, module: Module, tested: dict[str, float]) -> Result:
        """The best validation's values and the test's; the first rank writes what is known of each item."""
        if not math.isfinite(tested["test/loss"]):
            raise NoFiniteLoss("the test loss is not finite")
        metrics = [Metric.from_key(name, value) for name, value in {**self.best.values, **tested}.items()]
        metrics += self._of_training(module)
        metrics += [Metric("test", ITEMS, coordinate, count) for coordinate, count in module.evaluation.items().items()]
        if self.place.rank == 0:
            _write_outputs(module, self.folder / "outputs")
        signatures = module.signatures if isinstance(module, Translator) else {}
        return Result("completed", metrics=metrics, signatures=signatures)

    def _of_training(self, module: Module) -> list[Metric]:
        """The loss of the last logged steps, and what it took to reach the target if it was reached."""
        metrics = [] if module.last_loss is None else [Metric("train", "loss", "", module.last_loss)]
        if self.target.steps is not None:
            took = {"steps_to_target": float(self.target.steps), "flops_to_target": self.stopwatch.flops}
            metrics += [Metric("validation", name, "", value) for name, value in took.items()]
        return metrics


def _hopeless(run: Run, data: TaskData[Any]) -> list[Hopeless]:
    """What ends a trial early, for whoever trains one."""
    if run.trial is None or not run.trial.give_up_after:
        return []
    step = run.trial.give_up_after * run.settings.train.steps
    return [Hopeless(MONITOR, step, run.trial.give_up_above * math.log(data.output_size))]


def _write_outputs(module: Module, folder: Path) -> None:
    """What is known of each item of the test; `set` is the coordinate, empty for the main set.

    The order is that of evaluation, which depends on the data alone: row n is the same item in every run of a task.
    """
    found = module.evaluation
    tables = {
        "translations": {at: translation_rows(items) for at, items in found.translations.items()},
        "contrasts": {at: [asdict(item) for item in items] for at, items in found.contrasts.items()},
        "answers": {at: [item._asdict() for item in items] for at, items in found.sequences.items()},
    }
    for name, sets in tables.items():
        rows = [{"set": coordinate, **row} for coordinate, rows in sets.items() for row in rows]
        write_table(folder / f"{name}.csv.gz", rows)


def _probed(run: Run, data: TaskData[Any], model: nn.Module) -> list[Metric]:
    """What the run's probes measure on the main validation set, which all runs of an experiment share."""
    probes = [PROBES[name] for name in run.settings.measure if name != UPDATE_RATIO]
    if not probes:
        return []
    batches = data.held("validation")[0]
    return [Metric("probe", *row) for probe in probes for row in probe(model, batches)]


def _fixed_values(data: TaskData[Any]) -> list[Metric]:
    """What a diverged run counts as: it knows nothing."""
    fixed = {"loss": math.log(data.output_size), "bleu": 0.0, "accuracy": data.chance}
    return [Metric("test", name, "", value) for name in data.headline if (value := fixed.get(name)) is not None]


def device_name(place: Place) -> str:
    """What a run is trained on, for its result."""
    name = torch.cuda.get_device_name() if place.kind == "cuda" else "cpu"
    return f"{place.ranks} x {name}" if place.ranks > 1 else name


def peak_memory(place: Place) -> float:
    """Largest memory so far, in MiB: that of the first rank's GPU, or of its process."""
    if place.kind == "cuda":
        return round(torch.cuda.max_memory_allocated() / 2**20, 1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (2**20 if sys.platform == "darwin" else 2**10), 1)  # bytes there, KiB elsewhere
