"""The learning rate of each optimiser step, the optimiser it goes to, and what the configuration refuses."""

import math
from dataclasses import asdict, replace
from typing import Any

import pytest
import torch
from torch import nn

from models.config import ConfigError
from models.optim import OptimConfig, configure


def test_inverse_square_root_has_the_rates_of_vaswani() -> None:
    """Width 512, warm-up 4000: 512 ** -0.5 * min(n ** -0.5, n * 4000 ** -1.5)."""
    config = OptimConfig(steps=100_000, lr=(512 * 4000) ** -0.5, warmup=4000, schedule="inverse-sqrt")
    rates = {step: config.lr * config.factor(step) for step in (1, 4000, 9000)}
    assert rates[1] == pytest.approx(1.746928e-07, rel=1e-6)
    assert rates[4000] == pytest.approx(6.987712e-04, rel=1e-6)
    assert rates[9000] == pytest.approx(512**-0.5 * 9000**-0.5, rel=1e-12)


def test_cosine_rises_to_the_peak_and_falls_to_zero() -> None:
    config = OptimConfig(steps=30, warmup=10)
    assert [config.factor(step) for step in (1, 5, 10)] == [0.1, 0.5, 1.0]
    assert [config.factor(step) for step in (15, 20, 30)] == pytest.approx([0.5 + 0.5 * 0.5**0.5, 0.5, 0.0])
    assert config.factor(31) == 0.0


def test_linear_falls_to_zero_at_the_last_step() -> None:
    config = OptimConfig(steps=30, warmup=10, schedule="linear")
    assert [config.factor(step) for step in (5, 10, 15, 30, 31)] == [0.5, 1.0, 0.75, 0.0, 0.0]


def test_constant_stays_at_the_peak() -> None:
    config = OptimConfig(steps=30, warmup=2, schedule="constant")
    assert [config.factor(step) for step in (1, 2, 3, 99)] == [0.5, 1.0, 1.0, 1.0]


@pytest.mark.parametrize("schedule", ["cosine", "linear", "inverse-sqrt", "constant"])
@pytest.mark.parametrize("warmup", [0, 1, 6, 7, 8])
def test_rates_are_finite_at_every_step_whatever_the_warm_up(schedule: Any, warmup: int) -> None:
    config = OptimConfig(steps=7, warmup=warmup, schedule=schedule)
    factors = [config.factor(step) for step in range(1, 20)]
    assert all(math.isfinite(factor) and 0 <= factor <= 1 for factor in factors)
    assert max(factors[:7]) > 0.5


def test_optimiser_step_n_runs_at_the_rate_of_step_n() -> None:
    config = OptimConfig(steps=8, lr=0.3, warmup=3, beta2=0.95, weight_decay=0.07)
    weight = nn.Parameter(torch.ones(2))
    configured: Any = configure([weight], config)
    optimiser, schedule = configured["optimizer"], configured["lr_scheduler"]
    assert isinstance(optimiser, torch.optim.AdamW)
    group = optimiser.param_groups[0]
    assert (group["betas"], group["weight_decay"], group["fused"]) == ((0.9, 0.95), 0.07, True)
    rates = []
    for _ in range(8):
        rates.append(group["lr"])
        weight.grad = torch.ones(2)
        optimiser.step()
        schedule.step()
    assert rates == pytest.approx([0.3 * config.factor(step) for step in range(1, 9)])


def test_a_schedule_resumes_with_the_rate_of_the_next_step() -> None:
    config = OptimConfig(steps=9, warmup=4)
    first: Any = configure([nn.Parameter(torch.ones(2))], config)
    for _ in range(5):
        first["optimizer"].step()
        first["lr_scheduler"].step()
    second: Any = configure([nn.Parameter(torch.ones(2))], config)
    second["optimizer"].load_state_dict(first["optimizer"].state_dict())
    second["lr_scheduler"].load_state_dict(first["lr_scheduler"].state_dict())
    assert second["optimizer"].param_groups[0]["lr"] == pytest.approx(config.lr * config.factor(6))


@pytest.mark.parametrize(
    "change",
    [
        {"steps": -1},
        {"steps": 3.0},
        {"steps": True},
        {"warmup": -1},
        {"warmup": "5"},
        {"lr": 0.0},
        {"lr": math.nan},
        {"lr": "3e-3"},
        {"weight_decay": -0.1},
        {"weight_decay": math.inf},
        {"beta2": 1.0},
        {"clip": -1.0},
        {"clip": None},
        {"label_smoothing": 1.0},
        {"label_smoothing": True},
        {"schedule": "step"},
    ],
)
def test_a_wrong_value_is_refused_by_name(change: dict[str, Any]) -> None:
    ((field, value),) = change.items()
    with pytest.raises(ConfigError, match=rf"^{field}={value!r}: ") as error:
        OptimConfig(**change)
    assert "\n" not in str(error.value)


def test_equal_settings_make_equal_configurations() -> None:
    config = OptimConfig(clip=1, lr=1)
    assert repr(config.clip) == "1.0"
    assert OptimConfig(**asdict(config)) == config
    assert replace(config, steps=0).steps == 0
