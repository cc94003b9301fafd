"""Counted costs against the closed forms and against counts by hand."""

from typing import Any

import pytest
import torch

from models.build import build_model
from models.config import ModelConfig, TaskShape
from models.feed_forwards import FeedForward
from models.probes.costs import cost
from models.size import forward_multiply_adds, parameter_count
from tests.models.variants import RECURRENT_VARIANTS, VARIANTS, B, S, T, batch, built, shape_of

V = 13
TAGGING = TaskShape(kind="tagging", input_sizes=(V,), output_size=V)
Costs = tuple[float, float]


def as_batch(architecture: str) -> dict[str, Any]:
    arguments = batch(architecture)
    names = ("inputs", "real") if len(arguments) == 2 else ("source", "source_real", "target", "target_real")
    return dict(zip(names, arguments, strict=True))


def measured(model: torch.nn.Module, batch: dict[str, Any]) -> Costs:
    parameters, multiply_adds = cost(model, [batch])
    assert parameters[:2] == ("parameters", "")
    assert multiply_adds[:2] == ("multiply_adds", "")
    return parameters.value, multiply_adds.value


@pytest.mark.parametrize("name", [*VARIANTS, *RECURRENT_VARIANTS])
def test_the_counts_are_those_of_the_closed_forms(name: str) -> None:
    config = {**VARIANTS, **RECURRENT_VARIANTS}[name]
    shape = shape_of(config)
    n_source = S if shape.kind == "translation" else 0
    expected = parameter_count(config, shape), forward_multiply_adds(config, shape, n_source, T)
    assert measured(built(config), as_batch(config.architecture)) == pytest.approx(expected, rel=1e-12)
    assert B > 1  # the cost is that of one sequence


def test_one_layer_by_hand() -> None:
    """5 words of width 12, hidden width 20: four maps, two products with all words, two maps, the output layer."""
    config = ModelConfig(architecture="encoder", d_model=12, n_heads=3, n_layers=1, d_ff=20, norm="none")
    inputs = torch.zeros(2, 5, dtype=torch.long)
    parameters = V * 12 + 4 * 12 * 12 + (12 * 20 + 20) + (20 * 12 + 12) + (12 * V + V)
    multiply_adds = 5 * 4 * 12 * 12 + 2 * 5 * 5 * 12 + 5 * 2 * 12 * 20 + 5 * 12 * V
    assert measured(build_model(config, TAGGING, 0), {"inputs": inputs}) == (parameters, multiply_adds)


def test_the_cost_does_not_depend_on_the_number_of_heads() -> None:
    inputs = torch.zeros(2, 5, dtype=torch.long)
    costs = {
        measured(
            build_model(ModelConfig(architecture="encoder", d_model=12, n_heads=h), TAGGING, 0), {"inputs": inputs}
        )
        for h in (1, 2, 3, 6, 12)
    }
    assert len(costs) == 1


def test_a_part_that_should_not_be_there_is_counted() -> None:
    model = build_model(ModelConfig(architecture="encoder", d_model=12, n_heads=3), TAGGING, 0)
    before = measured(model, {"inputs": torch.zeros(2, 5, dtype=torch.long)})
    model.get_submodule("stack.layers.0.feed_forward").inner = FeedForward(12, 48)
    model.get_submodule("stack.layers.0.feed_forward.inner").forward = lambda x: x
    after = measured(model, {"inputs": torch.zeros(2, 5, dtype=torch.long)})
    assert before[1] - after[1] == 5 * 2 * 12 * 48
    assert before[0] - after[0] == 2 * 12 * 48 + 48 + 12
