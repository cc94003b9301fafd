"""Real text from files: tiny ones, made here."""

import gzip
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import sacrebleu

from datamodules import corpora
from datamodules.base import TaskData
from datamodules.corpora import Names
from datamodules.errors import DataError
from datamodules.translation import Translation, TranslationConfig
from tests.datamodules.samples import digest, write_corpus

Make = Callable[..., TaskData[Any]]


def _config(folder: Path, **changes: Any) -> TranslationConfig:
    settings: dict[str, Any] = {"root": str(folder), "test": "test", "vocabulary": 90}
    return TranslationConfig(**(settings | changes))


def _ready(config: TranslationConfig, **changes: int) -> Translation:
    data = Translation(config, **({"seed": 0, "steps": 5, "batch_size": 7} | changes))
    data.setup()
    return data


def _training_pairs(data: Translation) -> set[tuple[str, str]]:
    sources, targets = data.training_pairs()
    source, target = data.source_vocabulary.decode, data.target_vocabulary.decode
    return {(source(one.tolist()), target(other.tolist())) for one, other in zip(sources, targets, strict=True)}


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def test_pairs_are_the_lines_of_the_files(corpus: Path) -> None:
    data = _ready(_config(corpus))
    assert _training_pairs(data) == set(zip(_lines(corpus / "train.de"), _lines(corpus / "train.en"), strict=True))
    for loaders, split in ((data.val_dataloader(), "val"), (data.test_dataloader(), "test")):
        found = [pair for batch in loaders[0] for pair in zip(batch["sources"], batch["references"], strict=True)]
        expected = list(zip(_lines(corpus / f"{split}.de"), _lines(corpus / f"{split}.en"), strict=True))
        assert sorted(found) == sorted(expected)
    assert data.notes[0] == "40 of 40 training pairs; left out: 0 with an empty side, 0 above 100 pieces"


def test_either_direction(corpus: Path) -> None:
    there, back = _ready(_config(corpus)), _ready(_config(corpus, source="en", target="de"))
    assert {(target, source) for source, target in _training_pairs(there)} == _training_pairs(back)


def test_joint_and_separate_subwords(corpus: Path, cache: Path) -> None:
    joint, separate = _ready(_config(corpus)), _ready(_config(corpus, subwords="separate", vocabulary=70))
    assert (joint.shared_vocabulary, joint.input_sizes, joint.output_size) == (True, (90,), 90)
    assert (separate.shared_vocabulary, separate.input_sizes, separate.output_size) == (False, (70,), 70)
    assert _training_pairs(joint) == _training_pairs(separate)
    assert len(list((cache / "subwords").glob("*.model"))) == 3


def test_subwords_are_learned_from_the_training_text_alone(corpus: Path) -> None:
    before = _ready(_config(corpus)).target_vocabulary.encode(["two old dogs run"])[0].tolist()
    (corpus / "test.en").write_text("xylophone xylophone\n" * 11)
    data = _ready(_config(corpus))
    assert data.target_vocabulary.encode(["two old dogs run"])[0].tolist() == before
    assert 3 in data.target_vocabulary.encode(["xylophone"])[0]


def test_references_keep_what_the_vocabulary_lacks(corpus: Path) -> None:
    lines = ["  <unk> 漢字 & ▁he@@ llo  ", *_lines(corpus / "test.en")[1:]]
    (corpus / "test.en").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    data = _ready(_config(corpus))
    references = [text for batch in data.test_dataloader()[0] for text in batch["references"]]
    assert "<unk> 漢字 & ▁he@@ llo" in references
    assert len(references) == 11


def test_hypotheses_score_as_plain_text(corpus: Path) -> None:
    """The right ids, turned to text, have BLEU 100 against the original lines, in every batch order."""
    data = _ready(_config(corpus))
    hypotheses, references = [], []
    for batch in data.test_dataloader()[0]:
        hypotheses += [data.detokenise([token for token in row if token >= 0]) for row in batch["targets"].tolist()]
        references += batch["references"]
    assert not any("▁" in text or "⁇" in text or "</s>" in text for text in hypotheses)
    assert sacrebleu.corpus_bleu(hypotheses, [references]).score == pytest.approx(100)


