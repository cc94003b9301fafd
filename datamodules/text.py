"""Language modelling of real text: any file, or a folder with files for the three splits.

Shapes: B batch, T length, V vocabulary, N tokens of a split.
"""

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, get_args

import numpy as np
import torch

from datamodules.agreement import Pair, read_pairs
from datamodules.base import IGNORE, POSITIONS_A_BATCH, Batch, Held, TaskConfig, TaskData
from datamodules.corpora import Names, as_names, check_names
from datamodules.errors import DataError, check_choice, check_integer, check_unused
from datamodules.minimal_pairs import Encoded, draw, encode_pairs, pair_batches, won_by
from datamodules.parallel_text import find, locate, read_text
from datamodules.splits import SPLITS, Integers, Split, generator, split_of_text
from datamodules.units import Level, Units, encode, learn

BLOCKS = (0.90, 0.95)  # of one file: where the validation begins, and where the test does
LOGITS_A_BATCH = 2**24  # of the evaluation: bounds the memory at every vocabulary


@dataclass(frozen=True, kw_only=True)
class TextConfig(TaskConfig):
    """Settings of the task `text`. Every file may be packed: NAME, or else NAME.gz; a name may be a whole path."""

    path_fields: ClassVar[tuple[str, ...]] = ("root", "corpus", "path", *SPLITS, "agreement")

    root: str = ""
    """Folder of the files; empty: the folder `corpus` of $ABLATIONS_DATA."""

    corpus: str = "wikitext-2"
    """Folder of $ABLATIONS_DATA (with an empty root); a dot for $ABLATIONS_DATA itself, where the names of files hold
    their folders."""

    path: str = ""
    """One file for all, in place of `train`, `validation` and `test`: it is cut into blocks of 90, 5 and 5 %."""

    train: str = "train.txt"
    """File of the training text."""

    validation: str = "valid.txt"
    """File of the validation text."""

    test: str = "test.txt"
    """File of the test text."""

    level: Level = "words"
    """What is predicted: characters, words (what stands between blanks) or subwords."""

    vocabulary: int = 10_000
    """Different tokens: of characters and words the most frequent ones of the training text, the unknown one and the
    line's end included; of subwords exactly so many pieces."""

    lower: bool = False
    """Whether everything is put into small letters, the agreement suites too."""

    length: int = 64
    """Tokens of a window."""

    context: int = 0
    """How many tokens of a window of validation and test stand there for the others to be predicted from, and are
    predicted in the window before."""

    validation_size: int | None = None
    """Validate on this many tokens, the first ones; by default all."""

    test_size: int | None = None
    """Test on this many tokens, likewise."""

    agreement: Names = ()
    """Agreement suites: folders or files, as datamodules/agreement.py says, found like the files of the text."""

    pairs: int | None = None
    """Take this many pairs of each category of the suites, drawn by data_seed; by default all."""

    def __post_init__(self) -> None:
        super().__post_init__()
        names = self.agreement if isinstance(self.agreement, str) else tuple(self.agreement)
        object.__setattr__(self, "agreement", names)
        check_choice("level", self.level, get_args(Level))
        check_integer("vocabulary", self.vocabulary, 5)
        check_integer("length", self.length, 1)
        check_integer("context", self.context, 0)
        if self.context >= self.length:
            raise DataError(f"context={self.context}: must be below length={self.length}")
        for field, least in (("validation_size", 2), ("test_size", 2), ("pairs", 1)):
            if getattr(self, field) is not None:
                check_integer(field, getattr(self, field), least)
        self._check_files()

    def _check_files(self) -> None:
        for split in SPLITS:
            if self.path:
                check_unused(split, getattr(self, split), getattr(TextConfig, split), "has no effect with path")
            elif not getattr(self, split):
                raise DataError(f"{split}='': must be the name of a file")
        if self.agreement:
            check_names("agreement", self.agreement)
        else:
            check_unused("pairs", self.pairs, None, "has no effect without agreement")


