"""Rows that a page rests on."""

from pathlib import Path

import pytest

from reports.pages.cited import cited
from reports.pages.recorded import Records, read_records
from reports.rows import RowsError
from tests.recorded import condition, effect, write_record


@pytest.fixture
def records(tmp_path: Path) -> Records:
    effects = [
        effect("german", "no norm", "bleu", -3.0, p_holm=0.01),
        effect("german (tuned)", "no norm", "bleu", -2.0, p_holm=0.3),
        effect("german", "no mask", "bleu", 1.0),
        effect("other", "no mask", "bleu", 2.0),
    ]
    claims = [condition("first", 1, "supported"), condition("first", 2, "supported"), condition("third", 0, "not run")]
    write_record(tmp_path, "components", effects=effects)
    write_record(tmp_path, "lecture", claims=claims)
    return read_records(tmp_path)


def test_rows_are_shown_with_their_numbers_in_the_order_of_the_text(records: Records) -> None:
    text = "components/bleu/no norm=worse; lecture/first=supported;components/bleu/no norm/tuned=undecided"
    assert cited(text, records, "r").splitlines()[2:] == [
        "| [`components`](r/components/) | no norm, BLEU | worse | −3.0 (−3.5 to −2.5) | 3 seeds |",
        "| [`lecture`](r/lecture/) | `first`: It \\| is so. | ✓\N{NO-BREAK SPACE}supported "
        "| Accuracy: **0.500 (0.250 to 0.750)** (and 1 more condition); wanted at least 0.2 | 3 of 3 seeds |",
        "| [`components`](r/components/) | no norm, BLEU, tuned | undecided | −2.0 (−2.5 to −1.5) | 3 seeds |",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"'': expected STUDY/CLAIM=OUTCOME"),
        ("lecture/first", r"'lecture/first': expected"),
        ("lecture=supported", r"expected"),
        ("lecture/a/b/c/d=worse", r"expected"),
        ("multi30k/first=supported", r"'multi30k/first=supported': there is no record of multi30k"),
        ("lecture/first=supported; lecture/first=not supported", r"first=not supported': the record says supported"),
        ("lecture/second=supported", r"the record says nothing of it"),
        ("lecture/third=not run", r"the record says nothing of it"),
        ("components/bleu/no norm=better", r"the record says worse"),
        ("components/bleu/no scale=worse", r"the record says nothing of it"),
        ("components/bleu/no mask=undecided", r"the record says nothing of it"),  # two experiments have it
        ("components/bleu/no norm/shrunk=worse", r"'shrunk': no comparison; choose from same, matched, tuned"),
    ],
)
def test_a_row_that_does_not_hold_is_refused(records: Records, text: str, message: str) -> None:
    with pytest.raises(RowsError, match=message):
        cited(text, records, "r")
