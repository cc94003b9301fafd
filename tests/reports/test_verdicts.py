"""The rule of the verdicts, on made-up estimates and rows."""

from dataclasses import replace
from typing import Any

import pytest

from reports import estimates
from reports.regions import Region
from reports.sequential import LOOKS, look_level
from reports.statistics import LEVEL
from reports.verdicts import (
    NO_EFFECT,
    OPPOSITE,
    SMALLER,
    TOO_COARSE,
    Counts,
    Estimate,
    Judged,
    Outcome,
    Verdict,
    conclude,
    conjunction,
    false_verdicts,
    judge,
    judged,
    order,
)

MORE = Region(low=0.1)
LESS = Region(high=-2.0)
EQUAL = Region(low=-0.05, high=0.05, closed=False)
FALLS = Region(high=0.0, closed=False)
RATIO = Region(high=0.15, ratio=True)
LEVEL_UP = Region(low=0.9, reference=0.25)
EXPONENT = Region(low=0.45, high=0.55, closed=False)


def estimate(low: float | None, high: float | None, n: int = 3, **fields: Any) -> Estimate:
    """An estimate with an interval, or a value that all seeds share."""
    value = 0.0 if low is None or high is None else (low + high) / 2
    return Estimate(**{"value": value, "low": low, "high": high, "per_seed": (value,) * n, **fields})


@pytest.mark.parametrize(
    ("region", "low", "high", "outcome", "reason"),
    [
        (MORE, 0.1, 0.3, "supported", ""),
        (MORE, 0.09, 0.3, "inconclusive", "the interval lies partly inside the region"),
        (MORE, 0.02, 0.09, "not supported", SMALLER),
        (MORE, -0.04, 0.03, "not supported", f"{NO_EFFECT} 0.03"),
        (MORE, -0.4, 0.0, "not supported", f"{NO_EFFECT} 0"),
        (MORE, -0.3, -0.1, "not supported", OPPOSITE),
        (LESS, -5.0, -3.0, "supported", ""),
        (LESS, -1.5, -0.5, "not supported", SMALLER),
        (LESS, -1.5, 4.0, "not supported", f"{NO_EFFECT} 1.5"),
        (LESS, 1.0, 4.0, "not supported", OPPOSITE),
        (FALLS, -0.2, -0.1, "supported", ""),
        (FALLS, -0.2, 0.0, "inconclusive", "the interval lies partly inside the region"),
        (FALLS, 0.0, 0.2, "not supported", f"{NO_EFFECT} 0"),
        (FALLS, 0.1, 0.2, "not supported", OPPOSITE),
        (EQUAL, -0.04, 0.03, "supported", ""),
        (EQUAL, 0.04, 0.06, "inconclusive", "the interval lies partly inside the region"),
        (EQUAL, 0.06, 0.2, "not supported", OPPOSITE),
        (EQUAL, -0.2, -0.06, "not supported", OPPOSITE),
        (Region(low=-0.5), -1.5, -0.7, "not supported", OPPOSITE),
        (RATIO, 0.05, 0.15, "supported", ""),
        (RATIO, 0.2, 0.6, "not supported", SMALLER),
        (RATIO, 0.6, 1.7, "not supported", f"{NO_EFFECT} a ratio of 0.6"),
        (RATIO, 1.1, 1.7, "not supported", OPPOSITE),
        (Region(low=1.5, ratio=True), 0.8, 1.3, "not supported", f"{NO_EFFECT} a ratio of 1.3"),
        (LEVEL_UP, 0.92, 0.99, "supported", ""),
        (LEVEL_UP, 0.4, 0.8, "not supported", SMALLER),
        (LEVEL_UP, 0.2, 0.28, "not supported", f"{NO_EFFECT} 0.03"),
        (LEVEL_UP, 0.1, 0.2, "not supported", OPPOSITE),
        (EXPONENT, 0.48, 0.52, "supported", ""),
        (EXPONENT, 0.1, 0.3, "not supported", SMALLER),
        (EXPONENT, 0.6, 0.8, "not supported", OPPOSITE),
    ],
)
def test_the_interval_against_the_region(
    region: Region, low: float, high: float, outcome: Outcome, reason: str
) -> None:
    assert judge(estimate(low, high), region, least=3) == (outcome, reason)


