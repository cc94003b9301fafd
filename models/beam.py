"""Beam search over whole batches.

Shapes: B batch, N sentences still in the search (N <= B), K hypotheses of each, V target vocabulary, L tokens so far.
"""

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from models.decoding import Decodable, Hypothesis, StateT, within
from models.top import largest


@torch.inference_mode()
def beam_search(
    model: Decodable[StateT],
    source: Tensor,
    source_real: Tensor | None,
    start: int,
    end: int,
    max_length: Tensor,
    beam: int,
    length_penalty: float,
) -> list[list[Hypothesis]]:
    """The `beam` best translations found for each sentence of source (B, S), best first.

    At each step the `beam` likeliest continuations of a sentence stay in the beam, and an end that is among its `beam`
    likeliest next tokens finishes a hypothesis. A sentence is done with `beam` finished ones, or at its own limit
    `max_length` (B,), above 0, where what is running is taken as it stands. The greedy path always keeps a place, so
    that without a length penalty no result is less likely than the greedy one. Sentences do not depend on each other.
    """
    found = Found(within(max_length, model).tolist(), beam, length_penalty)
    state = model.start(source, source_real)
    beams = Beams.begin(source, start)
    while beams.sentences:
        logits, state = model.step(beams.tokens[:, :, -1].flatten(), state)
        longer, parents, ended = grow(beams, logits, end, beam)
        found.add_ended(beams, ended)
        found.add_cut_off(longer)
        running = found.running(longer)
        if len(running) < len(beams.sentences):
            rows = torch.tensor(running, dtype=torch.int64, device=source.device)
            state, longer, parents = state.sentences(rows), longer.select(rows), parents[rows]
        state, beams = state.hypotheses(parents.flatten()), longer
    return found.best()


@dataclass(frozen=True)
class Beams:
    """The hypotheses that are running."""

    sentences: list[int]
    """Place in the batch of each of the N sentences."""
    tokens: Tensor
    """(N, K, 1 + L), the start included."""
    log_p: Tensor
    """Log-probability (N, K) in nats."""
    on_greedy_path: Tensor
    """Whether the sentence's first hypothesis is the greedy one, (N,) bool."""

    @classmethod
    def begin(cls, source: Tensor, start: int) -> Self:
        """One hypothesis without tokens for each sentence of source (B, S)."""
        tokens = source.new_full((len(source), 1, 1), start)
        on_path = torch.ones(len(source), dtype=torch.bool, device=source.device)
        return cls(list(range(len(source))), tokens, torch.zeros_like(tokens[:, :, 0], dtype=torch.float32), on_path)

    @property
    def length(self) -> int:
        """Number of tokens of each hypothesis."""
        return self.tokens.shape[2] - 1

    def select(self, rows: Tensor) -> Self:
        """The sentences in the given rows (N,)."""
        sentences = [self.sentences[row] for row in rows.tolist()]
        return type(self)(sentences, self.tokens[rows], self.log_p[rows], self.on_greedy_path[rows])


def grow(beams: Beams, logits: Tensor, end: int, beam: int) -> tuple[Beams, Tensor, Tensor]:
    """Take one more token, given the logits (N K, V).

    Gives the longer hypotheses, (N, K') with K' <= `beam`; the row (N, K') of `logits` that each continues; and the
    log-probability (N, K) of the old ones with an end, -inf where that is not among the best next steps.
    """
    n, k = beams.log_p.shape
    step = logits.log_softmax(-1, dtype=torch.promote_types(logits.dtype, torch.float32))
    ended = beams.log_p + step[:, end].view(n, k)
    step[:, end] = -torch.inf
    top, ids = largest(step, min(beam, step.shape[1] - 1))
    longer = (beams.log_p[:, :, None] + top.view(n, k, -1)).flatten(1)  # log-probability of every candidate
    goes_on = beams.on_greedy_path & (longer[:, 0] > ended[:, 0])
    chosen = first_if(goes_on, longer).topk(min(beam, longer.shape[1])).indices
    slots = chosen // ids.shape[1]
    tokens = torch.cat((rows_of(beams.tokens, slots), ids.view(n, -1).gather(1, chosen)[:, :, None]), dim=2)
    kept = Beams(beams.sentences, tokens, longer.gather(1, chosen), goes_on)
    ranked = first_if(beams.on_greedy_path & ~goes_on, ended)
    ended = ended.masked_fill(~among_best(ranked, kept.log_p, beam), -torch.inf)
    return kept, slots + torch.arange(0, n * k, k, device=slots.device)[:, None], ended


