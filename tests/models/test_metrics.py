"""Streaming metrics against the whole at once."""

import pytest
import torch

from models.metrics import AccuracyByDistance, RunningMean


def test_a_mean_weighs_by_count() -> None:
    """HB-07: losses 2, 2, 2 and 5 in two batches: 11 / 4, not (2 + 5) / 2."""
    mean = RunningMean()
    mean.update(torch.tensor(6.0), torch.tensor(3))
    mean.update(torch.tensor(0.0), torch.tensor(0))
    mean.update(torch.tensor(5.0), torch.tensor(1))
    assert mean.compute() == 2.75


def test_a_mean_of_nothing_is_none_and_nan_stays() -> None:
    mean = RunningMean()
    mean.update(torch.tensor(0.0), torch.tensor(0))
    assert mean.compute() is None
    mean.update(torch.tensor(torch.nan), torch.tensor(2))
    assert mean.compute() != mean.compute()


def test_a_long_mean_does_not_depend_on_single_precision() -> None:
    mean = RunningMean()
    for _ in range(3):
        mean.update(torch.tensor(2.0**24), torch.tensor(2**24))
        mean.update(torch.tensor(1.0), torch.tensor(1))
    assert mean.compute() == 1.0
    assert mean.total.item() == 3 * (2**24 + 1)


def test_accuracy_by_distance_counts_each_distance_alone() -> None:
    metric = AccuracyByDistance()
    metric.update(torch.tensor([True, False, True, True]), torch.tensor([7, 7, 0, -1]))
    metric.update(torch.tensor([True, True, False]), torch.tensor([7, 2, 2]))
    assert metric.compute() == {0: 1.0, 2: 0.5, 7: pytest.approx(2 / 3)}


def test_accuracy_by_distance_of_two_devices_is_that_of_one() -> None:
    """Devices that saw different distances: their states are of one shape and add up."""
    right, distance = torch.tensor([True, False, True, True, False]), torch.tensor([3, 3, 9, 1, 9])
    parts = [AccuracyByDistance() for _ in range(2)]
    parts[0].update(right[:2], distance[:2])
    parts[1].update(right[2:], distance[2:])
    whole = AccuracyByDistance()
    whole.update(right, distance)
    summed = AccuracyByDistance()
    summed.update(right[:0], distance[:0])
    summed.right += parts[0].right + parts[1].right
    summed.count += parts[0].count + parts[1].count
    assert summed.compute() == whole.compute() == {1: 1.0, 3: 0.5, 9: 0.5}
