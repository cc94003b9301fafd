"""Scales of axes: numbers by hand."""

import numpy as np
import pandas as pd
import pytest

from reports.figures.scales import (
    REACH,
    Scale,
    bounds,
    is_geometric,
    is_log,
    level_names,
    place_scale,
    place_ticks,
    step_scale,
    step_ticks,
    thin_ticks,
    tick_label,
    value_scale,
    value_ticks,
)


def bands(low: float, high: float) -> pd.DataFrame:
    return pd.DataFrame({"low": [low, np.nan], "high": [high, np.nan]})


def test_shares_run_along_the_axis() -> None:
    assert Scale(2, 10).share([2, 4, 10]).tolist() == [0, 0.25, 1]
    assert Scale(1, 100, log=True).share([1, 10, 100]).tolist() == pytest.approx([0, 0.5, 1])
    assert Scale(2, 10).inside([1, 2, 7, 11]) == [2, 7]


@pytest.mark.parametrize(
    ("metric", "values", "log"),
    [
        ("loss", [0.1, 2.0], False),
        ("loss", [0.0, 9.0], False),
        ("accuracy", [0.01, 1.0], False),
        ("bleu", [0.1, 97.0], False),
        ("gradient_norm", [0.01, 2.0], True),
        ("loss", [0.01, 2.0], True),
    ],
)
def test_scales_are_logarithmic_only_where_it_helps(metric: str, values: list[float], log: bool) -> None:
    series = pd.Series([*values, np.nan, np.inf])
    assert is_log(series, metric) == log
    assert value_scale(series, bands(np.nan, np.nan), metric=metric, references={}).log == log


def test_an_axis_holds_the_bands_as_far_as_they_are_of_use() -> None:
    values = pd.Series([10.0, 20.0])
    near = value_scale(values, bands(8.0, 22.0), metric="bleu", references={})
    assert (near.low, near.high) == pytest.approx((8 - 0.06 * 14, 22 + 0.06 * 14))
    far = value_scale(values, bands(-500.0, 900.0), metric="gradient_norm", references={})
    assert far.high == pytest.approx(20 + 10 * REACH + 0.06 * 10 * (1 + 2 * REACH))
    zero = value_scale(pd.Series([1.0, 20.0]), bands(-500.0, 21.0), metric="bleu", references={})
    assert zero.low == pytest.approx(-0.06 * 21)  # no value is below zero: the band alone is


def test_bands_are_whole_on_a_logarithmic_axis_too() -> None:
    values = pd.Series([0.01, 1.0])
    scale = value_scale(values, bands(0.008, 3.0), metric="loss", references={})
    assert scale.log
    assert scale.low < 0.008
    assert scale.high > 3.0
    cut = value_scale(values, bands(0.008, 1e9), metric="loss", references={})
    assert cut.high == pytest.approx(np.exp(np.log(100) * REACH * 1.06 + 0.06 * np.log(1.0 / 0.008)), rel=1e-9)


def test_shares_are_shown_from_below_chance_to_one() -> None:
    scale = value_scale(pd.Series([0.9, 1.0]), bands(0.85, 1.0), metric="accuracy", references={"chance": 0.5})
    assert (scale.low, scale.high) == pytest.approx((0.42, 1.04))
    assert not scale.log
    assert value_scale(pd.Series([0.0]), bands(0, 0), metric="accuracy", references={}).low == -0.03


def test_levels_that_are_near_are_on_the_axis_and_far_ones_do_not_squeeze_it() -> None:
    values = pd.Series([0.4, 0.6])
    near = value_scale(values, bands(0.4, 0.6), metric="loss", references={"floor": 0.3})
    assert near.low < 0.3
    far = value_scale(values, bands(0.4, 0.6), metric="loss", references={"chance": 6.9})
    assert far.high < 0.7


def test_equal_values_have_an_axis() -> None:
    scale = value_scale(pd.Series([0.0, 0.0]), bands(0, 0), metric="loss", references={})
    assert scale.low < 0 < scale.high
    steps = step_scale([5])
    assert steps.low < 5 < steps.high


@pytest.mark.parametrize(
    ("places", "points", "log", "ticks"),
    [
        ([1, 2, 3, 4, 6, 8, 12], 400, True, [1, 2, 3, 4, 6, 8, 12]),
        ([12, 1, 8, 2, 6, 3, 4, 4], 400, True, [1, 2, 3, 4, 6, 8, 12]),
        ([1, 2, 4, 8, 16, 32, 64], 400, True, [1, 2, 4, 8, 16, 32, 64]),
        ([1, 2, 4, 8, 16, 32, 64], 80, True, [1, 4, 16, 64]),
        ([1, 2, 3, 4], 400, False, [1, 2, 3, 4]),
        ([0.01, 0.003, 0.001], 400, True, [0.001, 0.003, 0.01]),
        ([0.1, 3.0], 400, False, [0.1, 3]),
        ([0, 100], 400, False, [0, 100]),
        ([-1, 100], 400, False, [-1, 100]),
        ([1e-5, 1e-2], 400, True, [1e-05, 0.01]),
        ([7], 400, False, [7]),
    ],
)
def test_ticks_of_a_setting_are_its_own_values_as_far_as_there_is_room(
    places: list[float], points: float, log: bool, ticks: list[float]
) -> None:
    scale = place_scale(places)
    assert scale.log == log
    assert place_ticks(places, scale, points) == ticks
    assert scale.low < min(places) <= max(places) < scale.high


def test_a_geometric_series_is_one_that_its_ratios_space_more_evenly() -> None:
    assert is_geometric([1, 2, 4, 8])
    assert not is_geometric([1, 2, 3])
    assert not is_geometric([0, 1, 10])
    assert not is_geometric([5])


def test_ticks_of_values_and_steps() -> None:
    assert value_ticks(Scale(0.42, 1.04)) == pytest.approx([0.6, 0.8, 1.0])
    assert value_ticks(Scale(0.05, 20, log=True)) == pytest.approx([0.1, 0.3, 1, 3, 10])
    assert value_ticks(Scale(0.1, 1.5, log=True)) == pytest.approx([0.1, 0.2, 0.5, 1])
    assert len(value_ticks(Scale(1e-9, 1, log=True))) <= 10
    assert step_ticks(Scale(-2, 1030), 150) == [0, 500, 1000]
    assert step_ticks(Scale(0.5, 4.5), 400) == [1, 2, 3, 4]


def test_labels_that_would_touch_are_left_out_the_first_ones_kept() -> None:
    assert thin_ticks([0.0, -1.0, 1.0, 2.0], [50, 30, 60, 90], [10, 10, 10, 10]) == [-1.0, 0.0, 2.0]


def test_labels_of_ticks() -> None:
    assert [tick_label(v) for v in (0.3, 1000, 1e-5, -2, 0, 1e-15)] == ["0.3", "1000", "1e-05", "−2", "0", "0"]


def test_names_of_levels_have_their_values_and_an_arrow_beyond_the_axis() -> None:
    scale = Scale(0, 1)
    assert level_names({"oracle": 0.13, "chance": 0.5}, scale) == ["oracle 0.13", "chance 0.5"]
    assert level_names({"chance": 6.91, "floor": -2.0}, scale) == ["↑ chance 6.91", "↓ floor −2"]
    assert level_names({}, scale) == []


def test_shares_and_points_have_bounds_and_others_none() -> None:
    assert bounds("accuracy") == (0, 1)
    assert bounds("bleu") == (0, 100)
    assert bounds("loss") == bounds("exposure-gap") == bounds("gradient_norm") == (-np.inf, np.inf)
