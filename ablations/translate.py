"""`ablations translate`: lines as they arrive, through a trained run, and out again in their order."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from io import BufferedIOBase
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import torch

from ablations.restore import Trained, restore
from ablations.text import source_ids, translation_data
from datamodules.batching import cut, pad
from datamodules.errors import DataError
from datamodules.parallel import TOKENS_A_BATCH
from datamodules.splits import Integers
from datamodules.vocabulary import END, START
from models.beam import beam_search
from models.config import ConfigError
from models.decoding import Decodable, DecodeConfig
from models.search import decode, length_limit

CHUNK = 1 << 16  # bytes that are read at once, if so many are there
SENTENCES = 64  # of a batch


@dataclass(frozen=True)
class Candidate:
    """A translation that was found."""

    text: str
    score: float | None = None
    """What it was ranked by; None if it was not asked for."""
    log_probability: float | None = None
    """In nats, the end included; None if it was not asked for."""


@dataclass(frozen=True)
class Sentence:
    """A line of the input."""

    line: int
    """Its number, from 1."""
    text: str
    """Without its outer blanks."""
    ids: Integers
    """Its tokens (T,), with END."""


Translated = tuple[Sentence, list[Candidate]]
"""A line, and what was found for it, best first."""


def translate_stream(
    folder: Path,
    stream: BufferedIOBase,
    sink: BinaryIO,
    *,
    beam: int | None,
    length_penalty: float | None,
    nbest: int | None,
    scores: bool,
    as_json: bool,
    threads: int,
) -> None:
    """Translate the lines of `stream` with the run in a folder, and write what is found to `sink` batch by batch.

    Raises RowsError, ConfigError or DataError: for the run and the search before anything is read, for a line that
    cannot be translated after those before it are written.
    """
    torch.set_num_threads(threads)
    run = restore(folder)
    search = search_settings(run, beam, length_penalty, nbest)
    listed = scores or as_json or nbest is not None
    for batch in translate(run, stream, search, listed=listed):
        for sentence, found in batch:
            best = found[: nbest or 1]
            ranked = nbest is not None
            shown = json_line(sentence, best) if as_json else text_lines(sentence, best, ranked=ranked, scores=scores)
            sink.write(f"{shown}\n".encode())
        sink.flush()


def search_settings(run: Trained, beam: int | None, length_penalty: float | None, nbest: int | None) -> DecodeConfig:
    """The run's own search, with what is given in place of it.

    Raises ConfigError where the run translates nothing, where a value is wrong or has no effect, and where more
    translations are wanted than the search keeps.
    """
    translation_data(run)
    own = run.settings.decode
    beam = own.beam if beam is None else beam
    if length_penalty is None:
        length_penalty = own.length_penalty if beam > 1 else DecodeConfig.length_penalty
    if nbest is not None and nbest > beam:
        raise ConfigError(f"nbest={nbest}: must be at most the beam, which is {beam}; give --beam {nbest}")
    return DecodeConfig(beam=beam, length_penalty=length_penalty)


def translate(
    run: Trained, stream: BufferedIOBase, search: DecodeConfig, *, listed: bool
) -> Iterator[list[Translated]]:
    """Every line, batch by batch: its best translation, or if `listed` the whole beam with scores.

    What has arrived is translated without waiting for more. Raises DataError at a line that cannot be translated, with
    its number, after those before it.
    """
    first = 1
    for lines in arriving(stream):
        sentences, refusal = _sentences(run, lines, first)
        first += len(lines)
        for batch in _batches(sentences):
            yield list(zip(batch, _candidates(run, batch, search, listed), strict=True))
        if refusal is not None:
            raise refusal


def arriving(stream: BufferedIOBase) -> Iterator[list[bytes]]:
    """Lines, as many at a time as are there. Only a newline ends one."""
    rest = b""
    while chunk := stream.read1(CHUNK):
        *lines, rest = (rest + chunk).split(b"\n")
        if lines:
            yield lines
    if rest:
        yield [rest]


def _sentences(run: Trained, lines: Sequence[bytes], first: int) -> tuple[list[Sentence], DataError | None]:
    """The lines, numbered from `first`, up to one that cannot be translated, and what is wrong with that."""
    sentences: list[Sentence] = []
    for number, line in enumerate(lines, start=first):
        try:
            sentences.append(_sentence(run, number, line))
        except DataError as error:
            return sentences, DataError(f"standard input, line {number}: {error}")
    return sentences, None


def _sentence(run: Trained, number: int, line: bytes) -> Sentence:
    try:
        text = line.decode("utf-8").removeprefix("\ufeff" if number == 1 else "").strip()
    except UnicodeDecodeError as error:
        raise DataError(f"not UTF-8 (byte 0x{line[error.start]:02x})") from error
    return Sentence(number, text, source_ids(run, text) if text else np.array([END]))


def _batches(sentences: Sequence[Sentence]) -> Iterator[Sequence[Sentence]]:
    """Neighbours, as many as fit into a batch with their padding."""
    cuts = [*cut([len(sentence.ids) for sentence in sentences], TOKENS_A_BATCH, SENTENCES), len(sentences)]
    for begin, end in pairwise(cuts):
        yield sentences[begin:end]


def _candidates(run: Trained, batch: Sequence[Sentence], search: DecodeConfig, listed: bool) -> list[list[Candidate]]:
    """What is found for each sentence. An empty one stays empty, without asking the model."""
    asked = [sentence.ids for sentence in batch if sentence.text]
    found = iter(_search(run, asked, search, listed) if asked else [])
    return [next(found) if sentence.text else [Candidate("")] for sentence in batch]


def _search(run: Trained, sources: list[Integers], search: DecodeConfig, listed: bool) -> list[list[Candidate]]:
    model, detokenise = cast("Decodable[Any]", run.model), run.data.detokenise
    source, real = pad(sources)
    if not listed:
        return [[Candidate(detokenise(ids))] for ids in decode(model, source, real, START, END, search)]
    limits = length_limit(source, real)
    found = beam_search(model, source, real, START, END, limits, search.beam, search.length_penalty)
    return [[Candidate(detokenise(one.tokens), one.score, one.log_probability) for one in each] for each in found]


def text_lines(sentence: Sentence, found: Sequence[Candidate], *, ranked: bool, scores: bool) -> str:
    """A line for each, tabs between the columns: line number and rank, score and log-probability, text."""
    rows = []
    for rank, candidate in enumerate(found, start=1):
        columns = [str(sentence.line), str(rank)] if ranked else []
        columns += [_number(candidate.score), _number(candidate.log_probability)] if scores else []
        rows.append("\t".join([*columns, candidate.text]))
    return "\n".join(rows)


def json_line(sentence: Sentence, found: Sequence[Candidate]) -> str:
    """One object: line, source, translations."""
    content = {"line": sentence.line, "source": sentence.text, "translations": [asdict(one) for one in found]}
    return json.dumps(content, ensure_ascii=False, allow_nan=False)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"
