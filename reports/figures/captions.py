"""How to read figures of lines over seeds: captions, and texts for those who do not see them."""

from collections.abc import Collection, Sequence

import numpy as np
import pandas as pd

from reports.experiment import Experiment
from reports.figures.scales import is_log
from reports.frames import records
from reports.table import describe_counts

BANDS = "Lines are means over seeds, bands their 95\N{NO-BREAK SPACE}% t intervals"
PARTS = "The thick part is what the seeds account for, the thin line adds the choice of test items."
HOLLOW = (
    "Hollow: the variant sees the tokens that it is to predict, so its loss and its accuracy say nothing of how good "
    "it is."
)


MOST_COUNTS = 6
"""Variants whose runs a caption counts one by one."""


def lines_caption(data: pd.DataFrame, metric: str) -> str:
    """How to read lines over seeds; `data` has variant, seed, value."""
    seeds = data.groupby("variant")["seed"].nunique()
    log = is_log(data["value"], metric)
    parts = [
        "One seed each: no bands." if seeds.max() == 1 else "",
        "Thin lines: single seeds, where there are two." if (seeds == 2).any() else "",
        f"{BANDS} (no wider than the line where all seeds agree)." if seeds.max() > 2 else "",
        "Means and bands are those of the logarithms." if log and seeds.max() > 1 else "",
    ]
    return joined(parts)


def incomplete(experiment: Experiment, variants: Collection[str] | None = None) -> str:
    """Variants (of those given) with runs that are not completed, and what became of these; empty where all are."""
    rows = experiment.tables.variants
    rows = rows[rows["completed"] < rows["planned"]]
    rows = rows if variants is None else rows[rows["variant"].isin(list(variants))]
    found = [f"{row['variant']} {describe_counts(row)}" for row in records(rows)]
    if len(found) > MOST_COUNTS:
        return f"Of {len(found)} variants some runs diverged, failed or are missing: the table of variants counts them."
    return f"Runs counted: {'; '.join(found)}." if found else ""


def lines_alt(title: str, data: pd.DataFrame, x: str) -> str:
    """What a figure of lines shows: how many, from where to where, and the extremes at the right end."""
    known = data[np.isfinite(data["value"])]
    last = known[known[x] == known[x].max()].groupby("variant", sort=False)["value"].mean()
    n = known["variant"].nunique()
    text = f"{title}: {n} {'line' if n == 1 else 'lines'} from {known[x].min():g} to {known[x].max():g}"
    if len(last) > 1:
        text += (
            f"; at the end {last.idxmin()} is lowest ({last.min():.3g}) and {last.idxmax()} highest ({last.max():.3g})"
        )
    return f"{text}."


def joined(parts: Sequence[str]) -> str:
    """Sentences in a row, without the empty ones."""
    return " ".join(part for part in parts if part)


def listed(names: Sequence[str]) -> str:
    """Names in a sentence: `a, b and c`."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
