"""Factorial designs against differences of means, sums of squares and least squares written out."""

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from reports.factorials import Contrast, complete_runs, f_tests, interactions, main_effects
from reports.statistics import paired_effect, t_interval

BASE = {"norm": "layer", "residual": "add"}
THREE = {"model.norm": "layer", "n_heads": 4, "a&b": None}


def tidy(values: dict[tuple[Any, ...], list[float]], factors: list[str]) -> pd.DataFrame:
    """One row for each cell and seed; seeds are 11, 12, ..."""
    rows = [(*cell, 11 + i, value) for cell, of_cell in values.items() for i, value in enumerate(of_cell)]
    frame = pd.DataFrame(rows, columns=[*factors, "seed", "value"], dtype=object)
    return frame.astype({"seed": int, "value": float})


def two_by_two(seed: int = 5, n: int = 4) -> dict[tuple[Any, ...], list[float]]:
    rng = np.random.default_rng(seed)
    blocks = rng.normal(0, 2, n)
    means = {("layer", "add"): 7.0, ("none", "add"): 5.0, ("layer", "none"): 4.0, ("none", "none"): 0.5}
    return {cell: (mean + blocks + rng.normal(0, 0.3, n)).tolist() for cell, mean in means.items()}


def three_factors(n: int = 5) -> pd.DataFrame:
    rng = np.random.default_rng(8)
    cells = list(product(["layer", "rms", "none"], [4, 1], [None, "<img>"]))
    blocks = rng.normal(0, 1, n)
    return tidy({cell: (i**1.3 + blocks + rng.normal(0, 1, n)).tolist() for i, cell in enumerate(cells)}, list(THREE))


def design_matrix(data: pd.DataFrame, base: dict[str, Any]) -> tuple[np.ndarray, np.ndarray, list[tuple[Any, ...]]]:
    """Cell means and seeds as columns, least squares without any package."""
    cells = list(dict.fromkeys(data[list(base)].itertuples(index=False, name=None)))
    seeds = sorted(data["seed"].unique())
    x = np.zeros((len(data), len(cells) + len(seeds) - 1))
    for i, row in enumerate(data[[*base, "seed"]].itertuples(index=False, name=None)):
        x[i, cells.index(row[:-1])] = 1
        if row[-1] != seeds[0]:
            x[i, len(cells) + seeds.index(row[-1]) - 1] = 1
    return x, data["value"].to_numpy(dtype=float), cells


def check_against_least_squares(contrast: Contrast, data: pd.DataFrame, base: dict[str, Any]) -> None:
    x, y, cells = design_matrix(data, base)
    factors = list(base)
    w = np.zeros(x.shape[1])
    for i, cell in enumerate(cells):
        weight = 1.0
        for j, factor in enumerate(factors):
            levels = list(dict.fromkeys(c[j] for c in cells))
            if factor in contrast.factors:
                k = contrast.factors.index(factor)
                weight *= {contrast.levels[k]: 1.0, contrast.bases[k]: -1.0}.get(cell[j], 0.0)
            else:
                weight /= len(levels)
        w[i] = weight
    solved, *_ = np.linalg.lstsq(x, y, rcond=None)
    freedom = len(y) - x.shape[1]
    error = ((y - x @ solved) ** 2).sum() / freedom
    deviation = np.sqrt(error * w @ np.linalg.inv(x.T @ x) @ w)
    half = stats.t.ppf(0.975, freedom) * deviation
    assert contrast.estimate == pytest.approx(w @ solved, rel=1e-9)
    assert (contrast.low, contrast.high) == pytest.approx((w @ solved - half, w @ solved + half), rel=1e-9)
    assert contrast.p_value == pytest.approx(2 * stats.t.sf(abs(w @ solved) / deviation, freedom), rel=1e-7)


def test_effects_of_a_two_by_two_by_hand() -> None:
    values = {("layer", "add"): [7.0, 8.0], ("none", "add"): [5.0, 7.0], ("layer", "none"): [4.0, 3.0]}
    data = tidy({**values, ("none", "none"): [0.0, 1.0]}, list(BASE))
    norm, residual = main_effects(data, BASE)
    assert (norm.factors, norm.levels, norm.bases) == (("norm",), ("none",), ("layer",))
    assert norm.estimate == pytest.approx((5 + 7 + 0 + 1) / 4 - (7 + 8 + 4 + 3) / 4)
    assert residual.estimate == pytest.approx((4 + 3 + 0 + 1) / 4 - (7 + 8 + 5 + 7) / 4)
    (both,) = interactions(data, BASE)
    assert (both.factors, both.levels, both.bases) == (("norm", "residual"), ("none", "none"), ("layer", "add"))
    assert both.per_seed == pytest.approx([(0 - 4) - (5 - 7), (1 - 3) - (7 - 8)])
    assert both.estimate == pytest.approx(-1.5)
    assert (both.n_seeds, both.left_out) == (2, ())


