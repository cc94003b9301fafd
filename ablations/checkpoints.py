"""Exact resume: a run that was killed goes on from its last checkpoint and ends as one that never was.

A checkpoint holds what Lightning saves (weights, optimiser, schedule, progress, state of the callbacks) and, from here,
the random state of every rank, how long metrics.csv was, and the seconds spent. It is written after a step and the
validation that follows it, if one does, when all about them has been logged; later rows are cut off and written again.
"""

import io
import json
import os
import random
import shutil
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import lightning as L
import numpy as np
import torch
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.plugins.io import TorchCheckpointIO

from ablations.code import CODE
from ablations.interruption import Stopped, StopRequest
from ablations.ranks import any_rank, gather
from ablations.study import Run, TrainConfig
from reports.rows import write_bytes

FOLDER = "checkpoints"
"""Below the run's."""

KEPT = 2
"""Checkpoints that stay: should the last one be torn, there is one before it."""

State = dict[str, Any]


class Checkpoints(Callback):
    """Writes a checkpoint every `checkpoint_seconds` or `checkpoint_steps`, and when the run is asked to stop.

    Args:
        folder: of the run.
        train: when they are due.
        marks: what a checkpoint must agree in with the run that goes on from it.
        stop: whether the run is asked to stop. Raises Stopped after the checkpoint then.
    """

    def __init__(self, folder: Path, train: TrainConfig, marks: Mapping[str, Any], stop: StopRequest) -> None:
        self.folder, self.rows = folder / FOLDER, folder / "metrics.csv"
        self.train, self.marks, self.stop = train, dict(marks), stop
        self.began = self.written = time.monotonic()
        self.at = 0  # step of the last checkpoint
        self.spent = 0.0
        self._loaded: State | None = None

    def last_usable(self) -> Path | None:
        """The last checkpoint that can be gone on from; says on standard error which it is, and why others are not.

        None: start anew. One that cannot be read is passed over for the one before. Marks that differ (another code,
        another number of devices) make it useless: half a run would be of one kind and half of the other.
        """
        for path in saved(self.folder):
            try:
                state = torch.load(path, map_location="cpu", weights_only=True)["callbacks"][self.state_key]
            except Exception as error:  # whatever a torn file makes of the reader
                print(f"{path.name}: cannot be read ({type(error).__name__})", file=sys.stderr)
                continue
            obstacle = self._obstacle(state)
            print(f"{path.name}: {obstacle}" if obstacle else f"goes on from {path.name}", file=sys.stderr)
            if not obstacle:
                return path
        return None

    def prune(self) -> None:
        """Remove what a run that has ended needs no more: all but the best weights, if they were asked for."""
        if not self.train.keep_checkpoints:
            shutil.rmtree(self.folder, ignore_errors=True)
        remove_steps(self.folder)

    def _obstacle(self, state: State) -> str | None:
        """Why the run cannot go on from a checkpoint with this state."""
        then, now = state["marks"], self.marks
        differing = [
            f"{name} was {then.get(name)!r} and is {now.get(name)!r}"
            for name in dict.fromkeys([*then, *now])
            if then.get(name) != now.get(name)
        ]
        if differing:
            return f"not gone on from, {'; '.join(differing)}"
        whole = self.rows.is_file() and self.rows.stat().st_size >= state["rows"]
        return None if whole else f"not gone on from, {self.rows.name} is shorter than it was then"

    def seconds(self) -> float:
        """Wall seconds that the run has taken so far, with those before it was interrupted."""
        return self.spent + time.monotonic() - self.began

    def state_dict(self) -> State:
        return {
            "random": gather(random_state()),
            "rows": self.rows.stat().st_size if self.rows.is_file() else 0,
            "spent": self.seconds(),
            "marks": self.marks,
        }

    def load_state_dict(self, state_dict: State) -> None:
        self._loaded = state_dict

    def on_train_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        if self._loaded is not None:
            self.spent = self._loaded["spent"]
            set_random_state(self._loaded["random"][trainer.global_rank])
            if trainer.is_global_zero:
                os.truncate(self.rows, self._loaded["rows"])
        if trainer.is_global_zero:
            for path in saved(self.folder):  # of a part that is trained anew
                if step_of(path) > trainer.global_step:
                    path.unlink()
        self.at = trainer.global_step
        self.stop.listen_again()
        self.stop.deferred = True

    def on_train_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        self.stop.deferred = False
        if self.stop.made:
            raise Stopped

    def on_train_batch_end(
        self, trainer: L.Trainer, pl_module: L.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        if trainer.global_step % self.train.validate_every:
            self._save_if_due(trainer)

    def on_validation_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        self._save_if_due(trainer)

    def _save_if_due(self, trainer: L.Trainer) -> None:
        step = trainer.global_step
        if step < self.train.steps and any_rank(self._due(step)):
            self._save(trainer, step)
            if any_rank(self.stop.made):
                raise Stopped

    def _due(self, step: int) -> bool:
        by_steps, by_time = self.train.checkpoint_steps, self.train.checkpoint_seconds
        return (
            self.stop.made
            or bool(by_steps and step - self.at >= by_steps)
            or bool(by_time and time.monotonic() - self.written >= by_time)
        )

    def _save(self, trainer: L.Trainer, step: int) -> None:
        trainer.save_checkpoint(self.folder / f"step-{step}.ckpt", weights_only=False)
        if trainer.is_global_zero:
            for old in saved(self.folder)[KEPT:]:
                old.unlink()
        self.at, self.written = step, time.monotonic()


class WholeFiles(TorchCheckpointIO):
    """Writes a checkpoint in one step: a kill, or a full disk, leaves the old file or the new one whole."""

    def save_checkpoint(self, checkpoint: State, path: str | Path, storage_options: Any = None) -> None:
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        packed = io.BytesIO()
        torch.save(checkpoint, packed)  # of a full disk it would give no intelligible account
        write_bytes(path, packed.getbuffer())


def saved(folder: Path) -> list[Path]:
    """Checkpoints in a folder, the last first."""
    return sorted(folder.glob("step-*.ckpt"), key=step_of, reverse=True)


def remove_steps(folder: Path) -> None:
    """Remove the checkpoints to go on from, whole and half written ones, and the folder if nothing is left in it."""
    half_written = folder.glob(".*.ckpt.*")  # by tries that were killed
    for path in (*saved(folder), *half_written):
        path.unlink(missing_ok=True)
    with suppress(OSError):  # weights were asked for, or it is gone
        folder.rmdir()


def step_of(path: Path) -> int:
    """The number in the name of step-N.ckpt."""
    return int(path.stem.partition("-")[2])


def marks(run: Run, kind: str = "cpu") -> dict[str, Any]:
    """What has to be the same for half a run to fit the other half, in values that JSON has."""
    sections = json.loads(json.dumps(run.settings.identity()))
    return {
        **_flat(sections),
        "seed": run.seed,
        "train.devices": run.settings.train.devices,
        "device": kind,
        "code": CODE,
        "torch": str(torch.__version__),
        "lightning": L.__version__,
    }


def _flat(nested: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Values by dotted path."""
    flat: dict[str, Any] = {}
    for name, value in nested.items():
        flat |= _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: value}
    return flat


def random_state() -> State:
    """Of every generator that a model could draw from, in plain values and tensors, which load safely."""
    name, keys, *rest = np.random.get_state()
    return {
        "python": random.getstate(),
        "numpy": [name, np.asarray(keys).tolist(), *rest],
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
    }


def set_random_state(state: State) -> None:
    """Go on drawing where `random_state` was taken."""
    random.setstate(state["python"])
    np.random.set_state(tuple(state["numpy"]))
    torch.set_rng_state(state["torch"])
    if state["cuda"]:
        torch.cuda.set_rng_state_all(state["cuda"])
