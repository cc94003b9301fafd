"""Variants made as large, or as costly, as their base: a width is changed until a quantity is the base's."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from ablations.calibrate import predicted_flops
from ablations.checks import with_data
from ablations.fairness import MatchConfig, Quantity
from ablations.match_file import Find, kept_matches
from ablations.step_times import Prepared, step_ratio
from ablations.study import Experiment, Settings, Study
from ablations.train import task_shape
from ablations.widths import WIDTHS, Match, nearest, step_of, with_width
from datamodules.base import TaskData
from models.config import ConfigError
from models.size import parameter_count

WITHIN: dict[Quantity, float] = {"parameters": 0.01, "flops": 0.01, "seconds": 0.05}
"""How far from the base's a quantity may be, as a part of it."""

CLOSE: dict[Quantity, float] = {"parameters": 0.0, "flops": 0.0, "seconds": 0.02}
"""How near to the base's the search may end: what is measured is never that of the best whole number alone."""

TRIES: dict[Quantity, int] = {"parameters": 1, "flops": 1, "seconds": 3}
"""Searches before a variant is left out: noise at one step of a search leads it astray."""

NAMES: dict[Quantity, str] = {"parameters": "parameters", "flops": "FLOPs", "seconds": "seconds a step"}

Ratio = Callable[[Settings], float]
"""A quantity of some settings, in units of the base's."""


def matched(study: Study, root: Path, kind: Literal["cpu", "cuda"] = "cpu") -> list[Experiment]:
    """For each experiment one more, `german (matched)` say, whose variants have the base's size or cost.

    For each variant the first field of `match.widen` that has an effect is set to the number that brings the quantity
    nearest to the base's; a variant that is not within WITHIN of it then is left out, with the reason. One that was so
    from the start stays as it is, and so has the run that it has without the comparison. Experiments without variants
    are left out, and where operations or seconds are made equal those that train nothing.

    Args:
        study: without derived experiments.
        root: folder of the study. Written to where seconds are made equal.
        kind: of the device on which steps are timed.

    Raises:
        ConfigError: for a field of `widen` that is no width of a model, and as `with_data` does.
        DataError: as `with_data` does.
    """
    _check_widen(study.match.widen)
    origins = [one for one in study.experiments if _is_of_use(one, study.match.by)]
    data = _prepared(origins)

    def find(origin: Experiment, variant: str) -> Match:
        base, (_, own) = data[origin.name, origin.base], data[origin.name, variant]
        return _find(origin, variant, study.match, _ratio(study.match.by, base, own, kind), own)

    if study.match.by != "seconds":
        return [_derived(origin, find) for origin in origins]
    with kept_matches(root / "match", find, study.match, kind) as find_once:
        return [_derived(origin, find_once) for origin in origins]


def _check_widen(widen: Sequence[str]) -> None:
    for path in widen:
        if path not in (known := [f"model.{name}" for name in WIDTHS]):
            raise ConfigError(f"match.widen: {path!r}: choose from {', '.join(known)}")


def _is_of_use(origin: Experiment, by: Quantity) -> bool:
    trains = origin.variants[origin.base].train.steps > 0
    return len(origin.variants) > 1 and (trains or by == "parameters")


def _prepared(origins: Sequence[Experiment]) -> dict[tuple[str, str], Prepared]:
    """Settings of every variant with their data, by experiment and variant."""
    settings = {(one.name, name): of for one in origins for name, of in one.variants.items()}
    return dict(zip(settings, with_data(settings.values()), strict=True))


def _derived(origin: Experiment, find: Find) -> Experiment:
    """The experiment with its variants made equal."""
    found = {name: find(origin, name) if name != origin.base else Match() for name in origin.variants}
    kept = {name: match for name, match in found.items() if not match.reason}
    return replace(
        origin,
        name=f"{origin.name} (matched)",
        family=f"{origin.family} (matched)",
        origin=origin.name,
        comparison="matched",
        variants={name: match.settings(origin.variants[name]) for name, match in kept.items()},
        changes={name: origin.changes[name] for name in kept},
        left_out={name: match.reason for name, match in found.items() if match.reason},
    )


def _ratio(by: Quantity, base: Prepared, data: TaskData[Any], kind: str) -> Ratio:
    """The quantity of a variant with some data, in units of the base's."""
    if by == "seconds":
        return lambda settings: step_ratio(base, (settings, data), kind)
    target = _amount(by, *base)
    return lambda settings: _amount(by, settings, data) / target


def _amount(by: Quantity, settings: Settings, data: TaskData[Any]) -> float:
    """A quantity in closed form. Operations stand for seconds, where it is only asked whether something changes."""
    if by == "parameters":
        return parameter_count(settings.model, task_shape(data))
    return predicted_flops(settings, data)


def _find(origin: Experiment, variant: str, config: MatchConfig, ratio: Ratio, data: TaskData[Any]) -> Match:
    """Search the field and the value that make a variant equal to the base."""
    settings = origin.variants[variant]
    if _is_equal(ratio(settings), config.by):
        return Match()
    ablated = [path for path in config.widen if _is_ablated(origin, variant, _field(path))]
    usable = [path for path in config.widen if path not in ablated]
    chosen = next((path for path in usable if _has_effect(settings, _field(path), config.by, data)), None)
    if chosen is None:
        return Match(reason="; ".join([_no_effect(usable), *(f"{path} is what it changes" for path in ablated)]))
    return _searched(settings, _field(chosen), config.by, ratio)


def _searched(settings: Settings, field: str, by: Quantity, ratio: Ratio) -> Match:
    """The value of a field that comes nearest, if that is near enough; what is timed is searched anew if not."""
    start, step = getattr(settings.model, field), step_of(settings.model, field)
    for _ in range(TRIES[by]):
        value = nearest(lambda n: ratio(with_width(settings, field, n)), start, step, CLOSE[by])
        reached = ratio(with_width(settings, field, value))
        if _is_equal(reached, by):
            return Match(field, value)
    still = "still " if value == step and reached > 1 else ""
    return Match(reason=f"{field}={value}: {still}{100 * reached:.4g} % of the base's {NAMES[by]}")


def _is_equal(ratio: float, by: Quantity) -> bool:
    return abs(ratio - 1) <= WITHIN[by]


def _field(path: str) -> str:
    return path.removeprefix("model.")


def _no_effect(paths: Sequence[str]) -> str:
    return f"no field of widen changes it: {', '.join(paths)}" if paths else "no field of widen is left"


def _is_ablated(origin: Experiment, variant: str, field: str) -> bool:
    """Whether a variant is there to change a field that its base has too, which a match would undo."""
    changes = origin.changes[variant]
    base, own = (getattr(origin.variants[name].model, field) for name in (origin.base, variant))
    named = f"model.{field}" in changes or field in changes.get("model", {})
    return named and None not in (base, own) and base != own


def _has_effect(settings: Settings, field: str, by: Quantity, data: TaskData[Any]) -> bool:
    value = getattr(settings.model, field)
    if value is None:  # the architecture has no such part
        return False
    try:
        wider = with_width(settings, field, value + step_of(settings.model, field))
    except ConfigError:  # it must be what it is beside the others
        return False
    return _amount(by, wider, data) != _amount(by, settings, data)
