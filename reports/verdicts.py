"""Verdicts on claims: a region fixed before the run, an interval from the runs, and the rule that compares the two.

    supported       the interval lies inside the region
    not supported   the interval and the region do not meet
    inconclusive    they overlap, or there are too few seeds, or nothing to make an interval from
    not run         no seed has a value

Where every seed gives the same value there is no spread between seeds. The interval is then that of the test items,
where they are known, and the exact one where they are all alike too (statistics.unanimous_half_width). Where they are
not known, all that can be said is in how many seeds k of n the value lies inside: the verdict is that of the common
value only if the exact interval of that share lies above one half (six seeds at 95 %), and inconclusive below that.

Pure: nothing here knows of files, studies or metrics.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import isfinite
from typing import Literal

from reports.regions import Region, brief
from reports.statistics import LEVEL, Interval, binomial_interval

Outcome = Literal["supported", "not supported", "inconclusive", "not run"]

OPPOSITE = "opposite"
"""Why not supported: the effect is on the other side, or there is one where the claim denies it."""

SMALLER = "right direction but smaller than the margin"
NO_EFFECT = "no effect larger than"
"""Followed by the bound of the interval on the side of the claim, counted from the region's reference."""

TOO_COARSE = "the grid is too coarse: a horizon may lie anywhere between two of its points"
"""Why inconclusive: it would be decided if horizons lay where a line between the points has them."""

FIRM = 5
"""Seeds below which a verdict is provisional."""


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """What the runs say of one quantity. Made in reports.estimates."""

    value: float
    """Mean over seeds; the worst value where it is exact."""
    low: float | None
    high: float | None
    """Interval; None for one seed, and where no seed differs from another and the items are not known."""
    per_seed: tuple[float, ...]
    """One value a seed, at least one; as ratios where it is a ratio."""
    exact: bool = False
    """An identity, a count or a bound: judged by the worst value, without an interval."""
    censored: tuple[int, int] = (0, 0)
    """Seeds whose true value may be smaller, and seeds whose true value may be larger, since something was cut off.

    Of a ratio of times, slower over reference: those whose reference, and whose slower arm, had not got there when
    their steps were used up.
    """
    cut: Literal["time", "range"] = "time"
    """What was cut off: the time, or the range of places looked at."""
    scope: str = ""
    """What the interval speaks of: `seeds`, or `seeds and items`."""
    ends: Interval | None = None
    """Where horizons lie between points of a grid: the least and the most that leaves open, seeds included."""
    drawn: Interval | None = None
    """Where they do: the interval if they were where a line between the points has them, or that value."""


@dataclass(frozen=True, kw_only=True)
class Counts:
    """Seeds behind a number: as planned, with runs completed, and with a run diverged (counted, with fixed values)."""

    planned: int
    counted: int
    completed: int
    diverged: int
    others: tuple[str, ...] = ()
    """What became of the rest: `1 failed`."""

    @property
    def text(self) -> str:
        """As it is printed: `3 of 3 seeds, 1 diverged`."""
        ends = ([f"{self.diverged} diverged"] if self.diverged else []) + list(self.others)
        return ", ".join([f"{self.counted} of {self.planned} {'seed' if self.planned == 1 else 'seeds'}", *ends])


@dataclass(frozen=True, kw_only=True)
class Side:
    """What was measured on one side of a condition."""

    label: str
    """Name of the variant, with the experiment's where the sides are of several."""
    experiment: str
    """Name of the experiment, or of the family whose points make the curve."""
    variant: str
    values: Mapping[int, float]
    """Seed to value, the seeds that are judged: of the metric as the condition takes it, or of the curve's summary."""
    references: Mapping[str, float] = field(default_factory=dict)
    """Floors, ceilings and oracles of the metric, where they are the same in all of its runs; chance too."""
    censored: tuple[int, ...] = ()
    """Seeds whose value is only an end of what was looked at: steps used up, a range of distances never left."""


