import pytest
import torch
from torch import nn

from models.norms import NORMS, BatchNorm, LayerNorm, Norm, RMSNorm

B, T, D = 3, 5, 7


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)


def vectors(seed: int = 0) -> torch.Tensor:
    return torch.randn(B, T, D, generator=torch.Generator().manual_seed(seed)) * 3 + 2


def test_layer_norm_gives_mean_0_and_biased_deviation_1_and_equals_torch() -> None:
    x = vectors()
    y = LayerNorm(D)(x, None)
    torch.testing.assert_close(y.mean(-1), torch.zeros(B, T), atol=1e-5, rtol=0)
    torch.testing.assert_close(y.std(-1, correction=0), torch.ones(B, T), atol=1e-5, rtol=0)
    torch.testing.assert_close(y, nn.LayerNorm(D)(x))


def test_rms_norm_gives_root_mean_square_1_and_keeps_the_direction() -> None:
    x = vectors()
    y = RMSNorm(D)(x, None)
    torch.testing.assert_close(y.square().mean(-1).sqrt(), torch.ones(B, T), atol=1e-5, rtol=0)
    torch.testing.assert_close(y, x / x.square().mean(-1, keepdim=True).sqrt(), atol=1e-5, rtol=1e-5)


def test_no_norm_is_the_identity() -> None:
    x = vectors()
    assert Norm(D)(x, None) is x


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", NORMS)
def test_a_position_depends_on_others_in_training_exactly_if_declared(name: str, training: bool) -> None:
    norm = NORMS[name](D).train(training)
    x, changed = vectors(), vectors()
    changed[1:] += 1.0
    changed[0, 2:] += 1.0
    same = torch.equal(norm(x, None)[0, :2], norm(changed, None)[0, :2])
    assert same is not (NORMS[name].batch_dependent and training)


@pytest.mark.parametrize("name", NORMS)
def test_a_norm_normalises_exactly_if_declared(name: str) -> None:
    x = vectors()
    assert torch.equal(NORMS[name](D)(x, None), x) is not NORMS[name].normalises


def test_batch_norm_equals_torch_in_training_and_evaluation() -> None:
    ours, reference = BatchNorm(D), nn.BatchNorm1d(D)
    for seed in range(3):
        x = vectors(seed)
        torch.testing.assert_close(ours(x, None), reference(x.mT).mT)
    ours.eval()
    reference.eval()
    torch.testing.assert_close(ours(vectors(9), None), reference(vectors(9).mT).mT)
    torch.testing.assert_close(dict(ours.named_buffers())["running_var"], reference.running_var)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", NORMS)
def test_padding_changes_no_real_position(name: str, training: bool) -> None:
    x = vectors()
    real = torch.ones(B, T, dtype=torch.bool)
    real[:, 3:] = False
    x[~real] = 1e4
    y = NORMS[name](D).train(training)(x, real)
    torch.testing.assert_close(y[:, :3], NORMS[name](D).train(training)(x[:, :3], None))


def test_batch_norm_gives_zeros_and_finite_gradients_at_padding() -> None:
    x = vectors().requires_grad_()
    real = torch.zeros(B, T, dtype=torch.bool)
    real[0, :3] = True
    y = BatchNorm(D)(x, real)
    y.square().sum().backward()
    assert y[~real].eq(0).all()
    assert x.grad is not None
    assert x.grad.isfinite().all()
    assert x.grad[~real].eq(0).all()


@pytest.mark.parametrize("name", NORMS)
def test_the_declared_size_is_the_built_size(name: str) -> None:
    built = sum(parameter.numel() for parameter in NORMS[name](D).parameters())
    assert NORMS[name].count(D) == built
    assert NORMS[name].changes_size is (built != NORMS["layer"].count(D))
