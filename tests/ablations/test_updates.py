"""Update-to-weight ratios against weights kept at every step."""

from typing import Any

import lightning as L
import pytest
import torch
from lightning.pytorch.loggers.logger import Logger
from torch import Tensor

from ablations.updates import UpdateRatios, layers
from datamodules.order import Order, OrderConfig
from models.build import build_model
from models.config import ModelConfig, TaskShape
from models.lit import Tagger
from models.optim import OptimConfig

STEPS, EVERY = 11, 4
TRANSLATION = TaskShape(kind="translation", input_sizes=(7,), output_size=7, shared_vocabulary=True, start=1, end=2)


class Kept(Logger):
    """Everything that is logged, by step."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: dict[int, dict[str, float]] = {}

    name = version = "kept"

    def log_hyperparams(self, *args: Any, **kwargs: Any) -> None:
        """Nothing."""

    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        assert step is not None
        self.rows.setdefault(step, {}).update(metrics)


class Recorder(L.Callback):
    """The module's weights before each step."""

    def __init__(self) -> None:
        self.weights: list[dict[str, Tensor]] = []

    def on_before_optimizer_step(self, trainer: Any, pl_module: L.LightningModule, optimizer: Any) -> None:
        self.weights.append({name: weight.detach().clone() for name, weight in pl_module.named_parameters()})

    def on_train_batch_end(self, trainer: L.Trainer, *args: Any) -> None:
        trainer.should_stop = trainer.global_step >= trainer.max_steps


def trained(rounds: list[range] | None, validate: int, **parts: Any) -> tuple[Kept, Recorder, Tagger]:
    """A tagger after STEPS steps, with all that was logged and every weight on the way."""
    data = Order(OrderConfig(length=5, validation_size=3, test_size=3), seed=0, steps=STEPS, batch_size=3)
    data.rounds = rounds
    data.setup()
    shape = TaskShape(kind="tagging", input_sizes=data.input_sizes, output_size=data.output_size)
    config = ModelConfig(**{"architecture": "encoder", "d_model": 12, "n_heads": 3, **parts})
    optim = OptimConfig(steps=STEPS, warmup=2, lr=1e-2, schedule="constant")
    module, kept, recorder = Tagger(build_model(config, shape, seed=0), optim), Kept(), Recorder()
    trainer = L.Trainer(
        accelerator="cpu",
        max_steps=STEPS,
        logger=kept,
        callbacks=[recorder, UpdateRatios(EVERY, STEPS)],
        val_check_interval=validate,
        check_val_every_n_epoch=None,
        num_sanity_val_steps=0,
        log_every_n_steps=1,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(module, datamodule=data)
    recorder.weights.append({name: weight.detach().clone() for name, weight in module.named_parameters()})
    return kept, recorder, module


def ratio(recorder: Recorder, step: int, *parts: str) -> float:
    """Of the matrices of the layer whose names hold all parts, at a step from 1."""
    before, after = recorder.weights[step - 1], recorder.weights[step]
    names = [name for name in before if before[name].dim() > 1 and all(part in name for part in parts)]
    assert names
    changes = torch.cat([(after[name] - before[name]).flatten() for name in names])
    return (changes.norm() / torch.cat([before[name].flatten() for name in names]).norm()).item()


@pytest.mark.filterwarnings("ignore:.*does not have many workers.*")
@pytest.mark.parametrize("in_rounds", [False, True])
def test_the_last_step_before_each_validation(in_rounds: bool) -> None:
    rounds = [range(2), range(2, 4), range(4, 6), range(6, 8), range(8, 10), range(10, 11)] if in_rounds else None
    kept, recorder, _ = trained(rounds, EVERY // 2 if in_rounds else EVERY)
    found = {
        step: {key: value for key, value in row.items() if "update_ratio" in key} for step, row in kept.rows.items()
    }
    found = {step: row for step, row in found.items() if row}
    assert found == {
        step: {
            f"train/update_ratio@layer={n}": pytest.approx(ratio(recorder, step, f"layers.{n - 1}."), rel=1e-5)
            for n in (1, 2)
        }
        for step in (4, 8, 11)
    }


@pytest.mark.filterwarnings("ignore:.*does not have many workers.*")
def test_layers_of_a_recurrent_net_and_frozen_weights() -> None:
    kept, recorder, module = trained(None, EVERY, architecture="lstm", n_heads=4, n_layers=3)
    row = kept.rows[STEPS]
    for n in (1, 2, 3):
        assert row[f"train/update_ratio@layer={n}"] == pytest.approx(ratio(recorder, STEPS, f"_l{n - 1}"), rel=1e-5)
        assert 1e-6 < row[f"train/update_ratio@layer={n}"] < 1
    watch, trainer = UpdateRatios(1, 1), L.Trainer(accelerator="cpu", logger=kept, enable_checkpointing=False)
    watch.on_before_optimizer_step(trainer, module, torch.optim.SGD(module.parameters(), lr=0.0))
    assert watch.before
    watch.on_validation_start(trainer, module)
    assert not watch.before
    assert set(kept.rows[0].values()) == {0.0}


def test_nothing_is_kept_at_other_steps() -> None:
    model = build_model(ModelConfig(d_model=12), TaskShape(kind="next-token", input_sizes=(7,), output_size=7), 0)
    module = Tagger(model, OptimConfig(steps=9))
    kept, watch = Kept(), UpdateRatios(5, 9)
    trainer = L.Trainer(accelerator="cpu", logger=kept, enable_checkpointing=False)
    watch.on_before_optimizer_step(trainer, module, torch.optim.SGD(module.parameters(), lr=0.0))
    assert not watch.before
    watch.on_validation_start(trainer, module)
    assert not kept.rows


def test_encoder_and_decoder_have_names_of_their_own() -> None:
    for architecture in ("encoder-decoder", "gru"):
        module = L.LightningModule()
        module.model = build_model(ModelConfig(architecture=architecture, d_model=12), TRANSLATION, 0)
        assert set(layers(module)) == {
            f"train/{stack}_update_ratio@layer={n}" for stack in ("encoder", "decoder") for n in (1, 2)
        }
