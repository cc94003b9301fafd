"""Conditions of every kind as their picture shows them, with made-up values."""

from dataclasses import replace
from typing import Any

import numpy as np

from reports import estimates
from reports.figures.shown import Line, Measured, Shown
from reports.figures.theme import COLOURS, DASHES, INK, Style
from reports.regions import Region
from reports.verdicts import Estimate, Outcome

STYLES = [Style(INK, "-", "o"), *(Style(colour, DASHES[i % 4], "s") for i, colour in enumerate(COLOURS))]


def side(number: int, values: Any, name: str = "", **fields: Any) -> Measured:
    """The `number`th side, with a value a seed."""
    return Measured(name=name or f"variant-{number}", style=STYLES[number], values=tuple(map(float, values)), **fields)


def condition(found: Estimate, region: Region, outcome: Outcome, *sides: Measured, **fields: Any) -> Shown:
    """An estimate as it is shown."""
    known: dict[str, Any] = {"text": "Loss on the test set, no positions minus sinusoidal ones, nats per token"}
    numbers = {name: getattr(found, name) for name in ("per_seed", "value", "low", "high", "exact")}
    return Shown(**{**known, "outcome": outcome, "region": region, "sides": sides, **numbers, **fields})


def curve(number: int, low: float, high: float, log: bool = False) -> Measured:
    """A side with three seeds from `low` to `high` over five distances."""
    steps = np.geomspace(low, high, 5) if log else np.linspace(low, high, 5)
    lines = [Line((4.0, 8.0, 16.0, 32.0, 64.0), tuple((steps * (1 + 0.01 * seed)).tolist())) for seed in range(3)]
    return side(number, (1.0, 1.1, 1.2), lines=tuple(lines))


BASE, OTHER, WORSE = [0.081, 0.083, 0.09], [0.27, 0.28, 0.3], [0.5, 0.55, 0.61]
LEVELS = (("chance", 4.2), ("bag of tokens", 0.35), ("oracle", 0.05))
ZEROS = Region(high=0.0)


def exact(values: list[float], region: Region, outcome: Outcome) -> Shown:
    """An exact condition on one side."""
    return condition(estimates.worst(values, region), region, outcome, side(0, values))


EVERY: dict[str, Shown] = {
    "difference": condition(
        estimates.difference(BASE, OTHER), Region(low=0.1), "supported", side(0, BASE), side(1, OTHER),
        references=LEVELS, labels=("", "Loss (nats per token)"),
    ),
    "ratio": condition(
        estimates.ratio([95, 96, 97], [5.5, 6.8, 8.1], floor=0.1), Region(high=0.15, ratio=True), "supported",
        side(0, [95, 96, 97]), side(1, [5.5, 6.8, 8.1]),
    ),
    "level": condition(
        estimates.mean_level([0.95, 0.96, 0.97]), Region(low=0.95, reference=0.0625), "inconclusive",
        side(0, [0.95, 0.96, 0.97]), share=True,
        references=(("chance", 0.0625), ("uniform attention", 0.4375), ("ceiling", 1.0)),
    ),
    "excess": condition(
        estimates.excess([1.43, 1.44, 1.435], 1.4329), Region(low=-0.02, high=0.02, closed=False), "supported",
        side(0, [1.43, 1.44, 1.435]), references=(("entropy rate", 1.4329),),
    ),
    "exact": exact([0.0, 3e-8, 4e-7], Region(high=1e-6), "supported"),
    "exact-zero": exact([0.0, 0.0, 0.0], ZEROS, "supported"),
    "exact-fails": exact([0.0, 0.2], ZEROS, "not supported"),
    "exact-count": exact([16.0, 16.0, 15.0], Region(high=16.0), "supported"),
    "exact-tiny": exact([2e-15, 7e-14], Region(high=1e-12), "supported"),
    "times": condition(
        replace(estimates.ratio([100, 120, 110], [400, 500, 390], floor=1.0), censored=(0, 1)),
        Region(low=1.5, ratio=True), "inconclusive",
        side(0, [100, 120, 110], "a-rather-long-name-of-a-variant"), side(1, [400, 390, 500], censored=1),
    ),
    "interaction": condition(
        estimates.mean_level([0.05, 0.2, 0.15]), Region(low=0.1), "inconclusive",
        *(side(i, np.add(BASE, i / 9), "w" * 9 * i + "x") for i in range(4)),
    ),
    "curve": condition(
        estimates.mean_level([-0.5, -0.4, -0.6]), Region(low=0.2), "not supported", curve(0, 1.0, 0.98),
        curve(1, 1.0, 0.2), labels=("Distance (tokens)", "Accuracy (share right)"), logs=(True, False),
        references=(("chance", 0.0625), ("threshold", 0.9)), share=True,
    ),
    "exponent": condition(
        estimates.mean_level([1.99, 2.0, 2.01]), Region(low=1.95, high=2.05, closed=False), "supported",
        curve(0, 10.0, 4000.0, log=True), labels=("Length (tokens)", "Operations"), logs=(True, True),
    ),
    "wide": condition(
        estimates.difference([0.1, 0.2], [0.4, 0.9]), Region(low=0.1), "inconclusive", side(0, [0.1, 0.2]),
        side(1, [0.4, 0.9]), references=LEVELS,
    ),
    "equal": condition(
        estimates.difference([0.5] * 3, [1.0] * 3), Region(low=0.1), "inconclusive", side(0, [0.5] * 3),
        side(1, [1.0] * 3), share=True, references=(("chance", 0.0625),),
    ),
    "one-seed": condition(
        estimates.difference([0.0], [0.0]), Region(low=0.1), "inconclusive", side(0, [0.0]), side(1, [0.0])
    ),
    "long": condition(
        estimates.difference(BASE, WORSE), Region(low=0.1), "supported", side(0, BASE, "a$b_c"), side(1, WORSE, "|<&"),
        text="word " * 90, references=tuple((f"a reference with a long name, number {i}", 0.1 * i) for i in range(6)),
    ),
    "not-run": Shown(text="BLEU on Multi30k, base minus lstm, points", outcome="not run", region=Region(low=2.0)),
}  # fmt: skip
"""One condition of each kind, and those that are hard to draw."""
