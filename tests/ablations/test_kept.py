"""Subword models beside the weights."""

from pathlib import Path

import pytest
import sentencepiece

from ablations.kept import keep_subwords, take_subwords
from datamodules.german import German, GermanConfig
from datamodules.order import Order, OrderConfig
from datamodules.subwords import Subwords, train
from datamodules.translation import Translation, TranslationConfig

SOURCE = ["ein hund und eine katze", "zwei hunde schlafen"] * 3
TARGET = ["a dog and a cat", "two dogs are asleep"] * 3


def translation(*, joint: bool) -> Translation:
    data = Translation(TranslationConfig(), seed=0, steps=1, batch_size=1)
    if joint:
        data.shared_vocabulary = True
        data.source_vocabulary = data.target_vocabulary = Subwords(train([*SOURCE, *TARGET], 31))
    else:
        data.source_vocabulary, data.target_vocabulary = Subwords(train(SOURCE, 29)), Subwords(train(TARGET, 23))
    return data


@pytest.mark.parametrize("joint", [True, False])
def test_what_is_kept_comes_back(joint: bool, tmp_path: Path) -> None:
    kept = translation(joint=joint)
    keep_subwords(kept, tmp_path)
    taken = Translation(TranslationConfig(), seed=0, steps=1, batch_size=1)
    assert take_subwords(taken, tmp_path)
    assert taken.shared_vocabulary == joint
    assert (taken.source_vocabulary is taken.target_vocabulary) == joint
    for side, text in (("source", SOURCE[0]), ("target", TARGET[1])):
        before, after = getattr(kept, f"{side}_vocabulary"), getattr(taken, f"{side}_vocabulary")
        assert after.size == before.size
        assert after.encode([text])[0].tolist() == before.encode([text])[0].tolist()
        assert after.decode(after.encode([text])[0].tolist()) == text


def test_the_files_are_those_of_sentencepiece(tmp_path: Path) -> None:
    data = translation(joint=False)
    keep_subwords(data, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["source.model", "target.model"]
    processor = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "target.model"))
    assert processor.encode(TARGET[0]) == data.target_vocabulary.encode([TARGET[0]])[0].tolist()


def test_tasks_without_subwords_keep_nothing(tmp_path: Path) -> None:
    german = German(GermanConfig(), seed=0, steps=1, batch_size=1)
    german.load()
    keep_subwords(german, tmp_path)
    keep_subwords(Order(OrderConfig(), seed=0, steps=1, batch_size=1), tmp_path)
    assert not list(tmp_path.iterdir())
    assert not take_subwords(german, tmp_path)
