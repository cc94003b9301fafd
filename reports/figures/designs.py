"""Figures that follow from how an experiment is laid out: ladders, curves over a setting, factorial designs."""

from collections.abc import Iterator, Mapping
from math import nan
from statistics import fmean
from typing import TYPE_CHECKING, Any

import pandas as pd

from reports.experiment import Experiment
from reports.figures.captions import incomplete, joined
from reports.figures.gallery import Gallery, Picture, slug
from reports.figures.heatmaps import contrast_frames, contrast_label, factor_levels, heat_figure
from reports.figures.ladders import ladder_figure, rungs
from reports.figures.layouts import effects_figure
from reports.figures.settings import numeric_settings, settings_figure, settings_rows
from reports.figures.theme import INK, Style
from reports.frames import records
from reports.levels import known_levels
from reports.metrics import facts
from reports.plans import describe_value
from reports.sequential import level_text, look_level
from reports.values import by_seed

if TYPE_CHECKING:  # statsmodels is slow to import
    from reports.factorials import Contrast

MOST = 3
"""Metrics side by side."""
MOST_CONTRASTS = 30
"""Rows of a figure of contrasts."""


def design_pictures(experiment: Experiment, stem: str, gallery: Gallery) -> Iterator[Picture]:
    """A ladder, a factorial design's heat map or effects, or a curve for each setting that is varied alone."""
    if not experiment.metrics:
        return
    if experiment.plan["design"] == "ladder":
        yield from _ladder(experiment, stem, gallery)
    elif experiment.plan["design"] == "factorial":
        yield from _factorial(experiment, stem, gallery)
    else:
        yield from _settings(experiment, stem, gallery)


def _ladder(experiment: Experiment, stem: str, gallery: Gallery) -> Iterator[Picture]:
    values = {m: by_seed(experiment.values, experiment.name, m) for m in experiment.metrics[:MOST]}
    steps = {
        metric: rungs(experiment.order, found, level=_level(experiment))
        for metric, found in values.items()
        if found.get(experiment.order[0])
    }
    if not steps:
        return
    caption = (
        "Changes pile up from the top: each row keeps those above it. Dot: mean over seeds with its "
        "95\N{NO-BREAK SPACE}% t interval. Bar and number: the change from the row above, seeds paired, with its "
        f"{level_text(experiment.looks)} interval. Grey: the interval holds zero, or there is none."
    )
    last = {metric: of_metric[-1] for metric, of_metric in steps.items()}
    reached = ", ".join(f"{facts(metric).name} {step.mean:.3g}" for metric, step in last.items())
    alt = (
        f"{len(experiment.order)} steps from {experiment.order[0]} to {experiment.order[-1]}, which reaches {reached}."
    )
    caption = joined([caption, incomplete(experiment)])
    figure = ladder_figure(steps, experiment.styles)
    yield gallery.hang(figure, f"{stem}-ladder", "Step by step", caption, alt=alt, kind="ladder")


def _settings(experiment: Experiment, stem: str, gallery: Gallery) -> Iterator[Picture]:
    changes = experiment.plan["changes"]
    for path, at in numeric_settings(changes, experiment.base, experiment.config(experiment.base)).items():
        data = {m: settings_rows(experiment.values, m, at) for m in experiment.metrics[:MOST]}
        data = {metric: rows for metric, rows in data.items() if rows["at"].nunique() >= 2}
        if not data:
            continue
        base = (experiment.base, at[experiment.base]) if experiment.base in at else None
        levels = {metric: known_levels(experiment.plan, metric) for metric in data}
        figure = settings_figure(data, path=path, base=base, styles=experiment.styles, references=levels)
        caption = (
            f"Large points: means over seeds at each value of {path}, with 95\N{NO-BREAK SPACE}% t intervals from "
            "three seeds on. Small points: single seeds."
        )
        if any((rows["state"] == "diverged").any() for rows in data.values()):
            caption += " ✕: a diverged run, with the value fixed for it beforehand."
        caption = joined([caption, incomplete(experiment, at)])
        values = ", ".join(f"{value:g}" for value in sorted(set(at.values())))
        names = ", ".join(facts(metric).name for metric in data)
        alt = f"{names} at {path} of {values}."
        yield gallery.hang(figure, f"{stem}-by-{slug(path)}", f"By {path}", caption, alt=alt, kind="setting")


def _factorial(experiment: Experiment, stem: str, gallery: Gallery) -> Iterator[Picture]:
    levels = factorial_levels(experiment)
    factors = list(next(iter(levels.values()), {}))
    if len(factors) == 2:
        yield from _heat(experiment, levels, (factors[0], factors[1]), stem, gallery)
    if len(factors) > 1:
        yield from _contrasts(experiment, levels, factors, stem, gallery)


def factorial_levels(experiment: Experiment) -> dict[str, dict[str, Any]]:
    """Variant to its level of every factor, as heatmaps.factor_levels; {} where the design is not factorial."""
    if experiment.plan["design"] != "factorial":
        return {}
    return factor_levels(experiment.plan["changes"], experiment.base, experiment.config(experiment.base))


