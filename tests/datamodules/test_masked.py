"""The examples of the docstring by hand, the copies solved from what is in sight, the Bayes levels by plain sums."""

import itertools
import math
import time
from collections import Counter
from typing import Any

import numpy as np
import pytest

from datamodules.base import Batch
from datamodules.errors import DataError
from datamodules.markov import Source
from datamodules.masked import Form, Masked, MaskedConfig

NONE = -100


def _make(*, seed: int = 0, steps: int = 9, batch_size: int = 7, **changes: Any) -> Masked:
    data = Masked(MaskedConfig(**changes), seed=seed, steps=steps, batch_size=batch_size)
    data.setup()
    return data


def _batches(data: Masked) -> dict[str, list[Batch]]:
    loaders = {
        "train": data.train_dataloader(),
        "validation": data.val_dataloader()[0],
        "test": data.test_dataloader()[0],
    }
    return {split: list(loader) for split, loader in loaders.items()}


def _rows(batches: list[Batch], *keys: str) -> list[tuple[list[int], ...]]:
    return [row for batch in batches for row in zip(*(batch[key].tolist() for key in keys), strict=True)]


def _solve(row: list[int], mask: int, form: Form, renamed: list[int]) -> list[int]:
    """The copies, from the inputs and the renaming."""
    side = 1 if form == "copy-right" else -1
    return [renamed[row[i + side]] if token == mask else NONE for i, token in enumerate(row)]


def test_the_examples_of_the_docstring_are_solved_as_it_says() -> None:
    renamed = [*range(1, 16), 0]
    row = [3, 9, 16, 2, 6, 16, 1, 4, 5]
    assert _solve(row, 16, "copy-right", renamed) == [NONE, NONE, 3, NONE, NONE, 2, NONE, NONE, NONE]
    sequence, inputs = [12, 1, 1, 7, 0, 7, 12, 1, 12], [12, 1, 16, 7, 0, 16, 12, 1, 12]
    assert [s if m == 16 else NONE for s, m in zip(sequence, inputs, strict=True)] == [
        *(NONE, NONE, 1, NONE, NONE, 7, NONE, NONE, NONE)
    ]


@pytest.mark.parametrize("form", ["source", "copy-right", "copy-left"])
@pytest.mark.parametrize(("length", "n_masks"), [(24, 7), (9, 2), (11, 3), (13, 3)])
def test_every_third_token_is_hidden_with_both_neighbours_in_sight(form: Form, length: int, n_masks: int) -> None:
    data = _make(form=form, length=length, vocabulary=11, validation_size=19, test_size=53)
    first = Counter[int]()
    for batches in _batches(data).values():
        for inputs, targets in _rows(batches, "inputs", "targets"):
            hidden = [place for place, token in enumerate(inputs) if token == 11]
            assert hidden == list(range(hidden[0], hidden[0] + 3 * n_masks, 3))
            assert hidden[-1] < length - 1
            assert [place for place, target in enumerate(targets) if target != NONE] == hidden
            assert all(0 <= targets[place] < 11 for place in hidden)
            first[hidden[0]] += 1
    assert set(first) == {1, 2, 3}
    assert min(first.values()) > sum(first.values()) / 5
    assert (data.input_sizes, data.output_size, data.chance) == ((12,), 11, 1 / 11)


@pytest.mark.parametrize(("form", "side"), [("copy-right", 1), ("copy-left", -1)])
def test_the_copies_are_solved_from_what_is_in_sight(form: Form, side: int) -> None:
    """By a solver that learns the renaming from a few training batches."""
    data = _make(form=form, length=8, vocabulary=7, validation_size=19, test_size=41)
    found = _batches(data)
    learnt: dict[int, int] = {}
    for inputs, targets in _rows(found["train"], "inputs", "targets"):
        learnt |= {inputs[i + side]: target for i, target in enumerate(targets) if target != NONE}
    renamed = [learnt[token] for token in range(7)]
    assert sorted(renamed) == list(range(7)) != renamed
    for batches in found.values():
        for inputs, targets, distance, places in _rows(batches, "inputs", "targets", "distance", "answer_at"):
            assert targets == _solve(inputs, 7, form, renamed)
            assert distance == [-1 if target == NONE else 1 for target in targets]
            assert places == [-1 if target == NONE else i + side for i, target in enumerate(targets)]
    assert data.references() == {}


def test_the_other_neighbour_says_nothing_in_the_copies() -> None:
    """Each answer is equally likely after each token: 2 * 16,000 answers over 49 cells."""
    data = _make(form="copy-right", length=8, vocabulary=7, test_size=16_000)
    pairs = Counter[tuple[int, int]]()
    for inputs, targets in _rows(_batches(data)["test"], "inputs", "targets"):
        pairs.update((inputs[i - 1], target) for i, target in enumerate(targets) if target != NONE)
    assert len(pairs) == 49
    assert all(abs(count - 32_000 / 49) < 4 * math.sqrt(32_000 / 49) for count in pairs.values())


def test_the_renaming_belongs_to_the_task_and_not_to_the_items() -> None:
    one, other, third = (
        _make(form="copy-left", seed=seed, data_seed=seed, source_seed=source, test_size=5)
        for seed, source in [(0, 3), (1, 3), (0, 4)]
    )
    assert one.renamed.tolist() == other.renamed.tolist()
    assert one.renamed.tolist() != third.renamed.tolist()
    assert _rows(_batches(one)["test"], "inputs") != _rows(_batches(other)["test"], "inputs")


