"""Settings of every variant."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reports.experiment import Experiment
from reports.pages.configurations import Configuration, configurations
from reports.rows import read_study
from reports.table import make_tables

Maker = Callable[..., Any]

HOSTILE = "<img src=x onerror=alert(1)>"


def of(folder: Path, name: str = "german") -> dict[str, Configuration]:
    return {c.variant: c for c in configurations(Experiment(make_tables(read_study(folder)), name))}


def differing(configuration: Configuration) -> dict[str, str]:
    return {setting.path: setting.value for setting in configuration.settings if setting.differs}


def test_what_differs_from_the_base_is_marked(quick: Path) -> None:
    found = of(quick)
    assert next(iter(found)) == "base"
    assert differing(found["base"]) == {}
    assert differing(found["no-positions"]) == {"model.position": "none"}
    assert differing(found["lstm"]) == {"model.architecture": "lstm", "model.cross_attention": "none"}
    settings = {setting.path: setting.value for setting in found["one-head"].settings}
    assert (settings["model.n_heads"], settings["train.lr"], settings["task.name"]) == ("1", "0.003", "german")
    assert "seed" not in settings
    assert list(settings) == [setting.path for setting in found["base"].settings], "the same order as the base's"


def test_a_variant_is_linked_with_a_run_of_its_own(quick: Path) -> None:
    for variant, configuration in of(quick).items():
        run = json.loads((quick / "report" / configuration.folder / "run.json").resolve().read_text(encoding="utf-8"))
        assert run["variant"] == variant
        assert configuration.address == f"{configuration.folder}/run.json"


def test_a_section_that_is_replaced_is_shown_setting_by_setting(make: Maker) -> None:
    """Before any run as planned; after it as resolved, with settings that only one side has."""
    study = make()
    study.experiment("german", {HOSTILE: {"model": {"architecture": "lstm", "d_hidden": 97}}})
    folder = study.write()
    planned = of(folder)[HOSTILE]
    assert differing(planned) == {"model.architecture": "lstm", "model.d_hidden": "97"}
    assert (planned.folder, planned.address) == ("", "")
    assert of(folder)["base"].settings == ()
    study.run("german", "base", 0, [("test", "loss", "", 0.1)])
    place = study.run("german", HOSTILE, 0, [("test", "loss", "", 0.2)])
    run = json.loads((place / "run.json").read_text(encoding="utf-8"))
    run["config"]["model"] = {"architecture": "lstm", "d_hidden": 97, "d_model": 64, "dropout": None}
    (place / "run.json").write_text(json.dumps(run), encoding="utf-8")
    resolved = of(folder)[HOSTILE]
    assert differing(resolved)["model.d_hidden"] == "97"
    assert differing(resolved)["model.dropout"] == "null"
    assert differing(resolved)["model.n_heads"] == "", "only the base has it"
    assert "model.d_model" not in differing(resolved)
    assert not any(setting.value.startswith("{") for setting in resolved.settings)


def test_without_a_run_of_the_base_the_planned_changes_are_marked(make: Maker) -> None:
    study = make()
    study.experiment("german", {"one": {"model.n_heads": 1}})
    study.run("german", "one", 1, [("test", "loss", "", 0.2)])
    found = of(study.write())["one"]
    assert differing(found) == {"model.n_heads": "1"}
    assert len(found.settings) > 10


def test_keys_are_unique_and_safe_and_addresses_quoted(make: Maker) -> None:
    study = make()
    study.experiment("german", {HOSTILE: {"model.n_heads": 1}, "a&b": {"model.n_heads": 2}})
    study.run("german", HOSTILE, 0, [("test", "loss", "", 0.2)], folder='e1/a "50%" #1/seed-0')
    found = of(study.write())
    assert sorted(c.anchor_key for c in found.values()) == ["variant-1", "variant-2", "variant-3"]
    assert found[HOSTILE].address == "../e1/a%20%2250%25%22%20%231/seed-0/run.json"
