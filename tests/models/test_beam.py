"""Beam search against a plain search of one sentence, an exhaustive one, and the greedy one.

V vocabulary, S source length.
"""

import itertools
from typing import Any, cast

import pytest
import torch
from torch import Tensor

from models.beam import beam_search
from models.build import build_model
from models.config import ModelConfig, TaskShape
from models.decoding import Decodable, Hypothesis
from models.greedy import greedy
from models.search import length_limit

START, END, V, S = 1, 2, 17, 7
SHAPE = TaskShape(kind="translation", input_sizes=(V,), output_size=V, shared_vocabulary=True, start=START, end=END)

CONFIGS: dict[str, dict[str, Any]] = {
    "transformer": {"architecture": "encoder-decoder", "n_heads": 3},
    "rotary": {"architecture": "encoder-decoder", "n_heads": 3, "position": "rotary"},
    "alibi": {"architecture": "encoder-decoder", "n_heads": 3, "position": "alibi"},
    "relative": {"architecture": "encoder-decoder", "n_heads": 3, "position": "relative"},
    "learned": {"architecture": "encoder-decoder", "n_heads": 3, "position": "learned"},
    "no positions": {"architecture": "encoder-decoder", "n_heads": 3, "position": "none"},
    "no mask": {"architecture": "encoder-decoder", "n_heads": 3, "decoder_mask": "none"},
    "after-softmax": {"architecture": "encoder-decoder", "n_heads": 3, "decoder_mask": "after-softmax"},
    "masked encoder": {"architecture": "encoder-decoder", "n_heads": 3, "encoder_mask": "causal"},
    "uniform": {"architecture": "encoder-decoder", "n_heads": 3, "attention": "uniform"},
    "linear": {"architecture": "encoder-decoder", "n_heads": 3, "attention": "linear"},
    "window": {"architecture": "encoder-decoder", "n_heads": 3, "attention": "window", "window": 2},
    "identity maps": {"architecture": "encoder-decoder", "query_key": "identity", "output_projection": "identity"},
    "no source": {"architecture": "encoder-decoder", "cross_attention": "none"},
    "untied": {"architecture": "encoder-decoder", "tie_embeddings": False},
    "rnn": {"architecture": "rnn"},
    "lstm": {"architecture": "lstm", "n_layers": 3, "bidirectional": False},
    "gru, dot": {"architecture": "gru", "cross_attention": "dot", "d_hidden": 10},
    "lstm, additive": {"architecture": "lstm", "cross_attention": "additive"},
    "lstm, fed": {"architecture": "lstm", "cross_attention": "dot", "input_feeding": True},
}


def wild(changes: dict[str, Any]) -> Any:
    """A model whose sentences differ in what they say and in where they end."""
    model = build_model(ModelConfig(**{"d_model": 12, **changes}), SHAPE, seed=5).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(2.5)
    return model


