"""Values on test sets of other lengths, beside the one that the report is about.

A run keeps them under a coordinate: metric `accuracy`, coordinate `length=256`. Effects are of metrics, so each length
makes a metric of its own, `accuracy@length=256`, under the name by which it is logged.
"""

import pandas as pd

from reports.rows import ITEMS

LENGTH = "length"
"""Name of the coordinate."""
KEY = ["experiment", "metric", "split"]


def with_lengths(values: pd.DataFrame) -> pd.DataFrame:
    """The rows of `values` (values.VALUE_COLUMNS), and those at a length once more, as values of `metric@length=n`.

    Only of metrics that have a value over the main test set too: measurements of the model itself are no test. A run
    that diverged without having been tested at a length has there the value that was fixed for it.
    """
    tested = values["metric"] != ITEMS
    main = values[tested & (values["coordinate"] == "")]
    rows = values[tested & values["coordinate"].str.startswith(f"{LENGTH}=")]
    rows = rows[pd.MultiIndex.from_frame(rows[KEY]).isin(pd.MultiIndex.from_frame(main[KEY]))]
    places = rows[[*KEY, "coordinate"]].drop_duplicates()
    fixed = main[main["state"] == "diverged"].drop(columns="coordinate").merge(places, on=KEY)
    rows = pd.concat([rows, fixed[rows.columns]]) if len(fixed) else rows
    rows = rows.drop_duplicates([*KEY, "variant", "seed", "coordinate"])
    rows = rows.assign(n=[_number(at) for at in rows["coordinate"]]).sort_values(["metric", "n"], kind="stable")
    named = rows.drop(columns="n").assign(metric=rows["metric"] + "@" + rows["coordinate"], coordinate="")
    return pd.concat([values, named], ignore_index=True) if len(named) else values


def at_length(metric: str, length: float) -> str:
    """Name of a metric at a length: `accuracy@length=256`."""
    return f"{metric}@{LENGTH}={length:g}"


def length_of(metric: str) -> float | None:
    """The length that a name of `at_length` has; None for a metric of the main test set."""
    _, _, length = metric.partition(f"@{LENGTH}=")
    return float(length) if length else None


def _number(coordinate: str) -> float:
    return float(coordinate.partition("=")[2])


def whole(metric: str) -> str:
    """The metric without its length: `accuracy` of `accuracy@length=256`."""
    return metric.partition("@")[0]
