from typing import Any, get_args, get_type_hints

import pytest
import torch
from torch import Tensor

from models.attention import ATTENTIONS, Softmax
from models.config import ModelConfig
from models.masks import MASKS, CausalMask, Mask, NoMask
from models.positions import POSITIONS, Position, PositionShape
from models.transformer import position_shape

B, T, H, K = 3, 5, 3, 4
D = H * K
CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)


def no_position() -> Position:
    return Position(PositionShape(d_model=D, n_heads=H, d_head=K, max_length=9, causal=True))


def rule_mask(name: str, n_queries: int, n_keys: int, real: Tensor | None = None, window: int | None = None) -> Mask:
    return MASKS[name](window)(n_queries, n_keys, real, no_position(), CPU)


def padding(*lengths: int) -> Tensor:
    return torch.arange(T) < torch.tensor(lengths)[:, None]


def test_true_means_may_be_attended_and_causal_means_the_past() -> None:
    zeros, v = torch.zeros(1, 1, 3, 2), torch.tensor([[[[1.0, 0.0], [0.0, 1.0], [5.0, 5.0]]]])
    expected = torch.tensor([[1.0, 0.0], [0.5, 0.5], [2.0, 2.0]])
    for mask in (rule_mask("causal", 3, 3), Mask(allowed=torch.ones(3, 3, dtype=torch.bool).tril())):
        torch.testing.assert_close(Softmax(1.0)(zeros, zeros, v, mask)[0, 0], expected)
        torch.testing.assert_close((Softmax(1.0).weights(zeros, zeros, mask) @ v)[0, 0], expected)


@pytest.mark.parametrize("name", ["allowed", "kept"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64])
def test_a_mask_of_numbers_is_refused(name: str, dtype: torch.dtype) -> None:
    """HB-10: zeros and ones, added to the scores, would hide nothing."""
    fields: dict[str, Any] = {name: torch.ones(3, 3, dtype=dtype).tril()}
    with pytest.raises(TypeError, match=f"^{name} must be boolean, True = may be attended: got {dtype}$"):
        Mask(**fields)


@pytest.mark.parametrize(("n_queries", "expected"), [(1, [1.5]), (2, [1.0, 1.5])])
def test_fewer_queries_than_keys_are_the_last_ones(n_queries: int, expected: list[float]) -> None:
    q, k, v = torch.zeros(1, 1, n_queries, 2), torch.zeros(1, 1, 4, 2), torch.arange(4.0).view(1, 1, 4, 1)
    for name in ("softmax", "uniform", "linear"):
        y = ATTENTIONS[name](1.0)(q, k, v, rule_mask("causal", n_queries, 4))
        assert y.flatten().tolist() == pytest.approx(expected)


def test_a_causal_band_is_both_causal_and_banded() -> None:
    allowed = rule_mask("causal", 4, 4, window=1).allowed
    assert allowed is not None
    assert allowed.int().tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]]
    allowed = rule_mask("none", 2, 4, window=1).allowed
    assert allowed is not None
    assert allowed.int().tolist() == [[0, 1, 1, 1], [0, 0, 1, 1]]


def test_only_the_pure_square_triangle_takes_the_fused_flag() -> None:
    alibi = POSITIONS["alibi"](position_shape(ModelConfig(d_model=D, n_heads=H), "causal"))
    assert rule_mask("causal", 4, 4).is_triangle
    assert not rule_mask("causal", 2, 4).is_triangle
    assert not rule_mask("causal", 4, 4, window=1).is_triangle
    assert not CausalMask(None)(4, 4, None, alibi, CPU).is_triangle
    assert not rule_mask("none", 4, 4).is_triangle


def test_weights_masked_before_the_softmax_are_exactly_zero_and_rows_sum_to_1() -> None:
    q, k = torch.randn(2, B, H, T, K)
    before = Softmax(1.0).weights(q, k, rule_mask("causal", T, T))
    assert before.triu(1).eq(0).all()
    torch.testing.assert_close(before.sum(-1), torch.ones(B, H, T), atol=1e-6, rtol=0)
    after = Softmax(1.0).weights(q, k, rule_mask("after-softmax", T, T))
    assert after.triu(1).eq(0).all()
    assert after.sum(-1)[..., :-1].lt(1 - 1e-5).all()
    torch.testing.assert_close(after, Softmax(1.0).weights(q, k, Mask()).tril())


def test_after_softmax_counts_no_padding() -> None:
    q, k = torch.randn(2, 1, H, T, K)
    real = padding(3)
    weights = Softmax(1.0).weights(q, k, rule_mask("after-softmax", T, T, real))
    alone = Softmax(1.0).weights(q[:, :, :3], k[:, :, :3], rule_mask("after-softmax", 3, 3))
    torch.testing.assert_close(weights[:, :, :3, :3], alone)
    assert weights[..., 3:].eq(0).all()


@pytest.mark.parametrize("name", MASKS)
def test_a_rule_leaks_the_future_exactly_if_declared(name: str) -> None:
    q, k, v = torch.randn(3, B, H, T, K)
    mask = rule_mask(name, T, T)
    changed_k, changed_v = k.clone(), v.clone()
    changed_k[:, :, 3:] += 1.0
    changed_v[:, :, 3:] += 1.0
    moved = (Softmax(1.0)(q, k, v, mask) - Softmax(1.0)(q, changed_k, changed_v, mask))[:, :, :3].abs().max()
    assert moved > 1e-4 if MASKS[name].leaks_future else moved == 0


def test_the_rules_are_the_values_of_both_configuration_fields() -> None:
    hints = get_type_hints(ModelConfig)
    assert set(MASKS) == set(get_args(hints["decoder_mask"])) == set(get_args(hints["encoder_mask"]))


def test_no_mask_hides_nothing_but_padding() -> None:
    assert NoMask(None)(T, T, None, no_position(), CPU).allowed is None
    allowed = NoMask(None)(T, T, padding(5, 3), no_position(), CPU).allowed
    assert allowed is not None
    assert torch.equal(allowed, padding(5, 3)[:, None, None, :])


def test_a_widened_mask_hides_what_is_behind_and_changes_nothing_else() -> None:
    bias = torch.randn(2, 3, 5)
    real = torch.tensor([[True] * 5, [True, True, False, False, False]])
    allowed = torch.ones(3, 5, dtype=torch.bool).tril()
    masks = [Mask(), Mask(allowed), Mask(real[:, None, None]), Mask(None, bias), Mask(allowed, bias, kept=allowed)]
    scores = torch.randn(2, 2, 3, 5)
    for mask in [*masks, rule_mask("causal", 3, 5)]:
        wide = mask.widen(5, 8, CPU)
        padded = torch.cat((scores, torch.full((2, 2, 3, 3), 1e6)), dim=-1)
        narrow_weights = mask.cut(mask.hide(scores).softmax(-1))
        weights = wide.cut(wide.hide(padded).softmax(-1))
        torch.testing.assert_close(weights[..., :5], narrow_weights)
        assert not weights[..., 5:].any()
        assert mask.widen(5, 5, CPU) is mask
