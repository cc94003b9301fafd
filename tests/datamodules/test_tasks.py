"""What holds for every task of the table; a new task is picked up by itself once samples.py has settings for it."""

import dataclasses
import hashlib
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import docstring_parser
import jsonargparse
import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader

from datamodules import TASKS
from datamodules.base import Batch, Kind, TaskData
from datamodules.errors import DataError
from datamodules.masked import Masked
from tests.datamodules.samples import ROOT, digest, settings

Make = Callable[..., TaskData[Any]]
EVERY = sorted(TASKS)
GENERATED = sorted(set(TASKS) - {"translation", "text"})
MORE: dict[str, list[dict[str, Any]]] = {
    "recall": [{"pairs": 3, "distance": 8, "distances": (1, 6)}],
    "look-up": [{"form": "cycles"}, {"form": "several", "look_ups": 3}],
    "order": [{"target": "previous", "shortest": 4, "test_lengths": (9,)}],
    "sums": [{"form": "three-token", "modulus": 71, "length": 8}],
    "markov": [{"vocabulary": 5, "temperature": 1.5}],
    "masked": [{"form": "copy-right"}, {"form": "copy-left"}],
    "german": [{"nested": True}],
    "text": [
        {"level": "characters", "lower": True, "context": 2},
        {"level": "subwords", "vocabulary": 60},
        {"agreement": "pairs.tsv", "pairs": 30},
    ],
    "translation": [
        {"subwords": "separate", "vocabulary": 70},
        {"contrastive_validation": "contrasts.tsv", "contrastive_test": ("contrasts.tsv",), "train": ("train", "val")},
        {"deduplicate": True, "drop_overlap": True, "max_ratio": 4.0},
    ],
}
VARIANTS = [(name, changes) for name in EVERY for changes in ({}, *MORE[name])]


def _train(data: TaskData[Any]) -> list[Batch]:
    return list(data.train_dataloader())


def _held(data: TaskData[Any], split: str) -> list[list[Batch]]:
    return [list(loader) for loader in (data.val_dataloader() if split == "validation" else data.test_dataloader())]


def _digests(data: TaskData[Any]) -> dict[str, list[str]]:
    held = {split: [digest(batch) for made in _held(data, split) for batch in made] for split in ("validation", "test")}
    return {"train": [digest(batch) for batch in _train(data)], **held}


def _items(batches: list[Batch]) -> list[str]:
    """The input of every item, padding taken off."""
    found = []
    for batch in batches:
        inputs = batch["source"] if "source" in batch else batch["inputs"]
        real = batch.get("source_real", torch.ones(inputs.shape[:2], dtype=torch.bool))
        found += [str(row[mask].tolist()) for row, mask in zip(inputs, real, strict=True)]
    return found


@pytest.mark.parametrize("name", EVERY)
def test_a_task_says_what_it_is(name: str, corpus: Path) -> None:
    task = TASKS[name]
    assert task.kind in get_args(Kind)
    assert task.headline[0] == "loss"
    for word in ("Example", "Predicted: ", "Chance: ", "Oracle: ", "Distance: "):
        assert word in (task.__doc__ or "")
    config = task.Config(**settings(name, corpus))
    fingerprint = task.fingerprint(config)
    assert fingerprint.startswith(f"{name}-")
    assert len(fingerprint) < 32


@pytest.mark.parametrize("name", EVERY)
def test_settings_survive_writing_and_reading(name: str, corpus: Path) -> None:
    task = TASKS[name]
    for changes in ({}, *MORE[name]):
        config = task.Config(**(settings(name, corpus) | changes))
        assert task.Config(**dataclasses.asdict(config)) == config
        assert task.Config(**json.loads(json.dumps(dataclasses.asdict(config)))) == config
        with pytest.raises(dataclasses.FrozenInstanceError):
            config.data_seed = 1  # type: ignore[misc]


