"""The files beside the page: what is read back is what was written, whatever the names are."""

import csv
import io
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from reports.pages import exports, latex, markdown
from reports.pages.exports import claims_table, csv_text, read, write
from reports.rows import read_study
from reports.table import make_tables
from reports.verdicts import Judged, Verdict

Maker = Callable[..., Any]
HOSTILE = [
    "<img src=x onerror=alert(1)>", "a<b & c", "_x", "None", "NA", "null", "007", "1e5", "True", "a|b", "50%", "x_1$",
    "`code`", "[link](x)", "*", "back\\slash", "{brace}", "~^", '"quoted"', "two\nlines", "carriage\rreturn", "#1",
    "- x", "--", "a, b", "long " * 40 + "name", ":smile:", "!important",
]  # fmt: skip
CSVS = ("runs", "metrics", "curves", "variants", "effects", "claims")


def hostile(make: Maker) -> Any:
    """A study whose variants have all kinds of names; runs diverged, failed and missing."""
    study = make("odd & <b>|`", seeds=(0, 1))
    study.plan["description"] = "1. what | it `is`"
    study.experiment("e_<i>\n%", {name: {"model.position": name} for name in HOSTILE}, headline=["loss", "a_b|c"])
    for i, variant in enumerate(["base", *HOSTILE[:-1]]):
        for seed in study.seeds:
            fields: dict[str, Any] = {}
            if (variant, seed) == ("_x", 1):
                fields = {"status": "diverged", "reason": "loss | not finite"}
            if (variant, seed) == ("None", 0):
                fields = {"status": "failed", "reason": "<script>\nline `two` \r of it"}
            values = [("test", "loss", "", 0.1 + i / 7 + seed / 13), ("test", "a_b|c", "", 3.0 + i)]
            study.run("e_<i>\n%", variant, seed, [] if fields.get("status") == "failed" else values, **fields)
    return study


