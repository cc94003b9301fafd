"""What is watched while a run trains: its cost, and the validation values of its best weights."""

import time
from collections.abc import Callable
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
    size, length = batch["targets"].shape[:2]
    if "source" not in batch:
        return training_flops(config, shape, size, 0, length)
    packed = float(batch["source_real"].sum()) / size
    return training_flops(config, shape, size, batch["source"].shape[1], length, packed)


def tokens(batch: dict[str, Any]) -> int:
    """Real tokens that a batch trains on: of the target for a translator, of the input for the others."""
    real = batch.get("target_real", batch.get("real"))
    return int(real.sum()) if real is not None else batch["targets"].shape[:2].numel()


class Heartbeat:
    """Says about once a second, in progress.json, how far a run is.

    No callback of its own: each costs Lightning some microseconds at each of a step's hooks.
    """

    INTERVAL = 1.0  # seconds

    def __init__(self, folder: Path, steps: int, device: str) -> None:
        self.folder, self.steps, self.device = folder, steps, device
        self.began = self._next = time.monotonic()
        self.first = 0
        """Steps that were done before this try."""

    def beat(self, step: int, loss: float | None, rate: Callable[[], float | None], *, now: bool = False) -> None:
        """Say that `step` is done, unless something was said less than a second ago; `now`: in any case."""
        moment = time.monotonic()
        if now or moment >= self._next:
            self._next = moment + self.INTERVAL
            seconds = moment - self.began
            with suppress(OSError):  # a disk that is full: the results will say so
                progress = Progress(step, self.steps, loss, rate(), self.device, seconds, self.first)
                write_progress(self.folder, progress)


class Stopwatch(Callback):
    """Seconds, tokens and operations of the training alone, without validation; in the end those of all ranks.

    `heartbeat`, if there is one, is told of every step.
    """

    def __init__(
        self, config: ModelConfig, shape: TaskShape, rank: int = 0, heartbeat: Heartbeat | None = None
    ) -> None:
        self.config, self.shape, self.rank, self.heartbeat = config, shape, rank, heartbeat
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
        if self.heartbeat is not None:
            self.heartbeat.first = trainer.global_step
        self._start()

    def on_validation_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        if self.heartbeat is not None:  # validating may take longer than all steps since
            self.heartbeat.beat(trainer.global_step, cast(Module, pl_module).last_loss, self.rate, now=True)
        self._stop()

    def on_validation_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        self._start()

    def on_train_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        self._stop()
        self.busy, self.flops, self.tokens = total(self.busy), total(self.flops), int(total(self.tokens))

    def on_exception(self, trainer: L.Trainer, pl_module: L.LightningModule, exception: BaseException) -> None:
        self._stop()

    def on_train_batch_end(
        self, trainer: L.Trainer, pl_module: L.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        for one in batch if isinstance(batch, list) else [batch]:
            if "idle" not in one:
                self.tokens += tokens(one)
                self.flops += batch_flops(self.config, self.shape, one)
        if self.heartbeat is not None:
            self.heartbeat.beat(trainer.global_step, cast(Module, pl_module).last_loss, self.rate)


class Best(Callback):
    """Weights and values of the validation at which the monitored one was lowest; NaN never is. Kept in memory.

    Whatever the interval, a validation follows the last step: its weights may be the best, and are paid for.
    """

    def __init__(self, monitor: str) -> None:
        self.monitor = monitor
        self.values: dict[str, float] = {}
        self.weights: dict[str, Tensor] | None = None
        """Of the model, on the CPU; None as long as no value was finite."""

    def state_dict(self) -> dict[str, Any]:
        return {"values": self.values, "weights": self.weights}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.values, self.weights = state_dict["values"], state_dict["weights"]

    def on_train_batch_end(
        self, trainer: L.Trainer, pl_module: L.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        if trainer.global_step >= trainer.max_steps:
            trainer.should_stop = True  # lightning validates before it stops on request, not before it stops by itself

    def on_validation_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        values = {
            name: float(value) for name, value in trainer.callback_metrics.items() if name.startswith("validation/")
        }
        if values[self.monitor] < self.values.get(self.monitor, float("inf")):
            self.values = values
            weights = cast(Module, pl_module).model.state_dict()
            self.weights = {name: weight.detach().to("cpu", copy=True) for name, weight in weights.items()}


class Target(Callback):
    """Ends the training at the first validation whose accuracy, or loss, is as good as wanted; None: never."""

    def __init__(self, accuracy: float | None, loss: float | None) -> None:
        self.accuracy, self.loss = accuracy, loss
        self.steps: int | None = None
        """Optimiser steps that it took; None as long as it was not reached."""

    def state_dict(self) -> dict[str, Any]:
        return {"steps": self.steps}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.steps = state_dict["steps"]

    def on_train_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        trainer.should_stop = trainer.should_stop or self.steps is not None  # it was killed just after it got there

    def on_validation_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        values = trainer.callback_metrics
        reached = [
            self.accuracy is not None and float(values["validation/accuracy"]) >= self.accuracy,
            self.loss is not None and float(values["validation/loss"]) <= self.loss,
        ]
        if self.steps is None and any(reached):
            self.steps = trainer.global_step
            trainer.should_stop = True


class Hopeless(Callback):
    """Ends the training where the first validation at or after a step is worse than a limit fixed beforehand.

    Args:
        monitor: what is judged, a loss.
        step: optimiser step from which on a validation is the one.
        limit: the highest loss with which the training goes on.
    """

    def __init__(self, monitor: str, step: float, limit: float) -> None:
        self.monitor, self.step, self.limit = monitor, step, limit
        self.judged = False
        self.reason: str | None = None
        """Why the training was ended; None where it was not."""

    def state_dict(self) -> dict[str, Any]:
        return {"judged": self.judged, "reason": self.reason}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.judged, self.reason = state_dict["judged"], state_dict["reason"]

    def on_train_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        trainer.should_stop = trainer.should_stop or self.reason is not None  # it was killed just after the judgement

    def on_validation_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        if self.judged or trainer.global_step < self.step:
            return
        self.judged = True
        loss = float(trainer.callback_metrics[self.monitor])
        if not loss <= self.limit:
            at = f"at step {trainer.global_step}"
            self.reason = f"hopeless: {self.monitor} {loss:.4g} {at}, and {self.limit:.4g} is the limit"
            trainer.should_stop = True


class NoProfiler(Profiler):
    """Measures nothing. So does Lightning's default, which makes a generator for each of some 40 hooks a step."""

    nothing: AbstractContextManager[Any] = nullcontext()

    def start(self, action_name: str) -> None:
        """Nothing."""

    def stop(self, action_name: str) -> None:
        """Nothing."""

    def profile(self, action_name: str) -> AbstractContextManager[Any]:  # type: ignore[override]
        return self.nothing
