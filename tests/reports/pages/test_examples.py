"""Translated examples, from made-up translations."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from reports.experiment import Experiment
from reports.pages import examples
from reports.pages.examples import DROPPED, EMPTY, Example, example_seed, examples_caption, marked
from reports.rows import read_study
from reports.table import make_tables

Maker = Callable[..., Any]
HOSTILE = "<img onerror=...>"

Table = list[tuple[str, str, str]]
"""Source, reference, hypothesis."""


def experiment(
    make: Maker, completed: Mapping[str, Sequence[int]], diverged: Mapping[str, int] | None = None
) -> Experiment:
    """An experiment with completed runs of these seeds; two variants, one of a hostile name."""
    study = make()
    study.experiment("german", {HOSTILE: {"model.n_heads": 1}, "b": {"model.n_heads": 2}})
    for variant, seeds in completed.items():
        for seed in seeds:
            study.run("german", variant, seed, [("test", "bleu", "", 50.0 - seed)])
    for variant, seed in (diverged or {}).items():
        study.run("german", variant, seed, [("test", "bleu", "", 0.0)], status="diverged", reason="nan")
    return Experiment(make_tables(read_study(study.write())), "german")


def given(monkeypatch: pytest.MonkeyPatch, found: Experiment, tables: Mapping[str, Table]) -> list[Example]:
    """The examples if runs had left these translations, whatever the seed."""
    variants = {row.folder: row.variant for row in found.runs}

    def translations(folder: Path) -> pd.DataFrame | None:
        table = tables.get(variants[folder])
        return None if table is None else pd.DataFrame(table, columns=["source", "reference", "hypothesis"])

    monkeypatch.setattr(examples, "translations", translations)
    return examples.examples(found)


def sentences(lengths: Sequence[int]) -> Table:
    return [(" ".join([f"w{n}"] * n), f"r{n}", f"h{n}") for n in lengths]


def test_words_that_differ_are_marked_where_they_stand() -> None:
    assert marked("der hund schlief .", "der  hund schlief .") == (("der hund schlief .", False),)
    assert marked("der hund schlief .", "der kleine hund schliefen .") == (
        *(("der", False), ("kleine", True), ("hund", False)),
        *(("schliefen", True), (".", False)),
    )
    assert marked("a b c d", "a x y d") == (("a", False), ("x y", True), ("d", False))
    assert marked("a b c d", "a d") == (("a", False), (DROPPED, True), ("d", False))
    assert marked("a b", "b a") == (("b", True), ("a", False), (DROPPED, True))


def test_an_empty_translation_says_so() -> None:
    assert marked("a b", "") == ((EMPTY, True),)
    assert marked("", " ") == ((EMPTY, False),)
    assert marked("", "a") == (("a", True),)


def test_frequent_words_are_compared_like_others() -> None:
    """SequenceMatcher leaves out frequent elements of 200 or more, unless told not to."""
    words = ["der", "hund"] * 150
    found = marked(" ".join(words), " ".join(["die", *words[1:]]))
    assert [word for word, differs in found if differs] == ["die"]


def test_the_chosen_sentences_are_spread_over_length_and_depend_on_nothing_else(
    make: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 23 sentences of 1 to 23 words: the middles of ten equal parts, (2i + 1) * 23 // 20."""
    found = experiment(make, {"base": [0]})
    lengths = [*range(23, 0, -2), *range(2, 23, 2)]
    chosen = given(monkeypatch, found, {"base": sentences(lengths)})
    assert [len(e.source.split()) for e in chosen] == [2, 4, 6, 9, 11, 13, 15, 18, 20, 22]
    assert [e.reference for e in chosen] == [f"r{n}" for n in (2, 4, 6, 9, 11, 13, 15, 18, 20, 22)]


def test_other_outputs_do_not_change_the_choice(make: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    found = experiment(make, {"base": [0], "b": [0]})
    table = sentences([3, 1, 4, 1, 5, 9, 2, 6, 5, 35, 8, 97, 93, 23])
    poor = [(source, reference, "nonsense") for source, reference, _ in table]
    first = given(monkeypatch, found, {"base": table, "b": table})
    second = given(monkeypatch, found, {"base": poor, "b": table})
    assert [e.source for e in first] == [e.source for e in second]
    assert len({e.source for e in first}) == 10


def test_few_sentences_are_all_shown_once(make: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = given(monkeypatch, experiment(make, {"base": [0]}), {"base": sentences([5, 2, 5, 7, 2])})
    assert [len(e.source.split()) for e in chosen] == [2, 5, 7]


def test_each_variant_with_outputs_is_shown_base_first(make: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sentences go together by their text; a variant without a sentence, or without outputs, is left out."""
    found = experiment(make, {"base": [0], "b": [0], HOSTILE: [0]})
    tables = {
        "base": [("ein hund", "a dog", "a dog"), ("eine katze da", "a cat there", "a cat there")],
        "b": [("eine katze da", "a cat there", "a <b>cat</b>"), ("etwas", "thing", "thing")],
    }
    first, second = given(monkeypatch, found, tables)
    assert [output.variant for output in first.outputs] == ["base"]
    assert [output.variant for output in second.outputs] == ["base", "b"]
    assert second.outputs[1].parts == (("a", False), ("<b>cat</b>", True))
    assert all(not differs for _, differs in second.outputs[0].parts)
    assert (second.source, second.reference) == ("eine katze da", "a cat there")


def test_without_outputs_of_the_base_there_are_no_examples(make: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    assert given(monkeypatch, experiment(make, {"b": [0]}), {"b": sentences([2])}) == []
    assert given(monkeypatch, experiment(make, {"base": [0], "b": [0]}), {"b": sentences([2])}) == []


@pytest.mark.parametrize(
    ("completed", "diverged", "seed"),
    [
        ({"base": [0, 1], "b": [0, 1], HOSTILE: [0, 1]}, {}, 0),
        ({"base": [0, 1, 2], "b": [1, 2], HOSTILE: [1, 2]}, {}, 1),
        ({"base": [2], "b": [0, 1], HOSTILE: [0, 1]}, {}, 2),
        ({"base": [0, 1], "b": [0, 1], HOSTILE: [1]}, {HOSTILE: 0}, 1),
        ({"b": [0]}, {}, None),
    ],
)
def test_the_seed_is_the_lowest_of_those_that_base_and_most_variants_have(
    make: Maker, completed: dict[str, list[int]], diverged: dict[str, int], seed: int | None
) -> None:
    assert example_seed(experiment(make, completed, diverged)) == seed


def test_the_caption_names_the_seed_and_the_rule(make: Maker) -> None:
    caption = examples_caption(experiment(make, {"base": [1]}))
    assert caption.startswith("Seed 1.")
    assert DROPPED in caption


def test_translations_are_read_from_the_run(make: Maker) -> None:
    """With the reader of reports.items as it is."""
    found = experiment(make, {"base": [0]})
    (folder,) = [row.folder for row in found.runs if row.state == "completed"]
    (folder / "outputs").mkdir()
    columns = ["set", "source", "reference", "hypothesis", "forced", "nats", "tokens"]
    rows = [["", "ja", "NA", "None", "", 0.5, 2], ["held-out", "nein", "no", "no", "", 0.5, 2]]
    path = folder / "outputs" / "translations.csv.gz"
    pd.DataFrame(rows, columns=columns).to_csv(path, index=False)
    (only,) = examples.examples(found)
    assert (only.source, only.reference, only.outputs[0].parts) == ("ja", "NA", (("None", False),))
    path.write_bytes(b"cut off")
    assert examples.examples(found) == []
