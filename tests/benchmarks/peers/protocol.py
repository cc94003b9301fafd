"""How a worker and the driver talk: a request is a line on standard input, its answer a line of JSON on a pipe.

A worker is a script that an environment's own Python runs: `python -m tests.benchmarks.peers.NAME FOLDER PIPE`.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Round:
    """One measurement."""

    seconds: float
    """CPU seconds of the process, all of its threads."""
    count: int
    """Real target tokens trained on, or sentences translated."""
    outputs: list[list[int]] = field(default_factory=list)
    """The translations as token ids, without start and end."""


Rounds = Mapping[str, Callable[[], Round]]


def timed(work: Callable[[], int]) -> Round:
    """A round of work that returns its count."""
    started = time.process_time()
    count = work()
    return Round(time.process_time() - started, count)


def timed_outputs(work: Callable[[], list[list[int]]]) -> Round:
    """A round of translation."""
    started = time.process_time()
    outputs = work()
    return Round(time.process_time() - started, len(outputs), outputs)


def until(tokens: list[int], end: int) -> list[int]:
    """The tokens before the first `end`."""
    return tokens[: tokens.index(end)] if end in tokens else tokens


def serve(start: Callable[[Path], tuple[str, Rounds]]) -> None:
    """Body of a worker. `start` loads the prepared folder, and gives a description and the rounds by request."""
    folder, pipe = Path(sys.argv[1]), int(sys.argv[2])
    with os.fdopen(pipe, "w", buffering=1) as answers:
        description, rounds = start(folder)
        print(json.dumps(description), file=answers)
        for request in sys.stdin:
            print(json.dumps(asdict(rounds[request.strip()]())), file=answers)
