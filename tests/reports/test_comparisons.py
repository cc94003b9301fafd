"""How sides are compared, and that each comparison can come out on either side of its margin, and on neither."""

from math import exp, log
from typing import Any

import numpy as np
import pytest
from scipy import stats

from reports import register
from reports.comparisons import COMPARE, Known, compared
from reports.quantities import Measured
from reports.regions import Region
from reports.register import Condition
from reports.verdicts import Estimate, Outcome, judge

Seeds = Any
"""One number a seed."""


def known(compare: str, region: Region, *sides: Seeds, cut: Any = (), **fields: Any) -> Known:
    """What is known of sides, one value a seed; `cut` holds the seeds that were cut off, side by side."""
    ours: dict[str, Any] = {name: fields.pop(name) for name in ("floor", "oracle", "against") if name in fields}
    common: dict[str, Any] = {"text": "x", "metric": "accuracy", "split": "test", "experiment": "one"}
    common |= {"variant": {"model.norm": "none"}}
    if compare == "exact" and len(sides) > 1:
        ours["against"] = {}
    condition = Condition(**{**common, **ours, "compare": compare, "region": region})
    cuts: list[dict[int, int]] = [dict(of_side) for of_side in cut]
    cuts += [{} for _ in sides[len(cuts) :]]
    measured = [
        Measured(values={seed: float(value) for seed, value in enumerate(side)}, censored=of_side)
        for side, of_side in zip(sides, cuts, strict=True)
    ]
    return Known(**{"condition": condition, "seeds": range(len(sides[0])), "sides": measured, "level": 0.95, **fields})


def outcome(of: Known, *, least: int = 3) -> tuple[Outcome, str]:
    return judge(compared(of), of.condition.region, least=least)


def estimate(of: Known) -> Estimate:
    found = compared(of)
    assert found is not None
    return found


def test_every_comparison_of_the_register_can_be_computed() -> None:
    assert set(COMPARE) == set(register.COMPARISONS)


BASE, ORDERED = (0.50, 0.52, 0.48), "the interval lies partly inside the region"
MORE, LESS, NONE = Region(low=0.1), Region(high=-0.1), Region(low=-0.05, high=0.05, closed=False)


def moved(by: float, base: Seeds = BASE) -> Seeds:
    """The base moved, with some spread of the differences."""
    return [value + by + more for value, more in zip(base, (0.0, 0.01, -0.01), strict=True)]


@pytest.mark.parametrize(
    ("region", "by", "expected"),
    [
        (MORE, 0.15, "supported"),
        (MORE, 0.11, "inconclusive"),
        (MORE, 0.05, "not supported"),
        (MORE, -0.3, "not supported"),
        (LESS, -0.15, "supported"),
        (LESS, -0.09, "inconclusive"),
        (LESS, 0.05, "not supported"),
        (NONE, 0.0, "supported"),
        (NONE, 0.04, "inconclusive"),
        (NONE, 0.09, "not supported"),
        (NONE, -0.09, "not supported"),
    ],
)
def test_a_difference(region: Region, by: float, expected: Outcome) -> None:
    of = known("difference", region, moved(by), BASE)
    interval = stats.ttest_rel(moved(by), BASE).confidence_interval()
    assert (estimate(of).low, estimate(of).high) == pytest.approx((interval.low, interval.high))
    assert outcome(of)[0] == expected
    level = known("level", region, moved(by, (0.0, 0.0, 0.0)))
    assert outcome(level)[0] == expected, "a level of the same size"
    assert outcome(known("excess", region, moved(by), oracles=BASE))[0] == expected
    assert outcome(known("interaction", region, moved(by), BASE, BASE, BASE))[0] == expected
    assert outcome(known("interaction", region, BASE, BASE, BASE, moved(by)))[0] == expected
    assert outcome(known("interaction", region, BASE, moved(-by), BASE, BASE))[0] != "inconclusive" or by in (
        *(0.11, -0.09, 0.04),
    )


