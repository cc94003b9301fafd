"""What evaluating one split adds up to, for its main set and for each extra set (named by a coordinate)."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from models.metrics import AccuracyByDistance, Bleu, RunningMean, check_pairs, corpus_bleu

T = TypeVar("T")

MAIN = ""
"""Coordinate of the main set."""


def key(metric: str, coordinate: str) -> str:
    """Name under which a value is logged: `loss`, `loss@length=48`."""
    return f"{metric}@{coordinate}" if coordinate else metric


@dataclass
class Translations:
    """Sentences of one set, in the order of the data; the references are the original text."""

    sources: list[str] = field(default_factory=list)
    hypotheses: list[str] = field(default_factory=list)
    references: list[str] = field(default_factory=list)

    def add(self, sources: list[str], hypotheses: list[str], references: list[str]) -> None:
        """Raises ValueError unless there is one reference and one source for each hypothesis."""
        check_pairs(hypotheses, references, "references")
        check_pairs(hypotheses, sources, "sources")
        self.sources += sources
        self.hypotheses += hypotheses
        self.references += references


@dataclass(frozen=True)
class Contrast:
    """One item of a contrastive test: log-probabilities (nats, summed) of the right and of the wrong translation."""

    distance: int
    category: str
    right: float
    wrong: float


class Evaluation:
    """Streams the batches of one split and gives its metrics at the end, the same on any number of devices."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.means: dict[str, RunningMean] = {}
        self.distances = AccuracyByDistance().to(device)
        nothing = torch.zeros(0, dtype=torch.int64, device=device)
        self.distances.update(nothing.bool(), nothing)  # torchmetrics warns of a sum to which nothing was added
        self.translations: dict[str, Translations] = {}
        self.contrasts: list[Contrast] = []

    def add_loss(self, coordinate: str, nats: Tensor, tokens: Tensor) -> None:
        """Adds a batch's cross-entropy, summed over its tokens; a batch without targets adds nothing."""
        self._mean(key("loss", coordinate)).update(nats, tokens)

    def add_answers(self, coordinate: str, right: Tensor, distance: Tensor | None) -> None:
        """Adds answers, right or wrong (N,) bool; in the main set by their distance (N,) too, unless below 0."""
        self._mean(key("accuracy", coordinate)).update(right.sum(), torch.tensor(right.numel(), device=right.device))
        if distance is not None and coordinate == MAIN:
            self.distances.update(right, distance)

    def add_translations(
        self, coordinate: str, sources: list[str], hypotheses: list[str], references: list[str]
    ) -> None:
        """Adds sentences in the order of the data. Raises ValueError unless the three lists are equally long."""
        self.translations.setdefault(coordinate, Translations()).add(sources, hypotheses, references)

    def gather(self) -> None:
        """Makes the sentences and items of all devices known to each. (The sums are added up by `means`.)"""
        for coordinate in _everywhere(self.translations):
            parts = _all_gather(self.translations.get(coordinate, Translations()))
            self.translations[coordinate] = Translations()
            for part in parts:
                self.translations[coordinate].add(part.sources, part.hypotheses, part.references)
        self.contrasts = [contrast for part in _all_gather(self.contrasts) for contrast in part]

    def values(self) -> dict[str, float]:
        """Every mean and every accuracy by distance under its key; what nothing was added to is left out."""
        means = {name: self._mean(name).compute() for name in _everywhere(self.means)}
        by_distance = self.distances.compute()
        return {name: value for name, value in means.items() if value is not None} | {
            key("accuracy", f"distance={distance}"): share for distance, share in by_distance.items()
        }

    def items(self) -> dict[str, int]:
        """What the main set's numbers rest on, by coordinate: sentences, else answers; answers by distance."""
        sentences = len(self.translations[MAIN].hypotheses) if MAIN in self.translations else 0
        counts = self.distances.count
        seen = counts.nonzero().flatten().tolist()
        return {MAIN: sentences or int(self._mean("accuracy").count)} | {f"distance={d}": int(counts[d]) for d in seen}

    def bleu(self) -> dict[str, Bleu]:
        """Corpus BLEU of each set with sentences, under its key."""
        scores = {key("bleu", at): corpus_bleu(t.hypotheses, t.references) for at, t in self.translations.items()}
        return {name: score for name, score in scores.items() if score is not None}

    def _mean(self, name: str) -> RunningMean:
        if name not in self.means:
            self.means[name] = RunningMean().to(self.device)
            self.means[name].update(torch.tensor(0), torch.tensor(0))
        return self.means[name]


def _all_gather(value: T) -> list[T]:
    """The value of each device, in their order."""
    if not dist.is_initialized():
        return [value]
    values: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(values, value)
    return values


def _everywhere(names: Iterable[str]) -> list[str]:
    """Names that any device knows of, in one order for all: each then takes part in every sum."""
    return sorted({name for part in _all_gather(list(names)) for name in part})
