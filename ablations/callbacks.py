"""What is watched while a run trains: its cost, and the validation values of its best weights."""

import time
from typing import Any

import lightning as L
from lightning.pytorch.callbacks import Callback

from models.config import ModelConfig, TaskShape
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
    """Seconds, tokens and operations of the training alone: validation is left out, saving the best weights is not."""

    def __init__(self, config: ModelConfig, shape: TaskShape) -> None:
        self.config, self.shape = config, shape
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


class BestValues(Callback):
    """The values of the validation at which the monitored one was lowest. NaN is never the lowest."""

    def __init__(self, monitor: str) -> None:
        self.monitor = monitor
        self.values: dict[str, float] = {}

    def on_validation_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        values = {
            name: float(value) for name, value in trainer.callback_metrics.items() if name.startswith("validation/")
        }
        if values[self.monitor] < self.values.get(self.monitor, float("inf")):
            self.values = values
