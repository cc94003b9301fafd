"""A record is made whole or not at all, and comes to the same numbers again."""

import gzip
import io
import json
import re
import shutil
import xml.etree.ElementTree as ET
from contextlib import chdir
from pathlib import Path

import pandas as pd
import pytest

from reports.pages import exports
from reports.pages.record import recomputed, record, renew
from reports.pages.recorded import read_records
from reports.rows import RowsError
from tests.reports.conftest import Maker, german


@pytest.fixture(scope="module")
def target(quick: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The record of a study that has been run."""
    folder = shutil.copytree(quick, tmp_path_factory.mktemp("runs") / "quick")
    (folder / "study.yaml").write_text("name: quick\n")
    target = tmp_path_factory.mktemp("results") / "quick"
    assert record(folder, target, "ablations run quick") == target / "index.html"
    return target


@pytest.mark.parametrize("inside", [False, True])
def test_a_record_is_made_anew_of_its_rows_alone(target: Path, tmp_path: Path, inside: bool) -> None:
    kept = shutil.copytree(target, tmp_path / "quick")
    for name in ("index.html", "effects.csv", "metrics.csv.gz"):
        (kept / name).unlink()
    with chdir(kept if inside else tmp_path):
        given = Path() if inside else kept
        assert renew(given) == given / "index.html"
    files = [path.relative_to(target) for path in target.rglob("*") if path.is_file()]
    assert files
    assert [name for name in files if (kept / name).read_bytes() != (target / name).read_bytes()] == []


def test_what_is_no_record_is_not_renewed(target: Path, tmp_path: Path) -> None:
    kept = shutil.copytree(target, tmp_path / "quick")
    (kept / "record.json").unlink()
    with pytest.raises(RowsError, match=r"record\.json"):
        renew(kept)
    assert (kept / "index.html").is_file()


def test_a_record_holds_what_it_says(target: Path) -> None:
    tables = ["claims.csv", "effects.csv", "metrics.csv.gz", "runs.csv"]
    assert sorted(path.name for path in target.iterdir()) == [
        *tables[:2], "figures", "index.html", tables[2], "record.json", "rows.tar.xz", tables[3], "study.yaml"
    ]  # fmt: skip
    assert len(pd.read_csv(target / "runs.csv")) == 27
    metrics = pd.read_csv(io.BytesIO(gzip.decompress((target / "metrics.csv.gz").read_bytes())))
    assert metrics.query("metric == 'bleu'")["value"].notna().sum() == 27
    assert [path.name for path in (target / "figures").glob("*effects*")] == ["01-german-effects.svg"]


def test_the_page_of_a_record_leads_to_what_is_there_and_names_its_command(target: Path) -> None:
    page = (target / "index.html").read_text(encoding="utf-8")
    links = set(re.findall(r'href="([^"#]+)"', page))
    assert {"effects.csv", "metrics.csv.gz", "rows.tar.xz", "figures/"} <= links
    assert [name for name in links if not (target / name).exists() and not name.startswith("https:")] == []
    assert "<code>ablations run quick</code>" in page


def test_what_a_record_says_of_itself(target: Path) -> None:
    """27 runs of 13.5 busy seconds each, all begun at once and ended after 17 s."""
    found = read_records(target.parent)["quick"].facts
    assert found["command"] == "ablations run quick"
    assert (found["runs"], found["diverged"], found["seeds"]) == (27, 0, [3])
    assert (found["busy_seconds"], found["wall_seconds"]) == (27 * 13.5, 17)
    assert found["versions"]["torch"] == "2.13.0+cpu"
    assert len(found["commit"]) == 1


def test_time_between_runs_is_not_counted(make: Maker, tmp_path: Path) -> None:
    """One of 17 s, one that is under way beside it and 3 s longer, and one of 10 s two days later."""
    study = make(seeds=(0, 1, 2))
    study.experiment("e", {}, headline=["loss"])
    spans = [("10T08:00:00", "10T08:00:17"), ("10T08:00:05", "10T08:00:20"), ("12T09:00:00", "12T09:00:10")]
    for seed, (start, end) in enumerate(spans):
        place = study.run("e", "base", seed, [("test", "loss", "", 1.0)]) / "result.json"
        ends = {"started": f"2026-01-{start}+00:00", "ended": f"2026-01-{end}+00:00"}
        place.write_text(json.dumps(json.loads(place.read_text("utf-8")) | ends), "utf-8")
    folder = study.write()
    (folder / "study.yaml").write_text("name: made-up\n", "utf-8")
    record(folder, tmp_path / "kept" / "made-up", "ablations run made-up")
    assert read_records(tmp_path / "kept")["made-up"].facts["wall_seconds"] == 30


def test_the_tables_of_a_record_are_made_again_from_its_archive(target: Path) -> None:
    again = recomputed(target)
    assert set(again) == {"runs", "effects", "claims"}
    for name, text in again.items():
        assert (target / f"{name}.csv").read_text(encoding="utf-8") == text
    effects = exports.read(target / "effects.csv").set_index(["metric", "variant"])
    values = exports.read(target / "runs.csv")
    assert len(values) == 27
    assert effects["difference"].loc["bleu", "no-positions"] < -30


def test_figures_can_be_read_on_a_dark_page(target: Path) -> None:
    for figure in (target / "figures").iterdir():
        first = ET.parse(figure).getroot()[0]
        assert first.tag.endswith("rect")
        assert first.attrib == {"width": "100%", "height": "100%", "fill": "white"}


def test_a_changed_verdict_is_seen(target: Path, tmp_path: Path) -> None:
    text = (target / "claims.csv").read_text(encoding="utf-8")
    assert "supported" in text
    assert text.replace("supported", "inconclusive") != recomputed(target)["claims"]


def test_the_page_says_nothing_of_this_machine(target: Path) -> None:
    page = (target / "index.html").read_text(encoding="utf-8")
    for private in ("bench-1", "2026-01-05", "/tmp"):
        assert private not in page


def test_a_study_that_is_not_finished_leaves_the_record_as_it_was(make: Maker, tmp_path: Path) -> None:
    study = make()
    german(study, [0, 1])  # of three planned seeds
    folder = study.write()
    target = tmp_path / "results"
    target.mkdir()
    (target / "record.json").write_text("{}")
    with pytest.raises(RowsError, match="missing"):
        record(folder, target, "ablations run made-up")
    assert [path.name for path in target.iterdir()] == ["record.json"]
