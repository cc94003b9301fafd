"""The same rows give the same report, however they lie in the folder; rows that contradict each other are named."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from reports.pages.exports import read
from reports.pages.page import build

ROOT = Path(__file__).parents[3]
Maker = Callable[..., Any]
FOLDERS = re.compile(r"(e1/)?(v\d+|other-\d+|copy-\d+)/seed-\d")


@pytest.fixture
def folder(make: Maker) -> Path:
    """Three variants, three seeds, with distances and curves; one run diverged, one failed, one missing."""
    study = make("rows")
    study.experiment("e", {"x": {"model.norm": "none"}, "y": {"model.position": "none"}}, headline=["loss", "accuracy"])
    for i, variant in enumerate(("base", "y", "x")):
        for seed in study.seeds[: 2 if variant == "x" else 3]:
            rng = np.random.default_rng([i, seed])
            fields: dict[str, Any] = {}
            if (variant, seed) == ("y", 1):
                fields = {"status": "diverged", "reason": "loss is not finite at step 7"}
            if (variant, seed) == ("x", 1):
                fields = {"status": "failed", "reason": "out of memory"}
            loss = 0.5 + i + float(rng.random())
            at = [("test", "accuracy", f"distance={d}", float(rng.random())) for d in (1, 2, 4, 8)]
            values = [("test", "loss", "", loss), ("test", "accuracy", "", float(rng.random())), *at]
            curve = [(step, "loss", loss + 1 / step) for step in (5, 10, 15)]
            study.run("e", variant, seed, [] if "failed" in fields.values() else values, curve=curve, **fields)
    written: Path = study.write()
    return written


def contents(report: Path, within: Path) -> dict[str, bytes]:
    """Files of a report with the folder of the study and those of its runs left out."""
    found = {}
    for path in sorted(report.rglob("*")):
        if path.is_file():
            data = path.read_bytes().replace(bytes(within), b"STUDY")
            text = path.suffix in (".html", ".csv", ".md", ".tex", ".svg")
            found[str(path.relative_to(report))] = FOLDERS.sub("RUN", data.decode()).encode() if text else data
    return found


def report_of(folder: Path) -> dict[str, bytes]:
    return contents(build(folder).parent, folder)


def moved(folder: Path, name: Callable[[int], str]) -> Path:
    """A copy of a study whose run folders lie elsewhere, made in reverse order."""
    target = folder.with_name("moved")
    target.mkdir()
    shutil.copy(folder / "plan.json", target)
    places = sorted(path.parent for path in folder.glob("*/*/*/run.json"))
    for number, place in reversed(list(enumerate(places))):
        shutil.copytree(place, target / "e1" / name(number) / place.name)
    return target


def test_two_builds_give_the_same_bytes_whatever_the_hash_seed(folder: Path) -> None:
    first = report_of(folder)
    code = f"from pathlib import Path; from reports.pages.page import build; build(Path({str(folder)!r}))"
    shutil.rmtree(folder / "report")
    environment = {**os.environ, "PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo"}
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, check=True)
    second = contents(folder / "report", folder)
    assert first.keys() == second.keys()
    assert [name for name in first if first[name] != second[name]] == []
    assert len(first) > 12


def test_folders_made_in_another_order_give_the_same_report(folder: Path) -> None:
    names = sorted(path.name for path in (folder / "e1").iterdir())
    assert report_of(moved(folder, lambda number: names[number])) == report_of(folder)


def test_renamed_folders_give_the_same_report(folder: Path) -> None:
    found = report_of(moved(folder, lambda number: f"other-{9 - number}"))
    assert found == report_of(folder)
    assert b"1 missing" in found["index.html"]
    assert b"not part of the current plan" not in found["index.html"]


def test_folders_that_took_each_others_names_give_the_same_report(folder: Path) -> None:
    names = sorted(path.name for path in (folder / "e1").iterdir())
    shuffled = moved(folder, lambda number: names[(number + 3) % len(names)])
    assert report_of(shuffled) == report_of(folder)


def test_doubled_folders_give_the_same_report(folder: Path) -> None:
    expected = report_of(folder)
    for number, place in enumerate(sorted(path.parent for path in folder.glob("*/*/*/run.json"))):
        shutil.copytree(place, folder / "e1" / f"copy-{number}" / place.name)
    assert report_of(folder) == expected


def test_a_double_with_other_numbers_is_a_conflict_with_both_names(folder: Path) -> None:
    place = next(path.parent for path in sorted(folder.glob("e1/*/*/result.json")))
    copy = folder / "e1" / "copy-0" / place.name
    shutil.copytree(place, copy)
    result = json.loads((copy / "result.json").read_text())
    result["metrics"][0]["value"] += 0.25
    (copy / "result.json").write_text(json.dumps(result))
    page = build(folder)
    text = page.read_text(encoding="utf-8")
    for name in (place, copy):
        assert name.relative_to(folder).as_posix() in text
    assert "1 conflict" in text
    runs = read(page.parent / "runs.csv")
    assert runs.loc[(runs["variant"] == "base") & (runs["seed"] == 0), "state"].tolist() == ["conflict"]
    values = read(page.parent / "metrics.csv")
    assert values[(values["variant"] == "base") & (values["seed"] == 0)].empty
    assert "1 conflict" in (page.parent / "report.md").read_text(encoding="utf-8")


def test_tables_of_renamed_folders_differ_in_the_folder_alone(folder: Path) -> None:
    other = moved(folder, lambda number: f"other-{number}")
    first, second = (read(build(place).parent / "runs.csv") for place in (folder, other))
    pd.testing.assert_frame_equal(first.drop(columns="folder"), second.drop(columns="folder"))
    assert (first["folder"] != second["folder"]).any()