@dataclass(frozen=True, kw_only=True)
class CurvePoint:
    """One point of one seed's curve."""

    x: float
    y: float
    side: str
    """Label of the side."""
    seed: int


@dataclass(frozen=True, kw_only=True)
class Judged:
    """One condition of a claim, judged."""

    text: str
    value: float | None
    low: float | None
    high: float | None
    region: str
    outcome: Outcome
    reason: str
    """Why it is not supported or inconclusive; empty where it is supported."""
    n: str
    held_equal: str
    reference: float = 0.0
    share: str = ""
    """In how many seeds the value lies inside, with the exact interval of that share."""
    scope: str = ""
    exact: bool = False
    provisional: bool = False
    planned: int = 0
    completed: int = 0
    diverged: int = 0
    bounds: Region | None = None
    """The region in numbers."""
    per_seed: Mapping[int, float] = field(default_factory=dict)
    """Seed to the quantity that is judged; ratios where it is a ratio."""
    sides: tuple[Side, ...] = ()
    """What was measured, in the order of the comparison: variant, then what it is compared with."""
    curve: tuple[CurvePoint, ...] = ()
    """By side, seed and x; empty where the quantity is not made of a curve."""
    compare: str = ""
    """One of register.COMPARISONS."""
    metric: str = ""
    split: str = ""
    over: str = ""
    """What x of the curve is: a setting (`task.distance`) or a coordinate (`distance`)."""
    summary: str = ""
    """One of trends.SUMMARIES: what is made of each curve."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """A claim, judged."""

    id: str
    section: str
    statement: str
    outcome: Outcome
    reason: str
    provisional: bool
    """Decided, but on three or four seeds, or with planned seeds still missing."""
    conditions: tuple[Judged, ...]
    counter_evidence: str
    kind: str
    """exact, structural, speed or hardware."""
    experiment: str = ""
    task: str = ""
    note: str = ""
    """How the margins were fixed, and what is known to turn the verdict."""


def judge(
    estimate: Estimate | None, region: Region, *, least: int, level: float = LEVEL, looks: Sequence[int] = ()
) -> tuple[Outcome, str]:
    """Outcome of one condition and, unless it is supported or not run, the reason.

    `least` is the number of seeds below which nothing is decided, but that one run is enough to refute what is exact:
    what must hold in every run. With `looks`, the seeds may have been added until
    something came out: only those numbers of seeds are judged, on intervals of `look_level(looks)`, which `level` is.
    """
    if estimate is None:
        return "not run", "no seed has a value"
    n = len(estimate.per_seed)
    needed = max([least, *looks[:1]])
    if estimate.exact:
        outcome, reason = _decided(region, estimate)
        few = outcome == "supported" and n < least
        return ("inconclusive", f"{n} of {least} seeds needed") if few else (outcome, reason)
    if n < needed:
        return "inconclusive", f"{n} of {needed} seeds needed"
    if looks and n not in looks:
        return "inconclusive", f"{n} seeds: judged only at {', '.join(map(str, looks))}"
    if estimate.low is None or estimate.high is None:
        return _without_spread(estimate, region, level)
    return _decided(region, estimate)


def _decided(region: Region, estimate: Estimate) -> tuple[Outcome, str]:
    """By the interval, or by the value where there is none."""
    span = (estimate.value, estimate.value)
    if estimate.ends is not None:
        span = estimate.ends
    elif estimate.low is not None and estimate.high is not None:
        span = estimate.low, estimate.high
    found = _uncensored(estimate, region, *_against(region, *span))
    if found[0] != "inconclusive" or estimate.drawn is None:
        return found
    outcome, reason = _uncensored(estimate, region, *_against(region, *estimate.drawn))
    return "inconclusive", reason if outcome == "inconclusive" else TOO_COARSE


def _against(region: Region, low: float, high: float) -> tuple[Outcome, str]:
    if region.holds(low, high):
        return "supported", ""
    if not region.meets(low, high):
        return "not supported", reason_against(region, low, high)
    return "inconclusive", "the interval lies partly inside the region"


def reason_against(region: Region, low: float, high: float) -> str:
    """Why an interval that does not meet the region speaks against the claim: always one of three reasons.

    An effect beyond the far end of a region with two ends is `opposite` too: there is what the claim denies.
    """
    none, low, high = region.no_effect, region.snapped(low), region.snapped(high)
    if region.low >= none and high <= region.low:
        return _short(low - none, high - none, f"a ratio of {brief(high)}" if region.ratio else brief(high - none))
    if region.high <= none and low >= region.high:
        return _short(none - high, none - low, f"a ratio of {brief(low)}" if region.ratio else brief(none - low))
    return OPPOSITE


def _short(least: float, most: float, bound: str) -> str:
    """The reason, for an effect from `least` to `most` in the direction that the claim names."""
    if most < 0:
        return OPPOSITE
    return SMALLER if least > 0 else f"{NO_EFFECT} {bound}"


def _without_spread(estimate: Estimate, region: Region, level: float) -> tuple[Outcome, str]:
    """The verdict of a value that all seeds share, if there are enough of them to speak for most seeds."""
    n = len(estimate.per_seed)
    if n == 1:
        return "inconclusive", "one seed: no interval"
    if binomial_interval(n, n, level=level)[0] > 0.5:
        return _decided(region, estimate)
    return "inconclusive", f"the same in all {n} seeds: no spread to make an interval from"


CUT_OFF = {
    "time": ("the reference had not got there", "the slower side had not got there"),
    "range": (
        "it may be smaller, since a horizon lies outside the range,",
        "it may be larger, since a horizon lies outside the range,",
    ),
}
"""What is said of seeds whose true value may be smaller, and larger."""


def _uncensored(estimate: Estimate, region: Region, outcome: Outcome, reason: str) -> tuple[Outcome, str]:
    """The outcome, unless true values beyond what was cut off could turn it.

    For a ratio of times, slower over reference, that is to be large: supported only if the reference got there, and
    refuted only if the slower arm did.
    """
    smaller, larger = estimate.censored
    value = region.snapped(estimate.value)
    refuted_below = outcome == "not supported" and value <= region.low
    refuted_above = outcome == "not supported" and value >= region.high
    inside = outcome == "supported"
    doubts = (
        smaller and ((inside and isfinite(region.low)) or refuted_above),
        larger and ((inside and isfinite(region.high)) or refuted_below),
    )
    for doubt, seeds, why in zip(doubts, estimate.censored, CUT_OFF[estimate.cut], strict=True):
        if doubt:
            return "inconclusive", f"{why} in {seeds} of {len(estimate.per_seed)} seeds"
    return outcome, reason


def judged(
    text: str,
    estimate: Estimate | None,
    region: Region,
    counts: Counts,
    *,
    least: int,
    held_equal: str,
    level: float = LEVEL,
    looks: Sequence[int] = (),
    obstacle: str = "",
    failing: str = "",
    doubt: str = "",
) -> Judged:
    """Judge one condition and keep all that is printed of it.

    With an `obstacle` it is not run, for that reason; where runs are `failing` it is not supported, whatever the others
    say; with a `doubt` it cannot be supported.
    """
    outcome, reason = judge(estimate, region, least=least, level=level, looks=looks)
    if obstacle:
        outcome, reason, estimate = "not run", obstacle, None
    elif failing:
        outcome, reason = "not supported", failing
    elif outcome == "supported" and doubt:
        outcome, reason = "inconclusive", doubt
    exact = estimate is not None and estimate.exact
    decided = outcome in ("supported", "not supported") and not failing
    few = counts.counted < (counts.planned if exact else max(FIRM, counts.planned))
    return Judged(
        text=text,
        value=estimate.value if estimate else None,
        low=estimate.low if estimate else None,
        high=estimate.high if estimate else None,
        region=region.text,
        outcome=outcome,
        reason=reason,
        n=counts.text + (_cut_off(estimate) if estimate else ""),
        held_equal=held_equal,
        reference=region.no_effect,
        share=_share(estimate, region, level) if estimate else "",
        scope=estimate.scope if estimate else "",
        exact=exact,
        provisional=decided and few,
        planned=counts.planned,
        completed=counts.completed,
        diverged=counts.diverged,
        bounds=region,
    )


def _cut_off(estimate: Estimate) -> str:
    """Of how many seeds something was cut off, to stand after their number."""
    if estimate.cut == "range":
        return f", {sum(estimate.censored)} censored" if any(estimate.censored) else ""
    sides = zip(("the reference", "the slower side"), estimate.censored, strict=True)
    return "".join(f", {n} censored on {side}" for side, n in sides if n)


def _share(estimate: Estimate, region: Region, level: float) -> str:
    n = len(estimate.per_seed)
    k = sum(region.holds(value, value) for value in estimate.per_seed)
    if estimate.exact:
        return f"inside in {k} of {n}"
    low, high = binomial_interval(k, n, level=level)
    return f"inside in {k} of {n} (exact interval of that share: {100 * low:.0f} to {100 * high:.0f} %)"


def conclude(conditions: Sequence[Judged]) -> tuple[Outcome, str]:
    """Outcome of a claim and why: supported if all of its conditions are, not supported if any is not.

    Not run where none is; otherwise inconclusive. ValueError without any condition.
    """
    if not conditions:
        raise ValueError("a claim has at least one condition")
    outcome = conjunction([condition.outcome for condition in conditions])
    if len(conditions) == 1:
        return outcome, conditions[0].reason
    wanted = (outcome,) if outcome != "inconclusive" else ("inconclusive", "not run")
    told = [f"{part.text}: {part.reason}" for part in conditions if part.outcome in wanted and part.reason]
    return outcome, "; ".join(told)


def conjunction(outcomes: Sequence[Outcome]) -> Outcome:
    """Outcome of several conditions that must all hold, at least one."""
    if "not supported" in outcomes:
        return "not supported"
    if len(set(outcomes)) == 1:
        return outcomes[0]
    return "inconclusive"


def order(names: Sequence[str], *, slack: float, margin: float) -> list[tuple[str, str, Region]]:
    """The conditions of an order a <= b <= c, each for the difference of the second named minus the first.

    Neighbours may be out of order by `slack` (at least 0); the last exceeds the first by `margin` (above 0).
    """
    if len(names) < 2 or slack < 0 or margin <= 0:
        raise ValueError("an order has two names at least, a slack of at least 0 and a margin above 0")
    return [*((a, b, Region(low=-slack)) for a, b in pairwise(names)), (names[0], names[-1], Region(low=margin))]


def false_verdicts(verdicts: Sequence[Verdict], *, level: float = LEVEL) -> str:
    """How many false verdicts to expect by chance, as a sentence; empty where no verdict rests on an interval.

    An interval of 95 % leaves out the true value in 5 % of cases, so that as many conditions at most are decided
    wrongly. Exact conditions, and those without an interval, have no part in it.
    """
    judged = [[c for c in v.conditions if c.low is not None and not c.exact] for v in verdicts]
    k, n = sum(map(bool, judged)), sum(map(len, judged))
    if not n:
        return ""
    intervals = f"{n} interval{'s' * (n > 1)} of {100 * level:.3g}\N{NO-BREAK SPACE}%"
    return (
        f"{k} verdict{'s' * (k > 1)} rest{'s' * (k == 1)} on {intervals}: at most about {brief(n * (1 - level))} false "
        "ones are to be expected by chance alone; nothing is corrected for their number."
    )
