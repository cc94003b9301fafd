"""Names of measurements."""

import pytest

from models.probes import Measurement
from models.probes.layers import by_layer, place


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("stack.layers.0.attention.inner", ("", 1)),
        ("stack.layers.11", ("", 12)),
        ("encoder.stack.layers.1.attention.inner", ("encoder_", 2)),
        ("decoder.layers.2.attention.inner.kind", ("decoder_", 3)),
        ("decoder.layers.2.cross_attention.inner", ("cross_", 3)),
    ],
)
def test_the_place_of_a_module(name: str, expected: tuple[str, int]) -> None:
    assert place(name) == expected


def test_the_whole_of_each_stack_stands_before_its_layers() -> None:
    found = by_layer("size", {("", 2): 5.0, ("", 1): 3.0, ("cross_", 1): 7.0}, max)
    assert found == [
        Measurement("size", "", 5.0),
        Measurement("size", "layer=1", 3.0),
        Measurement("size", "layer=2", 5.0),
        Measurement("cross_size", "", 7.0),
        Measurement("cross_size", "layer=1", 7.0),
    ]
