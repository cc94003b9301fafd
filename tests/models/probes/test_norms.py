"""Statistics of norms: what each kind promises, and norms broken on purpose."""

from typing import Any

import pytest
import torch
from torch import Tensor

from models.norms import LayerNorm, Norm
from models.probes import PROBES
from tests.models.probes.examples import TRANSLATION, made, pairs, tags, values

probe = PROBES["norm-statistics"]


def statistics(norm: str, **parts: Any) -> tuple[float, float, float]:
    """Mean error, deviation error, dependence of an encoder with gains and biases far from 1 and 0."""
    model = made("encoder", norm=norm, **parts)
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, Norm):
                for parameter in module.parameters():
                    parameter.copy_(torch.linspace(-3, 5, len(parameter)))
    measured = values(probe(model, [tags()]))
    names = ("norm_mean_error", "norm_deviation_error", "norm_dependence")
    assert list(measured) == [(name, "") for name in names]
    mean, deviation, dependence = measured.values()
    return mean, deviation, dependence


@pytest.mark.parametrize("norm_placement", ["pre", "post"])
def test_a_layer_norm_has_mean_0_and_deviation_1_and_sees_one_word(norm_placement: Any) -> None:
    mean, deviation, dependence = statistics("layer", norm_placement=norm_placement)
    assert mean < 1e-12
    assert deviation < 1e-11
    assert dependence == 0


def test_an_rms_norm_has_root_mean_square_1_and_a_mean() -> None:
    mean, deviation, dependence = statistics("rms")
    assert mean > 0.1
    assert deviation < 1e-11
    assert dependence == 0


def test_a_batch_norm_looks_at_other_words() -> None:
    mean, deviation, dependence = statistics("batch")
    assert min(mean, deviation, dependence) > 0.1


def test_no_norm_changes_nothing_and_sees_one_word() -> None:
    mean, deviation, dependence = statistics("none")
    assert min(mean, deviation) > 1e4
    assert dependence == 0


@pytest.mark.parametrize("broken", ["deviation", "mean", "neighbour", "first word of all"])
def test_one_broken_norm_among_others_shows(broken: str) -> None:
    class Broken(LayerNorm):
        def forward(self, x: Tensor, real: Tensor | None) -> Tensor:
            y = super().forward(x, real)
            match broken:
                case "deviation":
                    return y * 1.00001
                case "mean":
                    return y + 0.00001
                case "neighbour":
                    return y + 1e-9 * y.roll(1, 1)
                case _:
                    return y + 1e-13 * x.sum()

    model: Any = made("encoder", n_layers=3)
    model.stack.layers[1].feed_forward.norm = Broken(12)
    mean, deviation, dependence = values(probe(model, [tags()])).values()
    assert (deviation > 9e-6) == (broken == "deviation")
    assert (mean > 9e-6) == (broken == "mean")
    assert (dependence > 0) == (broken in ("neighbour", "first word of all"))


def test_translators_have_norms_and_recurrent_nets_none() -> None:
    mean, deviation, dependence = values(probe(made("encoder-decoder", TRANSLATION), [pairs()])).values()
    assert max(mean, deviation) < 1e-11
    assert dependence == 0
    with pytest.raises(ValueError, match="a recurrent net has no norm"):
        probe(made("lstm"), [tags()])