@pytest.mark.parametrize("kind", [main_effects, interactions])
def test_contrasts_are_those_of_least_squares(kind: Any) -> None:
    for data, base in ((tidy(two_by_two(), list(BASE)), BASE), (three_factors(), THREE)):
        for contrast in kind(data, base):
            check_against_least_squares(contrast, data, base)


def test_every_pair_of_levels_has_its_contrast() -> None:
    data = three_factors()
    assert [(c.factors, c.levels) for c in main_effects(data, THREE)] == [
        (("model.norm",), ("none",)),
        (("model.norm",), ("rms",)),
        (("n_heads",), (1,)),
        (("a&b",), ("<img>",)),
    ]
    assert [c.levels for c in interactions(data, THREE)] == [
        *((norm, 1) for norm in ("none", "rms")),
        *((norm, "<img>") for norm in ("none", "rms")),
        (1, "<img>"),
    ]


def test_f_tests_are_the_sums_of_squares_written_out() -> None:
    values = two_by_two()
    y = np.array(list(values.values())).reshape(2, 2, -1)  # residual, norm, seed
    found = {term.factors: term for term in f_tests(tidy(values, list(BASE)), BASE)}
    n = y.shape[2]
    mean = y.mean()
    cells = y.mean(axis=2)
    error = ((y - cells[..., None] - y.mean(axis=(0, 1)) + mean) ** 2).sum() / (3 * (n - 1))
    norm, residual = cells.mean(axis=0) - mean, cells.mean(axis=1) - mean
    both = cells - mean - norm - residual[:, None]
    expected = {
        ("seed",): (4 * ((y.mean(axis=(0, 1)) - mean) ** 2).sum() / (n - 1), n - 1),
        ("norm",): (2 * n * (norm**2).sum(), 1),
        ("residual",): (2 * n * (residual**2).sum(), 1),
        ("norm", "residual"): (n * (both**2).sum(), 1),
    }
    assert found.keys() == expected.keys()
    for factors, (square, freedom) in expected.items():
        term = found[factors]
        assert (term.freedom, term.error_freedom) == (freedom, 9)
        assert term.f == pytest.approx(square / error, rel=1e-9)
        assert term.p_value == pytest.approx(stats.f.sf(square / error, freedom, 9), rel=1e-7)


def test_shares_are_the_sums_of_squares_written_out() -> None:
    values = {("layer", "add"): [7.0, 8.0], ("none", "add"): [5.0, 7.0], ("layer", "none"): [4.0, 3.0]}
    data = tidy({**values, ("none", "none"): [0.0, 1.0]}, list(BASE))
    # means 7.5, 6.0, 3.5, 0.5; effects of norm, of residual and of both are 1.125, 2.375 and 0.375, each four times
    squares = {("norm",): 1.125**2, ("residual",): 2.375**2, ("norm", "residual"): 0.375**2}
    found = {term.factors: term.share for term in f_tests(data, BASE)}
    assert found.pop(("seed",)) is None
    assert found == pytest.approx({term: square / sum(squares.values()) for term, square in squares.items()})


def test_shares_go_with_f_and_add_up() -> None:
    terms = [term for term in f_tests(three_factors(), THREE) if term.factors != ("seed",)]
    squares = np.array([(term.f or 0.0) * term.freedom for term in terms])
    assert [term.share for term in terms] == pytest.approx((squares / squares.sum()).tolist(), rel=1e-7)


def test_cells_of_one_mean_have_no_shares() -> None:
    data = tidy({cell: [0.1, 0.7] for cell in product(["layer", "none"], ["add", "none"])}, list(BASE))
    assert [term.share for term in f_tests(data, BASE)] == [None] * 4


def test_runs_of_complete_seeds_have_the_places_of_their_levels() -> None:
    values = two_by_two(n=2)
    whole = tidy(values, list(BASE))
    data = tidy({**values, ("none", "none"): [*values["none", "none"], 12.0]}, list(BASE))
    found = complete_runs(data, BASE)
    assert [places for places, _ in found[:4]] == [
        {"norm": 0, "residual": 0},
        {"norm": 0, "residual": 1},
        {"norm": 1, "residual": 0},
        {"norm": 1, "residual": 1},
    ]
    assert found == complete_runs(whole, BASE)
    assert len(found) == 8


