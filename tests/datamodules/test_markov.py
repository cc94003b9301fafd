"""The source against plain sums over its chances, against counting, and against the figures it is known by."""

import itertools
import math
import time
from typing import Any, cast

import numpy as np
import pytest
import torch

from datamodules.base import Batch
from datamodules.errors import DataError
from datamodules.markov import Markov, MarkovConfig, Source
from datamodules.splits import Integers


def _make(*, seed: int = 0, steps: int = 9, batch_size: int = 7, **changes: Any) -> Markov:
    data = Markov(MarkovConfig(**changes), seed=seed, steps=steps, batch_size=batch_size)
    data.setup()
    return data


def _batches(data: Markov) -> dict[str, list[Batch]]:
    loaders = {
        "train": data.train_dataloader(),
        "validation": data.val_dataloader()[0],
        "test": data.test_dataloader()[0],
    }
    return {split: list(loader) for split, loader in loaders.items()}


def _sequences(batches: list[Batch]) -> Integers:
    """Whole sequences (N, T + 1)."""
    return np.concatenate([np.hstack([batch["inputs"], batch["targets"][:, -1:]]) for batch in batches])


def test_the_default_source_has_the_levels_that_are_known_of_it() -> None:
    source = Source(16, 0.5, 3)
    assert source.entropy_rate == pytest.approx(1.4329, abs=5e-5)
    assert source.unigram_entropy == pytest.approx(2.4985, abs=5e-5)
    assert source.stationary @ source.transitions.max(1) == pytest.approx(0.5246, abs=5e-5)
    plain = torch.softmax(2 * torch.randn(16, 16, generator=torch.Generator().manual_seed(3)), -1)
    assert source.transitions == pytest.approx(plain.numpy(), abs=2e-5)


def test_entropies_against_plain_sums() -> None:
    """The stationary chances by walking the chain; the entropies term by term."""
    source = Source(5, 0.7, 11)
    chances = [1.0, 0.0, 0.0, 0.0, 0.0]
    for _ in range(200):
        chances = [sum(chances[i] * source.transitions[i, j] for i in range(5)) for j in range(5)]
    assert source.stationary == pytest.approx(chances, abs=1e-12)
    assert source.transitions.sum(1) == pytest.approx(np.ones(5), abs=1e-12)
    rate = -sum(
        chances[i] * source.transitions[i, j] * math.log(source.transitions[i, j])
        for i, j in itertools.product(range(5), repeat=2)
    )
    assert source.entropy_rate == pytest.approx(rate, rel=1e-9)
    assert source.unigram_entropy == pytest.approx(-sum(p * math.log(p) for p in chances), rel=1e-9)


def test_what_stands_between_two_neighbours_against_every_sequence_by_its_chance() -> None:
    """Of all sequences of 5 tokens: the third, given the four others, depends on two of them."""
    source = Source(3, 0.6, 2)
    for first, left, right, last in itertools.product(range(3), repeat=4):
        weights = []
        for token in range(3):
            row = (first, left, token, right, last)
            steps = math.prod(source.transitions[a, b] for a, b in itertools.pairwise(row))
            weights.append(source.stationary[first] * steps)
        found = source.between(np.array([left]), np.array([right]))
        assert found[0] == pytest.approx([weight / sum(weights) for weight in weights], rel=1e-9)


def test_sequences_are_drawn_with_the_chances_of_the_source() -> None:
    """First and last place by the stationary chances, every step by the row of the token before."""
    source = Source(5, 0.7, 11)
    tokens = source.sequences(np.random.default_rng(0), 40_000, 4)
    for place in (0, 3):
        assert np.bincount(tokens[:, place]) / 40_000 == pytest.approx(source.stationary, abs=0.01)
    for place in range(3):
        counts = np.zeros((5, 5))
        np.add.at(counts, (tokens[:, place], tokens[:, place + 1]), 1)
        assert counts / counts.sum(1, keepdims=True) == pytest.approx(source.transitions, abs=0.025)


class _Extreme:
    """In place of a generator: the smallest or the largest number that it can give."""

    def __init__(self, value: float) -> None:
        self.value = value

    def random(self, shape: tuple[int, ...]) -> Any:
        return np.full(shape, self.value)


def test_no_random_number_leads_out_of_the_vocabulary() -> None:
    source = Source(5, 0.7, 11)
    for value, token in [(0.0, 0), (np.nextafter(1, 0), 4)]:
        tokens = source.sequences(cast("np.random.Generator", _Extreme(value)), 2, 3)
        assert tokens.tolist() == [[token] * 3] * 2


def test_the_example_of_the_docstring() -> None:
    sequence = [12, 1, 1, 7, 0, 7]
    assert (sequence[:-1], sequence[1:]) == ([12, 1, 1, 7, 0], [1, 1, 7, 0, 7])


def test_targets_are_the_tokens_read_next() -> None:
    data = _make(length=9, vocabulary=7, validation_size=19, test_size=23)
    found = _batches(data)
    for batches in found.values():
        for batch in batches:
            assert tuple(batch) == ("inputs", "targets")
            assert batch["inputs"].shape == batch["targets"].shape == (len(batch["inputs"]), 9)
            assert batch["inputs"][:, 1:].equal(batch["targets"][:, :-1])
    assert [len(_sequences(found[split])) for split in ("train", "validation", "test")] == [63, 19, 23]
    assert (data.input_sizes, data.output_size, data.chance) == ((7,), 7, 1 / 7)


