"""One experiment's rows, with what its figures and tables share: the order and the looks of its variants."""

from collections.abc import Mapping
from typing import Any

from reports.figures.theme import styles
from reports.metrics import LONG_RANGE, facts
from reports.rows import ExperimentPlan
from reports.table import Tables, flat, headline_metrics, metrics_of, variant_order

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
        self.order = self._order()
        self.styles = styles(_all_variants(plans), self.base, [plan["variants"] for plan in plans.values()])
        self.runs = [row for row in tables.study.runs if row.experiment == name]
        self.leaking = frozenset(v for v, marks in self.plan.get("marks", {}).items() if LEAKS_FUTURE in marks)
        """Variants that see the words they are to say: given the true words, they look better than they are."""
        self.diverged = frozenset(row.variant for row in self.runs if row.state == "diverged")
        """Variants of which at least one run diverged and has the values fixed for that."""

    def _order(self) -> list[str]:
        """Base first; named variants by what they do to the first metric, worst first; designs as they are planned."""
        order = variant_order(self.plan)
        if self.plan["design"] != "variants" or not self.compared:
            return order
        better = facts(self.compared[0]).better
        rows = self.tables.effects[self.tables.effects["metric"] == self.compared[0]]
        effect = dict(zip(rows["variant"], rows["difference"], strict=True))
        worst_first = {variant: (better or -1) * effect.get(variant, float("inf")) for variant in order}
        return sorted(order, key=lambda v: (v != self.base, v not in effect, worst_first[v]))

    def changes(self, variant: str) -> dict[str, Any]:
        """What a variant is there to change, by dotted path; a whole section is taken apart."""
        return dict(flat(self.plan["changes"].get(variant, {})))

    def config(self, variant: str) -> dict[str, Any]:
        """Resolved settings of a variant by dotted path; {} before any of its runs has been started."""
        started = [row.run["config"] for row in self.runs if row.variant == variant and row.run]
        settings = dict(flat(started[0])) if started else {}
        return {path: value for path, value in settings.items() if path not in ("seed", "data")}


def _all_variants(plans: Mapping[str, ExperimentPlan]) -> list[str]:
    """Every variant of a study that is not everywhere the base, once."""
    return list(dict.fromkeys(v for plan in plans.values() for v in variant_order(plan) if v != plan["base"]))
