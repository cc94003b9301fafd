"""What a run will take: operations in closed form; seconds from two training steps timed here for each shape.

Seconds are estimated as for a run that has a core (or a GPU) for itself. Beside the steps they hold the validations and
the test, by the batches that these have. One is timed forwards; for translation one is translated and scored too, at
the lengths of its references, for a model that has learnt nothing does not know when to stop: one that never learns it
takes longer than predicted, and one that ends at a target before its steps are done less. What is added for setting up,
for Lightning's loop and for each probe are constants; probes of long sequences and recurrent nets take more.
"""

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import torch
from lightning.fabric.utilities import move_data_to_device
from torch import nn
from torch.optim import Optimizer

from ablations.allocation import keep_freed_memory
from ablations.callbacks import batch_flops
from ablations.study import Settings
from ablations.train import task_shape
from datamodules.base import TaskData
from models.beam import beam_search
from models.build import build_model
from models.decoding import Decodable
from models.greedy import greedy
from models.lit import Module, Translator, make_module
from models.losses import IGNORED, Batch
from models.probes import PROBES
from models.translations import make_translations, translation_scores

SAMPLED = 5  # training batches, spread over the run, whose mean stands for all
TIMED = 2  # steps, after one that is not
START = 0.3  # seconds to start a process, to set up a Trainer and to write the results
LOOP = 1.5e-4  # seconds that Lightning's loop adds to a step
PROBE = 0.4  # seconds that a probe takes in the mean of the shipped studies
PATIENCE = 2.0  # seconds after which it is said what takes so long


def predicted_flops(settings: Settings, data: TaskData[Any]) -> float:
    """Floating-point operations of the training of a run; `data` are set up."""
    batches = _sampled(settings, data)
    flops = sum(batch_flops(settings.model, task_shape(data), batch) for batch in batches)
    return settings.train.steps * flops / len(batches) if batches else 0.0


@dataclass(frozen=True)
class Speed:
    """What was timed for one shape, in seconds for an operation of the closed form (one of a training step)."""

    training: float
    forward: float
    translation: float
    """Search and scores: seconds for a position of the references, padding counted; 0 where nothing is translated."""


