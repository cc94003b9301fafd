from dataclasses import asdict, replace
from typing import Any

import pytest
import torch
from torch import nn

from models.build import build_model
from models.config import RECURRENT, ModelConfig, TaskShape
from models.initialise import initialise, seed_of
from tests.models.variants import RECURRENT_VARIANTS, SHAPES, VARIANTS, built, small

Weights = dict[str, torch.Tensor]


def weights(config: ModelConfig, seed: int = 0) -> Weights:
    return {name: parameter.detach() for name, parameter in built(config, seed).named_parameters()}


def is_block_matrix(name: str, weight: torch.Tensor) -> bool:
    return weight.dim() == 2 and not any(part in name for part in ("embedding", "position", "head"))


def is_drawn_otherwise(name: str, weight: torch.Tensor, config: ModelConfig, changed: set[str]) -> bool:
    """Whether the changed fields give a parameter another distribution."""
    n_branches_differs = bool(changed & {"n_layers", "cross_attention"}) or config.d_ff is None
    return any(
        [
            is_block_matrix(name, weight) and changed & {"initialisation", "gain"},
            "layers.bias_" in name and "forget_bias" in changed,
            name.endswith("output.bias") and "d_ff" in changed,  # from a range that depends on d_ff
            "embedding" in name and "tie_embeddings" in changed,  # N(0, 1) instead of N(0, 1 / D)
            # untied, it stands on the states and not on what is as wide as the embeddings
            name == "head.bias" and config.architecture in RECURRENT and "tie_embeddings" in changed,
            name.endswith("output.weight") and config.initialisation == "gpt2" and n_branches_differs,
        ]
    )


@pytest.mark.parametrize("initialisation", ["default", "xavier", "gpt2"])
@pytest.mark.parametrize("name", VARIANTS | RECURRENT_VARIANTS)
def test_variants_share_every_weight_that_both_draw_alike(name: str, initialisation: Any) -> None:
    config = (VARIANTS | RECURRENT_VARIANTS)[name]
    base = small(config.architecture, initialisation=initialisation)
    if "initialisation" not in name:
        config = replace(config, initialisation=initialisation)
    changed = {field for field, value in asdict(config).items() if value != asdict(base)[field]}
    ours, theirs = weights(base), weights(config)
    common = {key for key in ours if key in theirs and ours[key].shape == theirs[key].shape}
    assert any(is_block_matrix(key, ours[key]) for key in common) or changed & {"d_head", "d_hidden"}
    different = {key for key in common if not torch.equal(ours[key], theirs[key])}
    assert different == {key for key in common if is_drawn_otherwise(key, ours[key], config, changed)}


@pytest.mark.parametrize("architecture", RECURRENT)
def test_a_recurrent_net_has_torchs_own_distribution_in_every_parameter(architecture: str) -> None:
    """Uniform within 1 / sqrt(H), at a standard error of about 1 / sqrt(5 n) for n values."""
    for key, weight in weights(small(architecture, d_model=90, d_hidden=400)).items():
        if ".layers." in key:
            tolerance = 5 * (5 * weight.numel()) ** -0.5
            assert float(weight.abs().max()) == pytest.approx(400**-0.5, rel=0.02)
            assert float(weight.abs().max()) <= 400**-0.5
            assert float(weight.std()) == pytest.approx((3 * 400) ** -0.5, rel=tolerance)
            assert float(weight.mean()) == pytest.approx(0, abs=5 * (3 * 400 * weight.numel()) ** -0.5)


def test_decoder_and_encoder_of_one_task_share_their_weights() -> None:
    shape = TaskShape(kind="tagging", input_sizes=(5,), output_size=3)
    decoder, encoder = (build_model(small(name), shape, 0).state_dict() for name in ("decoder", "encoder"))
    assert decoder.keys() == encoder.keys()
    assert all(torch.equal(decoder[key], encoder[key]) for key in decoder)


@pytest.mark.parametrize("architecture", SHAPES)
def test_seeds_repeat_themselves_and_differ_from_one_another(architecture: str) -> None:
    first, again, other = (weights(small(architecture), seed) for seed in (3, 3, 4))
    for key, weight in first.items():
        assert torch.equal(weight, again[key])
        if weight.dim() == 2:
            assert not torch.equal(weight, other[key])


def test_the_global_random_state_neither_matters_nor_changes() -> None:
    torch.manual_seed(1)
    first = weights(small("encoder"))
    torch.manual_seed(2)
    state = torch.get_rng_state()
    model = built(small("encoder"))
    assert torch.equal(torch.get_rng_state(), state)
    initialise(model, 0, small("encoder"))
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(first[key], value) for key, value in model.named_parameters())


