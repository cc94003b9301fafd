"""What our training step, greedy search and beam search spend their time on: torch's operators by time of their own.

Run: ABLATIONS_DATA=... OMP_NUM_THREADS=1 python tests/benchmarks/translation_profile.py

On the batches and weights of translation.py, whose --run this takes too. The profiler's times are by the clock.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from torch.profiler import ProfilerActivity, profile

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # this file is run as a script

from tests.benchmarks.peers.ours import start  # noqa: E402
from tests.benchmarks.peers.prepare import prepare  # noqa: E402

OPERATORS = 12


def main() -> None:
    """Print a table for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, help="folder of a trained run in place of the base of multi30k-quick")
    with tempfile.TemporaryDirectory() as folder:
        prepare(parser.parse_args().run, Path(folder), steps=16, batches=3)
        _, rounds = start(Path(folder))
    for request in ("training", "greedy", "beam"):
        rounds[request]()
        with profile(activities=[ProfilerActivity.CPU]) as profiler:
            rounds[request]()
        averages = profiler.key_averages()
        print(request)
        print(averages.table(sort_by="self_cpu_time_total", row_limit=OPERATORS, max_name_column_width=50))


if __name__ == "__main__":
    main()
