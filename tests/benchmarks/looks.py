"""Seeds added by looks: false effects and runs saved, by the simulation of tests/reports/test_sequential.py.

Run: OMP_NUM_THREADS=1 python tests/benchmarks/looks.py
"""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # this file is run as a script

from reports.sequential import LOOKS
from reports.statistics import holm_adjusted, t_tests
from tests.reports.test_sequential import STUDIES, VARIANTS, Floats, failing, normal, stopped


def main() -> None:
    """Print both tables."""
    print("| 20,000 studies without an effect | one contrast | any of seven (Holm) |\n| --- | --- | --- |")
    for name, draw in (("normal", normal), ("one seed in ten fails", failing)):
        _, p_values = stopped(draw(np.random.default_rng(7)).reshape(-1, LOOKS[-1]))
        of_study = p_values.reshape(STUDIES, VARIANTS)
        family = (holm_adjusted(of_study) < 0.05).any(axis=1)
        print(f"| {name} | {per_cent((of_study[:, 0] < 0.05).mean())} | {per_cent(family.mean())} |")
    found = [t_tests(normal(np.random.default_rng(9))[:, 0, :n])[2] < 0.05 for n in LOOKS]
    print(f"| normal, each look at 95 % (not used) | {per_cent(np.any(found, axis=0).mean())} | |")
    print("\n| effect, in deviations of the differences | runs saved against 20 seeds for all |\n| --- | --- |")
    for effect in (1.0, 1.5, 2.5):
        print(f"| {effect:g} | {per_cent(saved(normal(np.random.default_rng(11), effect)))} |")


def saved(differences: Floats) -> float:
    """Share of the runs, those of the base counted, that studies (STUDIES, VARIANTS, 20) do without."""
    seeds, _ = stopped(differences.reshape(-1, LOOKS[-1]))
    of_study = seeds.reshape(STUDIES, VARIANTS)
    runs = of_study.sum(axis=1) + of_study.max(axis=1)
    return float(1 - runs.mean() / (LOOKS[-1] * (VARIANTS + 1)))


def per_cent(share: float) -> str:
    """A share as text."""
    return f"{100 * share:.1f} %"


if __name__ == "__main__":
    main()