def sources(n: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(7)
    lengths = torch.randint(1, S + 1, (n,), generator=generator)
    lengths[0] = S
    return torch.randint(3, V, (n, S), generator=generator), torch.arange(S) < lengths[:, None]


def search(model: Any, source: Tensor, real: Tensor | None, beam: int, penalty: float) -> list[list[Hypothesis]]:
    limits = length_limit(source, real)
    return beam_search(cast("Decodable[Any]", model), source, real, START, END, limits, beam, penalty)


@torch.no_grad()
def log_probabilities(model: Any, source: Tensor, tokens: list[int]) -> list[float]:
    """Of the token after `tokens`, by the full pass over source (1, S)."""
    return model(source, None, torch.tensor([[START, *tokens]]), None)[0, -1].log_softmax(-1).tolist()


def plain_beam(model: Any, source: Tensor, beam: int, penalty: float) -> list[tuple[list[int], float]]:
    """The same search over lists, one sentence (1, S), no batch, no cache; tokens and score, best first."""
    limit = 2 * source.size(1) + 10
    running: list[tuple[list[int], float]] = [([], 0.0)]
    done: list[tuple[list[int], float]] = []
    path: list[int] | None = []  # the greedy one, while it runs
    for length in range(1, limit + 1):
        steps = [
            (tokens, token, log_p + more)
            for tokens, log_p in running
            for token, more in enumerate(log_probabilities(model, source, tokens))
        ]
        greedy_step = max((step for step in steps if step[0] == path), key=lambda step: step[2], default=([], END, 0.0))
        steps.sort(key=lambda step: (step is not greedy_step, -step[2]))
        going_on = [step for step in steps if step[1] != END][:beam]
        ranked = [*[step for step in steps if step[1] == END], *going_on]
        ranked.sort(key=lambda step: (step is not greedy_step or step[1] != END, -step[2]))
        done += [(tokens, log_p / length**penalty) for tokens, token, log_p in ranked[:beam] if token == END]
        running = [([*tokens, token], log_p) for tokens, token, log_p in going_on]
        path = [*greedy_step[0], greedy_step[1]] if greedy_step[1] != END else None
        hope = running[0][1] / limit**penalty if path is not None else -float("inf")
        if length < limit and len(done) >= beam and hope <= max(score for _, score in done):
            break
    else:
        done += [(tokens, log_p / limit**penalty) for tokens, log_p in running]
    return sorted(done, key=lambda one: -one[1])[:beam]


@pytest.mark.parametrize(("name", "penalty"), [(name, float(i % 2)) for i, name in enumerate(CONFIGS)])
def test_batched_search_is_the_plain_search_of_each_sentence(name: str, penalty: float) -> None:
    """For every scheme, in batches of 1, 3 and 10 (HB-23): caches, reordering and padding change nothing."""
    model = wild(CONFIGS[name])
    source, real = sources(10)
    expected = [plain_beam(model, source[i : i + 1, : int(real[i].sum())], 3, penalty) for i in range(10)]
    for size in (1, 3, 10):
        found: list[list[Hypothesis]] = []
        for part, part_real in zip(source.split(size), real.split(size), strict=True):  # type: ignore[no-untyped-call]
            found += search(model, part, part_real, 3, penalty)
        assert [[one.tokens for one in each] for each in found] == [[tokens for tokens, _ in each] for each in expected]
        scores = torch.tensor([[one.score for one in each] for each in found])
        plain = torch.tensor([[score for _, score in each] for each in expected])
        torch.testing.assert_close(scores, plain, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", CONFIGS)
def test_beam_1_is_greedy_and_no_beam_is_less_likely(name: str) -> None:
    """HB-23: without a length penalty the best of a beam is never less likely than the greedy translation."""
    model = wild(CONFIGS[name])
    source, real = sources(30)
    greedily = greedy(model, source, real, START, END, length_limit(source, real))
    narrow = search(model, source, real, 1, 0.0)
    assert [one[0].tokens for one in narrow] == greedily
    better = 0
    for beam in (2, 3, 5):
        wide = search(model, source, real, beam, 0.0)
        for (alone, *_), (best, *_) in zip(narrow, wide, strict=True):
            assert best.log_probability >= alone.log_probability - 1e-4
            better += best.log_probability > alone.log_probability + 1e-4
    assert better > 0 or name == "no source"  # which says one sentence to all


def test_log_probabilities_are_those_of_the_full_pass() -> None:
    model = wild(CONFIGS["transformer"])
    source, _ = sources(4)
    limit = 2 * S + 10
    for row, hypotheses in enumerate(search(model, source, None, 4, 0.7)):
        assert len(hypotheses) == 4
        assert len({tuple(one.tokens) for one in hypotheses}) == 4
        assert [one.score for one in hypotheses] == sorted((one.score for one in hypotheses), reverse=True)
        for one in hypotheses:
            tokens = one.tokens if len(one.tokens) == limit else [*one.tokens, END]
            terms = [log_probabilities(model, source[row : row + 1], tokens[:t])[tokens[t]] for t in range(len(tokens))]
            assert one.log_probability == pytest.approx(sum(terms), abs=1e-4)
            assert one.score == pytest.approx(one.log_probability / len(tokens) ** 0.7)


def test_a_beam_as_wide_as_all_there_is_finds_the_best_of_all() -> None:
    """Three tokens at most over a vocabulary of five: every translation is scored by the full pass."""
    shape = TaskShape(kind="translation", input_sizes=(5,), output_size=5, shared_vocabulary=True, start=START, end=END)
    config = ModelConfig(architecture="encoder-decoder", d_model=12, n_heads=3, gain=2.0)
    model: Any = build_model(config, shape, seed=3).eval()
    source = torch.tensor([[3, 4, 4, 3], [4, 0, 3, 4], [0, 0, 4, 3]])
    found = beam_search(model, source, None, START, END, torch.tensor([3, 3, 3]), 200, 0.0)
    letters = [token for token in range(5) if token != END]
    ended = [[*words, END] for length in range(3) for words in itertools.product(letters, repeat=length)]
    cut_off = [list(words) for words in itertools.product(letters, repeat=3)]
    for row, (best, *_) in enumerate(found):
        chances = {}
        for tokens in [*ended, *cut_off]:
            terms = [log_probabilities(model, source[row : row + 1], tokens[:t])[tokens[t]] for t in range(len(tokens))]
            chances[tuple(tokens)] = sum(terms)
        likeliest = max(chances, key=lambda tokens: chances[tokens])
        assert [*best.tokens, END][: len(likeliest)] == list(likeliest)
        assert best.log_probability == pytest.approx(chances[likeliest], abs=1e-4)
        assert len(found[row]) == min(200, len(ended) + len(cut_off))


def test_a_model_that_never_ends_stops_at_each_sentences_own_limit() -> None:
    """HB-23."""
    model = wild(CONFIGS["transformer"])
    with torch.no_grad():
        model.head.bias[END] = -1e4
    source, real = sources(3)
    limits = torch.tensor([4, 1, 9])
    found = beam_search(model, source, real, START, END, limits, 3, 1.0)
    assert [[len(one.tokens) for one in each] for each in found] == [[4] * 3, [1] * 3, [9] * 3]


class Undecided:
    """Every token is as likely as any other, the end among them."""

    longest = None

    def __init__(self, size: int) -> None:
        self.size = size

    def start(self, source: Tensor, source_real: Tensor | None) -> Any:
        return self

    def step(self, tokens: Tensor, state: Any) -> tuple[Tensor, Any]:
        return torch.zeros(len(tokens), self.size), self

    def sentences(self, rows: Tensor) -> Any:
        return self

    def hypotheses(self, rows: Tensor) -> Any:
        return self


@pytest.mark.parametrize("size", [19, 4000])
def test_the_end_wins_a_tie_in_both_searches(size: int) -> None:
    source = torch.zeros(2, 3, dtype=torch.int64)
    limits = length_limit(source, None)
    model: Any = Undecided(size)
    assert greedy(model, source, None, START, END, limits) == [[], []]
    narrow = beam_search(model, source, None, START, END, limits, 1, 1.0)
    assert [one[0].tokens for one in narrow] == [[], []]


@pytest.mark.parametrize("position", ["sinusoidal", "rotary", "alibi", "relative", "learned", "none"])
def test_weights_in_half_precision_translate(position: str) -> None:
    model = wild({"architecture": "encoder-decoder", "n_heads": 3, "position": position}).to(torch.bfloat16)
    source, real = sources(3)
    found = search(model, source, real, 3, 1.0)
    assert all(one.log_probability < 0 for each in found for one in each)


def test_finished_sentences_stop_costing() -> None:
    """The rows that are stepped shrink with the sentences that are left."""
    model = wild(CONFIGS["gru, dot"])
    source, real = sources(13)
    rows: list[int] = []
    step = model.step

    def counted(tokens: Tensor, state: Any) -> Any:
        rows.append(len(tokens))
        return step(tokens, state)

    model.step = counted
    search(model, source, real, 3, 0.0)
    assert rows[0] == 13
    assert rows[1] == 39
    assert all(later <= earlier for earlier, later in itertools.pairwise(rows[1:]))
    assert rows[-1] < 39


def test_the_memory_of_a_source_is_not_copied_for_its_hypotheses() -> None:
    model = wild(CONFIGS["transformer"])
    source, _ = sources(3)
    state = model.start(source, None).hypotheses(torch.tensor([0, 0, 1, 1, 2, 2]))
    tokens = torch.tensor([4, 5, 6, 7, 8, 9])
    logits, state = model.step(tokens, state)
    assert [len(keys) for keys, _ in state.memory.layers] == [3, 3]
    target = torch.stack((torch.full_like(tokens, 4), tokens))[1:].T
    expected = model(source.repeat_interleave(2, 0), None, target, None)[:, -1]
    torch.testing.assert_close(logits, expected, rtol=0, atol=1e-5)
