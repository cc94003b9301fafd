"""Bodies of tests that run on several ranks, a process each."""

import multiprocessing
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.multiprocessing.spawn import ProcessContext, start_processes

from ablations.ranks import Place, joined


def begin(folder: Path, ranks: int, body: Callable[..., Any], *arguments: Any) -> ProcessContext:
    """Start `body(place, *arguments)` on each rank; `folder` is theirs alone."""
    folder.mkdir(parents=True, exist_ok=True)
    multiprocessing.set_forkserver_preload(["ablations.child"])  # as ablations.local has it: there is one server
    started = start_processes(  # type: ignore[no-untyped-call]
        _rank, (folder, ranks, body, arguments), nprocs=ranks, join=False, start_method="forkserver"
    )
    assert started is not None
    return started


def end(folder: Path, started: ProcessContext) -> list[Any]:
    """What each rank has returned. Raises what one has raised."""
    while not started.join():
        pass
    return [pickle.loads((folder / str(rank)).read_bytes()) for rank in range(len(started.processes))]


def together(folder: Path, ranks: int, body: Callable[..., Any], *arguments: Any) -> list[Any]:
    """What `body(place, *arguments)` returns on each rank."""
    return end(folder, begin(folder, ranks, body, *arguments))


def _rank(rank: int, folder: Path, ranks: int, body: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    torch.set_num_threads(1)
    warnings.simplefilter("error")
    for harmless in (".*treespec, LeafSpec.*", ".*does not have many workers.*"):  # as in pyproject.toml
        warnings.filterwarnings("ignore", harmless)
    place = Place("cpu", rank, ranks, str(folder / "rendezvous") if ranks > 1 else None)
    with joined(place):
        result = body(place, *arguments)
    (folder / str(rank)).write_bytes(pickle.dumps(result))
