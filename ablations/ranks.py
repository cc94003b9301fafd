"""A run on several devices: a process for each, its rank, which trains on its share of every batch.

Whoever starts the processes says where each of them stands. Nothing here reads the environment, in which a login shell
or a scheduler may have left variables that lightning would take for its own (HB-34). The ranks find each other by a
file, so that no port is asked for that another run could have, and talk over the loopback.
"""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
import torch.distributed as dist
from lightning.fabric.plugins import ClusterEnvironment
from lightning.fabric.utilities.rank_zero import rank_zero_only
from lightning.pytorch.strategies import DDPStrategy

from models.collective import add_up
from models.collective import gather as gather  # for those who ask what the other ranks have
from models.config import ConfigError
from models.norms import NORMS

if TYPE_CHECKING:
    from ablations.study import Settings

BACKENDS = {"cpu": "gloo", "cuda": "nccl"}


@dataclass(frozen=True)
class Place:
    """Where a process of a run stands."""

    kind: Literal["cpu", "cuda"] = "cpu"
    rank: int = 0
    """Number of the process within its run."""
    ranks: int = 1
    """Processes of the run, one for each device."""
    rendezvous: str | None = None
    """Path of a file that does not exist yet, the same for all ranks of this try and for nothing else."""

    @property
    def device(self) -> torch.device:
        """The process's own. It sees all GPUs of its run, or this one alone."""
        if self.kind == "cpu":
            return torch.device("cpu")
        return torch.device("cuda", self.rank % torch.cuda.device_count())


def check(settings: "Settings") -> None:
    """Raises ConfigError where several devices could not give the numbers of one, or would have nothing to do."""
    devices, norm = settings.train.devices, settings.model.norm
    if devices == 1:
        return
    if NORMS[norm].batch_dependent:
        raise ConfigError(
            f"train.devices={devices}: must be 1 with model.norm={norm!r}, whose statistics are of the whole batch"
        )
    if not settings.train.steps:
        raise ConfigError(f"train.devices={devices}: must be 1 with train.steps=0, which trains nothing")
    if settings.train.batch_size is not None and settings.train.batch_size < devices:
        raise ConfigError(f"train.devices={devices}: must be at most train.batch_size={settings.train.batch_size}")


def noise_seed(seed: int, place: Place) -> int:
    """Seed of a rank's dropout: the run's own on the first, which one device has too, and apart from all on others."""
    return seed if place.rank == 0 else int(np.random.SeedSequence((seed, place.rank)).generate_state(1)[0])


@contextmanager
def joined(place: Place) -> Iterator[None]:
    """The process among the other ranks of its run, if there are any: every Trainer of the run is used inside.

    After an exception it does not take leave of the others: they may be waiting for it, and all are to be ended.
    """
    if place.ranks > 1:
        _join(place)
    yield
    if place.ranks > 1:
        dist.destroy_process_group()


def _join(place: Place) -> None:
    assert place.rendezvous is not None
    loopback = next(name for _, name in socket.if_nameindex() if name.startswith("lo"))
    for backend in ("GLOO", "NCCL"):
        os.environ.setdefault(f"{backend}_SOCKET_IFNAME", loopback)
    os.environ.pop("PL_GLOBAL_SEED", None)  # with it lightning would draw the same noise on all ranks
    if place.kind == "cuda":
        torch.cuda.set_device(place.device)
    store = dist.FileStore(place.rendezvous, place.ranks)  # type: ignore[attr-defined]
    dist.init_process_group(BACKENDS[place.kind], store=store, rank=place.rank, world_size=place.ranks)


def trainer_options(place: Place) -> dict[str, Any]:
    """Arguments of a Trainer; with several ranks, to be made and used where they are `joined`."""
    options = {"accelerator": place.kind, "devices": 1, "use_distributed_sampler": False, "plugins": [_Placed(place)]}
    if place.ranks == 1:
        return options
    # each process is a node of one device: it makes no difference which GPUs of the others it sees. Every parameter has
    # a gradient in every variant, so DDP need not search for those that have none
    strategy = DDPStrategy(process_group_backend=BACKENDS[place.kind], parallel_devices=[place.device])
    return options | {"num_nodes": place.ranks, "strategy": strategy}


class _Placed(ClusterEnvironment):
    """Tells lightning where the process stands."""

    creates_processes_externally = True
    main_address, main_port = "127.0.0.1", 0  # not used: the ranks have met before

    def __init__(self, place: Place) -> None:
        super().__init__()
        self.place = place
        # lightning has taken it from the environment, and would log and save nothing on a rank above 0
        rank_zero_only.rank = place.rank  # type: ignore[attr-defined]

    @staticmethod
    def detect() -> bool:
        return True

    def world_size(self) -> int:
        return self.place.ranks

    def set_world_size(self, size: int) -> None:
        pass

    def global_rank(self) -> int:
        return self.place.rank

    def set_global_rank(self, rank: int) -> None:
        pass

    def local_rank(self) -> int:
        return 0

    def node_rank(self) -> int:
        return self.place.rank


def total(value: float) -> float:
    """Sum of a number over the ranks, on each."""
    device = "cuda" if dist.is_initialized() and dist.get_backend() == "nccl" else "cpu"
    return add_up(torch.tensor(value, dtype=torch.float64, device=device)).item()


def any_rank(flag: bool) -> bool:
    """Whether a flag is set on any rank: for what all of them are to do at the same step or none."""
    return total(flag) > 0
