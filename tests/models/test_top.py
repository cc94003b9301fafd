"""The largest of each row, against torch's own."""

import pytest
import torch

from models.top import group_width, largest


@pytest.mark.parametrize(("size", "number"), [(4000, 6), (4000, 1), (90, 2), (97, 5), (17, 16), (256, 3), (12, 12)])
def test_they_are_those_that_torch_finds(size: int, number: int) -> None:
    values = torch.randn(11, size, generator=torch.Generator().manual_seed(size))
    values[3, : size // 2] = 2.5  # many in one group
    values[4, 0] = -torch.inf
    top, places = largest(values, number)
    assert torch.equal(top, values.topk(number).values)
    assert torch.equal(values.gather(1, places), top)
    assert all(len(set(row)) == number for row in places.tolist())


def test_any_strides_will_do() -> None:
    values = torch.randn(400, 7, generator=torch.Generator().manual_seed(1)).T
    assert torch.equal(largest(values, 2)[0], values.topk(2).values)


def test_values_of_nowhere_stay_last() -> None:
    values = torch.full((3, 64), -torch.inf)
    values[:, 40] = 1.0
    top, places = largest(values, 1)
    assert top.tolist() == [[1.0]] * 3
    assert places.tolist() == [[40]] * 3


def test_groups_are_as_wide_as_the_size_allows() -> None:
    assert [group_width(size) for size in (4000, 8000, 250, 97, 131, 1)] == [125, 125, 125, 97, 1, 1]