class Calibration:
    """Predicts seconds of runs on one kind of device; what has been timed for a shape once is not timed again.

    `shapes`: how many there are in all, for what is said where it takes long.
    """

    def __init__(self, kind: str, shapes: int) -> None:
        self.kind, self.shapes = kind, shapes
        self._known: dict[object, Speed] = {}
        self._began: float | None = time.monotonic()

    def seconds(self, settings: Settings, data: TaskData[Any]) -> float:
        """Wall seconds of a run with a device for itself, without the set-up of its data (`data` are set up)."""
        constant = START + PROBE * sum(name in PROBES for name in settings.measure)
        if not settings.train.steps:
            return constant
        speed = self.speed(settings, data)
        training = predicted_flops(settings, data) * speed.training + settings.train.steps * LOOP
        rounds = -(-settings.train.steps // settings.train.validate_every)  # the last step is followed by one
        validation, test = (_evaluation(settings, data, speed, held) for held in _held(data))
        return constant + (training + rounds * validation + test) / settings.train.devices

    def speed(self, settings: Settings, data: TaskData[Any]) -> Speed:
        """What is timed of a run's shape."""
        key = shape_key(settings, data)
        if key not in self._known:
            self._say_if_long()
            with one_thread():
                self._known[key] = _timed(settings, data, self.kind)
        return self._known[key]

    def _say_if_long(self) -> None:
        if self._began is not None and time.monotonic() - self._began > PATIENCE:
            print(f"timing two training steps of each of {self.shapes} shapes", file=sys.stderr)
            self._began = None


def shape_key(settings: Settings, data: TaskData[Any]) -> object:
    """Equal for settings whose steps take the same time."""
    train = settings.train
    batch = (train.batch_size, train.batch_tokens, train.precision)
    return settings.model, task_shape(data), settings.task, batch, settings.decode


def _sampled(settings: Settings, data: TaskData[Any]) -> list[Batch]:
    steps = settings.train.steps
    indices = {part * steps // SAMPLED for part in range(SAMPLED)} if steps else set()
    return [data.training_batch(index) for index in sorted(indices)]


def _held(data: TaskData[Any]) -> tuple[list[Batch], list[Batch]]:
    """All batches of validation and of test."""
    validation, test = data.val_dataloader(), data.test_dataloader()
    return [b for loader in validation for b in loader], [b for loader in test for b in loader]


def _evaluation(settings: Settings, data: TaskData[Any], speed: Speed, batches: Sequence[Batch]) -> float:
    """Seconds of one evaluation of a split. A contrastive batch goes through the model twice, and is not translated."""
    shape = task_shape(data)
    forward = sum(batch_flops(settings.model, shape, b) * (2 if "wrong" in b else 1) for b in batches) / 3
    positions = sum(batch["targets"].numel() for batch in batches if "wrong" not in batch)
    return forward * speed.forward + positions * speed.translation


def _timed(settings: Settings, data: TaskData[Any], kind: str) -> Speed:
    """Time training steps, a forward pass and, for translation, a translation, with fresh weights of seed 0."""
    model, shape = build_model(settings.model, task_shape(data), 0), task_shape(data)
    module = make_module(model, settings.train, shape, data.detokenise, settings.decode).to(kind)
    steps = [data.training_batch(index) for index in range(1 + TIMED)]
    held = move_data_to_device(_middle(data), kind)
    trained = sum(batch_flops(settings.model, shape, batch) for batch in steps[1:])
    with torch.autocast(kind, torch.bfloat16, enabled=settings.train.precision == "bf16-mixed", cache_enabled=False):
        training = seconds_of_steps(module, steps, kind)
        module.eval()
        with torch.inference_mode():
            module.step(held)
            forward = _clock(kind, lambda: module.step(held))
            translation = _clock(kind, lambda: _translate(module, held)) if isinstance(module, Translator) else 0.0
    operations = batch_flops(settings.model, shape, held) / 3
    return Speed(training / trained, forward / operations, translation / held["targets"].numel())


def _middle(data: TaskData[Any]) -> Batch:
    """A validation batch of middling length: they are in the order of length, where that differs."""
    batches = list(data.val_dataloader()[0])
    return cast(Batch, batches[len(batches) // 2])


def seconds_of_steps(module: Module, batches: Sequence[Batch], kind: str) -> float:
    """Seconds of all but the first, which is a step like the others, but finds nothing prepared."""
    chosen = cast("Mapping[str, Any]", module.configure_optimizers())
    optimiser = cast(Optimizer, chosen["optimizer"])
    module.train()
    _step(module, optimiser, batches[0], kind)

    def work() -> None:
        for batch in batches[1:]:
            _step(module, optimiser, batch, kind)

    return _clock(kind, work)


def _step(module: Module, optimiser: Optimizer, batch: Batch, kind: str) -> None:
    _, loss = module.step(move_data_to_device(batch, kind))
    (loss.objective / loss.tokens).backward()  # type: ignore[no-untyped-call]
    if module.optim.clip:
        nn.utils.clip_grad_norm_(module.parameters(), module.optim.clip)
    optimiser.step()
    optimiser.zero_grad()


def _translate(module: Translator, batch: Batch) -> None:
    """Translate a batch into as many tokens as its references have, and score that."""
    model = cast("Decodable[Any]", module.model)
    counts = (batch["targets"] != IGNORED).sum(1)
    given = (model, batch["source"], batch["source_real"], module.start, module.end, counts)
    if module.search.beam == 1:
        found = greedy(*given)
    else:
        best = beam_search(*given, module.search.beam, module.search.length_penalty)
        found = [hypotheses[0].tokens for hypotheses in best]
    texts = [module.detokenise(tokens) for tokens in found]
    nats = [0.0] * len(texts)
    items = make_translations(batch["sources"], batch["references"], texts, texts, nats, counts.tolist())
    translation_scores(items)


def _clock(kind: str, work: Callable[[], object]) -> float:
    """Seconds that some work takes: the process's own, which other processes do not add to; on a GPU the clock's."""
    if kind == "cpu":
        began = time.process_time()
        work()
        return time.process_time() - began
    torch.cuda.synchronize()
    began = time.perf_counter()
    work()
    torch.cuda.synchronize()
    return time.perf_counter() - began


@contextmanager
def one_thread() -> Iterator[None]:
    """As in training, so that as many runs as there are cores go at a time."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    keep_freed_memory()
    try:
        yield
    finally:
        torch.set_num_threads(threads)
