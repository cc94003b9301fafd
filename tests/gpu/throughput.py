"""Runs packed on one GPU: runs an hour and tokens a second for 1, 2, 4 and 8 at a time.

Run: python tests/gpu/throughput.py

Prints the table of docs/measurements.md in a few minutes. The runs are the base of the study `quick`, a seed each.
The clock runs from the first start to the last end, after one run that is not counted. `--device cpu` tries the script.
"""

import argparse
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from ablations.devices import Device, visible_gpus
from ablations.load import load_study
from ablations.local import Local
from ablations.runner import run_all
from ablations.study import Run
from reports.rows import read_result

COLUMNS = ("runs at a time", "runs/hour", "tokens/s together", "tokens/s of one", "s of one", "peak MiB of one")


def runs_of_quick(number: int, settings: list[str]) -> list[Run]:
    """The base of `quick` with so many seeds."""
    study = load_study("quick", settings, number)
    (experiment,) = study.experiments
    return [run for run in study.runs() if run.variant == experiment.base]


def timed(runs: list[Run], device: Device, per_device: int) -> tuple[float, list[Any]]:
    """Wall seconds of all runs, and their results."""
    with tempfile.TemporaryDirectory() as folder, Local(Path(folder), [device], per_device=per_device) as executor:
        began = time.monotonic()
        outcomes = list(run_all(runs, Path(folder), executor))
        seconds = time.monotonic() - began
        for outcome in outcomes:
            if outcome.status != "completed":
                raise SystemExit(f"{outcome.run.folder}: {outcome.status}: {outcome.reason}")
        return seconds, [read_result(Path(folder) / run.folder) for run in runs]


def row(runs: list[Run], device: Device, per_device: int) -> str:
    """One line of the table."""
    seconds, results = timed(runs, device, per_device)
    costs = [result["cost"] for result in results]
    rates = [cost["tokens_per_second"] * cost["busy_seconds"] / cost["train_seconds"] for cost in costs]  # by the clock
    rate = median(rates)
    wall, peak = (median(cost[name] for cost in costs) for name in ("wall_seconds", "peak_memory_mib"))
    numbers = (len(runs) / seconds * 3600, min(per_device, len(runs)) * rate, rate)
    return f"| {per_device} | " + " | ".join(f"{number:,.0f}" for number in numbers) + f" | {wall:.1f} | {peak:,.0f} |"


def main() -> None:
    """Print the table, a line as soon as it is known."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packed", default="1,2,4,8", help="runs at a time (1,2,4,8)")
    parser.add_argument("--runs", type=int, default=8, help="runs for each line (8)")
    parser.add_argument("--set", action="append", default=[], metavar="PATH=VALUE", help="as of `ablations run`")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    options = parser.parse_args()
    names = visible_gpus() if options.device == "cuda" else ["0"]
    if not names:
        raise SystemExit("no GPU is to be seen here")
    device = Device(options.device, names[0])
    runs = runs_of_quick(options.runs, options.set)
    _, (first,) = timed(runs[:1], device, 1)
    print(f"on {first['device']}, {options.runs} runs a line\n")
    print(f"| {' | '.join(COLUMNS)} |\n{'| --- ' * len(COLUMNS)}|")
    for per_device in map(int, options.packed.split(",")):
        print(row(runs, device, per_device), flush=True)


if __name__ == "__main__":
    main()
