"""The same experiment in all comparisons: verdicts beside those of scipy and statsmodels, what was made equal."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from reports.fairness import (
    COLUMNS,
    Fair,
    at_an_end,
    best_trial,
    changed,
    describe_settings,
    fair_experiments,
    fairness_table,
    no_trials,
    originals,
    verdict,
)
from reports.frames import records
from reports.trials import TrialRow
from tests.reports.fair_study import MATCHED, SAME, TUNED, WHY, Losses, experiments_of, fair_of, fair_study

Maker = Callable[..., Any]


@pytest.fixture
def fair(make: Maker) -> Fair:
    return fair_of(fair_study(make()))


def test_the_arms_are_in_their_order_and_the_rest_has_none(make: Maker) -> None:
    study = make()
    study.experiment("alone", {"x": {"model.norm": "none"}})
    experiments = experiments_of(fair_study(study))
    (found,) = fair_experiments(experiments)
    assert {name: arm.name for name, arm in found.arms.items()} == {
        "same": "e", "matched": "e (matched)", "tuned": "e (tuned)",
    }  # fmt: skip
    assert list(found.arms) == ["same", "matched", "tuned"]
    assert found.made_equal == ["matched", "tuned"]
    assert [experiment.name for experiment in originals(experiments)] == ["alone", "e"]
    assert found.trials.empty
    assert fair_experiments(originals(experiments)) == []


def expected(losses: Losses) -> dict[str, str]:
    """Verdicts by other programs' t test and correction."""
    others = [name for name in losses if name != "base"]
    differences = {name: np.subtract(losses[name], losses["base"]) for name in others}
    p = [stats.ttest_1samp(differences[name], 0).pvalue for name in others]
    rejected = multipletests(p, alpha=0.05, method="holm")[0]
    words = {name: "worse" if differences[name].mean() > 0 else "better" for name in others}
    return {n: words[n] if decided else "undecided" for n, decided in zip(others, rejected, strict=True)}


def test_verdicts_are_those_of_each_comparison_by_itself(fair: Fair) -> None:
    for comparison, losses in (("same", SAME), ("matched", MATCHED), ("tuned", TUNED)):
        found = {v: of[comparison] for v in fair.others if comparison in (of := fair.verdicts("loss", v))}
        assert found == expected(losses)
    assert fair.verdicts("loss", "slow") == {"same": "worse", "matched": "worse", "tuned": "undecided"}
    assert fair.verdicts("loss", "small") == {"same": "worse", "matched": "better", "tuned": "worse"}
    assert fair.verdicts("bleu", "small") == fair.verdicts("loss", "small")  # the other way round, and better is higher
    assert fair.verdicts("loss", "huge") == {"same": "undecided", "tuned": "undecided"}
    assert changed(fair.verdicts("loss", "slow")) == {"tuned": "undecided"}
    assert changed(fair.verdicts("loss", "small")) == {"matched": "better"}
    assert changed({"tuned": "worse"}) == {}


def effect(**fields: Any) -> dict[str, Any]:
    nan = float("nan")
    known = {"difference": 0.5, "low": nan, "high": nan, "p_holm": nan, "all_equal": False, "successes_low": 0.3}
    return {**known, **fields}


@pytest.mark.parametrize(
    ("metric", "fields", "word"),
    [
        ("loss", {"p_holm": 0.049}, "worse"),
        ("loss", {"p_holm": 0.05, "low": 0.1, "high": 0.9}, "undecided"),  # the corrected p decides, not the interval
        ("bleu", {"p_holm": 0.01}, "better"),
        ("bleu", {"p_holm": 0.01, "difference": -0.5}, "worse"),
        ("gradient_norm", {"p_holm": 0.01}, "higher"),
        ("gradient_norm", {"p_holm": 0.01, "difference": -0.5}, "lower"),
        ("loss", {}, "undecided"),  # one seed
        ("loss", {"all_equal": True, "low": 0.2, "high": 0.8}, "worse"),  # the test items' interval
        ("loss", {"all_equal": True, "low": -0.2, "high": 1.2, "successes_low": 0.6}, "undecided"),
        ("loss", {"all_equal": True, "successes_low": 0.54}, "worse"),  # six seeds alike
        ("loss", {"all_equal": True, "successes_low": 0.478}, "undecided"),  # five
        ("loss", {"all_equal": True, "successes_low": 0.54, "difference": 0.0}, "undecided"),
    ],
)
def test_a_verdict_follows_the_corrected_p_and_without_one_the_seeds(
    metric: str, fields: dict[str, Any], word: str
) -> None:
    assert verdict(effect(**fields), metric) == word


