"""Which items of a validation set a probe looks at."""

import pytest
import torch

from models.probes.sample import answer_places, real_queries, sample
from tests.models.probes.examples import pairs, tags


def test_as_many_from_batches_all_over_the_set() -> None:
    batches = [{"inputs": torch.full((5, 2), n)} for n in range(17)]
    chosen = sample(batches, 12)
    assert [len(batch["inputs"]) for batch in chosen] == [2] * 6
    assert [int(batch["inputs"][0, 0]) for batch in chosen] == [0, 3, 6, 9, 12, 15]
    assert [len(batch["inputs"]) for batch in sample(batches[:2], 100)] == [5, 5]


def test_real_queries_are_those_of_the_stack() -> None:
    batch = pairs()
    assert real_queries(batch, "encoder_").sum(1).tolist() == [4, 3, 4]
    assert real_queries(batch, "decoder_").sum(1).tolist() == real_queries(batch, "cross_").sum(1).tolist() == [5, 2, 5]
    assert real_queries(tags(), "").all()
    real = torch.tensor([[True] * 5, [True] * 2 + [False] * 3, [True] * 5])
    assert torch.equal(real_queries(tags() | {"real": real}, ""), real)
    assert real_queries(tags() | {"real": None}, "").shape == (3, 5)


def test_places_have_an_axis_of_answers() -> None:
    assert answer_places(tags(), "look").shape == (3, 5, 1)
    assert answer_places({"answer_at": torch.zeros(3, 5, 2)}, "look").shape == (3, 5, 2)
    with pytest.raises(ValueError, match="look: the task does not say where its answers stand"):
        answer_places(pairs(), "look")
