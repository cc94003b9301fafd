"""Which contrasts of a study that lies on disk are decided, where seeds are added until they are."""

import pandas as pd

from reports.paired import effects_table, items_of
from reports.rows import StudyRows
from reports.sequential import decided
from reports.values import headline_metrics, reported_values, values_table

COLUMNS = ("experiment", "variant", "n_seeds", "decided")


def contrasts(study: StudyRows) -> pd.DataFrame:
    """Every variant against its base on the experiment's first headline metric, where the experiment has looks.

    Columns experiment, variant, n_seeds (that both have) and decided (see sequential.decided). A variant that shares
    no seed with its base, or has no headline metric, is not in it.
    """
    values = reported_values(values_table(study))
    looked = {name: plan for name, plan in study.plan["experiments"].items() if plan.get("looks")}
    first = {(name, metric) for name, plan in looked.items() for metric in headline_metrics(values, name, plan)[:1]}
    keys = pd.MultiIndex.from_frame(values[["experiment", "metric"]])
    values = values[keys.isin(sorted(first))] if first else values.iloc[:0]
    items, _ = items_of(study, values)
    effects = effects_table(study, values, items)
    return effects.assign(decided=decided(effects))[list(COLUMNS)]
