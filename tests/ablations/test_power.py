"""What `ablations plan --power` says of pilots."""

import re
from pathlib import Path
from typing import Any

import pytest

from ablations.load import make_study
from ablations.power import power, show_power
from ablations.results import Metric, Result, write_result, write_run
from ablations.study import Run, Study
from models.config import ConfigError


@pytest.fixture
def tiny(tiny: dict[str, Any]) -> dict[str, Any]:
    """The tiny study, its variant named after its position."""
    del tiny["experiments"]["copy"]["vary"]
    tiny["experiments"]["copy"]["variants"] = {"none": {"model.position": "none"}}
    return tiny


def end(run: Run, root: Path, loss: float, status: str = "completed") -> None:
    (root / run.folder).mkdir(parents=True)
    write_run(run, root / run.folder, None)
    metrics = [Metric("test", "loss", "", loss), Metric("validation", "loss", "", 9.0)]
    write_result(run, root / run.folder, Result(status, metrics=metrics), "", None)


def pilots(tiny: dict[str, Any], root: Path, losses: dict[str, tuple[float, ...]]) -> Study:
    """A study of two planned seeds, and runs of more seeds than that."""
    for run in make_study(tiny, seeds=4).runs():
        of_variant = losses.get(run.variant, ())
        if run.seed < len(of_variant):
            end(run, root, of_variant[run.seed])
    return make_study(tiny)


def test_pilots_are_found_whether_their_seed_is_planned_or_not(tiny: dict[str, Any], tmp_path: Path) -> None:
    study = pilots(tiny, tmp_path, {"base": (1.0, 2.0, 3.0)})
    (entry,) = power(study, tmp_path)
    assert (entry["experiment"], entry["metric"]) == ("copy", "loss")
    assert (entry["base_seeds"], entry["base_mean"], entry["noise_floor"]) == (3, 2.0, 1.0)
    (alone,) = entry["variants"]
    assert (entry["planned_seeds"], alone["deviation"]) == (2, pytest.approx(2**0.5))
    assert [of["effect"] for of in alone["wanted"]] == pytest.approx([0.04, 0.1, 0.2])


def test_variants_that_are_there_are_paired(tiny: dict[str, Any], tmp_path: Path) -> None:
    study = pilots(tiny, tmp_path, {"base": (1.0, 2.0, 3.0), "none": (1.5, 2.5, 4.5)})
    (entry,) = power(study, tmp_path, effect=0.5)
    (of,) = entry["variants"]
    assert (of["variant"], of["seeds"]) == ("none", 3)
    assert of["deviation"] == pytest.approx((1 / 3) ** 0.5)  # of 0.5, 0.5, 1.5
    assert [one["effect"] for one in of["wanted"]] == [0.5]


def test_runs_of_other_settings_and_failed_ones_are_no_pilots(tiny: dict[str, Any], tmp_path: Path) -> None:
    tiny["experiments"]["copy"]["train"]["lr"] = 0.1
    pilots(tiny, tmp_path, {"base": (1.0, 2.0, 3.0)})
    tiny["experiments"]["copy"]["train"]["lr"] = 0.2
    study = make_study(tiny)
    for run in study.runs()[:2]:
        end(run, tmp_path, 5.0, status="failed")
    assert power(study, tmp_path) == [{"experiment": "copy", "metric": None, "command": "ablations run tiny --pilot 3"}]


