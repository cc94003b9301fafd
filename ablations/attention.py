"""`ablations attention`: the attention weights of one sentence, as tidy data.

Shapes: B = 1 sentence, T length, S source length, H heads, Tq queries, Tk keys, F factors.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from ablations.restore import Trained, restore
from ablations.text import source_ids, target_ids
from datamodules.batching import pad
from datamodules.errors import DataError
from datamodules.parallel import ParallelData
from datamodules.vocabulary import END, PAD, START, UNKNOWN, Vocabulary
from models.attention import attention_maps, watched
from models.config import RECURRENT, ConfigError
from models.decoding import Decodable
from models.recurrent_attention import Attention as RecurrentAttention
from models.recurrent_attention import Memory, masked_softmax
from models.search import decode

ENCODER, DECODER, CROSS, EARLIER = PARTS = ("encoder", "decoder", "cross-attention", "earlier states")
"""What attention may be part of, in the order of the figure."""
SPECIAL = {PAD: "<pad>", START: "<s>", END: "</s>", UNKNOWN: "<unk>"}
CONTINUED = "·"
"""Stands before a piece that goes on with a word."""


class Shown(NamedTuple):
    """What a model is shown of a sentence."""

    inputs: tuple[Tensor | None, ...]
    """Arguments of its forward pass."""
    source: list[str]
    """Tokens that an encoder reads, or a model of one stack."""
    target: list[str]
    """Tokens that a decoder beside an encoder reads; else none."""


def attention_of_runs(folders: Sequence[Path], sentence: str, target: str | None) -> pd.DataFrame:
    """Every weight of every run, one a row: run (a title), part, layer, head, query, key, their tokens, weight.

    Of translation runs, `target` is the translation to look at; None: the run's own.

    Raises RowsError, ConfigError or DataError where a run cannot be had, has no attention or cannot read the sentence.
    """
    torch.set_num_threads(1)
    runs = [restore(folder) for folder in folders]
    if len({run.file["id"] for run in runs}) < len(runs):
        raise ConfigError(f"run {runs[0].file['id']}: named twice; give another run as OTHER")
    made = zip(runs, titles(runs), strict=True)
    return pd.concat([attention_of(run, sentence, target).assign(run=title) for run, title in made], ignore_index=True)


def titles(runs: Sequence[Trained]) -> list[str]:
    """Names of the variants, with as much more as tells them apart."""
    files = [run.file for run in runs]
    short = [file["variant"] for file in files]
    long = [f"{file['experiment']}, {file['variant']}, seed {file['seed']}" for file in files]
    full = [f"{name} ({file['id']})" for name, file in zip(long, files, strict=True)]
    return next((names for names in (short, long, full) if len(set(names)) == len(names)), full)


def attention_of(run: Trained, sentence: str, target: str | None) -> pd.DataFrame:
    """The weights of one run, as `attention_of_runs` gives them, without the title."""
    try:
        shown = _shown(run, sentence, target)
        with torch.no_grad(), attention_maps(run.model) as maps, recurrent_maps(run.model) as steps:
            run.model(*shown.inputs)
    except ValueError as error:  # not to be read, or longer than a table of positions
        raise DataError(f"run {run.file['id']}: {error}") from error
    found = maps | {name: torch.cat(weights, dim=1)[:, None] for name, weights in steps.items()}
    if not found:
        raise ConfigError(f"run {run.file['id']}: its model, {run.settings.model.architecture}, has no attention")
    placed = sorted((*_place(run, name), name) for name in found)
    return pd.concat([_tidy(PARTS[part], layer, found[name][0], shown) for part, layer, name in placed])


def _shown(run: Trained, sentence: str, target: str | None) -> Shown:
    if isinstance(run.data, ParallelData):
        return _pair(run, run.data, sentence.strip(), target)
    if target is not None:
        raise DataError(f"target={target!r}: its task {run.settings.task_name} has none")
    return _sequence(run, sentence)


def _pair(run: Trained, data: ParallelData[Any], sentence: str, target: str | None) -> Shown:
    """A source and its translation: the given one, or else what the run's own search finds."""
    source = source_ids(run, sentence)
    ids, real = pad([source])
    if target is None:
        (found,) = decode(cast("Decodable[Any]", run.model), ids, real, START, END, run.settings.decode)
        read = np.array([START, *found])
    else:
        read = target_ids(run, target.strip())
    return Shown(
        (ids, real, torch.from_numpy(read)[None], None),
        [*pieces(data.source_vocabulary, source[:-1].tolist()), SPECIAL[END]],
        [SPECIAL[START], *pieces(data.target_vocabulary, read[1:].tolist())],
    )


