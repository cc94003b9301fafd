"""Sentences as a trained run reads them."""

from pathlib import Path

import pytest

from ablations.restore import restore
from ablations.text import source_ids, target_ids, translation_data
from datamodules.errors import DataError
from datamodules.german_grammar import vocabulary
from models.config import ConfigError
from tests.ablations.trained import MODEL, trained


def test_sources_end_and_targets_start(tmp_path: Path) -> None:
    run = restore(trained(tmp_path))
    english, german = vocabulary()
    words = [english.index(word) + 3 for word in ("the", "dog", "slept")]
    assert source_ids(run, "the dog slept").tolist() == [*words, 2]
    assert target_ids(run, "der hund").tolist() == [1, german.index("der") + 3, german.index("hund") + 3]


@pytest.mark.parametrize(("text", "word"), [("the zebra slept .", "'zebra'"), ("the  dog", "''"), ("The dog", "'The'")])
def test_a_word_that_the_run_does_not_know_is_named(text: str, word: str, tmp_path: Path) -> None:
    run = restore(trained(tmp_path))
    for read in (source_ids, target_ids):
        with pytest.raises(DataError) as caught:
            read(run, text if read is source_ids else text.replace("the", "der").replace("dog", "hund"))
        assert str(caught.value).startswith(f"{word} is not in the vocabulary")


def test_a_table_of_positions_ends_with_its_last_row(tmp_path: Path) -> None:
    model = {**MODEL, "position": "learned", "max_length": 30}
    run = restore(trained(tmp_path, model=model))
    assert len(source_ids(run, " ".join(["dog"] * 29))) == 30
    assert len(target_ids(run, " ".join(["hund"] * 29))) == 30
    for read, word in ((source_ids, "dog"), (target_ids, "hund")):
        with pytest.raises(DataError, match="31 tokens with start or end, and the model has positions for 30"):
            read(run, " ".join([word] * 30))


def test_other_tasks_have_no_sentences(tmp_path: Path) -> None:
    task = {"name": "order", "target": "previous", "length": 5, "vocabulary": 7, "validation_size": 11, "test_size": 13}
    run = restore(trained(tmp_path, task=task, model={**MODEL, "architecture": "encoder"}))
    with pytest.raises(ConfigError, match=f"run {run.file['id']}: its task order translates nothing"):
        translation_data(run)