def test_without_a_seed_it_is_not_run_and_with_too_few_nothing_is_decided() -> None:
    assert judge(None, MORE, least=3) == ("not run", "no seed has a value")
    assert judge(estimate(0.2, 0.3, n=2), MORE, least=3) == ("inconclusive", "2 of 3 seeds needed")
    assert judge(estimate(0.2, 0.3, n=15), MORE, least=15)[0] == "supported"
    assert judge(estimate(None, None, n=1), MORE, least=1) == ("inconclusive", "one seed: no interval")


def test_seeds_that_are_all_equal_decide_only_where_most_seeds_must_be_like_them() -> None:
    """(0.025) ** (1 / 5) = 0.478 and (0.025) ** (1 / 6) = 0.541: five of five may still be a minority."""
    found = [judge(estimate(None, None, n=n, value=0.2), MORE, least=3)[0] for n in (3, 5, 6)]
    assert found == ["inconclusive", "inconclusive", "supported"]
    assert judge(estimate(None, None, value=0.2), MORE, least=3)[1].startswith("the same in all 3 seeds")
    assert judge(estimate(None, None, n=6, value=0.04), MORE, least=3) == ("not supported", SMALLER)


def test_seeds_that_are_all_equal_are_judged_by_the_interval_of_their_items() -> None:
    shared = estimates.difference([0.5] * 3, [1.0] * 3, item_variance=1e-4)
    assert judge(shared, Region(low=0.45), least=3)[0] == "supported"
    assert judge(shared, Region(low=0.49), least=3)[0] == "inconclusive"


@pytest.mark.parametrize(
    ("reference", "slower", "outcome"),
    [
        ([100.0, 110.0, 90.0], [300.0, None, 350.0], "supported"),
        ([100.0, None, 390.0], [400.0, 401.0, 400.0], "inconclusive"),
        ([100.0, 110.0, 90.0], [101.0, 113.0, 90.5], "not supported"),
        ([390.0, 395.0, 397.0], [None, 396.0, None], "inconclusive"),
    ],
)
def test_a_time_that_was_cut_off_speaks_on_one_side_only(
    reference: list[float | None], slower: list[float | None], outcome: Outcome
) -> None:
    sides = [[400.0 if steps is None else min(steps, 400.0) for steps in side] for side in (reference, slower)]
    cut = [sum(steps is None or steps > 400 for steps in side) for side in (reference, slower)]
    found = replace(estimates.ratio(*sides, floor=1.0), censored=(cut[0], cut[1]))
    assert judge(found, Region(low=1.5, ratio=True), least=3)[0] == outcome


def test_a_supporting_time_needs_a_reference_that_got_there() -> None:
    supporting = estimate(1.6, 2.0, n=15, censored=(1, 4))
    assert judge(supporting, Region(low=1.5, ratio=True), least=15) == (
        "inconclusive",
        "the reference had not got there in 1 of 15 seeds",
    )


@pytest.mark.parametrize(
    ("values", "region", "outcome", "reason"),
    [
        ([1e-9, 8e-7], Region(high=1e-6), "supported", ""),
        ([1e-9, 2e-6], Region(high=1e-6), "not supported", OPPOSITE),
        ([0.0], Region(low=-1e-12, high=1e-12), "supported", ""),
        ([3.0, 0.0], Region(low=0.0, closed=False), "not supported", f"{NO_EFFECT} 0"),
    ],
)
def test_identities_counts_and_bounds_pass_or_fail_by_their_worst_value(
    values: list[float], region: Region, outcome: Outcome, reason: str
) -> None:
    found = estimates.worst(values, region)
    assert judge(found, region, least=1) == (outcome, reason)
    few = ("inconclusive", f"{len(values)} of 3 seeds needed") if outcome == "supported" else (outcome, reason)
    assert judge(found, region, least=3) == few, "one run is enough to refute"