def test_the_default_source_has_the_levels_that_are_known_of_it() -> None:
    """Over all left, hidden and right tokens by their chance."""
    source = Source(16, 0.5, 3)
    p, pi = source.transitions, source.stationary
    loss = accuracy = 0.0
    for left, right in itertools.product(range(16), repeat=2):
        together = [pi[left] * p[left, token] * p[token, right] for token in range(16)]
        loss -= sum(joint * math.log(joint / sum(together)) for joint in together)
        accuracy += max(together)
    assert loss == pytest.approx(0.7437, abs=5e-5)
    assert accuracy == pytest.approx(0.7609, abs=5e-5)


def test_references_against_walking_the_test_items() -> None:
    data = _make(length=11, vocabulary=5, temperature=0.8, source_seed=4, test_size=37)
    p = data.source.transitions.tolist()
    loss, right = Counter[str](), Counter[str]()
    rows = _rows(_batches(data)["test"], "inputs", "targets")
    for inputs, targets in rows:
        for i in (i for i, target in enumerate(targets) if target != NONE):
            both = [p[inputs[i - 1]][token] * p[token][inputs[i + 1]] for token in range(5)]
            for name, weights in {"Bayes, both sides": both, "Bayes, left side": p[inputs[i - 1]]}.items():
                loss[name] -= math.log(weights[targets[i]] / sum(weights))  # type: ignore[assignment]
                right[name] += weights[targets[i]] == max(weights)
    found, answers = data.references(), 3 * 37
    assert len(rows) == 37
    assert found["loss"] == pytest.approx({name: value / answers for name, value in loss.items()}, rel=1e-9)
    assert found["accuracy"] == pytest.approx({name: value / answers for name, value in right.items()}, rel=1e-9)


def test_references_are_near_the_exact_levels_and_quickly_made() -> None:
    """Within four standard errors of 21,000 answers."""
    data = _make()
    assert sum(int((batch["targets"] != NONE).sum()) for batch in data.test_dataloader()[0]) == 21_000
    started = time.process_time()
    found = data.references()
    assert time.process_time() - started < 0.3
    assert found["loss"] == pytest.approx({"Bayes, both sides": 0.7437, "Bayes, left side": 1.4329}, abs=0.035)
    assert found["accuracy"] == pytest.approx({"Bayes, both sides": 0.7609, "Bayes, left side": 0.5246}, abs=0.014)


def test_counting_what_stands_between_two_neighbours_reaches_the_references() -> None:
    """A solver that knows nothing of the source."""
    data = _make(steps=400, batch_size=64, vocabulary=5)
    found = _batches(data)
    counts = np.full((5, 5, 5), 0.1)  # left, right, hidden
    for inputs, targets in _rows(found["train"], "inputs", "targets"):
        for i in (i for i, target in enumerate(targets) if target != NONE):
            counts[inputs[i - 1], inputs[i + 1], targets[i]] += 1
    chances = counts / counts.sum(2, keepdims=True)
    nats, right = [], []
    for inputs, targets in _rows(found["test"], "inputs", "targets"):
        for i in (i for i, target in enumerate(targets) if target != NONE):
            guess = chances[inputs[i - 1], inputs[i + 1]]
            nats.append(-math.log(guess[targets[i]]))
            right.append(guess.argmax() == targets[i])
    levels = data.references()
    assert np.mean(nats) == pytest.approx(levels["loss"]["Bayes, both sides"], abs=0.003)
    assert np.mean(right) == pytest.approx(levels["accuracy"]["Bayes, both sides"], abs=0.003)


def test_the_data_are_a_function_of_the_seeds() -> None:
    small = {"validation_size": 19, "test_size": 23}
    first, again, other = (_batches(_make(seed=seed, **small)) for seed in (0, 0, 1))
    moved = _batches(_make(data_seed=1, **small))
    for split in ("train", "validation", "test"):
        rows = _rows(first[split], "inputs", "targets")
        assert _rows(again[split], "inputs", "targets") == rows
        assert (_rows(other[split], "inputs", "targets") == rows) == (split != "train")
        assert (_rows(moved[split], "inputs", "targets") == rows) == (split == "train")
    assert _make(**small).training_batch(5)["inputs"].equal(first["train"][5]["inputs"])


@pytest.mark.parametrize(
    "changes", [{"length": 9, "vocabulary": 5}, {"form": "copy-right", "length": 8, "vocabulary": 5}]
)
def test_splits_share_no_item(changes: dict[str, Any]) -> None:
    data = _make(steps=300, batch_size=20, validation_size=900, test_size=900, **changes)
    found = {split: _rows(batches, "inputs", "targets") for split, batches in _batches(data).items()}
    items = {split: {str(row) for row in rows} for split, rows in found.items()}
    assert len(items["train"]) < len(found["train"])  # some come twice, so they might have come in two splits
    for one, other in itertools.combinations(items.values(), 2):
        assert not one & other


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"form": "middle"}, "form='middle': choose from source, copy-right, copy-left"),
        ({"length": 4}, "length=4: must be an integer of at least 5"),
        ({"vocabulary": 1}, "vocabulary=1: must be an integer of at least 2"),
        ({"temperature": -1}, "temperature=-1: must be a number above 0"),
        (
            {"form": "copy-left", "temperature": 0.4},
            "temperature=0.4: has no effect with form=copy-left, leave it at 0.5",
        ),
        (
            {"form": "copy-right", "vocabulary": 3, "length": 9},
            "vocabulary=3: must be larger, or the length: 2187 sequences of 7 tokens in sight are too few for splits"
            " that share none, at least 4096 are needed",
        ),
        (
            {"vocabulary": 2, "temperature": 1e9, "length": 11},
            "temperature=1000000000.0: must be higher, or the vocabulary or length: about 2048 likely sequences of 11"
            " tokens are too few for splits that share none, at least 4096 are needed",
        ),
    ],
)
def test_wrong_settings_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError) as caught:
        MaskedConfig(**changes)
    assert str(caught.value) == message
