"""What evaluating one split adds up to, for its main set and for each extra set (named by a coordinate)."""

from collections.abc import Iterable
from itertools import chain
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from models.contrasts import Contrast, accuracy, accuracy_per_token, by_category, by_distance
from models.metrics import AccuracyByDistance, RunningMean
from models.scores import Score
from models.translations import Translation, translation_scores

T = TypeVar("T")

MAIN = ""
"""Coordinate of the main set."""


def key(metric: str, coordinate: str) -> str:
    """Name under which a value is logged: `loss`, `loss@length=48`."""
    return f"{metric}@{coordinate}" if coordinate else metric


class Evaluation:
    """Streams the batches of one split and gives its metrics at the end, the same on any number of devices."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.means: dict[str, RunningMean] = {}
        self.distances = AccuracyByDistance().to(device)
        nothing = torch.zeros(0, dtype=torch.int64, device=device)
        self.distances.update(nothing.bool(), nothing)  # torchmetrics warns of a sum to which nothing was added
        self.translations: dict[str, list[Translation]] = {}
        self.contrasts: dict[str, list[Contrast]] = {}

    def add_loss(self, coordinate: str, nats: Tensor, tokens: Tensor) -> None:
        """Adds a batch's cross-entropy, summed over its tokens; a batch without targets adds nothing."""
        self._mean(key("loss", coordinate)).update(nats, tokens)

    def add_answers(self, coordinate: str, right: Tensor, distance: Tensor | None) -> None:
        """Adds answers, right or wrong (N,) bool; in the main set by their distance (N,) too, unless below 0."""
        self._mean(key("accuracy", coordinate)).update(right.sum(), torch.tensor(right.numel(), device=right.device))
        if distance is not None and coordinate == MAIN:
            self.distances.update(right, distance)

    def add_translations(self, coordinate: str, translations: list[Translation]) -> None:
        """Adds sentences, in the order of the data."""
        self.translations.setdefault(coordinate, []).extend(translations)

    def add_contrasts(self, coordinate: str, contrasts: list[Contrast]) -> None:
        """Adds contrastive pairs, in the order of the data."""
        self.contrasts.setdefault(coordinate, []).extend(contrasts)

    def gather(self) -> None:
        """Makes the sentences and items of all devices known to each. (The sums are added up by `means`.)"""
        self.translations = _gathered(self.translations)
        self.contrasts = _gathered(self.contrasts)

    def values(self) -> dict[str, float]:
        """Every mean, and in the main set every accuracy by distance and by category, under its key.

        What nothing was added to is left out. Scores of translations: see `scores`.
        """
        means = {name: self._mean(name).compute() for name in _everywhere(self.means)}
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
        """What the main set's numbers rest on, by coordinate: sentences, else answers; answers at each coordinate."""
        contrasts, counts = self.contrasts.get(MAIN, []), self.distances.count
        answers = int(self._mean("accuracy").count) + len(contrasts)
        return (
            {MAIN: len(self.translations.get(MAIN, [])) or answers}
            | {f"distance={d}": int(counts[d]) for d in counts.nonzero().flatten().tolist()}
            | {at: len(items) for at, items in (by_distance(contrasts) | by_category(contrasts)).items()}
        )

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


def _all_gather(value: T) -> list[T]:
    """The value of each device, in their order."""
    if not dist.is_initialized():
        return [value]
    values: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(values, value)
    return values


def _gathered(sets: dict[str, list[T]]) -> dict[str, list[T]]:
    """The items of every device, set by set, in the order of the devices."""
    parts = _all_gather(sets)
    return {name: [item for part in parts for item in part.get(name, [])] for name in dict.fromkeys(chain(*parts))}


def _everywhere(names: Iterable[str]) -> list[str]:
    """Names that any device knows of, in one order for all: each then takes part in every sum."""
    return sorted({name for part in _all_gather(list(names)) for name in part})
