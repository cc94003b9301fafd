"""A variant over several experiments: the middle of its effects, and how often its runs beat those of the base."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reports.aggregates import Improvement, interquartile_mean_effect, probability_of_improvement
from reports.experiment import Experiment
from reports.metrics import facts
from reports.pages.grids import Cell, Grid, tags
from reports.plans import describe_changes
from reports.sequential import level_text, look_level, strictest
from reports.values import by_seed
from reports.wording import change, interval

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Shared:
    """A variant that several experiments have, on a metric that all of them have."""

    metric: str
    variant: str
    experiments: tuple[Experiment, ...]
    base_scores: Floats
    """(S, T): S seeds that all runs have a value for, T experiments."""
    variant_scores: Floats


def overall_grid(experiments: Sequence[Experiment]) -> Grid | None:
    """A row for each headline metric and variant that at least two experiments share; None where there is none.

    The points of a grid are one experiment taken apart, so they are left out.
    """
    rows = [_cells(shared) for shared in _shared([e for e in experiments if not e.plan.get("grid")])]
    columns = ["Metric", "Variant", "Experiments", "Seeds", "Interquartile mean of the change", "Beats the base"]
    return Grid(title="Every variant over all experiments", columns=columns, rows=rows) if rows else None


def _shared(experiments: Sequence[Experiment]) -> Iterator[Shared]:
    metrics = dict.fromkeys(metric for experiment in experiments for metric in experiment.compared)
    for metric in (metric for metric in metrics if facts(metric).better):
        values = {e.name: by_seed(e.values, e.name, metric) for e in experiments}
        for (variant, _), places in _variants(experiments).items():
            having = [e for e in places if e.base in values[e.name] and variant in values[e.name]]
            of_seed = [values[e.name][name] for e in having for name in (e.base, variant)]
            seeds = sorted(set.intersection(*map(set, of_seed))) if of_seed else []
            if len(having) > 1 and seeds:
                yield Shared(
                    metric=metric,
                    variant=variant,
                    experiments=tuple(having),
                    base_scores=np.array([[values[e.name][e.base][seed] for e in having] for seed in seeds]),
                    variant_scores=np.array([[values[e.name][variant][seed] for e in having] for seed in seeds]),
                )


def _variants(experiments: Sequence[Experiment]) -> dict[tuple[str, str], list[Experiment]]:
    """Experiments by variant; two variants are one if they have the same name and change the same."""
    found: dict[tuple[str, str], list[Experiment]] = {}
    for experiment in experiments:
        for variant in experiment.order:
            if variant != experiment.base:
                changes = describe_changes(experiment.plan["changes"].get(variant, {}))
                found.setdefault((variant, changes), []).append(experiment)
    return found


def _cells(shared: Shared) -> list[Cell]:
    metric, better = shared.metric, facts(shared.metric).better
    looks = strictest(e.looks for e in shared.experiments)
    level = look_level(looks)
    effect = interquartile_mean_effect(shared.base_scores, shared.variant_scores, level=level)
    wins = probability_of_improvement(better * shared.base_scores, better * shared.variant_scores, level=level)
    seeds, tasks = shared.base_scores.shape
    first = shared.experiments[0]
    low, high = (float("nan") if end is None else end for end in (effect.low, effect.high))
    return [
        Cell(text=facts(metric).name, kind="text"),
        Cell(text=shared.variant, kind="name", style=first.styles[shared.variant], tags=tags(first, shared.variant)),
        Cell(text=str(tasks)),
        Cell(text=str(seeds)),
        Cell(text=change(effect.difference, low, high, metric), note=interval(low, high, metric) + _level_note(looks)),
        Cell(text=f"{wins.probability:.2f}", note=_range(wins) + _level_note(looks)),
    ]


def _level_note(looks: Sequence[int]) -> str:
    """The level, where it is not the usual one that the caption names."""
    return f" ({level_text(looks)})" if looks else ""


def _range(wins: Improvement) -> str:
    return "–" if wins.low is None or wins.high is None else f"{wins.low:.2f} to {wins.high:.2f}"