@pytest.mark.parametrize("name", EVERY)
def test_settings_can_be_given_on_the_command_line_and_are_documented(name: str) -> None:
    names = [field.name for field in dataclasses.fields(TASKS[name].Config)]
    assert not [field for field in names if hasattr(jsonargparse.Namespace, field)]
    documented = {
        entry.arg_name: entry.description
        for owner in TASKS[name].Config.__mro__[:-1]
        for entry in docstring_parser.parse_from_object(owner).params
    }
    assert all(documented.get(field) for field in names)


@pytest.mark.parametrize(("name", "changes"), VARIANTS)
def test_batches_have_the_shapes_and_values_agreed_on(make: Make, name: str, changes: dict[str, Any]) -> None:
    data = make(name, **changes)
    held = [batch for split in ("validation", "test") for made in _held(data, split) for batch in made]
    for batch in [*_train(data), *held]:
        CHECKS[data.kind](data, batch)


def _check_tagging(data: TaskData[Any], batch: Batch) -> None:
    keys = set(batch) - {"coordinate"}
    assert keys in ({"inputs", "targets"}, {"inputs", "targets", "distance", "answer_at"})
    assert all(batch[key].dtype == torch.int64 for key in keys)
    shape = batch["inputs"].shape[:2]
    assert batch["inputs"].shape == (shape if len(data.input_sizes) == 1 else (*shape, len(data.input_sizes)))
    answers = shape if data.n_answers == 1 else (*shape, data.n_answers)
    assert all(batch[key].shape == answers for key in keys - {"inputs"})
    columns = batch["inputs"].reshape(-1, len(data.input_sizes))
    for size, column in zip(data.input_sizes, columns.T, strict=True):
        assert column.min() >= 0
        assert column.max() < size
    asked = batch["targets"] != -100
    assert asked.any()
    assert ((batch["targets"][asked] >= 0) & (batch["targets"][asked] < data.output_size)).all()
    if "answer_at" in keys:
        _check_places(data, batch, asked)


def _check_places(data: TaskData[Any], batch: Batch, asked: Tensor) -> None:
    """answer_at says where a token stands that holds the answer, as many positions away as distance says."""
    assert torch.equal(batch["distance"] >= 0, asked)
    assert (batch["distance"][~asked] == -1).all()
    assert torch.equal(batch["answer_at"] >= 0, asked)
    assert (batch["answer_at"][~asked] == -1).all()
    row, here, *_ = asked.nonzero(as_tuple=True)
    at = batch["answer_at"][asked]
    assert torch.equal((here - at).abs(), batch["distance"][asked])
    token = batch["inputs"][row, at]
    if isinstance(data, Masked):  # whose neighbours stand for their answers under other names
        token = torch.from_numpy(data.renamed)[token]
    assert torch.equal(token if token.ndim == 1 else token[:, 1], batch["targets"][asked])


def _check_next_token(data: TaskData[Any], batch: Batch) -> None:
    for side in ("", "wrong_") if "wrong_inputs" in batch else ("",):
        inputs, targets = batch[f"{side}inputs"], batch[f"{side}targets"]
        assert (inputs.dtype, targets.dtype, inputs.shape) == (torch.int64, torch.int64, targets.shape)
        assert data.input_sizes == (data.output_size,)
        assert ((inputs >= 0) & (inputs < data.output_size)).all()
        asked = targets != -100
        assert asked.any(1).all()
        assert ((targets[asked] >= 0) & (targets[asked] < data.output_size)).all()
        real = batch.get(f"{side}real", torch.ones_like(asked))
        assert (real | ~asked).all()
        both = asked[:, :-1] & real[:, 1:]
        assert torch.equal(targets[:, :-1][both], inputs[:, 1:][both])


