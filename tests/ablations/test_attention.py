"""Attention weights of one sentence."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

from ablations.attention import attention_of, attention_of_runs, pieces, titles
from ablations.restore import Trained, restore
from ablations.text import source_ids, target_ids
from ablations.translate import translate
from datamodules.errors import DataError
from datamodules.subwords import Subwords, train
from datamodules.vocabulary import END, START, UNKNOWN, Words
from models.config import ConfigError
from models.transformer import TransformerTranslator
from tests.ablations.trained import MODEL, trained

SENTENCE, TARGET = "the cats slept .", "die katzen schliefen ."
SOURCE_TOKENS = ["the", "cats", "slept", ".", "</s>"]
TARGET_TOKENS = ["<s>", "die", "katzen", "schliefen", "."]
DOT = {"architecture": "gru", "d_model": 10, "d_hidden": 7, "n_layers": 2, "cross_attention": "dot"}
ORDER = {"name": "order", "target": "previous", "length": 5, "vocabulary": 7, "validation_size": 11, "test_size": 13}
PAIRS = {"name": "recall", "pairs": 2, "distance": 3, "validation_size": 11, "test_size": 13}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def run(folder: Path) -> Trained:
    return restore(folder)


def matrices(maps: pd.DataFrame) -> Iterator[tuple[tuple[str, int, int], np.ndarray[Any, Any]]]:
    """Part, layer and head with their weights (Tq, Tk)."""
    for key, data in maps.groupby(["part", "layer", "head"], observed=True):
        yield key, data.pivot(index="query", columns="key", values="weight").to_numpy()  # type: ignore[misc]


def test_there_is_a_row_for_every_weight_of_every_head(run: Trained) -> None:
    maps = attention_of(run, SENTENCE, TARGET)
    found = dict(matrices(maps))
    parts = ["encoder", "decoder", "cross-attention"]
    assert list(found) == [(part, layer, head) for part in parts for layer in (1, 2) for head in (1, 2, 3)]
    for weights in found.values():
        assert weights.shape == (5, 5)
        np.testing.assert_allclose(weights.sum(1), 1, rtol=1e-5)
    assert len(maps) == len(found) * 25
    for part, queries, keys in (
        ("encoder", SOURCE_TOKENS, SOURCE_TOKENS),
        ("decoder", TARGET_TOKENS, TARGET_TOKENS),
        ("cross-attention", TARGET_TOKENS, SOURCE_TOKENS),
    ):
        rows = maps[maps["part"] == part]
        assert list(rows.drop_duplicates("query")["query_token"]) == queries
        assert list(rows.drop_duplicates("key")["key_token"]) == keys
    assert all(np.triu(weights, 1).max() == 0 for (part, *_), weights in found.items() if part == "decoder")
    assert all(np.triu(weights, 1).max() > 0 for (part, *_), weights in found.items() if part != "decoder")


def test_weights_are_those_of_the_formula(run: Trained) -> None:
    """softmax(q k^T / sqrt(K)) of the first layer, worked out from the matrices."""
    model = run.model
    assert isinstance(model, TransformerTranslator)
    stack: Any = model.encoder.stack
    ids = torch.from_numpy(source_ids(run, SENTENCE))[None]
    with torch.no_grad():
        x = stack.position.embed(model.encoder.embedding(ids), 0)  # type: ignore[operator]
        block = stack.layers[0].attention
        x = block.norm(x, None)[0]
        q, k = ((x @ getattr(block.inner, name).weight.T).view(5, 3, 4) for name in ("query", "key"))
        expected = torch.einsum("qhd,khd->hqk", q, k).div(2.0).softmax(-1)
    found = dict(matrices(attention_of(run, SENTENCE, TARGET)))
    for head in (1, 2, 3):
        np.testing.assert_allclose(found["encoder", 1, head], expected[head - 1], atol=1e-6)


def test_a_recurrent_net_shows_what_it_reads_of_the_source(tmp_path: Path) -> None:
    run = restore(trained(tmp_path, model=DOT))
    model: Any = run.model
    source, target = (torch.from_numpy(ids)[None] for ids in (source_ids(run, SENTENCE), target_ids(run, TARGET)))
    with torch.no_grad():
        states, last = model.encoder(source, None)
        hidden = model.bridge(last)
        outputs, _ = model.decoder.layers(model.embedding(target), hidden[0])
        expected = (outputs @ model.decoder.attention.key(states).mT).softmax(-1)[0]
    ((key, weights),) = matrices(attention_of(run, SENTENCE, TARGET))
    assert key == ("cross-attention", 1, 1)
    np.testing.assert_allclose(weights, expected, atol=1e-6)


def test_input_feeding_shows_every_step(tmp_path: Path) -> None:
    run = restore(trained(tmp_path, model={**DOT, "cross_attention": "additive", "input_feeding": True}))
    ((_, weights),) = matrices(attention_of(run, SENTENCE, TARGET))
    assert weights.shape == (5, 5)
    np.testing.assert_allclose(weights.sum(1), 1, rtol=1e-5)
    ((_, shorter),) = matrices(attention_of(run, SENTENCE, "die katzen"))
    np.testing.assert_allclose(shorter, weights[:3], atol=1e-6)  # what comes later changes nothing


@pytest.mark.parametrize("decode", [{}, {"beam": 3}], ids=["greedy", "beam"])
def test_the_target_is_the_runs_own_translation(decode: dict[str, Any], tmp_path: Path) -> None:
    run = restore(trained(tmp_path, decode=decode))
    stream = io.BytesIO(SENTENCE.encode())
    (((_, (translation,)),),) = list(translate(run, stream, run.settings.decode, listed=False))
    own, given = attention_of(run, SENTENCE, None), attention_of(run, SENTENCE, translation.text)
    pd.testing.assert_frame_equal(own, given)


def test_a_decoder_that_reads_no_source_shows_itself_alone(tmp_path: Path) -> None:
    run = restore(trained(tmp_path, model={**MODEL, "cross_attention": "none"}))
    assert {part for (part, *_), _ in matrices(attention_of(run, SENTENCE, TARGET))} == {"decoder"}


@pytest.mark.parametrize(
    ("architecture", "part"), [("encoder", "encoder"), ("decoder", "decoder"), ("lstm", "earlier states")]
)
def test_other_tasks_are_shown_numbers(architecture: str, part: str, tmp_path: Path) -> None:
    model = {**MODEL, "architecture": architecture}
    if architecture == "lstm":
        model = {"architecture": "lstm", "d_model": 6, "n_layers": 1, "cross_attention": "dot"}
    run = restore(trained(tmp_path, task=ORDER, model=model))
    maps = attention_of(run, "3 6  0 3", None)
    found = dict(matrices(maps))
    assert {name for name, *_ in found} == {part}
    assert all(weights.shape == (4, 4) for weights in found.values())
    assert list(maps.drop_duplicates("key")["key_token"]) == ["3", "6", "0", "3"]
    with pytest.raises(DataError, match=f"run {run.file['id']}: target='1': its task order has none"):
        attention_of(run, "3 6", "1")
    for sentence in ("3 7", "3 -1", "3 a", "3,1", "", "3 1²", "9" * 30):
        with pytest.raises(DataError, match=r"must be numbers, 0\.\.6 at each position"):
            attention_of(run, sentence, None)


def test_factors_of_a_position_stand_together(tmp_path: Path) -> None:
    run = restore(trained(tmp_path, task=PAIRS, model={**MODEL, "architecture": "decoder"}))
    maps = attention_of(run, "4,6 3,1 0,3", None)
    assert list(maps.drop_duplicates("key")["key_token"]) == ["4,6", "3,1", "0,3"]
    for sentence in ("4 6", "4,6,1 3,1", "4,99", "99,4"):
        with pytest.raises(DataError, match=r"must be numbers, 0\.\.\d+,0\.\.\d+ at each position"):
            attention_of(run, sentence, None)


def test_a_model_without_attention_is_refused(tmp_path: Path) -> None:
    run = restore(trained(tmp_path, model={**DOT, "cross_attention": "none"}))
    with pytest.raises(ConfigError, match=f"run {run.file['id']}: its model, gru, has no attention"):
        attention_of(run, SENTENCE, None)


def test_a_sequence_longer_than_the_table_of_positions_is_refused(tmp_path: Path) -> None:
    learned = {**MODEL, "position": "learned", "max_length": 30}
    run = restore(trained(tmp_path, model=learned))
    with pytest.raises(DataError, match="41 tokens"):
        attention_of(run, " ".join(["cats"] * 40), None)
    with pytest.raises(DataError, match="31 tokens"):
        attention_of(run, SENTENCE, " ".join(["katzen"] * 30))
    order = restore(trained(tmp_path / "order", task=ORDER, model={**learned, "architecture": "encoder"}))
    with pytest.raises(DataError, match=f"run {order.file['id']}: an input of length 31 is longer"):
        attention_of(order, " ".join(["3"] * 31), None)


def test_the_model_is_left_without_hooks(run: Trained) -> None:
    def hooks(module: nn.Module) -> int:
        return sum(len(part._forward_hooks) for part in module.modules())

    attention_of(run, SENTENCE, TARGET)
    assert hooks(run.model) == 0


def test_two_runs_stand_under_titles_that_tell_them_apart(folder: Path, tmp_path: Path) -> None:
    lstm = trained(tmp_path, model=DOT)
    maps = attention_of_runs([folder, lstm], SENTENCE, TARGET)
    assert list(maps["run"].unique()) == [f"e, base, seed 0 ({place.name[-8:]})" for place in (folder, lstm)]
    assert maps["part"].cat.categories.tolist()[:3] == ["encoder", "decoder", "cross-attention"]
    assert attention_of_runs([folder], SENTENCE, TARGET)["run"].unique().tolist() == ["base"]
    with pytest.raises(ConfigError, match="named twice"):
        attention_of_runs([folder, folder], SENTENCE, TARGET)


def test_a_title_says_no_more_than_it_must(run: Trained) -> None:
    def named(**fields: Any) -> Any:
        return type("Run", (), {"file": {**run.file, **fields}})

    assert titles([named(variant="a"), named(variant="b")]) == ["a", "b"]
    assert titles([named(seed=1), named(seed=2)]) == ["e, base, seed 1", "e, base, seed 2"]
    assert titles([named(id="1"), named(id="2")]) == ["e, base, seed 0 (1)", "e, base, seed 0 (2)"]


def test_pieces_mark_what_goes_on_with_a_word() -> None:
    assert pieces(Words(["ein", "hund"]), [4, 3, 4]) == ["hund", "ein", "hund"]
    vocabulary = Subwords(train(["abab cd", "abab abab", "cd cd"], 12))
    ids = vocabulary.encode(["abab cdab xa"])[0].tolist()
    shown = pieces(vocabulary, ids)
    assert len(shown) == len(ids)
    assert "<unk>" in shown
    known = [name for name in shown if name not in ("<unk>", "▁")]
    assert "".join(known).replace("·", "") == "ababcdaba"
    assert shown[0][0] != "·"
    assert pieces(vocabulary, [START, END, UNKNOWN]) == ["<s>", "</s>", "<unk>"]