def test_one_seed_and_two_decide_nothing_of_three() -> None:
    for n in (1, 2):
        of = known("difference", MORE, moved(0.5)[:n], BASE[:n])
        assert outcome(of) == ("inconclusive", f"{n} of 3 seeds needed")
    assert estimate(known("difference", MORE, [0.9], [0.5])).low is None
    assert outcome(known("difference", MORE, [0.9], [0.5]), least=1) == ("inconclusive", "one seed: no interval")
    of_two = estimate(known("level", MORE, [0.9, 0.8]))
    assert of_two.high == pytest.approx(0.85 + 12.7062 * 0.05, rel=1e-5), "t(1), and 0.1 / sqrt 2 / sqrt 2"


@pytest.mark.parametrize(
    ("region", "factor", "expected"),
    [
        (Region(low=1.5, ratio=True), 2.0, "supported"),
        (Region(low=1.5, ratio=True), 1.55, "inconclusive"),
        (Region(low=1.5, ratio=True), 1.3, "not supported"),
        (Region(high=0.15, ratio=True), 0.05, "supported"),
        (Region(high=0.15, ratio=True), 0.147, "inconclusive"),
        (Region(high=0.15, ratio=True), 0.5, "not supported"),
    ],
)
@pytest.mark.parametrize("compare", ["ratio", "times"])
def test_a_ratio_and_times(compare: str, region: Region, factor: float, expected: Outcome) -> None:
    variant = [base * factor * noise for base, noise in zip(BASE, (1, 1.03, 0.97), strict=True)]
    of = known(compare, region, variant, BASE, **({"floor": 1e-9} if compare == "ratio" else {}))
    interval = stats.ttest_rel(np.log(variant), np.log(BASE)).confidence_interval()
    assert (estimate(of).low, estimate(of).high) == pytest.approx((exp(interval.low), exp(interval.high)))
    assert estimate(of).per_seed == pytest.approx([factor, factor * 1.03, factor * 0.97])
    assert outcome(of)[0] == expected


def test_what_is_below_the_floor_of_a_ratio_counts_as_the_floor() -> None:
    of = known("ratio", Region(low=1.1, ratio=True), [0.5, 0.002, 0.4], [0.25, 0.1, -0.3], floor=0.01)
    assert estimate(of).per_seed == pytest.approx([2, 0.1, 40]), "a curve that rises has a fall below zero"


@pytest.mark.parametrize(
    ("region", "cut", "expected"),
    [
        (Region(low=4, ratio=True), [{}, {}], "supported"),
        (Region(low=4, ratio=True), [{0: 1, 1: 1, 2: 1}, {}], "supported"),
        (Region(low=4, ratio=True), [{}, {1: -1}], "supported"),
        (Region(low=4, ratio=True), [{0: -1}, {}], "inconclusive"),
        (Region(low=4, ratio=True), [{}, {2: 1}], "inconclusive"),
        (Region(low=2, high=20, ratio=True), [{0: 1}, {}], "inconclusive"),
        (Region(low=20, ratio=True), [{}, {}], "not supported"),
        (Region(low=20, ratio=True), [{0: 1}, {}], "inconclusive"),
        (Region(low=20, ratio=True), [{}, {0: -1}], "inconclusive"),
        (Region(low=20, ratio=True), [{0: -1}, {0: 1}], "not supported"),
        (Region(high=2, ratio=True), [{0: 1}, {}], "not supported"),
        (Region(high=2, ratio=True), [{0: -1}, {}], "inconclusive"),
    ],
)
def test_horizons_that_were_cut_off_speak_on_one_side_only(
    region: Region, cut: list[dict[int, int]], expected: Outcome
) -> None:
    """Ratios of about 8: a variant at 64 and a base at 8."""
    of = known("ratio", region, [64.0, 60.0, 64.0], [8.0, 8.0, 7.5], cut=cut, floor=1.0)
    assert outcome(of)[0] == expected
    assert estimate(of).cut == ("range" if any(cut) else "time")
    plain = Region(low=log(region.low) if region.low > 0 else -np.inf, high=log(region.high))
    logs = known("difference", plain, *(np.log(side) for side in ([64.0, 60.0, 64.0], [8.0, 8.0, 7.5])), cut=cut)
    assert outcome(logs)[0] == expected, "a difference is cut off as a ratio is"


