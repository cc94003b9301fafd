"""What the intervals of the report cover: the figures of the simulation in tests/reports/test_coverage.py.

Run: OMP_NUM_THREADS=1 python tests/benchmarks/coverage.py

Each figure is the least and the most over three seeds fixed beforehand, in per cent of 20,000 made-up studies.
"""

import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # this file is run as a script

from reports.statistics import binomial_interval, same_sign, t_tests
from tests.reports import test_coverage as simulated
from tests.reports.test_coverage import Floats

NUMBERS = (3, 5, 10)
"""Seeds of a study."""

Figure = Callable[[np.random.Generator, int], float]


def main() -> None:
    """Print a line for each kind of study."""
    print("| studies | 3 seeds | 5 seeds | 10 seeds |\n| --- | --- | --- | --- |")
    for name, covered in rows():
        figures = ([100 * covered(np.random.default_rng(seed), n) for seed in simulated.SEEDS] for n in NUMBERS)
        print(
            f"| {name} | " + " | ".join(f"{min(found):.1f} to {max(found):.1f}" for found in figures) + " |", flush=True
        )


def rows() -> Iterable[tuple[str, Figure]]:
    """What is simulated, and its figure by generator and number of seeds."""
    for name in simulated.DRAWS:
        yield f"t interval, {name}", partial(near_normal, name)
    yield "percentile bootstrap, normal (not used)", bootstrapped
    for deviations in ((1.0, 0.0, 3.0), (0.3, 2.0, 2.0), (0.05, 3.0, 0.5)):
        words = "seed {:g}, item {:g}, both {:g}".format(*deviations)
        yield f"seeds and 47 items, deviations {words}", partial(of_items, deviations, True)
        yield "the same over seeds alone", partial(of_items, deviations, False)
    for shared, true in ((True, 0), (False, 0), (False, 4)):
        words = f"8 variants, {'one base' if shared else 'a base each'}, {true} of them different"
        yield f"families with a false positive after Holm, {words}", partial(false_positive, shared, true)
    yield "t interval, one seed in ten fails", bimodal
    yield "k/n with its exact interval, one seed in ten fails", counted


def near_normal(name: str, rng: np.random.Generator, n: int) -> float:
    return holds(simulated.DRAWS[name](rng, (simulated.STUDIES, n)), simulated.MEANS[name])


def holds(differences: Floats, mean: float = 0.0, items: Floats | float = 0.0) -> float:
    """Share of the intervals that hold the mean."""
    low, high, _ = t_tests(differences, items)
    return float(((low <= mean) & (mean <= high)).mean())


def bootstrapped(rng: np.random.Generator, n: int) -> float:
    low, high = simulated.percentile_bootstrap(simulated.normal(rng, (simulated.STUDIES, n)))
    return float(((low <= 0) & (high >= 0)).mean())


def of_items(deviations: tuple[float, float, float], known: bool, rng: np.random.Generator, n: int) -> float:
    differences, items = simulated.study_of_items(rng, n, 47, deviations)
    return holds(differences, 0.0, items if known else 0.0)


def false_positive(shared: bool, true: int, rng: np.random.Generator, n: int) -> float:
    p = simulated.adjusted_p(rng, n, shared, true)
    return float((p[:, true:] < 0.05).any(axis=1).mean())


def bimodal(rng: np.random.Generator, n: int) -> float:
    return holds(simulated.bimodal(rng, n, 0.01), -0.9 * simulated.FAILS)


def counted(rng: np.random.Generator, n: int) -> float:
    differences = simulated.bimodal(rng, n, 0.01)
    low, high = np.array([binomial_interval(k, n) for k in range(n + 1)])[same_sign(differences)].T
    share = simulated.share_on_the_side_of(differences.mean(axis=1), 0.01)
    return float(((low <= share) & (share <= high)).mean())


if __name__ == "__main__":
    main()
