"""Sentences as a trained translation run reads them. T tokens."""

from typing import Any, cast

import numpy as np

from ablations.restore import Trained
from datamodules.errors import DataError
from datamodules.parallel import ParallelData
from datamodules.splits import Integers
from datamodules.vocabulary import END, START, Vocabulary
from models.config import ConfigError
from models.decoding import Decodable


def translation_data(run: Trained) -> ParallelData[Any]:
    """The run's task, which must be one of translation. Raises ConfigError where it is not."""
    if isinstance(run.data, ParallelData):
        return run.data
    raise ConfigError(f"run {run.file['id']}: its task {run.settings.task_name} translates nothing")


def source_ids(run: Trained, text: str) -> Integers:
    """Tokens (T,) of a source, with END. Raises DataError where the run lacks a word or the room for so many."""
    return _checked(run, np.append(_encode(translation_data(run).source_vocabulary, text), END))


def target_ids(run: Trained, text: str) -> Integers:
    """Tokens (T,) of a target as the decoder reads it, from START on. Raises DataError as `source_ids` does."""
    return _checked(run, np.insert(_encode(translation_data(run).target_vocabulary, text), 0, START))


def _encode(vocabulary: Vocabulary, text: str) -> Integers:
    try:
        return vocabulary.encode([text])[0]
    except KeyError as error:
        raise DataError(
            f"{error.args[0]!r} is not in the vocabulary of the training text (between two words stands one blank)"
        ) from error


def _checked(run: Trained, ids: Integers) -> Integers:
    """The same tokens. Raises DataError if they are more than the model's position table has rows."""
    longest = cast("Decodable[Any]", run.model).longest
    if longest is not None and len(ids) > longest:
        raise DataError(f"{len(ids)} tokens with start or end, and the model has positions for {longest}")
    return ids
