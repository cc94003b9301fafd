"""Greedy search: the likeliest next token, again and again.

Shapes: B batch, S source length.
"""

import torch
from torch import Tensor

from models.decoding import Decodable, StateT, within
from models.top import largest

SHRINK = 0.75
"""Ended sentences are dropped once the share of running ones is no greater: copying must pay for itself."""


@torch.inference_mode()
def greedy(
    model: Decodable[StateT], source: Tensor, source_real: Tensor | None, start: int, end: int, max_length: Tensor
) -> list[list[int]]:
    """The likeliest next token, again and again, until `end` or the sentence's own limit `max_length` (B,).

    Gives the tokens of each sentence of `source` (B, S) in its order, without `start` and `end`. A sentence's
    translation does not depend on the others of its batch. Dropout is on if the model is in training mode.
    """
    limits: list[int] = within(max_length, model).tolist()
    outputs: list[list[int]] = [[] for _ in limits]
    running = [limit > 0 for limit in limits]
    rows = list(range(len(limits)))  # sentence of each row of the state
    state = model.start(source, source_real)
    tokens = source.new_full((len(rows),), start)
    while any(running):
        if sum(running) <= SHRINK * len(rows):
            keep = [i for i, row in enumerate(rows) if running[row]]
            index = torch.tensor(keep, device=source.device)
            state = state.sentences(index).hypotheses(index)
            tokens, rows = tokens[index], [rows[i] for i in keep]
        logits, state = model.step(tokens, state)
        top, tokens = (part.squeeze(1) for part in largest(logits, 1))
        tokens = tokens.masked_fill(logits[:, end] >= top, end)  # the end wins a tie, as in beam search
        for row, token in zip(rows, tokens.tolist(), strict=True):
            if running[row] and token != end:
                outputs[row].append(token)
            running[row] = running[row] and token != end and len(outputs[row]) < limits[row]
    return outputs
