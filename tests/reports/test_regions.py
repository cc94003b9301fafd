"""Regions: what lies in them, what is refused, how they read."""

from math import inf, nan
from typing import Any

import pytest

from reports.regions import Region, brief


@pytest.mark.parametrize(
    ("region", "inside", "outside"),
    [
        (Region(low=0.1), [(0.1, 0.4), (0.2, 0.2)], [(0.09, 0.3), (-0.3, 0.09)]),
        (Region(high=0.0, closed=False), [(-0.2, -0.1)], [(-0.2, 0.0), (0.0, 0.0), (0.1, 0.2)]),
        (Region(low=-0.05, high=0.05, closed=False), [(-0.04, 0.04)], [(-0.05, 0.0), (-0.2, 0.2), (0.05, 0.05)]),
        (Region(low=3.8, high=4.2), [(3.8, 4.2)], [(3.7, 4.0)]),
    ],
)
def test_an_interval_lies_inside_with_both_ends(
    region: Region, inside: list[tuple[float, float]], outside: list[tuple[float, float]]
) -> None:
    assert all(region.holds(*interval) for interval in inside)
    assert not any(region.holds(*interval) for interval in outside)


@pytest.mark.parametrize(
    ("region", "meeting", "apart"),
    [
        (Region(low=0.1), [(0.0, 0.1), (-1.0, 1.0)], [(-0.5, 0.0999)]),
        (Region(low=0.1, closed=False), [(0.0, 0.11)], [(0.0, 0.1)]),
        (Region(high=0.0, closed=False), [(-0.1, 0.2)], [(0.0, 0.2)]),
        (Region(low=-0.05, high=0.05, closed=False), [(0.04, 0.3)], [(0.05, 0.3), (-0.3, -0.05)]),
    ],
)
def test_an_interval_meets_a_region_at_a_point_that_belongs_to_it(
    region: Region, meeting: list[tuple[float, float]], apart: list[tuple[float, float]]
) -> None:
    assert all(region.meets(*interval) for interval in meeting)
    assert not any(region.meets(*interval) for interval in apart)


def test_an_end_is_met_but_for_rounding_and_zero_only_by_zero() -> None:
    rounded = 0.3 - 0.1
    assert rounded < 0.2
    assert Region(low=0.2).holds(rounded, 0.5)
    assert Region(low=0.2).meets(-1.0, rounded)
    assert Region(high=0.5).holds(0.1, 0.5 * (1 + 1e-13))
    for region in (Region(low=0.2, closed=False), Region(high=-0.2, closed=False)):
        above = region.low * (1 + 1e-14) if region.low > 0 else region.high * (1 + 1e-14)
        assert not region.holds(above, above)
        assert not region.meets(above, above)
    assert not Region(low=0.2).holds(0.2 * (1 - 1e-11), 0.5), "more than rounding"
    nothing = Region(low=0.0, high=0.0)
    assert nothing.holds(0.0, 0.0)
    assert not nothing.meets(5e-324, 5e-324)
    assert not nothing.meets(-1e-300, -1e-300)
    assert Region(low=0.2).snapped(rounded) == 0.2
    assert Region(low=0.2).snapped(0.21) == 0.21


@pytest.mark.parametrize(
    ("region", "text"),
    [
        (Region(low=0.1), "at least 0.1"),
        (Region(high=-2.0), "at most −2"),
        (Region(high=0.0, closed=False), "below 0"),
        (Region(low=0.0, closed=False), "above 0"),
        (Region(low=-0.05, high=0.05, closed=False), "between −0.05 and 0.05"),
        (Region(low=1 / 9 - 1e-9, high=1 / 9 + 1e-9), "0.111 ± 1e−09"),
        (Region(low=0.1111, high=0.1119), "between 0.111 and 0.112"),
        (Region(high=0.15, ratio=True), "a ratio of at most 0.15"),
        (Region(low=1.0, closed=False, ratio=True), "a ratio above 1"),
    ],
)
def test_a_region_in_words(region: Region, text: str) -> None:
    assert region.text == text


@pytest.mark.parametrize(
    ("ends", "message"),
    [
        ({"low": 0.2, "high": 0.1}, "nothing"),
        ({"low": 0.1, "high": 0.1, "closed": False}, "nothing"),
        ({}, "everything"),
        ({"low": nan}, "numbers"),
        ({"low": 0.1, "reference": inf}, "finite"),
        ({"low": 0.0, "ratio": True}, "above zero"),
        ({"high": -2.0, "ratio": True}, "above zero"),
        ({"high": 2.0, "ratio": True, "reference": 0.0}, "above zero"),
    ],
)
def test_impossible_regions_are_refused(ends: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Region(**ends)


def test_no_effect_is_zero_for_a_difference_one_for_a_ratio_and_what_is_given() -> None:
    assert Region(low=0.1).no_effect == 0
    assert Region(low=1.5, ratio=True).no_effect == 1
    assert Region(low=0.9, reference=0.25).no_effect == 0.25


def test_numbers_in_running_text() -> None:
    assert [brief(x) for x in (-0.0, -0.12345, 1e-6, 1234.0)] == ["0", "−0.123", "1e−06", "1.23e+03"]
