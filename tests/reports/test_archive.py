"""What an archive keeps, what it leaves out, and what may be published."""

import gzip
import json
import tarfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from reports import archive
from reports.archive import pack, unpack
from reports.items import counted, resampled_by_metric
from reports.rows import ARCHIVE, RowsError, read_metrics, read_study
from reports.table import make_tables
from tests.reports.conftest import Maker

LOSSES = {"base": (1.0, 1.1, 1.2), "other": (1.5, 1.7, 1.6)}
SENTENCES, SEQUENCES = 7, 11


def answers(seed: int, mean: float) -> pd.DataFrame:
    """Sequences of 5 answers each, with an extra test set below."""
    nats = mean * 5 * np.random.default_rng(seed).lognormal(0, 0.3, SEQUENCES)
    nats *= mean * 5 * SEQUENCES / nats.sum()
    main = pd.DataFrame({"set": "", "right": 3, "answers": 5, "nats": nats})
    return pd.concat([main, main.assign(set="longer")])


@pytest.fixture
def folder(make: Maker) -> Path:
    """A study of six runs, each with its items."""
    study = make()
    study.experiment("e", {"other": {"model.norm": "none"}}, kind="tagging", headline=["loss"])
    for variant, losses in LOSSES.items():
        for seed, loss in enumerate(losses):
            place = study.run("e", variant, seed, [("test", "loss", "", loss)], curve=[(5, "loss", 2.0)])
            with (place / "metrics.csv").open("a") as file:
                file.write("5,train,loss,,1.25\r\n5,validation,accuracy,distance=3,0.5\r\n")
            (place / "log.txt").write_text("secret")
            (place / "outputs").mkdir()
            text = answers(seed, loss).to_csv(index=False)
            (place / "outputs/answers.csv.gz").write_bytes(gzip.compress(text.encode()))
    return study.write()


def round_trip(folder: Path, place: Path) -> Path:
    pack(read_study(folder), place / ARCHIVE)
    unpack(place / ARCHIVE, place / "again")
    return place / "again"


def test_tables_are_the_same_after_a_round_trip(folder: Path, tmp_path: Path) -> None:
    again = round_trip(folder, tmp_path)
    before, after = make_tables(read_study(folder)), make_tables(read_study(again))
    pd.testing.assert_frame_equal(before.values, after.values)
    pd.testing.assert_frame_equal(before.curves, after.curves)
    assert len(after.curves) == 6
    pd.testing.assert_frame_equal(before.effects, after.effects, rtol=0.02)
    assert set(after.effects["scope"]) == {"seeds and items"}
    exact = ["difference", "seed_variance"]
    assert (before.effects["item_variance"] > 0).all()
    pd.testing.assert_frame_equal(before.effects[exact], after.effects[exact])


def test_the_same_rows_make_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    again = round_trip(folder, tmp_path)
    pack(read_study(again), tmp_path / "second.tar.xz")
    pack(read_study(folder), tmp_path / "third.tar.xz")
    assert (tmp_path / "third.tar.xz").read_bytes() == (tmp_path / ARCHIVE).read_bytes()
    unpack(tmp_path / "second.tar.xz", tmp_path / "twice")
    assert make_tables(read_study(tmp_path / "twice")).effects.equals(make_tables(read_study(again)).effects)


def test_logs_and_what_no_table_needs_stay_behind(folder: Path, tmp_path: Path) -> None:
    again = round_trip(folder, tmp_path)
    assert not list(again.rglob("log.txt"))
    row = read_study(again).runs[0]
    assert [(line.split, line.metric) for line in read_metrics(row.folder)] == [("validation", "loss")]
    items = pd.read_csv(row.folder / "outputs/answers.csv.gz", na_filter=False)
    assert len(items) == SEQUENCES


def test_a_run_without_curves_has_none_afterwards(folder: Path, tmp_path: Path) -> None:
    """One that measures a model and trains nothing."""
    next(folder.glob("e1/*/*/metrics.csv")).unlink()
    after = make_tables(read_study(round_trip(folder, tmp_path)))
    assert after.problems == []
    assert len(after.curves) == 5


def test_an_archive_says_nothing_of_machine_day_and_folders(folder: Path, tmp_path: Path) -> None:
    first = next(folder.glob("e1/*/*/run.json"))
    run = json.loads(first.read_text())
    run["config"]["task"]["root"] = "/home/somebody/corpora/multi30k"
    first.write_text(json.dumps(run))
    again = round_trip(folder, tmp_path)
    text = "".join(path.read_text() for path in [*again.rglob("run.json"), *again.rglob("result.json")])
    for private in ("somebody", "bench-1", "2026-01-05"):
        assert private not in text
    assert '"root":"multi30k"' in text
    assert '"host":"machine 1"' in text
    result = read_study(again).runs[0].result
    assert result is not None
    assert (result["started"], result["ended"]) == ("2000-01-01T00:00:00+00:00", "2000-01-01T00:00:17+00:00")