@pytest.fixture(scope="module")
def quick_files(quick: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files") / "report"
    write(make_tables(read_study(quick)), [], folder)
    return folder


def test_every_table_is_a_file_and_the_report_is_there_as_text(quick_files: Path) -> None:
    names = {path.name for path in quick_files.iterdir()}
    assert names == {*(f"{name}.csv" for name in CSVS), "report.md", "variants.tex", "effects.tex"}
    assert len(read(quick_files / "runs.csv")) == 27
    assert len(read(quick_files / "effects.csv")) == 8 * 4


@pytest.mark.parametrize("which", ["quick", "hostile"])
def test_a_table_read_back_is_the_table_that_was_written(which: str, make: Maker, quick: Path, tmp_path: Path) -> None:
    tables = make_tables(read_study(quick if which == "quick" else hostile(make).write()))
    write(tables, [claim()], tmp_path)
    for name, frame in exports.frames(tables, [claim()]).items():
        back = read(tmp_path / f"{name}.csv")
        if name == "runs":  # columns that are empty throughout have no type of their own
            empty = [column for column in frame if frame[column].isna().all()]
            frame, back = frame.drop(columns=empty), back.drop(columns=empty)
        pd.testing.assert_frame_equal(back, frame, check_exact=True, check_dtype=len(frame) > 0)
    if which == "hostile":
        assert list(read(tmp_path / "variants.csv")["variant"]) == ["base", *HOSTILE]


def test_pandas_alone_reads_names_as_they_are(make: Maker, tmp_path: Path) -> None:
    write(make_tables(read_study(hostile(make).write())), [], tmp_path)
    frame = pd.read_csv(tmp_path / "variants.csv", keep_default_na=False)
    assert list(frame["variant"]) == ["base", *HOSTILE]
    with (tmp_path / "variants.csv").open(encoding="utf-8", newline="") as file:
        assert [row["variant"] for row in csv.DictReader(file)] == ["base", *HOSTILE]
    lost = pd.read_csv(tmp_path / "variants.csv")  # what the argument is for
    assert lost["variant"].isna().sum() == 3


def test_numbers_keep_every_digit(tmp_path: Path) -> None:
    values = [0.1 + 0.2, 1 / 3, 1e-308, 5e-324, 123456789.123456789, float("nan")]
    (tmp_path / "x.csv").write_text(csv_text(pd.DataFrame({"value": values})))
    np.testing.assert_array_equal(read(tmp_path / "x.csv")["value"], values)


def test_text_is_quoted_only_where_a_carriage_return_asks_for_it() -> None:
    assert csv_text(pd.DataFrame({"a": ["x"], "b": [1.5]})) == "a,b\nx,1.5\n"
    assert csv_text(pd.DataFrame({"a": ["x\ry"], "b": [1.5]})) == '"a","b"\n"x\ry",1.5\n'


def claim(**changes: Any) -> Verdict:
    condition = Judged(
        text="loss rises", value=0.5, low=0.25, high=0.75, region="at least 0.1", outcome="supported", reason="",
        n="3 of 3", held_equal="steps", compare="difference", metric="loss", split="test",
        per_seed={0: 0.4, 1: 0.5, 2: 0.6},
    )  # fmt: skip
    second = Judged(
        text="accuracy falls", value=None, low=None, high=None, region="at most -0.1", outcome="not run",
        reason="no run", n="0 of 3", held_equal="steps",
    )  # fmt: skip
    known: dict[str, Any] = {
        "id": "7.1", "section": "7", "statement": "Positions | matter_", "outcome": "inconclusive",
        "reason": "not all run", "provisional": True, "conditions": (condition, second),
        "counter_evidence": "none", "kind": "structural",
    }  # fmt: skip
    return Verdict(**known | changes)


def test_claims_have_a_row_for_each_condition_and_none_vanishes() -> None:
    table = claims_table([claim(), claim(id="7.2", conditions=(), outcome="not run")])
    assert list(zip(table["id"], table["condition"], strict=True)) == [("7.1", 1), ("7.1", 2), ("7.2", 0)]
    assert list(table["condition_outcome"][:2]) == ["supported", "not run"]
    assert list(table["outcome"]) == ["inconclusive", "inconclusive", "not run"]
    assert table["condition_low"].tolist()[0] == 0.25
    assert np.isnan(table["condition_low"][1])


def test_claims_tell_their_steps_seeds_and_what_was_compared(quick: Path, tmp_path: Path) -> None:
    write(make_tables(read_study(quick)), [claim(kind="speed", experiment="german")], tmp_path)
    table = read(tmp_path / "claims.csv")
    assert list(table["steps"]) == ["250", "250"]
    assert list(table["condition_compare"]) == ["difference", ""]
    assert list(table["condition_metric"]) == ["loss", ""]
    assert table["condition_counted"].tolist() == [3, 0]
    text = (tmp_path / "report.md").read_text("utf-8")
    assert "speed, 250 steps" in text
    assert "loss rises: supported, 0.500 (0.250 to 0.750), wanted at least 0.1, n 3 of 3" in text
    assert "### 7" in text
    (lines,) = check_tabulars((tmp_path / "verdicts.tex").read_text("utf-8"))
    assert lines[1][3] == "speed, 250 steps"
    assert [line[0] for line in lines] == ["Claim", "7.1", ""]
    assert [line[-1] for line in lines[1:]] == ["3 of 3", "0 of 3"]


def test_without_claims_the_csv_has_its_header_alone_and_no_older_table_stays(quick: Path, tmp_path: Path) -> None:
    tables = make_tables(read_study(quick))
    write(tables, [claim()], tmp_path)
    assert r"Positions \textbar{} matter\_" in (tmp_path / "verdicts.tex").read_text()
    assert "inconclusive (provisional)" in (tmp_path / "report.md").read_text()
    write(tables, [], tmp_path)
    assert not (tmp_path / "verdicts.tex").exists()
    assert (tmp_path / "claims.csv").read_text() == ",".join(exports.CLAIM_COLUMNS) + "\n"
    assert "## Claims" not in (tmp_path / "report.md").read_text()


def cells(line: str) -> list[str]:
    """Cells of a line of a Markdown table, unescaped."""
    parts = re.split(r"(?<!\\)\|", line)[1:-1]
    return [re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", part.strip()) for part in parts]


def flat(name: str) -> str:
    return " ".join(name.split())


def test_the_markdown_has_what_the_page_has(quick_files: Path) -> None:
    text = (quick_files / "report.md").read_text(encoding="utf-8")
    head, _, rest = text.partition("## german")
    assert head.startswith("# quick: ablation report\n\nLoss rises most with no-residual: +2.9")
    assert "27 runs planned: 27 completed." in head
    tables = [[cells(line) for line in block.splitlines()] for block in rest.split("\n\n") if block.startswith("|")]
    variants, effects = tables[0], tables[1]
    assert variants[0] == ["Variant", "Changes", "Loss", "BLEU", "Accuracy", "Long-range accuracy", "Seeds"]
    assert variants[2][:2] == ["base", "the base"]
    assert variants[2][-1] == "3 of 3"
    assert len(variants) == 2 + 9
    assert len(effects) == 2 + 3 * 8
    assert effects[2][0] == "Loss"
    assert effects[2][1] == "no-residual"
    assert "    ablations run " in rest
    assert "tok:13a" in rest


def test_the_mean_is_followed_by_the_sample_deviation(make: Maker, tmp_path: Path) -> None:
    study = make()
    study.experiment("e", {"x": {"model.norm": "none"}}, headline=["bleu"])
    for seed, value in enumerate((21.0, 23.0, 25.0)):
        study.run("e", "base", seed, [("test", "bleu", "", value)])
    study.run("e", "x", 0, [("test", "bleu", "", 20.0)])
    write(make_tables(read_study(study.write())), [], tmp_path)
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "| base | the base, model.norm: layer | 23.0 ± 2.0 | 3 of 3 |" in text
    assert "| x | model.norm: none | 20.0 | 1 of 3, 2 missing |" in text
    assert "| BLEU | x | −1.0 | – | – | – | 1 of 3 seeds | one seed: no interval |" in text
    assert "| e | x | 1, 2 | missing | not run yet |" in text
    table = (tmp_path / "variants.tex").read_text(encoding="utf-8")
    assert r"base & 23.0 $\pm$ 2.0 & 3 of 3 \\" in table
    effects = (tmp_path / "effects.tex").read_text(encoding="utf-8")
    assert r"BLEU & x & $-$1.0 & \textendash{} & 1 of 3 seeds \\" in effects


def test_names_are_text_in_markdown(make: Maker, tmp_path: Path) -> None:
    write(make_tables(read_study(hostile(make).write())), [], tmp_path)
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    lines = [cells(line) for line in text.splitlines() if line.startswith("|")]
    variants = lines[: next(i for i, line in enumerate(lines) if line[0] == "Metric")]
    assert {len(line) for line in variants} == {5}
    assert {line[0] for line in variants[2:]} == {"base", *map(flat, HOSTILE)}
    outside = re.sub(r"\\.", "", text)
    for sign in "<>`":
        assert sign not in outside, sign
    assert "\n1\\. what" in text
    assert "1 of 2, 1 failed" in text
    assert "2 of 2, 1 diverged" in text


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a|b", r"a\|b"),
        ("a\\|b", r"a\\\|b"),
        ("- x", r"\- x"),
        ("12. x", r"12\. x"),
        ("a - b", "a - b"),
        ("two\n\nlines\r", "two lines"),
        ("at 17:14:33", "at 17:14:33"),
        (":tada:", r"\:tada:"),
        ("a_b*c`d<e>", r"a\_b\*c\`d\<e\>"),
    ],
)
def test_markdown_escapes(text: str, escaped: str) -> None:
    assert markdown.escape(text) == escaped


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("50%", r"50\%"),
        ("a_b & $c$ #{d}", r"a\_b \& \$c\$ \#\{d\}"),
        ("\\~^", r"\textbackslash{}\textasciitilde{}\textasciicircum{}"),
        ("<a|b>", r"\textless{}a\textbar{}b\textgreater{}"),
        ("[x]*", "{[}x{]}{*}"),
        ("−3 ±1", r"$-$3 $\pm$1"),
        ("a---b--c-d", "a-{}-{}-b-{}-c-d"),
        ("two\nlines", "two lines"),
        ('"q"', r'\string"q\string"'),
        ("95\N{NO-BREAK SPACE}%", r"95~\%"),
    ],
)
def test_latex_escapes(text: str, escaped: str) -> None:
    assert latex.escape(text) == escaped


