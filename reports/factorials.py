"""Main effects and two-way interactions of a factorial design, with seeds as blocks.

The model is that of a randomised block design: value = cell + seed + error, a cell being one combination of levels. All
combinations of levels have a mean of their own, so that no interaction is taken for error. Fitted by statsmodels, least
squares. The error is assumed to be as large in every cell: where a cell's seeds scatter far more than the others', the
interval is too narrow for the contrasts that lean on it, and `statistics.t_interval(contrast.per_seed)`, which assumes
no such thing, is the one to print.

Only seeds that have a value in every cell enter, so that the design is balanced and the effects are differences of
plain means; the others are counted and named.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

from reports.statistics import LEVEL, ROUNDING

Floats = NDArray[np.float64]

SEED = "seed"
VALUE = "value"


@dataclass(frozen=True, kw_only=True)
class Contrast:
    """A main effect (one factor) or a two-way interaction (two), averaged over the levels of all other factors."""

    factors: tuple[str, ...]
    levels: tuple[Any, ...]
    """One for each factor."""
    bases: tuple[Any, ...]
    """What they are compared with."""
    n_seeds: int
    left_out: tuple[Any, ...]
    """Seeds without a value in some cell."""
    estimate: float
    """One factor: mean at the level minus mean at the base. Two: the difference that the first factor makes at the
    level of the second, minus the one that it makes at its base."""
    low: float | None
    high: float | None
    """t interval from the error of the model; None for one seed, and where the model leaves no error."""
    p_value: float | None
    """Two-sided; None where there is no interval."""
    per_seed: tuple[float, ...]
    """The same contrast within each seed."""


@dataclass(frozen=True, kw_only=True)
class Term:
    """F test of one term of the model: the seeds, a factor, an interaction of any order."""

    factors: tuple[str, ...]
    """`("seed",)` for the blocks."""
    freedom: int
    error_freedom: int
    f: float | None
    p_value: float | None
    """None for one seed, and where the model leaves no error."""
    share: float | None
    """Part of the sum of squares between the means of the cells: those of all terms but the seeds add up to 1. None for
    the seeds, and where all cells have one mean."""


@dataclass(frozen=True, kw_only=True)
class _Design:
    """Complete blocks: y (S, C) of S seeds and C cells, in the order of `product` of the levels, base level first."""

    factors: tuple[str, ...]
    levels: tuple[tuple[Any, ...], ...]
    y: Floats
    left_out: tuple[Any, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(len(levels) for levels in self.levels)


def main_effects(data: pd.DataFrame, base: Mapping[str, Any], *, level: float = LEVEL) -> list[Contrast]:
    """Each level of each factor against the base level, averaged over the levels of the other factors.

    data: tidy, one row a run: a column for each factor, `seed`, `value` (a missing value is a missing run).
    base: base level of each factor, at least two factors, in the order wanted.
    Raises ValueError for fewer factors, absent columns, a factor without another level than its base or without that, a
    run that is there twice, and where no seed has a value in every cell.
    """
    design = _design(data, base)
    chosen = [((i,), (j,)) for i, size in enumerate(design.sizes) for j in range(1, size)]
    return _contrasts(design, chosen, level)


def interactions(data: pd.DataFrame, base: Mapping[str, Any], *, level: float = LEVEL) -> list[Contrast]:
    """Each pair of levels of each two factors against their base levels: the difference of the differences.

    Arguments and errors as for `main_effects`.
    """
    design = _design(data, base)
    pairs = combinations(range(len(design.factors)), 2)
    chosen = [
        ((a, b), levels) for a, b in pairs for levels in product(range(1, design.sizes[a]), range(1, design.sizes[b]))
    ]
    return _contrasts(design, chosen, level)


def f_tests(data: pd.DataFrame, base: Mapping[str, Any]) -> list[Term]:
    """Analysis of variance (type II): the seeds, each factor, each interaction up to the highest order.

    Arguments and errors as for `main_effects`.
    """
    design = _design(data, base)
    names: dict[str, tuple[str, ...]] = {"C(seed)": (SEED,)} if len(design.y) > 1 else {}
    for order in range(1, len(design.factors) + 1):
        for chosen in combinations(range(len(design.factors)), order):
            names[":".join(f"C(f{i})" for i in chosen)] = tuple(design.factors[i] for i in chosen)
    error = (len(design.y) - 1) * (design.y.shape[1] - 1)
    shares = _shares(design, list(names.values()))
    if not _has_error(design):
        return [_no_test(factors, design, error, shares[factors]) for factors in names.values()]
    table = anova_lm(_fit(design, "*".join(f"C(f{i})" for i in range(len(design.factors)))), typ=2)
    return [
        Term(
            factors=factors,
            freedom=round(table.loc[name, "df"]),
            error_freedom=error,
            f=float(table.loc[name, "F"]),
            p_value=float(table.loc[name, "PR(>F)"]),
            share=shares[factors],
        )
        for name, factors in names.items()
    ]


def complete_runs(data: pd.DataFrame, base: Mapping[str, Any]) -> list[tuple[dict[str, int], float]]:
    """Runs of the seeds that have a value in every cell, seed by seed: the place of each factor's level, and the value.

    Places count from the base level, 0. Arguments and errors as for `main_effects`.
    """
    design = _design(data, base)
    cells = list(product(*(range(size) for size in design.sizes)))
    return [
        (dict(zip(design.factors, cell, strict=True)), float(value))
        for of_seed in design.y
        for cell, value in zip(cells, of_seed, strict=True)
    ]


def _design(data: pd.DataFrame, base: Mapping[str, Any]) -> _Design:
    factors = tuple(base)
    absent = [name for name in (*factors, SEED, VALUE) if name not in data.columns]
    if len(factors) < 2 or absent or {SEED, VALUE} & set(factors):
        raise ValueError(f"a factorial design needs two factors beside {SEED} and {VALUE}: {factors}; absent: {absent}")
    rows = data[data[VALUE].notna()]
    levels = tuple(_levels(name, data[name].tolist(), base[name]) for name in factors)
    found: dict[Any, dict[tuple[int, ...], float]] = {seed: {} for seed in data[SEED]}
    for seed, value, *cell in zip(rows[SEED], rows[VALUE], *(rows[name] for name in factors), strict=True):
        key = tuple(of_factor.index(_plain(part)) for of_factor, part in zip(levels, cell, strict=True))
        if key in found[seed]:
            raise ValueError(f"seed {seed} has two values for {dict(zip(factors, cell, strict=True))}")
        found[seed][key] = float(value)
    return _complete(factors, levels, found)


def _levels(name: str, values: list[Any], base: Any) -> tuple[Any, ...]:
    """Base first, then numbers by size, then the others by name: whatever the order of the rows."""
    present = list(dict.fromkeys(_plain(value) for value in values))
    others = [value for value in present if value != base]
    if len(others) == len(present) or not others:
        raise ValueError(f"{name} needs its base {base!r} and another level; there are {present}")
    numbers = [value for value in others if isinstance(value, int | float)]
    names = [value for value in others if not isinstance(value, int | float)]
    return (base, *sorted(numbers), *sorted(names, key=str))


def _plain(value: Any) -> Any:
    """None for what pandas calls missing, so that it can be a level like any other."""
    return None if pd.isna(value) else value


def _complete(
    factors: tuple[str, ...], levels: tuple[tuple[Any, ...], ...], found: Mapping[Any, Mapping[tuple[int, ...], float]]
) -> _Design:
    cells = list(product(*(range(len(of_factor)) for of_factor in levels)))
    complete = sorted(seed for seed, values in found.items() if len(values) == len(cells))
    if not complete:
        empty = [cell for cell in cells if not any(cell in values for values in found.values())]
        named = [tuple(of[i] for of, i in zip(levels, cell, strict=True)) for cell in empty]
        raise ValueError(f"no seed has a value in every cell of {', '.join(factors)}; cells without any: {named}")
    y = np.array([[found[seed][cell] for cell in cells] for seed in complete])
    if not np.isfinite(y).all():
        raise ValueError("a factorial design needs finite values")
    return _Design(factors=factors, levels=levels, y=y, left_out=tuple(sorted(found.keys() - set(complete))))


def _has_error(design: _Design) -> bool:
    """Whether anything but rounding is left beside cells and seeds."""
    y = design.y
    left = y - y.mean(axis=0) - y.mean(axis=1, keepdims=True) + y.mean()
    return len(y) > 1 and bool(np.abs(left).max() > ROUNDING * np.abs(y).max())


def _fit(design: _Design, cells: str) -> Any:
    """The fitted model. Factors are called f0, f1, ... and levels 0, 1, ...: names may hold anything."""
    n_seeds, n_cells = design.y.shape
    codes = np.array(list(product(*(range(size) for size in design.sizes))))
    frame = pd.DataFrame({f"f{i}": np.tile(codes[:, i], n_seeds) for i in range(len(design.factors))})
    frame["cell"] = np.tile(np.arange(n_cells), n_seeds)
    frame[SEED] = np.repeat(np.arange(n_seeds), n_cells)
    frame["y"] = design.y.ravel()
    return ols(f"y ~ {cells} + C(seed)", frame).fit()


def _contrasts(
    design: _Design, chosen: Sequence[tuple[tuple[int, ...], tuple[int, ...]]], level: float
) -> list[Contrast]:
    """Contrasts of the factors and levels that are chosen, both by position."""
    weights = np.array([_weights(design.sizes, dict(zip(*choice, strict=True))) for choice in chosen])
    tests = _tests(design, weights, level) if _has_error(design) else ((None, None, None) for _ in chosen)
    return [
        Contrast(
            factors=tuple(design.factors[i] for i in factors),
            levels=tuple(design.levels[i][j] for i, j in zip(factors, levels, strict=True)),
            bases=tuple(design.levels[i][0] for i in factors),
            n_seeds=len(design.y),
            left_out=design.left_out,
            estimate=float((design.y @ w).mean()),
            low=low,
            high=high,
            p_value=p_value,
            per_seed=tuple((design.y @ w).tolist()),
        )
        for (factors, levels), w, (low, high, p_value) in zip(chosen, weights, tests, strict=True)
    ]


def _weights(sizes: Sequence[int], levels: Mapping[int, int]) -> Floats:
    """Weight of each cell (C,): -1 at base and +1 at the level for the factors chosen, the mean over all others."""
    weights = np.ones(1)
    for i, size in enumerate(sizes):
        of_factor = np.full(size, 1 / size)
        if i in levels:
            of_factor = np.zeros(size)
            of_factor[0], of_factor[levels[i]] = -1.0, 1.0
        weights = np.kron(weights, of_factor)
    return weights


def _tests(design: _Design, weights: Floats, level: float) -> Iterator[tuple[float, float, float]]:
    """Interval and p of each contrast (rows of weights) by the model's own t tests."""
    fit = _fit(design, "C(cell)")
    # the intercept is cell 0 of the first seed and the other cells are differences from it; weights sum to zero
    columns = np.zeros((len(weights), len(fit.params)))
    cells = [f"C(cell)[T.{i}]" for i in range(1, weights.shape[1])]
    columns[:, [fit.params.index.get_loc(cell) for cell in cells]] = weights[:, 1:]
    for row in columns:
        test = fit.t_test(row)
        ((low, high),) = test.conf_int(alpha=1 - level)
        yield float(low), float(high), float(test.pvalue)


