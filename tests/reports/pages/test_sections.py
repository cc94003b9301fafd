"""What a section says of its data."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from reports.experiment import Experiment
from reports.figures.gallery import Gallery
from reports.figures.theme import theme
from reports.pages.sections import items_note, make_section, notes
from reports.rows import read_study
from reports.table import make_tables

Maker = Callable[..., Any]


def items(**at: float) -> pd.DataFrame:
    rows = [{"metric": "items", "coordinate": c.replace("_", "="), "value": n} for c, n in at.items()]
    return pd.DataFrame([*rows, {"metric": "loss", "coordinate": "", "value": 0.5}])


def test_numbers_that_rest_on_other_items_say_so() -> None:
    assert items_note(items(**{"": 500.0})) == "500 test items"
    assert items_note(items(**{"": 500.0, "distance_1": 600.0, "distance_2": 440.0})) == (
        "500 test items, numbers by distance over 1040"
    )
    assert items_note(items(**{"": 500.0, "distance_1": 300.0, "distance_2": 200.0})) == "500 test items"
    assert items_note(items(category_noun=30.0, category_7=12.0)) == "numbers by category over 42"
    assert items_note(items()) == ""


def test_notes_on_the_data_are_shown_once(make: Maker) -> None:
    study = make(seeds=(0, 1))
    study.experiment("e", {"x": {"model.norm": "none"}})
    for variant in ("base", "x"):
        for seed in study.seeds:
            cut = ["warning: 3 sentences were cut"] * 2 if (variant, seed) == ("x", 1) else []
            study.run("e", variant, seed, [], notes=["warning: no validation set", "65 % are real tokens", *cut])
    found = Experiment(make_tables(read_study(study.write())), "e")
    assert notes(found) == ["warning: no validation set", "warning: 3 sentences were cut (1 run)"]


def test_results_without_notes_have_none(make: Maker) -> None:
    study = make(seeds=(0,))
    study.experiment("e", {})
    study.run("e", "base", 0, [])
    assert notes(Experiment(make_tables(read_study(study.write())), "e")) == []


def test_a_section_names_the_value_of_its_base_and_has_other_lengths(make: Maker, tmp_path: Path) -> None:
    study = make(seeds=(0, 1))
    study.experiment("e", {"x": {"model.position": "none"}}, headline=["accuracy"], chance={"accuracy": 0.05})
    for variant, longer in (("base", 0.25), ("x", 0.75)):
        for seed in study.seeds:
            values = [("test", "accuracy", "", 0.9 + seed / 97), ("test", "accuracy", "length=48", longer + seed / 89)]
            study.run("e", variant, seed, values)
    found = Experiment(make_tables(read_study(study.write())), "e")
    with theme():
        section = make_section(found, 1, Gallery(tmp_path / "figures"))
    assert "1 variant against base (sinusoidal)" in section.facts
    assert section.lengths is not None
    assert section.lengths.columns[2:] == ["Length 48"]
    assert section.variants is not None
    assert section.variants.rows[0][0].note == "the base, model.position: sinusoidal"
    assert "Variant minus base (sinusoidal)." in section.effects_caption
    assert "on the same metric, each length by itself." in section.effects_caption
    assert section.effects is not None
    assert [row[0].text for row in section.effects.rows] == ["Accuracy", "Accuracy at length 48"]
