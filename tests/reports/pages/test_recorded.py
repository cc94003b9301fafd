"""The reader of results of record."""

from pathlib import Path

import pytest

from reports.pages.recorded import read_records
from reports.rows import RowsError
from tests.recorded import effect, write_record


def test_records_come_in_the_order_of_the_studies_and_others_after_them(tmp_path: Path) -> None:
    for study in ("zeta", "agreement", "components", "alpha", "lecture"):
        write_record(tmp_path, study)
    (tmp_path / "no-record").mkdir()
    assert list(read_records(tmp_path)) == ["lecture", "components", "agreement", "alpha", "zeta"]


def test_there_are_none_where_there_is_no_folder(tmp_path: Path) -> None:
    assert read_records(tmp_path / "nowhere") == {}


def test_tables_are_read_as_the_report_wrote_them(tmp_path: Path) -> None:
    write_record(tmp_path, "lecture", effects=[effect("007", "None", "loss", 0.5)])
    record = read_records(tmp_path)["lecture"]
    assert record.effects[["experiment", "variant", "difference"]].values.tolist() == [["007", "None", 0.5]]
    assert not record.puts_claims_to_the_test
    assert not record.is_fair
    with pytest.raises(RowsError, match=r"lecture/fairness.csv: no such file; `ablations record lecture` writes it"):
        _ = record.fairness


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "cannot be read"),
        ("[]", r"command=None: expected str"),
        ('{"command": "x", "runs": true}', r"runs=True: expected int"),
        ('{"command": "x", "runs": 3, "diverged": 0, "seeds": 3}', r"seeds=3: expected list"),
        ('{"command": "x", "runs": 3, "diverged": 0, "seeds": [3]}', r"wall_seconds=None: expected int or float"),
    ],
)
def test_a_record_that_cannot_be_used_is_refused_by_file_and_field(tmp_path: Path, text: str, message: str) -> None:
    (write_record(tmp_path, "lecture") / "record.json").write_text(text, encoding="utf-8")
    with pytest.raises(RowsError, match=rf"lecture/record.json: {message}"):
        read_records(tmp_path)
