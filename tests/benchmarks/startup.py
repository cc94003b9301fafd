"""How long commands take that should be quick. Run: python tests/benchmarks/startup.py"""

import subprocess
import sys
import time

COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "ablations --help": ["-m", "ablations", "--help"],
    "ablations list studies": ["-m", "ablations", "list", "studies"],
    "import torch, lightning": ["-c", "import torch, lightning"],
}
REPEATS = 5


def seconds(arguments: list[str]) -> float:
    """Best of several: what else runs on the machine only adds."""
    times = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
        times.append(time.perf_counter() - started)
    return min(times)


def main() -> None:
    """Print a line for each command."""
    for name, arguments in COMMANDS.items():
        print(f"{name:<28}{seconds(arguments):6.2f} s")


if __name__ == "__main__":
    main()
