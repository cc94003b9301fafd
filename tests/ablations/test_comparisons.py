"""Comparisons as experiments of their own, and pilots."""

from pathlib import Path
from typing import Any

import pytest

from ablations.comparisons import pilot, with_comparisons
from ablations.load import make_study
from models.config import ConfigError


def test_matched_variants_are_a_further_experiment(tiny: dict[str, Any], tmp_path: Path) -> None:
    tiny["experiments"]["copy"]["vary"] = {"model.n_layers": [2], "model.n_heads": [1]}
    study = with_comparisons(make_study({**tiny, "comparison": ["matched"]}), tmp_path)
    assert [experiment.name for experiment in study.experiments] == ["copy", "copy (matched)"]
    same, matched = study.experiments
    assert (matched.comparison, matched.origin, matched.base) == ("matched", "copy", same.base)
    unchanged = {run.id for run in study.runs() if run.experiment == "copy"}
    assert {run.id for run in study.runs() if run.variant == "n_heads=1"} <= unchanged
    assert all(run.comparison == "matched" for run in study.runs() if run.experiment != "copy")


def test_without_comparisons_a_study_stays_what_it_is(tiny: dict[str, Any], tmp_path: Path) -> None:
    assert with_comparisons(make_study(tiny), tmp_path) == make_study(tiny)


def test_tuned_variants_need_a_search_that_has_ended(tiny: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="ablations tune"):
        with_comparisons(make_study({**tiny, "comparison": ["tuned"]}), tmp_path)


def test_a_pilot_is_the_base_alone(tiny: dict[str, Any]) -> None:
    study = make_study({**tiny, "comparison": ["matched"], "seeds": [7, 9]})
    found = pilot(study, 3)
    assert [(run.variant, run.seed) for run in found.runs()] == [("base", 0), ("base", 1), ("base", 2)]
    assert found.comparisons == ()
    assert found.runs()[0].id == pilot(make_study(tiny), 1).runs()[0].id


def test_an_experiment_with_the_name_of_a_comparison_is_refused(tiny: dict[str, Any], tmp_path: Path) -> None:
    tiny["experiments"]["copy"]["vary"] = {"model.n_layers": [2]}
    tiny["experiments"]["copy (matched)"] = dict(tiny["experiments"]["copy"])
    with pytest.raises(ConfigError, match=r"experiment='copy \(matched\)': has the folder of"):
        with_comparisons(make_study({**tiny, "comparison": ["matched"]}), tmp_path)
