"""Translation of real text: any parallel corpus, cut into subwords."""

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, get_args

import numpy as np

from datamodules.base import Batch, Held, TaskConfig
from datamodules.contrastive import read_contrasts
from datamodules.corpora import Names, as_names, check_names, read_corpora
from datamodules.errors import DataError, check_choice, check_integer, check_unused
from datamodules.filters import Sieve, occurring, overlap, repeated, uneven
from datamodules.parallel import Contrast, Pairs, ParallelData
from datamodules.parallel_text import find, locate, read_aligned
from datamodules.splits import SPLITS, Integers, Split
from datamodules.subwords import load_or_train

Sharing = Literal["joint", "separate"]
HELD: tuple[Held, ...] = get_args(Held)
NAMED = (*SPLITS, *(f"contrastive_{split}" for split in HELD))


@dataclass(frozen=True, kw_only=True)
class TranslationConfig(TaskConfig):
    """Settings of the task `translation`.

    Corpora are named as datamodules/corpora.py says: NAME for NAME.de and NAME.en, a table NAME.tsv or NAME.tsv:4:5, or
    hub:NAME.
    """

    path_fields: ClassVar[tuple[str, ...]] = ("root", "corpus", *NAMED, *(f"{split}_files" for split in SPLITS))

    root: str = ""
    """Folder of the text files; empty: the folder `corpus` of $ABLATIONS_DATA."""

    corpus: str = "multi30k"
    """Folder of $ABLATIONS_DATA (with an empty root); a dot for $ABLATIONS_DATA itself, where the names of corpora hold
    their folders."""

    source: str = "de"
    """Language to translate from, as in the names of the files."""

    target: str = "en"
    """Language to translate into."""

    train: Names = "train"
    """Training text: a corpus, or several to be joined."""

    validation: Names = "val"
    """Validation text, likewise."""

    test: Names = "test_2016_flickr"
    """Test text, likewise."""

    train_files: tuple[str, ...] = ()
    """Paths of the two training files, source and target, in place of `train`."""

    validation_files: tuple[str, ...] = ()
    """Paths of the two validation files, in place of `validation`."""

    test_files: tuple[str, ...] = ()
    """Paths of the two test files, in place of `test`."""

    contrastive_validation: Names = ()
    """Contrastive sets for the validation: folders or files, as datamodules/contrastive.py says."""

    contrastive_test: Names = ()
    """Contrastive sets for the test, likewise."""

    subwords: Sharing = "joint"
    """One subword vocabulary for both languages, or one for each."""

    vocabulary: int = 4000
    """Pieces of a subword vocabulary."""

    max_length: int = 100
    """Training pairs with more pieces than this on either side are left out; test pairs never are."""

    max_ratio: float | None = None
    """Training pairs with more than this many times as many pieces on one side as on the other are left out."""

    deduplicate: bool = False
    """Leave out training pairs that are the same as an earlier one."""

    drop_overlap: bool = False
    """Leave out training pairs whose source is one of validation, test or a contrastive set."""

    limit: int | None = None
    """Train on this many pairs only, drawn by data_seed, smaller sets within larger ones. The subwords are still those
    of the whole training text, whatever is left out of it, so that losses can be compared."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for split in SPLITS:
            object.__setattr__(self, f"{split}_files", tuple(getattr(self, f"{split}_files")))
            self._check_files(split)
        for field in NAMED:
            names = getattr(self, field)
            names = names if isinstance(names, str) else tuple(names)
            object.__setattr__(self, field, names)
            if field in SPLITS or names:
                check_names(field, names)
        check_choice("subwords", self.subwords, get_args(Sharing))
        check_integer("vocabulary", self.vocabulary, 5)
        check_integer("max_length", self.max_length, 1)
        if self.limit is not None:
            check_integer("limit", self.limit, 1)
        if self.max_ratio is not None and not 1 <= self.max_ratio < math.inf:
            raise DataError(f"max_ratio={self.max_ratio!r}: must be a number of at least 1")

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

    Predicted: the target, subword by subword; with a contrastive set also which of two targets is the translation.
    Chance: loss ln of the target vocabulary; BLEU 0; 0.5 of the contrastive pairs.
    Oracle: none can be computed.
    Distance: none, or as a contrastive set says.

    Outer blanks of a line are dropped. Training pairs with an empty side, above the length limit or as the settings say
    are left out, and `notes` says how many, and how many sentences of validation and test are in the training text;
    validation and test keep every line, and the references are the lines of the file.
    """

    Config: ClassVar[type[TaskConfig]] = TranslationConfig
    headline: tuple[str, ...] = ("loss", "bleu")
    units: ClassVar[Mapping[str, str]] = {"distance": "as the contrastive set gives it"}
    version = "translation-1"

    def __init__(self, config: TranslationConfig, **settings: int) -> None:
        super().__init__(config, **settings)
        if config.contrastive_test:
            self.headline = (*self.headline, "accuracy")
            self.chance = 0.5

    @classmethod
    def fingerprint(cls, config: TranslationConfig) -> str:
        """Hash of all text, wherever and in whatever kind of file it lies, and of how it is cut.

        Raises:
            DataError: if a file is missing or cannot be read.
        """
        digest = hashlib.sha256(f"{cls.version} bpe {config.subwords} {config.vocabulary}".encode())
        for split in SPLITS:
            for side in _pairs(config, split):
                digest.update(hashlib.sha256("\n".join(side).encode()).digest())
        for held in HELD:
            if contrasts := _contrasts(config, held):
                digest.update(f"{held} {json.dumps(contrasts)}".encode())
        return f"{cls.version}-{digest.hexdigest()[:12]}"

    def load(self) -> None:
        """Read all text, so that a bad file shows at once; learn the subwords, or fetch them from the cache."""
        self._text = {split: _pairs(self.config, split) for split in SPLITS}
        self._contrasts = {held: _contrasts(self.config, held) for held in HELD}
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
        sieve = self._sieve(text, lengths)
        kept = np.random.default_rng(self.config.data_seed).permutation(sieve.kept)[: self.config.limit]
        self.notes = (f"{len(kept):,} of {len(lengths):,} training pairs; {sieve.report}",)
        if not len(kept):
            field = "train_files" if self.config.train_files else "train"
            raise DataError(f"{field}={getattr(self.config, field)!r}: nothing to train on: {self.notes[0]}")
        self.notes += tuple(self._overlaps(Pairs(*([side[row] for row in kept] for side in text))))
        return [sources[row] for row in kept], [targets[row] for row in kept]

    def evaluation_batches(self, split: Held) -> list[list[Batch]]:
        """All pairs of the split, then its contrastive items if there are any."""
        sets = [self.translation_batches(self._text[split])]
        if contrasts := self._contrasts[split]:
            sets.append(self.contrastive_batches(contrasts))
        return sets

    def _sieve(self, text: Pairs, lengths: Integers) -> Sieve:
        """What is left of the training text; `lengths` (N, 2) are in pieces."""
        config = self.config
        sieve = Sieve(len(lengths))
        sieve.leave_out("with an empty side", lengths.min(axis=1) == 0)
        sieve.leave_out(f"above {config.max_length} pieces", lengths.max(axis=1) > config.max_length)
        if config.max_ratio is not None:
            sieve.leave_out(f"above a length ratio of {config.max_ratio:g}", uneven(lengths, config.max_ratio))
        if config.deduplicate:
            sieve.leave_out("repeated", repeated(text))
        if config.drop_overlap:
            held = {source for _, pairs in self._held_text() for source in pairs.sources}
            sieve.leave_out("in validation or test", occurring(text.sources, held))
        return sieve

    def _held_text(self) -> Iterator[tuple[str, Pairs]]:
        """Every set of sentences that is not for training, with its name."""
        for split in HELD:
            yield split, self._text[split]
            if contrasts := self._contrasts[split]:
                yield f"contrastive {split}", Pairs([c.source for c in contrasts], [c.right for c in contrasts])

    def _overlaps(self, training: Pairs) -> Iterator[str]:
        """How many sentences of each set are in the training text; a warning where any is."""
        for name, held in self._held_text():
            sources, pairs = overlap(held, training)
            found = f"{sources:,} of {len(held.sources):,} {name} sentences are in the training text"
            yield f"warning: {found}, {pairs:,} of them with the same translation" if sources else found


def _pairs(config: TranslationConfig, split: Split) -> Pairs:
    """All pairs of a split."""
    if files := getattr(config, f"{split}_files"):
        paths = [Path(file) for file in files]
        return Pairs(*read_aligned(*(find(path.parent, path.name) for path in paths)))
    languages = (config.source, config.target)
    return read_corpora(getattr(config, split), languages, split, lambda name: locate(name, config.root, config.corpus))


def _contrasts(config: TranslationConfig, split: Held) -> list[Contrast]:
    """All contrastive items of a split."""
    languages = (config.source, config.target)
    paths = [locate(name, config.root, config.corpus) for name in as_names(getattr(config, f"contrastive_{split}"))]
    return [contrast for path in paths for contrast in read_contrasts(path, languages)]
