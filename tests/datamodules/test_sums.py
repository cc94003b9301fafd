"""The examples of the docstring by hand, every sum found again with plain lists, and what a linear reader can do."""

import itertools
import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from datamodules.base import Batch
from datamodules.errors import DataError
from datamodules.sums import Sums, SumsConfig

NONE = -100


def _make(*, seed: int = 0, steps: int = 9, batch_size: int = 7, **changes: Any) -> Sums:
    data = Sums(SumsConfig(**changes), seed=seed, steps=steps, batch_size=batch_size)
    data.setup()
    return data


def _batches(data: Sums) -> dict[str, list[Batch]]:
    loaders = {
        "train": data.train_dataloader(),
        "validation": data.val_dataloader()[0],
        "test": data.test_dataloader()[0],
    }
    return {split: list(loader) for split, loader in loaders.items()}


def _rows(batches: list[Batch], key: str) -> list[Any]:
    return [row for batch in batches for row in batch[key].tolist()]


def _solve(row: list[Any], modulus: int) -> list[int]:
    """From the inputs alone."""
    if isinstance(row[0], list):
        return [divmod(a + b, modulus)[1] for a, b in row]
    a, b, equals = row
    assert equals == modulus
    return [NONE, NONE, divmod(a + b, modulus)[1]]


def test_the_examples_of_the_docstring_are_solved_as_it_says() -> None:
    assert _solve([[3, 9], [15, 1], [8, 8], [0, 5]], 16) == [12, 0, 0, 5]
    assert _solve([9, 12, 16], 16) == [NONE, NONE, 5]


@pytest.mark.parametrize(
    "changes",
    [
        {"modulus": 5, "length": 7, "validation_size": 19, "test_size": 23},
        {"modulus": 7, "length": 1},
        {"form": "three-token", "modulus": 11},
        {"form": "three-token", "modulus": 67, "validation_size": 19, "test_size": 23},
    ],
)
def test_every_sum_is_right(changes: dict[str, Any]) -> None:
    data = _make(**changes)
    token_wise = data.config.form == "token-wise"
    assert data.input_sizes == ((data.config.modulus,) * 2 if token_wise else (data.config.modulus + 1,))
    assert (data.output_size, data.chance) == (data.config.modulus, 1 / data.config.modulus)
    for batches in _batches(data).values():
        rows = _rows(batches, "inputs")
        assert _rows(batches, "targets") == [_solve(row, data.config.modulus) for row in rows]
        assert {tuple(batch) for batch in batches} == {("inputs", "targets")}
        assert all(len(row) == (data.config.length if token_wise else 3) for row in rows)


@pytest.mark.parametrize(
    ("changes", "table"),
    [
        ({"modulus": 13, "length": 1}, [[[a, b]] for a, b in itertools.product(range(13), repeat=2)]),
        ({"form": "three-token", "modulus": 23}, [[a, b, 23] for a, b in itertools.product(range(23), repeat=2)]),
        (
            {"modulus": 3, "length": 3},
            [[[a, b], [c, d], [e, f]] for a, b, c, d, e, f in itertools.product(range(3), repeat=6)],
        ),
    ],
)
def test_a_small_table_is_the_whole_of_every_split(changes: dict[str, Any], table: list[Any]) -> None:
    data = _make(steps=200, batch_size=32, **changes)
    found = _batches(data)
    assert _rows(found["validation"], "inputs") == _rows(found["test"], "inputs") == table
    trained = _rows(found["train"], "inputs")
    assert {str(row) for row in trained} == {str(row) for row in table}
    assert data.notes == (f"sums: exhaustive task, train = test: each split holds all {len(table)} items",)


def test_the_table_depends_on_no_seed_and_the_training_on_its_own() -> None:
    first, other = (_batches(_make(length=1, seed=seed, data_seed=seed)) for seed in (0, 1))
    assert _rows(first["test"], "inputs") == _rows(other["test"], "inputs")
    assert _rows(first["train"], "inputs") != _rows(other["train"], "inputs")
    again = _make(length=1)
    assert again.training_batch(4)["inputs"].tolist() == first["train"][4]["inputs"].tolist()


@pytest.mark.parametrize(
    ("changes", "notes"),
    [
        (
            {"modulus": 5, "length": 3},
            ("sums: splits share no sequence, but the same 25 pairs make up all of them",),
        ),
        ({"modulus": 64, "length": 1}, ()),
        ({"form": "three-token", "modulus": 64}, ()),
    ],
)
def test_splits_of_a_large_task_share_no_item(changes: dict[str, Any], notes: tuple[str, ...]) -> None:
    data = _make(steps=100, validation_size=300, test_size=400, **changes)
    found = {split: {str(row) for row in _rows(batches, "inputs")} for split, batches in _batches(data).items()}
    assert min(map(len, found.values())) > 200
    for one, other in itertools.combinations(found.values(), 2):
        assert not one & other
    assert data.notes == notes


def test_by_default_there_are_20_000_answers_in_the_test() -> None:
    targets = _rows(_make().evaluation_batches("test")[0], "targets")
    assert sum(len(row) for row in targets) == 20_480
    assert len({str(row) for row in targets}) == 2560


def _best(features: Tensor, targets: Tensor, classes: int) -> float:
    """Loss of the best linear reader of features (N, D), from random weights."""
    torch.manual_seed(0)
    model = nn.Linear(features.shape[1], classes).double()
    nn.init.normal_(model.weight)
    optimiser = torch.optim.LBFGS(model.parameters(), max_iter=200, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimiser.zero_grad()
        value = nn.functional.cross_entropy(model(features), targets)
        value.backward()  # type: ignore[no-untyped-call]
        return value

    optimiser.step(loss)  # type: ignore[no-untyped-call]
    return loss().item()


def test_a_linear_reader_of_a_token_is_no_better_than_chance() -> None:
    """With one feature for each pair in place of one for each number, it is: the table is not at fault."""
    data = _make(modulus=7, length=1)
    (batch,) = data.evaluation_batches("test")[0]
    numbers = batch["inputs"][:, 0]
    features = nn.functional.one_hot(numbers, 7).double().flatten(1)
    pairs = nn.functional.one_hot(numbers @ torch.tensor([7, 1]), 49).double()
    assert _best(features, batch["targets"][:, 0], 7) == pytest.approx(math.log(7), abs=1e-6)
    assert _best(pairs, batch["targets"][:, 0], 7) < 0.01


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"form": "xor"}, "form='xor': choose from token-wise, three-token"),
        ({"modulus": 1}, "modulus=1: must be an integer of at least 2"),
        ({"length": 0}, "length=0: must be an integer of at least 1"),
        (
            {"form": "three-token", "length": 3},
            "length=3: has no effect with form=three-token, leave it at 8",
        ),
        (
            {"length": 1, "test_size": 256},
            "test_size=256: has no effect, the set is the table of all 256 items, leave it at 2560",
        ),
        (
            {"form": "three-token", "modulus": 23, "validation_size": 7},
            "validation_size=7: has no effect, the set is the table of all 529 items, leave it at 512",
        ),
    ],
)
def test_wrong_settings_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError) as caught:
        SumsConfig(**changes)
    assert str(caught.value) == message
