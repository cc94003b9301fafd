"""German: the embedded translation task, a grammar of English sentences and their German translations."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar

from datamodules.base import Batch, Held, TaskConfig
from datamodules.errors import check_integer
from datamodules.german_grammar import Sentence, sentences, vocabulary
from datamodules.parallel import Contrast, Pairs, ParallelData
from datamodules.splits import Integers, Split
from datamodules.vocabulary import Words


@dataclass(frozen=True, kw_only=True)
class GermanConfig(TaskConfig):
    """Settings of the task `german`."""

    nested: bool = False
    """The long form: prepositional phrases and while-clauses between subject and verb, up to 50 words apart."""

    train_size: int = 20_000
    """Training sentences."""

    validation_size: int = 300
    """Sentences to be translated and contrasted."""

    test_size: int = 500
    """Sentences to be translated."""

    contrast_size: int = 1000
    """Test sentences to be contrasted."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for field in ("train_size", "validation_size", "test_size", "contrast_size"):
            check_integer(field, getattr(self, field), 1)


class German(ParallelData[GermanConfig]):
    """English to German, made by the grammar of german_grammar.py; a word is a token.

    Example::

        source    the child that the cats called in the garden after the storm slept .
        target    das kind , das die katzen nach dem sturm im garten riefen , schlief .
        wrong     das kind , das die katzen nach dem sturm im garten riefen , schliefen .
        distance  13

    Predicted: the target, word by word; and, in the contrastive set, which of target and wrong is the translation.
    Chance: 0.5 of the contrastive pairs; loss ln of the target vocabulary.
    Oracle: BLEU 100 and accuracy 1.0: the English sentence determines the German one.
    Distance: how many words the verb stands after its subject noun (1: next to it, in sentences with a separable
        verb; a comma counts as a word). 1 to 17, or 3 to 50 with `nested`.

    60 % of the sentences have a relative clause, then the verb; 20 % a dass-clause with the verb at its end; 20 % a
    separable verb next to its subject: the category of a contrastive pair says which (or `nested`).
    """

    Config: ClassVar[type[TaskConfig]] = GermanConfig
    headline = ("loss", "bleu", "accuracy")
    version = "german-1"
    units: ClassVar[Mapping[str, str]] = {"distance": "words from the subject to its verb, 1: next to it"}
    chance = 0.5

    def load(self) -> None:
        """Make the vocabularies."""
        english, german = vocabulary()
        self.source_vocabulary = Words(english)
        self.target_vocabulary = Words(german)

    def training_pairs(self) -> tuple[list[Integers], list[Integers]]:
        """Ids of the training sentences, drawn by the run's seed."""
        made = self._sentences("train", self.seed, self.config.train_size)
        return (
            self.source_vocabulary.encode([sentence.english for sentence in made]),
            self.target_vocabulary.encode([sentence.german for sentence in made]),
        )

    def evaluation_batches(self, split: Held) -> list[list[Batch]]:
        """The sentences to be translated, then the contrastive pairs."""
        if split == "validation":
            translated = contrasted = self._sentences(split, self.config.data_seed, self.config.validation_size)
        else:
            most = max(self.config.test_size, self.config.contrast_size)
            made = self._sentences(split, self.config.data_seed, most)
            translated, contrasted = made[: self.config.test_size], made[: self.config.contrast_size]
        pairs = Pairs([item.english for item in translated], [item.german for item in translated])
        contrasts = [Contrast(it.english, it.german, it.wrong, it.distance, it.pattern) for it in contrasted]
        return [self.translation_batches(pairs), self.contrastive_batches(contrasts)]

    def _sentences(self, split: Split, seed: int, number: int) -> list[Sentence]:
        return list(islice(sentences(split, seed, nested=self.config.nested), number))
