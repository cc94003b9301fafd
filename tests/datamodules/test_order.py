"""The example of the docstring by hand, and every target found again with plain lists."""

from collections import Counter
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch

from datamodules.base import Batch, TaskData
from datamodules.errors import DataError
from datamodules.order import Order, OrderConfig, Target, bag_oracle

Make = Callable[..., TaskData[Any]]
NONE = -100


def _solve(row: list[int], target: Target, offset: int) -> list[int]:
    match target:
        case "next":
            return [*row[1:], NONE]
        case "previous":
            return [NONE, *row[:-1]]
        case "offset" if offset > 0:
            return [NONE] * offset + row[:-offset]
        case "offset":
            return row[-offset:] + [NONE] * -offset
        case "reverse":
            return list(reversed(row))
        case _:
            return [row[0]] * len(row)


def test_the_example_of_the_docstring_is_solved_as_it_says() -> None:
    row = [7, 2, 9, 2, 4]
    assert _solve(row, "next", 3) == [2, 9, 2, 4, NONE]
    assert _solve(row, "previous", 3) == [NONE, 7, 2, 9, 2]
    assert _solve(row, "offset", 3) == [NONE, NONE, NONE, 7, 2]
    assert _solve(row, "offset", -2) == [9, 2, 4, NONE, NONE]
    assert _solve(row, "reverse", 3) == [4, 2, 9, 2, 7]
    assert _solve(row, "first", 3) == [7, 7, 7, 7, 7]


@pytest.mark.parametrize(
    ("changes", "distance", "answer_at"),
    [
        ({"target": "next"}, [1, 1, 1, 1, 1, -1], [1, 2, 3, 4, 5, -1]),
        ({"target": "previous"}, [-1, 1, 1, 1, 1, 1], [-1, 0, 1, 2, 3, 4]),
        ({"target": "offset", "offset": 2}, [-1, -1, 2, 2, 2, 2], [-1, -1, 0, 1, 2, 3]),
        ({"target": "offset", "offset": -4}, [4, 4, -1, -1, -1, -1], [4, 5, -1, -1, -1, -1]),
        ({"target": "reverse"}, [5, 3, 1, 1, 3, 5], [5, 4, 3, 2, 1, 0]),
        ({"target": "first"}, [0, 1, 2, 3, 4, 5], [0, 0, 0, 0, 0, 0]),
    ],
)
def test_targets_distances_and_places(
    make: Make, changes: dict[str, Any], distance: list[int], answer_at: list[int]
) -> None:
    data = make("order", length=6, **changes)
    loaders = [data.train_dataloader(), *data.val_dataloader(), *data.test_dataloader()]
    for batch in (batch for loader in loaders for batch in loader):
        rows = batch["inputs"].tolist()
        assert batch["targets"].tolist() == [_solve(row, data.config.target, data.config.offset) for row in rows]
        assert batch["distance"].tolist() == [distance] * len(rows)
        assert batch["answer_at"].tolist() == [answer_at] * len(rows)
        assert batch["answer_at"].dtype == batch["inputs"].dtype
        assert "coordinate" not in batch


def test_training_lengths_are_drawn_from_shortest_to_length() -> None:
    data = Order(OrderConfig(target="previous", shortest=4, length=7, vocabulary=11), seed=0, steps=90, batch_size=3)
    lengths = [data.training_batch(index)["inputs"].shape[1] for index in range(90)]
    assert set(lengths) == {4, 5, 6, 7}
    data.setup()
    assert {batch["inputs"].shape[1] for batch in data.val_dataloader()[0]} == {7}


def _extra(data: TaskData[Any]) -> dict[str, list[Batch]]:
    found: dict[str, list[Batch]] = {}
    for batch in data.test_dataloader()[1]:
        found.setdefault(batch["coordinate"], []).append(batch)
    return found


def test_extra_test_sets_count_only_what_lies_beyond_the_training_length(make: Make) -> None:
    data = make("order", target="previous", length=6, test_lengths=(9, 13))
    sets = _extra(data)
    assert list(sets) == ["length=9", "length=13"]
    for name, batches in sets.items():
        length = int(name.removeprefix("length="))
        assert sum(len(batch["inputs"]) for batch in batches) == 23
        for batch in batches:
            rows = batch["inputs"].tolist()
            expected = [[NONE] * 6 + _solve(row, "previous", 3)[6:] for row in rows]
            assert batch["targets"].tolist() == expected
            assert batch["distance"].tolist() == [[-1] * 6 + [1] * (length - 6)] * len(rows)
            assert batch["answer_at"].tolist() == [[-1] * 6 + list(range(5, length - 1))] * len(rows)
    assert len(data.val_dataloader()) == 1
    assert "coordinate" not in next(iter(data.test_dataloader()[0]))


def test_long_sequences_come_in_small_batches() -> None:
    data = Order(OrderConfig(length=3000, test_size=5), seed=0, steps=1, batch_size=1)
    batches = data.evaluation_batches("test")[0]
    assert [len(batch["inputs"]) for batch in batches] == [2, 2, 1]
    assert len({str(row) for batch in batches for row in batch["inputs"].tolist()}) == 5


def test_bag_oracle_by_hand() -> None:
    """Others of each position: {5, 5}, {4, 5}, {4, 5}; the past: {}, {4}, {4, 5}."""
    inputs = np.array([[4, 5, 5]])
    assert bag_oracle(inputs, np.array([[5, 5, NONE]]), causal=False).tolist() == [1, 0.5]
    assert bag_oracle(inputs, np.array([[NONE, 4, 5]]), causal=True).tolist() == [1, 0.5]