def test_levels_excesses_interactions_and_exact_values_that_were_cut_off() -> None:
    high, low = Region(low=4), Region(high=4)
    values = [64.0, 60.0, 64.0]
    assert outcome(known("level", high, values, cut=[{0: 1}]))[0] == "supported"
    assert outcome(known("level", high, values, cut=[{0: -1}]))[0] == "inconclusive"
    assert outcome(known("level", low, values, cut=[{0: 1}]))[0] == "not supported"
    assert outcome(known("level", low, values, cut=[{0: -1}]))[0] == "inconclusive"
    assert outcome(known("exact", high, values, cut=[{0: 1}]))[0] == "supported"
    assert outcome(known("exact", high, values, cut=[{0: -1}]))[0] == "inconclusive"
    sides = (values, [8.0, 8.0, 7.0], [8.0, 8.0, 8.0], [8.0, 7.0, 8.0])
    smaller = [{0: -1}, {0: 1}, {0: 1}, {0: -1}]
    for side, direction in enumerate(smaller):
        alone = [direction if at == side else {} for at in range(4)]
        assert outcome(known("interaction", high, *sides, cut=alone))[0] == "inconclusive"
        other = [{seed: -sign for seed, sign in part.items()} for part in alone]
        assert outcome(known("interaction", high, *sides, cut=other))[0] == "supported"


@pytest.mark.parametrize(
    ("cut", "expected"),
    [([{}, {}], "supported"), ([{0: 1}, {}], "supported"), ([{}, {0: 1}], "inconclusive")],
)
def test_times_support_only_with_a_reference_that_got_there(cut: list[dict[int, int]], expected: Outcome) -> None:
    of = known("times", Region(low=1.5, ratio=True), [400.0, 350.0, 390.0], [100.0, 110.0, 90.0], cut=cut)
    assert outcome(of)[0] == expected
    assert (estimate(of).cut, estimate(of).censored) == ("time", (len(cut[1]), len(cut[0])))


@pytest.mark.parametrize(
    ("cut", "expected"),
    [([{}, {}], "not supported"), ([{}, {0: 1}], "not supported"), ([{0: 1}, {}], "inconclusive")],
)
def test_times_refute_only_with_a_slower_side_that_got_there(cut: list[dict[int, int]], expected: Outcome) -> None:
    of = known("times", Region(low=1.5, ratio=True), [101.0, 112.0, 90.5], [100.0, 110.0, 90.0], cut=cut)
    assert outcome(of)[0] == expected


def test_an_excess_needs_the_oracle_of_every_run() -> None:
    assert compared(known("excess", MORE, moved(0.3))) is None
    of = known("excess", MORE, [0.9, 0.8, 0.85], oracles=[0.5, 0.45, 0.4])
    assert estimate(of).per_seed == pytest.approx([0.4, 0.35, 0.45])


def test_an_interaction_by_hand() -> None:
    of = known("interaction", MORE, [0.9, 0.8, 0.85], [0.3, 0.3, 0.2], [0.7, 0.75, 0.6], [0.6, 0.5, 0.5])
    assert estimate(of).per_seed == pytest.approx([0.5, 0.25, 0.55])


def test_an_interaction_of_nothing_has_no_spread_from_rounding() -> None:
    """0.3 - 0.2 and 0.4 - 0.3 and 0.2 - 0.1 are three numbers of the machine."""
    sides = [0.3, 0.4, 0.2], [0.2, 0.3, 0.1], [0.7, 0.6, 0.9], [0.6, 0.5, 0.8]
    assert len({round(a - b - (c - d), 20) for a, b, c, d in zip(*sides, strict=True)}) > 1
    of = known("interaction", Region(low=0.0, closed=False), *sides)
    assert estimate(of).low is None
    assert outcome(of)[0] == "inconclusive"


