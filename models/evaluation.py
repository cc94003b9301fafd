"""What evaluating one split adds up to, for its main set and for each extra set (named by a coordinate)."""

from itertools import chain
from operator import itemgetter
from typing import NamedTuple, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from models.collective import add_up, gather
from models.contrasts import Contrast, accuracy, accuracy_per_token, by_category, by_distance
from models.metrics import AccuracyByDistance, RunningMean
from models.scores import Score
from models.translations import Translation, translation_scores

T = TypeVar("T")
Added = list[tuple[tuple[int, int], str, list[T]]]  # of each batch: its place, its coordinate, its items

MAIN = ""
"""Coordinate of the main set."""


class Answered(NamedTuple):
    """What a tagger or a language model did with one sequence."""

    right: int
    """Right answers."""
    answers: int
    """Answers that were asked for."""
    nats: float
    """Cross-entropy, summed over them."""


def key(metric: str, coordinate: str) -> str:
    """Name under which a value is logged: `loss`, `loss@length=48`."""
    return f"{metric}@{coordinate}" if coordinate else metric


class Evaluation:
    """Streams the batches of one split and gives its metrics at the end, the same on any number of devices.

    Before a batch is added, `place` is set to the number of its loader and its own number there. After the last one
    comes `gather`, once; values, scores and items are then those of all devices.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.means: dict[str, RunningMean] = {}
        self.distances = AccuracyByDistance().to(device)
        nothing = torch.zeros(0, dtype=torch.int64, device=device)
        self.distances.update(nothing.bool(), nothing)  # torchmetrics warns of a sum to which nothing was added
        self.place = (0, 0)
        self.translations: dict[str, list[Translation]] = {}
        self.contrasts: dict[str, list[Contrast]] = {}
        self.sequences: dict[str, list[Answered]] = {}
        self._translations: Added[Translation] = []
        self._contrasts: Added[Contrast] = []
        self._sequences: Added[Answered] = []

    def add_loss(self, coordinate: str, nats: Tensor, tokens: Tensor) -> None:
        """Adds a batch's cross-entropy, summed over its tokens; a batch without targets adds nothing."""
        self._mean(key("loss", coordinate)).update(nats, tokens)

    def add_answers(self, coordinate: str, right: Tensor, distance: Tensor | None) -> None:
        """Adds answers, right or wrong (N,) bool; in the main set by their distance (N,) too, unless below 0."""
        self._mean(key("accuracy", coordinate)).update(right.sum(), torch.tensor(right.numel(), device=right.device))
        if distance is not None and coordinate == MAIN:
            self.distances.update(right, distance)

    def add_sequences(self, coordinate: str, sequences: list[Answered]) -> None:
        """Adds a batch of sequences, each for itself."""
        self._sequences.append((self.place, coordinate, sequences))

    def add_translations(self, coordinate: str, translations: list[Translation]) -> None:
        """Adds a batch of sentences."""
        self._translations.append((self.place, coordinate, translations))

    def add_contrasts(self, coordinate: str, contrasts: list[Contrast]) -> None:
        """Adds a batch of contrastive pairs."""
        self._contrasts.append((self.place, coordinate, contrasts))

    def gather(self) -> None:
        """Makes all devices know the same.

        `translations`, `contrasts` and `sequences` are then by set, in the order of the data.
        """
        self.translations = _by_set(self._translations)
        self.sequences = _by_set(self._sequences)
        self.contrasts = _by_set(self._contrasts)
        if dist.is_initialized():
            self._add_up()

    def values(self) -> dict[str, float]:
        """Every mean, and in the main set every accuracy by distance and by category, under its key.

        What nothing was added to is left out. Scores of translations: see `scores`.
        """
        means = {name: self.means[name].compute() for name in sorted(self.means)}
        values = {name: value for name, value in means.items() if value is not None}
        values |= {key("accuracy", f"distance={d}"): share for d, share in self.distances.compute().items()}
        return values | self._contrast_values()

    def scores(self) -> dict[str, Score]:
        """The scores of each set with sentences (models.translations), under their keys."""
        return {
            key(metric, coordinate): score
            for coordinate, translations in self.translations.items()
            for metric, score in translation_scores(translations).items()
        }

    def items(self) -> dict[str, int]:
        """What the main set's numbers rest on, by coordinate: sentences, else pairs, else answers."""
        contrasts, counts = self.contrasts.get(MAIN, []), self.distances.count
        answers = len(contrasts) or int(self._mean("accuracy").count)
        return (
            {MAIN: len(self.translations.get(MAIN, [])) or answers}
            | {f"distance={d}": int(counts[d]) for d in counts.nonzero().flatten().tolist()}
            | {at: len(items) for at, items in (by_distance(contrasts) | by_category(contrasts)).items()}
        )

    def _add_up(self) -> None:
        """Adds up all sums over the devices, each of which may have seen other sets."""
        means = [self._mean(name) for name in sorted(set(chain(*gather(list(self.means)))))]
        sums = [part for mean in means for part in (mean.total, mean.count)]
        for part in (*sums, self.distances.right, self.distances.count):
            add_up(part)

    def _contrast_values(self) -> dict[str, float]:
        main = self.contrasts.get(MAIN, [])
        sets = {at: items for at, items in (self.contrasts | by_category(main)).items() if items}
        return {key("accuracy", at): accuracy(items) for at, items in (sets | by_distance(main)).items()} | {
            key("accuracy-per-token", at): accuracy_per_token(items) for at, items in sets.items()
        }

    def _mean(self, name: str) -> RunningMean:
        if name not in self.means:
            self.means[name] = RunningMean().to(self.device)
            self.means[name].update(torch.tensor(0), torch.tensor(0))
        return self.means[name]


def _by_set(added: Added[T]) -> dict[str, list[T]]:
    """The items of all devices by coordinate, in the order in which the batches were dealt: each device one in turn."""
    sets: dict[str, list[T]] = {}
    # the sort is stable: of batches with the same number, that of the first device stays first
    for _, coordinate, items in sorted(chain(*gather(added)), key=itemgetter(0)):
        sets.setdefault(coordinate, []).extend(items)
    return sets
