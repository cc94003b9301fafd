"""Sentences made from numbers."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

import pandas as pd

from reports.digits import with_interval
from reports.frames import records
from reports.lengths import whole
from reports.metrics import LONG_RANGE, facts, signed
from reports.rows import ITEMS
from reports.sequential import level_text
from reports.values import far_distances

Row = Mapping[str, Any]


FORCED = ("loss", "perplexity", "accuracy", "accuracy-per-token", LONG_RANGE, "chrf-forced")
"""Metrics computed with the true words given: a model that sees the future looks better in them than it is."""


@dataclass(frozen=True, kw_only=True)
class Doubts:
    """Variants whose better numbers are no gain."""

    leaking: Collection[str] = ()
    """See the words they are to say."""
    diverged: Collection[str] = ()
    """Have, in some seeds, the values fixed for runs that diverged."""
    base: str = ""
    """The base, where some run of it diverged."""

    def of(self, variant: str, metric: str) -> str:
        """Why a better value of the variant on the metric is no gain; empty where it is one."""
        if variant in self.leaking and whole(metric) in FORCED:
            return "sees the words that it is to say"
        return "diverged, and has a value fixed for that" if variant in self.diverged else ""


NO_DOUBTS = Doubts()

FEW_ITEMS = 100
"""Test items below which a share of them is known to no better than ten points either way."""


def headline(effects: pd.DataFrame, metric: str, doubts: Doubts = NO_DOUBTS, *, looks: Sequence[int] = ()) -> str:
    """What one experiment says of its first metric; `effects` has at least one row of it, `looks` are its plan's.

    The largest harm that is more than noise; where there is none, that, and the largest gain.
    """
    rows, name = comparable(effects, metric, doubts), facts(metric).name
    if not rows:
        return f"No variant's {inside(name)} can be compared with the base's."
    worst = _worst(rows, metric)
    if all(row["difference"] == 0 for row in rows):
        return f"No variant differs from the base in {inside(name)}."
    if not facts(metric).better:
        return f"{name} differs most from the base's with {worst['variant']}: {size_of(worst, metric, looks)}."
    nothing, gain = f"No variant has a worse {inside(name)} than the base", _gain(rows, metric, looks)
    if not _is_worse(worst, metric):
        return f"{nothing}{gain}."
    if has_interval(worst) and not is_clear(worst):
        largest = f"; the largest difference is that of {worst['variant']}: {size_of(worst, metric, looks)}"
        return f"{nothing} by more than {_noise(worst)}{gain or largest}."
    return f"{_most(worst, metric, looks)}."


def other_headlines(
    effects: pd.DataFrame, metrics: Sequence[str], doubts: Doubts = NO_DOUBTS, *, looks: Sequence[int] = ()
) -> str:
    """One clause for each further metric: which variant hurts it most, by how much, how surely; else the best one."""
    clauses = [_clause(effects, metric, doubts, looks) for metric in metrics if facts(metric).better]
    return "; ".join(clauses[:1] + [inside(clause) for clause in clauses[1:]]) + "." if clauses else ""


def _clause(effects: pd.DataFrame, metric: str, doubts: Doubts, looks: Sequence[int]) -> str:
    rows, name = comparable(effects, metric, doubts), facts(metric).name
    if not rows:
        return f"{name} can be compared with the base's for no variant"
    worst = _worst(rows, metric)
    gain = _gain(rows, metric, looks)
    if not _is_worse(worst, metric):
        return f"No variant is worse in {inside(name)}{gain}"
    if has_interval(worst) and not is_clear(worst):
        return f"No variant is worse in {inside(name)} by more than {_noise(worst)}{gain}"
    return _most(worst, metric, looks)


def _gain(rows: Sequence[Row], metric: str, looks: Sequence[int]) -> str:
    """`, and x is best: −1 (...)`: the largest clear gain; empty where there is none."""
    gains = [row for row in rows if _is_better(row, metric) and is_clear(row)]
    best = max(gains, key=lambda row: abs(row["difference"]), default=None)
    return f", and {best['variant']} is best: {size_of(best, metric, looks)}" if best else ""


def _most(worst: Row, metric: str, looks: Sequence[int]) -> str:
    verb = "rises" if worst["difference"] > 0 else "falls"
    return f"{facts(metric).name} {verb} most with {worst['variant']}: {size_of(worst, metric, looks)}"


def clearest(effects: pd.DataFrame, metric: str, doubts: Doubts = NO_DOUBTS) -> Row | None:
    """The effect that `headline` names as the largest harm; None where it finds none that is more than noise."""
    rows = comparable(effects, metric, doubts)
    worst = _worst(rows, metric) if rows and facts(metric).better else None
    return worst if worst and _is_worse(worst, metric) and (is_clear(worst) or not has_interval(worst)) else None


def caveats(effects: pd.DataFrame, metrics: Sequence[str], doubts: Doubts) -> list[str]:
    """A sentence for each variant whose better numbers are no gain, and for a base that diverged.

    Numbers that may be better by chance, with an interval that holds zero, are called no better in the first place.
    """
    found: dict[tuple[str, str], list[str]] = {}
    for metric in metrics:
        for row in records(effects[effects["metric"] == metric]):
            reason = doubts.of(row["variant"], metric)
            if reason and _is_better(row, metric) and (is_clear(row) or not has_interval(row)):
                found.setdefault((row["variant"], reason), []).append(inside(facts(metric).name))
    texts = [
        f"{variant} {reason}: its better {' and '.join(names)} {'is' if len(names) == 1 else 'are'} no gain."
        for (variant, reason), names in found.items()
    ]
    if doubts.base:
        texts.append(f"Runs of the base, {doubts.base}, diverged: differences from it are from values fixed for that.")
    return texts


def comparable(effects: pd.DataFrame, metric: str, doubts: Doubts) -> list[dict[str, Any]]:
    """Effects on one metric, without better values that are no gain."""
    rows = records(effects[effects["metric"] == metric])
    return [row for row in rows if not (_is_better(row, metric) and doubts.of(row["variant"], metric))]


def is_decided(effect: Row) -> bool:
    """Whether the interval is there and leaves out zero."""
    return bool(effect["low"] > 0 or effect["high"] < 0)


def is_clear(effect: Row) -> bool:
    """Whether an effect is more than noise: decided, or the same in all of several seeds and without an interval."""
    return is_decided(effect) or (bool(effect["all_equal"]) and not has_interval(effect))


def has_interval(effect: Row) -> bool:
    """Whether there is an interval at all."""
    return not isnan(effect["low"])


def interval(low: float, high: float, metric: str) -> str:
    """An interval to print, with as many digits as its width asks for; a dash where there is none."""
    half = (high - low) / 2
    return "–" if isnan(low) else f"{signed(low, metric, half)} to {signed(high, metric, half)}"


def change(difference: float, low: float, high: float, metric: str) -> str:
    """A difference to print, with the digits of its interval; with its own where there is none."""
    return signed(difference, metric, difference if isnan(low) else (high - low) / 2)


def effect_note(effect: Row) -> str:
    """Why an effect has no interval, and what can be said instead."""
    if effect["n_seeds"] == 1:
        return "one seed: no interval"
    if not effect["all_equal"]:
        return ""
    share = f"{100 * effect['successes_low']:.0f}\N{NO-BREAK SPACE}%"
    return f"the same in {effect['successes']} of {effect['n_seeds']} seeds; exact interval of that share: from {share}"


def seeds_note(fewest: int) -> str:
    """What the smallest number of seeds does not allow one to say."""
    notes = {
        1: "One seed gives no interval: such a difference may be noise between seeds.",
        2: "Intervals from two seeds are so wide (12.7 standard errors) that they seldom decide anything.",
    }
    return notes.get(fewest, "")


def effects_caption(
    rows: pd.DataFrame, values: pd.DataFrame, metrics: Sequence[str], *, compressed: bool, looks: Sequence[int] = ()
) -> str:
    """How to read the figure of effects; `rows` are those it shows, `values` and `looks` those of the experiment."""
    fewest, most = int(rows["n_seeds"].min()), int(rows["n_seeds"].max())
    seeds = times(most, "seed") if fewest == most else f"{fewest} to {most} seeds"
    parts = [
        f"Each row is one variant minus the base, paired by seed ({seeds}).",
        "Large mark: mean. Small dots: single seeds.",
        f"Bar and ±: {level_text(looks)} t interval; it speaks of {scope_of(rows)}."
        if rows["low"].notna().any()
        else "",
        "Shaded: worse than the base. Numbers in grey: the interval holds zero, or there is none; intervals are not "
        "corrected for the number of variants.",
        "Where a small effect would vanish beside a large one the axis is compressed, as noted beneath it."
        if compressed
        else "",
        long_range_note(values) if LONG_RANGE in metrics else "",
        seeds_note(fewest),
    ]
    return " ".join(part for part in parts if part)


def scope_of(effects: pd.DataFrame) -> str:
    """What intervals speak of, where there are any: new seeds on these test items, or new test items too."""
    shown = effects[effects["low"].notna()]
    narrow = set(shown.loc[shown["scope"] == "seeds", "metric"])
    wide = [inside(facts(metric).name) for metric in shown["metric"].unique() if metric not in narrow]
    if not narrow and wide:
        return "new seeds and new test items"
    return "new seeds on the same test items" + (f", for {' and '.join(wide)} of new test items too" if wide else "")


def long_range_note(values: pd.DataFrame) -> str:
    """Which distances long-range accuracy is about; `values` of one experiment."""
    far = far_distances(values)
    items = far_items(values)
    weighted, number = (" weighted by test items", f" ({times(items, 'test item')})") if items else ("", "")
    few = " So few say little." if items and items < FEW_ITEMS else ""
    return (
        f"Long-range accuracy is the mean accuracy{weighted} over the longest third of the distances: "
        f"{far[0]:g} to {far[-1]:g}{number}.{few}"
    )


def far_items(values: pd.DataFrame) -> int:
    """Test items at the far distances; 0 where their number is not known at each."""
    rows = values[values["metric"] == ITEMS]
    at = rows.groupby("coordinate")["value"].max()
    far = [f"distance={distance:g}" for distance in far_distances(values)]
    return int(sum(at[place] for place in far)) if set(far) <= set(at.index) else 0


OTHERS = {
    "perplexity": "Perplexity is the exponential of the loss.",
    "bleu-lower": "BLEU in lower case is nearest to figures published for lower-cased text.",
    "chrf-forced": "chrF with a true prefix: of the likeliest token at each place, given the true ones before it.",
    "exposure-gap": "Exposure gap: how much of that is lost when the model goes on from its own words. A few points "
    "either way are usual; tens of points show that the target leaks.",
    "length-ratio": "Length ratio: tokens of the translations over those of the references.",
    "accuracy-per-token": "Accuracy per token compares log-probabilities divided by the number of tokens.",
}
"""What a metric that is not a headline means, where its name does not say it."""


def others_caption(metrics: Sequence[str], *, diverged: bool) -> str:
    """How to read the table of other values, with these metrics in it."""
    notes = [note for metric, note in OTHERS.items() if metric in metrics]
    partial = ["Only runs that completed have these values."] if diverged else []
    return " ".join(["Means over seeds.", *partial, *notes])


def categories_caption(*, by_token: bool) -> str:
    """How to read the table of accuracy by category; `by_token`: whether it has a second number somewhere."""
    under = " Under it, where it differs: the same by log-probability per token." if by_token else ""
    return f"Share of contrastive pairs whose right side is the likelier one, mean over seeds.{under}"


def quantity(value: float | None, digits: int = 3) -> str:
    """A cost to print: `287 k`, `1.31 T`, `17.3`."""
    if value is None or isnan(value):
        return "–"
    for size, prefix in ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(float(f"{value:.{digits}g}")) >= size:
            return f"{value / (1e3 if prefix == 'k' else size):.{digits}g} {prefix}"
    return f"{value:.0f}" if value == int(value) or abs(value) >= 1000 else f"{value:.{digits}g}"


def ratio(value: float | None, base: float | None) -> str:
    """A cost against the base's: `−11 %`, `×2.3`; empty where they are equal to within a hundredth."""
    if not value or not base or isnan(value) or isnan(base) or abs(value / base - 1) < 0.005:
        return ""
    return (
        f"×{value / base:.3g}" if value > 2 * base else f"{value / base - 1:+.0%}".replace("-", "−").replace("%", " %")
    )


