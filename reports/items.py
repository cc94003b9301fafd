"""Test items of runs: what outputs/ holds of each, and what drawing other items would have made of a run's scores.

    outputs/translations.csv.gz   set, source, reference, hypothesis, nats, tokens, counts of BLEU and chrF
    outputs/answers.csv.gz        set, right, answers, nats (and sequences, where a row is a group of them)
    outputs/contrasts.csv.gz      set, distance, category, log-probabilities of the right and the wrong side

Row n is the same item in every run of a task, so that the same draw of items serves all runs of an experiment.
"""

import gzip
import io
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reports.metrics import LONG_RANGE
from reports.resampling import RESAMPLES, SCORES, item_variance, resample_counts
from reports.rows import RowsError

SENTENCES, PAIRS = "outputs/translations.csv.gz", "outputs/contrasts.csv.gz"
ANSWERS = "outputs/answers.csv.gz"

BLEU = (
    *("hypothesis_tokens", "reference_tokens"),
    *(f"{kind}_{n}" for kind in ("correct", "total") for n in range(1, 5)),
)
CHRF = tuple(f"{side}_{n}" for n in range(1, 7) for side in ("hypothesis", "reference", "correct"))
COUNTS = {
    "bleu": tuple(f"bleu_{count}" for count in BLEU),
    "bleu-lower": tuple(f"bleu-lower_{count}" for count in BLEU),
    "chrf": tuple(f"chrf_{count}" for count in CHRF),
}
"""What a score counts in each sentence; as models.scores.COLUMNS has it."""

TIE = 1e-4
"""Nats by which the right side must be likelier; as models.contrasts has it."""

GROUPS = 1024
"""Sequences that are drawn one by one; of more, as many groups of neighbours are drawn: they are independent too."""

SEED = 2017
"""Of the draws of items: the same rows always give the same intervals."""

LEAST = 5
"""Fewest items whose draws say anything: the interval of one alone would have no width."""

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
    single: int | None = None
    """Number of items, where those that are drawn are groups of them."""

    def values(self, counts: Floats) -> dict[str, Floats]:
        """The metrics, each (B,), where each item counts so many times (B, M)."""
        sums = counts @ np.hstack([found for _, found in self.statistics.values()])
        ends = np.cumsum([found.shape[1] for _, found in self.statistics.values()])
        parts = np.split(sums, ends[:-1], axis=1)
        scores = zip(self.statistics.items(), parts, strict=True)
        return {metric: SCORES[score](part) for (metric, (score, _)), part in scores}

    @property
    def size(self) -> int:
        """M."""
        (_, found), *_ = self.statistics.values()
        return len(found)

    def draws(self) -> Floats:
        """How often each of B draws of as many items with replacement has each item (B, M); the same for all runs."""
        return _draws(self.size)


@dataclass(frozen=True)
class Resampled:
    """A metric of one run over draws of its test items."""

    items: int | None
    """Checksum of the items; None where the value does not depend on them."""
    values: Floats
    """(B,)"""
    size: int | None = None
    """Number of items; None where the value does not depend on them."""


def translations(run_folder: Path) -> pd.DataFrame | None:
    """Test sentences of a run in their order, with source, reference and hypothesis; None where there are none."""
    return _main_set(run_folder / SENTENCES, text=("source", "reference", "hypothesis"))


def contrasts(run_folder: Path) -> pd.DataFrame | None:
    """Contrastive pairs of the test in their order, with distance, category and `won` (bool); None without any.

    And with `won_per_token` where the tokens of both sides are known.
    """
    numbers, tokens = ("distance", "right", "wrong"), ("right_tokens", "wrong_tokens")
    table = _main_set(run_folder / PAIRS, text=("category",), numbers=numbers, optional=tokens)
    if table is None:
        return None
    table = table.assign(won=table["right"] - table["wrong"] > TIE)
    if not {*tokens} <= {*table.columns}:
        return table
    ahead = table["right"] / table["right_tokens"] - table["wrong"] / table["wrong_tokens"]
    return table.assign(won_per_token=ahead > TIE / table["right_tokens"])


def counted(run_folder: Path, far: Sequence[float]) -> list[Counted]:
    """What the metrics of a run count in each test item: sentences, sequences, pairs, those at long distances.

    `far` are these distances. [] where it has left no items. Raises RowsError for a file that cannot be read.
    """
    pairs = list(_of_pairs(run_folder, far))
    return [*_of_sentences(run_folder), *_of_sequences(run_folder, with_accuracy=not pairs), *pairs]


def resampled_by_metric(run_folder: Path, far: Sequence[float], reported: Mapping[str, float]) -> dict[str, Resampled]:
    """The metrics of a run over draws of its test items, by metric.

    Without those whose items do not give the value `reported` or are fewer than LEAST. Raises RowsError for a file that
    cannot be read.
    """
    found = {}
    for of_set in (known for known in counted(run_folder, far) if known.size >= LEAST):
        draws = of_set.draws()
        everything, drawn = of_set.values(np.ones((1, draws.shape[1]))), of_set.values(draws)
        for metric, values in drawn.items():
            if _agree(float(everything[metric][0]), reported.get(metric)) and np.isfinite(values).all():
                found[metric] = Resampled(of_set.items, values, of_set.single or of_set.size)
    return found


