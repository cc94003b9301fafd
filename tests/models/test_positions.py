import math

import pytest
import torch
from torch import Tensor

from models.attention import attention_maps
from models.build import build_model
from models.config import TaskShape
from models.masks import offsets
from models.positions import POSITIONS, ALiBi, Learned, Position, PositionShape, Relative, Rotary, Sinusoidal
from tests.models.variants import small

B, T, H, K = 2, 7, 3, 4
D = H * K


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)


def shape(
    *, d_model: int = D, n_heads: int = H, d_head: int = K, max_length: int = 200, causal: bool = False
) -> PositionShape:
    return PositionShape(d_model=d_model, n_heads=n_heads, d_head=d_head, max_length=max_length, causal=causal)


def between(n_queries: int, n_keys: int) -> Tensor:
    return offsets(n_queries, n_keys, torch.device("cpu"))


def scores(position: Position, q: Tensor, k: Tensor, start: int, n_before: int) -> Tensor:
    """Scores of q (B, H, Tq, K) at positions from `start` against k (B, H, Tk, K) at positions from `n_before`."""
    product = position.rotate(q, start) @ position.rotate(k, n_before).mT
    bias = position.bias(between(q.shape[2], start + q.shape[2]))
    return product if bias is None else product + bias[..., n_before : n_before + k.shape[2]]


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("name", POSITIONS)
def test_scores_depend_on_the_distance_and_on_nothing_else_exactly_if_declared(name: str, causal: bool) -> None:
    position = POSITIONS[name](shape(causal=causal))
    q, k = torch.randn(B, H, 1, K), torch.randn(B, H, 1, K)
    near = scores(position, q, k, 8, 5)
    torch.testing.assert_close(scores(position, q, k, 108, 105), near, atol=1e-4, rtol=0)
    moves = not torch.allclose(scores(position, q, k, 8, 2), near, atol=1e-3)
    assert moves is POSITIONS[name].relative


@pytest.mark.parametrize("name", POSITIONS)
def test_embeddings_tell_the_place_exactly_if_declared(name: str) -> None:
    position = POSITIONS[name](shape())
    x = torch.ones(B, T, D)
    marked = position.embed(x, 0)
    assert torch.equal(marked[0], marked[1]), "equal sentences are equal at every place of the batch"
    distinct = len({tuple(vector.tolist()) for vector in marked[0]})
    assert distinct == (T if POSITIONS[name].absolute else 1)


@pytest.mark.parametrize("name", POSITIONS)
def test_a_scheme_uses_the_hooks_that_it_declares(name: str) -> None:
    entry, x = POSITIONS[name], torch.randn(B, H, T, K)
    assert entry.rotates is not torch.equal(entry(shape()).rotate(x, 0), x)
    assert entry.biases is (entry(shape()).bias(between(T, T)) is not None)


@pytest.mark.parametrize("name", POSITIONS)
def test_later_parts_of_a_sequence_are_marked_as_in_the_whole(name: str) -> None:
    position = POSITIONS[name](shape())
    x, heads = torch.randn(B, T, D), torch.randn(B, H, T, K)
    torch.testing.assert_close(position.embed(x[:, 3:], 3), position.embed(x, 0)[:, 3:])
    torch.testing.assert_close(position.rotate(heads[:, :, 3:], 3), position.rotate(heads, 0)[:, :, 3:])
    whole, part = position.bias(between(T, T)), position.bias(between(T - 3, T))
    assert (whole is None) is (part is None)
    if whole is not None and part is not None:
        assert torch.equal(part, whole[:, 3:])


@pytest.mark.parametrize("name", POSITIONS)
def test_nothing_goes_stale_between_calls_of_other_lengths_offsets_and_precisions(name: str) -> None:
    used = POSITIONS[name](shape())
    x = torch.randn(B, 64, D, dtype=torch.float64)
    for length, start, dtype in ((8, 0, torch.bfloat16), (64, 0, torch.float32), (8, 90, torch.float64)):
        part = x[:, :length].to(dtype)
        fresh = POSITIONS[name](shape())
        fresh.load_state_dict(used.state_dict())
        heads = part.view(B, length, H, K).transpose(1, 2)
        for position in (used, fresh):
            position.bias(between(length, length))
        assert torch.equal(used.embed(part, start), fresh.embed(part, start))
        assert torch.equal(used.rotate(heads, start), fresh.rotate(heads, start))
        assert used.rotate(heads, start).dtype == dtype


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("name", POSITIONS)
def test_the_declared_size_is_the_built_size(name: str, causal: bool) -> None:
    built = sum(parameter.numel() for parameter in POSITIONS[name](shape(causal=causal)).parameters())
    assert POSITIONS[name].count(shape(causal=causal)) == built
    assert POSITIONS[name].changes_size is (built > 0)


@pytest.mark.parametrize("name", POSITIONS)
def test_a_scheme_ends_at_max_length_exactly_if_declared(name: str) -> None:
    position = POSITIONS[name](shape(max_length=5))
    position.embed(torch.zeros(B, 5, D), 0)
    if not POSITIONS[name].takes_length:
        position.embed(torch.zeros(B, 6, D), 0)
        return
    for length, start in ((6, 0), (1, 5)):
        with pytest.raises(ValueError, match=r"length 6 .* max_length=5"):
            position.embed(torch.zeros(B, length, D), start)