def test_an_experiment_without_pilots_says_how_to_get_them(
    tiny: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tiny["experiments"]["copy"]
    tiny["experiments"]["other [b]"] = {**copy, "train": {**copy["train"], "steps": 5}}
    for run in make_study(tiny, seeds=3).runs():
        if (run.experiment, run.variant) == ("copy", "base"):
            end(run, tmp_path, 1.0 + run.seed)
    entries = power(make_study(tiny), tmp_path)
    assert [(entry["experiment"], entry["metric"]) for entry in entries] == [("copy", "loss"), ("other [b]", None)]
    show_power(entries)
    assert capsys.readouterr().out.splitlines()[-1] == (
        "no pilot of two seeds for other [b]: ablations run tiny --pilot 3"
    )


def test_the_table(tiny: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Mean 2, deviation 1, of differences 1.41, 6.28 times as much at most; an effect of 1 takes 16 seeds and a bit."""
    study = pilots(tiny, tmp_path, {"base": (1.0, 2.0, 3.0)})
    show_power(power(study, tmp_path, effect=1.0))
    text = capsys.readouterr().out
    (cells,) = rows(text)
    assert cells[:6] == ["copy", "loss", "2", "1 (3)", "base alone", "1.41 (3)"]
    assert cells[7:] == ["18"]
    assert cells[6].endswith(" (2)")
    assert text.splitlines()[0].endswith("  seeds for 1")
    assert "those that show an effect of 1 as often" in text
    assert "up to 6.3 times" in text
    assert ("Base alone" in text, "variant minus base" in text, "-: " in text) == (True, False, False)


def test_the_table_has_a_row_for_each_variant_and_marks_two(
    tiny: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Differences of -d, 0, d have the deviation d; of four variants the second noisiest is the upper median."""
    given = {"calm": 0.5, "wild": 4.0, "odd": 1.0, "loud": 2.0}
    fields = ("position", "norm", "feed_forward", "residual")
    tiny["experiments"]["copy"]["variants"] = {
        name: {f"model.{field}": "none"} for name, field in zip(given, fields, strict=True)
    }
    losses = {name: tuple(2.0 + of_base + d * of_base for of_base in (-1, 0, 1)) for name, d in given.items()}
    study = pilots(tiny, tmp_path, {"base": (1.0, 2.0, 3.0), **losses})
    show_power(power(study, tmp_path))
    text = capsys.readouterr().out
    found = [(cells[4], cells[5]) for cells in rows(text)]
    assert found == [("wild (largest)", "4 (3)"), ("loud (median)", "2 (3)"), ("odd", "1 (3)"), ("calm", "0.5 (3)")]
    assert re.search("for 2 % .* for 5 % .* for 10 %", text)
    assert "an effect of 2 % of the base's value" in text
    assert ("Base alone" in text, "variant minus base" in text, "-: " in text) == (False, True, False)


def test_a_single_variant_is_neither_the_largest_nor_the_median(
    tiny: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = pilots(tiny, tmp_path, {"base": (1.0, 2.0, 3.0), "none": (1.5, 2.5, 4.5)})
    show_power(power(study, tmp_path))
    (cells,) = rows(capsys.readouterr().out)
    assert cells[4] == "none"


def test_a_pilot_without_spread_is_shown_as_such(
    tiny: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    show_power(power(pilots(tiny, tmp_path, {"base": (1.0, 1.0)}), tmp_path))
    text = capsys.readouterr().out
    (cells,) = rows(text)
    assert cells[2:] == ["1", "0 (2)", "base alone", "0 (2)", "- (2)", "-", "-", "-"]
    assert "which says nothing of other seeds" in text


def rows(text: str) -> list[list[str]]:
    """Cells of the lines of the experiment `copy`."""
    return [re.split("  +", line.strip()) for line in text.splitlines() if line.startswith("copy")]


def test_more_seeds_than_anybody_trains_are_not_counted(
    tiny: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An effect of 0.002 with deviation 1.41 takes millions of seeds."""
    show_power(power(pilots(tiny, tmp_path, {"base": (1.0, 2.0, 3.0)}), tmp_path, effect=0.002))
    (cells,) = rows(capsys.readouterr().out)
    assert cells[-1] == "over 999"


@pytest.mark.parametrize("effect", [0.0, -1.0, float("nan")])
def test_an_effect_that_is_none_is_refused(tiny: dict[str, Any], tmp_path: Path, effect: float) -> None:
    with pytest.raises(ConfigError, match="--power"):
        power(make_study(tiny), tmp_path, effect)
