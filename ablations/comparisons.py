"""The comparisons that a study asks for beside the one with the same settings, as experiments of their own."""

from dataclasses import replace
from pathlib import Path
from typing import Literal

from ablations.load import refuse_one_folder
from ablations.matching import matched
from ablations.study import Comparison, Experiment, Study
from ablations.tune import tuned


def with_comparisons(
    study: Study, root: Path, kind: Literal["cpu", "cuda"] = "cpu", storage: str | None = None
) -> Study:
    """The study with an experiment more for each of its experiments and comparisons, `german (tuned)` say.

    Raises Unsearched (a ConfigError) where the search for the best settings has not ended, and ConfigError where a
    name stands for two experiments then.
    """
    derived = [one for name in study.comparisons for one in _derived(name, study, root, kind, storage)]
    refuse_one_folder([*study.experiments, *derived])
    return replace(study, experiments=(*study.experiments, *derived))


def _derived(
    name: Comparison, study: Study, root: Path, kind: Literal["cpu", "cuda"], storage: str | None
) -> list[Experiment]:
    return tuned(study, root, storage) if name == "tuned" else matched(study, root, kind)


def pilot(study: Study, seeds: int) -> Study:
    """The base of every experiment alone, with so many seeds: what shows the noise before the rest is paid for."""
    bases = [
        replace(one, variants={one.base: one.variants[one.base]}, changes={one.base: {}}, seeds=tuple(range(seeds)))
        for one in study.experiments
    ]
    return replace(study, experiments=tuple(bases), comparisons=())
