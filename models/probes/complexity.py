"""How operations, memory and time grow with length: counted where they can be, timed where not.

B batch, T length, H heads, K head width.
"""

import copy
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from models.attention import Attention, watched
from models.losses import Batch, token_loss
from models.masks import Mask
from models.probes.base import Measurement, exact_copy
from models.probes.inputs import sequences, stretched
from models.recurrent import RecurrentSequenceModel, run
from models.transformer import TransformerSequenceModel

OPERATION_LENGTHS = (16, 32, 64)
"""Of `sequential_operations`."""
CORE_LENGTHS = (128, 256, 512, 1024, 2048)
"""Of `core_growth`."""
TIMED_LENGTHS = (32, 64, 128, 256, 512, 1024)
"""Of `seconds`."""
ROUNDS = 3
"""Times that each length is timed, after one that does not count."""

Job = tuple[str, int]
"""Metric and length."""


def step_by_step(model: nn.Module, inputs: Tensor) -> Tensor:
    """Logits of a sequence model for inputs (B, T) or (B, T, F), by the steps that have to wait for one another.

    A recurrent net reads one token at a time, with its state carried on, which is what its fused layer does inside; a
    Transformer has nothing to wait for and takes all at once.
    """
    if not isinstance(model, RecurrentSequenceModel):
        return model(inputs)
    embedded, hidden, states = model.dropout(model.embedding(inputs)), None, []
    for token in embedded.split(1, dim=1):
        state, hidden = run(model.layers, token, hidden)
        states.append(state)
    return model.head(model.readout(model.dropout(model.attention.look_back(torch.cat(states, dim=1)))))


class Operations(TorchDispatchMode):
    """Counts the operations that torch carries out, one after another."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += 1
        return func(*args, **(kwargs or {}))


@torch.no_grad()
def sequential_operations(model: nn.Module, batches: Sequence[Batch]) -> list[Measurement]:
    """operations of a forward pass by length, and operations_per_token: by how many a further token adds to them.

    Of `step_by_step` for one sequence, in double precision, where no recurrent layer is fused. operations_per_token is
    the slope between the two greatest lengths, operations_per_token_range how far the slopes differ: 0 for a straight
    line. What one operation does inside is not counted. Raises ValueError for a translation.
    """
    inputs, exact = sequences(batches[0], "sequential-operations")[:1], exact_copy(model).eval()
    counts = []
    for length in OPERATION_LENGTHS:
        tokens = stretched(inputs, length)
        with Operations() as operations:
            step_by_step(exact, tokens)
        counts.append(operations.count)
    slopes = _slopes(OPERATION_LENGTHS, counts)
    return [
        *(Measurement("operations", f"length={n}", float(c)) for n, c in zip(OPERATION_LENGTHS, counts, strict=True)),
        Measurement("operations_per_token", "", slopes[-1]),
        Measurement("operations_per_token_range", "", max(slopes) - min(slopes)),
    ]


def _slopes(x: Sequence[float], y: Sequence[float]) -> list[float]:
    """Of the straight lines between neighbouring points."""
    return [(y[i + 1] - y[i]) / (x[i + 1] - x[i]) for i in range(len(x) - 1)]


def core_growth(model: nn.Module, batches: Sequence[Batch]) -> list[Measurement]:
    """Floating-point operations and bytes of the attention core by length: from queries, keys and values to their sums.

    Of the kind and the mask of a stack's first layer, for one sequence of random vectors. core_flops and core_bytes:
    written out in plain products; fused_bytes: as the model calls it. Bytes are those kept for the backward pass.
    Softmax attention has T^2 scores, which a fused call does not keep; linear attention without a mask has none. Raises
    ValueError for a model that is no single Transformer stack.
    """
    if not isinstance(model, TransformerSequenceModel):
        raise ValueError("core-growth: needs a model of one Transformer stack")
    copied = copy.deepcopy(model).eval()
    kind, widths = _first_attention(copied, batches[0]["inputs"][:1])
    found = []
    for length in CORE_LENGTHS:
        core = partial(kind, *_vectors(widths, length), _mask(copied, length))
        with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
            plain = saved_bytes(core)
        values = {"core_flops": counter.get_total_flops(), "core_bytes": plain, "fused_bytes": saved_bytes(core)}
        found += [Measurement(metric, f"length={length}", float(value)) for metric, value in values.items()]
    return found


def _first_attention(model: TransformerSequenceModel, inputs: Tensor) -> tuple[Attention, list[tuple[int, int]]]:
    """The first layer's kind of attention, and (H, K) of the queries, keys and values that it gets."""
    calls: list[tuple[Attention, Tensor, Tensor, Tensor, Mask]] = []
    with torch.no_grad(), watched(model, Attention, lambda kind, given, name: calls.append((kind, *given))):
        model(inputs)
    kind, *vectors, _ = calls[0]
    return kind, [(part.shape[1], part.shape[3]) for part in vectors]