def test_added_seeds_are_judged_at_the_looks_fixed_beforehand() -> None:
    level = look_level()
    assert level == pytest.approx(1 - 0.05 / 3)
    assert look_level([]) == LEVEL
    looks = {"least": 3, "level": level, "looks": LOOKS}
    assert judge(estimate(0.2, 0.3, n=5), MORE, **looks)[0] == "supported"  # type: ignore[arg-type]
    assert judge(estimate(0.2, 0.3, n=4), MORE, **looks) == ("inconclusive", "4 of 5 seeds needed")  # type: ignore[arg-type]
    assert judge(estimate(0.2, 0.3, n=7), MORE, **looks) == ("inconclusive", "7 seeds: judged only at 5, 10, 20")  # type: ignore[arg-type]


def test_all_equal_seeds_need_more_of_them_at_the_level_of_a_look() -> None:
    """The lower end for n of n at 98.33 % is (1 / 120) ** (1 / n): 0.505 for seven, 0.450 for six."""
    outcomes = [judge(estimate(None, None, n=n, value=0.2), MORE, least=3, level=look_level())[0] for n in (6, 7)]
    assert outcomes == ["inconclusive", "supported"]


def test_an_order_is_its_neighbours_and_its_ends() -> None:
    parts = order(["one", "four", "nine"], slack=0.02, margin=0.3)
    assert parts == [
        ("one", "four", Region(low=-0.02)),
        ("four", "nine", Region(low=-0.02)),
        ("one", "nine", Region(low=0.3)),
    ]
    for bad in ({"slack": -0.1, "margin": 0.3}, {"slack": 0.0, "margin": 0.0}):
        with pytest.raises(ValueError, match="slack"):
            order(["one", "four"], **bad)


@pytest.mark.parametrize(
    ("values", "outcome"),
    [
        ({"one": [0.1, 0.12, 0.11], "four": [0.4, 0.43, 0.41], "nine": [0.6, 0.62, 0.64]}, "supported"),
        ({"one": [0.1, 0.12, 0.11], "four": [0.8, 0.83, 0.81], "nine": [0.6, 0.62, 0.64]}, "not supported"),
        ({"one": [0.1, 0.12, 0.11], "four": [0.2, 0.9, 0.3], "nine": [0.6, 0.62, 0.64]}, "inconclusive"),
    ],
)
def test_an_order_is_judged_as_a_conjunction(values: dict[str, list[float]], outcome: Outcome) -> None:
    parts = order(list(values), slack=0.02, margin=0.3)
    found = [judge(estimates.difference(values[a], values[b]), region, least=3)[0] for a, b, region in parts]
    assert conjunction(found) == outcome


@pytest.mark.parametrize(
    ("parts", "whole"),
    [
        (["supported", "supported"], "supported"),
        (["supported", "not supported", "not run"], "not supported"),
        (["supported", "inconclusive"], "inconclusive"),
        (["supported", "not run"], "inconclusive"),
        (["not run", "not run"], "not run"),
    ],
)
def test_a_conjunction(parts: list[Outcome], whole: Outcome) -> None:
    assert conjunction(parts) == whole


def condition(found: Estimate | None, region: Region = MORE, *, planned: int | None = None, **fields: Any) -> Judged:
    n = len(found.per_seed) if found else 0
    counts = Counts(planned=n if planned is None else planned, counted=n, completed=n, diverged=0)
    return judged("a difference", found, region, counts, **{"least": 3, "held_equal": "steps", **fields})


def test_what_is_kept_of_a_condition() -> None:
    found = estimates.difference([0.0, 0.0, 0.0], [0.11, 0.3, 0.09])
    counts = Counts(planned=5, counted=3, completed=2, diverged=1, others=("1 failed", "1 missing"))
    kept = judged("loss, off minus on", found, MORE, counts, least=3, held_equal="training steps")
    assert (kept.value, kept.low, kept.high) == (found.value, found.low, found.high)
    assert (kept.text, kept.region, kept.held_equal) == ("loss, off minus on", "at least 0.1", "training steps")
    assert kept.n == "3 of 5 seeds, 1 diverged, 1 failed, 1 missing"
    assert (kept.planned, kept.completed, kept.diverged) == (5, 2, 1)
    cut_off = condition(estimate(1.6, 2.0, n=15, censored=(1, 4)))
    assert cut_off.n == "15 of 15 seeds, 1 censored on the reference, 4 censored on the slower side"
    assert kept.share == "inside in 2 of 3 (exact interval of that share: 9 to 99 %)"
    assert (kept.scope, kept.outcome, kept.provisional) == ("seeds", "inconclusive", False)


