"""Every value of every component on a GPU: the numbers of the CPU, which the other tests hold to definitions.

B batch, S source length, T length, V vocabulary, L tokens of a translation.
"""

from typing import Any, cast

import pytest
import torch
import torch.nn.functional as F
from lightning.fabric.utilities import move_data_to_device
from torch import Tensor, nn

from models.beam import beam_search
from models.config import ModelConfig
from models.decoding import Decodable
from models.greedy import greedy
from models.linear import WORK, LinearLayer
from models.losses import Batch, TokenLoss, predict, token_loss
from models.optim import OptimConfig, configure
from models.search import length_limit
from tests.gpu.gpus import needs
from tests.models.variants import RECURRENT_VARIANTS, VARIANTS, S, T, batch, built, shape_of

pytestmark = needs(1)

B = 5
START, END = 1, 2
ALL = VARIANTS | RECURRENT_VARIANTS
TRANSLATORS = [name for name, config in ALL.items() if shape_of(config).kind == "translation"]


@pytest.fixture(autouse=True)
def full_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in training: cuDNN's recurrent nets multiply numbers of ten bits unless told otherwise."""
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)


def real(lengths: list[int], longest: int) -> Tensor:
    return torch.arange(longest) < torch.tensor(lengths)[:, None]


def padded(config: ModelConfig) -> Batch:
    """A training batch with padding on every side."""
    tokens = batch(config.architecture, n_rows=B)
    draw = torch.Generator().manual_seed(3)
    there = real([7, 3, 5, 7, 1], T)
    targets = torch.randint(shape_of(config).output_size, (B, T), generator=draw).masked_fill(~there, -100)
    if len(tokens) == 2:
        return {"inputs": tokens[0], "real": there, "targets": targets}
    source_real = real([5, 2, 4, 1, 3], S)
    return {
        "source": tokens[0],
        "source_real": source_real,
        "target": tokens[2],
        "target_real": there,
        "targets": targets,
    }


def backward(model: nn.Module, data: Batch, half: bool = False) -> tuple[Tensor, TokenLoss]:
    """Logits and loss of a batch; the gradient of its mean is left in the parameters."""
    kind = data["targets"].device.type
    with torch.autocast(kind, torch.bfloat16, enabled=half, cache_enabled=False):
        logits = predict(model, data)
        loss = token_loss(logits, data["targets"], smoothing=0.1)
    (loss.objective / loss.tokens).backward()  # type: ignore[no-untyped-call]
    return logits, loss


def gradients(model: nn.Module) -> dict[str, Tensor]:
    return {name: weight.grad.cpu() for name, weight in model.named_parameters() if weight.grad is not None}


def assert_near(found: Tensor, expected: Tensor, share: float, what: str) -> None:
    """Equal up to a share of the whole's size."""
    assert found.isfinite().all(), what
    assert (found.cpu() - expected).norm() <= share * expected.norm() + 1e-7, what


@pytest.mark.parametrize("name", ALL)
def test_logits_and_gradients_are_those_of_the_cpu(name: str) -> None:
    config = ALL[name]
    here, there = built(config), built(config).to("cuda")
    expected, _ = backward(here, padded(config))
    found, _ = backward(there, move_data_to_device(padded(config), "cuda"))
    assert found.device.type == "cuda"
    assert_near(found, expected, 1e-4, "logits")
    wanted = gradients(here)
    assert gradients(there).keys() == wanted.keys()
    for weight, gradient in gradients(there).items():
        assert_near(gradient, wanted[weight], 1e-3, weight)


@pytest.mark.parametrize("name", ALL)
def test_a_step_lowers_the_loss_in_either_precision(name: str) -> None:
    config = ALL[name]
    data = move_data_to_device(padded(config), "cuda")
    for half in (False, True):
        model = built(config).to("cuda")
        chosen = cast("dict[str, Any]", configure(model.parameters(), OptimConfig(lr=1e-3, warmup=0)))
        _, before = backward(model, data, half)
        chosen["optimizer"].step()
        _, after = backward(model, data, half)
        assert all(weight.dtype == torch.float32 and weight.isfinite().all() for weight in model.parameters())
        assert after.objective < before.objective


@pytest.mark.parametrize("name", ALL)
def test_bfloat16_is_near_float32(name: str) -> None:
    config = ALL[name]
    model, data = built(config).to("cuda"), move_data_to_device(padded(config), "cuda")
    _, full = backward(model, data)
    dtypes: list[torch.dtype] = []
    for layers in (module for module in model.modules() if isinstance(module, nn.RNNBase)):
        layers.register_forward_hook(lambda module, inputs, outputs: dtypes.append(outputs[0].data.dtype))
    _, half = backward(model, data, half=True)
    assert half.objective.item() == pytest.approx(full.objective.item(), rel=0.05)
    assert torch.float16 not in dtypes  # cuDNN's choice under autocast, which nobody asked for


def log_probabilities(model: Any, source: Tensor, source_real: Tensor, tokens: list[int]) -> Tensor:
    """Of what follows the start and each of the tokens, (L + 1, V), one step after another, for one source (1, S)."""
    state, rows = model.start(source, source_real), []
    for token in (START, *tokens):
        logits, state = model.step(torch.tensor([token]), state)
        rows.append(logits[0].log_softmax(-1))
    return torch.stack(rows)


@pytest.mark.parametrize("name", TRANSLATORS)
def test_searches_find_what_the_cpu_confirms(name: str) -> None:
    config = ALL[name]
    data = padded(config)
    here, there = built(config).eval(), cast("Decodable[Any]", built(config).to("cuda").eval())
    source, source_real = data["source"].to("cuda"), data["source_real"].to("cuda")
    limits = length_limit(source, source_real)
    likeliest = greedy(there, source, source_real, START, END, limits)
    best = [found[0] for found in beam_search(there, source, source_real, START, END, limits, 3, 1.0)]
    for row, limit in enumerate(limits.tolist()):
        one = slice(row, row + 1)
        for tokens, log_p in ((likeliest[row], None), (best[row].tokens, best[row].log_probability)):
            with torch.inference_mode():
                rows = log_probabilities(here, data["source"][one], data["source_real"][one], tokens)
            chosen = [*tokens, END][:limit]  # at its limit it is cut off without an end
            found = rows[torch.arange(len(chosen)), torch.tensor(chosen)]
            if log_p is None:
                assert (rows[: len(chosen)].amax(-1) - found).max() < 1e-3
            else:
                assert log_p == pytest.approx(found.sum().item(), abs=1e-3)


def test_large_linear_maps_are_left_to_the_gpu() -> None:
    """The CPU's fast path is for tensors of the CPU."""
    layer = LinearLayer(512, 256).to("cuda")
    x = torch.randn(3, 11, 512, device="cuda", requires_grad=True)
    assert x.numel() * 256 >= WORK
    found = layer(x)
    torch.testing.assert_close(found, F.linear(x, layer.weight, layer.bias))
    found.sum().backward()
    assert x.grad is not None
    assert x.grad.device.type == "cuda"