def factorial_runs(experiment: Experiment, metric: str, levels: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """One row a run, as reports.factorials takes them: a column for each factor, seed, value."""
    found = by_seed(experiment.values, experiment.name, metric)
    return pd.DataFrame(
        {**levels[variant], "seed": seed, "value": value}
        for variant, values in found.items()
        if variant in levels
        for seed, value in values.items()
    )


def _heat(
    experiment: Experiment, levels: dict[str, dict[str, Any]], factors: tuple[str, str], stem: str, gallery: Gallery
) -> Iterator[Picture]:
    row, column = factors
    texts = {v: (describe_value(found[row]), describe_value(found[column])) for v, found in levels.items()}
    cells = {m: _cells(experiment, m, texts) for m in experiment.metrics[:MOST]}
    cells = {metric: frame for metric, frame in cells.items() if frame["mean"].notna().any()}
    if not cells:
        return
    rows, columns = (_ordered([levels[experiment.base][f], *(of[f] for of in levels.values())]) for f in factors)
    figure = heat_figure(cells, factors=factors, rows=rows, columns=columns)
    caption = (
        "Each cell: mean over seeds, under it the difference to the base with its "
        f"{level_text(experiment.looks)} interval. Blue is better than the base, orange "
        "worse. Where two changes add up, a cell's difference is the sum of those of its row and its column."
    )
    caption = joined([caption, incomplete(experiment)])
    names = ", ".join(facts(metric).name for metric in cells)
    alt = f"Means of {names} for {len(rows)} values of {row} by {len(columns)} of {column}."
    yield gallery.hang(figure, f"{stem}-factorial", f"{factors[0]} by {factors[1]}", caption, alt=alt, kind="factorial")


def _cells(experiment: Experiment, metric: str, texts: dict[str, tuple[str, str]]) -> pd.DataFrame:
    effects = experiment.tables.effects
    of_variant = {row["variant"]: row for row in records(effects[effects["metric"] == metric])}
    nothing = {"difference": nan, "low": nan, "high": nan}
    values = {v: list(found.values()) for v, found in by_seed(experiment.values, experiment.name, metric).items()}
    found = [
        {
            "row": row,
            "column": column,
            "mean": fmean(values[variant]) if variant in values else nan,
            **{name: of_variant.get(variant, nothing)[name] for name in nothing},
        }
        for variant, (row, column) in texts.items()
    ]
    return pd.DataFrame(found)


def _ordered(values: list[Any]) -> list[str]:
    """Levels as text, numbers by size, others as they come, the base's first."""
    distinct = {describe_value(value): value for value in values}
    if all(isinstance(v, int | float) and not isinstance(v, bool) for v in distinct.values()):
        return sorted(distinct, key=lambda text: distinct[text])
    return list(distinct)


def _contrasts(
    experiment: Experiment, levels: dict[str, dict[str, Any]], factors: list[str], stem: str, gallery: Gallery
) -> Iterator[Picture]:
    """Main effects and two-way interactions as a forest."""
    base = {factor: levels[experiment.base][factor] for factor in factors}
    level = _level(experiment)
    found = {m: _found(factorial_runs(experiment, m, levels), base, level) for m in experiment.metrics[:MOST]}
    found = {metric: contrasts for metric, contrasts in found.items() if contrasts}
    if not found:
        return
    first = next(iter(found.values()))
    order = [contrast_label(contrast) for contrast in first[:MOST_CONTRASTS]]
    tables = {metric: contrast_frames(contrasts[:MOST_CONTRASTS], level=level) for metric, contrasts in found.items()}
    figure = effects_figure(
        pd.concat([effects.assign(metric=metric) for metric, (effects, _) in tables.items()]),
        pd.concat([differences.assign(metric=metric) for metric, (_, differences) in tables.items()]),
        metrics=list(tables),
        base_values={},
        order=order,
        notes={},
        styles=dict.fromkeys(order, Style(INK, "-", "o")),  # colours are those of variants, which these are not
    )
    caption = joined(
        [
            "Single settings: the mean over all combinations of the others, minus that at the base's value. Pairs (×): "
            "how much more of a difference the first makes at this value of the second than at the base's; zero where "
            f"two changes add up. Bars: {level_text(experiment.looks)} t intervals over seeds; only seeds with every "
            "combination count.",
            f"{len(first) - len(order)} more contrasts are not drawn." if len(first) > len(order) else "",
            incomplete(experiment),
        ]
    )
    names = ", ".join(facts(metric).name for metric in found)
    alt = f"Main effects and interactions of {', '.join(factors)}, a row each, for {names}."
    title = "Main effects and interactions"
    yield gallery.hang(figure, f"{stem}-interactions", title, caption, alt=alt, kind="factorial")


def _found(data: pd.DataFrame, base: Mapping[str, Any], level: float) -> list["Contrast"]:
    """Main effects, then interactions; [] as long as no seed has every combination."""
    from reports.factorials import interactions, main_effects

    try:
        return [*main_effects(data, base, level=level), *interactions(data, base, level=level)]
    except ValueError:
        return []


def _level(experiment: Experiment) -> float:
    """Level of the intervals of differences."""
    return look_level(experiment.looks)
