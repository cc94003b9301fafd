"""Model and data are refused together before anything is trained."""

from typing import Any

import pytest

from ablations.checks import with_data
from ablations.load import make_study
from ablations.study import Settings
from models.config import ConfigError


def settings(plain: dict[str, Any], **model: Any) -> list[Settings]:
    plain["experiments"]["copy"]["model"].update(model)
    del plain["experiments"]["copy"]["vary"]
    return list(make_study(plain).experiments[0].variants.values())


def test_data_are_set_up_once_for_all_variants(tiny: dict[str, Any]) -> None:
    made = list(with_data(make_study(tiny).experiments[0].variants.values()))
    assert len(made) == 2
    assert made[0][1] is made[1][1]


def test_a_learned_table_must_hold_the_longest_sequence(tiny: dict[str, Any]) -> None:
    tiny["experiments"]["copy"]["task"]["test_lengths"] = [9]
    assert list(with_data(settings(tiny, position="learned", max_length=9)))
    tiny["experiments"]["copy"]["vary"] = {}
    with pytest.raises(ConfigError, match=r"model\.max_length=8: must be at least 9, the longest sequence of the task"):
        list(with_data(settings(tiny, position="learned", max_length=8)))


def test_tied_embeddings_need_one_vocabulary(tiny: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="tie_embeddings=True"):
        list(with_data(settings(tiny, tie_embeddings=True)))


def test_the_longest_sentence_of_a_translator_counts() -> None:
    model = {"architecture": "encoder-decoder", "d_model": 12, "n_heads": 3, "position": "learned", "max_length": 5}
    spec = {"task": {"name": "german", "validation_size": 3, "test_size": 3}, "model": model}
    with pytest.raises(ConfigError, match=r"model\.max_length=5: must be at least"):
        list(with_data(make_study({"name": "x", "experiments": {"e": spec}}).experiments[0].variants.values()))
