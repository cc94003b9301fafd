"""Cross-entropy against torch's own and against values worked out by hand."""

import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.losses import log_probability, predict, token_loss


def random_case(*shape: int, classes: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(3)
    logits = torch.randn(*shape, classes, dtype=torch.float64, generator=generator)
    targets = torch.randint(classes, shape, generator=generator)
    targets.view(-1)[::3] = -100
    return logits, targets


def gradient(value: Tensor, of: Tensor) -> Tensor:
    (result,) = torch.autograd.grad(value, of)
    return result


def test_smoothing_leaves_padding_out() -> None:
    """HB-08. Softmax of (2, 0, 0): log p = -0.239544 on the target, -2.239544 beside it; 0.8 + 0.2 / 3, 2 * 0.2 / 3."""
    logits = torch.tensor([[2.0, 0, 0], [0, 2, 0], [9, 9, -9]])
    loss = token_loss(logits, torch.tensor([0, 1, -100]), 0.2)
    assert (loss.objective / loss.tokens).item() == pytest.approx(0.506212, abs=1e-6)
    assert loss.nats.tolist() == pytest.approx([math.log(math.e**2 + 2) - 2] * 2 + [0.0], abs=1e-6)
    assert loss.tokens.item() == 2


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.7])
def test_loss_and_gradient_are_those_of_torch(smoothing: float) -> None:
    logits, targets = random_case(3, 5, classes=7)
    ours, theirs = logits.clone().requires_grad_(), logits.clone().requires_grad_()
    loss = token_loss(ours, targets, smoothing)
    reference = F.cross_entropy(theirs.flatten(0, 1), targets.flatten(), label_smoothing=smoothing)
    torch.testing.assert_close(loss.objective / loss.tokens, reference)
    torch.testing.assert_close(gradient(loss.objective / loss.tokens * 1.7, ours), gradient(reference * 1.7, theirs))
    plain = F.cross_entropy(logits.transpose(1, 2), targets, reduction="none")
    torch.testing.assert_close(loss.nats, plain)
    assert not loss.nats.requires_grad


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
def test_gradient_is_the_derivative(smoothing: float) -> None:
    logits, targets = random_case(2, 3, classes=5)
    assert torch.autograd.gradcheck(lambda x: token_loss(x, targets, smoothing).objective, (logits.requires_grad_(),))


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_only_ignored_targets_give_nothing_and_no_nan(smoothing: float) -> None:
    """HB-08."""
    logits = torch.full((2, 3, 5), math.inf).requires_grad_()
    loss = token_loss(logits, torch.full((2, 3), -100), smoothing)
    assert not gradient(loss.objective / loss.tokens.clamp(min=1), logits).any()
    assert (loss.objective.item(), loss.nats.tolist(), loss.tokens.item()) == (0.0, [[0.0] * 3] * 2, 0)


def test_half_precision_is_summed_in_single() -> None:
    logits, targets = random_case(11, 13, classes=17)
    half = logits.bfloat16().requires_grad_()
    loss = token_loss(half, targets, 0.1)
    assert loss.objective.dtype == torch.float32
    torch.testing.assert_close(loss.objective, token_loss(half.detach().float(), targets, 0.1).objective)
    assert gradient(loss.objective, half).dtype == torch.bfloat16


def test_sums_of_parts_are_the_sum_of_the_whole() -> None:
    """HB-07: micro-batches of 10 and 100 tokens, one loss over all tokens, and the gradient of the joint batch."""
    torch.manual_seed(0)
    model = nn.Linear(4, 6).double()
    inputs = torch.randn(110, 4, dtype=torch.float64)
    targets = torch.randint(6, (110,))
    whole = token_loss(model(inputs), targets, 0.1)
    expected = gradient(whole.objective / whole.tokens, model.weight)
    parts = [token_loss(model(inputs[part]), targets[part], 0.1) for part in (slice(10), slice(10, None))]
    tokens = parts[0].tokens + parts[1].tokens
    accumulated = sum((gradient(part.objective / tokens, model.weight) for part in parts), torch.zeros(6, 4))
    torch.testing.assert_close(accumulated, expected, rtol=0, atol=1e-12)


def test_micro_batches_weigh_by_their_tokens() -> None:
    """HB-07: 10 tokens of mean loss 1.0 and 100 of 2.0: 1.9091 a token, not the mean of means, 1.5."""
    nats, tokens = torch.zeros(()), torch.zeros(())
    for size, mean in ((10, 1.0), (100, 2.0)):
        logits = torch.tensor([0.0, math.log(math.expm1(mean))]).expand(size, 2)
        part = token_loss(logits, torch.zeros(size, dtype=torch.long), 0.0)
        nats, tokens = nats + part.nats.sum(), tokens + part.tokens
    assert (nats / tokens).item() == pytest.approx(1.9091, abs=5e-5)


def test_a_target_out_of_range_is_an_error() -> None:
    with pytest.raises((IndexError, RuntimeError)):
        token_loss(torch.zeros(2, 3), torch.tensor([0, -1]), 0.0)
    with pytest.raises((IndexError, RuntimeError)):
        token_loss(torch.zeros(2, 3), torch.tensor([0, 3]), 0.0)


def test_log_probability_multiplies_the_probabilities_of_a_sentence() -> None:
    probabilities = torch.tensor([[[0.5, 0.3, 0.2], [0.1, 0.8, 0.1]], [[0.25, 0.25, 0.5], [0.6, 0.3, 0.1]]])
    scores = log_probability(probabilities.log(), torch.tensor([[0, 1], [2, -100]]))
    assert scores.tolist() == pytest.approx([math.log(0.5 * 0.8), math.log(0.5)])


def test_predict_gives_each_kind_of_model_its_inputs() -> None:
    class Echo(nn.Module):
        def forward(self, *inputs: Any) -> Any:
            return inputs

    echo = Echo()
    assert predict(echo, {"inputs": 1, "targets": 2}) == (1, None)
    assert predict(echo, {"inputs": 1, "real": 3, "targets": 2}) == (1, 3)
    translation = {"source": 1, "source_real": 2, "target": 3, "target_real": 4, "targets": 5}
    assert predict(echo, translation) == (1, 2, 3, 4)
