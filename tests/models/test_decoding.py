"""How a search is configured, and what bounds it."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from models.config import ConfigError
from models.decoding import DecodeConfig, within


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"beam": 0}, "beam=0: must be a whole number above 0"),
        ({"beam": 2.0}, "beam=2.0: must be a whole number above 0"),
        ({"beam": True}, "beam=True: must be a whole number above 0"),
        ({"beam": 4, "length_penalty": -0.5}, "length_penalty=-0.5: must be from 0 to 10"),
        ({"beam": 4, "length_penalty": 11}, "length_penalty=11.0: must be from 0 to 10"),
        ({"beam": 4, "length_penalty": float("nan")}, "length_penalty=nan: must be a finite number"),
        ({"length_penalty": 0.6}, "length_penalty=0.6: has no effect with beam=1, leave it at 1.0"),
    ],
)
def test_a_wrong_value_is_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        DecodeConfig(**values)
    assert str(caught.value) == message


def test_a_whole_number_is_a_penalty_too() -> None:
    assert DecodeConfig(beam=3, length_penalty=0) == DecodeConfig(beam=3, length_penalty=0.0)
    assert repr(DecodeConfig(beam=3, length_penalty=1).length_penalty) == "1.0"


def test_limits_are_cut_to_what_the_model_can_take() -> None:
    limits = torch.tensor([3, 9, 14])
    bounded: Any = SimpleNamespace(longest=9)
    endless: Any = SimpleNamespace(longest=None)
    assert within(limits, bounded).tolist() == [3, 9, 9]
    assert within(limits, endless).tolist() == [3, 9, 14]
