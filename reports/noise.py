"""The noise of a study, as far as its runs show it: what the planned seeds can show, and how many others would take."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from reports.power import deviation_interval, noise_floor, seeds_needed, smallest_effect
from reports.rows import StudyRows
from reports.values import by_seed, headline_metrics, reported_values, values_table

CHANGES = (0.02, 0.05, 0.1)
"""Parts of the base's mean that are asked for where no effect is given."""

PAIRED = "paired differences"
UNPAIRED = "base times sqrt(2)"


def noise(study: StudyRows, planned: Mapping[str, int], effect: float | None = None) -> list[dict[str, Any]]:
    """One entry for each experiment and headline metric of which the base has two seeds or more.

    experiment, metric; base_seeds and base_mean; noise_floor: sample deviation of the base over its seeds;
    planned_seeds; deviation_basis: PAIRED where some variant shares two seeds with the base, else UNPAIRED (the pairing
    is taken to buy nothing);
    variants: an entry for each that shares two seeds with the base, the noisiest first (UNPAIRED: one, with the variant
    None): variant, seeds that it shares, deviation of the paired differences over them, deviation_low and
    deviation_high, between which the true one lies (95 %, normal values), smallest_effect that the planned seeds show
    with a power of 0.8 (reports.power), and wanted: for each effect (the one given, else CHANGES), change (part of the
    base's mean; None for a given one), effect (in the metric's unit) and seeds needed;
    largest and median: names of the noisiest variant and of the one in the middle (of two the noisier), than which half
    of the variants need no more seeds. None where nothing can be said: too few seeds, a pilot without any spread, an
    effect of 0.

    Each variant has its own deviation, as each is tested with its own: how far a variant scatters depends on what it
    does, so that one for all would be too large for most of them and too small for the noisiest.

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
    wanted = [(change, change * abs(mean)) for change in CHANGES] if effect is None else [(None, effect)]
    paired = sorted(_differences(seeds, base), key=lambda of: -of[1])
    scatter: Sequence[tuple[str | None, float, int]] = paired or [(None, float(np.sqrt(2)) * floor, len(of_base))]
    return {
        "experiment": experiment,
        "metric": metric,
        "base_seeds": len(of_base),
        "base_mean": mean,
        "noise_floor": floor,
        "planned_seeds": planned,
        "deviation_basis": PAIRED if paired else UNPAIRED,
        "largest": scatter[0][0],
        "median": scatter[(len(scatter) - 1) // 2][0],
        "variants": [_variant(*of, planned, wanted) for of in scatter],
    }


def _variant(
    variant: str | None, deviation: float, n: int, planned: int, wanted: Sequence[tuple[float | None, float]]
) -> dict[str, Any]:
    interval = deviation_interval(deviation, n)
    return {
        "variant": variant,
        "seeds": n,
        "deviation": deviation,
        "deviation_low": interval[0] if interval else None,
        "deviation_high": interval[1] if interval else None,
        "smallest_effect": smallest_effect(deviation, planned) if deviation else None,
        "wanted": [
            {"change": change, "effect": size, "seeds": seeds_needed(size, deviation) if deviation else None}
            for change, size in wanted
        ],
    }


def _differences(seeds: Mapping[str, Mapping[int, float]], base: str) -> Iterator[tuple[str, float, int]]:
    """Variants that share two seeds with the base: sample deviation of the paired differences, number of seeds."""
    for variant, of_variant in seeds.items():
        shared = sorted(of_variant.keys() & seeds[base].keys())
        if variant != base and len(shared) > 1:
            differences = [of_variant[seed] - seeds[base][seed] for seed in shared]
            yield variant, float(np.std(differences, ddof=1)), len(shared)