def rows_of(tokens: Tensor, slots: Tensor) -> Tensor:
    """Tokens (N, K, L) of the hypotheses `slots` (N, K') of each sentence: (N, K', L)."""
    return tokens.gather(1, slots[:, :, None].expand(-1, -1, tokens.shape[2]))


def first_if(condition: Tensor, values: Tensor) -> Tensor:
    """`values` (N, K) with infinity in the first column where `condition` (N,) holds."""
    first = torch.zeros_like(values, dtype=torch.bool)
    first[:, 0] = condition
    return values.masked_fill(first, torch.inf)


def among_best(values: Tensor, others: Tensor, number: int) -> Tensor:
    """Which of `values` (N, K) are among the `number` largest of these and `others` (N, M): (N, K) bool."""
    better = torch.cat((others, values), dim=1)[:, None, :] > values[:, :, None]
    return better.sum(-1) < number


class Found:
    """The finished hypotheses of each sentence of a batch."""

    def __init__(self, limits: list[int], beam: int, length_penalty: float) -> None:
        self.limits = limits
        self.beam = beam
        self.length_penalty = length_penalty
        self.finished: list[list[Hypothesis]] = [[] for _ in limits]

    def add_ended(self, beams: Beams, ended: Tensor) -> None:
        """Those of `beams` whose log-probability with an end, `ended` (N, K), is not -inf."""
        rows, slots = (ended > -torch.inf).nonzero(as_tuple=True)
        values = zip(rows.tolist(), beams.tokens[rows, slots].tolist(), ended[rows, slots].tolist(), strict=True)
        for row, tokens, log_p in values:
            self._add(beams.sentences[row], tokens[1:], log_p, beams.length + 1)

    def add_cut_off(self, beams: Beams) -> None:
        """All of the sentences that are at their limit."""
        for row, sentence in enumerate(beams.sentences):
            if beams.length >= self.limits[sentence]:
                for tokens, log_p in zip(beams.tokens[row].tolist(), beams.log_p[row].tolist(), strict=True):
                    self._add(sentence, tokens[1:], log_p, beams.length)

    def _add(self, sentence: int, tokens: list[int], log_p: float, length: int) -> None:
        self.finished[sentence].append(Hypothesis(tokens, log_p, self.score(log_p, length)))

    def score(self, log_p: float, length: int) -> float:
        """What a hypothesis of `length` tokens is ranked by."""
        return log_p / length**self.length_penalty

    def running(self, beams: Beams) -> list[int]:
        """Rows of the sentences that are not done."""
        values = zip(beams.sentences, beams.log_p[:, 0].tolist(), beams.on_greedy_path.tolist(), strict=True)
        return [
            row
            for row, (sentence, log_p, greedy) in enumerate(values)
            if not self._done(sentence, beams.length, log_p, greedy)
        ]

    def _done(self, sentence: int, length: int, log_p: float, is_greedy: bool) -> bool:
        """At the limit, or with enough finished that the greedy path, if it still runs, cannot beat any more."""
        limit, finished = self.limits[sentence], self.finished[sentence]
        if length >= limit or len(finished) < self.beam:
            return length >= limit
        return not is_greedy or self.score(log_p, limit) <= max(hypothesis.score for hypothesis in finished)

    def best(self) -> list[list[Hypothesis]]:
        """The best of each sentence, best first."""
        return [sorted(each, key=lambda one: -one.score)[: self.beam] for each in self.finished]