def _vectors(widths: Sequence[tuple[int, int]], length: int) -> list[Tensor]:
    draw = torch.Generator().manual_seed(0)
    return [torch.randn(1, heads, length, width, generator=draw).requires_grad_() for heads, width in widths]


@torch.no_grad()
def _mask(model: TransformerSequenceModel, length: int) -> Mask:
    return model.stack.mask(length, length, None, model.stack.position, torch.device("cpu"))


def saved_bytes(compute: Callable[[], Tensor], beside: Iterable[Tensor] = ()) -> int:
    """Bytes that autograd keeps from a computation for its backward pass, shared ones once, those of `beside` not."""
    kept: dict[int, Tensor] = {}

    def keep(tensor: Tensor) -> Tensor:
        kept[tensor.untyped_storage().data_ptr()] = tensor
        return tensor

    with saved_tensors_hooks(keep, lambda tensor: tensor):
        compute()
    owned = {tensor.untyped_storage().data_ptr() for tensor in beside}
    return sum(tensor.untyped_storage().nbytes() for place, tensor in kept.items() if place not in owned)


def seconds(model: nn.Module, batches: Sequence[Batch]) -> list[Measurement]:
    """Time and memory by length, for one sequence: forward_seconds, step_seconds and memory_mib.

    step_seconds: forward pass, loss and backward pass. memory_mib: what the forward pass of a training step keeps for
    the backward pass, in MiB, counted. A recurrent net has stepwise_seconds too, the training step by `step_by_step`,
    one token after another in place of its fused layer. Times are the least of some rounds, the one that other
    processes disturbed least; they depend on the hardware. On the model's device. Raises ValueError for a translation.
    """
    sequences(batches[0], "seconds")
    copied = copy.deepcopy(model)
    device = next(copied.parameters()).device
    jobs: dict[Job, Callable[[], object]] = {}
    found = []
    with torch.random.fork_rng(devices=[]):  # dropout draws
        for length in TIMED_LENGTHS:
            inputs, targets = (stretched(batches[0][name][:1], length).to(device) for name in ("inputs", "targets"))
            kept = saved_bytes(partial(copied.train(), inputs), copied.parameters())
            found.append(Measurement("memory_mib", f"length={length}", kept / 2**20))
            jobs |= {(metric, length): job for metric, job in _jobs(copied, inputs, targets).items()}
        times = {job: min(taken) for job, taken in _timed(jobs, device).items()}
    return found + [Measurement(metric, f"length={length}", time) for (metric, length), time in times.items()]


def _jobs(model: nn.Module, inputs: Tensor, targets: Tensor) -> dict[str, Callable[[], object]]:
    """What is timed, by metric."""
    jobs: dict[str, Callable[[], object]] = {
        "forward_seconds": partial(_forward, model, inputs),
        "step_seconds": partial(_training_step, model, model, inputs, targets),
    }
    if isinstance(model, RecurrentSequenceModel):
        one_by_one = partial(step_by_step, model)
        jobs["stepwise_seconds"] = partial(_training_step, one_by_one, model, inputs, targets)
    return jobs


def _forward(model: nn.Module, inputs: Tensor) -> None:
    with torch.no_grad():
        model.eval()(inputs)


def _training_step(predict: Callable[[Tensor], Tensor], model: nn.Module, inputs: Tensor, targets: Tensor) -> None:
    model.train()
    token_loss(predict(inputs), targets, smoothing=0.0).objective.backward()  # type: ignore[no-untyped-call]
    model.zero_grad()


def _timed(jobs: dict[Job, Callable[[], object]], device: torch.device) -> dict[Job, list[float]]:
    """Seconds of each job in each round, the first of which does not count."""
    taken: dict[Job, list[float]] = {job: [] for job in jobs}
    for counts in (False, *[True] * ROUNDS):
        for job, do in jobs.items():
            _wait(device)
            started = time.perf_counter()
            do()
            _wait(device)
            if counts:
                taken[job].append(time.perf_counter() - started)
    return taken


def _wait(device: torch.device) -> None:
    """Until a GPU has done what it was given."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
