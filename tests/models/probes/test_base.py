"""What all probes share."""

from math import isnan, nan

import pytest

from models.probes.base import largest, smallest


@pytest.mark.parametrize("values", [[nan, 2.0, 5.0], [2.0, nan, 5.0], [2.0, 5.0, nan]])
def test_no_number_is_passed_over(values: list[float]) -> None:
    assert isnan(largest(values))
    assert isnan(smallest(iter(values)))


def test_the_largest_and_the_smallest_to_the_last_bit() -> None:
    values = [0.1, 0.30000000000000004, 5e-324]
    assert (largest(values), smallest(values)) == (0.30000000000000004, 5e-324)
    for end in (largest, smallest):
        with pytest.raises(RuntimeError, match="numel"):
            end([])
