"""Commands that train nothing: what is there, what is planned, what has come of it."""

import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.request
import webbrowser
from dataclasses import fields
from pathlib import Path

import pytest
from matplotlib.image import imread

from ablations.components import COMPONENTS
from ablations.listing import studies
from ablations.load import load_study
from ablations.study import TrainConfig
from datamodules import TASKS
from models.config import ModelConfig
from reports.register import read_register
from tests.commands.documented import ROOT, Command
from tests.commands.workplace import SOURCE, Ran, Workplace

LARGE = 100
"""Runs of a study that is not planned twice here."""


def lists(place: Workplace, command: Command) -> None:
    """Every entry has its line, and --json parses."""
    out = place.typed(command).good().out
    what = next((word for word in command.text.split()[2:] if word.isalpha()), "studies")
    names = {
        "studies": [study["name"] for study in studies()],
        "components": [component.name for component in COMPONENTS],
        "tasks": list(TASKS),
        "claims": [claim.id for claim in read_register()],
    }[what]
    assert [name for name in names if name not in out] == []
    assert len(json.loads(place.ablations("list", what, "--json").good().out)) == len(names)


def explains(place: Workplace, command: Command) -> None:
    """The claims that test the component are named; --json has the same."""
    name = place.words(command)[2]
    out = place.typed(command).good().out
    found = json.loads(place.ablations("explain", name, "--json").good().out)
    assert found["name"] == name
    assert all(claim["id"] in out for claim in found["claims"])


def documents_every_field(place: Workplace, command: Command) -> None:
    """`ablations train [--task.name NAME] --help`."""
    out = place.typed(command).good().out
    named = re.search(r"--task\.name (\S+)", command.text)
    tasks = [TASKS[named[1]]] if named else list(TASKS.values())
    wanted = {f"--model.{field.name}" for field in fields(ModelConfig)}
    wanted |= {f"--train.{field.name}" for field in fields(TrainConfig)}
    wanted |= {f"--task.{field.name}" for task in tasks for field in fields(task.Config)}
    assert {flag for flag in wanted if flag not in out} == set()


def helps(place: Workplace, command: Command) -> None:
    """A command by itself, as sentences name it, is one."""
    words = [word for word in command.text.removeprefix(".venv/bin/").split()[1:] if word != "--help"]
    assert place.ablations(*words, "--help").good().out.startswith("usage: ablations")


def plans(place: Workplace, command: Command) -> None:
    """Every run is there with its size and its seconds, the sum is told, and nothing is written."""
    study = place.words(command)[2]
    more = place.settings(study)
    seeds = re.search(r"--seeds (\d+)", command.text)
    runs = load_study(study, more[1::2], int(seeds[1]) if seeds else None).runs()
    out = place.typed(command, *more).good().out
    assert re.search(rf"{len({run.id for run in runs})} runs to train: .* with \d+ at a time", " ".join(out.split()))
    assert all(variant in out for variant in load_study(study).experiments[0].variants)
    if len(runs) < LARGE:
        entries = json.loads(place.typed(command, *more, "--json").good().out)
        assert len(entries) == len(runs)
        assert all(entry["parameters"] > 0 and entry["predicted_seconds"] > 0 for entry in entries)
    assert not place.runs.exists()


def tells_the_power(place: Workplace, command: Command) -> None:
    """After pilots: noise and seeds; before them the command that makes them."""
    study = place.words(command)[2]
    assert f"ablations run {study} --pilot 3" in place.typed(command).good().out
    place.ablations("run", study, "--pilot", "3", *place.settings(study)).good()
    entries = json.loads(place.typed(command, *place.settings(study), "--json").good().out)
    assert all(entry["metric"] is not None for entry in entries)
    assert place.typed(command, *place.settings(study)).good().out


def counts_states(place: Workplace, command: Command) -> None:
    """Nine runs are done, of each variant one."""
    place.quick()
    out = place.typed(command).good().out
    assert out.splitlines()[-1] == "9 of 9 runs are done"
    assert place.states("quick") == {"completed": 9}