def _shares(design: _Design, terms: Sequence[tuple[str, ...]]) -> dict[tuple[str, ...], float | None]:
    """Term to its share. The design being balanced, the sums of squares of the terms add up to that of the cells."""
    means = design.y.mean(axis=0).reshape(design.sizes)
    total = float(((means - means.mean()) ** 2).sum())
    if np.ptp(means) <= ROUNDING * np.abs(means).max():
        return dict.fromkeys(terms)
    axes = {name: axis for axis, name in enumerate(design.factors)}
    return {term: None if term == (SEED,) else _square(means, [axes[name] for name in term]) / total for term in terms}


def _square(means: Floats, axes: Sequence[int]) -> float:
    """Sum of squares of a term, one value a cell: the mean over the other factors less what lower terms explain."""
    part = means.mean(axis=tuple(set(range(means.ndim)) - set(axes)), keepdims=True)
    for axis in axes:
        part = part - part.mean(axis=axis, keepdims=True)
    return float((part**2).sum()) * means.size / part.size


def _no_test(factors: tuple[str, ...], design: _Design, error: int, share: float | None) -> Term:
    sizes = dict(zip(design.factors, design.sizes, strict=True)) | {SEED: len(design.y)}
    freedom = int(np.prod([sizes[name] - 1 for name in factors]))
    return Term(factors=factors, freedom=freedom, error_freedom=error, f=None, p_value=None, share=share)