def _sequence(run: Trained, sentence: str) -> Shown:
    """Numbers with blanks between; of a factored input (T, F), the factors of a position with commas between."""
    tokens, sizes = sentence.split(), run.data.input_sizes
    rows = [token.split(",") for token in tokens]
    numbers = [[int(part) for part in row if re.fullmatch("[0-9]{1,9}", part)] for row in rows]
    inside = all(len(row) == len(sizes) and all(map(int.__lt__, row, sizes)) for row in numbers)
    if not rows or not inside or [len(row) for row in rows] != [len(row) for row in numbers]:
        limits = ",".join(f"0..{size - 1}" for size in sizes)
        raise DataError(f"sentence={sentence!r}: must be numbers, {limits} at each position")
    inputs = torch.tensor([numbers])
    return Shown((inputs[..., 0] if len(sizes) == 1 else inputs,), tokens, [])


def pieces(vocabulary: Vocabulary, ids: list[int]) -> list[str]:
    """Tokens one by one, as they add to the text; those that go on with a word are marked."""
    names, before = [], ""
    for place, index in enumerate(ids):
        text = vocabulary.decode(ids[: place + 1])
        new, before = text[len(before) :], text
        mark = "" if place == 0 or new.startswith(" ") else CONTINUED
        names.append(mark + new.strip() if new.strip() else SPECIAL.get(index, "▁"))
    return names


@contextmanager
def recurrent_maps(model: nn.Module) -> Iterator[dict[str, list[Tensor]]]:
    """As `attention_maps`, for recurrent nets: the weights (B, Tq, Tk) of every call, by name of the module."""
    maps: dict[str, list[Tensor]] = {}

    def record(module: RecurrentAttention, inputs: tuple[Tensor, Memory], name: str) -> None:
        states, (keys, _, mask) = inputs
        maps.setdefault(name, []).append(masked_softmax(module.scores(states, keys), mask))

    with watched(model, RecurrentAttention, record):
        yield maps


def _place(run: Trained, name: str) -> tuple[int, int]:
    """Index in PARTS and layer, from 1, of an attention module."""
    architecture = run.settings.model.architecture
    layer = re.search(r"layers\.(\d+)\.", name)
    if architecture in RECURRENT:
        part = CROSS if isinstance(run.data, ParallelData) else EARLIER
    elif ".cross_attention." in name:
        part = CROSS
    else:
        part = ENCODER if name.startswith("encoder.") or architecture == ENCODER else DECODER
    return PARTS.index(part), int(layer[1]) + 1 if layer else 1


def _tidy(part: str, layer: int, weights: Tensor, shown: Shown) -> pd.DataFrame:
    """Weights (H, Tq, Tk) of a layer, one a row."""
    target = shown.target or shown.source
    queries, keys = (shown.source if part == ENCODER else target), (target if part == DECODER else shown.source)
    head, query, key = (index.ravel() for index in np.indices(weights.shape))
    columns = {
        "layer": layer,
        "head": head + 1,
        "query": query,
        "key": key,
        "query_token": np.array(queries, dtype=object)[query],
        "key_token": np.array(keys, dtype=object)[key],
        "weight": weights.numpy().ravel(),
    }
    return pd.DataFrame(columns).assign(part=pd.Categorical([part] * head.size, PARTS))
