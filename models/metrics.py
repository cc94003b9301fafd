"""Metrics of a whole split: sums that stream in, divided once at the end.

Shapes: any; values and masks of one call have the same shape.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from sacrebleu.metrics.bleu import BLEU
from torch import Tensor
from torchmetrics import Metric


class RunningMean(Metric):
    """Sum of everything over the number of things; None while that number is 0.

    torchmetrics' own MeanMetric either removes NaN (a diverged model would look well) or, told not to, forgets weights.
    """

    full_state_update = False
    total: Tensor
    count: Tensor

    def __init__(self) -> None:
        super().__init__()
        # double: a float sum of a million tokens depends on the order of the batches in the sixth digit
        self.add_state("total", torch.zeros((), dtype=torch.float64), dist_reduce_fx="sum")
        self.add_state("count", torch.zeros((), dtype=torch.int64), dist_reduce_fx="sum")

    def update(self, total: Tensor, count: Tensor) -> None:
        """Adds a sum over `count` things."""
        self.total += total
        self.count += count

    def compute(self) -> float | None:
        return self.total.item() / int(self.count) if self.count else None


class AccuracyByDistance(Metric):
    """Share of right answers for each distance, in tokens between the two ends of the dependency.

    Sums with a fixed place for each distance, so that devices may see different distances and give the same numbers.
    """

    full_state_update = False
    longest = 16_383
    right: Tensor
    count: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.add_state("right", torch.zeros(self.longest + 1, dtype=torch.int64), dist_reduce_fx="sum")
        self.add_state("count", torch.zeros(self.longest + 1, dtype=torch.int64), dist_reduce_fx="sum")

    def update(self, right: Tensor, distance: Tensor) -> None:
        """Adds answers, right or wrong (bool), with their distances (int64). A distance below 0 counts for nothing."""
        asked = distance >= 0
        distance = distance[asked]
        self.count.index_add_(0, distance, torch.ones_like(distance))
        self.right.index_add_(0, distance, right[asked].long())

    def compute(self) -> dict[int, float]:
        """Accuracy of each distance that was asked for, in rising order."""
        seen = self.count.nonzero().flatten()
        shares = self.right[seen].double() / self.count[seen]
        return dict(zip(seen.tolist(), shares.tolist(), strict=True))


@dataclass(frozen=True)
class Bleu:
    """Corpus BLEU, 0 to 100, and how it was computed. Two scores compare only if their signatures are equal."""

    score: float
    signature: str


def corpus_bleu(hypotheses: Sequence[str], references: Sequence[str]) -> Bleu | None:
    """BLEU of plain text by sacrebleu's defaults (Post 2018), one reference a sentence; None without sentences.

    An empty hypothesis counts as one. Raises ValueError unless there are as many references as hypotheses.
    """
    check_pairs(hypotheses, references, "references")
    if not hypotheses:
        return None
    metric = BLEU(force=True)  # else it doubts text that ends in " ." as that of `german` does
    score = metric.corpus_score(list(hypotheses), [list(references)]).score
    return Bleu(score, str(metric.get_signature()))


def check_pairs(hypotheses: Sequence[str], others: Sequence[str], name: str) -> None:
    """Refuses what sacrebleu scores without complaint: unequal counts, and a string taken apart into letters.

    `name` says what the others are: references, sources.
    """
    if isinstance(hypotheses, str) or isinstance(others, str):
        raise ValueError(f"hypotheses and {name} must be lists of sentences, not one string")
    if any(not isinstance(sentence, str) for sentence in (*hypotheses, *others)):
        raise ValueError(f"hypotheses and {name} must be lists with one string a sentence")
    if len(hypotheses) != len(others):
        raise ValueError(f"{len(hypotheses)} hypotheses but {len(others)} {name}")
