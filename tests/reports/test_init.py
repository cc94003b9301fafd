"""Results and effects as data frames, as a notebook has them; and that importing them is light."""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import reports
from reports import effects, load_results
from reports.rows import RowsError, read_study
from reports.table import make_tables

ROOT = Path(__file__).parents[2]
Maker = Callable[..., Any]


def small(make: Maker, name: str = "made-up", shift: float = 0.0) -> Path:
    """Base and one variant, three seeds: one run of the variant diverged, one is missing."""
    study = make(name)
    study.experiment("e", {"x": {"model.n_heads": 1}}, headline=["loss", "accuracy"])
    for seed in study.seeds:
        values = [("test", "loss", "", 0.5 + seed / 8 + shift), ("validation", "loss", "", 0.25)]
        values += [("test", "accuracy", f"distance={d}", 0.9 - d / 10) for d in (1, 2, 5)]
        study.run("e", "base", seed, values, cost={"train_seconds": 3.0 + seed})
    distances = [("test", "accuracy", f"distance={d}", 0.5) for d in (1, 2, 5)]
    study.run("e", "x", 0, [("test", "loss", "", 1.0), *distances])
    study.run("e", "x", 2, [("test", "loss", "", 3.0)], status="diverged", reason="not finite")
    folder: Path = study.write()
    return folder


def test_every_value_is_a_row_and_no_run_is_lost(make: Maker) -> None:
    results = load_results(small(make))
    assert list(results.columns) == [
        *("study", "experiment", "variant", "is_base", "changes", "seed", "state"),
        *("split", "metric", "coordinate", "axis", "at", "value"),
        *("parameters", "training_flops", "wall_seconds", "train_seconds", "busy_seconds", "tokens_per_second"),
        *("peak_memory_mib", "folder", "looks"),
    ]
    runs = results.drop_duplicates(["variant", "seed"])
    assert list(zip(runs["variant"], runs["seed"], runs["state"], strict=True)) == [
        *(("base", seed, "completed") for seed in (0, 1, 2)),
        *(("x", 0, "completed"), ("x", 1, "missing"), ("x", 2, "diverged")),
    ]
    lost = results[(results["variant"] == "x") & (results["seed"] == 1)]
    assert lost[["split", "metric", "coordinate"]].to_numpy().tolist() == [["", "", ""]]
    assert lost["value"].isna().all()
    assert lost["changes"].tolist() == ["model.n_heads: 1"]
    assert results.loc[results["variant"] == "base", "is_base"].all()
    assert not results.loc[results["variant"] == "x", "is_base"].any()
    assert set(results["study"]) == {"made-up"}


def test_coordinates_are_taken_apart_and_costs_stand_beside_values(make: Maker) -> None:
    results = load_results(small(make))
    distance = results[results["axis"] == "distance"]
    assert distance["at"].tolist() == [1.0, 2.0, 5.0] * 4
    assert distance["coordinate"].tolist()[:2] == ["distance=1", "distance=2"]
    assert results.loc[results["coordinate"] == "", "axis"].eq("").all()
    loss = results[(results["metric"] == "loss") & (results["split"] == "test") & results["is_base"]]
    assert loss["train_seconds"].tolist() == [3.0, 4.0, 5.0]
    far = results[results["metric"] == "long_range_accuracy"]
    np.testing.assert_allclose(far["value"], [0.4, 0.4, 0.4, 0.5])


