"""Settings of every variant, and which of them differ from the base's."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from reports.experiment import Experiment
from reports.table import describe_value


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One resolved setting."""

    path: str
    value: str
    """As YAML would have it on one line; empty where only the base has such a setting."""
    differs: bool
    """From the base's."""


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """The settings of one variant; without any before one of its runs has been started."""

    variant: str
    anchor_key: str
    """Unique within the experiment, and safe in an address: `variant-2`, by its place in the plan."""
    settings: tuple[Setting, ...]
    folder: str
    """Of one of its runs, relative to the report's folder; empty where none has been started."""

    @property
    def address(self) -> str:
        """Link from the page to that run's run.json, ready for an attribute; empty without one."""
        return quote(f"{self.folder}/run.json") if self.folder else ""


def configurations(experiment: Experiment) -> list[Configuration]:
    """The settings of every variant, in the order of the page.

    As a run has resolved them, settings that follow from others included; before that, as they are planned.
    """
    base = experiment.config(experiment.base)
    place = {variant: number for number, variant in enumerate(experiment.plan["variants"], 1)}
    return [
        Configuration(
            variant=variant,
            anchor_key=f"variant-{place[variant]}",
            settings=_settings(experiment, variant, base),
            folder=_folder(experiment, variant),
        )
        for variant in experiment.order
    ]


def _settings(experiment: Experiment, variant: str, base: Mapping[str, Any]) -> tuple[Setting, ...]:
    """Those of the base first, in its order; a whole section that is replaced is taken apart."""
    planned = experiment.changes(variant)
    own = experiment.config(variant) or planned
    complete = bool(base) and own is not planned
    paths = dict.fromkeys([*base, *own]) if complete else own
    return tuple(
        Setting(
            path=path,
            value=describe_value(own[path]) if path in own else "",
            differs=_differs(own, base, path) if complete else path in planned,
        )
        for path in paths
    )


def _differs(own: Mapping[str, Any], base: Mapping[str, Any], path: str) -> bool:
    if path not in own or path not in base:
        return True
    return describe_value(own[path]) != describe_value(base[path])


def _folder(experiment: Experiment, variant: str) -> str:
    started = [row.folder for row in experiment.runs if row.variant == variant and row.run]
    return f"../{started[0].relative_to(experiment.tables.study.folder).as_posix()}" if started else ""