def test_a_verdict_on_few_seeds_or_with_some_missing_is_provisional() -> None:
    assert condition(estimate(0.2, 0.3, n=4)).provisional
    assert condition(estimate(0.0, 0.05, n=3)).provisional
    assert not condition(estimate(0.2, 0.3, n=5)).provisional
    assert condition(estimate(0.2, 0.3, n=5), planned=10).provisional
    assert not condition(estimate(0.0, 0.3, n=3)).provisional, "nothing is decided"
    assert not condition(estimates.worst([1.0], MORE), least=1).provisional, "exact"
    assert condition(estimates.worst([1.0], MORE), least=1, planned=2).provisional, "exact, with a seed missing"
    assert condition(estimates.worst([0.0], MORE), least=1, planned=2).provisional


def test_an_obstacle_comes_before_any_number() -> None:
    kept = condition(estimate(0.2, 0.3), obstacle="train.steps is 20; the claim is about 250")
    assert (kept.outcome, kept.value, kept.provisional) == ("not run", None, False)
    assert kept.reason == "train.steps is 20; the claim is about 250"


def test_runs_that_fail_and_a_base_that_is_in_doubt() -> None:
    exact = estimates.worst([1.0, 1.0], MORE)
    failed = condition(exact, planned=3, failing="no finite number in 1 of 3 seeds")
    assert (failed.outcome, failed.reason, failed.provisional) == (
        "not supported",
        "no finite number in 1 of 3 seeds",
        False,
    )
    assert condition(None, failing="no finite number in 3 of 3 seeds").outcome == "not supported"
    assert condition(exact, failing="no finite number", obstacle="another study").outcome == "not run"
    doubted = condition(estimate(0.2, 0.3), doubt="the base diverged in 1 of 3 seeds")
    assert (doubted.outcome, doubted.reason) == ("inconclusive", "the base diverged in 1 of 3 seeds")
    assert doubted.value == pytest.approx(0.25)
    assert condition(estimate(0.02, 0.03), doubt="the base diverged").reason == SMALLER, "it may refute"


@pytest.mark.parametrize(
    ("low", "high", "ends", "outcome", "reason"),
    [
        (0.2, 0.3, (0.1, 0.9), "supported", ""),
        (0.2, 0.3, (0.05, 0.9), "inconclusive", TOO_COARSE),
        (0.02, 0.03, (0.01, 0.09), "not supported", SMALLER),
        (0.02, 0.03, (0.01, 0.2), "inconclusive", TOO_COARSE),
        (0.05, 0.2, (0.01, 0.3), "inconclusive", "the interval lies partly inside the region"),
    ],
)
def test_what_a_grid_leaves_open_is_decided_at_both_of_its_ends(
    low: float, high: float, ends: tuple[float, float], outcome: Outcome, reason: str
) -> None:
    value = (low + high) / 2
    found = estimate(*ends, value=value, ends=ends, drawn=(low, high))
    assert judge(found, MORE, least=3) == (outcome, reason)
    shared = estimate(None, None, n=6, value=value, ends=ends, drawn=(low, high))
    assert judge(shared, MORE, least=3) == (outcome, reason), "where six seeds agree too"
    assert judge(replace(shared, per_seed=(value,) * 5), MORE, least=3)[1].startswith("the same in all 5 seeds")


def test_a_grid_is_not_to_blame_where_its_range_is_too_short_as_well() -> None:
    found = estimate(0.04, 0.2, value=0.05, ends=(0.04, 0.2), drawn=(0.05, 0.06), censored=(0, 3), cut="range")
    assert judge(found, MORE, least=3)[1] == "it may be larger, since a horizon lies outside the range, in 3 of 3 seeds"