def test_what_was_made_equal_is_read_from_runs_and_trials(fair: Fair) -> None:
    assert fair.settings("same", "slow") == {}
    assert fair.settings("matched", "small") == {"model.d_ff": 300}
    assert fair.settings("matched", "slow") == {}
    assert fair.settings("tuned", "slow") == {"train.lr": 0.001}
    assert fair.settings("tuned", "base") == {"train.lr": 0.003}  # the same as untuned, and yet searched for
    assert describe_settings({"train.lr": 0.00123456, "model.d_ff": 300}) == "train.lr: 0.00123, model.d_ff: 300"
    assert fair.left_out("matched", "huge") == WHY
    assert fair.left_out("tuned", "huge") == ""


def test_without_trials_the_tuned_settings_are_those_that_differ(make: Maker) -> None:
    folder = fair_study(make())
    (folder / "tune" / "trials.csv").unlink()
    found = fair_of(folder)
    assert found.settings("tuned", "slow") == {"train.lr": 0.001}
    assert found.settings("tuned", "base") == {}


def frame(*rows: tuple[str, int, str, float | None, dict[str, Any]]) -> pd.DataFrame:
    return pd.DataFrame(
        [TrialRow("e", v, n, s, x, 1.0, p) for v, n, s, x, p in rows],  # type: ignore[arg-type]
        columns=TrialRow._fields,
    ).astype({"value": float})


def test_the_best_trial_is_the_lowest_then_the_first_and_finished() -> None:
    trials = frame(
        ("a", 2, "completed", 0.5, {"x": 2}),
        ("a", 1, "completed", 0.5, {"x": 1}),
        ("a", 0, "completed", 0.7, {"x": 0}),
        ("a", 3, "pruned", None, {"x": 3}),
        ("b", 0, "diverged", None, {"x": 0}),
    )
    best = best_trial(trials, "a")
    assert best is not None
    assert (best["number"], best["point"]) == (1, {"x": 1})
    assert best_trial(trials, "b") is None
    assert best_trial(no_trials(), "a") is None


def test_a_best_trial_at_an_end_of_what_was_tried_is_named(fair: Fair) -> None:
    assert at_an_end(fair, "train.lr") == ["huge"]  # 0.009 is the largest
    assert at_an_end(fair, "train.warmup") == []


def test_the_table_has_a_row_for_each_metric_variant_and_comparison(fair: Fair) -> None:
    table = fairness_table([fair])
    assert list(table.columns) == list(COLUMNS)
    assert len(table) == 2 * 4 * 3
    rows = {(row["metric"], row["variant"], row["comparison"]): row for row in records(table)}
    small = rows["loss", "small", "matched"]
    assert small["difference"] == pytest.approx(np.mean(np.subtract(MATCHED["small"], MATCHED["base"])))
    assert small["value"] == pytest.approx(np.mean(MATCHED["small"]))
    assert (small["settings"], small["verdict"], small["changed"]) == ("model.d_ff: 300", "better", True)
    assert (small["parameters"], small["n_seeds"]) == (250_000, 3)
    base = rows["loss", "base", "tuned"]
    assert base["is_base"]
    assert base["value"] == pytest.approx(1.0)
    assert np.isnan(base["difference"])
    huge = rows["bleu", "huge", "matched"]
    assert (huge["reason"], huge["verdict"], huge["n_seeds"]) == (WHY, "", 0)
    assert np.isnan(huge["parameters"])


def test_a_table_of_nothing_has_its_columns() -> None:
    assert list(fairness_table([]).columns) == list(COLUMNS)