def cleans(place: Workplace, command: Command) -> None:
    """Only kinds that are named go, results of planned runs never; without --remove nothing does."""
    folder = place.quick()
    foreign = folder / "german/base/seed-7-0123abcd"
    foreign.mkdir()
    run = json.loads((folder / place_of_base(folder) / "run.json").read_text(encoding="utf-8"))
    (foreign / "run.json").write_text(json.dumps(run | {"id": "0123abcd"}), encoding="utf-8")
    kinds = {
        "weights": folder / place_of_base(folder) / "checkpoints/best.ckpt",
        "foreign": foreign,
        "report": folder / "report/index.html",
    }
    results = sorted(folder.glob("german/*/*/result.json"))
    found = re.search(r"--remove (\S+)", command.text)
    removed = place.typed(command).good()
    named = list(kinds) if found and found[1] == "all" else found[1].split(",") if found else []
    assert {kind for kind, path in kinds.items() if not path.exists()} == set(named) & set(kinds), removed.out
    assert all(path.exists() for path in results)
    if not found:  # the remark names the kinds
        told = set(json.loads(place.ablations("clean", "quick", "--json").good().out)["removable"])
        assert set(re.findall(r"weights|checkpoints|foreign|leftovers|trials|report", command.remark)) in (set(), told)


def place_of_base(study: Path) -> Path:
    """Folder of the base's run, within the study's."""
    return next((study / "german/base").glob("seed-0-*")).relative_to(study)


def disk(place: Workplace, command: Command) -> None:
    """`runs/STUDY/...   what is in it`: the paths are there."""
    folder = place.quick()
    where, *names = re.findall(r"[^\s,]+[/.]\S*?(?=[,\s]|$)", command.text)
    filled = where.replace("STUDY", "quick").replace("EXPERIMENT/VARIANT/seed-0-ID", str(place_of_base(folder)))
    at = place.folder / filled
    assert at.exists()
    assert all((at if at.is_dir() else at.parent).joinpath(name).exists() for name in names), names


def records(place: Workplace, command: Command) -> None:
    """`ablations record STUDY`: rows, effects and verdicts below docs/results."""
    place.quick()
    place.typed(command).good()
    into = re.search(r"--into (\S+)", command.text)
    there = place.folder / (into[1] if into else "docs/results") / "quick"
    assert json.loads((there / "record.json").read_text(encoding="utf-8"))
    names = ("runs.csv", "metrics.csv.gz", "effects.csv", "claims.csv", "index.html", "figures")
    assert [name for name in names if not (there / name).exists()] == []


def renews(place: Workplace, command: Command) -> None:
    """`ablations record docs/results/STUDY`: what is made of the rows, again."""
    place.quick()
    place.shell("ablations record quick").good()
    effects = place.folder / "docs/results/quick/effects.csv"
    before = effects.read_bytes()
    effects.unlink()
    place.shell(command.text.replace("STUDY", "quick")).good()
    assert effects.read_bytes() == before


def fills_blocks(place: Workplace, command: Command) -> None:
    """The parts of pages that are made from the results, in copies of the pages."""
    copies = place.folder / "copies"
    shutil.copytree(place.folder / "docs", copies / "docs")
    shutil.copy(ROOT / "README.md", copies)
    fill = (
        f"{command.text.removesuffix(' --check')} --results {ROOT / 'docs/results'} copies/README.md copies/docs/*.md"
    )
    place.shell(fill).good()
    assert "results/lecture" in (copies / "README.md").read_text(encoding="utf-8")
    place.shell(f"{fill} --check").good()


def handbook(place: Workplace, command: Command) -> None:
    """The pages of the components, written anew into another folder: as many as there are."""
    place.shell(f"{command.text.removesuffix(' --check')} --output pages").good()
    there = {path.name for path in (place.folder / "pages").glob("*.md")}
    assert there == {path.name for path in (ROOT / "docs/components").glob("*.md")}


def reports(place: Workplace, command: Command) -> None:
    """The page and every file that docs/report.md lists; --open shows it, --watch ends as the sweep has ended."""
    folder = place.quick()
    (folder / "report/index.html").unlink()
    opened: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(webbrowser, "open", opened.append)
        assert place.typed(command).good().last == "runs/quick/report/index.html"
    page = (folder / "report/index.html").read_text(encoding="utf-8")
    assert all(variant in page for variant in load_study("quick").experiments[0].variants)
    assert opened == ([(folder / "report/index.html").as_uri()] if "--open" in command.text else [])
    rows = (ROOT / "docs/report.md").read_text(encoding="utf-8").split("## The files beside it")[1].split("\n## ")[0]
    listed = [name for row in re.findall(r"^\| (`[^|]+) \|", rows, re.M) for name in re.findall(r"`([^`]+)`", row)]
    missing = {name for name in listed if not (folder / "report" / name).exists()}
    assert missing <= {"fairness.csv"}  # of studies with comparisons
    assert effects(folder) == set(load_study("quick").experiments[0].variants) - {"base"}


