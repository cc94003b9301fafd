"""trials.csv: what is written is read again, and what is no such file is refused."""

import math
from pathlib import Path

import pytest

from reports.rows import RowsError
from reports.trials import TRIALS, TrialRow, read_trials, write_trials

ROWS = [
    TrialRow("copy, twice", 'say "no"', 0, "completed", 1.25, 3.5, {"train.lr": 0.0001, "train.schedule": "linear"}),
    TrialRow("copy, twice", "base", 1, "pruned", None, 2.0, {"train.lr": 3}),
    TrialRow("two\nlines", "base", 2, "waiting", None, None, {"model.norm": None}),
]


def test_rows_are_read_as_they_were_written(tmp_path: Path) -> None:
    write_trials(tmp_path, ROWS)
    table = read_trials(tmp_path)
    assert table is not None
    assert tuple(table.columns) == TrialRow._fields
    assert table["point"].tolist() == [row.point for row in ROWS]
    for name in ("experiment", "variant", "number", "state"):
        assert table[name].tolist() == [getattr(row, name) for row in ROWS]
    assert table["value"][0] == 1.25
    assert [math.isnan(value) for value in table["value"]] == [False, True, True]
    assert [math.isnan(value) for value in table["seconds"]] == [False, False, True]


def test_without_a_file_there_is_no_table(tmp_path: Path) -> None:
    assert read_trials(tmp_path) is None


def test_a_search_without_trials_is_an_empty_table(tmp_path: Path) -> None:
    write_trials(tmp_path, [])
    table = read_trials(tmp_path)
    assert table is not None
    assert len(table) == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n", "the columns must be experiment,variant,number"),
        ("", "the columns must be"),
        (",".join(TrialRow._fields) + "\ncopy,base,0,won,1.0,1.0,{}\n", "line 2: state 'won'"),
        (",".join(TrialRow._fields) + "\ncopy,base,x,completed,1.0,1.0,{}\n", "line 2"),
        (",".join(TrialRow._fields) + "\ncopy,base\n", "line 2"),
        (",".join(TrialRow._fields) + "\ncopy,base,0,completed,1.0,1.0,{\n", "line 2"),
    ],
)
def test_another_file_is_refused(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / TRIALS).parent.mkdir()
    (tmp_path / TRIALS).write_text(text)
    with pytest.raises(RowsError, match=said):
        read_trials(tmp_path)
