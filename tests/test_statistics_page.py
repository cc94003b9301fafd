"""Every number of docs/statistics.md, read from the page and computed again: by the suite, and by scipy or by hand."""

import re
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy import optimize, stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower

from reports import estimates, power, sequential, statistics
from reports.regions import Region
from reports.resampling import RESAMPLES
from reports.verdicts import FIRM, conjunction, judge

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "statistics.md").read_text(encoding="utf-8").replace("−", "-")
MEASUREMENTS = (DOCS / "measurements.md").read_text(encoding="utf-8")
CODE = re.findall(r"```python\n(.*?)```", PAGE, re.S)
TEXT = " ".join(re.sub(r"```.*?```|^\|.*?$", "", PAGE, flags=re.S | re.M).split())
"""The page without code and tables, in one line."""

STATEMENTS = {
    "away": "From their mean the differences are #, #, #, # and # away. The squares sum to #,",
    "variance": "the variance is *s*² = # / (# - 1) = #,",
    "error": "the standard error SE = √(*s*² / *n*) = √(# / #) = #.",
    "quantile": "on # degrees of freedom has its # % point at #:",
    "interval": "mean ± t · SE = # ± # · # = # to #",
    "welch": "Without the pairing (Welch 1947) the same scores give # to #.",
    "bootstrap": "Resampling the five differences gives # to #,",
    "items": "the mean above deviates by # over the draws, SE² = # + #, and the interval is # to #.",
    "holm": "#, # and # become #, # and #.",
    "example": "For # to #:",
    "example with items": "With items (# to #) the first is inconclusive too.",
    "ratios": "taken back: #, #, #, # and # have the mean # and the interval # to #,",
    "all right": "is at least #^(1/*M*), for # items # (Clopper & Pearson 1934)",
    "counts": "# of # reaches down to #, # of # to #.",
    "peeking": "Looking at #, # and # seeds until p < # errs in # % of studies without an effect",
    "looks": "intervals of # %, p times three (Bonferroni; Dunn 1961). At five seeds the example is then # to #.",
    "floor": "the deviation of the base over its seeds, here #. What counts is that of the paired differences, #:",
    "effect": "five seeds show an effect of # in four studies of five; one of # takes # seeds, one of # takes #.",
    "pilots": "known to within a factor of # to #,",
    "normal": "p is below # exactly where the interval leaves out zero.",
    "family": "Of twenty variants without any effect, one is expected to have p < #.",
    "absence": "That there is no effect, from p > # alone.",
}
"""Sentences with numbers; `#` stands for one."""


def pattern(name: str) -> str:
    return re.escape(STATEMENTS[name]).replace(r"\#", r"(-?\d+(?:\.\d+)?)")


def read(name: str) -> list[float]:
    """Numbers of the one place of the page that reads so."""
    found = list(re.finditer(pattern(name), TEXT))
    assert len(found) == 1, f"{len(found)} times on the page: {STATEMENTS[name]}"
    return [float(group) for group in found[0].groups()]


def row(label: str) -> list[str]:
    """Cells after the first of the one row of a table that begins so."""
    found = [line for line in PAGE.splitlines() if line.startswith(f"| {label} |")]
    assert len(found) == 1, label
    return [cell.strip() for cell in found[0].strip("|").split("|")[1:]]


def scores(label: str) -> list[float]:
    """The five scores of a row, whose sixth cell is their mean."""
    *values, mean = map(float, row(label))
    assert np.mean(values) == pytest.approx(mean)
    return values


BASE, VARIANT, D = scores("base, BLEU"), scores("variant, BLEU"), scores("difference *d*")


def rounded(*values: float | None, digits: int = 2) -> list[float]:
    """As they are printed."""
    assert None not in values
    return [round(float(value), digits) for value in values if value is not None]


def test_every_number_with_a_decimal_point_is_read_by_a_test() -> None:
    left = TEXT
    for name in STATEMENTS:
        left = re.sub(pattern(name), "", left)
    assert re.findall(r"\S*\d\.\d\S*", left) == []
    assert {read(name)[0] for name in ("normal", "family", "absence")} == {0.05}