@pytest.mark.parametrize(
    ("values", "region", "expected"),
    [
        ([0.0, 0.0], Region(low=0.0, high=0.0), "supported"),
        ([0.0, 5e-324], Region(low=0.0, high=0.0), "not supported"),
        ([1e-7, 1e-6], Region(low=0.0, high=1e-6), "supported"),
        ([1e-7, 1.1e-6], Region(low=0.0, high=1e-6), "not supported"),
        ([3.0, 1e-3], Region(low=1e-3), "supported"),
        ([3.0, 9e-4], Region(low=1e-3), "not supported"),
    ],
)
def test_exact_alone_and_against_another(values: list[float], region: Region, expected: Outcome) -> None:
    assert outcome(known("exact", region, values))[0] == expected
    assert outcome(known("exact", region, values[-1:]))[0] == expected, "one run is enough"
    assert outcome(known("exact", region, values, [0.0, 0.0]))[0] == expected
    if region.high < 1:
        assert outcome(known("exact", region, [v + 7.0 for v in values], [0.0, 0.0]))[0] == "not supported"


MORE_KNOWN: list[dict[str, Any]] = [{}, {"items": 400, "item_variance": 0.0}, {"item_variance": 1e-4}]


def test_a_base_against_itself_is_no_effect() -> None:
    """Whatever the margin that asks for one, and on whatever number of seeds and items."""
    regions = (Region(low=0.02), Region(high=-2.0), Region(low=0.0, closed=False), Region(high=0.0, closed=False))
    for n in (1, 2, 3, 5, 6, 20):
        base = np.random.default_rng(n).random(n)
        for values in (base, np.ones(n), np.zeros(n), np.full(n, 0.7)):
            for region in regions:
                for more in MORE_KNOWN:
                    assert outcome(known("difference", region, values, values, **more))[0] != "supported"
                assert outcome(known("interaction", region, *[values] * 4))[0] != "supported"
                assert outcome(known("exact", region, values, values))[0] == "not supported"
            for ratio in (Region(low=1.1, ratio=True), Region(high=0.9, ratio=True)):
                assert outcome(known("ratio", ratio, values, values, floor=0.01))[0] != "supported"
                assert outcome(known("times", ratio, values + 1, values + 1))[0] != "supported"


ONES, ZEROS, M = [1.0, 1.0, 1.0], [0.0, 0.0, 0.0], 200
HALF = 1 - 0.025 ** (1 / M)
"""One end of the exact interval for 200 of 200: 0.0183."""


@pytest.mark.parametrize(
    ("base", "variant", "below", "above"),
    [
        (ZEROS, ONES, 2 * HALF, 0.0),
        (ONES, ZEROS, 0.0, 2 * HALF),
        (ONES, ONES, HALF, HALF),
        (ZEROS, ZEROS, HALF, HALF),
    ],
)
def test_sides_that_are_right_or_wrong_on_all_items(base: Seeds, variant: Seeds, below: float, above: float) -> None:
    """The true share is at most the 1 that was seen, or at least the 0: each end moves by its own side alone."""
    found = estimate(known("difference", MORE, variant, base, items=M, item_variance=0.0))
    seen = variant[0] - base[0]
    assert (found.low, found.high) == pytest.approx((seen - below, seen + above))
    assert found.scope == "seeds and items"
    assert stats.binomtest(M, M).proportion_ci(0.95, method="exact").low == pytest.approx(1 - HALF)


def test_a_level_and_an_excess_that_are_right_or_wrong_on_all_items() -> None:
    for values, below, above in ((ONES, HALF, 0.0), (ZEROS, 0.0, HALF)):
        level = estimate(known("level", MORE, values, items=M, item_variance=0.0))
        assert (level.low, level.high) == pytest.approx((values[0] - below, values[0] + above))
        excess = estimate(known("excess", MORE, values, items=M, oracles=[0.3] * 3))
        assert (excess.low, excess.high) == pytest.approx((values[0] - 0.3 - below, values[0] - 0.3 + above))


