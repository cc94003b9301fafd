"""Effects at other lengths, in sentences and as a table."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reports.experiment import Experiment
from reports.figures.gallery import Gallery
from reports.figures.theme import theme
from reports.pages.findings import doubts_of, findings
from reports.pages.lengths import lengths_caption, lengths_grid, lengths_sentences, told_lengths
from reports.pages.overview import overview
from reports.pages.sections import make_section
from reports.rows import read_study
from reports.table import make_tables

Maker = Callable[..., Any]

AT: dict[str, dict[int, float]] = {
    "base": {32: 0.9, 48: 0.5, 64: 0.125, 256: 0.0625},
    "near": {32: 0.9, 48: 0.75, 64: 0.5, 256: 0.0625},
    "far": {32: 0.9, 48: 0.875, 64: 0.75, 256: 0.5},
    "lost": {32: 0.9, 48: 0.25, 64: 0.065, 256: 0.0625},
}
"""Accuracy by variant and length; 32 is that of training."""


def experiment(make: Maker, *, trained: bool = True) -> Experiment:
    """Three seeds that differ by thousandths, each variant's in its own way."""
    study = make()
    changes = {v: {"model.position": v} for v in AT if v != "base"}
    study.experiment("e", changes, kind="tagging", headline=["loss", "accuracy"], chance={"accuracy": 0.0625})
    for place, (variant, at) in enumerate(AT.items()):
        for seed in study.seeds:
            values = [("test", "accuracy", f"length={n}" * (n != 32), a + 1e-3 * (seed * place)) for n, a in at.items()]
            run = study.run("e", variant, seed, values)
            found = json.loads((run / "run.json").read_text())
            found["config"]["task"] |= {"length": 32} if trained else {}
            (run / "run.json").write_text(json.dumps(found))
    return Experiment(make_tables(read_study(study.write())), "e")


def test_twice_the_length_of_training_and_the_longest_are_told(make: Maker) -> None:
    found = experiment(make)
    assert told_lengths(found) == [("accuracy", 64.0), ("accuracy", 256.0)]
    twice, longest = (text.replace("\N{NO-BREAK SPACE}", " ") for text in lengths_sentences(found, doubts_of(found)))
    assert twice == (
        "At length 64, 2 times that of training, the base's accuracy is 0.125 (guessing: 0.062); lost is worse: −0.057 "
        "(95 % interval −0.0645 to −0.0495, 3 seeds), 2 of 3 variants are better, far most: +0.627 (95 % interval "
        "+0.622 to +0.632, 3 seeds)."
    )
    assert longest.startswith(
        "At length 256, 8 times that of training, the base's accuracy is 0.062, hardly better than gue"
    )
    assert "; far is better: +0.44" in longest
    assert "near" not in longest
    sentences = findings(found)
    assert sentences is not None
    assert sentences.lengths.replace("\N{NO-BREAK SPACE}", " ") == f"{twice} {longest}"


def test_where_the_length_of_training_is_not_known_the_longest_alone_is_told(make: Maker) -> None:
    found = experiment(make, trained=False)
    assert told_lengths(found) == [("accuracy", 256.0)]
    (text,) = lengths_sentences(found, doubts_of(found))
    assert text.startswith("At length 256 the base's accuracy")
    assert "training" not in lengths_caption(found)


def test_the_table_has_every_length_with_the_bases_mean(make: Maker) -> None:
    found = experiment(make)
    grid = lengths_grid(found)
    assert grid is not None
    assert grid.columns == ["Metric", "Variant", "Length 48 (× 1.5)", "Length 64 (× 2)", "Length 256 (× 8)"]
    rows = {row[1].text: [cell.text for cell in row[2:]] for row in grid.rows}
    assert rows["base (sinusoidal)"] == ["0.500", "0.125", "0.062"]
    assert rows["lost"] == ["−0.247", "−0.057", "+0.003"]
    undecided = {row[1].text: "undecided" in row[4].kind for row in grid.rows[1:]}
    assert undecided == {"near": True, "far": False, "lost": True}
    assert "times the length of training, 32." in lengths_caption(found)


def test_effects_at_each_length_are_a_family_of_their_own(make: Maker) -> None:
    effects = experiment(make).tables.effects
    at = effects[effects["metric"] == "accuracy@length=64"]
    assert set(effects["metric"]) == {"accuracy", *(f"accuracy@length={n}" for n in (48, 64, 256))}
    p = sorted(at["p_value"])
    assert sorted(at["p_holm"]) == [3 * p[0], max(3 * p[0], 2 * p[1]), max(3 * p[0], 2 * p[1], p[2])]
    assert set(at["scope"]) == {"seeds"}


def test_without_other_lengths_there_is_neither(make: Maker) -> None:
    study = make(seeds=(0,))
    study.experiment("e", {"x": {"model.norm": "none"}}, headline=["accuracy"])
    for variant in ("base", "x"):
        study.run("e", variant, 0, [("test", "accuracy", "", 0.5)])
    found = Experiment(make_tables(read_study(study.write())), "e")
    assert lengths_grid(found) is None
    assert lengths_sentences(found, doubts_of(found)) == []


def contrary(make: Maker, accuracy: float) -> list[Experiment]:
    """Two experiments whose base has this accuracy at length 64; `better` has more, and a worse loss."""
    study = make()
    for name in ("one", "two"):
        chance = {"accuracy": 0.25, "loss": 1.4}
        change = {"better": {"model.position": "rotary"}}
        study.experiment(name, change, kind="tagging", headline=["loss", "accuracy"], chance=chance)
        for seed in study.seeds:
            for variant, gain in {"base": 0.0, "better": 0.5 + seed / 100}.items():
                at = [("accuracy", accuracy + gain), ("loss", 0.5 + gain)]
                values = [("test", metric, "length=64", value) for metric, value in at]
                main = [("test", "accuracy", "", 0.9 - gain / 9), ("test", "loss", "", 0.1)]
                study.run(name, variant, seed, [*values, *main])
    tables = make_tables(read_study(study.write()))
    return [Experiment(tables, name) for name in study.plan["experiments"]]


def test_what_is_better_in_accuracy_and_worse_in_loss_is_said_to_be(make: Maker) -> None:
    one, _ = contrary(make, 0.3)
    (text,) = lengths_sentences(one, doubts_of(one))
    assert text.endswith(" But better is worse in loss there.")


@pytest.mark.parametrize(
    ("accuracy", "said"),
    [(0.26, "at length 64, where the base is hardly better than guessing, 2"), (0.4, "at length 64, 2")],
)
def test_the_head_says_where_the_base_guesses_at_a_length(make: Maker, accuracy: float, said: str) -> None:
    found = overview(contrary(make, accuracy))
    assert found is not None
    assert f"{said} of 2 in accuracy are clear, all better" in found.headline


def test_the_figure_of_effects_names_its_length_and_leads_to_those_of_others(make: Maker, tmp_path: Path) -> None:
    with theme():
        section = make_section(experiment(make), 1, Gallery(tmp_path))
    assert section.hero is not None
    assert section.hero.caption.startswith("At length 32, that of training; there is a figure for other lengths.")
    assert [picture.title for picture in section.by_length] == ["Accuracy by length"]
