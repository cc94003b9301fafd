"""The stream of training batches, alone and inside Lightning: order, resume, sanity steps."""

from pathlib import Path
from typing import Any

import lightning as L
import pytest
import torch
from torch import Tensor, nn

from datamodules.base import IGNORE, Batch, BatchLoader, BatchSet, deal, in_rounds, portions, share
from datamodules.errors import DataError
from datamodules.german import German, GermanConfig
from datamodules.order import Order, OrderConfig

CONFIG = OrderConfig(length=5, vocabulary=7, validation_size=11, test_size=3)


def _data(steps: int = 10, seed: int = 0) -> Order:
    return Order(CONFIG, seed=seed, steps=steps, batch_size=3)


class Recorder(L.LightningModule):
    """Keeps the first token of every training batch."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(()))
        self.seen: list[list[list[int]]] = []

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        self.seen.append(batch["inputs"].tolist())
        return self.weight * batch["inputs"].sum()

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        torch.rand(3)  # moves torch's own random state, as a careless model might

    def test_step(self, batch: Batch, batch_idx: int) -> None:
        pass

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.0)


class SaveAt(L.Callback):
    """Saves after a number of steps."""

    def __init__(self, step: int, path: Path) -> None:
        self.step = step
        self.path = path

    def on_train_batch_end(self, trainer: L.Trainer, *_: Any) -> None:
        if trainer.global_step == self.step:
            trainer.save_checkpoint(self.path)


def _trainer(callbacks: list[L.Callback] | None = None, sanity: int = 0) -> L.Trainer:
    return L.Trainer(
        accelerator="cpu",
        max_steps=10,
        val_check_interval=3,
        check_val_every_n_epoch=None,
        num_sanity_val_steps=sanity,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=callbacks,
    )


def _expected(seed: int = 0) -> list[list[list[int]]]:
    return [_data(seed=seed).training_batch(index)["inputs"].tolist() for index in range(10)]


def test_lightning_trains_on_the_batches_in_order_and_tests() -> None:
    module, data, trainer = Recorder(), _data(), _trainer()
    trainer.fit(module, datamodule=data)
    assert module.seen == _expected()
    trainer.test(module, datamodule=data, verbose=False)


@pytest.mark.parametrize("sanity", [0, 2])
@pytest.mark.parametrize("seed", range(5))
def test_sanity_steps_do_not_move_the_training_order(seed: int, sanity: int) -> None:
    module = Recorder()
    _trainer(sanity=sanity).fit(module, datamodule=_data(seed=seed))
    assert module.seen == _expected(seed)


@pytest.mark.parametrize("step", [2, 3, 4])  # validation is after every third
def test_a_resumed_run_goes_on_with_the_next_batch(tmp_path: Path, step: int) -> None:
    path = tmp_path / "run.ckpt"
    _trainer([SaveAt(step, path)]).fit(Recorder(), datamodule=_data())
    module = Recorder()
    _trainer().fit(module, datamodule=_data(), ckpt_path=path, weights_only=True)
    assert module.seen == _expected()[step:]


def test_the_loader_can_be_gone_through_again() -> None:
    loader = _data().train_dataloader()
    assert isinstance(loader, BatchLoader)
    assert [batch["inputs"].tolist() for batch in loader] == _expected()
    assert [batch["inputs"].tolist() for batch in loader] == _expected()
    loader.load_state_dict({"done": 8})
    assert [batch["inputs"].tolist() for batch in loader] == _expected()[8:]
    assert len(loader) == 10
    next(iter(loader))
    assert loader.state_dict() == {"done": 1}
    assert [batch["inputs"].tolist() for batch in loader] == _expected()
    assert loader.state_dict() == {"done": 10}


def test_batch_set_is_a_sequence() -> None:
    batches = BatchSet(3, lambda index: {"index": index})
    assert len(batches) == 3
    assert [batch["index"] for batch in batches] == [0, 1, 2]  # type: ignore[attr-defined]
    with pytest.raises(IndexError):
        batches[3]
    with pytest.raises(IndexError):
        batches[-1]


@pytest.mark.parametrize(
    ("steps", "every", "most", "expected"),
    [
        (10, 10, 4, [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]),
        (10, 3, 2, [[0, 1], [2], [3, 4], [5], [6, 7], [8], [9]]),
        (7, 5, 4, [[0, 1, 2, 3], [4], [5, 6]]),
        (3, 1, 1, [[0], [1], [2]]),
        (0, 1, 4, []),
    ],
)
def test_rounds_have_every_step_once_and_end_where_a_validation_is(
    steps: int, every: int, most: int, expected: list[list[int]]
) -> None:
    assert [list(part) for part in in_rounds(steps, every, most)] == expected


def test_rounds_are_lists_of_the_same_batches() -> None:
    data = _data()
    data.rounds = in_rounds(10, 6, 4)
    loader = data.train_dataloader()
    assert len(loader) == 3
    rounds = [[batch["inputs"].tolist() for batch in part] for part in loader]
    assert rounds == [_expected()[0:4], _expected()[4:6], _expected()[6:10]]
    loader.load_state_dict({"done": 1})
    assert [batch["inputs"].tolist() for batch in next(iter(loader))] == _expected()[4:6]


def test_no_steps_is_no_batch() -> None:
    assert list(_data(steps=0).train_dataloader()) == []


ROWS: Batch = {
    "targets": torch.arange(10).view(5, 2),
    "real": torch.ones(5, 2, dtype=torch.bool),
    "category": list("abcde"),
    "coordinate": "length=2",
}


def test_a_device_has_its_share_of_the_rows() -> None:
    assert share(ROWS, 0, 1) is ROWS
    first, second = (share(ROWS, rank, 2) for rank in range(2))
    assert first["targets"].tolist() == [[0, 1], [4, 5], [8, 9]]
    assert second["targets"].tolist() == [[2, 3], [6, 7]]
    assert second["real"].shape == (2, 2)
    assert (first["category"], second["category"]) == (["a", "c", "e"], ["b", "d"])
    assert second["coordinate"] == "length=2"


def test_a_device_without_a_row_has_one_that_counts_for_nothing() -> None:
    assert share(ROWS, 4, 6)["targets"].tolist() == [[8, 9]]
    spare = share(ROWS, 5, 6)
    assert spare["targets"].tolist() == [[IGNORE, IGNORE]]
    assert spare["idle"]
    assert spare["category"] == ["a"]
    assert ROWS["targets"][0].tolist() == [0, 1]


def test_evaluation_batches_are_dealt_out_in_turn_as_many_to_each() -> None:
    batches: list[Batch] = [{"number": number} for number in range(4)]
    assert deal(batches, 0, 1) == batches
    assert [deal(batches, rank, 3) for rank in range(3)] == [
        [{"number": 0}, {"number": 3}],
        [{"number": 1}, {}],
        [{"number": 2}, {}],
    ]
    assert deal([], 1, 2) == []


def test_the_loaders_of_two_devices_have_all_between_them() -> None:
    class Second:
        global_rank, world_size = 1, 2

    whole, second = _data(), _data()
    second.trainer = Second()  # type: ignore[assignment]
    for data in (whole, second):
        data.setup()
    pairs = list(zip(whole.train_dataloader(), second.train_dataloader(), strict=True))
    assert len(pairs) == 10
    for batch, part in pairs:
        assert part["inputs"].tolist() == batch["inputs"][1::2].tolist()
    resumed = second.train_dataloader()
    resumed.load_state_dict({"done": 8})
    assert [part["inputs"].tolist() for part in resumed] == [part["inputs"].tolist() for _, part in pairs[8:]]
    assert [list(loader) for loader in second.val_dataloader()] == [[{}]]
    assert [len(loader) for loader in second.test_dataloader()] == [len(loader) for loader in whole.test_dataloader()]


def test_setup_makes_the_sets_once() -> None:
    data = _data()
    data.setup("fit")
    first = next(iter(data.val_dataloader()[0]))["inputs"]
    data.setup("test")
    assert next(iter(data.val_dataloader()[0]))["inputs"].data_ptr() == first.data_ptr()


def test_portions() -> None:
    assert portions(10, 2000) == [4, 4, 2]
    assert portions(3, 10_000) == [1, 1, 1]
    assert portions(5, 7) == [5]


def test_text_is_for_translation() -> None:
    with pytest.raises(TypeError, match="Order has no text: its kind is tagging"):
        _data().detokenise([1])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seed": -1}, "seed=-1: must be an integer of at least 0"),
        ({"steps": -1}, "steps=-1: must be an integer of at least 0"),
        ({"batch_size": 0}, "batch_size=0: must be an integer of at least 1"),
        ({"batch_tokens": -1}, "batch_tokens=-1: must be an integer of at least 0"),
        ({"batch_tokens": 1024}, "batch_tokens=1024: must be 0 for kind tagging, use batch_size"),
    ],
)
def test_wrong_settings_of_a_run_are_refused(changes: dict[str, int], message: str) -> None:
    with pytest.raises(DataError) as caught:
        Order(CONFIG, **({"seed": 0, "steps": 1, "batch_size": 1} | changes))
    assert str(caught.value) == message


def test_batches_by_tokens_are_for_translation() -> None:
    German(GermanConfig(), seed=0, steps=1, batch_size=1, batch_tokens=1024)
