"""What is watched while a run trains: its cost, and the validation values of its best weights."""

import time
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Any, cast

import lightning as L
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.profilers import Profiler
from torch import Tensor

from ablations.progress import Progress, write_progress
from ablations.ranks import gather, total
from models.config import ModelConfig, TaskShape
from models.lit import Module
from models.size import training_flops


def batch_flops(config: ModelConfig, shape: TaskShape, batch: dict[str, Any]) -> float:
    """Floating-point operations of training on one batch, padding included where it is computed like the rest."""
    size, length = batch["targets"].shape
    if "source" not in batch:
        return training_flops(config, shape, size, 0, length)
    packed = float(batch["source_real"].sum()) / size
    return training_flops(config, shape, size, batch["source"].shape[1], length, packed)


def tokens(batch: dict[str, Any]) -> int:
    """Real tokens that a batch trains on: of the target for a translator, of the input for the others."""
    real = batch.get("target_real", batch.get("real"))
    return int(real.sum()) if real is not None else batch["targets"].numel()


class Stopwatch(Callback):
    """Seconds, tokens and operations of the training alone, without validation; in the end those of all ranks."""

    def __init__(self, config: ModelConfig, shape: TaskShape, rank: int = 0) -> None:
        self.config, self.shape, self.rank = config, shape, rank
        self.wall = self.busy = self.flops = 0.0
        self.tokens = 0
        self._began: tuple[float, float] | None = None

    def cost(self) -> dict[str, float | None]:
        """Columns of the result's cost; a rate of a run that has not trained is None.

        The rate is by the CPU's second: by the clock's it would tell how busy the machine was with other runs.
        """
        return {
            "training_flops": self.flops,
            "train_seconds": round(self.wall, 3),
            "busy_seconds": round(self.busy, 3),
            "tokens_per_second": round(self.tokens / self.busy, 1) if self.busy else None,
        }

    def rate(self) -> float | None:
        """Tokens a second of the clock so far, in training, in this process."""
        if self._began is None or not self.tokens:
            return None
        return self.tokens / (self.wall + time.perf_counter() - self._began[0])

    def state_dict(self) -> dict[str, Any]:
        now = self._began or (time.perf_counter(), time.process_time())
        wall, busy = time.perf_counter() - now[0], time.process_time() - now[1]
        own = {"wall": self.wall + wall, "busy": self.busy + busy, "flops": self.flops, "tokens": self.tokens}
        return {"ranks": gather(own)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        own = state_dict["ranks"][self.rank]
        self.wall, self.busy, self.flops, self.tokens = own["wall"], own["busy"], own["flops"], own["tokens"]

    def _start(self) -> None:
        self._began = (time.perf_counter(), time.process_time())

    def _stop(self) -> None:
        if self._began is not None:
            self.wall += time.perf_counter() - self._began[0]
            self.busy += time.process_time() - self._began[1]
        self._began = None

    def on_train_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        self._start()

    def on_validation_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        self._stop()

    def on_validation_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        self._start()

    def on_train_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        self._stop()
        self.busy, self.flops, self.tokens = total(self.busy), total(self.flops), int(total(self.tokens))

    def on_exception(self, trainer: L.Trainer, pl_module: L.LightningModule, exception: BaseException) -> None:
        self._stop()

    def on_train_batch_end(
        self, trainer: L.Trainer, pl_module: L.LightningModule, outputs: Any, batch: dict[str, Any], batch_idx: int
    ) -> None:
        self.tokens += tokens(batch)
        self.flops += batch_flops(self.config, self.shape, batch)


class ValidateLast(Callback):
    """A validation after the last step, whatever the interval: its weights may be the best, and are paid for."""

    def on_train_batch_end(
        self, trainer: L.Trainer, pl_module: L.LightningModule, outputs: Any, batch: dict[str, Any], batch_idx: int
    ) -> None:
        if trainer.global_step >= trainer.max_steps:
            trainer.should_stop = True  # lightning validates before it stops on request, not before it stops by itself


class Best(Callback):
    """Weights and values of the validation at which the monitored one was lowest; NaN never is. Kept in memory."""

    def __init__(self, monitor: str) -> None:
        self.monitor = monitor
        self.values: dict[str, float] = {}
        self.weights: dict[str, Tensor] | None = None
        """Of the model, on the CPU; None as long as no value was finite."""

    def state_dict(self) -> dict[str, Any]:
        return {"values": self.values, "weights": self.weights}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.values, self.weights = state_dict["values"], state_dict["weights"]

    def on_validation_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        values = {
            name: float(value) for name, value in trainer.callback_metrics.items() if name.startswith("validation/")
        }
        if values[self.monitor] < self.values.get(self.monitor, float("inf")):
            self.values = values
            weights = cast(Module, pl_module).model.state_dict()
            self.weights = {name: weight.detach().to("cpu", copy=True) for name, weight in weights.items()}


class Heartbeat(Callback):
    """Says about once a second, in progress.json, how far a run is."""

    INTERVAL = 1.0  # seconds

    def __init__(self, folder: Path, stopwatch: Stopwatch, steps: int, device: str) -> None:
        self.folder, self.stopwatch, self.steps, self.device = folder, stopwatch, steps, device
        self.began = time.monotonic()
        self.first = 0
        self._next = self.began

    def on_train_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        self.first = trainer.global_step

    def on_train_batch_end(
        self, trainer: L.Trainer, pl_module: L.LightningModule, outputs: Any, batch: dict[str, Any], batch_idx: int
    ) -> None:
        now = time.monotonic()
        if now >= self._next and trainer.is_global_zero:
            self._next = now + self.INTERVAL
            self._write(trainer, pl_module, now)

    def on_validation_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        if trainer.is_global_zero:  # it may take longer than all steps since
            self._write(trainer, pl_module, time.monotonic())

    def _write(self, trainer: L.Trainer, pl_module: L.LightningModule, now: float) -> None:
        progress = Progress(
            step=trainer.global_step,
            steps=self.steps,
            loss=cast(Module, pl_module).last_loss,
            tokens_per_second=self.stopwatch.rate(),
            device=self.device,
            seconds=now - self.began,
            first=self.first,
        )
        with suppress(OSError):  # a disk that is full: the results will say so
            write_progress(self.folder, progress)


class NoProfiler(Profiler):
    """Measures nothing. So does Lightning's default, which makes a generator for each of some 40 hooks a step."""

    nothing: AbstractContextManager[Any] = nullcontext()

    def start(self, action_name: str) -> None:
        """Nothing."""

    def stop(self, action_name: str) -> None:
        """Nothing."""

    def profile(self, action_name: str) -> AbstractContextManager[Any]:  # type: ignore[override]
        return self.nothing
