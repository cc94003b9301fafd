"""What a model reads of the future, and what it knows without.

B batch, T length, F factors, R rows, V classes.
"""

import copy
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from models.losses import IGNORED, Batch, predict, token_loss
from models.probes.base import Measurement, exact_copy, largest
from models.probes.inputs import first, read_one_by_one, sequences
from models.probes.sample import real_queries
from models.probes.sizes import vocabularies

ROWS = 32
DRAWS = 4
SEQUENCES = 128


@torch.no_grad()
def leak(model: nn.Module, batches: Sequence[Batch]) -> list[Measurement]:
    """leak: largest change of a logit when all tokens behind its position change; 0 where no future is read.

    In double precision and in evaluation mode, with 4 other futures for each of 32 sequences. Each begins at a place of
    its own, so that up to a length of 129 every place is tried. For a translator on the target's side. An encoder reads
    the future by design. Raises ValueError for sequences of one token.
    """
    exact = exact_copy(model).eval()
    batch = _rows(batches[0], ROWS)
    side = read_one_by_one(batch)
    tokens = batch[side]
    length = tokens.shape[1]
    if length < 2:
        raise ValueError("leak: needs sequences of two tokens or more")
    before, draw, changes = predict(exact, batch), torch.Generator().manual_seed(0), []
    for first_place in range(DRAWS):
        places = torch.arange(first_place, ROWS * DRAWS, DRAWS) * (length - 1) // (ROWS * DRAWS)
        future = torch.arange(length) > places[:, None]  # (R, T)
        other = _others(exact, tokens, draw)
        changed = batch | {side: other.where(future.view(future.shape + (1,) * (tokens.dim() - 2)), tokens)}
        changes.append((predict(exact, changed) - before)[~future].abs().max().item())
    return [Measurement("leak", "", largest(changes))]


def _rows(batch: Batch, n: int) -> Batch:
    """`n` rows of the tensors of a batch, from the first on and again; without padding, whose place is no token's."""
    rows = torch.arange(n) % len(batch["targets"])
    kept = {name: part[rows] for name, part in batch.items() if isinstance(part, Tensor)}
    return {"source_real": None} | kept | {"real": None, "target_real": None}


def _others(model: nn.Module, tokens: Tensor, draw: torch.Generator) -> Tensor:
    """Tokens (R, T) or (R, T, F), each another than it was."""
    sizes = torch.tensor(vocabularies(model)) if tokens.dim() == 3 else torch.tensor(vocabularies(model)[0])
    shift = torch.rand(tokens.shape, generator=draw, dtype=torch.float64) * (sizes - 1)
    return (tokens + 1 + shift.long()) % sizes


@torch.no_grad()
def honest_loss(model: nn.Module, batches: Sequence[Batch]) -> list[Measurement]:
    """honest_loss in nats a target: the loss where each target is predicted from the tokens up to its position alone.

    The model is fed every prefix x[:t], t = 1..T, of at most 128 sequences of the first batch, and read at its last
    position, where dropout is off. For a model that reads no future it is the loss; for one that does, what it knows.
    Raises ValueError for a translation, and for a tagger that reads in both directions, whose answers may stand in the
    future.
    """
    batch = first(batches[0], SEQUENCES)
    inputs = sequences(batch, "honest-loss")
    if not _predicts_next(batch) and leak(model, batches)[0].value > 0:
        raise ValueError("honest-loss: needs a model that reads from left to right, or a task of next tokens")
    still = copy.deepcopy(model).eval()
    # padding stands behind each real position, where no prefix that counts has it
    last = [predict(still, {"inputs": inputs[:, :t]})[:, -1] for t in range(1, inputs.shape[1] + 1)]
    loss = token_loss(torch.stack(last, dim=1), batch["targets"], smoothing=0.0)
    return [Measurement("honest_loss", "", (loss.nats.double().sum() / loss.tokens.clamp(min=1)).item())]


def _predicts_next(batch: Batch) -> bool:
    """Whether each target is the next input."""
    if batch["targets"].shape != batch["inputs"].shape:
        return False
    targets, following = batch["targets"][:, :-1], batch["inputs"][:, 1:]
    counts = (targets != IGNORED) & real_queries(batch, "")[:, 1:]
    return torch.equal(targets[counts], following[counts])