def check_tabulars(text: str) -> list[list[list[str]]]:
    """Every tabular is whole: balanced braces, as many cells in each row as columns; gives the rows."""
    bare = re.sub(r"\\[\\{}&%$#_]", "", "\n".join(line for line in text.splitlines() if not line.startswith("%")))
    assert bare.count("{") == bare.count("}")
    assert not re.search(r"(?<!\\)%", bare)
    found = []
    for columns, body in re.findall(r"\\begin\{tabular\}\{([lr]+)\}\n(.*?)\\end\{tabular\}", text, re.S):
        lines = body.splitlines()
        assert (lines[0], lines[2], lines[-1]) == (r"\toprule", r"\midrule", r"\bottomrule")
        rows = [line for line in lines if not line.startswith(("\\toprule", "\\midrule", "\\bottomrule"))]
        assert all(row.endswith(r" \\") for row in rows)
        parts = [re.split(r"(?<!\\) & ", row.removesuffix(r" \\")) for row in rows]
        assert {len(part) for part in parts} == {len(columns)}
        assert not any(re.search(r"(?<!\\)&", cell) for part in parts for cell in part)
        found.append(parts)
    return found


def test_latex_tables_are_whole(quick_files: Path) -> None:
    (variants,) = check_tabulars((quick_files / "variants.tex").read_text(encoding="utf-8"))
    (effects,) = check_tabulars((quick_files / "effects.tex").read_text(encoding="utf-8"))
    assert len(variants) == 1 + 9
    assert variants[0][1] == r"Loss, mean $\pm$ s.d."
    assert len(effects) == 1 + 3 * 8
    assert re.fullmatch(r"\+2\.\d{3} \$\\pm\$ \d\.\d{3}", effects[1][2])


