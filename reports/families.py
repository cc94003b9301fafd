"""Experiments that are the points of one grid: where one run has one distance, the curve is over runs."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from reports.experiment import Experiment
from reports.levels import known_levels


@dataclass(frozen=True, kw_only=True)
class Family:
    """The points of a grid over one setting that is a number."""

    name: str
    path: str
    """The setting, dotted."""
    points: tuple[Experiment, ...]
    """By the value of the setting."""

    @property
    def order(self) -> list[str]:
        """Every variant of any point, as the first point has them."""
        return list(dict.fromkeys(variant for point in self.points for variant in point.order))

    @property
    def metrics(self) -> list[str]:
        """Every headline metric of any point."""
        return list(dict.fromkeys(metric for point in self.points for metric in point.metrics))

    @property
    def places(self) -> list[float]:
        """Values of the setting."""
        return [_place(point) for point in self.points]

    def values(self, metric: str) -> pd.DataFrame:
        """Values of a metric over all of the test set, one row a run, `at` the value of the setting."""
        rows = pd.concat([point.values.assign(at=_place(point)) for point in self.points])
        return rows[(rows["metric"] == metric) & (rows["coordinate"] == "") & rows["value"].notna()]

    def references(self, metric: str) -> dict[str, float]:
        """Known levels of a metric, such as chance, that are the same at all points."""
        known = [known_levels(point.plan, metric) for point in self.points]
        return {
            name: level for name, level in known[0].items() if all(name in of and of[name] == level for of in known)
        }


def families(experiments: Sequence[Experiment]) -> list[Family]:
    """The families of a study that can be drawn as curves: several points that differ in one number."""
    members: dict[str, list[Experiment]] = {}
    for experiment in experiments:
        members.setdefault(experiment.plan.get("family", experiment.name), []).append(experiment)
    return [
        Family(name=name, path=path, points=tuple(sorted(points, key=_place)))
        for name, points in members.items()
        if len(points) > 1 and (path := _path(points)) is not None
    ]


def _place(point: Experiment) -> float:
    """Value of the one setting of a grid."""
    (value,) = point.plan["grid"].values()
    return float(value)


def _path(points: Sequence[Experiment]) -> str | None:
    """The one setting that a grid is over, if all its values are numbers."""
    grids = [point.plan.get("grid", {}) for point in points]
    paths = {path for grid in grids for path in grid}
    numbers = all(type(value) in (int, float) for grid in grids for value in grid.values())
    return paths.pop() if len(paths) == 1 and numbers and all(grids) else None