def _spoil(corpus: Path, split: str) -> None:
    """Line 1 without a target, line 2 without a source, line 3 very long, in both senses of the word line."""
    source, target = _lines(corpus / f"{split}.de"), _lines(corpus / f"{split}.en")
    source[1], target[0] = "  ", ""
    source[2] = "haus " * 200
    (corpus / f"{split}.de").write_text("".join(f"{line}\n" for line in source), encoding="utf-8")
    (corpus / f"{split}.en").write_text("".join(f"{line}\n" for line in target), encoding="utf-8")


def test_empty_and_long_pairs_are_left_out_of_training_and_counted(corpus: Path) -> None:
    whole = _training_pairs(_ready(_config(corpus)))
    _spoil(corpus, "train")
    data = _ready(_config(corpus))
    assert data.notes[0] == "37 of 40 training pairs; left out: 2 with an empty side, 1 above 100 pieces"
    assert _training_pairs(data) < whole


def test_no_line_of_validation_and_test_is_left_out(corpus: Path) -> None:
    _spoil(corpus, "val")
    _spoil(corpus, "test")
    data = _ready(_config(corpus, max_length=20))
    for loaders, split, number in ((data.val_dataloader(), "val", 7), (data.test_dataloader(), "test", 11)):
        batches = list(loaders[0])
        references = [text for batch in batches for text in batch["references"]]
        assert sorted(references) == sorted(line.strip() for line in _lines(corpus / f"{split}.en"))
        assert len(references) == number
        assert all(batch["source_real"].any(1).all() and (batch["targets"] >= 0).any(1).all() for batch in batches)
        assert max(batch["source"].shape[1] for batch in batches) > 200


def test_nothing_left_to_train_on(corpus: Path) -> None:
    with pytest.raises(DataError) as caught:
        _ready(_config(corpus, max_length=1))
    assert str(caught.value) == (
        "train='train': nothing to train on: 0 of 40 training pairs; left out: 0 with an empty side, 40 above 1 pieces"
    )


def test_limits_give_sets_within_sets_and_the_same_subwords(corpus: Path) -> None:
    whole, half, few = (_ready(_config(corpus, limit=limit)) for limit in (None, 20, 5))
    assert _training_pairs(few) < _training_pairs(half) < _training_pairs(whole)
    assert (len(few.training_pairs()[0]), len(half.training_pairs()[0])) == (5, 20)
    assert few.notes[0] == "5 of 40 training pairs; left out: 0 with an empty side, 0 above 100 pieces"
    text = ["two old dogs run"]
    assert few.target_vocabulary.encode(text)[0].tolist() == whole.target_vocabulary.encode(text)[0].tolist()
    moved = _ready(_config(corpus, limit=5, data_seed=1))
    assert _training_pairs(moved) != _training_pairs(few)


def test_explicit_files(corpus: Path, tmp_path: Path) -> None:
    source = shutil.move(corpus / "train.de", tmp_path / "mine.txt")
    target = shutil.move(corpus / "train.en", tmp_path / "yours.txt")
    data = _ready(_config(corpus, train_files=(str(source), str(target))))
    assert len(_training_pairs(data)) == 40
    elsewhere = TranslationConfig(
        train_files=(str(source), str(target)),
        validation_files=(str(corpus / "val.de"), str(corpus / "val.en")),
        test_files=(str(corpus / "test.de"), str(corpus / "test.en")),
        vocabulary=90,
    )
    assert Translation.fingerprint(elsewhere) == Translation.fingerprint(data.config)


