"""The same test sentences, translated by the base and by each variant, with what differs from the base marked.

The sentences are chosen by a rule that looks at no output: of the different ones in the test set, ordered by length,
ten at equal steps, from the middle of each tenth.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

import pandas as pd

from reports.experiment import Experiment
from reports.items import translations
from reports.rows import RowsError

SENTENCES = 10

DROPPED = "[…]"
"""Marks the place of words that the base has and the variant leaves out."""

EMPTY = "(nothing)"
"""Stands for a translation without any word."""

Sentence = tuple[str, str]
"""Source and reference."""


@dataclass(frozen=True, kw_only=True)
class Output:
    """What one variant makes of a sentence."""

    variant: str
    parts: tuple[tuple[str, bool], ...]
    """Stretches of words, and whether the base has others there; DROPPED and EMPTY stand in for words."""


@dataclass(frozen=True, kw_only=True)
class Example:
    """One sentence, with the translations of all variants that have one, base first."""

    source: str
    reference: str
    outputs: tuple[Output, ...]


def examples(experiment: Experiment) -> list[Example]:
    """At most ten sentences, shortest first, as runs of one seed translate them; [] where the base has no output."""
    seed = example_seed(experiment)
    folders = {row.variant: row.folder for row in experiment.runs if row.seed == seed and row.state == "completed"}
    tables = {variant: _read(folders[variant]) for variant in experiment.order if variant in folders}
    hypotheses = {variant: _by_sentence(table) for variant, table in tables.items() if table is not None}
    if experiment.base not in hypotheses:
        return []
    return [_example(sentence, hypotheses, experiment.base) for sentence in _chosen(list(hypotheses[experiment.base]))]


def example_seed(experiment: Experiment) -> int | None:
    """The seed that the base and most variants have completed, the lowest of several; None where the base has none."""
    completed = [(row.seed, row.variant) for row in experiment.runs if row.state == "completed"]
    seeds = sorted(seed for seed, variant in completed if variant == experiment.base)
    return max(seeds, key=lambda seed: sum(other == seed for other, _ in completed), default=None)


def examples_caption(experiment: Experiment) -> str:
    """How the sentences were chosen and how to read the marks."""
    return (
        f"Seed {example_seed(experiment)}. The sentences were chosen without looking at any translation: the different "
        f"ones of the test set, ordered by length, at equal steps. Marked: words that the base does not have there; "
        f"{DROPPED}: words of the base that are left out."
    )


def marked(base: str, variant: str) -> tuple[tuple[str, bool], ...]:
    """A translation in stretches of words that are alike or differ from those of the base; see Output."""
    before, after = base.split(), variant.split()
    if not after:
        return ((EMPTY, bool(before)),)
    changes = SequenceMatcher(a=before, b=after, autojunk=False).get_opcodes()
    return tuple(
        (DROPPED if kind == "delete" else " ".join(after[start:end]), kind != "equal")
        for kind, _, _, start, end in changes
    )


def _read(folder: Path) -> pd.DataFrame | None:
    """Translations of a run; a file that cannot be read is among the problems of the tables, and counts as none."""
    try:
        return translations(folder)
    except RowsError:
        return None


def _by_sentence(table: pd.DataFrame) -> dict[Sentence, str]:
    """Translations by sentence, in the order of the test set; of sentences that come twice the first."""
    found: dict[Sentence, str] = {}
    for source, reference, hypothesis in zip(table["source"], table["reference"], table["hypothesis"], strict=True):
        found.setdefault((source, reference), hypothesis)
    return found


def _chosen(sentences: Sequence[Sentence]) -> list[Sentence]:
    by_source: dict[str, Sentence] = {}
    for sentence in sentences:
        by_source.setdefault(sentence[0], sentence)
    ordered = sorted(by_source.values(), key=lambda sentence: len(sentence[0].split()))
    n = min(SENTENCES, len(ordered))
    return [ordered[(2 * place + 1) * len(ordered) // (2 * n)] for place in range(n)]


def _example(sentence: Sentence, hypotheses: Mapping[str, Mapping[Sentence, str]], base: str) -> Example:
    of_base = hypotheses[base][sentence]
    return Example(
        source=sentence[0],
        reference=sentence[1],
        outputs=tuple(
            Output(variant=variant, parts=marked(of_base, found[sentence]))
            for variant, found in hypotheses.items()
            if sentence in found
        ),
    )
