"""Greedy search on scripted models, and on real ones in batches of several sizes."""

from dataclasses import dataclass
from typing import Any, Self, cast

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from models.build import build_model
from models.config import ModelConfig, TaskShape
from models.decoding import Decodable
from models.greedy import greedy
from models.search import length_limit

START, END, V = 1, 2, 19


@dataclass(frozen=True)
class Position:
    """State of a scripted model: which sentence a row is, and how many tokens it has."""

    sentence: Tensor
    length: Tensor

    def sentences(self, rows: Tensor) -> Self:
        return type(self)(self.sentence[rows], self.length)

    def hypotheses(self, rows: Tensor) -> Self:
        return type(self)(self.sentence, self.length[rows])


class Scripted:
    """Says its script for each sentence, whose number is the first source token; then `filler` for ever."""

    def __init__(self, scripts: list[list[int]], filler: int) -> None:
        self.scripts = scripts
        self.filler = filler
        self.longest: int | None = None
        self.n_rows: list[int] = []
        self.read: list[list[int]] = []

    def start(self, source: Tensor, source_real: Tensor | None) -> Position:
        return Position(source[:, 0], torch.zeros_like(source[:, 0]))

    def step(self, tokens: Tensor, state: Position) -> tuple[Tensor, Position]:
        self.n_rows.append(len(tokens))
        self.read.append(tokens.tolist())
        said = [
            script[at] if at < len(script := self.scripts[sentence]) else self.filler
            for sentence, at in zip(state.sentence.tolist(), state.length.tolist(), strict=True)
        ]
        logits = F.one_hot(torch.tensor(said), V).float()
        return logits, Position(state.sentence, state.length + 1)


def search(model: Scripted, sentences: list[int], limits: list[int]) -> list[list[int]]:
    source = torch.tensor(sentences)[:, None]
    return greedy(model, source, None, START, END, torch.tensor(limits))


def test_each_sentence_ends_at_its_own_end_token() -> None:
    scripts = [[5, 6, END, 7, 8], [END], [9, 9, 9, 9, 4, END], [3, END]]
    model = Scripted(scripts, filler=8)
    assert search(model, [0, 1, 2, 3], [30] * 4) == [[5, 6], [], [9, 9, 9, 9, 4], [3]]
    assert len(model.n_rows) == 6  # it stops with the last end token


def test_the_first_token_read_is_the_start_and_then_its_own_choice() -> None:
    model = Scripted([[5, 6, 7, END]], filler=8)
    search(model, [0], [30])
    assert model.read == [[START], [5], [6], [7]]


def test_a_model_that_never_ends_stops_at_each_sentences_own_limit() -> None:
    model = Scripted([[5], [6], []], filler=7)
    assert search(model, [0, 1, 2], [3, 1, 4]) == [[5, 7, 7], [6], [7, 7, 7, 7]]
    assert len(model.n_rows) == 4


def test_ended_sentences_are_dropped_and_order_is_kept() -> None:
    scripts = [[10 + i] * (8 - i) + [END] for i in range(8)]
    order = [3, 0, 7, 5, 1, 6, 2, 4]
    model = Scripted(scripts, filler=8)
    assert search(model, order, [30] * 8) == [[10 + i] * (8 - i) for i in order]
    assert model.n_rows[0] == 8
    assert model.n_rows[-1] == 1
    assert all(later <= earlier for earlier, later in zip(model.n_rows, model.n_rows[1:], strict=False))


def test_no_sentence_and_no_room() -> None:
    assert search(Scripted([[5]], filler=8), [0, 0], [0, 2]) == [[], [5, 8]]
    assert greedy(Scripted([], 8), torch.zeros(0, 3).long(), None, START, END, torch.zeros(0).long()) == []


def test_no_translation_is_longer_than_the_model_can_take() -> None:
    model = Scripted([[5, 6, END], []], filler=7)
    model.longest = 4
    assert search(model, [0, 1], [30, 30]) == [[5, 6], [7] * 4]


CONFIGS = {
    "transformer": ModelConfig(architecture="encoder-decoder", d_model=12, n_heads=3),
    "transformer, no mask": ModelConfig(architecture="encoder-decoder", d_model=12, n_heads=3, decoder_mask="none"),
    "transformer, no source": ModelConfig(architecture="encoder-decoder", d_model=12, cross_attention="none"),
    "lstm": ModelConfig(architecture="lstm", d_model=12),
    "gru, dot": ModelConfig(architecture="gru", d_model=12, cross_attention="dot"),
    "gru, fed": ModelConfig(architecture="gru", d_model=12, cross_attention="additive", input_feeding=True),
}


@pytest.mark.parametrize("size_of_vocabulary", [V, 388])
@pytest.mark.parametrize("name", CONFIGS)
def test_a_translation_does_not_depend_on_its_neighbours(name: str, size_of_vocabulary: int) -> None:
    """HB-23. Ten sentences in batches of 1, 3 and 10 against an argmax over the full pass of each alone."""
    n = size_of_vocabulary
    shape = TaskShape(kind="translation", input_sizes=(n,), output_size=n, shared_vocabulary=True, start=START, end=END)
    model = build_model(CONFIGS[name], shape, seed=5).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3)  # an untrained model says the same to every source; a wild one does not
    generator = torch.Generator().manual_seed(7)
    source = torch.randint(3, V, (10, 9), generator=generator)
    real = torch.arange(9) < torch.randint(1, 10, (10,), generator=generator)[:, None]
    expected = [alone(model, source[i : i + 1, : int(real[i].sum())]) for i in range(10)]
    assert len({tuple(sentence) for sentence in expected}) > 2 or name == "transformer, no source"
    for size in (1, 3, 10):
        given: list[list[int]] = []
        for part, part_real in zip(source.split(size), real.split(size), strict=True):  # type: ignore[no-untyped-call]
            translations = cast("Decodable[Any]", model)
            given += greedy(translations, part, part_real, START, END, length_limit(part, part_real))
        assert given == expected


@torch.no_grad()
def alone(model: Any, source: Tensor) -> list[int]:
    tokens = [START]
    while len(tokens) <= 2 * source.size(1) + 10:
        token = int(model(source, None, torch.tensor([tokens]), None)[0, -1].argmax())
        if token == END:
            break
        tokens.append(token)
    return tokens[1:]
