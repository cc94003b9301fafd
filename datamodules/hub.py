"""Sentence pairs of the Hugging Face hub, by the library `datasets`, which is asked for only when it is used."""

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from datamodules.errors import DataError


def read_hub(name: str, config: str, split: str, languages: Sequence[str]) -> list[list[str]]:
    """Text of each language, from records {"translation": {"de": ..., "en": ...}} or columns named by language.

    Outer blanks are dropped, and a newline within a text becomes a blank.

    Args:
        name: a data set of the hub, or a local folder that `datasets` can load or has saved.
        config: which configuration of the data set; may be empty.
        split: which split, such as train.
        languages: which texts of a record.

    Raises:
        DataError: if `datasets` is not installed, or cannot load this; if there are no records, or one lacks a text.
    """
    records = _load(name, config, split)
    columns = records.column_names
    if "translation" in columns:
        pairs = list(records["translation"])
    elif set(languages) <= set(columns):
        pairs = list(records.select_columns(list(languages)))
    else:
        raise DataError(f"hub:{name}: columns {', '.join(columns)}: must be translation, or {' and '.join(languages)}")
    if not pairs:
        raise DataError(f"hub:{name}: split {split!r} has no records")
    return [[_text(pair, language, number, name) for number, pair in enumerate(pairs)] for language in languages]


def _load(name: str, config: str, split: str) -> Any:
    try:
        datasets = importlib.import_module("datasets")
    except ImportError as error:
        raise DataError(f"hub:{name}: needs the library datasets: pip install -e '.[hub]'") from error
    try:
        if any((Path(name) / file).is_file() for file in ("dataset_dict.json", "state.json")):
            saved = datasets.load_from_disk(name)
            return saved[split] if isinstance(saved, dict) else saved
        return datasets.load_dataset(name, config or None, split=split)
    except Exception as error:  # whatever the library, the network or the file systems below it may raise
        reason = " ".join(str(error).split())[:200]
        raise DataError(f"hub:{name}: split {split!r} cannot be loaded: {type(error).__name__}: {reason}") from error


def _text(pair: dict[str, Any] | None, language: str, number: int, name: str) -> str:
    text = (pair or {}).get(language)
    if not isinstance(text, str):
        raise DataError(f"hub:{name}: record {number}: {language}={text!r}: must be text")
    return text.replace("\n", " ").strip()
