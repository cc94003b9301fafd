"""What a study left on disk, as tables, figures and a page. Nothing here imports torch.

In a notebook:

    from reports import effects, load_results

    results = load_results("quick")
    effects(results)
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a command that wants the state of runs alone must not wait for pandas
    import pandas as pd

__all__ = ["effects", "load_results"]


def load_results(study: str | Path, output: str | Path = "runs", *, settings: Sequence[str] = ()) -> "pd.DataFrame":
    """Every final value of a study, one a row; runs in the order of the plan.

    A planned run without values (failed, missing, in conflict) has one row, with an empty metric, so that none is lost
    from sight. Accuracy at the longest third of the distances is there as `long_range_accuracy`.

    Args:
        study: folder of a study, or its name.
        output: where studies lie, for a name.
        settings: dotted paths such as "model.n_heads"; each becomes a column with the value that the run had.

    Returns:
        A frame with the columns study, experiment, variant, is_base, changes (against the base, as text), seed, state
        (completed, diverged, failed, missing, conflict); split, metric, coordinate ("", "distance=8", "category=noun"),
        axis and at (a numeric coordinate taken apart: "distance" and 8.0), value; parameters, training_flops,
        wall_seconds, train_seconds (without validation), busy_seconds, tokens_per_second, peak_memory_mib (of the run,
        the same in all its rows); folder (of the run); looks (numbers of seeds at which it was looked whether more are
        needed: "5 10 20", or "").

    Raises:
        RowsError: there is no such study, its plan cannot be used, or no run has a setting.
    """
    from reports import notebook

    return notebook.load_results(study, output, settings)


def effects(results: "pd.DataFrame | str | Path", base: str | None = None) -> "pd.DataFrame":
    """Effect of every variant against its base, on every metric over all of the test set, with 95 % intervals.

    A test set of another length is one of its own, with metrics such as `accuracy@length=64` (reports.lengths).

    The same numbers as in the report: variant minus base over the seeds that both have. Counts of runs are those of the
    rows that are given: choose metrics afterwards, so that runs without values are counted.

    Args:
        results: what `load_results` gave, part of it, or several of them after `pandas.concat`; or a study's name or
            folder. The base is the variant with is_base.
        base: another variant to compare with, in every experiment.

    Returns:
        A frame with a row for each study, experiment, metric and variant, and the columns of effects.csv: difference,
        low and high (the interval; missing with one seed), p_value, p_holm (corrected for the variants of the
        experiment, metric by metric), scope (new seeds on these test items, or new items too), n_seeds, and others.

    Raises:
        RowsError: columns are missing, an experiment has no base, a run has two values for one metric, or there is no
            such study.
    """
    from reports import notebook

    return notebook.effects(results, base)
