"""How far a run is: progress.json in its folder, and whether its lock is held. Imports no torch."""

import errno
import json
import math
import os
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from filelock import FileLock, Timeout

PROGRESS = "progress.json"
LOCK = ".lock"
"""Held by the process of a run (rank 0 of several) for as long as it works in the run's folder."""


@dataclass(frozen=True)
class Progress:
    """What a run at work says about itself, about once a second."""

    step: int
    """Optimiser steps done."""
    steps: int
    """Optimiser steps of the whole run."""
    loss: float | None
    """Training loss in nats a token; None before there is one, and where it is not finite."""
    tokens_per_second: float | None
    device: str
    seconds: float
    """Since this try began."""
    first: int = 0
    """Steps that were done before this try began: above 0 where it went on from a checkpoint."""

    @property
    def share(self) -> float:
        """Part of the run that is done, from 0 to 1."""
        return self.step / self.steps if self.steps else 0.0

    @property
    def share_of_try(self) -> float:
        """Part of the run that this try has done."""
        return max(0, self.step - self.first) / self.steps if self.steps else 0.0

    def words(self) -> tuple[str, str, str]:
        """Step, loss and rate for people; empty where not known."""
        loss = "" if self.loss is None else f"loss {self.loss:.3f}"
        rate = "" if self.tokens_per_second is None else f"{self.tokens_per_second:,.0f} tokens/s"
        return f"step {self.step}/{self.steps}", loss, rate


def write_progress(folder: Path, progress: Progress) -> None:
    """Replace a run's progress.json in one step; it need not survive a crash of the machine."""
    temporary = folder / f".{PROGRESS}.{os.getpid()}"
    numbers = {name: _finite(value) for name, value in asdict(progress).items()}
    try:
        temporary.write_text(json.dumps(numbers), encoding="utf-8")
        temporary.replace(folder / PROGRESS)
    finally:
        temporary.unlink(missing_ok=True)


def read_progress(folder: Path) -> Progress | None:
    """What a run said last; None where it has said nothing that can be read. A run that was killed cannot unsay it."""
    try:
        content = json.loads((folder / PROGRESS).read_bytes())
        return Progress(**{field.name: content[field.name] for field in fields(Progress) if field.name in content})
    except (OSError, ValueError, TypeError):
        return None


def remove_progress(folder: Path) -> None:
    """Take back what a run said of itself, for it has ended."""
    (folder / PROGRESS).unlink(missing_ok=True)


def is_running(folder: Path) -> bool:
    """Whether a process works in a run's folder."""
    return is_held(folder / LOCK)


def is_held(lock: Path) -> bool:
    """Whether some process holds a lock; makes no file and does not wait.

    A lock that may not be opened counts as held: what is not ours is not ours to touch.
    """
    if not lock.exists():
        return False
    try:
        with FileLock(lock, timeout=0):
            return False
    except (Timeout, PermissionError):
        return True
    except OSError as error:
        if error.errno == errno.EROFS:  # nobody can work on a disk that cannot be written
            return False
        raise


def _finite(value: object) -> object:
    return None if isinstance(value, float) and not math.isfinite(value) else value
