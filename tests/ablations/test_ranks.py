"""Runs on several devices, under real Trainers on two CPU ranks: the numbers of one device, and no waiting for ever."""

import os
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, cast

import lightning as L
import pytest
import torch
from lightning.fabric.utilities.rank_zero import rank_zero_only
from lightning.pytorch.strategies import SingleDeviceStrategy
from torch import Tensor, nn

from ablations.load import make_study
from ablations.ranks import Place, any_rank, check, gather, noise_seed, total, trainer_options
from datamodules import parallel
from datamodules.base import Batch, BatchLoader, Held, TaskConfig, TaskData
from datamodules.german import German, GermanConfig
from datamodules.order import Order, OrderConfig
from models.build import build_model
from models.config import ConfigError, ModelConfig, TaskShape
from models.decoding import DecodeConfig
from models.lit import Diverged, Module, Tagger, Translator, make_module
from models.optim import OptimConfig
from models.translations import translation_rows
from tests.together import begin, end, together

STEPS = 4
OPTIM = OptimConfig(steps=STEPS, warmup=2, lr=0.01, label_smoothing=0.1)


class Counting(TaskData[TaskConfig]):
    """The next number, modulo 11. Three batches in the main set of a split, and an extra set of one."""

    kind = "next-token"
    version = "1"
    input_sizes = (11,)
    output_size = 11

    def training_batch(self, index: int) -> Batch:
        draw = torch.Generator().manual_seed(index)
        tokens = (torch.randint(11, (self.batch_size, 1), generator=draw) + torch.arange(7)) % 11
        return {"inputs": tokens[:, :-1], "targets": tokens[:, 1:]}

    def evaluation_batches(self, split: Held) -> list[list[Batch]]:
        return [
            [self.training_batch(1000 + i) for i in range(3)],
            [self.training_batch(7) | {"coordinate": "length=6"}],
        ]


def data_of(kind: str, batch_size: int) -> TaskData[Any]:
    training = {"seed": 1, "steps": STEPS, "batch_size": batch_size}
    match kind:
        case "tagging":
            return Order(OrderConfig(length=5, vocabulary=7, validation_size=11, test_size=3), **training)
        case "next-token":
            return Counting(TaskConfig(), **training)
        case _:
            parallel.SENTENCES_A_BATCH = 2  # batches of 2, 2, 2 and 1
            return German(GermanConfig(validation_size=5, test_size=7, contrast_size=9), **training)


def module_of(data: TaskData[Any], dropout: float = 0.0) -> Module:
    data.setup()
    shape = TaskShape(
        kind=data.kind, input_sizes=data.input_sizes, output_size=data.output_size, start=data.start, end=data.end
    )
    architecture: Any = "encoder-decoder" if data.kind == "translation" else "decoder"
    config = ModelConfig(architecture=architecture, d_model=12, n_heads=3, n_layers=1, dropout=dropout)
    return make_module(build_model(config, shape, seed=0), OPTIM, shape, data.detokenise, DecodeConfig())


def trainer(place: Place, **options: Any) -> L.Trainer:
    quiet: dict[str, Any] = {
        "logger": False,
        "enable_checkpointing": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
    }
    schedule: dict[str, Any] = {
        "max_steps": STEPS,
        "val_check_interval": 2,
        "check_val_every_n_epoch": None,
        "log_every_n_steps": 1,
    }
    return L.Trainer(**trainer_options(place), **quiet, **(schedule | {"num_sanity_val_steps": 0} | options))


class Rows(L.Callback):
    """The training loss that was logged last, after each step."""

    def __init__(self) -> None:
        self.rows: list[dict[str, float]] = []

    def on_train_batch_end(self, trainer: L.Trainer, module: L.LightningModule, *_: Any) -> None:
        loss = cast(Module, module).last_loss
        self.rows.append({} if loss is None else {"loss": loss})


def fit_and_test(place: Place, kind: str, batch_size: int = 5) -> dict[str, Any]:
    data, log = data_of(kind, batch_size), Rows()
    module = module_of(data)
    made = trainer(place, callbacks=[log])
    made.fit(module, datamodule=data)
    made.test(module, datamodule=data, verbose=False)
    found = {
        "training": log.rows,
        "test": {name: value.item() for name, value in made.callback_metrics.items()},
        "items": module.evaluation.items(),
        "weights": {name: weight.detach() for name, weight in module.model.named_parameters()},
    }
    if isinstance(module, Translator):
        found["translations"] = {at: translation_rows(rows) for at, rows in module.evaluation.translations.items()}
        found["contrasts"] = {at: [asdict(row) for row in rows] for at, rows in module.evaluation.contrasts.items()}
    return found


