"""What matters how much in a factorial design: every factor and every combination of factors, in numbers."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from reports.experiment import Experiment
from reports.figures.designs import MOST, factorial_levels, factorial_runs
from reports.metrics import facts
from reports.pages.grids import Cell, Grid
from reports.sequential import look_p_value
from reports.wording import quantity

if TYPE_CHECKING:  # statsmodels is slow to import
    from reports.factorials import Term
    from reports.importance import Importance

FANOVA = "fANOVA"
LEAST_P = 0.001
NO_FOREST = " fANOVA, of a random forest, is left out here: pip install -e '.[importance]'."


def importance_grid(experiment: Experiment) -> Grid | None:
    """A row for each factor and each combination of factors, on each of the first metrics.

    None where the design is not factorial, and as long as no seed has every combination.
    """
    levels = factorial_levels(experiment)
    factors = list(levels.get(experiment.base, {}))
    if len(factors) < 2:
        return None
    base = {factor: levels[experiment.base][factor] for factor in factors}
    rows = [row for metric in experiment.metrics[:MOST] for row in _rows(experiment, metric, levels, base)]
    columns = ["Metric", "Settings", "Share of the differences", "F", "p", FANOVA, "PED-ANOVA"]
    if not any(row[columns.index(FANOVA)].value is not None for row in rows):
        rows = [[cell for column, cell in zip(columns, row, strict=True) if column != FANOVA] for row in rows]
        columns.remove(FANOVA)
    return Grid(title=f"What matters how much in {experiment.name}", columns=columns, rows=rows) if rows else None


def _rows(
    experiment: Experiment, metric: str, levels: dict[str, dict[str, Any]], base: dict[str, Any]
) -> Iterator[list[Cell]]:
    from reports.factorials import SEED, f_tests
    from reports.importance import importances

    data = factorial_runs(experiment, metric, levels)
    try:
        terms = [term for term in f_tests(data, base) if term.factors != (SEED,)]
    except ValueError:  # a combination without any run: nothing is balanced yet
        return
    found = {each.factor: each for each in importances(data, base, better=facts(metric).better)}
    looks = experiment.looks
    for term in terms:
        term = replace(term, p_value=look_p_value(term.p_value, looks))
        yield _cells(metric, term, found[term.factors[0]] if len(term.factors) == 1 else None)


def _cells(metric: str, term: "Term", importance: "Importance | None") -> list[Cell]:
    settings = " × ".join(path.rpartition(".")[2] for path in term.factors)
    return [
        Cell(text=facts(metric).name, kind="text"),
        Cell(text=settings, kind="name"),
        _percent(term.share),
        Cell(text="–" if term.f is None else quantity(term.f), value=term.f),
        Cell(text="–" if term.p_value is None else _p(term.p_value), value=term.p_value),
        _percent(None if importance is None else importance.fanova),
        _percent(None if importance is None else importance.ped_anova),
    ]


def _p(value: float) -> str:
    """With digits only as far as a test that takes the scatter to be equal can be trusted."""
    return f"{value:.2g}" if value >= LEAST_P else f"< {LEAST_P}"


def _percent(share: float | None) -> Cell:
    if share is None:
        return Cell(text="–")
    text = "< 1" if 0 < share < 0.005 else f"{100 * share:.0f}"
    return Cell(text=f"{text}\N{NO-BREAK SPACE}%", value=share)


def importance_caption(grid: Grid) -> str:
    """How to read the table."""
    text = (
        "Share: of the sum of squares between the means of the combinations; the rows of a metric add up to "
        "100\N{NO-BREAK SPACE}%, and a row with × is what two or more settings do only together. F and p: analysis of "
        "variance with seeds as blocks, which takes the scatter over seeds to be the same in all combinations. "
    )
    if FANOVA in grid.columns:
        text += "fANOVA: share of the variance of a random forest's predictions that a setting has by itself. "
    text += (
        "PED-ANOVA: how differently the best quarter of the runs is spread over the values of a setting than all runs "
        "are, as a part of all settings'. It asks what it takes to be among the best, the others what matters over the "
        "whole design."
    )
    return text if FANOVA in grid.columns else text + NO_FOREST
