"""Time and memory against length: power laws that are known."""

import numpy as np
import pandas as pd
import pytest

from reports.figures.growth import Fit, fit_label, fits, growth_figure
from reports.figures.theme import styles, theme
from reports.trends import Slope
from tests.reports.figures.drawn import check_texts

LENGTHS = (64, 128, 256, 1024)


def rows(exponents: dict[str, list[float]]) -> pd.DataFrame:
    """One exponent a seed; 3 at length 64."""
    return pd.DataFrame(
        {"variant": v, "seed": seed, "state": "completed", "at": n, "value": 3 * (n / 64) ** e}
        for v, seeds in exponents.items()
        for seed, e in enumerate(seeds)
        for n in LENGTHS
    )


def test_exponents_are_fitted_per_seed_and_the_line_is_that_of_least_squares() -> None:
    data = rows({"base": [2.0, 2.0, 2.0], "_x": [0.9, 1.0, 1.1]})
    found = fits(data, ["base", "_x"])
    assert found["base"].exponent.slope == pytest.approx(2)
    assert found["base"].factor * 64**2 == pytest.approx(3)
    assert (found["base"].low, found["base"].high) == (64, 1024)
    assert found["_x"].exponent.per_seed == pytest.approx((0.9, 1.0, 1.1))
    x = data[data["variant"] == "_x"]
    slope, intercept = np.polyfit(np.log(x["at"]), np.log(x["value"]), 1)
    assert found["_x"].exponent.slope == pytest.approx(slope)
    assert np.log(found["_x"].factor) == pytest.approx(intercept)
    assert fit_label("base", found["base"]) == "base: length^2.00"  # all seeds alike: no interval
    assert fit_label("_x", found["_x"]) == "_x: length^1.00 (0.75 to 1.25)"
    assert fit_label("_y", None) == "_y"


def test_a_line_needs_three_lengths_that_every_seed_has() -> None:
    data = rows({"base": [1.0, 1.0], "_x": [1.0, 1.0], "zero": [1.0]})
    data = data[~((data["variant"] == "_x") & (data["seed"] == 1) & (data["at"] > 128))]
    data.loc[data["variant"] == "zero", "value"] = 0.0
    assert list(fits(data, ["base", "_x", "zero"])) == ["base"]


@pytest.mark.parametrize("n", [2, 20])
def test_lines_and_their_exponents_are_listed_once_each(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"_variant-{i}" for i in range(n)]
    data = rows({"base": [1.0, 1.1, 0.9], **{name: [1 + i / 20, 1.02 + i / 20] for i, name in enumerate(names)}})
    looks = styles(names, "base")
    with theme():
        figure = growth_figure(data, metric="seconds", order=["base", *names], styles=looks, x_label="Length (tokens)")
        texts = check_texts(figure, monkeypatch)
    assert len([text for text in texts if "length^" in text]) == n + 1
    (ax,) = figure.axes
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert ax.get_ylabel() == "Seconds"
    assert [label.get_text() for label in ax.get_xticklabels()] == ["64", "128", "256", "1024"]
    drawn = [line for line in ax.lines if line.get_zorder() == 1.9]
    assert len(drawn) == n + 1
    assert list(np.atleast_1d(drawn[0].get_ydata())) == pytest.approx([3, 3 * 16])


def test_intervals_of_exponents_have_the_level_that_is_asked_for() -> None:
    data = rows({"_x": [0.9, 1.0, 1.1]})
    found = fits(data, ["_x"], level=0.99)["_x"].exponent
    half = 9.924843 * 0.1 / np.sqrt(3)  # t(2) at 99 %
    assert (found.low, found.high) == pytest.approx((1 - half, 1 + half))
    with theme():
        figure = growth_figure(
            data, metric="seconds", order=["_x"], styles=styles(["_x"], "base"), x_label="Length", level=0.99
        )
    assert any(f"({1 - half:.2f} to {1 + half:.2f})" in text.get_text() for text in figure.axes[0].texts)


def test_exponents_have_the_digits_of_their_interval() -> None:
    slope = Slope(n_seeds=3, slope=-0.0001, low=-0.0004, high=0.0002, per_seed=())
    assert fit_label("_x", Fit(exponent=slope, factor=1.0, low=1.0, high=2.0)) == (
        "_x: length^−0.00010 (−0.00040 to 0.00020)"
    )
