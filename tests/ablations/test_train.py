"""One run from settings to result."""

import copy
import json
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch

from ablations import train as train_module
from ablations.load import make_study
from ablations.results import Result
from ablations.study import Run, Trial
from ablations.train import train
from datamodules.order import Order
from models.config import ConfigError
from models.lit import Module
from models.scores import COLUMNS, score_of_counts
from reports.items import resampled_by_metric
from reports.rows import read_metrics, read_result

WITH_ITEMS = ("loss", "perplexity", "bleu", "bleu-lower", "chrf", "accuracy", "accuracy-per-token")
GERMAN = {
    "task": {"name": "german", "validation_size": 5, "test_size": 7},
    "model": {"architecture": "encoder-decoder", "d_model": 12, "n_layers": 1, "n_heads": 3},
    "train": {"steps": 3, "batch_size": 4, "warmup": 2},
}


def run_of(tiny: dict[str, Any], **changes: Any) -> Run:
    plain = copy.deepcopy(tiny)
    for section, fields in changes.items():
        if section == "measure":
            plain["experiments"]["copy"]["measure"] = fields
        else:
            plain["experiments"]["copy"][section].update(fields)
    return make_study(plain).runs()[0]


def values(result: Result) -> dict[str, float]:
    return {f"{m.split}/{m.metric}" + (f"@{m.coordinate}" if m.coordinate else ""): m.value for m in result.metrics}


def test_a_run_leaves_all_its_files_and_the_result_last(tiny: dict[str, Any], tmp_path: Path) -> None:
    run = run_of(tiny, train={"log_every": 1, "validate_every": 2})
    result = train(run, tmp_path)
    found = values(result)
    assert result.status == "completed"
    assert {"test/loss", "test/accuracy", "validation/loss", "test/accuracy@distance=1"} <= set(found)
    logged = Counter((row.split, row.metric) for row in read_metrics(tmp_path))
    assert logged["train", "loss"] == 4
    assert logged["validation", "loss"] == 2
    written = read_result(tmp_path)
    assert written is not None
    for column in ("parameters", "training_flops", "busy_seconds", "tokens_per_second", "wall_seconds"):
        value = written["cost"][column]
        assert value is not None
        assert value > 0
    assert not (tmp_path / "checkpoints").exists()
    newest = max(tmp_path.rglob("*"), key=lambda path: path.stat().st_mtime_ns)
    assert newest.name in ("result.json", tmp_path.name)


def test_the_same_run_gives_the_same_bits(tiny: dict[str, Any], tmp_path: Path) -> None:
    run = run_of(tiny, model={"dropout": 0.2})
    first, second = (values(train(run, tmp_path / name)) for name in ("a", "b"))
    assert first == second
    other = make_study(tiny).runs()[2]
    assert other.seed == 1
    assert values(train(other, tmp_path / "c"))["test/loss"] != first["test/loss"]


@pytest.mark.parametrize(("made_up", "best"), [([1.0, 2.0, 3.0], 0), ([math.nan, 2.0, 1.0], 2)])
def test_the_weights_tested_are_those_of_the_best_validation(
    tiny: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made_up: list[float], best: int
) -> None:
    seen: list[torch.Tensor] = []
    losses = iter(made_up)
    original = Module._log_results

    def log_results(self: Module, split: str) -> None:
        seen.append(next(self.model.parameters()).detach().clone())
        original(self, split)
        if split == "validation":
            self.log("validation/loss", next(losses), batch_size=1)

    monkeypatch.setattr(Module, "_log_results", log_results)
    monkeypatch.setattr(
        Module, "results", lambda self: {} if self.trainer.validating or self.trainer.training else {"loss": 0.5}
    )
    steady = {"steps": 3, "validate_every": 1, "schedule": "constant"}  # cosine ends with a step of rate 0
    result = train(run_of(tiny, train=steady), tmp_path)
    assert len(seen) == 4
    assert [torch.equal(seen[3], weights) for weights in seen[:3]] == [number == best for number in range(3)]
    assert values(result)["validation/loss"] == 1.0


def test_the_last_step_is_followed_by_a_validation_whatever_the_interval(tiny: dict[str, Any], tmp_path: Path) -> None:
    train(run_of(tiny, train={"steps": 7, "validate_every": 3}), tmp_path)
    steps = [row.step for row in read_metrics(tmp_path) if row.metric == "loss" and row.split == "validation"]
    assert steps == [3, 6, 7]
    assert {row.step for row in read_metrics(tmp_path) if row.split == "test"} == {7}


def test_a_loss_that_is_not_finite_is_a_result(tiny: dict[str, Any], tmp_path: Path) -> None:
    run = run_of(tiny, train={"lr": 1e18, "clip": 0.0, "warmup": 0, "steps": 40}, model={"norm": "none"})
    result = train(run, tmp_path)
    assert result.status == "diverged"
    assert result.reason is not None
    assert "step" in result.reason
    assert values(result) == {"test/loss": pytest.approx(math.log(7)), "test/accuracy": pytest.approx(1 / 7)}
    written = read_result(tmp_path)
    assert written is not None
    assert written["status"] == "diverged"


