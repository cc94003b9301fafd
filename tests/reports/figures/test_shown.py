"""What a claim's picture shows: axes that hold what they must, and a condition as it was judged."""

from typing import Any

import pytest

from reports.figures.shown import (
    Line,
    Measured,
    Shown,
    as_shown,
    curve_scales,
    is_magnitude,
    log_scale,
    looks_of,
    measured_scale,
    quantity_scale,
    quantity_ticks,
)
from reports.figures.theme import COLOURS, INK, Style
from reports.regions import Region
from reports.verdicts import CurvePoint, Judged, Side

BLACK, BLUE = Style(INK, "-", "o"), Style(COLOURS[0], "-", "s")


def side(*values: float, name: str = "base", **fields: Any) -> Measured:
    return Measured(name=name, style=BLACK, values=values, **fields)


def shown(per_seed: tuple[float, ...], region: Region, **fields: Any) -> Shown:
    return Shown(text="x", outcome="supported", region=region, per_seed=per_seed, **{"value": per_seed[0], **fields})


def test_the_axis_of_the_quantity_holds_seeds_and_region_and_a_reference_that_is_not_far_off() -> None:
    two = (side(1.0, 2.0), side(1.2, 2.2))
    near = quantity_scale(shown((0.2, 0.3), Region(low=0.1), sides=two))
    assert near.low < 0 < 0.3 < near.high
    far = quantity_scale(shown((1.99, 2.01), Region(low=1.95, high=2.05), sides=two))
    assert 1.9 < far.low < 1.95
    assert 2.05 < far.high < 2.1


def test_a_wide_interval_does_not_hide_the_rest() -> None:
    found = quantity_scale(shown((0.2, 0.3), Region(low=0.1), low=-9.0, high=9.0))
    assert -0.3 < found.low < -0.1
    assert 0.4 < found.high < 0.6
    narrow = quantity_scale(shown((0.2, 0.3), Region(low=0.1), low=0.19, high=0.35))
    assert 0.35 < narrow.high < 0.4


def test_floors_and_ceilings_are_always_on_the_axis_and_chance_where_it_is_not_far_off() -> None:
    references = (("chance", 4.2), ("entropy rate", 1.0))
    loss = shown((0.1, 0.3), Region(high=0.2, reference=0.0), references=references, sides=(side(0.1, 0.3),))
    assert loss.is_single
    assert 1.0 < quantity_scale(loss).high < 2
    accuracy = shown((0.97, 0.99), Region(low=0.95, reference=0.0625), references=(("chance", 0.0625),), share=True)
    assert quantity_scale(accuracy).low < 0.0625
    both = shown((0.1,), Region(low=0.0), sides=(side(0.1), side(0.2)), references=references)
    assert 1.0 < measured_scale(both).high < 2


@pytest.mark.parametrize(
    ("values", "region", "log"),
    [
        ((0.0, 4e-7), Region(high=1e-6), True),
        ((0.0, 0.0), Region(high=0.0), True),
        ((1e-7, 0.3), Region(high=1e-6), True),
        ((15.0, 16.0), Region(high=16.0), False),
        ((-1e-9, 1e-7), Region(high=1e-6), False),
    ],
)
def test_errors_are_on_a_logarithmic_axis_and_counts_are_not(
    values: tuple[float, ...], region: Region, log: bool
) -> None:
    assert is_magnitude([*values, region.high], region) == log
    assert quantity_scale(shown(values, region, exact=True)).log == log


def test_zero_stands_far_below_the_smallest_size() -> None:
    assert log_scale([1e-6, 1e-5]).low > 5e-7
    assert log_scale([0.0, 1e-6, 1e-5]).low < 1e-8
    assert log_scale([0.0, 0.0]).low > 0


def test_ratios_are_on_a_logarithmic_axis_with_ticks_even_where_no_decade_is_within() -> None:
    scale = quantity_scale(shown((1.1, 1.2), Region(low=1.05, ratio=True), low=1.02, high=1.25))
    assert scale.log
    assert scale.low < 1 < 1.25 < scale.high
    assert len(quantity_ticks(scale)) >= 2


