"""Digits follow the width of the interval."""

import pytest

from reports.digits import decimals_for, digits, with_interval


@pytest.mark.parametrize(
    ("half", "decimals"),
    [
        (0.063, 3),
        (0.1, 2),
        (5.8, 1),
        (12.0, 0),
        (250.0, -1),
        (3e-4, 5),
        (0.0, None),
        (1e-17, None),
        (float("nan"), None),
    ],
)
def test_half_an_interval_has_two_digits(half: float, decimals: int | None) -> None:
    assert decimals_for(half) == decimals


@pytest.mark.parametrize(
    ("value", "low", "high", "text"),
    [
        (0.123, 0.1, 0.146, "0.123 (0.100 to 0.146)"),
        (0.59012, 0.58979, 0.59045, "0.59012 (0.58979 to 0.59045)"),  # not 0.59 (0.59 to 0.59)
        (-0.0000412, -0.0000937, 0.0000113, "−4.12e−05 (−9.37e−05 to 1.13e−05)"),  # not 0.000 ±0.000
        (0.398, 0.0136, 11.6, "0.398 (0.0136 to 11.6)"),
        (-39.44, -43.61, -35.27, "−39.4 (−43.6 to −35.3)"),
        (1234.6, 1100.0, 1369.2, "1235 (1100 to 1369)"),
        (0.0, -0.2, 0.2, "0 (−0.200 to 0.200)"),
        (0.5, 0.5, 0.5, "0.5 (0.5 to 0.5)"),
        (0.25, None, None, "0.25"),
        (8.05e-16, None, None, "8.05e−16"),
        (0.25, float("nan"), float("nan"), "0.25"),
    ],
)
def test_a_value_with_its_interval(value: float, low: float | None, high: float | None, text: str) -> None:
    assert with_interval(value, low, high) == text


def test_there_is_no_minus_zero() -> None:
    assert digits(-0.0) == "0"