def test_no_finite_validation_loss_is_diverged(
    tiny: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Module, "results", lambda self: {"loss": math.nan})
    result = train(run_of(tiny), tmp_path)
    assert (result.status, result.reason) == ("diverged", "no validation loss is finite")


def test_a_run_may_only_measure(tiny: dict[str, Any], tmp_path: Path) -> None:
    result = train(run_of(tiny, train={"steps": 0}, model={"n_layers": 2}, measure=["gradient-norm"]), tmp_path)
    found = values(result)
    layers = {"probe/gradient_norm@layer=1", "probe/gradient_norm@layer=2"}
    assert set(found) == layers | {"probe/gradient_decades"}
    assert all(found[layer] > 0 for layer in layers)
    assert result.cost["training_flops"] == 0


def test_a_target_ends_the_training_and_says_what_it_took(tiny: dict[str, Any], tmp_path: Path) -> None:
    """Every accuracy is at least this low, so that the first validation reaches it."""
    train_settings = {"until_accuracy": 1e-9, "validate_every": 1, "steps": 40, "batch_size": 50}
    first = values(train(run_of(tiny, train=train_settings), tmp_path / "a"))
    assert first["validation/accuracy"] > 0
    assert first["validation/steps_to_target"] == 1
    never = train(run_of(tiny, train={"until_loss": 1e-9, "validate_every": 1}), tmp_path / "b")
    assert "validation/steps_to_target" not in values(never)
    assert max(row.step for row in read_metrics(tmp_path / "b")) == 4
    assert first["validation/flops_to_target"] < (never.cost["training_flops"] or 0) * 50 / 3


def test_a_target_that_cannot_be_is_refused(tiny: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"until_accuracy=1\.5: must be above 0 and at most 1"):
        run_of(tiny, train={"until_accuracy": 1.5})
    german = {**GERMAN, "train": {"until_accuracy": 0.5}}
    with pytest.raises(ConfigError, match=r"until_accuracy=0\.5: task german has no accuracy"):
        make_study({"name": "t", "experiments": {"g": german}})


def test_the_last_training_loss_and_the_references_are_part_of_the_result(
    tiny: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Order, "references", lambda self: {"loss": {"oracle": 0.25}})
    found = values(train(run_of(tiny, train={"log_every": 2}), tmp_path))
    logged = [row.value for row in read_metrics(tmp_path) if (row.split, row.metric) == ("train", "loss")]
    assert found["train/loss"] == logged[-1]
    written = read_result(tmp_path)
    assert written is not None
    assert written["references"] == {"loss": {"oracle": 0.25}}


def test_every_test_sequence_of_a_tagger_is_kept(tiny: dict[str, Any], tmp_path: Path) -> None:
    found = values(train(run_of(tiny), tmp_path))
    rows = pd.read_csv(tmp_path / "outputs" / "answers.csv.gz", keep_default_na=False)
    assert len(rows) == 13
    assert (rows["answers"] == 4).all()  # of 5 tokens the first has no one before it
    assert rows["right"].sum() / rows["answers"].sum() == pytest.approx(found["test/accuracy"])
    assert rows["nats"].sum() / rows["answers"].sum() == pytest.approx(found["test/loss"])
    reported = {name.removeprefix("test/"): value for name, value in found.items()}
    assert {"loss", "accuracy"} <= set(resampled_by_metric(tmp_path, [], reported))


def read_table(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, keep_default_na=False, na_values={"nats": [""]})


def test_a_translator_leaves_its_translations_and_contrasts(tiny: dict[str, Any], tmp_path: Path) -> None:
    """Every score of the test can be had again from the rows."""
    tiny["experiments"] = {"copy": copy.deepcopy(GERMAN)}
    result = train(make_study(tiny).runs()[0], tmp_path)
    found = values(result)
    assert set(result.signatures) == {"bleu", "bleu-lower", "chrf"}
    assert result.signatures["bleu"].startswith("nrefs:1|")
    translations = read_table(tmp_path / "outputs/translations.csv.gz")
    assert len(translations) == found["test/items"] == 7
    assert {"set", "source", "reference", "hypothesis", "forced"} <= set(translations.columns)
    assert set(translations["set"]) == {""}
    counts = [
        dict(zip(translations.columns, row, strict=True)) for row in translations.itertuples(index=False, name=None)
    ]
    for name in COLUMNS:
        assert score_of_counts(name, counts) == pytest.approx(found[f"test/{name}"], rel=1e-6)
    loss = translations["nats"].sum() / translations["tokens"].sum()
    assert loss == pytest.approx(found["test/loss"], rel=1e-6)
    reported = {metric: found[f"test/{metric}"] for metric in WITH_ITEMS}
    assert set(resampled_by_metric(tmp_path, [], reported)) == set(reported)  # the report can take the items for it