class Text(TaskData[TextConfig]):
    """The next token of a text.

    Example (WikiText-2, words, length = 6, context = 0)::

        the text    = Robert <unk> = <eos> ... <unk> is an English film , television and theatre actor . ...
        inputs      <unk> is      an      English film ,
        targets     is    an      English film    ,    television

    Predicted: every token from those before it in the window; with agreement suites also which of two sentences is
        right, as the likelier one (Linzen et al. 2016; Marvin and Linzen 2018).
    Chance: loss ln V; 0.5 of the pairs.
    Oracle: none can be computed. Floors: the loss of the unigram frequencies of the training text, and the pairs that
        are won by choosing the more frequent form.
    Distance: of a pair, words from the subject to the verb, where the suite tells it; of the text, none.

    WikiText-2 is the default: a folder wikitext-2 with train.txt, valid.txt and test.txt. Tiny Shakespeare is one
    file::

        task: {name: text, corpus: tinyshakespeare, path: input.txt, level: characters}

    With suites beside the text, both below $ABLATIONS_DATA::

        task:
          name: text
          corpus: .
          train: wikitext-2/train.txt
          validation: wikitext-2/valid.txt
          test: wikitext-2/test.txt
          lower: true
          agreement: [agreement_en/linzen_filtered]

    Lines: only a newline ends one (a carriage return before it is dropped), each becomes its tokens and a token for its
    end, and so do empty lines. One file is cut behind the line with which 90 % and 95 % of its characters have
    passed, so that the three blocks follow one another and share nothing; they are the text's beginning, what comes
    next, and its end. The vocabulary is that of the training text.

    Training batch i holds windows from random places of the training text, a pure function of (seed, i). Validation and
    test are cut into windows that follow one another: each token but the first of the split is predicted exactly once,
    those at the beginning of a window from few tokens. With `context`, windows overlap by so many tokens, which count
    in the earlier one only. A token is one of the chosen level: losses of different levels, or of different
    vocabularies, do not compare (`notes` say what one is worth in characters or words).

    Agreement: one pair of ten, by the hash of the right sentence, is for the validation, the others for the test.
    `accuracy` is then the share of pairs won, by distance and by category too. At the level of words a suite has to be
    cut into words as the text is; pairs that differ in an unknown word are left out, and `notes` say how many.
    """

    Config: ClassVar[type[TaskConfig]] = TextConfig
    kind = "next-token"
    headline: tuple[str, ...] = ("loss", "perplexity")
    version = "text-1"
    units: ClassVar[Mapping[str, str]] = {"distance": "words, as the suite counts them"}

    def __init__(self, config: TextConfig, **settings: int) -> None:
        super().__init__(config, **settings)
        if config.agreement:
            self.headline = (*self.headline, "accuracy")
            self.chance = 0.5

    @classmethod
    def fingerprint(cls, config: TextConfig) -> str:
        """Hash of the text of each split and of all pairs, wherever and however they lie.

        Raises:
            DataError: if a file is missing or cannot be read.
        """
        digest = hashlib.sha256(cls.version.encode())
        for text in _texts(config).values():
            digest.update(hashlib.sha256(text.encode()).digest())
        if pairs := _pairs(config):
            digest.update(json.dumps(pairs).encode())
        return f"{cls.version}-{digest.hexdigest()[:12]}"

    @cached_property
    def vocabulary(self) -> Units:
        """The vocabulary, learnt from the training text."""
        return learn(self.config.level, _texts(self.config)["train"], self.config.vocabulary)

    @cached_property
    def output_size(self) -> int:  # type: ignore[override]  # V, which reading the training text tells
        """V; before setup too."""
        return self.config.vocabulary if self.config.level == "subwords" else self.vocabulary.size

    def prepare(self) -> None:
        """Read all text and all pairs, learn the vocabulary, cut everything into tokens."""
        texts = _texts(self.config)
        self.input_sizes = (self.output_size,)
        self._tokens = {split: encode(self.vocabulary, text) for split, text in texts.items()}
        self.notes = tuple(self._sizes(texts))
        for split in SPLITS:
            least = self.config.length + 1 if split == "train" else 2
            if len(self._tokens[split]) < least:
                found, length = len(self._tokens[split]), self.config.length
                raise DataError(f"{split}: {found} tokens: must be at least {least} (length={length})")
        if self.config.agreement:
            self._encode_pairs()

    def training_batch(self, index: int) -> Batch:
        """Batch `index`: windows (B, T) from random places."""
        text, length = self._tokens["train"], self.config.length
        starts = generator("train", self.seed, index).integers(len(text) - length, size=self.batch_size)
        return _windows(text, starts, length)

    def evaluation_batches(self, split: Held) -> list[list[Batch]]:
        """The windows of the split, then its pairs if there are any."""
        positions = min(POSITIONS_A_BATCH, LOGITS_A_BATCH // self.output_size)
        size = self.config.validation_size if split == "validation" else self.config.test_size
        length, context = self.config.length, self.config.context
        sets = [consecutive(self._tokens[split][:size], length, context, max(1, positions // length))]
        if self.config.agreement:
            sets.append(pair_batches(self._items[split], max(1, positions)))
        return sets

    @property
    def longest(self) -> int:
        """Most positions of a window or of a sentence; after setup."""
        sides = ("inputs", "wrong_inputs")
        held = [batch[side].shape[1] for batch in self._held_batches() for side in sides if side in batch]
        return max(self.config.length, *held)

    def references(self) -> dict[str, dict[str, float]]:
        """Loss of the training text's token frequencies; accuracy of choosing the more frequent form."""
        log_p = self._log_frequencies()
        tested = self._tokens["test"][: self.config.test_size][1:]
        loss = -float(log_p[tested].mean())
        found = {
            "loss": {"unigram frequencies": loss},
            "perplexity": {"unigram frequencies": math.exp(loss)},
        }
        if self.config.agreement:
            found["accuracy"] = {"more frequent form": float(np.mean(list(won_by(log_p, self._items["test"]))))}
        return found

    def _log_frequencies(self) -> np.ndarray:
        """Logarithms (V,) of the frequencies in the training text, one added to each count so that none is 0."""
        counts = np.bincount(self._tokens["train"], minlength=self.output_size) + 1
        return np.log(counts / counts.sum())

    def _encode_pairs(self) -> None:
        """The pairs of validation and test, and what was left out and how they are distributed, as notes."""
        items, report = encode_pairs(_pairs(self.config), self.vocabulary)
        rng = np.random.default_rng((len(SPLITS), self.config.data_seed))  # apart from what the splits are drawn from
        self._items: dict[Held, list[Encoded]] = {"validation": [], "test": []}
        for item in draw(items, self.config.pairs, rng):
            self._items["validation" if split_of_text(item.pair.right) == "validation" else "test"].append(item)
        for held, found in self._items.items():
            if not found:
                raise DataError(f"agreement={self.config.agreement!r}: no pair for the {held}: {report}")
        self.notes += (f"agreement: {report}", *self._frequent_forms())

    def _frequent_forms(self) -> Iterator[str]:
        """By category of the test: pairs, and the share that the more frequent form wins."""
        items, log_p = self._items["test"], self._log_frequencies()
        won: dict[str, list[float]] = {}
        for item, share in zip(items, won_by(log_p, items), strict=True):
            won.setdefault(item.pair.category, []).append(share)
        for category in sorted(won):
            shares = won[category]
            yield f"test pairs, {category}: {len(shares)}; the more frequent form is right in {np.mean(shares):.1%}"

    def _sizes(self, texts: dict[Split, str]) -> Iterator[str]:
        """Tokens and unknown ones of each split, and what a token is worth."""
        for split, tokens in self._tokens.items():
            unknown = float((tokens == self.vocabulary.unknown).mean())
            yield f"{split}: {len(tokens)} {self.config.level} with line ends, {unknown:.2%} of them unknown"
        size = len(self._tokens["test"])
        if self.config.level == "characters":
            yield f"vocabulary: {self.output_size}; bits a character = loss * {1 / math.log(2):.4f}"
        else:
            words = sum(1 + len(line.split()) for line in texts["test"].removesuffix("\n").split("\n"))
            yield (
                f"vocabulary: {self.output_size}; nats a word, line ends counted = loss * {size / words:.4f}; "
                f"bits a character = loss * {size / len(texts['test']) / math.log(2):.4f} (where none is unknown)"
            )


def consecutive(tokens: Integers, length: int, context: int, most: int) -> list[Batch]:
    """Windows that predict every token but the first exactly once, in their order, at most `most` a batch.

    Args:
        tokens: (N,), at least 2.
        length: inputs of a window; the last one may have fewer and is then a batch of its own.
        context: inputs that a window shares with the one before, whose targets count there only.
    """
    starts = np.arange(0, max(1, len(tokens) - 1 - context), length - context)
    whole = starts[starts + length < len(tokens)]
    groups = [(whole[first : first + most], length) for first in range(0, len(whole), most)]
    if len(whole) < len(starts):
        groups.append((starts[-1:], len(tokens) - 1 - int(starts[-1])))
    return [_windows(tokens, group, size, context) for group, size in groups]


def _windows(tokens: Integers, starts: Integers, length: int, context: int = 0) -> Batch:
    """Windows from the places `starts` (B,); `context` targets are ignored except at the text's beginning."""
    places = starts[:, None] + np.arange(length)
    targets = tokens[places + 1]
    targets[(starts > 0)[:, None] & (np.arange(length) < context)] = IGNORE
    return {"inputs": torch.from_numpy(tokens[places]), "targets": torch.from_numpy(targets)}


def _texts(config: TextConfig) -> dict[Split, str]:
    """The text of each split, lines ended by a newline alone."""
    if config.path:
        blocks = dict(zip(SPLITS, _blocks(_read(config, config.path)), strict=True))
        if empty := [split for split in SPLITS if not blocks[split]]:
            raise DataError(
                f"path={config.path!r}: too short to be cut in three, nothing is left for {', '.join(empty)}"
            )
        return blocks
    return {split: _read(config, getattr(config, split)) for split in SPLITS}


def _blocks(text: str) -> tuple[str, str, str]:
    """Three blocks, each cut behind the first line end by which its share of the characters has passed, or right there
    if none is left."""
    cuts = [int(len(text) * share) for share in BLOCKS]
    first, second = (text.find("\n", max(cut - 1, 0)) + 1 or cut for cut in cuts)
    return text[:first], text[first:second], text[second:]


def _read(config: TextConfig, name: str) -> str:
    path = locate(name, config.root, config.corpus)
    text = read_text(find(path.parent, path.name)).replace("\r\n", "\n")
    return text.lower() if config.lower else text


def _pairs(config: TextConfig) -> list[Pair]:
    """All pairs of the suites."""
    paths = [locate(name, config.root, config.corpus) for name in as_names(config.agreement)]
    pairs = [pair for path in paths for pair in read_pairs(path)]
    if config.lower:
        return [pair._replace(right=pair.right.lower(), wrong=pair.wrong.lower()) for pair in pairs]
    return pairs
