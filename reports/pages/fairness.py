"""The section of a fair comparison: one experiment with the same settings, matched and tuned, side by side."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pandas as pd

from reports.experiment import Experiment
from reports.fairness import (
    COMPARISONS,
    MATCHED,
    SAME,
    TUNED,
    UNDECIDED,
    Fair,
    at_an_end,
    best_trial,
    changed,
    costs,
    describe_settings,
    fair_experiments,
    hopeless,
    mean_value,
    searched,
)
from reports.figures.captions import joined, listed
from reports.figures.fairness import WHY, fair_pictures, is_unchanged, own_verdicts
from reports.figures.gallery import Gallery, Picture
from reports.metrics import facts, number
from reports.pages.grids import Cell, Grid, tags
from reports.rows import RowsError, StudyRows
from reports.trials import read_trials
from reports.wording import change, effect_note, has_interval, inside, interval, is_whole, quantity, seeds_of, times

LEFT_OUT = "left out"
AS_IT_IS = "as it is"
HOW = {MATCHED: "Matching every variant to the base", TUNED: "Tuning every variant and the base alike"}
MADE = {SAME: "parameters", MATCHED: "parameters", TUNED: "best point"}


@dataclass(frozen=True, kw_only=True)
class FairSection:
    """What the page shows of one experiment in all its comparisons."""

    name: str
    anchor: str
    sentences: tuple[str, ...]
    """What each comparison changes."""
    caveats: tuple[str, ...]
    pictures: list[Picture]
    grids: list[Grid]
    """One a headline metric, then what was made equal."""
    search: str
    """How large the search for the best settings was; empty where there was none."""


def read_fairness(study: StudyRows, experiments: Sequence[Experiment]) -> tuple[list[Fair], list[str]]:
    """The fair comparisons of a study with the trials behind them; beside them what could not be read."""
    try:
        return fair_experiments(experiments, read_trials(study.folder)), []
    except RowsError as error:
        return fair_experiments(experiments), [str(error)]


def fair_section(fair: Fair, place: int, stem: str, gallery: Gallery) -> FairSection:
    """Draw and write the comparison of the `place`th experiment of a study; file names begin with `stem`."""
    return FairSection(
        name=f"Fair comparison: {fair.origin.name}",
        anchor=f"fair-{place}",
        sentences=tuple(sentences(fair)),
        caveats=tuple(caveats(fair)),
        pictures=fair_pictures(fair, stem, gallery),
        grids=[*(metric_grid(fair, metric) for metric in fair.metrics), settings_grid(fair)],
        search=trials_note(fair),
    )


def sentences(fair: Fair) -> list[str]:
    """For each comparison how many verdicts it changes, and which."""
    return [f"{HOW[name]}{_unchanged(fair, name)} {_changes(fair, name)}." for name in fair.made_equal]


def _unchanged(fair: Fair, comparison: str) -> str:
    """How many variants it leaves as they are."""
    n = sum(is_unchanged(fair, comparison, variant) for variant in fair.others)
    stay = "stays as it is" if n == 1 else "stay as they are"
    return f" ({n} of {times(len(fair.others), 'variant')} {stay}, {WHY[comparison]})" if n else ""


def _changes(fair: Fair, comparison: str) -> str:
    news, compared = [], 0
    for metric in fair.metrics:
        verdicts = {variant: own_verdicts(fair, metric, variant) for variant in fair.others}
        both = {v: found for v, found in verdicts.items() if {SAME, comparison} <= found.keys()}
        others = [f"{v} from {of[SAME]} to {of[comparison]}" for v, of in both.items() if comparison in changed(of)]
        compared += len(both)
        if others:
            name = inside(facts(metric).name)
            news.append(f"{len(others)} of {times(len(both), 'verdict')} on {name} ({', '.join(others)})")
    if not compared:
        return "changes nothing" if _unchanged(fair, comparison) else "cannot be judged yet: nothing can be compared"
    return f"changes {'; '.join(news)}" if news else f"changes no verdict of {compared}"


def caveats(fair: Fair) -> Iterator[str]:
    """Variants that are not in a comparison, and searches whose best point may lie beyond what was tried."""
    for name in fair.made_equal:
        left_out = [f"{v} ({reason})" for v in fair.origin.order if (reason := fair.left_out(name, v))]
        if left_out:
            yield f"Left out of {COMPARISONS[name].lower()}: {'; '.join(left_out)}."
    for path in searched(fair.trials) if TUNED in fair.arms else ():
        if names := at_an_end(fair, path):
            yield f"Best at an end of the values of {path} that were tried, so that a better one may lie beyond: " + (
                f"{listed(names)}."
            )


def metric_grid(fair: Fair, metric: str) -> Grid:
    """A row a variant: its effect in each comparison, and the verdicts. The base has the mean over its seeds."""
    return Grid(
        title=f"{facts(metric).name} of {fair.origin.name} in all comparisons",
        columns=["Variant", *(COMPARISONS[name] for name in fair.arms), "Verdict"],
        rows=[
            [
                _name_cell(fair, variant),
                *(_cell(fair, name, metric, variant) for name in fair.arms),
                _verdict_cell(fair, metric, variant),
            ]
            for variant in fair.origin.order
        ],
        sortable=True,
    )


def _name_cell(fair: Fair, variant: str) -> Cell:
    return Cell(
        text=variant,
        note="the base" if variant == fair.origin.base else "",
        kind="name",
        style=fair.origin.styles[variant],
        tags=tags(fair.origin, variant),
    )


def _cell(fair: Fair, comparison: str, metric: str, variant: str) -> Cell:
    if fair.left_out(comparison, variant):
        return Cell(text=LEFT_OUT, note=fair.left_out(comparison, variant), kind="number undecided")
    if variant == fair.origin.base:
        value = mean_value(fair, comparison, metric, variant)
        return Cell(text=number(value, metric) if value == value else "–", value=value)
    effect = fair.effect(comparison, metric, variant)
    if effect is None:
        return Cell(text="–")
    if is_unchanged(fair, comparison, variant):
        return Cell(text=AS_IT_IS, note=WHY[comparison], kind="number undecided", value=effect["difference"])
    ends = interval(effect["low"], effect["high"], metric) if has_interval(effect) else effect_note(effect)
    counts = [] if is_whole(effect) else [seeds_of(effect)]
    decided = fair.verdicts(metric, variant)[comparison] != UNDECIDED
    return Cell(
        text=change(effect["difference"], effect["low"], effect["high"], metric),
        note=", ".join([ends, *counts]),
        kind="number" if decided else "number undecided",
        value=effect["difference"],
    )


def settings_grid(fair: Fair) -> Grid:
    """A row a variant: its size with the same settings and matched, with the field that was widened; its best point."""
    return Grid(
        title=f"What was made equal in {fair.origin.name}",
        columns=["Variant", *(f"{COMPARISONS[name]}: {MADE[name]}" for name in fair.arms)],
        rows=[
            [_name_cell(fair, variant), *(_made_cell(fair, name, variant) for name in fair.arms)]
            for variant in fair.origin.order
        ],
    )


def _made_cell(fair: Fair, comparison: str, variant: str) -> Cell:
    if reason := fair.left_out(comparison, variant):
        return Cell(text=LEFT_OUT, note=reason, kind="text undecided")
    settings = describe_settings(fair.settings(comparison, variant))
    if comparison == TUNED:
        return Cell(text=settings or "–", note=_trial_note(fair, variant), kind="text")
    own = costs(fair, comparison, variant)
    if variant != fair.origin.base and is_unchanged(fair, comparison, variant):
        return Cell(text=AS_IT_IS, note=share_of_base(fair, comparison, variant), kind="text undecided")
    notes = [settings if comparison == MATCHED else "", share_of_base(fair, comparison, variant)]
    return Cell(text=quantity(own["parameters"]), note="; ".join(note for note in notes if note), kind="text")


def _trial_note(fair: Fair, variant: str) -> str:
    best, own = best_trial(fair.trials, variant), fair.trials[fair.trials["variant"] == variant]
    if best is None:
        return ""
    done = f"best of {times(len(own), 'trial')}"
    ended = f", {times(len(hopeless(own)), 'trial')} hopeless" if len(hopeless(own)) else ""
    return f"validation loss {number(best['value'], 'loss')}, {done}{ended}"


def share_of_base(fair: Fair, comparison: str, variant: str) -> str:
    """Parameters and operations as shares of the base's of the same comparison: `99.8 %, operations 104.0 %`."""
    own, base = (costs(fair, comparison, name) for name in (variant, fair.origin.base))
    shares = {name: 100 * own[name] / base[name] for name in own if base[name] > 0 and own[name] > 0}
    if variant == fair.origin.base:
        return ""
    names = {"parameters": "", "training_flops": "operations "}
    return ", ".join(f"{names[name]}{share:.1f}\N{NO-BREAK SPACE}%" for name, share in shares.items())