def _agree(value: float, reported: float | None) -> bool:
    return reported is not None and abs(value - reported) <= AGREES * max(1.0, abs(reported))


def constant(value: float) -> Resampled:
    """A metric whose value was fixed, whatever the items."""
    return Resampled(None, np.full(RESAMPLES, value))


def drawn_variance(base: Sequence[Resampled | None], variant: Sequence[Resampled | None]) -> float | None:
    """Variance of the mean over seeds of variant - base when other items are drawn, both in the same order of seeds.

    None unless all runs were tested on the same items and these are known.
    """
    known = [one for one in (*base, *variant) if one is not None]
    sets = {one.items for one in known} - {None}
    if len(sets) != 1 or len(known) < len(base) + len(variant):
        return None
    values = np.stack([one.values for one in known])
    return item_variance(values[: len(base)], values[len(base) :])


def _of_sentences(run_folder: Path) -> Iterator[Counted]:
    counts = [name for names in COUNTS.values() for name in names]
    table = _main_set(run_folder / SENTENCES, numbers=("nats", "tokens"), optional=counts)
    if table is not None:
        nats = _columns(table, ["nats", "tokens"])
        known = {score: names for score, names in COUNTS.items() if set(names) <= set(table.columns)}
        references = [name for name in table.columns if "reference" in name] or ["tokens"]
        yield Counted(
            items=zlib.crc32(_columns(table, references).tobytes()),
            statistics={
                "loss": ("ratio", nats),
                "perplexity": ("exponential", nats),
                **{score: (score.removesuffix("-lower"), _columns(table, names)) for score, names in known.items()},
            },
        )


def _of_sequences(run_folder: Path, *, with_accuracy: bool) -> Iterator[Counted]:
    """Of taggers and language models: loss, and accuracy unless it is that of pairs."""
    table = _main_set(run_folder / ANSWERS, numbers=("right", "answers", "nats"), optional=("sequences",))
    if table is not None:
        counts = _columns(table, ["right", "answers", "nats"])
        grouped = np.add.reduceat(counts, group_starts(len(counts)), axis=0)
        right, answers, nats = grouped.T
        yield Counted(
            items=zlib.crc32(counts[:, 1].tobytes()),
            single=int(table["sequences"].sum()) if "sequences" in table.columns else len(counts),
            statistics={
                **({"accuracy": ("ratio", np.stack([right, answers], axis=1))} if with_accuracy else {}),
                "loss": ("ratio", np.stack([nats, answers], axis=1)),
                "perplexity": ("exponential", np.stack([nats, answers], axis=1)),
            },
        )


def group_starts(n: int) -> NDArray[np.int64]:
    """Where each of at most GROUPS groups of n neighbours begins; their sizes differ by one at most."""
    groups = min(n, GROUPS)
    return np.arange(groups, dtype=np.int64) * n // groups


def _of_pairs(run_folder: Path, far: Sequence[float]) -> Iterator[Counted]:
    """Those at long distances are a set of their own: a draw of all pairs might have none of them."""
    table = contrasts(run_folder)
    if table is not None:
        distance = table["distance"].to_numpy(float)
        items = zlib.crc32("\0".join(table["category"]).encode(), zlib.crc32(distance.tobytes()))
        metrics = {"accuracy": "won", "accuracy-per-token": "won_per_token"}
        shares = {metric: _share(table[name]) for metric, name in metrics.items() if name in table.columns}
        yield Counted(items=items, statistics={metric: ("ratio", share) for metric, share in shares.items()})
        if (at_far := np.isin(distance, far)).any():
            yield Counted(items=items, statistics={LONG_RANGE: ("ratio", shares["accuracy"][at_far])})


def _share(won: "pd.Series[bool]") -> Floats:
    return np.stack([won.to_numpy(float), np.ones(len(won))], axis=1)


def _columns(table: pd.DataFrame, names: Sequence[str]) -> Floats:
    return np.stack([table[name].to_numpy(float) for name in names], axis=1)


def _main_set(
    path: Path, *, text: Sequence[str] = (), numbers: Sequence[str] = (), optional: Sequence[str] = ()
) -> pd.DataFrame | None:
    """These columns of the main set of a table of items; None where it is not there or is empty. Raises RowsError."""
    if not path.is_file():
        return None
    wanted = ["set", *text, *numbers]
    try:
        table = pd.read_csv(
            io.BytesIO(gzip.decompress(path.read_bytes())),  # faster than by its path
            na_filter=False,  # a word may be "NA"
            low_memory=False,
            dtype=dict.fromkeys(["set", *text], object),
            usecols={*wanted, *optional}.__contains__,
        )
        # where a number is none, all of its column are texts
        for name in (str(name) for name, kind in table.dtypes.items() if kind.kind not in "if"):
            if name not in ("set", *text):
                table[name] = table[name].replace("", "nan").astype(float)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise RowsError(f"{path}: cannot be read: {error}") from error
    if absent := [name for name in wanted if name not in table.columns]:
        raise RowsError(f"{path}: cannot be read: without the columns {', '.join(absent)}")
    extra = table["set"] != ""
    table = table[~extra] if extra.any() else table
    return table if len(table) else None


@cache
def _draws(n_items: int) -> Floats:
    return resample_counts(n_items, np.random.default_rng(SEED))
