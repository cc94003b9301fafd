import pytest
import torch

from models.probes.inputs import first, read_one_by_one, sequences, stretched


def test_rows_are_repeated_and_cut() -> None:
    tokens = torch.tensor([[1, 2, 3], [4, 5, 6]])
    assert stretched(tokens, 7).tolist() == [[1, 2, 3, 1, 2, 3, 1], [4, 5, 6, 4, 5, 6, 4]]
    assert stretched(tokens, 2).tolist() == [[1, 2], [4, 5]]
    assert stretched(tokens, 3).tolist() == tokens.tolist()


def test_factors_go_along() -> None:
    tokens = torch.tensor([[[1, 2], [3, 4]]])
    assert stretched(tokens, 3).tolist() == [[[1, 2], [3, 4], [1, 2]]]


def test_the_first_rows_of_every_part() -> None:
    batch = {"inputs": torch.arange(6).view(3, 2), "category": ["a", "b", "c"], "real": None}
    cut = first(batch, 2)
    assert cut["inputs"].tolist() == [[0, 1], [2, 3]]
    assert cut["category"] == ["a", "b"]
    assert cut["real"] is None
    assert len(first(batch)["inputs"]) == 3


def test_what_is_read_from_left_to_right() -> None:
    assert read_one_by_one({"inputs": 0}) == "inputs"
    assert read_one_by_one({"source": 0, "target": 0}) == "target"


def test_a_translation_is_no_sequence() -> None:
    assert sequences({"inputs": 5}, "some-probe") == 5
    with pytest.raises(ValueError, match="some-probe: needs a task of one sequence"):
        sequences({"source": 0, "target": 0}, "some-probe")
