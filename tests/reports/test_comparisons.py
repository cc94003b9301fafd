"""How sides are compared, and that each comparison can come out on either side of its margin, and on neither."""

from math import exp, log
from typing import Any

import numpy as np
import pytest
from scipy import stats

from reports import register
from reports.comparisons import COMPARE, Known, compared
from reports.quantities import Measured, Share
from reports.regions import Region
from reports.register import Condition
from reports.trends import horizon
from reports.verdicts import OPPOSITE, SMALLER, TOO_COARSE, Estimate, Outcome, judge

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
    items, brackets = fields.pop("items", None), fields.pop("brackets", [{} for _ in sides])
    measured = [
        Measured(
            values={seed: float(value) for seed, value in enumerate(side)},
            censored=of_side,
            brackets=between,
            shares={
                seed: (Share(sign=1, value=float(value), items=items),) for seed, value in enumerate(side) if items
            },
        )
        for side, of_side, between in zip(sides, cuts, brackets, strict=True)
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
    assert outcome(known("exact", region, values), least=2)[0] == expected
    assert outcome(known("exact", region, values[-1:]), least=1)[0] == expected, "one run is enough where it is to be"
    fewer = outcome(known("exact", region, values[-1:]))
    assert fewer == (("inconclusive", "1 of 3 seeds needed") if expected == "supported" else fewer)
    assert outcome(known("exact", region, values, [0.0, 0.0]), least=2)[0] == expected
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


@pytest.mark.parametrize("answers", [1, 2, 5])
@pytest.mark.parametrize("right", [True, False])
def test_the_bound_of_items_at_several_places_leaves_out_the_truth_in_few_studies(answers: int, right: bool) -> None:
    """50 answers at three places where the model is not equally good; those of one sequence stand or fall together.

    As many sequences as that, at least, were independent: the true mean by items, just outside of what the bound leaves
    open, gives such a study in 2.5 % of cases at most.
    """
    counts, sequences = np.array([20, 10, 20]), FEW // answers
    found = estimate(known("level", Region(low=0.5), [float(right)] * 3, items=sequences))
    assert found.low is not None
    assert found.high is not None
    off = (found.low if right else 1 - found.high) - OFF
    shares = (off + np.array([0.01, -0.02, 0.0])).repeat(counts // answers if answers > 1 else counts)
    assert shares.mean() == pytest.approx(off)
    draws = np.random.default_rng(6).random((40_000, len(shares)))
    frequency = (draws < shares).all(axis=1).mean()
    assert 0.02 < frequency <= 0.0275, "2.5 %, give or take three standard errors; and it is no longer than it must be"


def terms(sides: list[list[float]], items: int, signs: tuple[int, ...] = (1, -1)) -> list[Measured]:
    """Sides whose every seed is a difference of two shares, as accuracy at one place minus that at another."""
    shares = tuple(
        tuple(Share(sign=sign, value=value, items=items) for sign, value in zip(signs, side, strict=True))
        for side in sides
    )
    return [Measured(values=dict.fromkeys(range(3), side[0] - side[1]), shares=dict.fromkeys(range(3), of))
            for side, of in zip(sides, shares, strict=True)]  # fmt: skip


def test_each_term_has_its_part_of_the_error() -> None:
    def of(compare: str, *sides: list[float]) -> Known:
        plain = known(compare, MORE, *([0.0] * 3 for _ in sides))
        return Known(condition=plain.condition, seeds=range(3), sides=terms(list(sides), M), level=0.95)

    level = estimate(of("level", [1.0, 1.0]))
    assert (level.low, level.high) == pytest.approx((-HALF, HALF)), "two terms, half of the error each"
    quarter = 1 - 0.0125 ** (1 / M)
    difference = estimate(of("difference", [1.0, 1.0], [1.0, 0.0]))
    assert (difference.low, difference.high) == pytest.approx((-1 - quarter, -1 + 3 * quarter))
    assert estimate(of("difference", [1.0, 1.0], [0.9, 0.9])).low is None
    four = known("interaction", MORE, ONES, ZEROS, ONES, ZEROS, items=M)
    assert (estimate(four).low, estimate(four).high) == pytest.approx((-2 * quarter, 2 * quarter))


def test_seeds_with_other_numbers_of_items_have_no_exact_interval() -> None:
    of = known("level", MORE, ONES, items=M)
    assert estimate(of).low is not None
    of.sides[0].shares[2] = (Share(sign=1, value=1.0, items=M - 1),)
    assert estimate(of).low is None
    del of.sides[0].shares[2]
    assert estimate(of).low is None


# Horizons lie somewhere between two points of a grid.

TO = Region(low=2, ratio=True)
SOME = [16.5, 17.0, 17.5], [4.5, 4.6, 4.4]


@pytest.mark.parametrize(
    ("region", "expected", "reason"),
    [
        (Region(low=2, ratio=True), "supported", ""),
        (Region(low=3, ratio=True), "inconclusive", TOO_COARSE),
        (Region(low=8, ratio=True), "inconclusive", TOO_COARSE),
        (Region(low=8.01, ratio=True), "not supported", SMALLER),
        (Region(high=8, ratio=True), "supported", ""),
        (Region(high=1.5, ratio=True), "not supported", OPPOSITE),
    ],
)
def test_a_horizon_is_taken_at_both_ends_of_its_bracket(region: Region, expected: Outcome, reason: str) -> None:
    """16 to 32 over 4 to 8: a ratio of 2 to 8, of which 3.8 is one guess."""
    brackets = [dict.fromkeys(range(3), (16.0, 32.0)), dict.fromkeys(range(3), (4.0, 8.0))]
    found = estimate(known("ratio", region, *SOME, brackets=brackets, floor=1))
    assert found.value == estimate(known("ratio", region, *SOME, floor=1)).value
    assert (found.low, found.high) == pytest.approx((2, 8))
    assert outcome(known("ratio", region, *SOME, brackets=brackets, floor=1)) == (expected, reason)


def test_seeds_in_several_brackets_have_the_intervals_of_both_ends() -> None:
    brackets = [{0: (16.0, 32.0), 1: (16.0, 32.0), 2: (8.0, 16.0)}, dict.fromkeys(range(3), (4.0, 8.0))]
    values = [17.0, 17.0, 15.0], [4.5, 4.6, 4.4]
    low = stats.ttest_1samp(np.log([2, 2, 1]), 0).confidence_interval().low
    high = stats.ttest_1samp(np.log([8, 8, 4]), 0).confidence_interval().high
    found = estimate(known("ratio", TO, *values, brackets=brackets, floor=1))
    assert (found.low, found.high) == pytest.approx((exp(low), exp(high)))
    difference = estimate(known("difference", MORE, *values, brackets=brackets))
    low = stats.ttest_1samp([8.0, 8.0, 0.0], 0).confidence_interval().low
    high = stats.ttest_1samp([28.0, 28.0, 12.0], 0).confidence_interval().high
    assert (difference.low, difference.high) == pytest.approx((low, high))
    level = estimate(known("level", MORE, values[0], brackets=brackets[:1]))
    low = stats.ttest_1samp([16.0, 16.0, 8.0], 0).confidence_interval().low
    high = stats.ttest_1samp([32.0, 32.0, 16.0], 0).confidence_interval().high
    assert (level.low, level.high) == pytest.approx((low, high))


def test_the_less_pair_of_an_interaction_has_the_other_sign() -> None:
    sides = [20.0] * 3, [10.0] * 3, [9.0] * 3, [5.0] * 3
    bracket = dict.fromkeys(range(3), (4.0, 9.5))
    for place, span in ((2, (5.5, 11.0)), (3, (5.0, 10.5))):
        found = estimate(
            known("interaction", MORE, *sides, brackets=[bracket if at == place else {} for at in range(4)])
        )
        assert found.ends == pytest.approx(span), "20 - 10 - (b - 5), and 20 - 10 - (9 - b)"
        assert (found.low, found.high) == (None, None), "no seed differs from another at any end"


def test_an_exact_horizon_holds_at_both_ends_of_every_bracket() -> None:
    values, brackets = [17.0, 33.0], [{0: (16.0, 32.0), 1: (32.0, 64.0)}]
    for low, expected in ((16, "supported"), (20, "inconclusive"), (32, "inconclusive"), (33, "not supported")):
        assert outcome(known("exact", Region(low=low), values, brackets=brackets), least=2)[0] == expected


def test_a_finer_grid_is_never_contradicted_by_a_coarser_one() -> None:
    """Made-up curves of known horizons: what a grid decides is what the true horizons decide, or nothing."""
    rng, decided = np.random.default_rng(2), 0
    grid = np.array([4.0, 8.0, 16.0, 32.0, 64.0, 128.0])
    for _ in range(500):
        centres = rng.uniform(2.2, 6.8, 2)
        truth = 2 ** np.clip(centres[:, None] + rng.normal(0, 0.1, (2, 5)), 2.01, 6.99)
        found = [[horizon(grid, np.where(grid <= at, 1.0, 0.2), 0.9) for at in side] for side in truth]
        brackets = [{seed: (one.low, one.high) for seed, one in enumerate(side)} for side in found]
        of = known("ratio", TO, *([one.x for one in side] for side in found), brackets=brackets, floor=1)
        exactly = outcome(known("ratio", TO, *truth, floor=1))[0]
        by_grid = outcome(of)[0]
        decided += by_grid != "inconclusive"
        assert by_grid in ("inconclusive", exactly) or exactly == "inconclusive"
    assert decided > 50