def test_accuracies_can_be_had_again_from_the_contrasts(tiny: dict[str, Any], tmp_path: Path) -> None:
    tiny["experiments"] = {"copy": copy.deepcopy(GERMAN)}
    tiny["experiments"]["copy"]["task"]["contrast_size"] = 60
    found = values(train(make_study(tiny).runs()[0], tmp_path))
    table = read_table(tmp_path / "outputs/contrasts.csv.gz")
    assert len(table) == 60
    table["won"] = table["right"] > table["wrong"]
    table["won_per_token"] = table["right"] / table["right_tokens"] > table["wrong"] / table["wrong_tokens"]
    assert table["won"].mean() == pytest.approx(found["test/accuracy"])
    assert table["won_per_token"].mean() == pytest.approx(found["test/accuracy-per-token"])
    assert table["category"].nunique() > 1
    for column in ("category", "distance"):
        for name, items in table.groupby(column):
            assert items["won"].mean() == pytest.approx(found[f"test/accuracy@{column}={name}"])
            assert len(items) == found[f"test/items@{column}={name}"]


def test_rows_of_all_runs_of_a_task_are_the_same_items(tiny: dict[str, Any], tmp_path: Path) -> None:
    """Tests over sentences pair them by their place."""
    tiny["experiments"] = {"copy": {**copy.deepcopy(GERMAN), "vary": {"train.batch_size": [4, 5]}}}
    runs = make_study(tiny).runs()
    assert len({(run.variant, run.seed) for run in runs}) == 4
    for run in runs:
        train(run, tmp_path / run.id)
    for name, columns in {
        "translations": ["source", "reference", "tokens", "bleu_reference_tokens"],
        "contrasts": ["distance", "category", "right_tokens", "wrong_tokens"],
    }.items():
        tables = [read_table(tmp_path / run.id / f"outputs/{name}.csv.gz")[columns] for run in runs]
        assert all(table.equals(tables[0]) for table in tables)
        assert tables[0].nunique().max() > 1


def test_what_there_is_to_know_of_the_data_goes_into_the_result(
    tiny: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Order, "notes", ("warning: it is made up",))
    train(run_of(tiny), tmp_path)
    assert json.loads((tmp_path / "result.json").read_text())["notes"] == ["warning: it is made up"]


def test_checkpoints_are_kept_when_asked_for(tiny: dict[str, Any], tmp_path: Path) -> None:
    train(run_of(tiny, train={"keep_checkpoints": True}), tmp_path)
    state = torch.load(tmp_path / "checkpoints/best.ckpt", weights_only=True)
    assert state["state_dict"]


def test_what_is_no_divergence_is_raised(tiny: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: Any) -> None:
        raise RuntimeError("out of memory")

    monkeypatch.setattr(train_module.Fitting, "fit_and_test", broken)
    with pytest.raises(RuntimeError, match="out of memory"):
        train(run_of(tiny), tmp_path)
    assert not (tmp_path / "result.json").exists()


def test_rows_of_validation_and_test_stand_at_optimiser_steps(tiny: dict[str, Any], tmp_path: Path) -> None:
    """HB-26, its kind: Lightning counts what it is handed, four steps at once, up to 4, 8, 12, 16, 17."""
    train(run_of(tiny, train={"steps": 17, "validate_every": 8, "log_every": 1}), tmp_path)
    steps = {split: [row.step for row in read_metrics(tmp_path) if (row.split, row.metric) == (split, "loss")]
             for split in ("train", "validation", "test")}  # fmt: skip
    assert steps == {"train": list(range(1, 18)), "validation": [8, 16, 17], "test": [17]}


@pytest.mark.parametrize(("above", "steps"), [(0.5, [4]), (5.0, [4, 8, 12])])
def test_a_trial_is_not_tested_and_ends_early_where_it_is_hopeless(
    above: float, steps: list[int], tiny: dict[str, Any], tmp_path: Path
) -> None:
    run = run_of(tiny, train={"steps": 12, "validate_every": 4})
    trial = replace(run, trial=Trial(number=3, give_up_after=0.25, give_up_above=above))
    result = train(trial, tmp_path)
    assert result.status == "completed"
    assert (result.reason or "").startswith("hopeless" if above < 1 else "")
    assert (result.reason is None) == (above > 1)
    assert {metric.split for metric in result.metrics} == {"validation"}
    rows = [row for row in read_metrics(tmp_path) if row.metric == "loss" and row.split != "train"]
    assert [row.step for row in rows] == steps
    assert values(result)["validation/loss"] == min(row.value for row in rows)
    assert not (tmp_path / "outputs").exists()
    assert result.references == {}


def test_a_trial_that_is_never_given_up_goes_to_its_end(tiny: dict[str, Any], tmp_path: Path) -> None:
    run = run_of(tiny, train={"steps": 12, "validate_every": 4})
    result = train(replace(run, trial=Trial(number=3, give_up_after=0.0, give_up_above=0.01)), tmp_path)
    assert result.reason is None
    assert max(row.step for row in read_metrics(tmp_path)) == 12
