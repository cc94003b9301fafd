"""Translation of real text: any parallel corpus, cut into subwords."""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, get_args

import numpy as np

from datamodules.base import Batch, Held, TaskConfig
from datamodules.errors import DataError, check_choice, check_integer, check_unused
from datamodules.parallel import Pairs, ParallelData
from datamodules.parallel_text import contents, find, read_pairs
from datamodules.splits import SPLITS, Integers, Split
from datamodules.subwords import load_or_train

Sharing = Literal["joint", "separate"]


@dataclass(frozen=True, kw_only=True)
class TranslationConfig(TaskConfig):
    """Settings of the task `translation`."""

    path_fields: ClassVar[tuple[str, ...]] = (
        "root",
        "corpus",
        "train",
        "validation",
        "test",
        "train_files",
        "validation_files",
        "test_files",
    )

    root: str = ""
    """Folder of the text files; empty: the folder `corpus` of $ABLATIONS_DATA."""

    corpus: str = "multi30k"
    """Folder of $ABLATIONS_DATA (with an empty root)."""

    source: str = "de"
    """Language to translate from, as in the names of the files."""

    target: str = "en"
    """Language to translate into."""

    train: str = "train"
    """Training text: the files NAME.LANGUAGE or NAME.LANGUAGE.gz of the folder, one for each language."""

    validation: str = "val"
    """Validation text, likewise."""

    test: str = "test_2016_flickr"
    """Test text, likewise."""

    train_files: tuple[str, ...] = ()
    """Paths of the two training files, source and target, in place of `train`."""

    validation_files: tuple[str, ...] = ()
    """Paths of the two validation files, in place of `validation`."""

    test_files: tuple[str, ...] = ()
    """Paths of the two test files, in place of `test`."""

    subwords: Sharing = "joint"
    """One subword vocabulary for both languages, or one for each."""

    vocabulary: int = 4000
    """Pieces of a subword vocabulary."""

    max_length: int = 100
    """Training pairs with more pieces than this on either side are left out; test pairs never are."""

    limit: int | None = None
    """Train on this many pairs only, drawn by data_seed, smaller sets within larger ones. The subwords are still those
    of the whole training text, so that losses can be compared."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for split in SPLITS:
            object.__setattr__(self, f"{split}_files", tuple(getattr(self, f"{split}_files")))
            self._check_files(split)
        check_choice("subwords", self.subwords, get_args(Sharing))
        check_integer("vocabulary", self.vocabulary, 5)
        check_integer("max_length", self.max_length, 1)
        if self.limit is not None:
            check_integer("limit", self.limit, 1)

    def _check_files(self, split: Split) -> None:
        files = getattr(self, f"{split}_files")
        if not files:
            return
        if len(files) != 2:
            raise DataError(f"{split}_files={files!r}: must be two paths, source and target")
        default = getattr(TranslationConfig, split)
        check_unused(split, getattr(self, split), default, f"has no effect with {split}_files")


class Translation(ParallelData[TranslationConfig]):
    """Sentence pairs from files; line n of one file is the translation of line n of the other.

    Example (Multi30k, de to en)::

        source    Zwei junge weiße Männer sind im Freien in der Nähe vieler Büsche.
        target    Two young, White males are outside near many bushes.

    Predicted: the target, subword by subword.
    Chance: loss ln of the target vocabulary; BLEU 0.
    Oracle: none can be computed.
    Distance: none.

    Outer blanks of a line are dropped. Training pairs with an empty side or above the length limit are left out, and
    `notes` says how many; validation and test keep every line, and the references are the lines of the file.
    """

    Config: ClassVar[type[TaskConfig]] = TranslationConfig
    headline = ("loss", "bleu")
    version = "translation-1"

    @classmethod
    def fingerprint(cls, config: TranslationConfig) -> str:
        """Hash of the text of all files, wherever they lie and packed or not, and of how it is cut.

        Raises:
            DataError: if a file is missing or cannot be read.
        """
        digest = hashlib.sha256(f"{cls.version} bpe {config.subwords} {config.vocabulary}".encode())
        for split in SPLITS:
            for path in _paths(config, split):
                digest.update(hashlib.sha256(contents(path)).digest())
        return f"{cls.version}-{digest.hexdigest()[:12]}"

    def load(self) -> None:
        """Read all text, so that a bad file shows at once; learn the subwords, or fetch them from the cache."""
        self._text = {split: Pairs(*read_pairs(*_paths(self.config, split))) for split in SPLITS}
        sources, targets = self._text["train"]
        size = self.config.vocabulary
        if self.config.subwords == "joint":
            self.shared_vocabulary = True
            self.source_vocabulary = self.target_vocabulary = load_or_train([*sources, *targets], size)
        else:
            self.source_vocabulary = load_or_train(sources, size)
            self.target_vocabulary = load_or_train(targets, size)

    def training_pairs(self) -> tuple[list[Integers], list[Integers]]:
        """Ids of the training pairs that are kept.

        Raises:
            DataError: if none is.
        """
        text = self._text["train"]
        sources, targets = self.source_vocabulary.encode(text.sources), self.target_vocabulary.encode(text.references)
        lengths = np.array([[len(source), len(target)] for source, target in zip(sources, targets, strict=True)])
        empty = lengths.min(axis=1) == 0
        too_long = ~empty & (lengths.max(axis=1) > self.config.max_length)
        left_out = f"left out: {empty.sum()} with an empty side, {too_long.sum()} above {self.config.max_length} pieces"
        kept = np.random.default_rng(self.config.data_seed).permutation(np.nonzero(~empty & ~too_long)[0])
        if not len(kept):
            raise DataError(
                f"{_paths(self.config, 'train')[0]}: no training pair of {len(lengths)} is left; {left_out}"
            )
        kept = kept[: self.config.limit]
        self.notes = (f"{len(kept)} of {len(lengths)} training pairs; {left_out}",)
        return [sources[row] for row in kept], [targets[row] for row in kept]

    def evaluation_batches(self, split: Held) -> list[list[Batch]]:
        """All pairs of the split."""
        return [self.translation_batches(self._text[split])]


def _paths(config: TranslationConfig, split: Split) -> tuple[Path, Path]:
    """Source and target file of a split."""
    if files := getattr(config, f"{split}_files"):
        paths = [Path(file) for file in files]
        source, target = (find(path.parent, path.name) for path in paths)
        return source, target
    folder, name = _folder(config), getattr(config, split)
    return find(folder, f"{name}.{config.source}"), find(folder, f"{name}.{config.target}")


def _folder(config: TranslationConfig) -> Path:
    if config.root:
        return Path(config.root)
    if data := os.environ.get("ABLATIONS_DATA"):
        return Path(data) / config.corpus
    raise DataError(
        f"root='': must be the folder of the text files, or set ABLATIONS_DATA to the folder that holds {config.corpus}"
    )
