"""Where runs go: `--devices` and `--per-device` into devices of this machine.

Which GPU a run sees is decided by CUDA_VISIBLE_DEVICES in its own process, before anything there touches CUDA.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from models.config import ConfigError

FORMS = "auto, cpu, cpu:2, cuda or cuda:0,2"


@dataclass(frozen=True)
class Device:
    """One GPU, or one core of the CPU."""

    kind: Literal["cpu", "cuda"]
    name: str
    """What CUDA_VISIBLE_DEVICES calls it (`0`, `GPU-...`); for the CPU a number from 0."""

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


def cores_available() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def visible_gpus() -> list[str]:
    """The GPUs that this process may use, by the names that CUDA_VISIBLE_DEVICES gives them; makes no CUDA context."""
    import torch

    count = torch.cuda.device_count()
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    names = named.split(",") if named else [str(number) for number in range(count)]
    return [name.strip() for name in names[:count]]


def parse_devices(text: str, gpus: Sequence[str], cores: int) -> list[Device]:
    """The devices that `--devices` names; `gpus` and `cores` are those that there are.

    auto: every GPU, else a run on each core. cpu:N: N runs at a time, a thread each. cuda:I,J: GPUs by their place
    among the visible ones. Raises ConfigError for another form, and for a GPU that is not there.
    """
    kind, colon, which = text.partition(":")
    if text == "auto":
        kind = "cuda" if gpus else "cpu"
    if kind not in ("cpu", "cuda") or bool(colon) != bool(which):
        raise ConfigError(f"--devices {text}: choose from {FORMS}")
    return _gpus(text, which, gpus) if kind == "cuda" else _cores(text, which, cores)


def _cores(text: str, which: str, cores: int) -> list[Device]:
    if which and not (which.isdecimal() and int(which) > 0):
        raise ConfigError(f"--devices {text}: cpu:N wants a number of at least 1")
    return [Device("cpu", str(number)) for number in range(int(which or cores))]


def _gpus(text: str, which: str, gpus: Sequence[str]) -> list[Device]:
    if not gpus:
        raise ConfigError(f"--devices {text}: no GPU is to be seen here; use cpu or auto")
    places = which.split(",") if which else [str(number) for number in range(len(gpus))]
    for place in places:
        if not (place.isdecimal() and int(place) < len(gpus)):
            raise ConfigError(f"--devices {text}: {place!r}: the GPUs here are 0 to {len(gpus) - 1}")
    if len({int(place) for place in places}) < len(places):
        raise ConfigError(f"--devices {text}: a GPU stands there twice")
    return [Device("cuda", gpus[int(place)]) for place in places]
