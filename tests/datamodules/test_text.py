"""The task `text`: files, windows, vocabularies, agreement pairs."""

import gzip
import math
import os
from collections import Counter
from pathlib import Path
from typing import Any

import lightning as L
import pytest
import torch

from datamodules.base import Batch
from datamodules.errors import DataError
from datamodules.text import Text, TextConfig, consecutive
from models.lit import LanguageModel
from models.optim import OptimConfig

LINES = {"train": "a b c a b a\n\nb a d\n", "valid": "a b\nc e\n", "test": "a a b\nf c\n"}


def _folder(folder: Path, **texts: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (LINES | texts).items():
        (folder / f"{name}.txt").write_bytes(text.encode())
    return folder


def _text(root: Path, seed: int = 0, batch_size: int = 3, **changes: Any) -> Text:
    config = TextConfig(**{"root": str(root), "length": 4, **changes})
    data = Text(config, seed=seed, steps=5, batch_size=batch_size)
    data.setup()
    return data


def _predicted(batches: list[Batch]) -> list[int]:
    return [token for batch in batches for token in batch["targets"].flatten().tolist() if token != -100]


def test_lines_become_tokens_and_ends_and_unknown_words_are_counted(tmp_path: Path) -> None:
    data = _text(_folder(tmp_path))
    a, b, c, _d = 2, 3, 4, 5
    (batch, rest), *extra = data.evaluation_batches("validation")
    assert not extra
    assert batch["inputs"].tolist() == [[a, b, 1, c]]
    assert batch["targets"].tolist() == [[b, 1, c, 0]]
    assert (rest["inputs"].tolist(), rest["targets"].tolist()) == ([[0]], [[1]])
    assert (data.input_sizes, data.output_size, data.longest) == ((6,), 6, 4)
    assert data.notes[:3] == (
        "train: 12 words with line ends, 0.00% of them unknown",
        "validation: 6 words with line ends, 16.67% of them unknown",
        "test: 7 words with line ends, 14.29% of them unknown",
    )


@pytest.mark.parametrize("level", ["characters", "words"])
def test_marks_at_the_beginning_carriage_returns_and_packing_change_nothing(tmp_path: Path, level: str) -> None:
    plain = _folder(tmp_path / "plain")
    odd = tmp_path / "odd"
    odd.mkdir()
    for name, text in LINES.items():
        packed = b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()
        (odd / f"{name}.txt.gz").write_bytes(gzip.compress(packed))
    configs = [TextConfig(root=str(root), level=level) for root in (plain, odd)]  # type: ignore[arg-type]
    assert Text.fingerprint(configs[0]) == Text.fingerprint(configs[1])
    first, second = (_text(root, level=level).training_batch(2) for root in (plain, odd))
    assert torch.equal(first["inputs"], second["inputs"])


def test_small_letters_are_one_vocabulary(tmp_path: Path) -> None:
    root = _folder(tmp_path, train="The the THE cat\n" * 3)
    assert [_text(root, lower=lower).output_size for lower in (False, True)] == [6, 4]


def test_the_fingerprint_is_of_what_is_read(tmp_path: Path) -> None:
    plain = Text.fingerprint(TextConfig(root=str(_folder(tmp_path / "a"))))
    assert plain.startswith("text-1-")
    assert plain == Text.fingerprint(TextConfig(root=str(_folder(tmp_path / "b")), train="train.txt"))
    for split in ("train", "valid", "test"):
        changed = _folder(tmp_path / split, **{split: "a b c d\n"})
        assert Text.fingerprint(TextConfig(root=str(changed))) != plain
    (tmp_path / "a" / "s.tsv").write_text("x\ta\tb\n")
    assert Text.fingerprint(TextConfig(root=str(tmp_path / "a"), agreement="s.tsv")) != plain


def test_the_vocabulary_is_known_before_the_set_up(tmp_path: Path) -> None:
    data = Text(TextConfig(root=str(_folder(tmp_path))), seed=0, steps=1, batch_size=1)
    assert data.output_size == 6
    sized = Text(TextConfig(root=str(tmp_path), level="subwords", vocabulary=77), seed=0, steps=1, batch_size=1)
    assert sized.output_size == 77


def test_subwords_are_cut_as_many_as_wanted(tmp_path: Path, cache: Path) -> None:
    text = "the man walked home\nthe men walk home\n"
    root = _folder(tmp_path / "corpus", train=text * 9, valid=text, test=text)
    data = _text(root, level="subwords", vocabulary=30)
    assert (data.input_sizes, data.output_size) == ((30,), 30)
    assert int(data.training_batch(0)["inputs"].max()) < 30
    assert "nats a word, line ends counted = loss * " in data.notes[3]


def test_one_file_is_cut_behind_lines_and_nothing_is_in_two_blocks(tmp_path: Path) -> None:
    lines = [f"line {n}\n" for n in range(100, 300)]
    (tmp_path / "all.txt").write_text("".join(lines))
    data = _text(tmp_path, path="all.txt", vocabulary=999)
    assert [len(data._tokens[split]) for split in ("train", "validation", "test")] == [3 * 180, 3 * 10, 3 * 10]
    numbers = [token for tokens in data._tokens.values() for token in tokens[1::3].tolist()]
    assert numbers[:180] == list(range(3, 183))  # behind the unknown one, the line end and the word, by the alphabet
    assert numbers[180:] == [0] * 20  # numbers of the training text alone would be known


def test_one_line_is_cut_within(tmp_path: Path) -> None:
    (tmp_path / "all.txt").write_text("ab" * 100)
    data = _text(tmp_path, path="all.txt", level="characters")
    assert [len(data._tokens[split]) for split in ("train", "validation", "test")] == [181, 11, 11]  # with a line end


def test_a_training_batch_is_a_function_of_seed_and_number(tmp_path: Path) -> None:
    root = _folder(tmp_path, train=" ".join(f"w{n}" for n in range(500)) + "\n")
    batches = [
        _text(root, seed=seed, vocabulary=999).training_batch(index) for seed, index in ((0, 3), (0, 3), (0, 4), (1, 3))
    ]
    first, again, later, other = (batch["inputs"] for batch in batches)
    assert first.shape == (3, 4)
    assert torch.equal(first, again)
    assert not torch.equal(first, later)
    assert not torch.equal(first, other)
    assert torch.equal(batches[0]["targets"][:, :-1], first[:, 1:])


def test_windows_come_from_every_place(tmp_path: Path) -> None:
    data = _text(_folder(tmp_path, train="a b c d e\n"), batch_size=200)  # 6 tokens: two places for 4 inputs
    rows = Counter(tuple(row) for row in data.training_batch(0)["inputs"].tolist())
    assert sorted(rows) == [(2, 3, 4, 5), (3, 4, 5, 6)]
    assert min(rows.values()) > 70


@pytest.mark.parametrize("context", [0, 1, 3, 4])
@pytest.mark.parametrize("length", [5, 7])
@pytest.mark.parametrize("size", [2, 5, 6, 7, 11, 29])
def test_every_token_but_the_first_is_predicted_once(size: int, length: int, context: int) -> None:
    tokens = torch.arange(100, 100 + size).numpy()
    batches = consecutive(tokens, length, context, 2)
    assert _predicted(batches) == list(range(101, 100 + size))
    for number, batch in enumerate(batches):
        inputs, targets = batch["inputs"], batch["targets"]
        assert inputs.shape[0] <= 2
        assert inputs.shape[1] <= length
        asked = targets != -100
        assert torch.equal(targets[asked], inputs[asked] + 1)
        first = asked.int().argmax(1)
        expected = [context] * len(first)
        if number == 0:
            expected[0] = 0
        assert first.tolist() == expected


def test_evaluation_takes_as_many_tokens_as_it_is_told(tmp_path: Path) -> None:
    data = _text(_folder(tmp_path), validation_size=3, test_size=5)
    assert len(_predicted(data.evaluation_batches("validation")[0])) == 2
    assert len(_predicted(data.evaluation_batches("test")[0])) == 4


def test_the_reference_is_the_loss_of_the_training_frequencies(tmp_path: Path) -> None:
    data = _text(_folder(tmp_path))
    counts = {"<unk>": 0, "eol": 3, "a": 4, "b": 3, "c": 1, "d": 1}
    nats = [-math.log((counts[token] + 1) / 18) for token in ("a", "b", "eol", "<unk>", "c", "eol")]
    loss = sum(nats) / 6
    assert data.references() == {
        "loss": {"unigram frequencies": pytest.approx(loss)},
        "perplexity": {"unigram frequencies": pytest.approx(math.exp(loss))},
    }
    assert (data.headline, data.chance) == (("loss", "perplexity"), None)


def _suite(folder: Path) -> Path:
    """60 pairs of 2 categories; the right form is the more frequent one in those of 0 attractors only."""
    rows = [(f"a {'c ' * n}", *(("b", "d", 0) if n % 2 else ("d", "b", 1))) for n in range(60)]
    (folder / "s.text").write_text("".join(f"{before}{right}\n" for before, right, *_ in rows))
    gold = [f"{len(before.split())}\t{right}\t{wrong}\t{number}\n" for before, right, wrong, number in rows]
    (folder / "s.gold").write_text("".join(gold))
    return folder


def test_suites_are_a_second_set_of_both_splits(tmp_path: Path) -> None:
    data = _text(_suite(_folder(tmp_path)), agreement="s.text")
    assert (data.headline, data.chance) == (("loss", "perplexity", "accuracy"), 0.5)
    seen = []
    for split in ("validation", "test"):
        _, pairs = data.evaluation_batches(split)
        seen.append(
            [row[mask].tolist() for batch in pairs for row, mask in zip(batch["inputs"], batch["real"], strict=True)]
        )
    assert sorted(map(len, seen[0] + seen[1])) == list(range(2, 62))
    assert 0 < len(seen[0]) < 15 < len(seen[1])
    assert data.longest == 61
    wins = [len(row) % 2 for row in seen[1]]  # a line end, a, and an odd number of c
    assert data.references()["accuracy"] == {"more frequent form": pytest.approx(sum(wins) / len(wins))}
    assert data.notes[4] == (
        "agreement: 60 of 60 pairs; "
        "left out: 0 with an unknown word where the sides differ, 0 with one side within the other"
    )
    assert data.notes[5].endswith("the more frequent form is right in 100.0%")
    assert data.notes[6].endswith("the more frequent form is right in 0.0%")
    drawn = _text(tmp_path, agreement="s.text", pairs=20)
    items = [item for found in drawn._items.values() for item in found]
    assert Counter(item.pair.category for item in items) == {"attractors=0": 20, "attractors=1": 20}


def test_a_model_that_knows_the_rule_wins_every_pair(tmp_path: Path) -> None:
    """The batches inside the module: a table of the next token that prefers d wins where d is right, and only there."""

    class Table(torch.nn.Module):
        def forward(self, inputs: torch.Tensor, real: torch.Tensor | None = None) -> torch.Tensor:
            logits = torch.zeros(*inputs.shape, 6)
            logits[..., 5] = 2.0
            return logits

    data = _text(_suite(_folder(tmp_path)), agreement="s.text")
    module = LanguageModel(Table(), OptimConfig(steps=1))
    trainer = L.Trainer(accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False)
    trainer.test(module, datamodule=data, verbose=False)
    found = {name: float(value) for name, value in trainer.callback_metrics.items()}
    assert found["test/accuracy@category=attractors=0"] == 0.0
    assert found["test/accuracy@category=attractors=1"] == 1.0
    right = [item.pair.category == "attractors=1" for item in data._items["test"]]
    assert found["test/accuracy"] == pytest.approx(sum(right) / len(right))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"level": "letters"}, "level='letters': choose from characters, words, subwords"),
        ({"context": 4, "length": 4}, "context=4: must be below length=4"),
        ({"vocabulary": 4}, "vocabulary=4: must be an integer of at least 5"),
        ({"validation_size": 1}, "validation_size=1: must be an integer of at least 2"),
        ({"pairs": 3}, "pairs=3: has no effect without agreement, leave it at None"),
        ({"path": "x", "test": "y"}, "test='y': has no effect with path, leave it at 'test.txt'"),
        ({"test": ""}, "test='': must be the name of a file"),
        ({"agreement": ("a", "a")}, "agreement=('a', 'a'): a corpus stands there twice"),
    ],
)
def test_wrong_settings_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError) as refused:
        TextConfig(**changes)
    assert str(refused.value) == message