@pytest.mark.parametrize("architecture", SHAPES)
def test_no_two_layers_start_equal_and_the_number_of_weights_grows_with_depth(architecture: str) -> None:
    counts = []
    for n_layers in (1, 2, 3):
        found = weights(small(architecture, n_layers=n_layers))
        matrices = [weight for weight in found.values() if weight.dim() == 2]
        assert len({tuple(matrix.flatten().tolist()) for matrix in matrices}) == len(matrices)
        counts.append(len(found))
    assert counts[2] - counts[1] == counts[1] - counts[0] > 0


def big(**changes: object) -> Weights:
    return weights(small("encoder-decoder", **{"d_model": 120, "d_ff": 240, "tie_embeddings": False, **changes}))


def test_the_default_is_torchs_own() -> None:
    found = big()
    for key, weight in found.items():
        if is_block_matrix(key, weight):
            assert float(weight.abs().max()) == pytest.approx(weight.shape[1] ** -0.5, rel=0.02)
            assert float(weight.std()) == pytest.approx((3 * weight.shape[1]) ** -0.5, rel=0.05)


def test_xavier_has_variance_2_over_fan_in_plus_fan_out() -> None:
    for key, weight in big(initialisation="xavier").items():
        if is_block_matrix(key, weight):
            assert float(weight.std()) == pytest.approx((2 / sum(weight.shape)) ** 0.5, rel=0.05)


@pytest.mark.parametrize(
    ("changes", "in_encoder", "in_decoder"),
    [({}, 4, 6), ({"output_projection": "identity"}, 4, 6), ({"feed_forward": "none"}, 2, 4), ({"n_layers": 1}, 2, 3)],
)
def test_gpt2_has_deviation_002_and_less_at_the_end_of_each_branch(
    changes: dict[str, Any], in_encoder: int, in_decoder: int
) -> None:
    found = big(initialisation="gpt2", **changes)
    assert any(key.endswith("output.weight") for key in found)
    for key, weight in found.items():
        if is_block_matrix(key, weight):
            n_branches = in_encoder if key.startswith("encoder") else in_decoder
            deviation = 0.02 / n_branches**0.5 if key.endswith("output.weight") else 0.02
            assert float(weight.std()) == pytest.approx(deviation, rel=0.05), key


@pytest.mark.parametrize("initialisation", ["default", "xavier", "gpt2"])
def test_gain_multiplies_the_matrices_of_the_blocks_and_nothing_else(initialisation: str) -> None:
    plain, doubled = (
        big(initialisation=initialisation, gain=gain, position="relative", norm="batch") for gain in (1.0, 2.0)
    )
    assert any(is_block_matrix(key, plain[key]) for key in plain)
    for key, weight in plain.items():
        assert torch.equal(doubled[key], weight * (2 if is_block_matrix(key, weight) else 1)), key


@pytest.mark.parametrize("initialisation", ["xavier", "gpt2"])
def test_a_scheme_changes_the_matrices_of_the_blocks_and_nothing_else(initialisation: str) -> None:
    plain, drawn = big(position="learned"), big(position="learned", initialisation=initialisation)
    assert {key for key in plain if not torch.equal(plain[key], drawn[key])} == {
        key for key in plain if is_block_matrix(key, plain[key])
    }


@pytest.mark.parametrize("architecture", RECURRENT)
def test_each_gate_of_a_recurrent_net_is_a_matrix_of_its_own_to_xavier(architecture: str) -> None:
    shape = TaskShape(kind="tagging", input_sizes=(5,), output_size=3)
    config = ModelConfig(architecture=architecture, d_model=90, initialisation="xavier")  # type: ignore[arg-type]
    model = build_model(config, shape, 0)
    hidden = [parameter for name, parameter in model.named_parameters() if "weight_hh" in name]
    assert hidden
    for matrix in hidden:
        assert float(matrix.detach().std()) == pytest.approx((2 / 180) ** 0.5, rel=0.05)


def test_a_module_that_cannot_draw_its_parameters_is_an_error() -> None:
    class Raw(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.zeros(2))

    with pytest.raises(TypeError, match=r"Raw owns the parameter 0\.weight but has no reset_parameters"):
        initialise(nn.Sequential(Raw()), 0, small("encoder"))


def test_the_seed_of_a_parameter_is_the_same_on_every_machine() -> None:
    assert seed_of(0, "head.weight") == 15724409201142656386
    assert len({seed_of(seed, name) for seed in range(9) for name in ("weight", "bias")}) == 18