def test_f_of_a_factor_with_two_levels_is_the_square_of_its_t() -> None:
    data = three_factors()
    by_factors = {term.factors: term for term in f_tests(data, THREE)}
    heads = next(c for c in main_effects(data, THREE) if c.factors == ("n_heads",))
    assert heads.p_value == pytest.approx(by_factors["n_heads",].p_value, rel=1e-7)
    assert by_factors["model.norm", "n_heads", "a&b"].freedom == 2
    assert len(by_factors) == 8


def test_blocks_take_out_what_seeds_share() -> None:
    data = tidy(two_by_two(), list(BASE))
    far = data.assign(value=data["value"] + 100 * (data["seed"] - 11))
    for before, after in zip(main_effects(data, BASE), main_effects(far, BASE), strict=True):
        assert (after.estimate, after.low, after.high) == pytest.approx((before.estimate, before.low, before.high))


def test_order_of_rows_changes_nothing() -> None:
    data = three_factors()
    shuffled = data.sample(frac=1, random_state=3)
    assert main_effects(shuffled, THREE) == main_effects(data, THREE)
    assert f_tests(shuffled, THREE) == f_tests(data, THREE)


def test_seeds_with_a_gap_are_left_out_and_named() -> None:
    data = tidy(two_by_two(n=5), list(BASE))
    missing = (data["seed"] == 13) & (data["norm"] == "none") & (data["residual"] == "add")
    failed = data.assign(value=data["value"].mask(missing))
    (effect, _), (whole, _) = main_effects(failed, BASE), main_effects(data[data["seed"] != 13], BASE)
    assert (effect.n_seeds, effect.left_out) == (4, (13,))
    assert (effect.estimate, effect.low) == (whole.estimate, whole.low)
    assert main_effects(data[~missing], BASE)[0] == effect
    gone = data.assign(value=data["value"].mask(data["seed"] == 12))
    assert main_effects(gone, BASE)[0].left_out == (12,)


def test_contrasts_within_seeds_assume_no_equal_errors() -> None:
    values = two_by_two(n=6)
    rng = np.random.default_rng(2)
    noisy = ("none", "none")
    values[noisy] = (np.array(values[noisy]) + rng.normal(0, 5, 6)).tolist()
    data = tidy(values, list(BASE))
    norm = main_effects(data, BASE)[0]
    halves = [np.mean([values[level, other] for other in ("add", "none")], axis=0) for level in ("layer", "none")]
    effect = paired_effect(*halves)
    assert t_interval(norm.per_seed) == pytest.approx((effect.low, effect.high))
    assert norm.estimate == pytest.approx(effect.difference)


@pytest.mark.parametrize("noise", [0.0, 1e-15])
def test_exact_data_have_estimates_and_no_interval(noise: float) -> None:
    values = {cell: [round(v[0]) + s * 0.7 for s in range(3)] for cell, v in two_by_two().items()}
    data = tidy(values, list(BASE))
    data["value"] += noise * (data.index % 2)
    for contrast in (*main_effects(data, BASE), *interactions(data, BASE)):
        assert {contrast.low, contrast.high, contrast.p_value} == {None}
    terms = f_tests(data, BASE)
    assert [(t.freedom, t.error_freedom, t.f, t.p_value) for t in terms] == [
        (2, 6, None, None),
        *[(1, 6, None, None)] * 3,
    ]
    assert sum(t.share or 0.0 for t in terms) == pytest.approx(1)


def test_one_seed_has_estimates_and_no_interval() -> None:
    data = tidy({cell: v[:1] for cell, v in two_by_two().items()}, list(BASE))
    effect = main_effects(data, BASE)[0]
    assert (effect.n_seeds, effect.low, effect.p_value, len(effect.per_seed)) == (1, None, None, 1)
    assert [t.factors for t in f_tests(data, BASE)] == [("norm",), ("residual",), ("norm", "residual")]


def test_what_is_no_design_is_refused() -> None:
    data = tidy(two_by_two(), list(BASE))
    with pytest.raises(ValueError, match="two factors"):
        main_effects(data, {"norm": "layer"})
    with pytest.raises(ValueError, match=r"absent: \['width'\]"):
        main_effects(data, {**BASE, "width": 8})
    with pytest.raises(ValueError, match="norm needs its base 'rms'"):
        main_effects(data, {**BASE, "norm": "rms"})
    with pytest.raises(ValueError, match="another level"):
        main_effects(data[data["norm"] == "layer"], BASE)
    with pytest.raises(ValueError, match="two values"):
        main_effects(pd.concat([data, data.iloc[:1]]), BASE)
    with pytest.raises(ValueError, match="finite"):
        main_effects(data.assign(value=np.inf), BASE)
    with pytest.raises(ValueError, match=r"cells without any: \[\('none', 'none'\)\]"):
        main_effects(data[(data["norm"] == "layer") | (data["residual"] == "add")], BASE)