def test_curves_have_the_logarithmic_axes_of_their_summary() -> None:
    lines = (Line((10.0, 11.0, 13.0), (5.0, 6.0, 7.0)),)
    plain = shown((1.0,), Region(low=0.0), sides=(side(lines=lines),))
    assert [scale.log for scale in curve_scales(plain)] == [False, False]
    logs = shown((1.0,), Region(low=0.0), sides=(side(lines=lines),), logs=(True, True))
    assert [scale.log for scale in curve_scales(logs)] == [True, True]
    floor = shown((1.0,), Region(low=0.0), sides=(side(lines=lines),), references=(("floor", 1.0),))
    assert curve_scales(floor)[1].low < 1.0


def judged(**fields: Any) -> Judged:
    known: dict[str, Any] = {
        "text": "Loss, none minus base", "value": 0.2, "low": 0.1, "high": 0.3, "region": "at least 0.1",
        "outcome": "supported", "reason": "", "n": "2 of 2 seeds", "held_equal": "", "bounds": Region(low=0.1),
        "per_seed": {1: 0.3, 0: 0.1}, "compare": "difference", "metric": "loss",
        "sides": (
            Side(label="none", experiment="e", variant="none", values={1: 1.3, 0: 1.1}, censored=(1,)),
            Side(label="base", experiment="e", variant="base", values={0: 1.0, 1: 1.0}, references={"chance": 4.0}),
        ),
    }  # fmt: skip
    return Judged(**known | fields)


def test_a_condition_is_shown_as_it_was_judged_what_it_is_compared_with_first() -> None:
    condition = judged()
    found = as_shown(condition, {"none": BLUE, "base": BLACK})
    assert [(s.name, s.values, s.style, s.censored) for s in found.sides] == [
        ("base", (1.0, 1.0), BLACK, 0),
        ("none", (1.1, 1.3), BLUE, 1),
    ]
    assert (found.value, found.per_seed, found.references) == (0.2, (0.1, 0.3), (("chance", 4.0),))
    assert found.labels[1] == "Loss (nats per token)"
    assert not found.is_single
    assert [s.name for s in as_shown(judged(compare="order"), {"none": BLUE, "base": BLACK}).sides] == ["none", "base"]


def test_without_seeds_or_region_there_is_nothing_to_draw() -> None:
    looks = {"none": BLUE, "base": BLACK}
    assert as_shown(judged(per_seed={}), looks).value is None
    assert as_shown(judged(bounds=None), looks).value is None


def test_curves_are_a_line_a_seed_in_the_order_of_x() -> None:
    points = [(4.0, 0.5, 0), (2.0, 0.9, 0), (2.0, 0.8, 1)]
    curve = tuple(CurvePoint(x=x, y=y, side="none", seed=seed) for x, y, seed in points)
    found = as_shown(judged(curve=curve, over="distance", summary="log_area"), {"none": BLUE, "base": BLACK})
    assert found.sides[1].lines == (Line((2.0, 4.0), (0.9, 0.5)), Line((2.0,), (0.8,)))
    assert found.sides[0].lines == ()
    assert found.logs == (True, False)
    assert found.labels[0].startswith("Distance")
    assert found.has_curves


def test_no_two_sides_have_one_colour() -> None:
    styles = {"e": {"none": BLUE, "base": BLACK}, "f": {"base": BLACK}}
    found = looks_of(judged(), styles)
    assert (found["none"].colour, found["base"].colour) == (COLOURS[0], INK)
    sides = tuple(Side(label=f"base, {e}", experiment=e, variant="base", values={0: 1.0}) for e in ("e", "f", "gone"))
    colours = [style.colour for style in looks_of(judged(sides=sides), styles).values()]
    assert colours[0] == INK
    assert len(set(colours)) == 3
