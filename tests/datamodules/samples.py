"""Small settings of every task, a small corpus on disk, and a hash of batches."""

import hashlib
import random
from pathlib import Path
from typing import Any

import torch

from datamodules.base import Batch

WORDS = {
    "en": "two three young old men women girls dogs run sit wait outside near the big small house river with a ball",
    "de": "zwei drei junge alte männer frauen mädchen hunde laufen sitzen warten am das große haus fluß mit ball",
}
LINES = {"train": 40, "val": 7, "test": 11}
CONTRASTS = """source\tcorrect\tincorrect\tcategory\tdistance
drei mädchen laufen\tthree girls run\tthree girls runs\tverb\t1
das große haus am fluß\tthe big house near the river\tthe big house near river\tarticle\t
zwei alte hunde warten\ttwo old dogs wait\ttwo old dogs waits\tverb\t2
"""
ROOT = Path(__file__).parents[2]


def write_corpus(folder: Path) -> Path:
    """The splits train, val and test of a made-up corpus, de and en, and a contrastive set."""
    folder.mkdir(parents=True, exist_ok=True)
    for language, words in WORDS.items():
        for split, number in LINES.items():
            rng = random.Random(f"{split} {language}")
            lines = [" ".join(rng.choices(words.split(), k=rng.randint(2, 9))) + "." for _ in range(number)]
            (folder / f"{split}.{language}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    (folder / "contrasts.tsv").write_text(CONTRASTS, encoding="utf-8")
    numbers = ("two", "three", "young", "old", "big", "small")
    pairs = [f"sing\tthe {a} {b} girls run\tthe {a} {b} girls sit" for a in numbers for b in numbers]
    (folder / "pairs.tsv").write_text("".join(f"{pair}\n" for pair in pairs), encoding="utf-8")
    return folder


def settings(name: str, corpus: Path) -> dict[str, Any]:
    """Settings of a task that make little data; a new task needs an entry here."""
    known: dict[str, dict[str, Any]] = {
        "recall": {"distance": 5, "validation_size": 19, "test_size": 23},
        "look-up": {"validation_size": 19, "test_size": 23},
        "text": {"root": str(corpus), "train": "train.en", "validation": "val.en", "test": "test.en", "length": 5},
        "sums": {"modulus": 11, "length": 5, "validation_size": 19, "test_size": 23},
        "markov": {"length": 19, "validation_size": 19, "test_size": 23},
        "masked": {"length": 11, "validation_size": 19, "test_size": 23},
        "order": {"target": "reverse", "length": 6, "vocabulary": 11, "validation_size": 19, "test_size": 23},
        "german": {"train_size": 61, "validation_size": 19, "test_size": 23, "contrast_size": 29},
        "translation": {"root": str(corpus), "test": "test", "vocabulary": 90},
    }
    return known[name]


def digest(batch: Batch) -> str:
    """Hash of everything in a batch but answer_at, which says where the answer stands that is in it anyway."""
    found = hashlib.sha256()
    for key in sorted(set(batch) - {"answer_at"}):
        value = batch[key]
        text = f"{value.dtype} {value.tolist()}" if isinstance(value, torch.Tensor) else repr(value)
        found.update(f"{key} {text}\n".encode())
    return found.hexdigest()[:16]
