"""Settings of the base, and where those of every variant lie."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from reports.experiment import Experiment
from reports.pages.configurations import addresses, base_settings
from reports.rows import read_study
from reports.table import make_tables

Maker = Callable[..., Any]

HOSTILE = "<img src=x onerror=alert(1)>"


def experiment(folder: Path, name: str = "german") -> Experiment:
    return Experiment(make_tables(read_study(folder)), name)


def test_settings_of_the_base_are_those_that_its_runs_have_resolved(quick: Path) -> None:
    found = dict(base_settings(experiment(quick)))
    assert (found["model.n_heads"], found["train.lr"], found["task.name"]) == ("4", "0.003", "german")
    assert "seed" not in found


def test_before_a_run_of_the_base_there_are_none(make: Maker) -> None:
    study = make()
    study.experiment("german", {"one": {"model.n_heads": 1}})
    study.run("german", "one", 1, [("test", "loss", "", 0.2)])
    found = experiment(study.write())
    assert base_settings(found) == []
    assert list(addresses(found)) == ["one"]


def test_every_variant_is_linked_with_its_first_run(quick: Path) -> None:
    found = addresses(experiment(quick))
    assert list(found) == experiment(quick).order
    for variant, address in found.items():
        run = json.loads((quick / "report" / address).resolve().read_text(encoding="utf-8"))
        assert (run["variant"], run["seed"]) == (variant, 0)


def test_addresses_are_quoted(make: Maker) -> None:
    study = make()
    study.experiment("german", {HOSTILE: {"model.n_heads": 1}})
    study.run("german", HOSTILE, 0, [("test", "loss", "", 0.2)], folder='e1/a "50%" #1/seed-0')
    assert addresses(experiment(study.write()))[HOSTILE] == "../e1/a%20%2250%25%22%20%231/seed-0/run.json"
    assert unquote("%2250%25%22%20%231") == '"50%" #1'
