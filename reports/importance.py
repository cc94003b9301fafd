"""How much each factor of a factorial design matters, by the two measures that hyper-parameter search knows (Optuna's).

PED-ANOVA (Watanabe, Bansal and Hutter 2023, arXiv:2304.10255) asks what it takes to be among the best: how differently
the best runs are spread over a factor's levels than all runs are. fANOVA (Hutter, Hoos and Leyton-Brown, ICML 2014)
asks what matters over the whole design: the share of the variance of a random forest's predictions that a factor has
by itself.

Each run is a trial, so that the seeds are repeated trials; only seeds with a value in every combination enter. Beside
the exact shares of `factorials.f_tests`, fANOVA's differ by what the forest makes of the noise.
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from math import ceil
from typing import TYPE_CHECKING, Any

import pandas as pd

from reports.factorials import complete_runs

if TYPE_CHECKING:  # slow to import
    from optuna.distributions import BaseDistribution
    from optuna.importance import BaseImportanceEvaluator

BEST = 0.25
"""Part of the runs that PED-ANOVA takes for the best; with ties, those as good as the last of them too."""
FOREST_SEED = 0
NOTHING = 1e-9
"""Divergence below which the best runs are spread as all are."""

Runs = Sequence[tuple[Mapping[str, int], float]]
"""Of each run, the place of each factor's level and the value."""


@dataclass(frozen=True, kw_only=True)
class Importance:
    """One factor on one metric."""

    factor: str
    ped_anova: float | None
    """Part of all factors' importance, which adds up to 1; None where the best runs are spread as all are, and for a
    metric without a better side."""
    fanova: float | None
    """Share of the variance, 0 to 1; what is missing to 1 over all factors is interactions. None without scikit-learn
    (extra `importance`), and where all values are equal."""


def importances(data: pd.DataFrame, base: Mapping[str, Any], *, better: int) -> list[Importance]:
    """Importance of each factor, in the order of `base`.

    data, base: as for `factorials.main_effects`, whose errors are raised.
    better: 1 where higher values are better, -1 where lower ones are, 0 where neither is.
    """
    runs = complete_runs(data, base)
    values = [value for _, value in runs]
    nothing: dict[str, float] = {}
    differ = min(values) < max(values)
    ped = _ped_anova(runs, better) if better and differ else nothing
    forest = _fanova(runs) if differ and find_spec("sklearn") is not None else nothing
    return [Importance(factor=name, ped_anova=ped.get(name), fanova=forest.get(name)) for name in base]


def _ped_anova(runs: Runs, better: int) -> dict[str, float]:
    """Parts that add up to 1; {} where no factor has any."""
    from optuna.distributions import CategoricalDistribution
    from optuna.importance import PedAnovaImportanceEvaluator

    losses = [-better * value for _, value in runs]
    last = sorted(losses)[ceil(BEST * len(losses)) - 1]
    if max(losses) <= last:  # ties: all runs are among the best
        return {}
    space = {name: CategoricalDistribution(range(size)) for name, size in _sizes(runs).items()}
    found = _evaluate(runs, losses, space, PedAnovaImportanceEvaluator(target_quantile=BEST))
    total = sum(found.values())
    return {name: value / total for name, value in found.items()} if total > NOTHING else {}


def _fanova(runs: Runs) -> dict[str, float]:
    """Shares of the variance.

    Levels are 0, 1, ... in the middle of equal parts of a range, so that all weigh the same. As categories, each would
    be a yes-or-no of its own, and the forest be asked for runs with no level or with two.
    """
    from optuna.distributions import FloatDistribution
    from optuna.importance import FanovaImportanceEvaluator

    space = {name: FloatDistribution(-0.5, size - 0.5) for name, size in _sizes(runs).items()}
    return _evaluate(runs, [value for _, value in runs], space, FanovaImportanceEvaluator(seed=FOREST_SEED))


def _sizes(runs: Runs) -> dict[str, int]:
    """Factor to its number of levels."""
    return {name: 1 + max(places[name] for places, _ in runs) for name in runs[0][0]}


def _evaluate(
    runs: Runs,
    losses: Sequence[float],
    space: Mapping[str, "BaseDistribution"],
    evaluator: "BaseImportanceEvaluator",
) -> dict[str, float]:
    """What an evaluator says of the runs as trials of a study in memory, lower being better."""
    from optuna import create_study
    from optuna.importance import get_param_importances
    from optuna.trial import create_trial

    with _quiet():
        study = create_study()
        for (places, _), loss in zip(runs, losses, strict=True):
            study.add_trial(create_trial(params=dict(places), distributions=dict(space), value=loss))
        found = get_param_importances(study, evaluator=evaluator, params=list(space), normalize=False)
    return {name: float(value) for name, value in found.items()}


@contextmanager
def _quiet() -> Iterator[None]:
    """Optuna announces each study, and that this is experimental."""
    from optuna import logging
    from optuna.exceptions import ExperimentalWarning

    level = logging.get_verbosity()
    logging.set_verbosity(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExperimentalWarning)
            yield
    finally:
        logging.set_verbosity(level)