def test_the_corpus_is_found_by_name(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ABLATIONS_DATA", str(corpus.parent))
    named = _config(corpus, root="", corpus="corpus")
    assert Translation.fingerprint(named) == Translation.fingerprint(_config(corpus))
    monkeypatch.delenv("ABLATIONS_DATA")
    with pytest.raises(DataError) as caught:
        Translation.fingerprint(TranslationConfig())
    assert str(caught.value) == (
        "root='': must be the folder of train, or set ABLATIONS_DATA to the folder that holds multi30k/train"
    )


def test_the_fingerprint_follows_the_text_and_not_where_it_lies(corpus: Path, tmp_path: Path) -> None:
    first = Translation.fingerprint(_config(corpus))
    moved = write_corpus(tmp_path / "moved")
    (moved / "val.de").rename(moved / "dev.de")
    (moved / "val.en").rename(moved / "dev.en")
    (moved / "train.en.gz").write_bytes(gzip.compress((moved / "train.en").read_bytes()))
    (moved / "train.en").unlink()
    assert Translation.fingerprint(_config(moved, validation="dev")) == first
    assert Translation.fingerprint(_config(corpus, vocabulary=91)) != first
    assert Translation.fingerprint(_config(corpus, subwords="separate")) != first
    assert Translation.fingerprint(_config(corpus, source="en", target="de")) != first
    for name in ("train.de", "train.en", "val.de", "val.en", "test.de", "test.en"):
        text = (corpus / name).read_bytes()
        (corpus / name).write_bytes(b"!" + text)
        assert Translation.fingerprint(_config(corpus)) != first
        (corpus / name).write_bytes(text)
    assert Translation.fingerprint(_config(corpus)) == first


def _rows(path: Path, pairs: Iterable[tuple[str, ...]]) -> None:
    path.write_text("".join("\t".join(pair) + "\n" for pair in pairs), encoding="utf-8")


def test_the_same_pairs_from_files_of_every_kind_are_the_same_data(corpus: Path) -> None:
    """Two files; a table; two joined corpora of different kinds in different folders; one of the hub."""
    pairs = list(zip(_lines(corpus / "train.de"), _lines(corpus / "train.en"), strict=True))
    _rows(corpus / "all.tsv", [("x", target, source) for source, target in pairs])
    (corpus / "more").mkdir()
    _rows(corpus / "more" / "second.txt", pairs[13:])
    for side, language in enumerate(("de", "en")):
        text = "".join(f"{pair[side]}\n" for pair in pairs[:13])
        (corpus / f"first-deen-{'src' if side == 0 else 'ref'}.{language}").write_text(text, encoding="utf-8")
    settings: list[Names] = ["train", "all.tsv:3:2", ("first", "more/second.txt")]
    configs = [_config(corpus, train=names) for names in settings]
    first, *others = [_ready(config) for config in configs]
    for config, other in zip(configs[1:], others, strict=True):
        assert Translation.fingerprint(config) == Translation.fingerprint(configs[0])
        assert [digest(b) for b in other.train_dataloader()] == [digest(b) for b in first.train_dataloader()]
    swapped = _config(corpus, train=("more/second.txt", "first"))
    assert Translation.fingerprint(swapped) != Translation.fingerprint(configs[0])


def test_several_corpora_to_be_tested_on(corpus: Path) -> None:
    joined = _ready(_config(corpus, validation=("val", "test"), test=["test", "val"]))
    expected = sorted(_lines(corpus / "val.en") + _lines(corpus / "test.en"))
    for loaders in (joined.val_dataloader(), joined.test_dataloader()):
        assert sorted(text for batch in loaders[0] for text in batch["references"]) == expected


def test_pairs_of_the_hub(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sides = {language: _lines(corpus / f"train.{language}") for language in ("de", "en")}
    asked = []

    def read(name: str, config: str, split: str, languages: tuple[str, str]) -> list[list[str]]:
        asked.append((name, config, split))
        return [sides[language] for language in languages]

    monkeypatch.setattr(corpora, "read_hub", read)
    config = _config(corpus, train="hub:sets/talk:small")
    assert Translation.fingerprint(config) == Translation.fingerprint(_config(corpus))
    assert _training_pairs(_ready(config)) == _training_pairs(_ready(_config(corpus)))
    assert set(asked) == {("sets/talk", "small", "train")}


def test_the_corpora_may_lie_in_several_folders_of_the_data(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ABLATIONS_DATA", str(corpus.parent))
    names = {split: f"corpus/{file}" for split, file in (("train", "train"), ("validation", "val"), ("test", "test"))}
    config = TranslationConfig(corpus=".", vocabulary=90, **names)  # type: ignore[arg-type]
    assert Translation.fingerprint(config) == Translation.fingerprint(_config(corpus))


def _add_to_training(corpus: Path, pairs: list[tuple[str, str]]) -> None:
    for side, language in enumerate(("de", "en")):
        path = corpus / f"train.{language}"
        text = path.read_text(encoding="utf-8") + "".join(f"{pair[side]}\n" for pair in pairs)
        path.write_text(text, encoding="utf-8")


def test_filters_are_off_unless_asked_for_and_count_what_they_leave_out(corpus: Path) -> None:
    first = next(zip(_lines(corpus / "train.de"), _lines(corpus / "train.en"), strict=True))
    _add_to_training(corpus, [first, (first[0], "a ball."), ("haus " * 40, "."), first])
    plain = _ready(_config(corpus))
    assert plain.notes[0] == "44 of 44 training pairs; left out: 0 with an empty side, 0 above 100 pieces"
    data = _ready(_config(corpus, deduplicate=True, max_ratio=15.0))
    assert data.notes[0] == (
        "41 of 44 training pairs; left out: 0 with an empty side, 0 above 100 pieces, 1 above a length ratio of 15, "
        "2 repeated"
    )
    sources = [data.source_vocabulary.decode(ids.tolist()) for ids in data.training_pairs()[0]]
    assert sources.count(first[0]) == 2
    assert not any(source.startswith("haus haus haus haus") for source in sources)
    text = ["two old dogs run"]
    assert data.target_vocabulary.encode(text)[0].tolist() == plain.target_vocabulary.encode(text)[0].tolist()


def test_sentences_of_the_tests_in_the_training_text_are_reported_and_can_be_left_out(corpus: Path) -> None:
    test, val = (
        list(zip(_lines(corpus / f"{n}.de"), _lines(corpus / f"{n}.en"), strict=True)) for n in ("test", "val")
    )
    leaked = [*test[:3], (test[3][0], "a ball."), (val[0][0], "a ball."), ("drei mädchen laufen", "three girls run")]
    _add_to_training(corpus, leaked)
    settings = {"contrastive_test": "contrasts.tsv"}
    data = _ready(_config(corpus, **settings))
    assert data.notes[1:4] == (
        "warning: 1 of 7 validation sentences are in the training text, 0 of them with the same translation",
        "warning: 4 of 11 test sentences are in the training text, 3 of them with the same translation",
        "warning: 1 of 3 contrastive test sentences are in the training text, 1 of them with the same translation",
    )
    without = _ready(_config(corpus, **settings, drop_overlap=True))
    assert without.notes[0] == (
        "40 of 46 training pairs; left out: 0 with an empty side, 0 above 100 pieces, 6 in validation or test"
    )
    assert without.notes[1:4] == (
        "0 of 7 validation sentences are in the training text",
        "0 of 11 test sentences are in the training text",
        "0 of 3 contrastive test sentences are in the training text",
    )
    assert _training_pairs(data) - _training_pairs(without) == set(leaked)


def test_contrastive_sets(corpus: Path) -> None:
    plain = _ready(_config(corpus))
    assert (plain.headline, plain.chance, len(plain.test_dataloader())) == (("loss", "bleu"), None, 1)
    data = _ready(_config(corpus, contrastive_test="contrasts.tsv"))
    assert (data.headline, data.chance, len(data.val_dataloader())) == (("loss", "bleu", "accuracy"), 0.5, 1)
    assert (Translation.headline, Translation.chance) == (("loss", "bleu"), None)
    (batch,) = data.test_dataloader()[1]
    found = {}
    for row, category in enumerate(batch["category"]):
        sides = [[token for token in batch[name][row].tolist() if token >= 0] for name in ("targets", "wrong_targets")]
        found[tuple(map(data.detokenise, sides))] = (category, batch["distance"][row].item())
    assert found == {
        ("three girls run", "three girls runs"): ("verb", 1),
        ("the big house near the river", "the big house near river"): ("article", -1),
        ("two old dogs wait", "two old dogs waits"): ("verb", 2),
    }
    both = _ready(
        _config(corpus, contrastive_validation=["contrasts.tsv"], contrastive_test=str(corpus / "contrasts.tsv"))
    )
    assert len(both.val_dataloader()) == len(both.test_dataloader()) == 2


def test_the_fingerprint_follows_the_contrastive_sets(corpus: Path) -> None:
    prints = {
        Translation.fingerprint(config)
        for config in (
            _config(corpus),
            _config(corpus, contrastive_test="contrasts.tsv"),
            _config(corpus, contrastive_validation="contrasts.tsv"),
            _config(corpus, contrastive_test="contrasts.tsv", contrastive_validation="contrasts.tsv"),
        )
    }
    assert len(prints) == 4
    before = Translation.fingerprint(_config(corpus, contrastive_test="contrasts.tsv"))
    text = (corpus / "contrasts.tsv").read_text(encoding="utf-8")
    for old, new in (
        ("verb\t1", "verb\t3"),
        ("article", "articles"),
        ("girls runs", "girls ran"),
        ("girls run\t", "girl\t"),
    ):
        (corpus / "moved.tsv").write_text(text.replace(old, new), encoding="utf-8")
        assert Translation.fingerprint(_config(corpus, contrastive_test="moved.tsv")) != before
    (corpus / "moved.tsv").write_text(text, encoding="utf-8")
    assert Translation.fingerprint(_config(corpus, contrastive_test="moved.tsv")) == before


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda folder: shutil.rmtree(folder), "{folder}: no such folder"),
        (
            lambda folder: (folder / "contrasts.tsv").write_text("a\tb\n"),
            "{folder}/contrasts.tsv:1: header ['a', 'b']: lacks source, correct, incorrect",
        ),
        (lambda folder: (folder / "val.en").unlink(), "{folder}/val.en: no such file, packed (.gz) or not"),
        (lambda folder: (folder / "test.de").write_bytes(b""), "{folder}/test.de: the file is empty"),
        (lambda folder: (folder / "val.de").write_bytes(b"a\nb\xff\n"), "{folder}/val.de:2: not UTF-8 (byte 0xff)"),
        (
            lambda folder: (folder / "test.en").write_bytes(b"one\ntwo\n"),
            "{folder}/test.de has 11 lines, {folder}/test.en has 2: must be the same number",
        ),
    ],
)
def test_bad_files_of_any_split_stop_the_setup(corpus: Path, spoil: Callable[[Path], object], message: str) -> None:
    spoil(corpus)
    config = _config(corpus, contrastive_validation="contrasts.tsv")
    for use in (_ready, Translation.fingerprint):
        with pytest.raises(DataError) as caught:
            use(config)
        assert str(caught.value) == message.format(folder=corpus)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"subwords": "words"}, "subwords='words': choose from joint, separate"),
        ({"vocabulary": 4}, "vocabulary=4: must be an integer of at least 5"),
        ({"max_length": 0}, "max_length=0: must be an integer of at least 1"),
        ({"limit": 0}, "limit=0: must be an integer of at least 1"),
        ({"max_ratio": 0.9}, "max_ratio=0.9: must be a number of at least 1"),
        ({"max_ratio": float("inf")}, "max_ratio=inf: must be a number of at least 1"),
        ({"train": []}, "train=(): must be the name of a corpus, or several"),
        ({"test": ["a", "a"]}, "test=('a', 'a'): a corpus stands there twice"),
        ({"contrastive_test": ["a", ""]}, "contrastive_test=('a', ''): must be the name of a corpus, or several"),
        ({"train_files": ("a",)}, "train_files=('a',): must be two paths, source and target"),
        (
            {"test_files": ("a", "b"), "test": "c"},
            "test='c': has no effect with test_files, leave it at 'test_2016_flickr'",
        ),
    ],
)
def test_wrong_settings_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError) as caught:
        TranslationConfig(**changes)
    assert str(caught.value) == message