def test_a_study_with_a_run_missing_is_refused(folder: Path, tmp_path: Path) -> None:
    next(folder.glob("e1/*/*/result.json")).unlink()
    with pytest.raises(RowsError, match="missing; an archive holds finished studies"):
        pack(read_study(folder), tmp_path / ARCHIVE)
    assert not (tmp_path / ARCHIVE).exists()


def test_a_torn_archive_is_refused_in_one_line(folder: Path, tmp_path: Path) -> None:
    pack(read_study(folder), tmp_path / ARCHIVE)
    (tmp_path / "torn.tar.xz").write_bytes((tmp_path / ARCHIVE).read_bytes()[:200])
    with pytest.raises(RowsError, match=r"torn\.tar\.xz: cannot be read"):
        unpack(tmp_path / "torn.tar.xz", tmp_path / "again")


def test_names_in_an_archive_lead_nowhere_else(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / ARCHIVE, "w:xz") as tar:
        tar.addfile(tarfile.TarInfo("../outside"))
    with pytest.raises(RowsError, match="cannot be read"):
        unpack(tmp_path / ARCHIVE, tmp_path / "inside")
    assert not (tmp_path / "outside").exists()


def test_running_sums_keep_the_total() -> None:
    """By hand: the running sums of 0.14, 0.13, 0.14 are 0.14, 0.27, 0.41, rounded 0.1, 0.3, 0.4."""
    found = archive._rounded_sums(np.array([0.14, 0.13, 0.14]), 1)
    assert found.tolist() == [0.1, 0.2, 0.1]
    many = np.random.default_rng(3).lognormal(0, 1, 1009)
    assert abs(archive._rounded_sums(many, 1).sum() - many.sum()) <= 0.05


def test_rounded_items_still_make_the_reported_number(folder: Path, tmp_path: Path) -> None:
    """And the variance over draws of them is that of the items as they were."""
    again = round_trip(folder, tmp_path)
    for before, after in zip(read_study(folder).runs, read_study(again).runs, strict=True):
        assert before.result is not None
        reported = {"loss": float(before.result["metrics"][0]["value"] or 0)}
        exact = resampled_by_metric(before.folder, [], reported)["loss"].values.var()
        rounded = resampled_by_metric(after.folder, [], reported)["loss"].values.var()
        assert rounded == pytest.approx(exact, rel=0.05)
    sizes = [len(path.read_bytes()) for path in (*folder.rglob("*.csv.gz"), *again.rglob("*.csv.gz"))]
    assert max(sizes[6:]) < min(sizes[:6])


def test_pairs_keep_their_winners_and_no_more_digits_than_that_takes() -> None:
    """By hand: tens tell the first and the third row, which ties; the second needs three decimals."""
    table = pd.DataFrame(
        {
            "right": [-15.123456, -7.00005, -3.0],
            "wrong": [-27.127, -7.0012, -3.0],
            "right_tokens": [5, 7, 3],
            "wrong_tokens": [5, 7, 3],
        }
    )
    rounded = archive._pairs(table)
    assert rounded["right"].tolist() == [-20.0, -7.0, -0.0]
    assert rounded["wrong"].tolist() == [-30.0, -7.001, -0.0]
    assert archive._winners(rounded).equals(archive._winners(table))
    assert archive._winners(table)["sum"].tolist() == [True, True, False]


def test_sequences_are_kept_in_the_groups_that_are_drawn(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Eleven sequences in four groups: 0 to 1, 2 to 4, 5 to 7, 8 to 10."""
    monkeypatch.setattr("reports.items.GROUPS", 4)
    table = answers(3, 1.0).query("set == ''")
    kept = archive._answers(table)
    assert kept["sequences"].tolist() == [2, 3, 3, 3]
    assert kept["answers"].tolist() == [10, 15, 15, 15]
    assert kept["nats"].sum() == pytest.approx(table["nats"].sum(), abs=1e-4)
    for frame, name in ((table, "whole"), (kept, "grouped")):
        place = tmp_path / name / "outputs"
        place.mkdir(parents=True)
        (place / "answers.csv.gz").write_bytes(gzip.compress(frame.to_csv(index=False).encode()))
    whole, grouped = (counted(tmp_path / name, [])[0] for name in ("whole", "grouped"))
    assert (whole.single, whole.size) == (grouped.single, grouped.size) == (11, 4)


def test_items_of_which_one_is_no_number_stay_as_they_are(tmp_path: Path) -> None:
    text = "set,right,answers,nats\n,3,5,\n,4,5,2.123456789\n"
    (tmp_path / "answers.csv.gz").write_bytes(gzip.compress(text.encode()))
    assert archive.THINNED["outputs/answers.csv.gz"](tmp_path / "answers.csv.gz").decode() == text