def _check_translation(data: TaskData[Any], batch: Batch) -> None:
    sides = [("source", data.input_sizes[0]), ("target", data.output_size)]
    if "wrong" in batch:
        sides.append(("wrong", data.output_size))
        assert batch["distance"].shape == (len(batch["source"]),)
        assert len(batch["category"]) == len(batch["source"])
    for side, size in sides:
        ids, real = batch[side], batch[f"{side}_real"]
        assert (ids.dtype, real.dtype, ids.shape) == (torch.int64, torch.bool, real.shape)
        assert ((ids >= 0) & (ids < size)).all()
        assert real[:, 0].all()
        assert (real[:, 1:] <= real[:, :-1]).all()  # padding stands at the end
        assert real.any(0).all()  # and is no longer than it must be
    for side in [side for side, _ in sides[1:]]:
        labels = batch["targets" if side == "target" else "wrong_targets"]
        assert torch.equal(labels >= 0, batch[f"{side}_real"])
        assert (batch[side][:, 0] == data.start).all()
        assert torch.equal(labels[:, :-1][labels[:, 1:] >= 0], batch[side][:, 1:][batch[f"{side}_real"][:, 1:]])
        assert ((labels == data.end).sum(1) == 1).all()


CHECKS = {"tagging": _check_tagging, "next-token": _check_next_token, "translation": _check_translation}


@pytest.mark.parametrize(("name", "changes"), VARIANTS)
def test_data_is_a_function_of_the_seeds(make: Make, name: str, changes: dict[str, Any]) -> None:
    first, again = make(name, **changes), make(name, **changes)
    assert _digests(first) == _digests(again)
    other = _digests(make(name, seed=1, **changes))
    assert other["train"] != _digests(first)["train"]
    assert other["validation"] == _digests(first)["validation"]
    assert other["test"] == _digests(first)["test"]


@pytest.mark.parametrize("name", GENERATED)
def test_the_data_seed_draws_other_items_to_answer(make: Make, name: str) -> None:
    first, other = _digests(make(name)), _digests(make(name, data_seed=1))
    assert first["train"] == other["train"]
    assert not set(first["validation"] + first["test"]) & set(other["validation"] + other["test"])


@pytest.mark.parametrize(("name", "changes"), VARIANTS)
def test_a_batch_is_made_without_the_ones_before(make: Make, name: str, changes: dict[str, Any]) -> None:
    straight = [digest(batch) for batch in _train(make(name, **changes))]
    for index in (12, 5, 0, 11):
        assert digest(make(name, **changes).training_batch(index)) == straight[index]
    assert [digest(batch) for batch in _train(make(name, steps=4, **changes))] == straight[:4]
    assert len(set(straight)) == 13


@pytest.mark.parametrize(("name", "changes"), [pair for pair in VARIANTS if pair[0] in GENERATED])
def test_splits_share_no_item(make: Make, name: str, changes: dict[str, Any]) -> None:
    train, validation, test = set[str](), set[str](), set[str]()
    for seed in range(5):
        data = make(name, seed=seed, data_seed=seed, steps=25, **changes)
        train |= set(_items(_train(data)))
        validation |= {item for made in _held(data, "validation") for item in _items(made)}
        test |= {item for made in _held(data, "test") for item in _items(made)}
    assert len(train) > 50
    assert not train & validation
    assert not train & test
    assert not validation & test


@pytest.mark.parametrize("name", EVERY)
def test_workers_change_neither_items_nor_order(make: Make, name: str) -> None:
    for seed in range(5):
        batches = make(name, seed=seed).train_dataloader().dataset
        alone, shared = (
            [item for batch in DataLoader(batches, batch_size=None, num_workers=workers) for item in _items([batch])]
            for workers in (0, 2)
        )
        assert shared == alone
        if name in ("recall", "order"):
            assert len(set(alone)) == len(alone)


GOLDEN = {
    "markov": ("markov-1", "8183168c37b37fcd"),
    "masked": ("masked-1", "0d256b255a19480a"),
    "sums": ("sums-1", "4a9e32b402b6aa19"),
    "recall": ("recall-1", "d125475363e8d0ae"),
    "look-up": ("look-up-1", "c348e38922340f97"),
    "order": ("order-1", "a28010c6a8ed643e"),
    "german": ("german-1", "4e67d7c7c7571555"),
}


@pytest.mark.parametrize("name", GENERATED)
def test_what_a_version_stands_for_does_not_change(make: Make, name: str) -> None:
    """If this fails, the generator makes other items than before: give it a new version, then the new hash here."""
    found = hashlib.sha256(repr(_digests(make(name))).encode()).hexdigest()[:16]
    assert (TASKS[name].version, found) == GOLDEN[name]


