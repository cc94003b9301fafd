"""One experiment's rows, with what its figures and tables share: the order and the looks of its variants."""

from collections.abc import Mapping
from typing import Any

from reports.figures.theme import styles
from reports.lengths import length_of, whole
from reports.metrics import LONG_RANGE, facts
from reports.plans import describe_value, flat, variant_order
from reports.rows import ExperimentPlan
from reports.table import Tables
from reports.values import headline_metrics, metrics_of

LEAKS_FUTURE = "leaks_future"
"""Mark of a variant that sees the words it is to say."""


class Experiment:
    """One experiment of a study."""

    def __init__(self, tables: Tables, name: str) -> None:
        self.name = name
        plans = tables.study.plan["experiments"]
        self.plan: ExperimentPlan = plans[name]
        self.tables = tables.within(name)
        self.values = self.tables.reported
        self.metrics = headline_metrics(self.values, name, self.plan) or metrics_of(self.values, name)[:3]
        """Metrics of the table of variants."""
        panels = [m for m in self.metrics if m != "accuracy" or LONG_RANGE not in self.metrics]
        self.compared = [m for m in panels if (self.tables.effects["metric"] == m).any()]
        """Metrics that get a figure of effects: accuracy at long distances stands for accuracy where it is there."""
        self.base = self.plan["base"]
        self.looks = self.plan.get("looks", [])
        """Numbers of seeds at which it was looked whether more are needed; [] where they were fixed beforehand."""
        self.order = self._order(tables)
        self.styles = styles(_all_variants(plans), self.base, [plan["variants"] for plan in plans.values()])
        self.runs = [row for row in tables.study.runs if row.experiment == name]
        self.leaking = frozenset(v for v, marks in self.plan.get("marks", {}).items() if LEAKS_FUTURE in marks)
        """Variants that see the words they are to say: given the true words, they look better than they are."""
        self.diverged = frozenset(row.variant for row in self.runs if row.state == "diverged")
        """Variants of which at least one run diverged and has the values fixed for that."""

    def _order(self, tables: Tables) -> list[str]:
        """Base first. A comparison as its origin; points of a grid and designs as planned; else worst first.

        Worst first: by what named variants do to the first metric that is compared.
        """
        order = variant_order(self.plan)
        if (origin := self.plan.get("origin", "")) in tables.study.plan["experiments"]:
            before = Experiment(tables, origin).order
            return sorted(order, key=lambda v: before.index(v) if v in before else len(before))
        if self.plan["design"] != "variants" or self.plan.get("grid") or not self.compared:
            return order
        better = facts(self.compared[0]).better
        rows = self.tables.effects[self.tables.effects["metric"] == self.compared[0]]
        effect = dict(zip(rows["variant"], rows["difference"], strict=True))
        worst_first = {variant: (better or -1) * effect.get(variant, float("inf")) for variant in order}
        return sorted(order, key=lambda v: (v != self.base, v not in effect, worst_first[v]))

    @property
    def base_setting(self) -> dict[str, Any]:
        """What the base has where all variants change one setting, by dotted path: `{"model.position": "sinusoidal"}`.

        {} where they change several, and before a run of the base has been started.
        """
        paths = {path for variant in self.plan["variants"] if variant != self.base for path in self.changes(variant)}
        settings = self.config(self.base)
        return {path: settings[path] for path in paths if path in settings} if len(paths) == 1 else {}

    def label(self, variant: str) -> str:
        """A variant by its name; the base with its own value of what the others change, if its name does not say it.

        `base (sinusoidal)`; of a number with the field, `base (n_layers=2)`.
        """
        for path, value in self.base_setting.items() if variant == self.base else ():
            text = describe_value(value)
            if text not in variant:
                return f"{variant} ({text})" if isinstance(value, str) else f"{variant} ({path.split('.')[-1]}={text})"
        return variant

    def lengths(self, metric: str) -> list[float]:
        """Lengths, beside that of the main test set, at which there are effects on a metric; by size."""
        found = {length_of(name) for name in self.tables.effects["metric"].unique() if whole(name) == metric}
        return sorted(length for length in found if length is not None)

    def trained_at(self, axis: str) -> float | None:
        """The task's setting of a coordinate's name, where it has one and it is the same for all variants."""
        configs = [self.config(variant) for variant in self.plan["variants"]]
        settings = [config.get(f"task.{axis}") for config in configs if config]
        value = settings[0] if len({describe_value(setting) for setting in settings}) == 1 else None
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    def changes(self, variant: str) -> dict[str, Any]:
        """What a variant is there to change, by dotted path; a whole section is taken apart.

        A section in the place of the base's may say again what the base has: that is no change, once the base's
        settings are known.
        """
        base, planned = self.config(self.base), dict(flat(self.plan["changes"].get(variant, {})))
        return {path: value for path, value in planned.items() if path not in base or base[path] != value}

    def config(self, variant: str) -> dict[str, Any]:
        """Resolved settings of a variant by dotted path; {} before any of its runs has been started."""
        started = [row.run["config"] for row in self.runs if row.variant == variant and row.run]
        settings = dict(flat(started[0])) if started else {}
        return {path: value for path, value in settings.items() if path not in ("seed", "data")}


def _all_variants(plans: Mapping[str, ExperimentPlan]) -> list[str]:
    """Every variant of a study that is not everywhere the base, once."""
    return list(dict.fromkeys(v for plan in plans.values() for v in variant_order(plan) if v != plan["base"]))
