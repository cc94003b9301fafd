"""Test items of runs: what outputs/ holds of each, and what drawing other items would have made of a run's scores.

    outputs/translations.csv.gz   set, source, reference, hypothesis, nats, tokens, counts of BLEU and chrF
    outputs/contrasts.csv.gz      set, distance, category, log-probabilities of the right and the wrong side

Row n is the same item in every run of a task, so that the same draw of items serves all runs of an experiment.
"""

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reports.metrics import LONG_RANGE
from reports.resampling import RESAMPLES, SCORES, resample_counts
from reports.rows import RowsError

SENTENCES, PAIRS = "outputs/translations.csv.gz", "outputs/contrasts.csv.gz"

COUNTS = (
    *("bleu_hypothesis_tokens", "bleu_reference_tokens"),
    *(f"bleu_{kind}_{n}" for kind in ("correct", "total") for n in range(1, 5)),
    *(f"chrf_{side}_{n}" for n in range(1, 7) for side in ("hypothesis", "reference", "correct")),
)
"""What BLEU and chrF count in each sentence; as models.scores.COLUMNS has it."""

TIE = 1e-4
"""Nats by which the right side must be likelier; as models.contrasts has it."""

SEED = 2017
"""Of the draws of items: the same rows always give the same intervals."""

AGREES = 1e-6
"""How far a score made from the items may be from the reported one, in parts of it."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Counted:
    """What the metrics of one run count in each of the M items of a test set."""

    items: int
    """Checksum of the items themselves: equal in two runs that were tested on the same ones in the same order."""
    statistics: dict[str, tuple[str, Floats]]
    """For each metric the name of a score in resampling.SCORES and the K counts of that score (M, K)."""

    def values(self, counts: Floats) -> dict[str, Floats]:
        """The metrics, each (B,), where each item counts so many times (B, M)."""
        sums = counts @ np.hstack([found for _, found in self.statistics.values()])
        ends = np.cumsum([found.shape[1] for _, found in self.statistics.values()])
        parts = np.split(sums, ends[:-1], axis=1)
        scores = zip(self.statistics.items(), parts, strict=True)
        return {metric: SCORES[score](part) for (metric, (score, _)), part in scores}

    def draws(self) -> Floats:
        """How often each of B draws of as many items with replacement has each item (B, M); the same for all runs."""
        (_, found), *_ = self.statistics.values()
        return _draws(len(found))


@dataclass(frozen=True)
class Resampled:
    """A metric of one run over draws of its test items."""

    items: int | None
    """Checksum of the items; None where the value does not depend on them."""
    values: Floats
    """(B,)"""


def translations(run_folder: Path) -> pd.DataFrame | None:
    """Test sentences of a run in their order, with source, reference and hypothesis; None where there are none."""
    return _main_set(run_folder / SENTENCES, text=("source", "reference", "hypothesis"))


def contrasts(run_folder: Path) -> pd.DataFrame | None:
    """Contrastive pairs of the test in their order, with distance, category and `won` (bool); None without any."""
    table = _main_set(run_folder / PAIRS, text=("category",), numbers=("distance", "right", "wrong"))
    return None if table is None else table.assign(won=table["right"] - table["wrong"] > TIE)


def counted(run_folder: Path, far: Sequence[float]) -> list[Counted]:
    """What the metrics of a run count in each test item: of its sentences, of its pairs; [] where it has left none.

    `far` are the distances that accuracy at long distances is about. Raises RowsError for a file that cannot be read.
    """
    return [*_of_sentences(run_folder), *_of_pairs(run_folder, far)]


def resampled_by_metric(run_folder: Path, far: Sequence[float], reported: Mapping[str, float]) -> dict[str, Resampled]:
    """The metrics of a run over draws of its test items, by metric.

    Without those whose items do not give the value `reported`. Raises RowsError for a file that cannot be read.
    """
    found = {}
    for of_set in counted(run_folder, far):
        draws = of_set.draws()
        everything, drawn = of_set.values(np.ones((1, draws.shape[1]))), of_set.values(draws)
        for metric, values in drawn.items():
            # a draw may have no pair at a long distance
            if _agree(float(everything[metric][0]), reported.get(metric)) and np.isfinite(values).all():
                found[metric] = Resampled(of_set.items, values)
    return found


def _agree(value: float, reported: float | None) -> bool:
    return reported is not None and abs(value - reported) <= AGREES * max(1.0, abs(reported))


def constant(value: float) -> Resampled:
    """A metric whose value was fixed, whatever the items."""
    return Resampled(None, np.full(RESAMPLES, value))


def _of_sentences(run_folder: Path) -> Iterator[Counted]:
    of_score = {score: [name for name in COUNTS if name.startswith(f"{score}_")] for score in ("bleu", "chrf")}
    table = _main_set(run_folder / SENTENCES, numbers=("nats", "tokens", *COUNTS))
    if table is not None:
        references = [name for name in COUNTS if "reference" in name]
        yield Counted(
            items=zlib.crc32(_columns(table, references).tobytes()),
            statistics={
                "loss": ("ratio", _columns(table, ["nats", "tokens"])),
                **{score: (score, _columns(table, names)) for score, names in of_score.items()},
            },
        )


def _of_pairs(run_folder: Path, far: Sequence[float]) -> Iterator[Counted]:
    table = contrasts(run_folder)
    if table is not None:
        distance = table["distance"].to_numpy(float)
        won = np.stack([table["won"].to_numpy(float), np.ones(len(table))], axis=1)
        at_far = {LONG_RANGE: ("ratio", won * np.isin(distance, far)[:, None])} if far else {}
        yield Counted(
            items=zlib.crc32("\0".join(table["category"]).encode(), zlib.crc32(distance.tobytes())),
            statistics={"accuracy": ("ratio", won), **at_far},
        )


def _columns(table: pd.DataFrame, names: Sequence[str]) -> Floats:
    return np.stack([table[name].to_numpy(float) for name in names], axis=1)


def _main_set(path: Path, *, text: Sequence[str] = (), numbers: Sequence[str] = ()) -> pd.DataFrame | None:
    """These columns of the main set of a table of items; None where it is not there or is empty. Raises RowsError."""
    if not path.is_file():
        return None
    try:
        table = pd.read_csv(
            path,
            keep_default_na=False,
            na_values={name: [""] for name in numbers},  # where a number is none; a word may be "NA"
            dtype={**dict.fromkeys(["set", *text], object), **dict.fromkeys(numbers, float)},
            usecols=["set", *text, *numbers],
        )
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise RowsError(f"{path}: cannot be read: {error}") from error
    extra = table["set"] != ""
    table = table[~extra] if extra.any() else table
    return table if len(table) else None


@cache
def _draws(n_items: int) -> Floats:
    return resample_counts(n_items, np.random.default_rng(SEED))