SCRIPT = """
import json, sys
from datamodules import TASKS
from tests.datamodules.samples import digest, settings
found = {}
for name in sorted(TASKS):
    config = TASKS[name].Config(**settings(name, sys.argv[1]))
    data = TASKS[name](config, seed=0, steps=13, batch_size=7)
    data.setup()
    loaders = [data.train_dataloader(), *data.val_dataloader(), *data.test_dataloader()]
    found[name] = [TASKS[name].fingerprint(config), [digest(batch) for loader in loaders for batch in loader]]
print(json.dumps(found))
"""


def test_other_processes_make_the_same_data_and_nothing_is_printed(make: Make, corpus: Path, tmp_path: Path) -> None:
    """Two at once, with different hash seeds and one empty cache for both."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", SCRIPT, str(corpus)],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed, "ABLATIONS_CACHE": str(tmp_path / "shared")},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for seed in ("1", "2")
    ]
    outputs = [process.communicate(timeout=120) for process in processes]
    assert [error for _, error in outputs] == ["", ""]
    expected = {}
    for name in EVERY:
        data = make(name)
        made = [found for split in _digests(data).values() for found in split]
        expected[name] = [TASKS[name].fingerprint(data.config), made]
    assert [json.loads(text) for text, _ in outputs] == [expected, expected]
    assert len(list((tmp_path / "shared" / "subwords").glob("*.model"))) == 1


class Linear(nn.Module):
    """Every target position reads every input token, each by its own weights: knows order, but nothing more."""

    def __init__(self, data: TaskData[Any], length: int) -> None:
        super().__init__()
        self.vocabulary = data.input_sizes[0]
        self.shape = (-1, length, data.output_size)
        self.weight = nn.Linear(length * self.vocabulary, length * data.output_size)

    def forward(self, inputs: Tensor) -> Tensor:
        """(B, T) to (B, T, V)."""
        return self.weight(nn.functional.one_hot(inputs, self.vocabulary).flatten(1).float()).reshape(self.shape)


def _loss_and_accuracy(data: TaskData[Any], *, shuffled: bool) -> tuple[float, float]:
    """On the test set, in nats a target and share of targets, after training on right or on shuffled targets."""
    torch.manual_seed(0)
    test = _held(data, "test")[0]
    model = Linear(data, test[0]["inputs"].shape[1])
    optimiser = torch.optim.Adam(model.parameters(), lr=0.03)
    batches = _train(data)
    for index, batch in enumerate(batches):
        targets = batches[index - 1]["targets"] if shuffled else batch["targets"]  # those of other sequences
        optimiser.zero_grad()
        loss = nn.functional.cross_entropy(model(batch["inputs"]).transpose(1, 2), targets)
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    logits = torch.cat([model(batch["inputs"]).flatten(0, 1) for batch in test])
    targets = torch.cat([batch["targets"].flatten() for batch in test])
    right = (logits.argmax(1) == targets)[targets >= 0].float().mean()
    return nn.functional.cross_entropy(logits, targets).item(), right.item()


@pytest.mark.parametrize(
    ("name", "changes"), [("recall", {"distance": 4, "noise_before": 0}), ("order", {"target": "reverse"})]
)
def test_a_model_of_shuffled_labels_is_no_better_than_chance(make: Make, name: str, changes: dict[str, Any]) -> None:
    """By its loss: with few answers, accuracy is a matter of which of them it happens to prefer."""
    data = make(name, steps=200, batch_size=32, test_size=1500, **changes)
    assert data.chance is not None
    loss, accuracy = _loss_and_accuracy(data, shuffled=False)
    assert (loss < 0.1, accuracy > 0.99) == (True, True)
    loss, accuracy = _loss_and_accuracy(data, shuffled=True)
    assert loss > -math.log(data.chance)
    assert accuracy < data.chance + 0.06


@pytest.mark.parametrize("name", EVERY)
def test_a_wrong_data_seed_is_refused(name: str) -> None:
    with pytest.raises(DataError, match=r"^data_seed=-1: must be an integer of at least 0$"):
        TASKS[name].Config(data_seed=-1)