def test_the_interval_by_hand_is_scipys_and_the_suites() -> None:
    assert np.subtract(VARIANT, BASE) == pytest.approx(D)
    *away, squares = read("away")
    assert np.subtract(D, np.mean(D)) == pytest.approx(away)
    assert sum(x**2 for x in away) == pytest.approx(squares)
    assert read("variance") == pytest.approx([squares, 5, np.var(D, ddof=1)])
    assert read("error") == pytest.approx([np.var(D, ddof=1), 5, stats.sem(D)])
    assert read("quantile") == [4, 97.5, round(stats.t.ppf(0.975, 4), 3)]
    mean, quantile, error, low, high = read("interval")
    assert (mean, error) == pytest.approx((np.mean(D), stats.sem(D)))
    assert quantile == read("quantile")[2]
    assert rounded(mean - quantile * error, mean + quantile * error) == [low, high]
    interval = stats.ttest_rel(VARIANT, BASE).confidence_interval(0.95)
    effect = statistics.paired_effect(BASE, VARIANT)
    assert rounded(interval.low, interval.high) == rounded(effect.low, effect.high) == [low, high]
    assert read("example") == [low, high]


def test_the_code_of_the_page_prints_what_stands_below_it(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = CODE
    exec(code, {})
    printed = capsys.readouterr().out.strip()
    assert code.splitlines()[-1] == f"# {printed}"
    assert f"p = {stats.ttest_rel(VARIANT, BASE).pvalue:.5f}" in printed


def test_without_the_pairing() -> None:
    interval = stats.ttest_ind(VARIANT, BASE, equal_var=False).confidence_interval(0.95)
    ours = statistics.welch_interval(BASE, VARIANT)
    assert ours is not None
    assert rounded(interval.low, interval.high) == rounded(*ours) == read("welch")


def test_the_bootstrap_of_the_example_by_all_its_resamples() -> None:
    means = [np.mean(resample) for resample in product(D, repeat=5)]
    assert rounded(*np.quantile(means, [0.025, 0.975], method="inverted_cdf")) == read("bootstrap")


@pytest.mark.parametrize(
    ("label", "measured"),
    [("t interval", "t interval, normal"), ("percentile bootstrap", "percentile bootstrap, normal (not used)")],
)
def test_coverage_is_what_was_measured(label: str, measured: str) -> None:
    assert f"| {measured} | {' | '.join(row(label))} |" in MEASUREMENTS


def test_the_interval_with_items() -> None:
    assert f"items are drawn with replacement {RESAMPLES:,} times" in TEXT
    deviation, seeds, items, low, high = read("items")
    assert (seeds, items) == pytest.approx((np.var(D, ddof=1) / 5, deviation**2))
    by_hand = stats.t.interval(0.95, 4, loc=np.mean(D), scale=np.sqrt(seeds + items))
    effect = statistics.paired_effect(BASE, VARIANT, item_variance=deviation**2)
    assert rounded(*by_hand) == rounded(effect.low, effect.high) == [low, high] == read("example with items")
    found = estimates.difference(BASE, VARIANT, item_variance=deviation**2)
    assert found.scope == "seeds and items"
    assert judge(found, CLAIMS["it costs half a point"], least=3)[0] == "inconclusive"


def test_holm() -> None:
    numbers = read("holm")
    assert rounded(*statistics.holm(numbers[:3])) == numbers[3:]
    assert rounded(*multipletests(numbers[:3], method="holm")[1]) == numbers[3:]


CLAIMS = {
    "it costs half a point": Region(high=-0.5),
    "it costs a point": Region(high=-1.0),
    "it costs two points": Region(high=-2.0),
    "it makes no difference": Region(low=-0.5, high=0.5),
}


@pytest.mark.parametrize("claim", CLAIMS)
def test_verdicts(claim: str) -> None:
    region, verdict, words = row(claim)
    assert CLAIMS[claim].text.replace("−", "-") == region
    assert judge(estimates.difference(BASE, VARIANT), CLAIMS[claim], least=3)[0] == verdict
    low, high = read("example")
    inside = CLAIMS[claim].low <= low and high <= CLAIMS[claim].high
    apart = high < CLAIMS[claim].low or CLAIMS[claim].high < low
    assert words == ("lies inside" if inside else "lies outside" if apart else "overlaps with it")


def test_several_conditions_and_few_seeds() -> None:
    assert "is supported if all are, not supported if any is not. On fewer than five seeds" in TEXT
    assert conjunction(["supported", "supported"]) == "supported"
    assert conjunction(["supported", "inconclusive", "not supported"]) == "not supported"
    assert FIRM == 5


def test_ratios() -> None:
    *ratios, mean, low, high = read("ratios")
    found = estimates.ratio([1.0] * 5, ratios, floor=0.5)
    logs = np.log2(ratios)
    by_hand = 2 ** np.array(stats.t.interval(0.95, 4, loc=logs.mean(), scale=stats.sem(logs)))
    assert rounded(found.value, found.low, found.high) == [mean, low, high]
    assert rounded(stats.gmean(ratios), *by_hand) == [mean, low, high]
    assert mean / low == pytest.approx(high / mean, rel=0.01)


@pytest.mark.parametrize(
    ("factors", "censored", "outcome"),
    [
        ([5, 6, 7], (0, 1), "supported"),
        ([1.1, 1.2, 1.3], (0, 1), "inconclusive"),
        ([5, 6, 7], (1, 0), "inconclusive"),
        ([1.1, 1.2, 1.3], (1, 0), "not supported"),
    ],
)
def test_what_a_censored_side_can_decide(factors: list[float], censored: tuple[int, int], outcome: str) -> None:
    """Censored: seeds whose ratio may be smaller (the faster side) and larger (the slower one)."""
    assert 'can support "at least twice as long" and cannot refute it' in TEXT
    found = replace(estimates.ratio([1.0] * 3, factors, floor=0.5), censored=censored)
    assert judge(found, Region(low=2, ratio=True), least=3)[0] == outcome


def test_all_items_right() -> None:
    error, items, share = read("all right")
    assert round(1 - statistics.unanimous_half_width(int(items), error), 4) == share
    assert round(stats.beta.ppf(error, items, 1), 4) == share


def test_counts_of_seeds() -> None:
    found = read("counts")
    for k, n, low in (found[:3], found[3:]):
        assert round(statistics.binomial_interval(int(k), int(n))[0], 3) == low
        assert round(optimize.brentq(lambda p, n=n: p**n - 0.025, 0, 1), 3) == low
    same = [estimates.difference([0.5] * n, [0.75] * n) for n in (5, 6)]
    assert [judge(of, Region(low=0.1), least=3)[0] for of in same] == ["inconclusive", "supported"]


def test_looks() -> None:
    *looks, p, errs = read("peeking")
    assert (tuple(looks), p) == (sequential.LOOKS, 0.05)
    assert f"| normal, each look at 95 % (not used) | {errs} % |" in MEASUREMENTS
    level, low, high = read("looks")
    assert round(100 * sequential.look_level(), 1) == level
    effect = statistics.paired_effect(BASE, VARIANT, level=sequential.look_level())
    by_hand = stats.ttest_rel(VARIANT, BASE).confidence_interval(1 - 0.05 / 3)
    assert rounded(effect.low, effect.high) == rounded(by_hand.low, by_hand.high) == [low, high]


def test_noise_floor_and_seeds_needed() -> None:
    s = float(np.std(D, ddof=1))
    assert (
        rounded(power.noise_floor(BASE), s, digits=3)
        == rounded(float(np.std(BASE, ddof=1)), s, digits=3)
        == read("floor")
    )
    effect, *wanted = read("effect")
    independent = TTestPower()
    assert (
        rounded(power.smallest_effect(s, 5), s * independent.solve_power(nobs=5, power=0.8, alpha=0.05)) == [effect] * 2
    )
    for size, seeds in (wanted[:2], wanted[2:]):
        assert power.seeds_needed(size, s) == seeds
        assert np.ceil(independent.solve_power(effect_size=size / s, power=0.8, alpha=0.05)) == seeds


def test_what_three_pilots_know() -> None:
    found = power.deviation_interval(1.0, 3)
    assert found is not None
    by_hand = [float(np.sqrt(2 / stats.chi2.ppf(q, 2))) for q in (0.975, 0.025)]
    assert rounded(*found) == rounded(*by_hand) == read("pilots")
