"""Subword vocabularies: byte-pair encoding (Sennrich et al. 2016) by sentencepiece, trained once and kept on disk."""

import hashlib
import io
import os
import re
from pathlib import Path

import numpy as np
import sentencepiece
from filelock import FileLock

from datamodules.errors import DataError
from datamodules.splits import Integers
from datamodules.vocabulary import END, PAD, START, UNKNOWN

LONGEST_LINE = 1_000_000  # bytes; sentencepiece leaves out longer ones without a word
HASH = hashlib.sha256().digest_size


class Subwords:
    """A sentencepiece model.

    Args:
        model: the model file's contents.
    """

    def __init__(self, model: bytes) -> None:
        self.model = model
        self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        self.size: int = self._processor.get_piece_size()

    def encode(self, texts: list[str]) -> list[Integers]:
        """Ids of each text, (T,) each; characters that the training text lacks become UNKNOWN."""
        return [np.array(ids, dtype=np.int64) for ids in self._processor.encode(texts, num_threads=1)]

    def decode(self, ids: list[int]) -> str:
        """Plain text; unknown characters are left out."""
        return self._processor.decode([index for index in ids if index != UNKNOWN]).strip()


def cache_folder() -> Path:
    """Where trained models are kept: $ABLATIONS_CACHE, or `runs/.cache` in the current folder."""
    return Path(os.environ.get("ABLATIONS_CACHE") or "runs/.cache")


def load_or_train(lines: list[str], vocabulary: int) -> Subwords:
    """The subword model of a training text, from the cache if it is there whole.

    Args:
        lines: the training text.
        vocabulary: number of pieces, the four special ones included.

    Raises:
        DataError: if the text is too small for so many pieces, or has more characters than that; if the cache cannot be
            written.
    """
    path = cache_folder() / "subwords" / f"{_key(lines, vocabulary)}.model"
    try:
        return Subwords(_kept(path) or _train_into(path, lines, vocabulary))
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}; set ABLATIONS_CACHE to a folder that can be written") from error


def _train_into(path: Path, lines: list[str], vocabulary: int) -> bytes:
    """Train and keep a model; of several processes the first trains, the others wait for it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.with_suffix(".lock")):
        if model := _kept(path):
            return model
        model = train(lines, vocabulary)
        part = path.with_suffix(".part")
        part.write_bytes(hashlib.sha256(model).digest() + model)
        part.replace(path)  # never half a file under the final name
        return model


def _kept(path: Path) -> bytes | None:
    """The model in the cache; None if there is none, or if it is not as it was written, by the hash in front of it."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    digest, model = data[:HASH], data[HASH:]
    return model if hashlib.sha256(model).digest() == digest else None


def train(lines: list[str], vocabulary: int) -> bytes:
    """Contents of the model file for a training text; a pure function of the two.

    Raises:
        DataError: if the text is too small for so many pieces, or has more characters than that.
    """
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines),
            model_writer=model,
            model_type="bpe",
            vocab_size=vocabulary,
            character_coverage=1.0,
            max_sentence_length=LONGEST_LINE,
            pad_id=PAD,
            bos_id=START,
            eos_id=END,
            unk_id=UNKNOWN,
            num_threads=1,
            minloglevel=2,  # errors only
        )
    except RuntimeError as error:
        raise _refused(vocabulary, str(error)) from error
    return model.getvalue()


def _key(lines: list[str], vocabulary: int) -> str:
    digest = hashlib.sha256(f"{sentencepiece.__version__} bpe {vocabulary}\n".encode())
    digest.update("\n".join(lines).encode())
    return digest.hexdigest()[:16]


def _refused(vocabulary: int, message: str) -> DataError:
    """Sentencepiece's complaint about the size, in one line."""
    if most := re.search(r"value <= (\d+)", message):
        reason = f"must be at most {most[1]} for a training text this small"
    elif least := re.search(r"required_chars\D*\d+ vs (\d+)", message):
        reason = f"must be at least {least[1]} for the characters of the training text"
    else:
        reason = f"refused by sentencepiece: {' '.join(message.split())}"
    return DataError(f"vocabulary={vocabulary}: {reason}")