def assert_alike(found: Any, expected: Any) -> None:
    """Equal but for what float32 rounds: the order of everything included."""
    match expected:
        case dict():
            assert list(found) == list(expected)
            for name in expected:
                assert_alike(found[name], expected[name])
        case list():
            assert len(found) == len(expected)
            for one, other in zip(found, expected, strict=True):
                assert_alike(one, other)
        case float():
            assert found == pytest.approx(expected, rel=1e-5)
        case Tensor():
            torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
        case _:
            assert found == expected


@pytest.mark.parametrize("kind", ["tagging", "next-token", "translation"])
def test_two_devices_give_what_one_gives(kind: str, tmp_path: Path) -> None:
    """HB-09: 5 rows a batch; test sets of 1 batch, of 3 and 1, and of 4 batches of 7 sentences and 5 of 9 contrasts."""
    (one,) = together(tmp_path / "one", 1, fit_and_test, kind)
    first, second = together(tmp_path / "two", 2, fit_and_test, kind)
    assert len(one["training"]) == STEPS
    assert_alike(first, one)
    assert first["test"] == second["test"]
    assert first["items"] == second["items"]
    if kind == "translation":
        assert len(one["translations"][""]) == 7
        assert len(one["contrasts"][""]) == 9


def test_a_device_without_a_row_keeps_step_with_the_others(tmp_path: Path) -> None:
    """Three devices, two rows."""
    (one,) = together(tmp_path / "one", 1, fit_and_test, "next-token", 2)
    first, _, third = together(tmp_path / "three", 3, fit_and_test, "next-token", 2)
    assert_alike(first, one)
    assert third["test"] == first["test"]