@pytest.mark.parametrize(
    ("found", "region"),
    [
        (estimates.difference([0.1] * 6, [0.3] * 6), Region(low=0.2)),
        (estimates.difference([0.4] * 6, [0.9] * 6), Region(low=0.5)),
        (estimates.difference([0.3] * 6, [0.1] * 6), Region(high=-0.2)),
        (estimates.ratio([32.0] * 6, [64.0] * 6, floor=1), Region(low=2, ratio=True)),
        (estimates.ratio([64.0] * 6, [128.0] * 6, floor=1), Region(low=2, ratio=True)),
        (estimates.ratio([32.0] * 6, [8.0] * 6, floor=1), Region(high=0.25, ratio=True)),
    ],
)
def test_a_margin_that_is_met_but_for_rounding_is_met(found: Estimate, region: Region) -> None:
    assert judge(found, region, least=3)[0] == "supported"
    beyond = Region(low=region.low, high=region.high, closed=False, ratio=region.ratio)
    assert judge(found, beyond, least=3)[0] == "not supported", "and is not passed"
    assert judge(found, beyond, least=3)[1] == SMALLER


def test_a_claim_gives_the_reasons_of_the_parts_that_decide_it() -> None:
    good, bad = condition(estimate(0.2, 0.3)), condition(estimate(0.02, 0.03))
    unsure, absent = condition(estimate(0.0, 0.2)), condition(None)
    assert conclude([bad]) == ("not supported", SMALLER)
    assert conclude([good, good]) == ("supported", "")
    assert conclude([good, bad, unsure]) == ("not supported", f"a difference: {SMALLER}")
    assert conclude([good, unsure, absent]) == (
        "inconclusive",
        "a difference: the interval lies partly inside the region; a difference: no seed has a value",
    )
    with pytest.raises(ValueError, match="one condition"):
        conclude([])


def verdict(*conditions: Judged) -> Verdict:
    outcome, reason = conclude(conditions)
    return Verdict(
        id="x",
        section="s",
        statement="t",
        outcome=outcome,
        reason=reason,
        provisional=False,
        conditions=conditions,
        counter_evidence="",
        kind="speed",
    )


def test_false_verdicts_to_expect_are_counted_over_intervals() -> None:
    by_interval, exact = condition(estimate(0.2, 0.3)), condition(estimates.worst([1.0], MORE))
    assert false_verdicts([]) == ""
    assert false_verdicts([verdict(exact), verdict(condition(None))]) == ""
    assert false_verdicts([verdict(by_interval, exact)]).startswith(
        "1 verdict rests on 1 interval of 95\N{NO-BREAK SPACE}%: at most about 0.05 false ones"
    )
    several = [verdict(by_interval, by_interval), verdict(by_interval), verdict(exact)]
    assert false_verdicts(several).startswith(
        "2 verdicts rest on 3 intervals of 95\N{NO-BREAK SPACE}%: at most about 0.15"
    )


@pytest.mark.parametrize(
    ("censored", "region", "outcome", "reason"),
    [
        (
            (1, 0),
            Region(low=4),
            "inconclusive",
            "it may be smaller, since a horizon lies outside the range, in 1 of 3 seeds",
        ),
        ((0, 2), Region(low=4), "supported", ""),
        (
            (0, 2),
            Region(low=4, high=99),
            "inconclusive",
            "it may be larger, since a horizon lies outside the range, in 2 of 3 seeds",
        ),
        (
            (0, 1),
            Region(low=20),
            "inconclusive",
            "it may be larger, since a horizon lies outside the range, in 1 of 3 seeds",
        ),
        ((1, 0), Region(low=20), "not supported", SMALLER),
        ((0, 1), Region(high=4), "not supported", OPPOSITE),
        (
            (1, 0),
            Region(high=4),
            "inconclusive",
            "it may be smaller, since a horizon lies outside the range, in 1 of 3 seeds",
        ),
    ],
)
def test_a_range_that_was_cut_off_turns_what_values_beyond_it_could_turn(
    censored: tuple[int, int], region: Region, outcome: Outcome, reason: str
) -> None:
    found = estimate(7.0, 9.0, censored=censored, cut="range")
    assert judge(found, region, least=3) == (outcome, reason)
    shared = estimate(None, None, n=6, value=8.0, censored=censored, cut="range")
    assert judge(shared, region, least=3)[0] == outcome, "where all seeds are equal too"
    exact = estimate(None, None, value=8.0, exact=True, censored=censored, cut="range")
    assert judge(exact, region, least=3)[0] == outcome, "and where it is exact"
    assert condition(found, region).n == f"3 of 3 seeds, {sum(censored)} censored"