@pytest.mark.parametrize(
    ("region", "expected"),
    [
        (Region(low=0.95), "supported"),
        (Region(low=1 - HALF / 2), "inconclusive"),
        (Region(high=0.95), "not supported"),
        (Region(high=1 - HALF / 2), "inconclusive"),
        (Region(low=0.97, high=1.03), "supported"),
        (Region(low=-0.05, high=0.05, closed=False), "not supported"),
    ],
)
def test_a_level_of_one_in_all_seeds_is_judged_by_its_items(region: Region, expected: Outcome) -> None:
    assert outcome(known("level", region, ONES, items=M))[0] == expected
    assert outcome(known("level", region, ONES))[0] == "inconclusive", "not without the items"
    assert outcome(known("level", region, ONES[:1], items=M), least=1)[0] == "inconclusive", "nor on one seed"
    mirrored = Region(low=-region.high + 1, high=-region.low + 1, closed=region.closed)
    assert outcome(known("level", mirrored, ZEROS, items=M))[0] == expected, "the same for none right"


@pytest.mark.parametrize(
    ("base", "variant"),
    [
        (ONES, [0.9, 0.8, 0.85]),
        ([0.2, 0.1, 0.15], ONES),
        ([0.0, 1.0, 0.0], [1.0, 0.0, 1.0]),
        ([1.0, 0.0, 1.0], ONES),
    ],
)
def test_where_one_side_varies_the_seeds_speak(base: Seeds, variant: Seeds) -> None:
    with_items = estimate(known("difference", MORE, variant, base, items=M, item_variance=0.0))
    interval = stats.ttest_rel(variant, base).confidence_interval()
    assert (with_items.low, with_items.high) == pytest.approx((interval.low, interval.high))


def test_a_side_that_is_alike_but_neither_all_right_nor_all_wrong_has_no_exact_interval() -> None:
    for base, variant in ((ONES, [0.9] * 3), ([0.9] * 3, [0.9] * 3), ([0.0, 1.0, 0.0], [0.0, 1.0, 0.0])):
        assert estimate(known("difference", MORE, variant, base, items=M, item_variance=0.0)).low is None


def test_the_level_of_added_seeds_makes_the_exact_interval_longer_too() -> None:
    found = estimate(known("level", MORE, ONES, items=M, level=1 - 0.05 / 3))
    assert found.low == pytest.approx((0.05 / 6) ** (1 / M))


STUDIES, FEW, OFF = 4000, 50, 1e-4
END = 0.025 ** (1 / FEW)
"""Of the exact interval for 50 of 50: 0.9289."""


@pytest.mark.parametrize("alike", [False, True])
@pytest.mark.parametrize(
    ("base", "variant", "seen"),
    [
        (None, END - OFF, (None, 1.0)),
        (None, 1 - END + OFF, (None, 0.0)),
        (1.0, END - OFF, (1.0, 1.0)),
        (END - OFF, 1.0, (1.0, 1.0)),
        (1 - END + OFF, END - OFF, (0.0, 1.0)),
        (END - OFF, 1 - END + OFF, (1.0, 0.0)),
        (0.0, 2 * END - 1 - OFF, (0.0, 1.0)),
    ],
)
def test_exact_intervals_leave_out_the_truth_in_few_studies(
    base: float | None, variant: float, seen: tuple[float | None, float], alike: bool
) -> None:
    """True shares just outside of the interval of what is seen: it is to be seen in 5 % of studies at most.

    Each of three seeds answers 50 items of its own accord, its own share 0.005 more or less, or all as the first.
    """
    sides = [[of_side] * 3 for of_side in reversed(seen) if of_side is not None]
    region = Region(low=0.5)
    found = estimate(known("difference" if base is not None else "level", region, *sides, items=FEW, item_variance=0.0))
    truth = variant - (base or 0.0)
    assert found.low is not None
    assert found.high is not None
    assert not found.low <= truth <= found.high
    rng, frequency = np.random.default_rng(5), np.ones(STUDIES, bool)
    for share, of_side in zip((variant, base), (seen[1], seen[0]), strict=True):
        if share is not None:
            shares = share + np.array([-0.005, 0.0, 0.005]) * (0 < share < 1) * (not alike)
            draws = rng.random((STUDIES, 1, FEW)).repeat(3, axis=1) if alike else rng.random((STUDIES, 3, FEW))
            frequency &= ((draws < shares[:, None]) == of_side).all(axis=(1, 2))
    assert frequency.mean() <= 0.05
    if alike and {base, variant} & {None, 1.0}:
        assert frequency.mean() == pytest.approx(0.025, abs=0.01), "the interval is as short as it may be"
