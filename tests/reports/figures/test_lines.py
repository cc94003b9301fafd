"""Lines over seeds: numbers against the plain statistics, artists read back."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import Collection, PolyCollection
from matplotlib.figure import Figure
from numpy.typing import NDArray

from reports.figures.lines import (
    add_levels,
    diverged,
    ends,
    plot_crosses,
    plot_lines,
    plot_single_seeds,
    set_scales,
    single_seeds,
    summarise_lines,
    with_gaps,
)
from reports.figures.scales import Scale
from reports.figures.theme import styles, theme
from reports.frames import records
from reports.statistics import t_interval


@pytest.fixture
def ax() -> Iterator[Axes]:
    with theme():
        yield Figure(figsize=(6, 4)).subplots()


def line_frame(values: dict[str, list[list[float]]]) -> pd.DataFrame:
    """Tidy rows; `values` has, for each variant, one list a seed of values at x = 1, 2, ..."""
    rows = [
        {"variant": v, "seed": seed, "state": "completed", "x": x, "value": value}
        for v, seeds in values.items()
        for seed, of_seed in enumerate(seeds)
        for x, value in enumerate(of_seed, start=1)
    ]
    return pd.DataFrame(rows)


def bands(ax: Axes) -> list[PolyCollection]:
    return [c for c in ax.collections if isinstance(c, PolyCollection)]


def heights_of(drawn: Collection) -> NDArray[np.float64]:
    """Heights of the corners of a band or bar."""
    return np.asarray(drawn.get_paths()[0].vertices, dtype=np.float64)[:, 1]


def test_means_and_bands_are_those_of_the_plain_statistics() -> None:
    rng = np.random.default_rng(7)
    values = {v: rng.normal(size=(n, 3)).tolist() for v, n in (("five", 5), ("three", 3), ("two", 2), ("one", 1))}
    found = records(summarise_lines(line_frame(values), "x", log=False))
    at = {(row["variant"], row["x"]): row for row in found}
    for variant, seeds in values.items():
        for place in range(3):
            column = [of_seed[place] for of_seed in seeds]
            row = at[variant, place + 1]
            assert row["mean"] == pytest.approx(np.mean(column))
            assert row["n"] == len(column)
            if len(column) > 2:
                assert (row["low"], row["high"]) == pytest.approx(t_interval(column), rel=1e-10)
            else:
                assert np.isnan([row["low"], row["high"]]).all()


def test_values_that_are_missing_or_not_finite_are_left_out_and_counted() -> None:
    frame = line_frame({"x": [[1.0, np.nan], [2.0, 5.0], [3.0, np.inf]]})
    found = summarise_lines(frame, "x", log=False)
    assert found["n"].tolist() == [3, 1]
    assert found["mean"].tolist() == [2.0, 5.0]


def test_where_all_seeds_agree_but_for_rounding_the_band_has_no_width() -> None:
    found = summarise_lines(line_frame({"x": [[0.1 + 0.2], [0.3], [0.3]]}), "x", log=False)
    assert found["low"].item() == found["mean"].item() == found["high"].item()


def test_lines_are_means_and_bands_t_intervals(ax: Axes) -> None:
    values = {"base": [[0.9, 0.8], [0.7, 0.6], [0.8, 0.85]], "lstm": [[0.5, 0.4], [0.6, 0.4], [0.4, 0.4]]}
    summary = summarise_lines(line_frame(values), "x", log=False)
    plot_lines(summary, ax, x="x", order=["base", "lstm"], styles=styles(["lstm"], "base"))
    lstm, base = ax.lines
    assert list(np.atleast_1d(base.get_ydata())) == pytest.approx([0.8, 0.75])
    assert list(np.atleast_1d(lstm.get_ydata())) == pytest.approx([0.5, 0.4])
    heights = heights_of(bands(ax)[0])
    assert (heights.min(), heights.max()) == pytest.approx(t_interval([0.5, 0.6, 0.4]))
    assert base.get_zorder() > lstm.get_zorder()


def test_bands_stay_within_what_a_metric_can_be() -> None:
    frame = line_frame({"base": [[1.0, 0.0], [0.9, 0.1], [0.6, 0.4]]})
    found = summarise_lines(frame, "x", log=False, ends=(0, 1))
    assert (found["low"].min(), found["high"].max()) == (0.0, 1.0)
    assert summarise_lines(frame, "x", log=False)["high"].max() > 1


def test_two_seeds_are_shown_as_they_are_and_others_are_not(ax: Axes) -> None:
    frame = line_frame({"two": [[0.1, 0.2], [0.3, 0.4]], "one": [[0.6, 0.7]], "three": [[1.0, 1.0]] * 3})
    assert [(v, list(at), list(y)) for v, at, y in single_seeds(frame, "x")] == [
        ("two", [1, 2], [0.1, 0.2]),
        ("two", [1, 2], [0.3, 0.4]),
    ]
    plot_single_seeds(frame, ax, x="x", order=["one"], styles=styles(["two", "one"], "base"))
    assert not ax.lines
    plot_single_seeds(frame, ax, x="x", order=["one", "two"], styles=styles(["two", "one"], "base"))
    assert [list(np.atleast_1d(line.get_ydata())) for line in ax.lines] == [[0.1, 0.2], [0.3, 0.4]]


def test_single_seeds_run_from_left_to_right() -> None:
    frame = pd.DataFrame({"variant": "base", "seed": [0, 1] * 3, "x": [16, 16, 48, 48, 32, 32], "value": 0.5})
    assert [list(at) for _, at, _ in single_seeds(frame, "x")] == [[16, 32, 48]] * 2


def test_a_single_point_has_an_error_bar_where_a_band_would_vanish(ax: Axes) -> None:
    summary = summarise_lines(line_frame({"base": [[0.2], [0.3], [0.4]]}), "x", log=False)
    plot_lines(summary, ax, x="x", order=["base"], styles=styles([], "base"), markers=False)
    (bar,) = [c for c in ax.collections if not isinstance(c, PolyCollection)]
    heights = heights_of(bar)
    assert (heights.min(), heights.max()) == pytest.approx(t_interval([0.2, 0.3, 0.4]))
    assert "o" in {line.get_marker() for line in ax.lines}


def test_of_logarithms_mean_and_band_are_taken_there() -> None:
    frame = line_frame({"base": [[0.01, 1.0], [0.1, 1.0], [1.0, 1.0]]})
    first = summarise_lines(frame, "x", log=True).iloc[0]
    low, high = t_interval(np.log([0.01, 0.1, 1.0])) or (0, 0)
    assert (first["low"], first["mean"], first["high"]) == pytest.approx((np.exp(low), 0.1, np.exp(high)))


def test_long_lines_have_markers_at_some_points(ax: Axes) -> None:
    summary = summarise_lines(line_frame({"base": [list(range(80))]}), "x", log=False)
    plot_lines(summary, ax, x="x", order=["base"], styles=styles([], "base"))
    assert ax.lines[0].get_markevery() == 4


def test_diverged_runs_are_marked_at_their_last_finite_value_or_everywhere(ax: Axes) -> None:
    frame = line_frame({"x": [[0.9, 0.8, 0.7], [0.9, 1.5, np.nan]], "y": [[0.2, 0.2, 0.2]]})
    frame.loc[(frame["seed"] == 1), "state"] = "diverged"
    assert ends(frame.iloc[::-1], "x")[["variant", "x", "value"]].to_numpy().tolist() == [["x", 2, 1.5]]
    assert diverged(frame)["value"].tolist() == [0.9, 1.5]
    plot_crosses(ends(frame, "x"), ax, x="x")
    plot_crosses(frame.iloc[:0], ax, x="x")
    (cross,) = ax.lines
    assert (list(np.atleast_1d(cross.get_xdata())), list(np.atleast_1d(cross.get_ydata()))) == ([2], [1.5])


def test_levels_within_the_axis_and_a_mark_are_lines_without_names(ax: Axes) -> None:
    x, y = Scale(0, 10), Scale(0.4, 1.04)
    set_scales(ax, x, y, [0, 5], [0.5, 1])
    add_levels(ax, {"chance": 0.5, "ceiling": 0.9, "floor": 0.1}, y, (8.0, "trained at 8"))
    assert not ax.texts
    levels = [list(np.atleast_1d(line.get_ydata())) for line in ax.lines]
    assert levels == [[0.5, 0.5], [0.9, 0.9], [0, 1]]
    assert list(np.atleast_1d(ax.lines[2].get_xdata())) == [8, 8]


def test_lines_and_bands_break_at_places_that_a_variant_lacks(ax: Axes) -> None:
    nan = float("nan")
    values = {"base": [[1.0, 2.0, 3.0, 4.0, 5.0]], "x": [[nan, 7.0, nan, 5.0, 4.0]] * 3, "y": [[nan, nan, 6.0]]}
    found = with_gaps(summarise_lines(line_frame(values), "x", log=False), "x")
    of_x = found[found["variant"] == "x"]
    assert of_x["x"].tolist() == [2, 3, 4, 5]  # what is before the first of its points is no gap
    assert of_x["mean"].to_numpy() == pytest.approx([7, nan, 5, 4], nan_ok=True)
    assert found.loc[found["variant"] == "base", "mean"].tolist() == [1, 2, 3, 4, 5]
    assert found.loc[found["variant"] == "y", "x"].tolist() == [3]
    plot_lines(found, ax, x="x", order=["x"], styles=styles(["x"], "base"))
    assert np.isnan(np.atleast_1d(ax.lines[0].get_ydata())[1])
    (band,) = bands(ax)
    assert np.unique(np.asarray(band.get_paths()[0].vertices)[:, 0]).tolist() == [4, 5]
    (bar,) = [c for c in ax.collections if not isinstance(c, PolyCollection)]
    assert np.unique(np.asarray(bar.get_paths()[0].vertices)[:, 0]).tolist() == [2]  # it stands alone
    nothing = found.iloc[:0]
    assert with_gaps(nothing, "x") is nothing


@pytest.mark.parametrize("log", [False, True])
def test_scales_are_set_as_given(ax: Axes, log: bool) -> None:
    set_scales(ax, Scale(1, 64, log), Scale(0.1, 2), [1, 4, 16], [0.5, 1])
    assert (ax.get_xscale(), ax.get_yscale()) == ("log" if log else "linear", "linear")
    assert ax.get_xlim() == (1, 64)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "4", "16"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["0.5", "1"]
    assert len(ax.get_xticks(minor=True)) == 0