def test_a_study_is_found_by_its_folder_by_its_name_and_by_the_name_in_its_plan(
    make: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = small(make, "my study")
    output = tmp_path / "runs"
    shutil.copytree(folder, output / "my_study")
    expected = load_results(folder).drop(columns="folder")
    for study, where in ((output / "my_study", "nowhere"), ("my_study", output), ("my study", str(output))):
        found = load_results(study, where)
        pd.testing.assert_frame_equal(found.drop(columns="folder"), expected)
    monkeypatch.chdir(tmp_path)
    assert len(load_results("my study")) == len(expected)
    assert len(effects("my study")) == 2


def test_a_folder_that_is_none_is_refused_in_one_line(tmp_path: Path) -> None:
    for study in ("absent", tmp_path):
        with pytest.raises(RowsError, match=r"no folder with a plan\.json") as raised:
            load_results(study, tmp_path)
        assert "\n" not in str(raised.value)
    with pytest.raises(RowsError, match="absent"):
        effects("absent")


def test_effects_know_the_looks_of_the_plan(make: Maker) -> None:
    study = make(seeds=range(5))
    for name, looks in (("plain", []), ("looked", [5, 10, 20])):
        study.experiment(name, {"x": {"model.n_heads": 1}}, looks=looks)
        for seed in range(5):
            study.run(name, "base", seed, [("test", "loss", "", 1.0)])
            study.run(name, "x", seed, [("test", "loss", "", 1.1 + seed / 9)])
    folder = study.write()
    results = load_results(folder)
    assert dict(zip(results["experiment"], results["looks"], strict=True)) == {"plain": "", "looked": "5 10 20"}
    found = effects(results).set_index("experiment")
    assert found["p_value"]["looked"] == pytest.approx(3 * found["p_value"]["plain"])
    assert found["low"]["looked"] < found["low"]["plain"]
    expected = make_tables(read_study(folder)).effects.set_index("experiment")
    pd.testing.assert_frame_equal(found[expected.columns], expected)


def test_settings_become_columns(make: Maker) -> None:
    results = load_results(small(make), settings=["model.n_heads", "train.lr"])
    runs = results.drop_duplicates(["variant", "seed"])
    assert runs["model.n_heads"].tolist()[:4] == [4, 4, 4, 1]
    assert pd.isna(runs["model.n_heads"].tolist()[4])  # not started
    assert runs["train.lr"].tolist()[0] == 0.003
    with pytest.raises(RowsError, match=r"model\.heads"):
        load_results(small(make), settings=["model.heads"])


def test_a_setting_that_is_null_in_every_run_is_one(make: Maker) -> None:
    study = make(seeds=(0,))
    study.experiment("e", {"x": {"model.window": None}})
    study.run("e", "x", 0, [("test", "loss", "", 1.0)])
    found = load_results(study.write(), settings=["model.window"])
    assert found["model.window"].tolist() == [None, None]


def test_effects_are_those_of_the_report(quick: Path) -> None:
    expected = make_tables(read_study(quick)).effects
    for given in (quick, load_results(quick)):
        found = effects(given)
        assert set(found["study"]) == {"quick"}
        pd.testing.assert_frame_equal(found.drop(columns="study"), expected)


def test_effects_count_the_runs_that_have_no_value(make: Maker) -> None:
    found = effects(small(make)).set_index("metric").loc["loss"]
    assert found["n_seeds"] == 2
    assert (found["planned"], found["completed"], found["diverged"]) == (3, 1, 1)
    assert (found["base_planned"], found["base_completed"]) == (3, 3)
    np.testing.assert_allclose(found["difference"], ((1.0 - 0.5) + (3.0 - 0.75)) / 2)


def test_effects_of_part_of_the_results(quick: Path) -> None:
    results = load_results(quick)
    whole = effects(results)
    part = effects(results[results["metric"].isin(["loss", "long_range_accuracy"]) & (results["variant"] != "lstm")])
    assert set(part["metric"]) == {"loss", "long_range_accuracy"}
    assert "lstm" not in set(part["variant"])
    both = part.merge(whole, on=["metric", "variant"], suffixes=("", "_whole"))
    np.testing.assert_array_equal(both["low"], both["low_whole"])
    assert (both["p_holm"] < both["p_holm_whole"]).any()  # a smaller family
    two = effects(results[results["seed"] < 2])
    assert set(two["n_seeds"]) == {2}


def test_effects_of_two_studies_stay_apart(make: Maker) -> None:
    first, second = load_results(small(make, "one")), load_results(small(make, "two", shift=0.25))
    found = effects(pd.concat([first, second], ignore_index=True)).query("metric == 'loss'").set_index("study")
    np.testing.assert_allclose(found["difference"]["one"] - found["difference"]["two"], 0.25)
    doubled = effects(pd.concat([first, first]))
    pd.testing.assert_frame_equal(doubled, effects(first))
    with pytest.raises(RowsError, match="two values of 'loss'"):
        effects(pd.concat([first, second.assign(study="one")]))


def test_another_base_can_be_named(quick: Path) -> None:
    results = load_results(quick)
    found = effects(results, base="lstm").query("metric == 'loss'").set_index("variant")
    planned = effects(results).query("metric == 'loss'").set_index("variant")
    np.testing.assert_allclose(found["difference"]["base"], -planned["difference"]["lstm"])
    assert set(found["base"]) == {"lstm"}


def test_results_without_a_base_are_refused(quick: Path) -> None:
    results = load_results(quick)
    with pytest.raises(RowsError, match="experiment 'german': 0 bases"):
        effects(results[~results["is_base"]])
    with pytest.raises(RowsError, match="0 bases"):
        effects(results, base="absent")
    with pytest.raises(RowsError, match="without the columns metric"):
        effects(results.drop(columns="metric"))
    with pytest.raises(RowsError, match="is_base"):
        effects(results.drop(columns="is_base"))


def test_a_frame_of_ones_own_needs_five_columns() -> None:
    values = {"a": (1.0, 2.0, 4.0), "b": (2.0, 4.0, 7.0)}
    rows = [("e", name, seed, "f1", value) for name, of in values.items() for seed, value in enumerate(of)]
    frame = pd.DataFrame(rows, columns=["experiment", "variant", "seed", "metric", "value"])
    (row,) = effects(frame, base="a").to_dict("records")
    assert row["difference"] == 2.0
    np.testing.assert_allclose(
        [row["low"], row["high"]], [2 - 4.302652729911275 / 3**0.5, 2 + 4.302652729911275 / 3**0.5]
    )


def test_nothing_in_nothing_out(make: Maker) -> None:
    study = make("empty")
    study.experiment("e", {"x": {"model.norm": "none"}})
    results = load_results(study.write())
    assert len(results) == 6
    assert set(results["state"]) == {"missing"}
    assert effects(results).empty
    assert {"study", "metric", "difference", "p_holm"} <= set(effects(results[:0]).columns)


def test_importing_reports_is_light() -> None:
    heavy = ("pandas", "numpy", "scipy", "matplotlib", "jinja2", "torch")
    code = f"import sys, reports; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert reports.__all__ == ["effects", "load_results"]


def test_the_example_of_the_docs_works(quick: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs/report.md").read_text(encoding="utf-8"), re.S)
    shutil.copytree(quick, tmp_path / "runs" / "quick")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(code, names)
    assert (tmp_path / "bleu.png").stat().st_size > 5000
    assert names["worst"]["variant"].iloc[0] == "no-residual"
    assert names["curve"].loc[17.0, "base"] > names["curve"].loc[17.0, "lstm"]


def test_links_and_commands_of_the_docs() -> None:
    text = (ROOT / "docs/report.md").read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert target.startswith("http") or (ROOT / "docs" / target).exists(), target
    assert len(re.findall(r"^    ablations report ", text, re.M)) >= 4
