"""The noise of a study, as far as its runs show it: what the planned seeds can show, and how many others would take."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from reports.power import deviation_interval, noise_floor, seeds_needed, smallest_effect
from reports.rows import StudyRows
from reports.table import by_seed, headline_metrics, reported_values, values_table

CHANGES = (0.02, 0.05, 0.1)
"""Parts of the base's mean that are asked for where no effect is given."""

PAIRED = "paired differences"
UNPAIRED = "base times sqrt(2)"


def noise(study: StudyRows, planned: Mapping[str, int], effect: float | None = None) -> list[dict[str, Any]]:
    """One entry for each experiment and headline metric of which the base has two seeds or more.

    experiment, metric; base_seeds and base_mean; noise_floor: sample deviation of the base over its seeds;
    deviation: of the paired differences, with deviation_basis (PAIRED: the largest of the variants that share two seeds
    with the base, deviation_variant; UNPAIRED: none does, and the pairing is taken to buy nothing), deviation_seeds,
    and deviation_low and deviation_high, between which the true one lies (95 %, normal values);
    planned_seeds, and smallest_effect, which they show with a power of 0.8 (reports.power);
    wanted: for each effect (the one given, else CHANGES), change (part of the base's mean; None for a given one),
    effect (in the metric's unit) and seeds needed. None where nothing can be said: too few seeds, a pilot without any
    spread, an effect of 0.

    Args:
        study: runs that are there, pilots among them; a number of seeds for each variant.
        planned: seeds that each experiment is to have.
        effect: in the metric's unit.
    """
    values = reported_values(values_table(study))
    found = []
    for name, plan in study.plan["experiments"].items():
        for metric in headline_metrics(values, name, plan):
            if entry := _entry(values, name, metric, plan["base"], planned[name], effect):
                found.append(entry)
    return found


def _entry(
    values: pd.DataFrame, experiment: str, metric: str, base: str, planned: int, effect: float | None
) -> dict[str, Any] | None:
    seeds = by_seed(values, experiment, metric)
    of_base = list(seeds.get(base, {}).values())
    floor = noise_floor(of_base) if of_base else None
    if floor is None:
        return None
    mean = float(np.mean(of_base))
    deviation, basis = _deviation(seeds, base)
    interval = deviation_interval(deviation, basis["deviation_seeds"])
    wanted = [(change, change * abs(mean)) for change in CHANGES] if effect is None else [(None, effect)]
    return {
        "experiment": experiment,
        "metric": metric,
        "base_seeds": len(of_base),
        "base_mean": mean,
        "noise_floor": floor,
        "deviation": deviation,
        **basis,
        "deviation_low": interval[0] if interval else None,
        "deviation_high": interval[1] if interval else None,
        "planned_seeds": planned,
        "smallest_effect": smallest_effect(deviation, planned) if deviation else None,
        "wanted": [
            {"change": change, "effect": size, "seeds": seeds_needed(size, deviation) if deviation else None}
            for change, size in wanted
        ],
    }


def _deviation(seeds: Mapping[str, Mapping[int, float]], base: str) -> tuple[float, dict[str, Any]]:
    """Sample deviation of paired differences, and what it rests on."""
    found = []
    for variant, of_variant in seeds.items():
        shared = sorted(of_variant.keys() & seeds[base].keys())
        if variant != base and len(shared) > 1:
            differences = [of_variant[seed] - seeds[base][seed] for seed in shared]
            found.append((float(np.std(differences, ddof=1)), variant, len(shared)))
    if found:
        deviation, variant, n = max(found, key=lambda of: of[0])
        return deviation, {"deviation_basis": PAIRED, "deviation_variant": variant, "deviation_seeds": n}
    of_base = list(seeds[base].values())
    deviation = float(np.sqrt(2) * np.std(of_base, ddof=1))
    return deviation, {"deviation_basis": UNPAIRED, "deviation_variant": None, "deviation_seeds": len(of_base)}