def times(n: int, noun: str) -> str:
    """A number with its noun: `1 run`, `27 runs`."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def _worst(effects: Sequence[Row], metric: str) -> Row:
    """The largest harm among the clear ones, if there are any: one seed gone astray must not hide them."""
    better = facts(metric).better

    def harm(row: Row) -> float:
        return -better * row["difference"] if better else abs(row["difference"])

    return max([row for row in effects if is_clear(row) and harm(row) > 0] or effects, key=harm)


def _is_worse(effect: Row, metric: str) -> bool:
    return bool(facts(metric).better * effect["difference"] < 0)


def _is_better(effect: Row, metric: str) -> bool:
    return bool(facts(metric).better * effect["difference"] > 0)


def _noise(effect: Row) -> str:
    """What an interval that holds zero does not tell an effect from."""
    return "the noise between seeds" + (" and test items" if effect["scope"] == "seeds and items" else "")


def size_of(effect: Row, metric: str, looks: Sequence[int]) -> str:
    """A difference in running text, with its interval and its seeds: `+3 points (95 % interval +2 to +4, 3 seeds)`."""
    unit = "" if facts(metric).share else facts(metric).unit
    size = f"{_brief(effect['difference'])} {unit}".strip()
    if not has_interval(effect):
        notes = [effect_note(effect).partition(";")[0], "" if is_whole(effect) else seeds_of(effect)]
        return f"{size} ({'; '.join(note for note in notes if note)})"
    low, high = _brief(effect["low"]), _brief(effect["high"])
    return f"{size} ({level_text(looks)} interval {low} to {high}, {seeds_of(effect)})"


def is_whole(effect: Row) -> bool:
    """Whether every planned run of the variant and of its base completed and enters the effect."""
    counts = {effect[count] for count in ("n_seeds", "planned", "completed", "base_planned", "base_completed")}
    return len(counts) == 1


def seeds_of(effect: Row) -> str:
    """How many seeds an effect rests on: `3 seeds`; `2 of 3 seeds, 1 diverged`; the base's where they diverged."""
    if is_whole(effect):
        return times(effect["n_seeds"], "seed")
    planned = max(effect["planned"], effect["base_planned"])
    parts = [f"{effect['n_seeds']} of {times(planned, 'seed')}"]
    parts += [f"{effect['diverged']} diverged"] if effect["diverged"] else []
    parts += [f"{effect['base_diverged']} of the base diverged"] if effect["base_diverged"] else []
    return ", ".join(parts)


