"""The tensors of a translation batch by hand, and what evaluation carries along."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from datamodules.base import NO_DISTANCE, TaskData
from datamodules.german import German, GermanConfig
from datamodules.parallel import Contrast, by_length, translation_batch
from datamodules.splits import Integers

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


def _sentences(*lengths: int) -> list[Integers]:
    return [np.full(length, 5) for length in lengths]


def test_evaluation_batches_are_bounded_by_sentences_and_by_tokens() -> None:
    short = by_length(_sentences(*[3, 1, 2] * 81))
    assert [len(rows) for rows in short] == [100, 100, 43]
    assert np.concatenate(short).tolist() == [*range(1, 243, 3), *range(2, 243, 3), *range(0, 243, 3)]
    assert [len(rows) for rows in by_length(_sentences(*[511] * 19))] == [8, 8, 3]  # 4096 tokens, each with its END
    assert [len(rows) for rows in by_length(_sentences(5000, 7, 6000))] == [1, 1, 1]
    assert by_length([]) == []


def test_every_side_counts_for_the_size_of_a_batch() -> None:
    sources = [1] * 50
    sources[7] = 1023  # 4 of them are 4096 tokens
    batches = by_length(_sentences(*[2] * 50), _sentences(*sources))
    assert [len(rows) for rows in batches] == [7, 4, 39]
    assert [row for rows in batches for row in rows] == list(range(50))


def _german() -> German:
    data = German(
        GermanConfig(train_size=7, validation_size=2, test_size=3, contrast_size=2), seed=0, steps=1, batch_size=2
    )
    data.setup()
    return data


def test_a_contrastive_batch_by_hand() -> None:
    data = _german()
    target = data.target_vocabulary
    (run,), (runs,), (dog,) = (data.target_vocabulary.encode([word])[0].tolist() for word in ("liefen", "lief", "hund"))
    source = data.source_vocabulary.encode(["dog ran"])[0].tolist()
    items = [
        Contrast("dog ran", "hund lief .", "hund liefen hund .", 4, "verb"),
        Contrast("dog", "hund", "hund liefen", NO_DISTANCE, "more"),
    ]
    (batch,) = data.contrastive_batches(items)
    stop = target.encode(["."])[0].item()
    assert batch["source"].tolist() == [[source[0], 2, 0], [*source, 2]]
    assert batch["target"].tolist() == [[1, dog, 0, 0], [1, dog, runs, stop]]
    assert batch["wrong"].tolist() == [[1, dog, run, 0, 0], [1, dog, run, dog, stop]]
    assert batch["wrong_targets"].tolist() == [[dog, run, 2, -100, -100], [dog, run, dog, stop, 2]]
    assert batch["wrong_real"].sum(1).tolist() == [3, 5]
    assert (batch["distance"].tolist(), batch["category"]) == ([NO_DISTANCE, 4], ["more", "verb"])
    assert not any("equal sides" in note for note in data.notes)


def test_no_contrastive_item_is_cut_or_left_out() -> None:
    data = _german()
    lengths = {"short": 1, "long": 700, "longer": 3000}
    items = [Contrast("dog", "hund " * n + ".", "lief " * (n + 1) + ".", n, name) for name, n in lengths.items()]
    batches = data.contrastive_batches(items)
    assert [batch["wrong"].shape for batch in batches] == [(2, 703), (1, 3003)]
    assert [batch["wrong_real"].sum(1).tolist() for batch in batches] == [[4, 703], [3003]]
    assert [batch["category"] for batch in batches] == [["short", "long"], ["longer"]]


def test_items_with_two_equal_sides_are_reported() -> None:
    data = _german()
    items = [Contrast("dog", right, "hund lief", 1, "verb") for right in ("hund lief", "hund liefen", "hund lief")]
    data.contrastive_batches(items)
    assert data.notes[-1] == "warning: 2 of 3 contrastive items have two equal sides: counted as wrong"


@pytest.mark.parametrize("name", ["german", "translation"])
def test_the_share_of_real_tokens_is_that_of_an_epoch(make: Make, name: str) -> None:
    data = make(name, batch_tokens=40, steps=100)
    sentences = 0
    shares = []
    for batch in data.train_dataloader():
        shares.append([(batch[side].sum().item(), batch[side].numel()) for side in ("source_real", "target_real")])
        sentences += len(batch["source"])
        if sentences == {"german": 61, "translation": 40}[name]:
            break
    real, all_of_them = np.array(shares).sum(0).T
    source, target = real / all_of_them
    assert f"real tokens, not padding, of a training batch: source {source:.1%}, target {target:.1%}" in data.notes


def test_the_longest_sequence_may_be_a_wrong_translation() -> None:
    data = _german()
    before = data.longest
    item = Contrast("dog", "hund", "hund " * 99 + ".", 1, "verb")
    data._held = {"validation": [], "test": [data.contrastive_batches([item])]}
    assert before < 50
    assert data.longest == 101
