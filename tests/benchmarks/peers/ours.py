"""This project: trained by plain steps and by its Trainer, and its own search."""

import warnings
from pathlib import Path
from typing import Any, cast

import lightning as L
import torch
from torch import Tensor, nn

from ablations.allocation import keep_freed_memory
from ablations.callbacks import Stopwatch
from datamodules.base import BatchLoader, BatchSet
from models.build import build_model
from models.config import ModelConfig, TaskShape
from models.decoding import Decodable, DecodeConfig
from models.lit import make_module
from models.losses import Batch, predict, token_loss
from models.optim import OptimConfig
from models.search import decode
from tests.benchmarks.peers.prepared import BEAM, LENGTH_PENALTY, Prepared, Sizes, load
from tests.benchmarks.peers.protocol import Round, Rounds, serve, timed, timed_outputs
from tests.benchmarks.peers.training import optimiser, parameters, tensors

STATE = "ours.pt"  # in the prepared folder: the trained weights under our own names


def start(folder: Path) -> tuple[str, Rounds]:
    """One model to train by steps, one to train by the Trainer, one with the trained weights to translate."""
    torch.set_num_threads(1)
    keep_freed_memory()  # as in every run
    warnings.filterwarnings("ignore", ".*does not have many workers.*|.*LeafSpec.*")
    prepared = load(folder)
    batches = training_batches(prepared)
    stepped, looped, translator = (new_model(prepared.sizes) for _ in range(3))
    translator.load_state_dict(torch.load(folder / STATE, weights_only=True))
    translator.eval()
    optim = optimiser(stepped, prepared.sizes)
    beam = DecodeConfig(beam=BEAM, length_penalty=LENGTH_PENALTY)
    return f"torch {torch.__version__}, {parameters(stepped)}", {
        "training": lambda: timed(lambda: train(stepped, optim, batches, prepared.sizes)),
        "loop": lambda: fit(looped, batches, prepared.sizes),
        "greedy": lambda: timed_outputs(lambda: translate(translator, prepared, DecodeConfig())),
        "beam": lambda: timed_outputs(lambda: translate(translator, prepared, beam)),
    }


def model_config(sizes: Sizes) -> ModelConfig:
    """The architecture that all systems have."""
    return ModelConfig(
        architecture="encoder-decoder",
        d_model=sizes.d_model,
        n_layers=sizes.n_layers,
        n_heads=sizes.n_heads,
        d_ff=sizes.d_ff,
        dropout=sizes.dropout,
    )


def task_shape(sizes: Sizes) -> TaskShape:
    """One vocabulary for both languages."""
    return TaskShape(
        kind="translation",
        input_sizes=(sizes.vocabulary,),
        output_size=sizes.vocabulary,
        shared_vocabulary=True,
        start=sizes.start,
        end=sizes.end,
    )


def new_model(sizes: Sizes) -> nn.Module:
    """With its first weights."""
    return build_model(model_config(sizes), task_shape(sizes), seed=0)


def training_batches(prepared: Prepared) -> list[Batch]:
    """As a datamodule yields them."""
    batches = []
    for batch in prepared.training:
        source, real, target, labels = tensors(batch, prepared.sizes)
        batches.append({"source": source, "source_real": real, "target": target, "targets": labels})
        batches[-1]["target_real"] = target != prepared.sizes.pad
    return batches


def train(model: nn.Module, optim: torch.optim.Optimizer, batches: list[Batch], sizes: Sizes) -> int:
    """The steps of models.lit without Lightning."""
    model.train()
    tokens = 0
    for batch in batches:
        loss = token_loss(predict(model, batch), batch["targets"], sizes.label_smoothing)
        (loss.objective / loss.tokens).backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), sizes.clip)
        optim.step()
        optim.zero_grad()
        tokens += int(loss.tokens)
    return tokens


def fit(model: nn.Module, batches: list[Batch], sizes: Sizes) -> Round:
    """The same steps by the Trainer, as `ablations run` takes them; seconds as it counts them itself."""
    optim = OptimConfig(
        steps=len(batches),
        lr=sizes.lr,
        warmup=0,
        schedule="constant",
        weight_decay=sizes.weight_decay,
        beta2=sizes.beta2,
        clip=sizes.clip,
        label_smoothing=sizes.label_smoothing,
    )
    module = make_module(model, optim, task_shape(sizes), str, DecodeConfig())
    stopwatch = Stopwatch(model_config(sizes), task_shape(sizes))
    trainer = L.Trainer(
        accelerator="cpu",
        devices=1,
        max_steps=len(batches),
        callbacks=[stopwatch],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(module, BatchLoader(BatchSet(len(batches), batches.__getitem__)))
    return Round(stopwatch.busy, stopwatch.tokens)


def translate(model: nn.Module, prepared: Prepared, search: DecodeConfig) -> list[list[int]]:
    """All sentences, batch by batch."""
    sizes, outputs = prepared.sizes, []
    for array in prepared.sentences:
        source: Tensor = torch.from_numpy(array)
        decodable = cast("Decodable[Any]", model)
        outputs += decode(decodable, source, source != sizes.pad, sizes.start, sizes.end, search)
    return outputs


if __name__ == "__main__":
    serve(start)
