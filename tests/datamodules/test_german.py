"""Batches of the grammar's sentences: text, ids and contrast belong together."""

from collections.abc import Callable
from itertools import islice
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from datamodules.base import Batch, TaskData
from datamodules.errors import DataError
from datamodules.german import German, GermanConfig
from datamodules.german_grammar import sentences
from datamodules.splits import Split, split_of_text
from tests.datamodules.english_to_german import translate

Make = Callable[..., TaskData[Any]]


def _text(data: TaskData[Any], labels: Tensor) -> list[str]:
    return [data.detokenise([index for index in row if index >= 0]) for row in labels.tolist()]


def _sources(data: TaskData[Any], batch: Batch) -> list[str]:
    assert isinstance(data, German)
    rows = zip(batch["source"].tolist(), batch["source_real"].sum(1).tolist(), strict=True)
    return [data.source_vocabulary.decode(row[: length - 1]) for row, length in rows]


@pytest.mark.parametrize("nested", [False, True])
def test_rules_solve_every_set(make: Make, nested: bool) -> None:
    data = make("german", nested=nested)
    for batch in data.train_dataloader():
        assert [translate(english) for english in _sources(data, batch)] == _text(data, batch["targets"])
    splits: list[Split] = ["validation", "test"]
    made = {item.english: item for split in splits for item in islice(sentences(split, 0, nested=nested), 29)}
    for main, contrast in (data.val_dataloader(), data.test_dataloader()):
        for batch in main:
            assert batch["sources"] == _sources(data, batch)
            assert [translate(english) for english in batch["sources"]] == batch["references"]
            assert batch["references"] == _text(data, batch["targets"])
        for batch in contrast:
            known = [made[english] for english in _sources(data, batch)]
            assert batch["distance"].tolist() == [sentence.distance for sentence in known]
            assert batch["category"] == [sentence.pattern for sentence in known]
            best = [translate(english) for english in _sources(data, batch)]
            right, wrong = _text(data, batch["targets"]), _text(data, batch["wrong_targets"])
            assert [one if one in pair else None for one, *pair in zip(best, right, wrong, strict=True)] == right
            assert all(one != other for one, other in zip(right, wrong, strict=True))


def test_a_contrastive_batch_by_hand() -> None:
    data = German(GermanConfig(contrast_size=1, test_size=1), seed=0, steps=1, batch_size=1)
    data.setup()
    sentence = next(iter(sentences("test", 0, nested=False)))
    (batch,) = data.test_dataloader()[1]
    ids = {word: index for index, word in enumerate(["<pad>", "<s>", "</s>"])}
    right = data.target_vocabulary.encode([sentence.german])[0].tolist()
    wrong = data.target_vocabulary.encode([sentence.wrong])[0].tolist()
    assert batch["target"].tolist() == [[ids["<s>"], *right]]
    assert batch["targets"].tolist() == [[*right, ids["</s>"]]]
    assert batch["wrong"].tolist() == [[ids["<s>"], *wrong]]
    assert batch["wrong_targets"].tolist() == [[*wrong, ids["</s>"]]]
    assert batch["wrong_real"].all()
    assert batch["distance"].tolist() == [sentence.distance]
    assert batch["category"] == [sentence.pattern]
    assert sum(one != other for one, other in zip(right, wrong, strict=True)) == 1


def test_sizes_and_shapes(make: Make) -> None:
    data = make("german")
    for loaders, translated, contrasted in ((data.val_dataloader(), 19, 19), (data.test_dataloader(), 23, 29)):
        main, contrast = (list(loader) for loader in loaders)
        assert sum(len(batch["references"]) for batch in main) == translated
        assert sum(len(batch["category"]) for batch in contrast) == contrasted
        assert all("wrong" not in batch for batch in main)
        assert all("references" not in batch for batch in contrast)
    assert (data.input_sizes, data.output_size, data.shared_vocabulary) == ((65,), 97, False)
    assert (data.start, data.end, data.chance) == (1, 2, 0.5)
    assert data.headline == ("loss", "bleu", "accuracy")


def test_training_follows_the_run_seed_and_the_test_the_data_seed(make: Make) -> None:
    def train(data: TaskData[Any]) -> set[str]:
        return {text for batch in data.train_dataloader() for text in _sources(data, batch)}

    def test(data: TaskData[Any]) -> list[str]:
        return [text for batch in data.test_dataloader()[0] for text in batch["sources"]]

    base, other, moved = make("german"), make("german", seed=1), make("german", data_seed=1)
    assert test(base) == test(other) != test(moved)
    assert train(base) == train(moved) != train(other)
    assert all(split_of_text(text) == "train" for text in train(base) | train(other))
    assert all(split_of_text(text) == "test" for text in test(base) + test(moved))


def test_all_training_sentences_are_used(make: Make) -> None:
    data = make("german", steps=9)  # 61 sentences in batches of 7
    found = sorted(text for batch in data.train_dataloader() for text in _sources(data, batch))
    assert found == sorted(item.english for item in islice(sentences("train", 0, nested=False), 61))


def test_a_model_of_shuffled_labels_stays_at_chance() -> None:
    """The verb's number out of the first four English words, where the subject noun is one of them."""

    def examples(split: Split, number: int) -> tuple[Tensor, Tensor]:
        made = [item for item in islice(sentences(split, 0, nested=False), number) if item.pattern != "dass"]
        words = {word: index for index, word in enumerate(vocabulary)}
        features = torch.zeros(len(made), 4, len(words))
        for row, item in enumerate(made):
            for place, word in enumerate(item.english.split(" ")[:4]):
                features[row, place, words[word]] = 1
        return features.flatten(1), torch.tensor([len(item.german) > len(item.wrong) for item in made]).float()

    def accuracy(labels: Tensor) -> float:
        torch.manual_seed(0)
        model = nn.Linear(inputs.shape[1], 1)
        optimiser = torch.optim.Adam(model.parameters(), lr=0.1)
        for _ in range(60):
            optimiser.zero_grad()
            loss = nn.functional.binary_cross_entropy_with_logits(model(inputs)[:, 0], labels)
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
        return float(((model(test_inputs)[:, 0] > 0) == test_labels.bool()).float().mean())

    vocabulary = sorted(
        {word for item in islice(sentences("train", 0, nested=False), 500) for word in item.english.split()}
    )
    inputs, labels = examples("train", 3000)
    test_inputs, test_labels = examples("test", 1200)
    assert accuracy(labels) > 0.99
    shuffled = labels[torch.randperm(len(labels), generator=torch.Generator().manual_seed(0))]
    assert accuracy(shuffled) == pytest.approx(0.5, abs=0.06)


@pytest.mark.parametrize("field", ["train_size", "validation_size", "test_size", "contrast_size"])
def test_wrong_settings_are_refused(field: str) -> None:
    with pytest.raises(DataError) as caught:
        German.Config(**{field: 0})
    assert str(caught.value) == f"{field}=0: must be an integer of at least 1"
