"""The tensors of a translation batch by hand, and what evaluation carries along."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from datamodules.base import TaskData
from datamodules.parallel import translation_batch

Make = Callable[..., TaskData[Any]]


def test_a_batch_by_hand() -> None:
    batch = translation_batch([np.array([7, 8]), np.array([9])], [np.array([5]), np.array([6, 5, 4])])
    assert batch["source"].tolist() == [[7, 8, 2], [9, 2, 0]]
    assert batch["source_real"].tolist() == [[True, True, True], [True, True, False]]
    assert batch["target"].tolist() == [[1, 5, 0, 0], [1, 6, 5, 4]]
    assert batch["target_real"].tolist() == [[True, True, False, False], [True] * 4]
    assert batch["targets"].tolist() == [[5, 2, -100, -100], [6, 5, 4, 2]]


def test_an_empty_sentence_still_has_an_end() -> None:
    nothing = np.array([], dtype=np.int64)
    batch = translation_batch([nothing], [nothing])
    assert (batch["source"].tolist(), batch["target"].tolist(), batch["targets"].tolist()) == ([[2]], [[1]], [[2]])
    assert batch["source_real"].all()


@pytest.mark.parametrize("name", ["german", "translation"])
def test_evaluation_batches_are_ordered_by_length_and_keep_text_and_ids_together(make: Make, name: str) -> None:
    data = make(name)
    lengths = []
    for batch in data.test_dataloader()[0]:
        assert len(batch["references"]) == len(batch["sources"]) == len(batch["target"])
        lengths += batch["target_real"].sum(1).tolist()
        texts = [data.detokenise([index for index in row if index >= 0]) for row in batch["targets"].tolist()]
        assert texts == batch["references"]
    assert lengths == sorted(lengths)


@pytest.mark.parametrize("name", ["german", "translation"])
def test_detokenise_stops_at_the_end_and_shows_no_special_token(make: Make, name: str) -> None:
    data = make(name)
    batch = next(iter(data.test_dataloader()[0]))
    sentence = [index for index in batch["targets"][0].tolist() if index >= 0]
    text = batch["references"][0]
    assert sentence[-1] == data.end
    assert data.detokenise(sentence) == data.detokenise(sentence[:-1]) == text
    assert data.detokenise([data.start or 0, 0, *sentence, 7, 8, 9]) == text
    assert data.detokenise([]) == data.detokenise([2, 7]) == ""


@pytest.mark.parametrize("name", ["german", "translation"])
def test_batches_by_tokens(make: Make, name: str) -> None:
    data = make(name, batch_tokens=40)
    shapes = [batch["target"].shape for batch in data.train_dataloader()]
    assert max(rows * length for rows, length in shapes) <= 40
    assert len({rows for rows, _ in shapes}) > 1
