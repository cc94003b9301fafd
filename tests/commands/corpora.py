"""$ABLATIONS_DATA with made-up text: the files that the shipped studies on real text read, a few lines each."""

import gzip
import random
from collections.abc import Iterator
from pathlib import Path

from tests.datamodules.samples import CONTRASTS, WORDS

LINES = 60
AGREEMENT = "pattern\tconstr_id\tsent_id\tform\tclass\ttype\tprefix\tn_attr\tlen_context\tsent\n"
VOCABULARY = 90
"""Subwords that so little text is enough for."""


def write_corpora(folder: Path) -> Path:
    """All of them below `folder`, some of them packed as the real ones are."""
    for split in ("train", "val", "test_2016_flickr"):
        _write_pair(folder / "multi30k" / split, packed=True)
    for year in (2008, 2009, 2015, 2017, 2018, 2019, 2020):
        _write_pair(folder / f"wmt_newstest/newstest{year}")
    pairs = list(zip(_sentences("pairs", "en"), _sentences("pairs", "de"), strict=True))
    _write(folder / "tatoeba_deu_eng/deu.txt", (f"{en}\t{de}" for en, de in pairs))
    _write(folder / "libreoffice_help/help.en-de.tsv", (f"a\tb\tc\t{en}\t{de}" for en, de in pairs))
    for split in ("train", "valid", "test"):
        _write(
            folder / f"wikitext-2/{split}.txt", iter([*_sentences(split, "en"), "the girls run .", "the dog runs ."])
        )
    _write(folder / "tinyshakespeare/input.txt", (line for _ in range(30) for line in _sentences("input", "en")))
    _write_contrasts(folder / "distil_lingeval")
    _write_agreement(folder / "agreement_en")
    return folder


def _sentences(name: str, language: str) -> Iterator[str]:
    drawn = random.Random(f"{name} {language}")
    for _ in range(LINES):
        yield " ".join(drawn.choices(WORDS[language].split(), k=drawn.randint(3, 9))) + " ."


def _write(path: Path, lines: Iterator[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(f"{line}\n" for line in lines).encode()
    path.write_bytes(gzip.compress(text, mtime=0) if path.suffix == ".gz" else text)


def _write_pair(stem: Path, *, packed: bool = False) -> None:
    for language in WORDS:
        _write(stem.with_name(f"{stem.name}.{language}{'.gz' if packed else ''}"), _sentences(stem.name, language))


def _write_contrasts(folder: Path) -> None:
    """Folders of aligned files, a folder a category."""
    rows = [line.split("\t") for line in CONTRASTS.splitlines()[1:]]
    sides = {"src.en": 1, "tgt.correct.de": 0, "tgt.incorrect.de": 2}
    for category in ("polarity_particle_kein_del.human", "subj_verb_agreement.mt"):
        for name, column in sides.items():
            _write(folder / category / name, (row[column] for row in rows))


def _write_agreement(folder: Path) -> None:
    """The two forms that `agreement` reads: a table, and sentences with the places of their verbs."""
    prefixes = [sentence.removesuffix(" .") for sentence in _sentences("agreement", "en")]
    table = [
        f"A\t{n}\t{n}\t{form}\t{which}\tgenerated\t{prefix}\t{n % 3}\t{4 + n % 3}\tx"
        for n, prefix in enumerate(prefixes)
        for form, which in (("run", "correct"), ("runs", "wrong"))
    ]
    _write(folder / "colorless_green/generated.tab", iter([AGREEMENT.strip(), *table]))
    _write(folder / "linzen_filtered/subj_agr.text", (f"{prefix} run . <eos>" for prefix in prefixes))
    golds = (f"{len(prefix.split())}\trun\truns\t{n % 3}" for n, prefix in enumerate(prefixes))
    _write(folder / "linzen_filtered/subj_agr.gold", golds)
