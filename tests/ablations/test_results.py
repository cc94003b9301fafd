"""What a run leaves behind reads back as it was written."""

import csv
import gzip
import io
import json
import math
import subprocess
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from ablations import results
from ablations.load import make_study
from ablations.results import Metric, MetricsCsv, Result, write_result, write_run, write_table
from ablations.study import Run
from reports.rows import read_metrics, read_result, read_run


@pytest.fixture
def run(tiny: dict[str, Any]) -> Run:
    return make_study(tiny).runs()[0]


@pytest.mark.parametrize(
    ("key", "metric"),
    [
        ("test/bleu", Metric("test", "bleu", "", 1.0)),
        ("validation/accuracy@distance=8", Metric("validation", "accuracy", "distance=8", 1.0)),
    ],
)
def test_keys_of_logged_values_are_taken_apart(key: str, metric: Metric) -> None:
    assert Metric.from_key(key, 1.0) == metric


def test_metrics_are_appended_in_long_form_and_keep_every_digit(tmp_path: Path) -> None:
    logger = MetricsCsv(tmp_path / "metrics.csv", new=True)
    logger.log_metrics({"train/loss": 1 / 3, "epoch": 0}, step=10)
    logger.log_metrics({"test/accuracy@distance=2": 0.1, "test/loss": math.nan}, step=20)
    rows = read_metrics(tmp_path)
    assert rows[0] == (10, "train", "loss", "", 1 / 3)
    assert rows[1] == (20, "test", "accuracy", "distance=2", 0.1)
    assert math.isnan(rows[2].value)
    assert len(rows) == 3


def test_a_log_that_is_not_new_is_gone_on_with(tmp_path: Path) -> None:
    for step in (1, 2):
        MetricsCsv(tmp_path / "metrics.csv", new=step == 1).log_metrics({"train/loss": 0.5}, step=step)
    assert [row.step for row in read_metrics(tmp_path)] == [1, 2]


def test_run_and_result_read_back(tmp_path: Path, run: Run) -> None:
    result = Result("completed", metrics=[Metric("test", "loss", "", 0.1), Metric("test", "bleu", "", math.inf)])
    write_run(run, tmp_path, commit=None)
    write_result(run, tmp_path, result, started="2000-01-01T00:00:00+00:00", commit=None)
    plain, read = read_run(tmp_path), read_result(tmp_path)
    assert plain is not None
    assert read is not None
    assert plain["id"] == read["id"] == run.id
    assert plain["config"]["model"]["d_head"] == 4
    assert [value["value"] for value in read["metrics"]] == [0.1, None]
    assert read["versions"]["torch"]
    assert f"id:{run.id}" in plain["signature"]
    assert "\n" not in plain["signature"]


def test_result_is_strict_json(tmp_path: Path, run: Run) -> None:
    write_result(
        run, tmp_path, Result("diverged", metrics=[Metric("test", "loss", "", math.nan)]), started="", commit=None
    )
    json.loads((tmp_path / "result.json").read_text(), parse_constant=lambda name: pytest.fail(name))


def test_tables_keep_odd_text_and_have_the_same_bytes_each_time(tmp_path: Path) -> None:
    rows = [{"source": 'a "b", c', "hypothesis": "None"}, {"source": "NA", "hypothesis": ""}]
    rows += [{"source": text, "hypothesis": "x"} for text in ("a\rb", "a\nb", "a\u2028b\u0085c", "=1", "\\N")]
    for name in ("a", "b"):
        write_table(tmp_path / name / "x.csv.gz", rows)
    written = (tmp_path / "a/x.csv.gz").read_bytes()
    assert written == (tmp_path / "b/x.csv.gz").read_bytes()
    text = gzip.decompress(written).decode()
    assert list(csv.DictReader(io.StringIO(text, newline=""))) == rows
    assert pd.read_csv(tmp_path / "a/x.csv.gz", keep_default_na=False).to_dict("records") == rows
    write_table(tmp_path / "none.csv.gz", [])
    assert not (tmp_path / "none.csv.gz").exists()


def test_the_commit_is_none_without_git(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*args: Any, **kwargs: Any) -> None:
        raise FileNotFoundError

    monkeypatch.setattr(subprocess, "run", missing)
    assert results.current_commit() is None