def test_names_do_not_break_latex(make: Maker, tmp_path: Path) -> None:
    write(make_tables(read_study(hostile(make).write())), [claim(statement="50% & {x}")], tmp_path)
    (variants,) = check_tabulars((tmp_path / "variants.tex").read_text(encoding="utf-8"))
    assert len(variants) == 1 + 1 + len(HOSTILE)
    assert check_tabulars((tmp_path / "effects.tex").read_text(encoding="utf-8"))
    assert check_tabulars((tmp_path / "verdicts.tex").read_text(encoding="utf-8"))[0][1][2] == r"50\% \& \{x\}"


def test_nothing_to_report_makes_files_too(make: Maker, tmp_path: Path) -> None:
    study = make("empty")
    study.experiment("e", {"x": {"model.norm": "none"}})
    write(make_tables(read_study(study.write())), [], tmp_path / "a" / "b")
    text = (tmp_path / "a" / "b" / "report.md").read_text(encoding="utf-8")
    assert "Nothing has finished yet." in text
    assert "6 runs planned: 6 missing." in text
    for name in CSVS:
        read(tmp_path / "a" / "b" / f"{name}.csv")


def test_two_writes_give_the_same_bytes(quick: Path, quick_files: Path, tmp_path: Path) -> None:
    write(make_tables(read_study(quick)), [], tmp_path)
    for path in quick_files.iterdir():
        assert (tmp_path / path.name).read_bytes() == path.read_bytes(), path.name