def test_texts_too_short_are_refused(tmp_path: Path) -> None:
    root = _folder(tmp_path)
    with pytest.raises(DataError, match=r"^train: 12 tokens: must be at least 13 \(length=12\)$"):
        _text(root, length=12)
    (root / "one.txt").write_text("a b\n")
    with pytest.raises(
        DataError, match=r"^path='one.txt': too short to be cut in three, nothing is left for validation"
    ):
        _text(root, path="one.txt")
    (root / "valid.txt").write_text("\n")
    with pytest.raises(DataError, match=r"^validation: 1 tokens: must be at least 2"):
        _text(root)


def test_a_suite_of_unknown_words_is_refused(tmp_path: Path) -> None:
    root = _folder(tmp_path)
    (root / "s.tsv").write_text("sing\tx runs\tx run\n")
    with pytest.raises(
        DataError, match=r"^agreement=\('s.tsv',\): no pair for the validation: 0 of 1 pairs; left out: 1"
    ):
        _text(root, agreement=("s.tsv",))


def test_files_lie_below_the_folder_of_the_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _folder(tmp_path / "wikitext-2")
    monkeypatch.setenv("ABLATIONS_DATA", str(tmp_path))
    expected = Text.fingerprint(TextConfig())
    assert expected == Text.fingerprint(TextConfig(root=str(tmp_path / "wikitext-2")))
    names = {
        split: f"wikitext-2/{name}.txt"
        for split, name in (("train", "train"), ("validation", "valid"), ("test", "test"))
    }
    assert expected == Text.fingerprint(TextConfig(corpus=".", **names))  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"none.txt: no such file, packed \(.gz\) or not$"):
        Text.fingerprint(TextConfig(train="none.txt"))
    monkeypatch.delenv("ABLATIONS_DATA")
    with pytest.raises(DataError) as refused:
        Text.fingerprint(TextConfig())
    assert str(refused.value) == (
        "root='': must be the folder of train.txt, or set ABLATIONS_DATA to the folder that holds wikitext-2/train.txt"
    )


def test_the_published_texts() -> None:
    data = os.environ.get("ABLATIONS_DATA")
    if not data or not (Path(data) / "wikitext-2").is_dir():
        pytest.skip("needs ABLATIONS_DATA with wikitext-2")
    words = Text(TextConfig(vocabulary=99_999), seed=0, steps=1, batch_size=1)
    words.setup()
    assert words.output_size == 33_278
    assert [len(tokens) for tokens in words._tokens.values()] == [2_088_628, 217_646, 245_569]
    plays = Text(
        TextConfig(corpus="tinyshakespeare", path="input.txt", level="characters"), seed=0, steps=1, batch_size=1
    )
    plays.setup()
    assert plays.output_size == 66  # 65 and the unknown one
    assert sum(len(tokens) for tokens in plays._tokens.values()) == 1_115_394
