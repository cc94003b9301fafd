"""Metrics of a whole split: sums that stream in, divided once at the end.

Shapes: any; values and masks of one call have the same shape.
"""

import torch
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
        super().__init__(sync_on_compute=False)  # who adds up over devices does it once (models.collective)
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
        super().__init__(sync_on_compute=False)
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