def effects(study: Path) -> set[str]:
    """Variants that effects.csv has."""
    with (study / "report/effects.csv").open(encoding="utf-8", newline="") as lines:
        return {row["variant"] for row in csv.DictReader(lines)}


def compares(place: Workplace, command: Command) -> None:
    """`ablations report A B`."""
    first, second = command.text.split()[2:4]
    for name in (first, second):
        place.quick(name)
    page = place.folder / place.typed(command).good().last
    assert page == place.runs / first / f"report/versus-{second.lower()}.html"
    assert all(page.with_suffix(ending).is_file() for ending in (".html", ".csv", ".md"))


def judges(place: Workplace, command: Command) -> None:
    """Every claim of the study has a verdict."""
    study = command.text.split()[2]
    place.part(study)
    ours = {claim.id for claim in read_register() if study in claim.studies}
    verdicts = json.loads(place.typed(command, "--json").good().out)
    assert {verdict["id"] for verdict in verdicts} == ours != set()
    out = place.typed(command).good().out
    assert all(f" {claim} " in out for claim in ours)


def translates(place: Workplace, command: Command) -> None:
    """As many lines as go in, an empty one staying empty; the other forms that the remark names."""
    lines = place.typed(command).good().out.split("\n")
    assert len(lines) == len(SOURCE.split("\n"))
    assert lines[1] == ""
    several = place.typed(command, "--beam", "5", "--nbest", "3", "--scores").good().out
    assert len(several.splitlines()) == 3 * len([line for line in SOURCE.splitlines() if line]) + 1
    objects = place.typed(command, "--json").good().out.splitlines()
    assert [json.loads(line)["source"] for line in objects] == SOURCE.splitlines()


def draws_attention(place: Workplace, command: Command) -> None:
    """A picture that opens, wider than high where two runs stand side by side."""
    name = place.typed(command).good().last
    assert name == "attention.png"
    height, width = imread(place.folder / name).shape[:2]
    assert height > 300 < width


def dashboard(place: Workplace, command: Command) -> None:
    """It answers at the address that it prints, until Ctrl-C; --open hands the address to the browser."""
    study = place.words(command)[2]
    if study == "quick":
        place.quick()
    else:
        place.ablations("tune", study).good()
        place.ablations("run", study).good()
    place.program("browser", 'echo "$1" >> opened')
    environment = os.environ | {"BROWSER": str(place.folder / "bin/browser"), "CUDA_VISIBLE_DEVICES": ""}
    process = subprocess.Popen(
        [sys.executable, "-m", "ablations", *place.words(command)[1:]],
        cwd=place.folder,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        tools = ["TensorBoard"] if study == "quick" else ["TensorBoard", "optuna-dashboard"]
        lines = [process.stdout.readline().split() for _ in tools]
        assert [line[0] for line in lines] == tools
        for line in lines:
            with urllib.request.urlopen(line[1], timeout=60) as answer:
                assert answer.status == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 0
    finally:
        process.kill()
        process.communicate()
    opened = (place.folder / "opened").read_text().split() if "--open" in command.text else []
    assert opened == ([line[1] for line in lines] if "--open" in command.text else [])


def falls_to_the_cpu(place: Workplace, command: Command) -> None:
    """Where the GPU that is named is not there, the runs go to the CPU, and it is said."""
    ran = place.typed(command, *place.settings("quick"), "--seeds", "1", "--shard", "9/9").good()
    assert "no GPU is to be seen; the runs go to the CPU" in ran.err
    assert place.states("quick") == {"completed": 1, "waiting": 8}


def refuses_cuda(place: Workplace, command: Command) -> None:
    """Without a GPU: one line that names the flag or the GPU, status 2, nothing written."""
    ran: Ran = place.typed(command, *place.settings("quick"))
    assert ran.status == 2
    assert len(ran.err.splitlines()) == 1
    assert re.search("cuda|GPU", ran.err)
    assert not list(place.folder.glob("runs/**/run.json"))
