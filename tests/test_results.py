"""The results of record are those that their rows make, and small enough to be carried along."""

import re
from pathlib import Path

import pandas as pd
import pytest

from ablations.listing import studies
from reports.pages import exports
from reports.pages.record import TABLES, recomputed
from reports.pages.recorded import Record, read_records

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs/results"
RECORDS = read_records(RESULTS).values()
PRIVATE = ("/tmp/", "/home/", "/root/", "/work/")
MEGABYTE = 1e6

EACH = pytest.mark.parametrize("record", RECORDS, ids=[record.study for record in RECORDS])


def test_together_they_are_below_15_megabytes() -> None:
    files = [path for path in RESULTS.rglob("*") if path.is_file()]
    assert RECORDS
    assert sum(path.stat().st_size for path in files) < 15 * MEGABYTE


@pytest.mark.slow
@EACH
def test_effects_and_verdicts_are_those_of_the_rows(record: Record, tmp_path: Path) -> None:
    again = recomputed(record.folder)
    assert "effects" in again or "claims" in again
    assert {path.stem for path in record.folder.glob("*.csv")} == set(again)
    for name, text in again.items():
        (tmp_path / f"{name}.csv").write_text(text, encoding="utf-8")
        kept = exports.read(record.folder / f"{name}.csv")
        # the last bits of a number depend on the processor
        pd.testing.assert_frame_equal(exports.read(tmp_path / f"{name}.csv"), kept, rtol=1e-9, atol=1e-12)
    assert set(again) <= set(TABLES)


@EACH
def test_the_page_leads_to_what_is_there_and_repeats_the_command(record: Record) -> None:
    page = (record.folder / "index.html").read_text(encoding="utf-8")
    links = {link for link in re.findall(r'href="([^"#]+)"', page) if not link.startswith("https:")}
    assert {"effects.csv", "metrics.csv.gz", "rows.tar.xz"} <= links
    assert [link for link in links if not (record.folder / link).exists()] == []
    assert f"<code>{record.facts['command']}</code>" in page


@EACH
def test_a_record_can_be_repeated(record: Record) -> None:
    about = record.facts
    known = {study["name"] for study in studies()}
    _, verb, study = about["command"].split()
    assert verb == "run"
    assert study in known or (ROOT / study).is_file()
    assert about["runs"] > 0
    assert about["wall_seconds"] > 0
    assert {"python", "torch", "lightning", "sacrebleu"} <= set(about["versions"])
    (commit,) = about["commit"]
    assert not commit.endswith("-dirty"), "trained with files that were in no commit"


@EACH
def test_a_record_says_nothing_of_the_machine(record: Record) -> None:
    texts = [
        *record.folder.glob("*.csv"),
        *record.folder.glob("*.json"),
        *record.folder.glob("*.yaml"),
        record.folder / "index.html",
    ]
    for path in texts:
        text = path.read_text(encoding="utf-8")
        assert not [name for name in PRIVATE if name in text], path
    assert record.facts["study"] == record.study