class Broken(nn.Module):
    """Its loss is infinite where the first token of a row is 6."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.zeros(11, 11))

    def forward(self, inputs: Tensor, real: Tensor | None) -> Tensor:
        return self.table[inputs].masked_fill(inputs[:, :1, None] == 6, torch.inf)


class OneBadRow(Counting):
    """Rows begin with 1 and 2; in the third batch with 1 and 6."""

    def training_batch(self, index: int) -> Batch:
        tokens = torch.tensor([[1], [6 if index == 2 else 2]]) + torch.arange(3)
        return {"inputs": tokens[:, :-1], "targets": tokens[:, 1:]}


def diverge(place: Place) -> int:
    data = OneBadRow(TaskConfig(), seed=0, steps=STEPS, batch_size=2)
    try:
        trainer(place, limit_val_batches=0).fit(Tagger(Broken(), OPTIM), datamodule=data)
    except Diverged as diverged:
        return diverged.step
    return 0


def test_a_loss_that_is_not_finite_on_one_device_ends_all_at_its_step(tmp_path: Path) -> None:
    assert together(tmp_path, 2, diverge) == [3, 3]


def resume(place: Place, folder: Path) -> tuple[list[int], bool]:
    """Batches done when a run was saved after its third step, and whether going on gives the weights of a whole one."""
    whole, half, resumed = ((data_of("tagging", 5), module_of(data_of("tagging", 5))) for _ in range(3))
    options: dict[str, Any] = {"limit_val_batches": 0, "log_every_n_steps": 2}
    log, log_resumed = Rows(), Rows()
    trainer(place, callbacks=[log], **options).fit(whole[1], datamodule=whole[0])
    stopped = trainer(place, max_steps=3, **options)
    stopped.fit(half[1], datamodule=half[0])
    loader = stopped.train_dataloader
    assert isinstance(loader, BatchLoader)
    stopped.save_checkpoint(folder / "third.ckpt")
    made = trainer(place, callbacks=[log_resumed], **options)
    made.fit(resumed[1], datamodule=resumed[0], ckpt_path=folder / "third.ckpt", weights_only=True)
    pairs = zip(whole[1].parameters(), resumed[1].parameters(), strict=True)
    assert log_resumed.rows == log.rows[3:]
    return gather(loader.state_dict()["done"]), all(torch.equal(*pair) for pair in pairs)


def test_a_run_on_two_devices_goes_on_from_a_checkpoint(tmp_path: Path) -> None:
    """Also what train/loss is the mean of: the log goes on with steps 3 and 4, of all devices."""
    assert together(tmp_path, 2, resume, tmp_path) == [([3, 3], True)] * 2


def meet(place: Place) -> tuple[float, int]:
    """A run that is in the middle of training for as long as others take to start."""
    data = data_of("next-token", 5)
    made = trainer(place, max_steps=STEPS)
    made.fit(module_of(data), datamodule=data)
    return total(place.rank + 1), made.global_step


def test_two_runs_on_two_devices_at_the_same_time_do_not_mix(tmp_path: Path) -> None:
    """HB-33."""
    started = {name: begin(tmp_path / name, 2, meet) for name in ("a", "b")}
    assert [end(tmp_path / name, processes) for name, processes in started.items()] == [[(3.0, STEPS)] * 2] * 2


def listening(place: Place) -> tuple[set[str], str]:
    """Addresses, in hexadecimal, at which this process waits for others, and the interface that it was told."""
    files = {os.readlink(path) for path in Path("/proc/self/fd").iterdir() if path.is_symlink()}
    lines = [line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()]
    found = {words[1].partition(":")[0] for words in lines if words[3] == "0A" and f"socket:[{words[9]}]" in files}
    return found, os.environ["GLOO_SOCKET_IFNAME"]


def talk(place: Place) -> dict[str, Any]:
    torch.manual_seed(noise_seed(3, place))
    return {
        "total": total(0.25 + place.rank),
        "mine": any_rank(place.rank == 1),
        "nobody": any_rank(False),
        "gather": gather({"rank": place.rank}),
        "noise": nn.functional.dropout(torch.ones(50), 0.5).tolist(),
    }


def test_ranks_hear_of_each_other_and_draw_other_noise(tmp_path: Path) -> None:
    first, second = together(tmp_path, 2, talk)
    alone = talk(Place())
    assert first["noise"] == alone.pop("noise")
    assert first.pop("noise") != second.pop("noise")
    assert first == second
    assert first == {"total": 1.5, "mine": True, "nobody": False, "gather": [{"rank": 0}, {"rank": 1}]}
    assert alone == {"total": 0.25, "mine": False, "nobody": False, "gather": [{"rank": 0}]}


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_nothing_listens_beyond_the_loopback(tmp_path: Path) -> None:
    assert together(tmp_path, 2, listening) == [({"0100007F"}, "lo")] * 2


def test_seeds_of_noise_are_apart() -> None:
    seeds = [noise_seed(seed, Place(rank=rank, ranks=4)) for seed in range(4) for rank in range(4)]
    assert len(set(seeds)) == 16
    assert seeds[::4] == [0, 1, 2, 3]


def test_variables_of_a_scheduler_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """HB-34. Lightning by itself refuses the number of tasks, and keeps silent on a process above 0."""
    stray = {"SLURM_NTASKS": "3", "SLURM_JOB_NAME": "night", "SLURM_PROCID": "2", "LOCAL_RANK": "1", "WORLD_SIZE": "3"}
    for name, value in stray.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(rank_zero_only, "rank", 2)
    with pytest.raises(RuntimeError, match="ntasks"):
        L.Trainer(accelerator="cpu", devices=1, logger=False)
    for name in ("TORCHELASTIC_RUN_ID", "GROUP_RANK", "RANK", "LOCAL_WORLD_SIZE"):
        monkeypatch.setenv(name, "1")
    made = trainer(Place())
    assert (made.world_size, made.global_rank, getattr(rank_zero_only, "rank")) == (1, 0, 0)  # noqa: B009
    assert isinstance(made.strategy, SingleDeviceStrategy)
    data = data_of("next-token", 3)
    made.fit(module_of(data), datamodule=data)
    assert made.global_step == STEPS


@pytest.mark.parametrize(
    ("model", "train", "message"),
    [
        ({"norm": "batch"}, {}, "must be 1 with model.norm='batch', whose statistics are of the whole batch"),
        ({}, {"batch_size": 1}, "must be at most train.batch_size=1"),
        ({}, {"steps": 0}, "must be 1 with train.steps=0, which trains nothing"),
    ],
)
def test_what_several_devices_cannot_do_is_refused(
    model: dict[str, Any], train: dict[str, Any], message: str, tiny: dict[str, Any]
) -> None:
    experiment = tiny["experiments"]["copy"]
    experiment["model"] |= model
    experiment["train"] |= train
    experiment["measure"] = ["gradient-norm"]
    settings = make_study(tiny).runs()[0].settings
    check(settings)
    two = replace(settings, train=replace(settings.train, devices=2))
    with pytest.raises(ConfigError) as refusal:
        check(two)
    assert str(refusal.value) == f"train.devices=2: {message}"


def test_two_devices_suit_the_rest(tiny: dict[str, Any]) -> None:
    settings = make_study(tiny).runs()[0].settings
    check(replace(settings, train=replace(settings.train, devices=2)))
    check(replace(settings, train=replace(settings.train, devices=2, batch_tokens=9, batch_size=None)))
