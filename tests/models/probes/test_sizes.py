"""Sizes read off the embedding."""

from models.config import TaskShape
from models.probes.sizes import vocabularies, width
from tests.models.probes.examples import TRANSLATION, D, V, made


def test_sizes_of_one_and_of_several_factors() -> None:
    factored = made("encoder", TaskShape(kind="tagging", input_sizes=(7, 5), output_size=3))
    assert (width(factored), vocabularies(factored)) == (D, [7, 5])
    for architecture in ("encoder-decoder", "lstm"):
        assert (width(model := made(architecture, TRANSLATION)), vocabularies(model)) == (D, [V])
