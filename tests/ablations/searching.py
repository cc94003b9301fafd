"""A worker of a search that trains nothing: python -m tests.ablations.searching FOLDER URL NAME COUNT HANG.

The value of trial n is n / 2. What it does stands in FOLDER/<pid>.txt. With HANG above 0 it sleeps in its first trial;
the others begin when FOLDER/go is there.
"""

import os
import sys
import time
from pathlib import Path

from optuna.distributions import FloatDistribution

from ablations.trials import Trials, beating, open_storage


def main(folder: Path, url: str, name: str, count: int, hang: float) -> None:
    """Try trials until all have ended. Without a URL the journal in `folder` is the storage."""
    log = folder / f"{os.getpid()}.txt"
    points = [{"train.lr": 0.01 * (number + 1)} for number in range(count)]
    distributions = {"train.lr": FloatDistribution(0.01, 0.01 * count, log=True)}
    trials = Trials(open_storage(folder, url or None), name, points, distributions)
    while not hang and not (folder / "go").exists():
        time.sleep(0.02)
    with beating([trials], every=0.5):
        while any(trials.open()):
            trials.revive()
            for number in range(count):
                if trials.claim(number):
                    with log.open("a") as file:
                        print("begin", number, file=file)
                    time.sleep(hang or 0.05)
                    trials.finish(number, number / 2, 0.05)
                    with log.open("a") as file:
                        print("end", number, file=file)
            time.sleep(0.1)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4]), float(sys.argv[5]))
