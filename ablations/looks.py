"""`ablations run --until-resolved`: further seeds for the contrasts that are undecided, at looks fixed beforehand.

What is to be trained follows from the results alone, so that an interrupted study goes on where it was: it is looked
again at what is there, with the same outcome.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ablations.study import Experiment, Study
from ablations.sweep import Options, say, tell_page, train_missing
from models.config import ConfigError
from reports.looks import contrasts
from reports.rows import read_study
from reports.sequential import LOOKS, next_look

Contrast = tuple[str, str]
"""Experiment and variant."""


def until_resolved(study: Study, root: Path, options: Options, looks: Sequence[int] = LOOKS) -> int:
    """Run a study in `root`, each variant with the seeds that it takes to decide it, and report it.

    All variants have the seeds 0 to looks[0] - 1, in place of the study's own. After each look, the variants that are
    undecided against their base on the first headline metric get those up to the next look, and so does their base. A
    contrast with a failed run gets none until that has succeeded. Returns the exit status: 0, or 1 where some run
    failed. Raises ConfigError for options that do not go with it, and what `train_missing` raises.
    """
    _check(options)
    current = first_look(study, looks)
    ended: dict[str, str] = {}
    while True:
        ended |= {outcome.run.id: outcome.status for outcome in train_missing(current, root, options)}
        found = contrasts(read_study(root))
        states = zip(*(found[name] for name in ("experiment", "variant", "n_seeds", "decided")), strict=True)
        undecided = {(experiment, variant): int(n) for experiment, variant, n, decided in states if not decided}
        further = _further(current, undecided, looks)
        say(_told(len(found), undecided, further))
        if not further:
            break
        current = with_seeds(current, further)
    from reports.pages.page import build  # plotting is not needed before

    tell_page(build(root), study, root)
    return 1 if "failed" in ended.values() else 0


def first_look(study: Study, looks: Sequence[int] = LOOKS) -> Study:
    """The study with the seeds of the first look. An experiment of one variant has nothing to decide, and no looks."""
    seeds = tuple(range(looks[0]))
    experiments = (
        replace(experiment, seeds=seeds, more_seeds={}, looks=tuple(looks) if len(experiment.variants) > 1 else ())
        for experiment in study.experiments
    )
    return replace(study, seeds=seeds, experiments=tuple(experiments))


def with_seeds(study: Study, further: Mapping[Contrast, int]) -> Study:
    """The study with so many seeds (0 to n - 1) for some of its contrasts: for the variant, and for its base."""
    return replace(study, experiments=tuple(_extended(experiment, further) for experiment in study.experiments))


def _extended(experiment: Experiment, further: Mapping[Contrast, int]) -> Experiment:
    numbers = {variant: n for (name, variant), n in further.items() if name == experiment.name}
    if not numbers:
        return experiment
    base = max(len(experiment.seeds_of(experiment.base)), *numbers.values())
    more = {variant: tuple(range(n)) for variant, n in {**numbers, experiment.base: base}.items()}
    return replace(experiment, more_seeds={**experiment.more_seeds, **more})


def _further(study: Study, undecided: Mapping[Contrast, int], looks: Sequence[int]) -> dict[Contrast, int]:
    """Seeds that undecided contrasts are to have, where these are more than they have been given already."""
    planned = {(e.name, variant): len(e.seeds_of(variant)) for e in study.experiments for variant in e.variants}
    following = {contrast: next_look(n, looks) for contrast, n in undecided.items()}
    return {contrast: n for contrast, n in following.items() if n is not None and n > planned[contrast]}


def _told(contrasts: int, undecided: Mapping[Contrast, int], further: Mapping[Contrast, int]) -> str:
    """What has come of a look."""
    text = f"{contrasts - len(undecided)} of {contrasts} contrasts decided"
    if further:
        seeds = " or ".join(str(n) for n in sorted(set(further.values())))
        return f"{text}; {len(further)} undecided, and the base, get {seeds} seeds"
    left = ", ".join(f"{experiment}: {variant} ({n} seeds)" for (experiment, variant), n in undecided.items())
    return f"{text}; undecided: {left}" if left else text


def _check(options: Options) -> None:
    if options.shard != (1, 1):
        raise ConfigError(
            f"--shard {options.shard[0]}/{options.shard[1]}: not with --until-resolved, which needs all results to "
            "know what is to be trained; leave it out"
        )
    if options.redo:
        raise ConfigError(
            "--redo: not with --until-resolved, which goes on from the results that are there; leave it out, or "
            "choose another --output"
        )
