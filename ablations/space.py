"""The points of a search by their number: point k is the same whoever asks, and more points extend the set."""

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from scipy.stats import qmc

from ablations.sections import parse_section
from ablations.study import Experiment, Settings, TrainConfig
from models.config import ConfigError, ModelConfig

SEARCHED: dict[str, type[Any]] = {"model": ModelConfig, "train": TrainConfig}
"""Sections that a search may change: the task is what variants are compared on, the decoding changes no loss."""

OF_THE_BUDGET = ("train.steps", "train.until_accuracy", "train.until_loss")
"""Fields that would give one trial more training than another."""

MOST_TRIES = 100
"""Points of a sequence that are looked at for each that is wanted."""

Point = dict[str, Any]
"""Dotted path to value."""


@dataclass(frozen=True)
class Interval:
    """Numbers from low to high, spread evenly on a logarithmic scale."""

    low: float
    high: float
    whole: bool

    def at(self, share: float) -> float:
        """The number at a share of the way, to four digits, so that it is the same on every machine."""
        value = self.low * (self.high / self.low) ** share
        return round(value) if self.whole else float(f"{value:.4g}")


@dataclass(frozen=True)
class Space:
    """What is searched: for each path a list of values, or an interval.

    Lists alone make a grid: the last path varies fastest. With an interval the points are those of Halton's sequence
    (Halton 1960; for one path van der Corput's, 1935), unscrambled, without its first, which is a corner; a list beside
    an interval is cut into equal shares.
    """

    axes: dict[str, tuple[Any, ...] | Interval]

    def points(self, trials: int) -> list[Point]:
        """The first points, as many as there are trials. Raises ConfigError where a grid has fewer."""
        lists = [axis for axis in self.axes.values() if isinstance(axis, tuple)]
        if len(lists) < len(self.axes):
            return self._sequence(trials)
        there = math.prod(map(len, lists))
        if trials > there:
            raise ConfigError(f"tune.trials={trials}: tune.space has {there} points; give more values or fewer trials")
        return [dict(zip(self.axes, p, strict=True)) for p in itertools.islice(itertools.product(*lists), trials)]

    def _sequence(self, trials: int) -> list[Point]:
        sequence = qmc.Halton(len(self.axes), scramble=False).fast_forward(1).random(MOST_TRIES * trials)
        found: dict[str, Point] = {}
        for shares in sequence:  # whole numbers between near limits come again and again
            point = {p: _on(axis, float(share)) for (p, axis), share in zip(self.axes.items(), shares, strict=True)}
            found.setdefault(json.dumps(point), point)
            if len(found) == trials:
                return list(found.values())
        raise ConfigError(
            f"tune.trials={trials}: tune.space has {len(found)} points; give wider limits or fewer trials"
        )

    def as_list(self) -> list[list[Any]]:
        """Plain values, in the order of the paths."""
        return [
            [path, [axis.low, axis.high, axis.whole] if isinstance(axis, Interval) else {"values": list(axis)}]
            for path, axis in self.axes.items()
        ]


def _on(axis: tuple[Any, ...] | Interval, share: float) -> Any:
    return axis.at(share) if isinstance(axis, Interval) else axis[int(share * len(axis))]


def make_space(plain: Mapping[str, Any], base: Settings) -> Space:
    """The space that `tune.space` describes for an experiment with this base.

    Raises ConfigError for a path that cannot be searched and for what is neither values, factors nor limits.
    """
    sections = base.as_dict()
    axes = {}
    for path, given in plain.items():
        section, _, name = str(path).partition(".")
        if section not in SEARCHED or name not in sections[section]:
            raise ConfigError(f"tune.space: {path!r}: give a field of train or model, such as train.lr")
        if path in OF_THE_BUDGET:
            raise ConfigError(f"tune.space: {path!r}: all trials have the same budget; give another field")
        axes[path] = _axis(f"tune.space.{path}", given, sections[section][name])
    return Space(axes)


def _axis(where: str, given: Any, own: Any) -> tuple[Any, ...] | Interval:
    """Of one path, whose value in the base is `own`."""
    if isinstance(given, dict) and set(given) == {"low", "high"}:
        low, high = _number(where, given["low"]), _number(where, given["high"])
        if not 0 < low < high:
            raise ConfigError(f"{where}={given!r}: low must be above 0 and below high")
        return Interval(low, high, whole=_is_whole(own))
    if isinstance(given, dict) and set(given) == {"factors"} and isinstance(given["factors"], list):
        whole, own = _is_whole(own), _number(where, own)
        products = [own * _number(where, factor) for factor in given["factors"]]
        given = [round(value) if whole else float(f"{value:.12g}") for value in products]
    if not isinstance(given, list) or not given:
        raise ConfigError(f"{where}={given!r}: expected a list of values, {{factors: [...]}} or {{low: x, high: y}}")
    if len({json.dumps(value) for value in given}) < len(given):
        raise ConfigError(f"{where}={given!r}: a value stands there twice")
    return tuple(given)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _number(where: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ConfigError(f"{where}: {value!r}: a number is wanted")
    return float(value)


def at_point(settings: Settings, point: Point, where: str) -> Settings:
    """The settings with the values of a point. Raises ConfigError with `where` in front for one that is wrong."""
    plain = json.loads(json.dumps(settings.as_dict()))
    for path, value in point.items():
        section, _, name = path.partition(".")
        plain[section][name] = value
    changed = {path.partition(".")[0] for path in point}
    made = {name: parse_section(SEARCHED[name], plain[name], f"{where}{name}") for name in sorted(changed)}
    return replace(settings, **made)


def without(settings: Settings, paths: Sequence[str]) -> dict[str, Any]:
    """What decides a validation loss, but for the values at these paths."""
    identity = settings.identity()
    del identity["measure"]
    for path in paths:
        section, _, name = path.partition(".")
        identity[section].pop(name, None)
    return identity


def obstacle(experiment: Experiment, variant: str, space: Space) -> str | None:
    """Why a variant is not searched: it is there to change what would be, or trains nothing. None where it is."""
    if not experiment.variants[variant].train.steps:
        return "trains nothing"
    changes = experiment.changes.get(variant, {})
    for path in space.axes:
        section, _, name = path.partition(".")
        if path in changes or name in changes.get(section, {}):
            return f"changes {path} itself"
    return None
