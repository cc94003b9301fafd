"""Adding seeds until a contrast is decided, at looks fixed beforehand.

With K looks the contrast is judged at each on an interval whose chance of error is 1/K of the whole (Bonferroni; Dunn
1961), so that one without an effect comes out as an effect at any of them in at most 5 % of cases, whenever it is
stopped. A p value times K holds in the same way, and so does Holm's correction of such p values over the variants of
an experiment. tests/reports/test_sequential.py simulates both.

Pure: nothing here knows of files or studies.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise

import pandas as pd

from reports.statistics import LEVEL

LOOKS = (5, 10, 20)
"""Numbers of seeds at which a study that adds seeds until it is resolved may be judged."""


def look_level(looks: Sequence[int] = LOOKS, *, level: float = LEVEL) -> float:
    """Level of each interval where seeds may be added: the chance of error is divided by the number of looks."""
    return 1 - (1 - level) / max(len(looks), 1)


def look_p_value(p_value: float | None, looks: Sequence[int] = LOOKS) -> float | None:
    """A p value times the number of looks, at most 1: below 0.05 exactly where the look's interval leaves out zero."""
    return None if p_value is None else min(1.0, p_value * max(len(looks), 1))


def strictest(looks: Iterable[Sequence[int]]) -> Sequence[int]:
    """Of the looks of several experiments those with the highest level; none where no experiment has any."""
    return max(looks, key=len, default=())


def level_text(looks: Sequence[int]) -> str:
    """The level of an experiment's intervals as it is printed: `95 %`, or `98.3 %` with three looks."""
    return f"{100 * look_level(looks):.3g}\N{NO-BREAK SPACE}%"


def levels_text(looks: Iterable[Sequence[int]]) -> str:
    """The same for several experiments: `95 %`, or `95 % (98.3 % where seeds were added)`."""
    plain, *others = dict.fromkeys(level_text(of) for of in sorted(looks, key=len) or [()])
    if not others:
        return plain
    added = " and ".join(others)
    return f"{plain} ({added} where seeds were added)" if plain == level_text(()) else f"{plain} and {added}"


def decided(effects: pd.DataFrame) -> "pd.Series[bool]":
    """For each row of a table of effects (its low, high, all_equal, successes_low), whether more seeds are of no use.

    It is where the interval leaves out zero. Where every seed gives the same difference and there is no interval, it is
    as for a verdict: once the exact interval of the share of such seeds lies above one half (seven seeds at the level
    of three looks).
    """
    away = (effects["low"] > 0) | (effects["high"] < 0)
    alike = effects["all_equal"].astype(bool) & effects["low"].isna() & (effects["successes_low"] > 0.5)
    return away | alike


def next_look(seeds: int, looks: Sequence[int] = LOOKS) -> int | None:
    """The look after the one at so many seeds; None after the last, and where there is none at this number."""
    return dict(pairwise(looks)).get(seeds)


def looks_sentence(looks: Sequence[int]) -> str:
    """What a reader should know of numbers that come from an experiment with looks; empty without any."""
    if not looks:
        return ""
    numbers = ", ".join(map(str, looks[:-1])) + " and " * (len(looks) > 1) + str(looks[-1])
    return (
        f"Seeds were added to the contrasts that were undecided on the first headline metric, at looks fixed "
        f"beforehand ({numbers} seeds). The 5\N{NO-BREAK SPACE}% chance of error is shared among the looks: intervals "
        f"of differences are of {level_text(looks)}, and p values are multiplied by {len(looks)}."
    )
