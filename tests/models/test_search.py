"""Length limits, and the choice between greedy and beam search."""

from typing import Any, cast

import torch

from models.beam import beam_search
from models.build import build_model
from models.config import ModelConfig, TaskShape
from models.decoding import Decodable, DecodeConfig
from models.greedy import greedy
from models.search import decode, length_limit

START, END, V = 1, 2, 19


def test_the_limit_is_the_sentences_own() -> None:
    source = torch.ones(2, 5).long()
    real = torch.tensor([[True] * 5, [True] * 2 + [False] * 3])
    assert length_limit(source, real).tolist() == [20, 14]
    assert length_limit(source, None).tolist() == [20, 20]


def test_the_configured_search_is_made() -> None:
    shape = TaskShape(kind="translation", input_sizes=(V,), output_size=V, shared_vocabulary=True, start=START, end=END)
    built = build_model(
        ModelConfig(architecture="encoder-decoder", d_model=12, n_heads=3, gain=3.0), shape, seed=5
    ).eval()
    model = cast("Decodable[Any]", built)
    source = torch.randint(3, V, (11, 7), generator=torch.Generator().manual_seed(3))
    limits = length_limit(source, None)
    greedily = decode(model, source, None, START, END, DecodeConfig())
    assert greedily == greedy(model, source, None, START, END, limits)
    found = {}
    for penalty in (0.0, 2.0):
        found[penalty] = decode(model, source, None, START, END, DecodeConfig(beam=4, length_penalty=penalty))
        best = [one[0].tokens for one in beam_search(model, source, None, START, END, limits, 4, penalty)]
        assert found[penalty] == best
    assert found[0.0] != greedily
    assert sum(map(len, found[2.0])) > sum(map(len, found[0.0]))