def _verdict_cell(fair: Fair, metric: str, variant: str) -> Cell:
    text = verdict_text(fair, metric, variant)
    return Cell(text=text or "–", kind="text changed" if changed(own_verdicts(fair, metric, variant)) else "text")


def verdict_text(fair: Fair, metric: str, variant: str) -> str:
    """The verdict with the same settings, and those of other comparisons that differ: `worse; tuned: undecided`."""
    found = own_verdicts(fair, metric, variant)
    first = [found[SAME]] if SAME in found else []
    return "; ".join([*first, *(f"{COMPARISONS[name].lower()}: {word}" for name, word in changed(found).items())])


def texts(grid: Grid) -> list[list[str]]:
    """A grid as rows of texts, notes in brackets."""
    return [[f"{cell.text} ({cell.note})" if cell.note else cell.text for cell in row] for row in grid.rows]


def trials_note(fair: Fair) -> str:
    """How large the search was, for each variant alike; empty where there was none."""
    trials: pd.DataFrame = fair.trials
    if trials.empty or TUNED not in fair.arms:
        return ""
    each = trials.groupby("variant").size()
    without = len(hopeless(trials))
    return joined([
        f"Tuned: every variant, the base included, was given the same search over {listed(searched(trials))}, "
        f"{times(int(each.max()), 'trial')} each on validation loss alone.",
        f"Given up as hopeless or diverged: {times(without, 'trial')} of {len(trials)}."
        if without
        else "",
    ])  # fmt: skip
