import itertools
from typing import Any

import pytest
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from models.attention import ATTENTIONS
from models.build import build_model
from models.config import ConfigError, ModelConfig, TaskShape
from models.feed_forwards import FEED_FORWARDS
from models.norms import NORMS
from models.positions import POSITIONS
from models.size import forward_multiply_adds, parameter_count, training_flops
from tests.models.variants import SHAPES, VARIANTS, B, S, T, batch, built, changed_fields, small


def n_parameters(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def counted(model: nn.Module, arguments: tuple[Tensor | None, ...]) -> float:
    """Multiply-adds that torch itself counts; the plain backend shows it the products inside attention."""
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        model(*arguments)
    return counter.get_total_flops() / 2


@pytest.mark.parametrize("name", VARIANTS)
def test_the_predicted_size_is_the_built_size(name: str) -> None:
    config = VARIANTS[name]
    assert parameter_count(config, SHAPES[config.architecture]) == n_parameters(built(config))


@pytest.mark.parametrize("name", VARIANTS)
def test_the_predicted_operations_are_those_that_torch_counts(name: str) -> None:
    config = VARIANTS[name]
    n_source = S if config.architecture == "encoder-decoder" else 0
    predicted = forward_multiply_adds(config, SHAPES[config.architecture], n_source, T)
    assert counted(built(config), batch(config.architecture)) == B * predicted


def test_sizes_hold_for_combinations_too() -> None:
    fields: dict[str, list[Any]] = {
        "architecture": list(SHAPES),
        "attention": list(ATTENTIONS),
        "feed_forward": ["swiglu", "none"],
        "norm": ["rms", "none"],
        "norm_placement": ["pre", "post"],
        "position": ["learned", "relative"],
        "query_key": ["tied", "identity"],
        "d_head": [4, 6],
        "tie_embeddings": [None, False],
    }
    n_tried = 0
    for combination in itertools.product(*fields.values()):
        try:
            config = small(**dict(zip(fields, combination, strict=True)), value_projection="linear")
        except ConfigError:
            continue
        shape = SHAPES[config.architecture]
        assert parameter_count(config, shape) == n_parameters(build_model(config, shape, 0)), config
        n_tried += 1
    assert n_tried > 200


@pytest.mark.parametrize("cross_attention", ["attend", "none"])
def test_source_and_target_vocabularies_of_their_own_are_counted(cross_attention: Any) -> None:
    shape = TaskShape(kind="translation", input_sizes=(11,), output_size=13, start=1, end=2)
    config = small("encoder-decoder", cross_attention=cross_attention)
    assert parameter_count(config, shape) == n_parameters(build_model(config, shape, 0))


@pytest.mark.parametrize("architecture", ["rnn", "lstm", "gru"])
def test_recurrent_nets_are_counted_by_their_own_formula(architecture: Any) -> None:
    config = ModelConfig(architecture=architecture, d_model=12)
    for shape in SHAPES.values():
        assert parameter_count(config, shape) == n_parameters(build_model(config, shape, 0))
        assert forward_multiply_adds(config, shape, S, T) > 0


def test_changes_of_size_by_hand() -> None:
    def change(**changes: Any) -> int:
        shape = SHAPES["encoder-decoder"]
        return parameter_count(small("encoder-decoder", **changes), shape) - parameter_count(
            small("encoder-decoder"), shape
        )

    n_norms, width = 2 * 2 + 2 * 3 + 2, 12
    assert change(norm="none") == -2 * width * n_norms
    assert change(norm="rms") == -width * n_norms
    assert change(norm_placement="post") == -2 * width * 2
    assert change(position="learned") == 2 * 50 * width
    assert change(position="relative") == 2 * 32 * 3
    assert change(query_key="tied") == -(width**2) * 6
    for same in ({"residual": "none"}, {"scale": "none"}, {"decoder_mask": "none"}, {"n_heads": 1}, {"n_heads": 6}):
        assert change(**same) == 0


@pytest.mark.parametrize(
    ("field", "table"),
    [("position", POSITIONS), ("attention", ATTENTIONS), ("norm", NORMS), ("feed_forward", FEED_FORWARDS)],
)
def test_an_entry_changes_the_size_exactly_if_declared(field: str, table: dict[str, Any]) -> None:
    shape = SHAPES["decoder"]
    for name, entry in table.items():
        changed = parameter_count(small("decoder", **{field: name}), shape) != parameter_count(small("decoder"), shape)
        assert entry.changes_size is changed, name


def test_training_counts_two_operations_a_product_and_the_backward_pass_twice() -> None:
    config, shape = small("encoder-decoder"), SHAPES["encoder-decoder"]
    model, arguments = built(config), batch("encoder-decoder")
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        model(*arguments).sum().backward()
    assert training_flops(config, shape, B, S, T) == counter.get_total_flops()


def test_heads_cost_nothing() -> None:
    costs = {forward_multiply_adds(small("encoder", n_heads=n), SHAPES["encoder"], 0, T) for n in (1, 2, 3, 4, 6, 12)}
    assert len(costs) == 1


def test_no_field_but_those_that_change_products_changes_the_operations() -> None:
    free = {"scale", "residual", "norm", "norm_placement", "initialisation", "gain", "tie_embeddings", "n_heads"}
    for config in VARIANTS.values():
        changed = changed_fields(config) - {"d_head"}
        if len(changed) == 1 and changed <= free:
            shape, base = SHAPES[config.architecture], small(config.architecture)
            assert forward_multiply_adds(config, shape, S, T) == forward_multiply_adds(base, shape, S, T)
