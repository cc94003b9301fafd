"""Tables and text on terminals of several widths, and where there is none."""

import pytest

from ablations import screen
from ablations.screen import Column, fold, table

HEADS = (
    Column(name="experiment"),
    Column(name="variant"),
    Column(name="floating point operations", right=True, rank=1),
    Column(name="done", right=True),
)
ROWS = [
    ("recall", "base", "1,234", "3/5"),
    ("recall", "lstm with a forget bias of three", "7", "5/5"),
    ("other", "base", "11", "0/5"),
]


def test_without_a_terminal_a_row_is_a_line() -> None:
    assert table(HEADS, ROWS) == [
        "experiment  variant                           floating point operations  done",
        "──────────  ────────────────────────────────  ─────────────────────────  ────",
        "recall      base                                                  1,234   3/5",
        "recall      lstm with a forget bias of three                          7   5/5",
        "other       base                                                     11   0/5",
    ]


def test_first_names_of_columns_are_folded() -> None:
    assert table(HEADS, ROWS, 66, grouped=True)[:4] == [
        "experiment  variant                           floating point  done",
        "                                                  operations",
        "──────────  ────────────────────────────────  ──────────────  ────",
        "recall      base                                       1,234   3/5",
    ]


def test_then_common_first_cells_become_headings() -> None:
    assert table(HEADS, ROWS, 60, grouped=True) == [
        "  variant                               floating point  done",
        "                                            operations",
        "  ────────────────────────────────  ──────────────────  ────",
        "recall",
        "  base                                           1,234   3/5",
        "  lstm with a forget bias of three                   7   5/5",
        "other",
        "  base                                              11   0/5",
    ]


def test_then_texts_are_folded_at_spaces_and_hang() -> None:
    assert table(HEADS, ROWS, 46, grouped=True)[4:] == [
        "recall",
        "  base                             1,234   3/5",
        "  lstm with a forget bias              7   5/5",
        "    of three",
        "other",
        "  base                                11   0/5",
    ]


def test_then_the_least_important_column_goes_and_is_named() -> None:
    lines = table(HEADS, ROWS, 34, grouped=True)
    assert lines[0] == "  variant                     done"
    assert " ".join(lines[-2:]) == "(a wider terminal also shows: floating point operations)"


@pytest.mark.parametrize("grouped", [False, True])
def test_no_width_breaks_a_word_and_every_cell_that_stays_is_whole(grouped: bool) -> None:
    words = {word for row in ROWS for cell in row for word in cell.split()} - {"1,234", "7", "11"}
    for width in range(1, 100):
        lines = table(HEADS, ROWS, width, grouped=grouped)
        assert words <= {word for line in lines for word in line.split()}
        if width >= 31:
            assert max(map(len, lines)) <= width


def test_names_are_left_out_where_there_are_none() -> None:
    assert table((Column(name=""), Column(name="")), [("a", "b c"), ("long", "d")]) == ["a     b c", "long  d"]


def test_an_empty_table_has_a_head() -> None:
    assert table((Column(name="one"), Column(name="n", right=True)), []) == ["one  n", "───  ─"]


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("one two three", None, ["> one two three"]),
        ("one two three", 8, ["> one", "  two", "  three"]),
        ("one two three", 9, ["> one two", "  three"]),
        ("unbreakable-word two", 5, ["> unbreakable-word", "  two"]),
        ("", 5, [">"]),
        ("日本 語", 6, ["> 日本", "  語"]),  # two cells a letter
    ],
)
def test_text_is_folded_at_spaces(text: str, width: int | None, lines: list[str]) -> None:
    assert fold(text, width, "> ", "  ") == lines


def test_text_is_as_wide_as_the_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "11")
    screen.say("five words of four each")
    assert capsys.readouterr().out == "five words of four each\n"  # no terminal
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert screen.columns() == 11
    screen.say("five words of four each", indent="  ")
    assert capsys.readouterr().out == "  five\n  words of\n  four each\n"
