"""A part that does not do what it says turns its claim: by the studies, training and verdicts that ship."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from ablations.load import load_study, make_study
from ablations.plan import write_plan
from ablations.train import train
from models.attention import CrossAttention
from models.feed_forwards import FEED_FORWARDS, TwoLayers
from models.masks import MASKS
from models.norms import LayerNorm
from models.positions import POSITIONS
from models.transformer import Sum
from reports.claims import verdicts
from reports.register import read_register
from reports.rows import read_study
from reports.table import make_tables
from reports.verdicts import Verdict

Patch = pytest.MonkeyPatch
Break = Callable[[Patch], None]


def judged(claim_id: str, root: Path, **parts: Any) -> Verdict:
    """The verdict on a claim after runs of the experiments that it needs, of which `parts` replaces some fields."""
    (claim,) = (claim for claim in read_register() if claim.id == claim_id)
    shipped = load_study(claim.studies[-1]).source["experiments"]
    needed = {name.partition("@")[0] for name in (claim.experiment, *(part.experiment for part in claim.conditions))}
    experiments = {name: {**shipped[name], **parts} for name in sorted(needed)}
    study = make_study({"name": claim.studies[-1], "experiments": experiments}, seeds=claim.seeds)
    write_plan(study, study.runs(), root)
    for run in study.runs():
        train(run, root / run.folder)
    (found,) = verdicts(make_tables(read_study(root)), [claim])
    return found


def mask_that_hides_nothing(patch: Patch) -> None:
    patch.setitem(MASKS, "causal", MASKS["none"])


def mask_after_the_softmax(patch: Patch) -> None:
    patch.setitem(MASKS, "causal", MASKS["after-softmax"])


def wrong_mask_that_is_right(patch: Patch) -> None:
    patch.setitem(MASKS, "after-softmax", MASKS["causal"])


def scale_that_does_not_scale(patch: Patch) -> None:
    patch.setattr("models.attention.scale_factor", lambda config: 1.0)


def scale_that_cannot_be_switched_off(patch: Patch) -> None:
    patch.setattr("models.attention.scale_factor", lambda config: config.head_width**-0.5)


def cross_attention_that_reads_nothing(patch: Patch) -> None:
    patch.setattr(CrossAttention, "forward", lambda self, x, mask, keys, values: torch.zeros_like(x))


def positions_that_add_nothing(patch: Patch) -> None:
    patch.setitem(POSITIONS, "sinusoidal", POSITIONS["none"])


def positions_that_cannot_be_switched_off(patch: Patch) -> None:
    patch.setitem(POSITIONS, "none", POSITIONS["sinusoidal"])


def feed_forward_that_looks_around(patch: Patch) -> None:
    alone = TwoLayers.forward
    patch.setattr(TwoLayers, "forward", lambda self, x: alone(self, x + x.mean(1, keepdim=True)))


def norm_over_the_sentence(patch: Patch) -> None:
    def forward(self: LayerNorm, x: Tensor, real: Tensor | None) -> Tensor:
        deviation, mean = torch.std_mean(x, dim=(1, 2), keepdim=True)
        return (x - mean) / deviation * self.weight + self.bias

    patch.setattr(LayerNorm, "forward", forward)


def residuals_that_cannot_be_switched_off(patch: Patch) -> None:
    patch.setattr("models.transformer.Replacement", Sum)


def feed_forward_that_cannot_be_switched_off(patch: Patch) -> None:
    patch.setitem(FEED_FORWARDS, "none", FEED_FORWARDS["gelu"])


def feed_forward_without_a_nonlinearity(patch: Patch) -> None:
    patch.setitem(FEED_FORWARDS, "gelu", FEED_FORWARDS["linear"])


SCORES = {"grid": {"model.d_model": [16, 64, 256]}, "variants": {"no scale": {"model.scale": "none"}}}
DEPTHS = {"grid": {"model.n_layers": [2, 6]}}
ONE_TOKEN = {"variants": {"no feed-forward": {"model.feed_forward": "none"}}}

CASES: list[tuple[str, dict[str, Any], list[Break]]] = [
    ("mask-softmax", {}, [mask_that_hides_nothing, mask_after_the_softmax, wrong_mask_that_is_right]),
    ("scale-saturation", SCORES, [scale_that_does_not_scale, scale_that_cannot_be_switched_off]),
    ("scale-gradient", SCORES, [scale_that_does_not_scale, scale_that_cannot_be_switched_off]),
    ("source-reach", {}, [cross_attention_that_reads_nothing]),
    ("equivariant", {}, [positions_that_add_nothing, positions_that_cannot_be_switched_off]),
    ("per-word-ffn", {}, [feed_forward_that_looks_around]),
    ("norm-per-word", {}, [norm_over_the_sentence]),
    ("residual-gradient-none", DEPTHS, [residuals_that_cannot_be_switched_off]),
    ("residual-collapse", DEPTHS, [residuals_that_cannot_be_switched_off]),
    ("nonlinearity", ONE_TOKEN, [feed_forward_that_cannot_be_switched_off, feed_forward_without_a_nonlinearity]),
]


@pytest.mark.parametrize(("claim", "parts", "breaks"), CASES, ids=[name for name, _, _ in CASES])
def test_a_broken_part_is_never_supported(
    claim: str, parts: dict[str, Any], breaks: list[Break], tmp_path: Path, monkeypatch: Patch
) -> None:
    whole = judged(claim, tmp_path / "whole", **parts)
    assert whole.outcome == "supported", whole.reason
    for place, damage in enumerate(breaks):
        with monkeypatch.context() as patch:
            damage(patch)
            broken = judged(claim, tmp_path / str(place), **parts)
        assert broken.outcome in ("not supported", "inconclusive"), damage.__name__
        assert all(condition.value is not None for condition in broken.conditions), "measured, and found wanting"
