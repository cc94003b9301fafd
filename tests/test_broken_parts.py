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


def judged(ids: str, root: Path, **parts: Any) -> list[Verdict]:
    """Verdicts on claims after runs of the experiments that they need, of which `parts` replaces some fields.

    As many seeds as decide the claims, unless `seeds` says otherwise.
    """
    claims = [claim for claim in read_register() if claim.id in ids.split()]
    (name,) = {claim.studies[-1] for claim in claims}
    shipped = load_study(name).source["experiments"]
    named = [where for claim in claims for where in (claim.experiment, *(part.experiment for part in claim.conditions))]
    seeds = max(claim.seeds for claim in claims)
    families = sorted({where.partition("@")[0] for where in named})
    experiments = {family: {**shipped[family], "seeds": seeds, **parts} for family in families}
    study = make_study({"name": name, "experiments": experiments})
    write_plan(study, study.runs(), root)
    for run in study.runs():
        train(run, root / run.folder)
    return verdicts(make_tables(read_study(root)), claims)


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


SCORES: dict[str, Any] = {
    "grid": {"model.d_model": [16, 256]},
    "variants": {"no scale": {"model.scale": "none"}},
}
DEPTHS: dict[str, Any] = {"grid": {"model.n_layers": [2, 12]}}
ONE_TOKEN: dict[str, Any] = {"variants": {"no feed-forward": {"model.feed_forward": "none"}}}

CASES: list[tuple[str, dict[str, Any], list[Break]]] = [
    ("mask-softmax", {}, [mask_that_hides_nothing, mask_after_the_softmax, wrong_mask_that_is_right]),
    ("scale-saturation scale-gradient", SCORES, [scale_that_does_not_scale]),
    ("source-reach", {}, [cross_attention_that_reads_nothing]),
    ("equivariant", {}, [positions_that_add_nothing, positions_that_cannot_be_switched_off]),
    ("per-word-ffn", {}, [feed_forward_that_looks_around]),
    ("norm-per-word", {}, [norm_over_the_sentence]),
    ("residual-gradient-none", DEPTHS, [residuals_that_cannot_be_switched_off]),
]
SLOW: list[tuple[str, dict[str, Any], list[Break]]] = [
    ("scale-saturation scale-gradient", SCORES, [scale_that_cannot_be_switched_off]),
    ("nonlinearity", ONE_TOKEN, [feed_forward_that_cannot_be_switched_off]),
]
MARKED = [
    *(pytest.param(*case, id=case[0]) for case in CASES),
    *(pytest.param(*case, id=f"{case[0]}, slow", marks=pytest.mark.slow) for case in SLOW),
]


@pytest.mark.parametrize(("claims", "parts", "breaks"), MARKED)
def test_a_broken_part_is_never_supported(
    claims: str, parts: dict[str, Any], breaks: list[Break], tmp_path: Path, monkeypatch: Patch
) -> None:
    for whole in judged(claims, tmp_path / "whole", **parts):
        assert whole.outcome == "supported", f"{whole.id}: {whole.reason}"
    for place, damage in enumerate(breaks):
        with monkeypatch.context() as patch:
            damage(patch)
            found = judged(claims, tmp_path / str(place), **parts)
        assert [broken.id for broken in found] == claims.split()
        for broken in found:
            assert broken.outcome in ("not supported", "inconclusive"), f"{broken.id}: {damage.__name__}"
            assert all(part.value is not None for part in broken.conditions), "measured, and found wanting"