@pytest.mark.parametrize("causal", [False, True])
def test_bag_oracle_against_counting_row_by_row(causal: bool) -> None:
    rng = np.random.default_rng(5)
    inputs, targets = rng.integers(3, size=(60, 7)), rng.integers(4, size=(60, 7))
    targets[:, 0] = targets[::3, 4] = NONE
    expected = []
    for row, answers in zip(inputs.tolist(), targets.tolist(), strict=True):
        for here, answer in enumerate(answers):
            if answer != NONE:
                counts = Counter(row[:here] if causal else row[:here] + row[here + 1 :])
                best = [token for token, number in counts.items() if number == max(counts.values())]
                expected.append((answer in best) / len(best))
    assert bag_oracle(inputs, targets, causal=causal).tolist() == pytest.approx(expected)


def _best_of_a_bag(target: Target, offset: int, length: int, vocabulary: int, *, causal: bool) -> float:
    """Accuracy of the best reader that knows its own token and how often each of the others occurs, by enumeration.

    A causal one knows the others before it only, and so how many they are.
    """
    answers: dict[str, Counter[int]] = {}
    for row in product(range(vocabulary), repeat=length):
        for here, answer in enumerate(_solve(list(row), target, offset)):
            if answer != NONE:
                seen = row[:here] if causal else row[:here] + row[here + 1 :]
                answers.setdefault(f"{row[here]} {sorted(seen)}", Counter())[answer] += 1
    return sum(max(found.values()) for found in answers.values()) / sum(found.total() for found in answers.values())


@pytest.mark.parametrize(
    ("target", "offset", "causal", "length"),
    [
        ("next", 3, False, 5),
        ("previous", 3, False, 5),
        ("previous", 3, True, 5),
        ("offset", 2, False, 5),
        ("offset", 2, True, 5),
        ("offset", -2, False, 5),
        ("reverse", 3, False, 6),
    ],
)
def test_bag_oracle_is_the_best_of_all_readers_of_a_bag(target: Target, offset: int, causal: bool, length: int) -> None:
    """On every sequence there is."""
    rows = np.array(list(product(range(3), repeat=length)))
    targets = np.array([_solve(row, target, offset) for row in rows.tolist()])
    best = _best_of_a_bag(target, offset, length, 3, causal=causal)
    assert bag_oracle(rows, targets, causal=causal).mean() == pytest.approx(best)
    assert best > 1 / 3 + 0.05


@pytest.mark.parametrize(("target", "offset", "causal", "length"), [("reverse", 3, False, 5), ("first", 3, False, 5)])
def test_bag_oracle_is_not_the_best_where_a_token_asks_for_itself(
    target: Target, offset: int, causal: bool, length: int
) -> None:
    rows = np.array(list(product(range(3), repeat=length)))
    targets = np.array([_solve(row, target, offset) for row in rows.tolist()])
    best = _best_of_a_bag(target, offset, length, 3, causal=causal)
    assert bag_oracle(rows, targets, causal=causal).mean() < best - 0.01


WHOLE, EARLIER = "bag of tokens", "bag of earlier tokens"


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({"target": "next"}, [WHOLE]),
        ({"target": "previous"}, [WHOLE, EARLIER]),
        ({"target": "offset", "offset": 2}, [WHOLE, EARLIER]),
        ({"target": "offset", "offset": -2}, [WHOLE]),
        ({"target": "reverse"}, [WHOLE]),
        ({"target": "reverse", "length": 7}, []),
        ({"target": "first"}, []),
    ],
)
def test_references_are_the_bags_that_hold_on_the_test_set(
    make: Make, changes: dict[str, Any], names: list[str]
) -> None:
    data = make("order", **changes, test_lengths=(11,), test_size=40)
    assert list(data.references().get("accuracy", {})) == names
    batches = list(data.test_dataloader()[0])
    inputs, targets = (torch.cat([batch[key] for batch in batches]).numpy() for key in ("inputs", "targets"))
    for name, value in data.references().get("accuracy", {}).items():
        assert value == pytest.approx(bag_oracle(inputs, targets, causal=name == EARLIER).mean())


@pytest.mark.parametrize(
    ("target", "name", "level"), [("next", WHOLE, 0.1966), ("reverse", WHOLE, 0.1966), ("previous", EARLIER, 0.327)]
)
def test_references_are_at_the_known_levels(target: Target, name: str, level: float) -> None:
    data = Order(OrderConfig(target=target, test_size=4000), seed=0, steps=1, batch_size=1)
    data.setup()
    assert data.references()["accuracy"][name] == pytest.approx(level, abs=0.005)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"target": "last"}, "target='last': choose from next, previous, offset, reverse, first"),
        ({"target": "next", "offset": 2}, "offset=2: has no effect with target=next, leave it at 3"),
        ({"target": "offset", "offset": 0}, "offset=0: must be an integer other than 0"),
        ({"target": "offset", "offset": -16}, "offset=-16: must be within the shortest length, 16"),
        ({"target": "offset", "offset": 5, "shortest": 5}, "offset=5: must be within the shortest length, 5"),
        ({"length": 1}, "length=1: must be an integer of at least 2"),
        ({"shortest": 17}, "shortest=17: must be at most length=16"),
        ({"test_lengths": (16,)}, "test_lengths=16: must be an integer of at least 17"),
        ({"test_lengths": (32, 32)}, "test_lengths=(32, 32): must differ from one another"),
        (
            {"vocabulary": 2, "length": 11},
            "vocabulary=2: must be larger, or the length: 2048 sequences of 11 tokens are too few for splits that share"
            " none, at least 4096 are needed",
        ),
    ],
)
def test_wrong_settings_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError) as caught:
        OrderConfig(**changes)
    assert str(caught.value) == message
