"""What devices tell each other: alone here; tests/ablations/test_ranks.py has two of them."""

import torch

from models.collective import add_up, gather


def test_a_device_alone_hears_itself() -> None:
    sums = torch.tensor([1.0, 2.0])
    assert add_up(sums) is sums
    assert sums.tolist() == [1.0, 2.0]
    assert gather({"rank": 0}) == [{"rank": 0}]