def _brief(difference: float) -> str:
    """A difference in running text: three digits."""
    return f"{difference:+.3g}".replace("-", "−")


def inside(text: str) -> str:
    """A text that begins with the name of a metric, as it stands inside a sentence."""
    return text if text[:2].isupper() else text[0].lower() + text[1:]


SYMBOLS = {"supported": "✓", "not supported": "✗", "inconclusive": "?", "not run": "–"}
"""A sign for each outcome of a claim, beside the word: not by colour alone."""


def outcomes(found: Sequence[str]) -> str:
    """How many claims came to what: `3 supported, 1 inconclusive`; `found` has the outcome of each."""
    counted = {outcome: list(found).count(outcome) for outcome in SYMBOLS}
    return ", ".join(f"{n} {outcome}" for outcome, n in counted.items() if n)


def estimate(value: float | None, low: float | None, high: float | None) -> str:
    """A judged value with its interval: `0.123 (0.100 to 0.146)`; a dash where there is none."""
    if value is None or isnan(value):
        return "–"
    return with_interval(value, low, high)


def within(place: str, text: str) -> str:
    """A sentence that holds for one experiment: `In german, loss rises most with ...`."""
    return f"In {place}, {inside(text)}"


def sentence(text: str) -> str:
    """A text as a sentence of its own: with a capital letter and a full stop."""
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")