def test_several_experiments_have_a_tabular_each_and_the_headline_counts_over_both(make: Maker, tmp_path: Path) -> None:
    study = make(seeds=(0, 1, 2))
    for name in ("near", "far"):
        study.experiment(name, {"x": {"model.norm": "none"}}, headline=["loss"])
        for seed in study.seeds:
            study.run(name, "base", seed, [("test", "loss", "", 0.5 + seed / 11)])
            study.run(name, "x", seed, [("test", "loss", "", 1.5 + seed / 7)])
    write(make_tables(read_study(study.write())), [], tmp_path)
    assert len(check_tabulars((tmp_path / "variants.tex").read_text(encoding="utf-8"))) == 2
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "In 2 experiments, 2 of 2 differences from the base in loss are clear, all worse" in text
    assert text.count("oss rises most with x") == 4


def test_csv_reads_in_other_programs(quick_files: Path) -> None:
    for name in CSVS:
        rows = list(csv.reader(io.StringIO((quick_files / f"{name}.csv").read_text(encoding="utf-8"), newline="")))
        assert len({len(row) for row in rows}) == 1, name


def test_the_folder_may_be_gone(quick: Path, tmp_path: Path) -> None:
    write(make_tables(read_study(quick)), [], tmp_path / "report")
    shutil.rmtree(tmp_path / "report")
    write(make_tables(read_study(quick)), [], tmp_path / "report")
    assert (tmp_path / "report" / "report.md").is_file()


def test_seeds_are_counted_as_on_the_page(make: Maker, tmp_path: Path) -> None:
    study = make(seeds=(0, 1, 2))
    study.experiment("e", {"x": {"model.norm": "none"}}, headline=["bleu"])
    for variant, diverged in (("base", (0, 1)), ("x", (2,))):
        for seed in study.seeds:
            status = "diverged" if seed in diverged else "completed"
            study.run("e", variant, seed, [("test", "bleu", "", 20.0 + seed)], status=status)
    folder = tmp_path / "report"
    names = write(make_tables(read_study(study.write())), [], folder)
    assert names == sorted(path.name for path in folder.iterdir())
    for name in ("report.md", "effects.tex"):
        text = (folder / name).read_text(encoding="utf-8")
        assert "3 of 3 seeds, 1 diverged, 2 of the base diverged" in text


def test_tables_name_the_level_of_each_experiment(make: Maker, tmp_path: Path) -> None:
    study = make()
    for name, looks in (("plain", []), ("looked", [5, 10, 20])):
        study.experiment(name, {"x": {"model.norm": "none"}}, headline=["loss"], looks=looks)
        for seed in study.seeds:
            study.run(name, "base", seed, [("test", "loss", "", 0.5 + seed / 11)])
            study.run(name, "x", seed, [("test", "loss", "", 1.5 + seed / 7)])
    write(make_tables(read_study(study.write())), [], tmp_path)
    text = (tmp_path / "effects.tex").read_text(encoding="utf-8")
    assert "half-width of the 95 % (98.3 % where seeds were added) interval" in text.replace("\N{NO-BREAK SPACE}", " ")
    columns = [rows[0][2] for rows in check_tabulars(text)]
    assert columns == [r"Difference $\pm$ 95~\%", r"Difference $\pm$ 98.3~\%"]
    report = (tmp_path / "report.md").read_text(encoding="utf-8").replace("\N{NO-BREAK SPACE}", " ")
    assert [cells(line)[3] for line in report.splitlines() if "| Difference" in line] == [
        "95 % interval",
        "98.3 % interval",
    ]
