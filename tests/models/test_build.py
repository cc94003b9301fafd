import socket
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch.multiprocessing.spawn import spawn
from torch.nn.parallel import DistributedDataParallel

from models.build import ARCHITECTURES, build_model, check
from models.config import RECURRENT, TRANSFORMERS, ConfigError, Kind, ModelConfig, TaskShape
from models.recurrent import RecurrentSequenceModel, RecurrentTranslator
from models.transformer import TransformerSequenceModel, TransformerTranslator
from tests.models import variants

SHAPES: dict[Kind, TaskShape] = {
    "next-token": TaskShape(kind="next-token", input_sizes=(7,), output_size=7),
    "tagging": TaskShape(kind="tagging", input_sizes=(7,), output_size=3),
    "translation": TaskShape(kind="translation", input_sizes=(7,), output_size=5, start=1, end=2),
}

REFUSED: list[tuple[Kind, dict[str, Any], str]] = [
    (
        "next-token",
        {"architecture": "encoder"},
        "architecture='encoder': sees the token to predict, next-token takes decoder, rnn, lstm, gru",
    ),
    ("next-token", {"architecture": "encoder-decoder"}, "architecture='encoder-decoder': reads a source, next-token"),
    ("tagging", {"architecture": "encoder-decoder"}, "architecture='encoder-decoder': reads a source, tagging takes"),
    ("translation", {"architecture": "decoder"}, "architecture='decoder': reads no source, translation takes encoder-"),
    ("translation", {"architecture": "encoder"}, "architecture='encoder': produces no sentence, translation takes"),
    ("tagging", {"tie_embeddings": True}, "tie_embeddings=True: needs a task whose input and output share one vocab"),
    (
        "translation",
        {"architecture": "encoder-decoder", "tie_embeddings": True},
        "tie_embeddings=True: needs a task whose input and output share one vocabulary",
    ),
    ("tagging", {"architecture": "lstm", "bidirectional": False}, "bidirectional=False: tagging has no encoder"),
    ("next-token", {"architecture": "gru", "bidirectional": False}, "bidirectional=False: next-token has no encoder"),
    (
        "tagging",
        {"architecture": "lstm", "cross_attention": "dot", "input_feeding": True},
        "input_feeding=True: only for translation, a model for tagging reads no source",
    ),
]


@pytest.mark.parametrize(("kind", "changes", "message"), REFUSED, ids=lambda part: str(part)[:50])
def test_a_configuration_that_does_not_suit_the_task_is_refused(
    kind: Kind, changes: dict[str, Any], message: str
) -> None:
    config = ModelConfig(**changes)
    for refuse in (lambda: check(config, SHAPES[kind]), lambda: build_model(config, SHAPES[kind], 0)):
        with pytest.raises(ConfigError) as refusal:
            refuse()
        assert str(refusal.value).startswith(message)


@pytest.mark.parametrize("architecture", [*TRANSFORMERS, *RECURRENT])
@pytest.mark.parametrize("kind", SHAPES)
def test_each_task_gets_the_model_of_its_architecture(kind: Kind, architecture: Any) -> None:
    config = ModelConfig(architecture=architecture, d_model=8, n_layers=1)
    if architecture not in ARCHITECTURES[kind]:
        with pytest.raises(ConfigError, match=f"architecture='{architecture}'"):
            build_model(config, SHAPES[kind], 0)
        return
    expected = {
        (True, True): RecurrentTranslator,
        (True, False): RecurrentSequenceModel,
        (False, True): TransformerTranslator,
        (False, False): TransformerSequenceModel,
    }[architecture in RECURRENT, kind == "translation"]
    assert type(build_model(config, SHAPES[kind], 0)) is expected


def device_of_two(rank: int, port: int, folder: Path) -> None:
    """One step of every variant; what went wrong is left in `folder`, a line each."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    wrong = []
    for name, config in (variants.VARIANTS | variants.RECURRENT_VARIANTS).items():
        model = DistributedDataParallel(variants.built(config), find_unused_parameters=False)
        optimiser = torch.optim.AdamW(model.parameters())
        arguments = variants.batch(config.architecture, n_rows=2 + rank)
        model(*arguments).square().mean().backward()
        wrong += [f"{name}: {key} has no gradient" for key, weight in model.named_parameters() if weight.grad is None]
        optimiser.step()
        try:
            model(*arguments)  # only here does it complain of parameters that took no part in the step
        except RuntimeError as error:
            wrong.append(f"{name}: {error}")
    (folder / str(rank)).write_text("\n".join(wrong), encoding="utf-8")
    dist.destroy_process_group()


def test_every_variant_trains_on_two_devices_without_a_search_for_unused_parameters(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    spawn(device_of_two, (port, tmp_path), nprocs=2)  # type: ignore[no-untyped-call]
    assert [(tmp_path / str(rank)).read_text(encoding="utf-8") for rank in range(2)] == ["", ""]
