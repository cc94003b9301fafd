"""One run, from its settings to its result. The only place that makes a Trainer."""

import math
import resource
import shutil
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import lightning as L
import torch
from lightning.pytorch.callbacks import Callback, ModelCheckpoint
from torch import nn

from ablations.allocation import keep_freed_memory
from ablations.callbacks import BestValues, Stopwatch, ValidateLast
from ablations.kept import keep_subwords
from ablations.results import Metric, MetricsCsv, Result, now, write_result, write_run, write_table
from ablations.study import Run
from datamodules.base import TaskData
from models.build import build_model
from models.config import TaskShape
from models.lit import Diverged, Module, Translator, make_module
from models.probes import PROBES
from models.size import parameter_count
from models.translations import translation_rows
from reports.rows import ITEMS

MONITOR = "validation/loss"


def train(run: Run, folder: Path, *, commit: str | None = None) -> Result:
    """Train, test and measure one run; `folder` ends up with all that a run's folder holds, result.json last.

    What is tested are the weights of the best validation loss. A loss that is not finite ends the run as `diverged`,
    which is a result with values fixed beforehand: accuracy at chance, BLEU 0, loss ln V. Anything else is raised.
    """
    started, clock = now(), time.perf_counter()
    torch.set_num_threads(1)  # the order of a sum depends on the threads, and so would the last bits of a result
    keep_freed_memory()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "result.json").unlink(missing_ok=True)
    write_run(run, folder, commit)
    data = run.settings.data(run.seed)
    data.setup()
    for note in data.notes:  # pairs dropped and the like, for the log
        print(note, file=sys.stderr)
    shape = task_shape(data)
    model = build_model(run.settings.model, shape, run.seed)
    stopwatch = Stopwatch(run.settings.model, shape)
    result = Result("completed")
    try:
        if run.settings.train.steps:
            result = _fit_and_test(run, folder, data, model, stopwatch)
        result.metrics += _probed(run, data, model)
    except (Diverged, NoFiniteLoss) as diverged:
        result = Result("diverged", str(diverged), _fixed_values(data))
    result.cost = {
        "parameters": parameter_count(run.settings.model, shape),
        **stopwatch.cost(),
        "wall_seconds": round(time.perf_counter() - clock, 3),
        "peak_memory_mib": _peak_memory(),
    }
    write_result(run, folder, result, started, commit)
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
    )


def _fit_and_test(run: Run, folder: Path, data: TaskData[Any], model: nn.Module, stopwatch: Stopwatch) -> Result:
    """Fit, then test the best weights. Raises Diverged and NoFiniteLoss."""
    torch.manual_seed(run.seed)  # dropout
    module = make_module(model, run.settings.train, task_shape(data), data.detokenise, run.settings.decode)
    best = ModelCheckpoint(
        folder / "checkpoints", "best", monitor=MONITOR, save_weights_only=True, enable_version_counter=False
    )
    values = BestValues(MONITOR)
    trainer = _trainer(run, folder, [stopwatch, ValidateLast(), values, best])
    try:
        trainer.fit(module, datamodule=data)
        if not values.values:
            raise NoFiniteLoss("no validation loss is finite")
        if run.settings.train.keep_checkpoints:
            keep_subwords(data, folder / "checkpoints")
        trainer.test(module, datamodule=data, ckpt_path="best", weights_only=True, verbose=False)
    finally:
        if not (run.settings.train.keep_checkpoints and values.values):  # lightning keeps weights of NaN as the best
            shutil.rmtree(folder / "checkpoints", ignore_errors=True)
    tested = {name: float(value) for name, value in trainer.callback_metrics.items() if name.startswith("test/")}
    if not math.isfinite(tested["test/loss"]):
        raise NoFiniteLoss("the test loss is not finite")
    metrics = [Metric.from_key(name, value) for name, value in {**values.values, **tested}.items()]
    metrics += [Metric("test", ITEMS, coordinate, count) for coordinate, count in module.evaluation.items().items()]
    _write_outputs(module, folder / "outputs")
    return Result("completed", metrics=metrics, signatures=module.signatures if isinstance(module, Translator) else {})


def _trainer(run: Run, folder: Path, callbacks: list[Callback]) -> L.Trainer:
    settings = run.settings.train
    return L.Trainer(
        accelerator="cpu",
        devices=1,
        max_steps=settings.steps,
        logger=MetricsCsv(folder / "metrics.csv"),
        callbacks=callbacks,
        val_check_interval=settings.validate_every,
        check_val_every_n_epoch=None,
        num_sanity_val_steps=0,
        log_every_n_steps=min(settings.log_every, settings.steps),
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=folder,
    )


def _write_outputs(module: Module, folder: Path) -> None:
    """Translations and contrastive scores of the test, item by item; `set` is the coordinate, empty for the main set.

    The order is that of evaluation, which depends on the data alone: row n is the same item in every run of a task.
    """
    if isinstance(module, Translator):
        tables = {
            "translations": {at: translation_rows(items) for at, items in module.evaluation.translations.items()},
            "contrasts": {at: [asdict(item) for item in items] for at, items in module.evaluation.contrasts.items()},
        }
        for name, sets in tables.items():
            rows = [{"set": coordinate, **row} for coordinate, rows in sets.items() for row in rows]
            write_table(folder / f"{name}.csv.gz", rows)


def _probed(run: Run, data: TaskData[Any], model: nn.Module) -> list[Metric]:
    """What the run's probes measure on one training batch."""
    if not run.settings.measure:
        return []
    batch = data.training_batch(0)
    return [Metric("probe", *row) for name in run.settings.measure for row in PROBES[name](model, batch)]


def _fixed_values(data: TaskData[Any]) -> list[Metric]:
    """What a diverged run counts as: it knows nothing."""
    fixed = {"loss": math.log(data.output_size), "bleu": 0.0, "accuracy": data.chance}
    return [Metric("test", name, "", value) for name in data.headline if (value := fixed.get(name)) is not None]


def _peak_memory() -> float:
    """Largest memory of this process so far, in MiB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (2**20 if sys.platform == "darwin" else 2**10), 1)  # bytes there, KiB elsewhere