@pytest.mark.parametrize("name", POSITIONS)
def test_an_odd_head_is_refused_exactly_if_declared(name: str) -> None:
    x = torch.randn(B, H, T, 5)
    try:
        POSITIONS[name](shape(d_head=5)).rotate(x, 0)
    except RuntimeError:
        assert POSITIONS[name].needs_even_head
    else:
        assert not POSITIONS[name].needs_even_head


def test_sinusoids_have_their_known_values_in_even_and_odd_widths() -> None:
    even = Sinusoidal(shape()).embed(torch.zeros(1, 4, 4), 0)
    torch.testing.assert_close(even[0, 3], torch.tensor([0.141120, -0.989992, 0.029996, 0.999550]), atol=1e-6, rtol=0)
    odd = Sinusoidal(shape()).embed(torch.zeros(1, 4, 5), 0)
    for i in range(5):
        wave = math.sin if i % 2 == 0 else math.cos
        assert float(odd[0, 3, i]) == pytest.approx(wave(3 / 10000 ** (2 * (i // 2) / 5)), abs=1e-6)


def test_a_learned_table_is_drawn_with_deviation_one_half() -> None:
    assert float(Learned(shape(d_model=128)).weight.detach().std()) == pytest.approx(0.5, rel=0.02)


def test_rotary_turns_pair_i_of_position_t_by_t_over_10000_to_the_2i_over_k() -> None:
    x = torch.randn(1, 1, T, K, dtype=torch.float64)
    turned = Rotary(shape()).rotate(x, 2)
    for t in range(T):
        for i in range(K // 2):
            angle = (t + 2) / 10000 ** (2 * i / K)
            pair = complex(x[0, 0, t, i], x[0, 0, t, i + K // 2]) * complex(math.cos(angle), math.sin(angle))
            assert complex(turned[0, 0, t, i], turned[0, 0, t, i + K // 2]) == pytest.approx(pair, abs=1e-12)


def test_alibi_slopes_follow_one_rule_for_every_number_of_heads() -> None:
    def slopes(n_heads: int) -> list[float]:
        bias = ALiBi(shape(n_heads=n_heads)).bias(between(1, 2))  # one query, the key before it and its own
        return [-float(head[0, 0]) for head in bias]

    assert slopes(8) == [2.0**-h for h in range(1, 9)]
    assert slopes(6) == pytest.approx([2 ** (-8 * h / 6) for h in range(1, 7)])


def test_alibi_is_symmetric() -> None:
    bias = ALiBi(shape()).bias(between(T, T))
    assert torch.equal(bias, bias.mT)
    assert bias.diagonal(dim1=1, dim2=2).eq(0).all()


def t5_bucket(offset: int, bidirectional: bool) -> int:
    """The rule of the T5 code, one offset at a time."""
    bucket, n_buckets = 0, 32
    distance = -offset
    if bidirectional:
        n_buckets //= 2
        bucket += n_buckets * (distance < 0)
        distance = abs(distance)
    else:
        distance = max(distance, 0)
    exact = n_buckets // 2
    if distance < exact:
        return bucket + distance
    far = exact + int(math.log(distance / exact) / math.log(128 / exact) * (n_buckets - exact) + 1e-6)
    return bucket + min(far, n_buckets - 1)


@pytest.mark.parametrize("causal", [True, False])
def test_relative_buckets_are_those_of_t5(causal: bool) -> None:
    offset = torch.arange(-300, 301)
    buckets = Relative(shape(causal=causal)).bucket(offset)
    assert buckets.tolist() == [t5_bucket(i, bidirectional=not causal) for i in offset.tolist()]


def test_a_causal_stack_gives_all_relative_buckets_to_the_past() -> None:
    past = torch.arange(-300, 1)
    assert len(set(Relative(shape(causal=True)).bucket(past).tolist())) == 32
    assert len(set(Relative(shape(causal=False)).bucket(past).tolist())) == 16


class Tent(Position):
    """The example of CONTRIBUTING.md: a bias of a scheme that has neither parameters nor buffers."""

    relative = True
    biases = True

    def bias(self, offset: Tensor) -> Tensor:
        return -0.1 * offset.abs()[None]


@pytest.mark.parametrize("mask", ["causal", "none", "after-softmax"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@torch.no_grad()
def test_a_scheme_without_tensors_of_its_own_biases_the_scores(
    monkeypatch: pytest.MonkeyPatch, mask: str, dtype: torch.dtype
) -> None:
    monkeypatch.setitem(POSITIONS, "tent", Tent)
    task = TaskShape(kind="next-token", input_sizes=(9,), output_size=9)
    tokens = torch.randint(9, (B, T))
    weights = []
    for name in ("tent", "none"):
        model = build_model(small("decoder", position=name, decoder_mask=mask), task, 0).to(dtype)
        with attention_maps(model) as maps:
            model(tokens)
        weights.append(next(iter(maps.values()))[:, :, -1])  # of the last query, and of the first layer: equal inputs
    faded = weights[1] * torch.exp(-0.1 * torch.arange(T - 1, -1, -1, dtype=dtype))
    torch.testing.assert_close(weights[0], faded / faded.sum(-1, keepdim=True))


def test_a_scheme_without_tensors_of_its_own_is_told_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(POSITIONS, "tent", Tent)
    task = TaskShape(kind="tagging", input_sizes=(9,), output_size=5)
    model = build_model(small("encoder", position="tent"), task, 0).to("meta")
    tokens = torch.randint(9, (B, T), device="meta")
    assert model(tokens, torch.ones(B, T, dtype=torch.bool, device="meta")).shape == (B, T, 5)
