"""One example by hand, rules for every token, and the answers found again by plain loops."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from datamodules.base import Batch, TaskData
from datamodules.errors import DataError
from datamodules.recall import Recall, RecallConfig

Make = Callable[..., TaskData[Any]]


def _all_batches(data: TaskData[Any]) -> list[Batch]:
    loaders = [data.train_dataloader(), *data.val_dataloader(), *data.test_dataloader()]
    return [batch for loader in loaders for batch in loader]


def _solve_marked(row: list[int], symbols: int) -> tuple[int, int]:
    """Answer and distance of a row with one marked symbol."""
    marked = [(token, place) for place, token in enumerate(row) if token < symbols]
    assert len(marked) == 1
    return marked[0][0], len(row) - 1 - marked[0][1]


def _solve_paired(row: list[list[int]]) -> tuple[int, int]:
    """Answer and distance of a row of pairs."""
    asked = row[-1][0]
    found = [(value, place) for place, (key, value) in enumerate(row[:-1]) if key == asked]
    assert len(found) == 1
    return found[0][0], len(row) - 1 - found[0][1]


def _check_answers(batch: Batch, solved: list[tuple[int, int]]) -> None:
    assert batch["targets"][:, -1].tolist() == [answer for answer, _ in solved]
    assert batch["distance"][:, -1].tolist() == [distance for _, distance in solved]
    last = batch["inputs"].shape[1] - 1
    assert batch["answer_at"][:, -1].tolist() == [last - distance for _, distance in solved]
    assert (batch["answer_at"][:, :-1] == -1).all()
    assert (batch["targets"][:, :-1] == -100).all()
    assert (batch["distance"][:, :-1] == -1).all()


def test_a_batch_looks_like_the_example() -> None:
    data = Recall(RecallConfig(distance=4, noise_before=0), seed=0, steps=1, batch_size=3)
    batch = data.training_batch(0)
    inputs = batch["inputs"]
    assert inputs.shape == (3, 5)
    assert inputs.dtype == torch.int64
    assert ((inputs[:, 0] >= 0) & (inputs[:, 0] < 8)).all()
    assert ((inputs[:, 1:4] >= 8) & (inputs[:, 1:4] < 16)).all()
    assert (inputs[:, 4] == 16).all()
    assert torch.equal(batch["targets"], torch.cat([torch.full((3, 4), -100), inputs[:, :1]], 1))
    assert batch["distance"].tolist() == [[-1, -1, -1, -1, 4]] * 3
    assert batch["answer_at"].tolist() == [[-1, -1, -1, -1, 0]] * 3
    assert all(value.dtype == torch.int64 for value in batch.values())
    assert (data.input_sizes, data.output_size, data.chance) == ((17,), 8, 0.125)


@pytest.mark.parametrize("changes", [{"distance": 4}, {"distance": 1}, {"distances": (3, 9), "symbols": 5, "noise": 3}])
def test_a_loop_solves_every_marked_token(make: Make, changes: dict[str, Any]) -> None:
    data = make("recall", **({"distance": 8} | changes))
    symbols, noise = data.config.symbols, data.config.noise
    for batch in _all_batches(data):
        rows = batch["inputs"].tolist()
        _check_answers(batch, [_solve_marked(row, symbols) for row in rows])
        assert all(row[-1] == symbols + noise and max(row[:-1]) < symbols + noise for row in rows)
        assert set(batch["distance"][:, -1].tolist()) <= set(data.config.distances or (data.config.distance,))


@pytest.mark.parametrize(
    "changes", [{"pairs": 4, "noise": 4}, {"pairs": 8, "n_keys": 32, "symbols": 16, "distance": 1}]
)
def test_a_loop_solves_every_pair(make: Make, changes: dict[str, Any]) -> None:
    data = make("recall", noise_before=2, **changes)
    config = data.config
    assert data.input_sizes == (config.n_keys + config.noise, config.symbols + 1)
    for batch in _all_batches(data):
        rows = batch["inputs"].tolist()
        _check_answers(batch, [_solve_paired(row) for row in rows])
        for row in rows:
            keys = [key for key, _ in row[:-1] if key < config.n_keys]
            assert len(keys) == len(set(keys)) == config.pairs
            assert row[-1][1] == config.symbols
            assert max(key for key, _ in row) < config.n_keys + config.noise
            assert max(value for _, value in row[:-1]) < config.symbols


def test_every_pair_is_asked_for_and_every_distance_is_exact() -> None:
    data = Recall(RecallConfig(pairs=3, distance=4, noise_before=0), seed=0, steps=1, batch_size=300)
    batch = data.training_batch(0)
    assert batch["inputs"].shape == (300, 7, 2)
    assert set(batch["distance"][:, -1].tolist()) == {4, 5, 6}


def test_noise_in_front_and_distance_are_the_same_within_a_batch_and_all_occur() -> None:
    data = Recall(RecallConfig(distances=(4, 9)), seed=0, steps=200, batch_size=2)
    lengths = [data.training_batch(index)["inputs"].shape[1] for index in range(200)]
    assert set(lengths) == {before + 1 + distance for before in range(8) for distance in (4, 9)}


def test_evaluation_has_as_many_items_of_every_distance_and_number_of_noise_tokens(make: Make) -> None:
    data = make("recall", distance=8, distances=(4, 9), validation_size=16, test_size=35)
    for loader, size in ((data.val_dataloader()[0], 16), (data.test_dataloader()[0], 35)):
        counts: dict[tuple[int, int], int] = {}
        for batch in loader:
            place = (int(batch["distance"][0, -1]), batch["inputs"].shape[1])
            counts[place] = counts.get(place, 0) + len(batch["inputs"])
        assert sum(number for (distance, _), number in counts.items() if distance == 4) == size
        assert sum(counts.values()) == 2 * size
        assert len(counts) == 16
        assert len({str(row) for batch in loader for row in batch["inputs"].tolist()}) == 2 * size
        assert max(counts.values()) - min(counts.values()) <= 1


def test_answers_are_equally_likely() -> None:
    data = Recall(RecallConfig(distance=4), seed=0, steps=1, batch_size=8000)
    shares = np.bincount(data.training_batch(0)["targets"][:, -1].numpy()) / 8000
    assert np.abs(shares - 0.125).max() < 0.015


def test_short_distances_get_more_noise_in_front() -> None:
    """Distance 1 without noise would leave 8 sequences for three splits."""
    data = Recall(RecallConfig(distance=1, noise_before=0), seed=0, steps=1, batch_size=5)
    assert data.training_batch(0)["inputs"].shape == (5, 5)
    data = Recall(RecallConfig(distance=4, noise_before=0), seed=0, steps=1, batch_size=5)
    assert data.training_batch(0)["inputs"].shape == (5, 5)


@pytest.mark.parametrize(
    "changes",
    [{"distances": (1, 2, 5, 11), "length": 19}, {"pairs": 3, "distances": (1, 9), "length": 13, "noise": 3}],
)
def test_with_a_length_all_sequences_are_as_long_and_the_distance_is_kept(make: Make, changes: dict[str, Any]) -> None:
    data = make("recall", **({"distance": 8} | changes), steps=40)
    pairs = data.config.pairs
    batches = _all_batches(data)
    assert {batch["inputs"].shape[1] for batch in batches} == {changes["length"]}
    for batch in batches:
        rows = batch["inputs"].tolist()
        _check_answers(batch, [_solve_paired(row) if pairs > 1 else _solve_marked(row, 8) for row in rows])
    found = {distance for batch in batches for distance in batch["distance"][:, -1].tolist()}
    assert found == {distance + before for distance in changes["distances"] for before in range(pairs)}
    for loader, size in ((data.val_dataloader()[0], 19), (data.test_dataloader()[0], 23)):
        assert sum(len(batch["inputs"]) for batch in loader) == size * len(changes["distances"])


def test_long_sequences_come_in_small_batches() -> None:
    data = Recall(RecallConfig(length=3000, test_size=5), seed=0, steps=1, batch_size=1)
    assert [len(batch["inputs"]) for batch in data.evaluation_batches("test")[0]] == [2, 2, 1]


def test_values_without_keys_are_counted_on_the_whole_test_set(make: Make) -> None:
    changes: dict[str, Any] = {"pairs": 4, "noise": 3, "symbols": 5, "distances": (1, 6), "noise_before": 2}
    data = make("recall", distance=8, test_size=60, **changes)
    chances = []
    for batch in data.test_dataloader()[0]:
        for row, targets in zip(batch["inputs"].tolist(), batch["targets"].tolist(), strict=True):
            counts = Counter(value for key, value in row[:-1] if key < 16)
            best = [value for value, number in counts.items() if number == max(counts.values())]
            chances.append((targets[-1] in best) / len(best))
    assert len(chances) == 120
    assert data.references() == {"accuracy": {"values without keys": pytest.approx(np.mean(chances))}}


def test_values_without_keys_are_at_the_known_level_of_four_pairs(make: Make) -> None:
    data = make("recall", pairs=4, distance=3, noise=4, noise_before=0, test_size=20_000)
    assert data.references()["accuracy"]["values without keys"] == pytest.approx(0.4125, abs=0.008)


def test_a_single_marked_token_has_no_reference_but_chance(make: Make) -> None:
    assert make("recall").references() == {}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"distance": 0}, "distance=0: must be an integer of at least 1"),
        ({"distance": True}, "distance=True: must be an integer of at least 1"),
        ({"distances": (4, 0)}, "distances=0: must be an integer of at least 1"),
        ({"distances": (4, 4)}, "distances=(4, 4): must differ from one another"),
        ({"distances": (4,), "distance": 3}, "distance=3: has no effect with distances, leave it at 8"),
        ({"n_keys": 3}, "n_keys=3: has no effect with pairs=1, leave it at 16"),
        ({"pairs": 17}, "n_keys=16: must be an integer of at least 17"),
        ({"symbols": 1}, "symbols=1: must be an integer of at least 2"),
        ({"noise": 1}, "noise=1: must be an integer of at least 2"),
        ({"noise_before": -1}, "noise_before=-1: must be an integer of at least 0"),
        ({"length": 12, "noise_before": 3}, "noise_before=3: has no effect with length, leave it at 7"),
        ({"length": 8}, "length=8: must be an integer of at least 9"),
        ({"length": True}, "length=True: must be an integer of at least 9"),
        ({"length": 4, "distance": 1}, "length=4: must be an integer of at least 5"),
        ({"length": 20, "distances": (4, 20)}, "length=20: must be an integer of at least 21"),
        ({"length": 20, "pairs": 5, "distance": 16}, "length=20: must be an integer of at least 21"),
        ({"test_size": 0}, "test_size=0: must be an integer of at least 1"),
        ({"data_seed": -1}, "data_seed=-1: must be an integer of at least 0"),
    ],
)
def test_wrong_settings_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError) as caught:
        RecallConfig(**changes)
    assert str(caught.value) == message
