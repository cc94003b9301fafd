"""Two studies side by side: which experiment and which variant of one is which of the other, and what differs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reports.experiment import Experiment
from reports.pages import summary
from reports.plans import describe_value
from reports.rows import StudyRows
from reports.wording import times

Difference = tuple[str, str, str]
"""What differs, in the first study, in the second."""


@dataclass(frozen=True, kw_only=True)
class Match:
    """An experiment that both studies have: of one name, on one task."""

    first: Experiment
    second: Experiment
    variants: tuple[tuple[str, str], ...]
    """Names in the first and in the second, base first: the same but for a base that has two names."""

    @property
    def name(self) -> str:
        """Of the experiment."""
        return self.first.name

    def unmatched(self) -> tuple[list[str], list[str]]:
        """Variants of the first and of the second that have no partner."""
        first, second = ({pair[side] for pair in self.variants} for side in (0, 1))
        return [v for v in self.first.order if v not in first], [v for v in self.second.order if v not in second]


def matches(first: Sequence[Experiment], second: Sequence[Experiment]) -> list[Match]:
    """Experiments of the same name and task: a number means the same in both."""
    pairs = [(a, b) for a, b in _namesakes(first, second) if a.plan["task"] == b.plan["task"]]
    return [Match(first=a, second=b, variants=_variants(a, b)) for a, b in pairs]


def _namesakes(first: Sequence[Experiment], second: Sequence[Experiment]) -> list[tuple[Experiment, Experiment]]:
    by_name = {experiment.name: experiment for experiment in second}
    return [(experiment, by_name[experiment.name]) for experiment in first if experiment.name in by_name]


def _variants(first: Experiment, second: Experiment) -> tuple[tuple[str, str], ...]:
    pairs = [(variant, variant) for variant in first.order if variant in second.order]
    renamed = first.base not in second.order and second.base not in first.order
    if renamed and first.base in first.order and second.base in second.order:
        pairs.insert(0, (first.base, second.base))
    return tuple(pairs)


def alone(first: Sequence[Experiment], second: Sequence[Experiment], found: Sequence[Match]) -> list[str]:
    """What is not compared, and why, a sentence each: other tasks under one name, what only one of the studies has."""
    texts = [
        f"{a.name} is not compared: its task is {a.plan['task']} in A and {b.plan['task']} in B."
        for a, b in _namesakes(first, second)
        if a.plan["task"] != b.plan["task"]
    ]
    for side, experiments, others in (("A", first, second), ("B", second, first)):
        there = {experiment.name for experiment in others}
        names = [experiment.name for experiment in experiments if experiment.name not in there]
        texts += [f"Only {side} has {times(len(names), 'experiment').split()[1]} {', '.join(names)}."] if names else []
    for match in found:
        for side, names in zip("AB", match.unmatched(), strict=True):
            noun = "variant" if len(names) == 1 else "variants"
            texts += [f"{match.name}: only {side} has the {noun} {', '.join(names)}."] if names else []
    return texts


def differences(first: StudyRows, second: StudyRows, found: Sequence[Match]) -> list[Difference]:
    """What is known to differ between two studies: seeds, settings, origin of the numbers."""
    a, b = (", ".join(map(str, study.plan["seeds"])) for study in (first, second))
    seeds = [("Seeds", a, b)] if a != b else []
    settings = [line for match in found for line in _settings(match)]
    origins = [dict(summary.origin(study)) for study in (first, second)]
    names = [name for name in dict.fromkeys([*origins[0], *origins[1]]) if name != "Last run ended"]
    origin = [(name, origins[0].get(name, "–"), origins[1].get(name, "–")) for name in names]
    return [*seeds, *settings, *(line for line in origin if line[1] != line[2])]


def _settings(match: Match) -> Iterator[Difference]:
    """Settings in which the runs differ: once where every variant differs in the same way, else by variant."""
    found: dict[Difference, list[str]] = {}
    started = 0
    for a, b in match.variants:
        configs = match.first.config(a), match.second.config(b)
        started += all(configs)
        for path in dict.fromkeys([*configs[0], *configs[1]]) if all(configs) else ():
            texts = [describe_value(config[path]) if path in config else "–" for config in configs]
            if texts[0] != texts[1]:
                found.setdefault((path, texts[0], texts[1]), []).append(a)
    for (path, a, b), variants in found.items():
        whose = "" if len(variants) == started else f" ({', '.join(variants)})"
        yield f"{match.name}: {path}{whose}", a, b