def test_the_data_are_a_function_of_the_seeds() -> None:
    small = {"validation_size": 19, "test_size": 23}
    first, again, other = (_batches(_make(seed=seed, **small)) for seed in (0, 0, 1))
    moved = _batches(_make(data_seed=1, **small))
    for split in ("train", "validation", "test"):
        rows = _sequences(first[split]).tolist()
        assert _sequences(again[split]).tolist() == rows
        assert (_sequences(other[split]).tolist() == rows) == (split != "train")
        assert (_sequences(moved[split]).tolist() == rows) == (split == "train")
    assert _make(**small).training_batch(5)["inputs"].equal(first["train"][5]["inputs"])


def test_splits_share_no_sequence() -> None:
    """Of a source that makes about 5,000 likely ones."""
    data = _make(length=8, vocabulary=5, steps=300, batch_size=20, validation_size=900, test_size=900)
    found = {split: {str(row) for row in _sequences(batches).tolist()} for split, batches in _batches(data).items()}
    assert len(found["train"]) < 5500  # some come twice, so they might have come in two splits
    for one, other in itertools.combinations(found.values(), 2):
        assert not one & other


def test_references_against_walking_the_test_items() -> None:
    data = _make(length=6, vocabulary=7, temperature=0.8, source_seed=4, test_size=37)
    p, pi = data.source.transitions.tolist(), data.source.stationary.tolist()
    nats, unigram, last, right, answers = 0.0, 0.0, 0.0, 0, 0
    for row in _sequences(_batches(data)["test"]).tolist():
        for before, token in itertools.pairwise(row):
            nats -= math.log(p[before][token])
            unigram -= math.log(pi[token])
            right += p[before][token] == max(p[before])
            answers += 1
        last -= math.log(p[row[-2]][row[-1]])
    assert answers == 37 * 6
    expected = {
        "entropy rate": nats / answers,
        "unigram entropy": unigram / answers,
        "floor with the future in sight": last / answers,
    }
    found = data.references()
    assert set(found) == {"loss", "accuracy"}
    assert found["loss"] == pytest.approx(expected, rel=1e-9)
    assert found["accuracy"] == pytest.approx({"Bayes, left side": right / answers}, rel=1e-9)


def test_references_are_near_the_exact_levels_and_quickly_made() -> None:
    """Within four standard errors of 32,768 answers."""
    data = _make()
    assert sum(batch["targets"].numel() for batch in data.test_dataloader()[0]) == 32_768
    started = time.process_time()
    found = data.references()
    assert time.process_time() - started < 0.3
    assert found["loss"]["entropy rate"] == pytest.approx(1.4329, abs=0.028)
    assert found["loss"]["unigram entropy"] == pytest.approx(2.4985, abs=0.024)
    assert found["loss"]["floor with the future in sight"] == pytest.approx(1.4329 / 32, abs=0.005)
    assert found["accuracy"]["Bayes, left side"] == pytest.approx(0.5246, abs=0.012)


def test_counting_successors_in_training_reaches_the_references() -> None:
    """A solver that knows nothing of the source."""
    data = _make(steps=150, batch_size=64)
    counts = np.full((16, 16), 0.1)
    found = _batches(data)
    train, test = _sequences(found["train"]), _sequences(found["test"])
    np.add.at(counts, (train[:, :-1], train[:, 1:]), 1)
    chances = counts / counts.sum(1, keepdims=True)
    levels = data.references()
    loss = -np.log(chances[test[:, :-1], test[:, 1:]]).mean()
    assert loss == pytest.approx(levels["loss"]["entropy rate"], abs=0.003)
    right = (chances.argmax(1)[test[:, :-1]] == test[:, 1:]).mean()
    assert right == pytest.approx(levels["accuracy"]["Bayes, left side"], abs=0.003)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"length": 0}, "length=0: must be an integer of at least 1"),
        ({"vocabulary": 1}, "vocabulary=1: must be an integer of at least 2"),
        ({"source_seed": -1}, "source_seed=-1: must be an integer of at least 0"),
        ({"temperature": 0.0}, "temperature=0.0: must be a number above 0"),
        ({"temperature": math.inf}, "temperature=inf: must be a number above 0"),
        ({"temperature": True}, "temperature=True: must be a number above 0"),
        ({"test_size": 0}, "test_size=0: must be an integer of at least 1"),
        (
            {"temperature": 0.001},
            "temperature=0.001: must be higher, or the vocabulary or length: about {} likely sequences of 33 tokens are"
            " too few for splits that share none, at least 4096 are needed",
        ),
        (
            {"vocabulary": 2, "temperature": 1e9, "length": 10},
            "temperature=1000000000.0: must be higher, or the vocabulary or length: about 2048 likely sequences of 11"
            " tokens are too few for splits that share none, at least 4096 are needed",
        ),
    ],
)
def test_wrong_settings_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError) as caught:
        MarkovConfig(**changes)
    before, _, after = message.partition("{}")
    assert str(caught.value).startswith(before)
    assert str(caught.value).endswith(after)


def test_a_coin_that_is_tossed_more_often_is_accepted() -> None:
    assert _make(vocabulary=2, temperature=1e9, length=12, test_size=3).source.entropy_rate == pytest.approx(
        math.log(2)
    )
