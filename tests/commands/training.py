"""Commands that train: each for real, made small by what tests/commands/shrinking.py appends."""

import csv
import json
import re
from collections import Counter
from pathlib import Path

import pytest

from ablations.load import load_study
from ablations.looks import until_resolved as by_looks
from reports.register import read_register
from reports.rows import read_plan, read_run, read_study
from reports.sequential import LOOKS
from tests.ablations.postgres import server
from tests.commands import shrinking
from tests.commands.documented import ROOT, Command
from tests.commands.reading import effects
from tests.commands.workplace import Workplace

FOUND = {"completed", "diverged"}
FEW_LOOKS = (2, 3)


def quick(place: Workplace, command: Command) -> None:
    """The whole study in small, trained once for all tests; a second time trains nothing."""
    folder = place.quick()
    assert (folder / "ran.txt").read_text(encoding="utf-8").splitlines()[-1] == "runs/quick/report/index.html"
    assert place.states("quick") == {"completed": 9}
    again = place.typed(command, *quick_settings(place)).good()
    assert "nothing to train: all runs are done" in again.err
    assert again.last == "runs/quick/report/index.html"
    assert effects(folder) == set(load_study("quick").experiments[0].variants) - {"base"}


def quick_settings(place: Workplace) -> list[str]:
    """Those that `quick` was trained with."""
    return [*place.settings("quick"), "--set", "train.keep_checkpoints=true", "--seeds", "1"]


def shipped(place: Workplace, command: Command) -> None:
    """A shipped study, or a part of it: every run ends, and the claims that it tests can be asked for."""
    study = command.text.split()[2]
    ran, more = place.part(study, command)
    plan = read_plan(place.runs / study)
    states = place.states(study)
    assert set(states) <= FOUND | {"waiting"}
    ended = sum(states.get(state, 0) for state in FOUND)
    if "--shard" in more:
        assert 0 < ended <= 2 * shrinking.RUNS  # twice where they are matched, too
        assert f"ablations report {study}" in ran.err
    else:
        assert ended == sum(states.values()) == len(plan["runs"])
        assert ran.last == f"runs/{study}/report/index.html"
        page = (place.runs / study / "report/index.html").read_text(encoding="utf-8")
        assert all(name in page for one in plan["experiments"].values() for name in one["variants"])
    if any(study in claim.studies for claim in read_register()):
        place.ablations("claims", study).good()


def of_record(place: Workplace, command: Command) -> None:
    """The study of a record, where that is not the shipped one: a part of it in small, into the folder of its name."""
    file = ROOT / command.text.split()[2]
    small = [*shrinking.settings(str(file), place.corpora), "--seeds", "1", *shrinking.shard(str(file), place.corpora)]
    place.ablations("run", str(file), *small).good()
    states = place.states(file.parent.name)
    assert set(states) <= FOUND | {"waiting"}
    assert states["completed"] > 0


def with_data(place: Workplace, command: Command) -> None:
    """`--set task.root=path/to/multi30k`, and what the remark says beside it: `export ABLATIONS_DATA=path/to`."""
    more = [word for word in place.settings("multi30k-quick") if "task.root" not in word]
    more = ["--set", *" --set ".join(word for word in more if word != "--set").split(" "), "--shard", "3/3"]
    place.typed(command, *more).good()
    assert place.states("multi30k-quick") == {"completed": 1, "waiting": 2}
    exported = re.search(r"export \S+", command.remark)
    assert exported
    script = exported[0].replace("path/to", str(place.corpora))
    there = place.shell(f"{script} && ablations run multi30k-quick --output there {' '.join(more)}").good()
    assert "1 completed" in there.err


def more_seeds(place: Workplace, command: Command) -> None:
    """The seeds that are there are not trained again."""
    folder = place.quick()
    before = {path: path.read_bytes() for path in folder.glob("german/*/seed-0-*/result.json")}
    fewer = re.sub(r"--seeds \d+", "", command.text)
    words = [*quick_settings(place)[:-1], "2"]
    place.typed(Command(fewer, command.place), *words).good()
    assert len(before) == 9
    assert all(path.read_bytes() == text for path, text in before.items())
    assert place.states("quick") == {"completed": 18}


def again(place: Workplace, command: Command) -> None:
    """--redo trains everything anew, with the same numbers."""
    folder = place.quick()  # which is what STUDY stands for here
    before = {path: path.stat().st_ino for path in folder.glob("german/base/*/result.json")}
    losses = {path.parent.name: metrics(path) for path in before}
    place.typed(command, *quick_settings(place), "--shard", "9/9").good()
    place.typed(command, *quick_settings(place), "--shard", "1/9").good()
    after = {path: path.stat().st_ino for path in folder.glob("german/base/*/result.json")}
    assert after != before
    assert {path.parent.name: metrics(path) for path in after} == losses


def metrics(path: Path) -> str:
    """Final values of a result, without what it took."""
    return json.dumps(json.loads(path.read_text(encoding="utf-8"))["metrics"])


def any_study(place: Workplace, command: Command) -> None:
    """STUDY stands for a name: that of `quick` will do."""
    quick(place, Command(command.text.replace("STUDY", "quick"), command.place))


def in_places(place: Workplace, command: Command) -> None:
    """Where the runs go and what becomes of those that fail: three runs of `quick`, under the options given."""
    place.typed(command, *place.settings("quick"), "--seeds", "1", "--shard", "3/3").good()
    assert place.states("quick") == {"completed": 3, "waiting": 6}
    (sweep,) = (place.runs / "quick").glob("sweep-*.json")
    workers = json.loads(sweep.read_text(encoding="utf-8"))["workers"]
    if found := re.search(r"--devices cpu:(\d+)", command.text):
        assert workers == int(found[1])
    if found := re.search(r"--per-device (\d+)", command.text):
        assert workers % int(found[1]) == 0
    for path, value in re.findall(r"--set train\.(\w+)=(\S+)", command.text):
        for folder in (place.runs / "quick").glob("german/*/*/"):
            run = read_run(folder)
            assert run is not None
            if path == "devices":
                assert (folder / "log-rank-1.txt").is_file()
            elif path != "steps":
                assert str(run["config"]["train"][path]) == value


def mine(place: Workplace, command: Command) -> None:
    """A study of the page's own: all experiments and comparisons that it asks for, and the report."""
    ran = place.typed(command).good()
    assert ran.last == "runs/mine/report/index.html"
    assert set(place.states("mine")) <= FOUND
    plan = read_plan(place.runs / "mine")
    study = load_study(str(place.folder / "mine.yaml"))
    wanted = {f"{one.name}{kind}" for one in study.experiments for kind in ("", *kinds(study.comparisons))}
    assert set(plan["experiments"]) == wanted
    if "--tensorboard" in command.text:
        assert list((place.runs / "mine").rglob("events.out.tfevents*"))


def kinds(comparisons: tuple[str, ...]) -> list[str]:
    """What stands behind the name of an experiment."""
    return [f" ({name})" for name in comparisons]


def compared(place: Workplace, command: Command) -> None:
    """Once more tuned and matched: three experiments side by side, and fairness.csv."""
    study = command.text.split()[2]
    place.typed(command, *place.settings(study), "--seeds", "1").good()
    names = set(read_plan(place.runs / study)["experiments"])
    assert names == {"german", "german (tuned)", "german (matched)"}
    assert (place.runs / study / "tune/trials.csv").is_file()
    with (place.runs / study / "report/fairness.csv").open(encoding="utf-8", newline="") as lines:
        assert {row["comparison"] for row in csv.DictReader(lines)} == {"same", "tuned", "matched"}


def until_resolved(place: Workplace, command: Command) -> None:
    """Each variant has the seeds of one of the looks; those of `quick`, with its nine variants, are earlier ones."""
    study = place.words(command)[2]
    looks = LOOKS if study.endswith(".yaml") else FEW_LOOKS
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(by_looks, "__defaults__", (looks,))
        place.typed(command, *place.settings(study)).good()
    runs = read_study(place.runs / Path(study).stem).runs
    assert {run.state for run in runs} <= FOUND
    seeds = Counter((run.experiment, run.variant) for run in runs)
    assert set(seeds.values()) <= set(looks)


def pilot(place: Workplace, command: Command) -> None:
    """The base of each experiment alone; the plan is that of the whole study."""
    study = place.words(command)[2]
    place.typed(command, *place.settings(study)).good()
    done = [run for run in read_study(place.runs / Path(study).stem).runs if run.state in FOUND]
    assert {run.variant for run in done} == {"base"}
    assert len(read_plan(place.runs / Path(study).stem)["experiments"]) == len({run.experiment for run in done})


def tunes(place: Workplace, command: Command) -> None:
    """As many trials of each variant, in a table and in a journal or a server's storage; no run is reported."""
    if "postgresql://" in command.text:
        with server() as url:
            text = re.sub(r"postgresql://\S+", f"'{url}'", command.text)
            searched(place, Command(text, command.place))
    else:
        searched(place, command)
        assert (place.runs / "mine/tune/journal.log").is_file()


def searched(place: Workplace, command: Command) -> None:
    """`ablations tune mine.yaml`, and what it leaves."""
    place.typed(command).good()
    with (place.runs / "mine/tune/trials.csv").open(encoding="utf-8", newline="") as lines:
        trials = Counter((row["experiment"], row["variant"]) for row in csv.DictReader(lines))
    assert len(trials) == 2
    assert set(trials.values()) == {2}
    assert not list((place.runs / "mine").glob("one/*/*/result.json"))


def trains(place: Workplace, command: Command) -> None:
    """One run from flags: where it lies, its numbers as JSON; weights where they are to be kept."""
    words = place.words(command)
    sizes = shrinking.SIZES.get(words[words.index("--task.name") + 1], shrinking.GENERATED)
    smaller = [word for field, value in sizes.items() for word in (f"--task.{field}", str(value))]
    smaller += ["--train.steps", "5", "--train.warmup", "2"]
    out = place.typed(command, *smaller).good().out
    shown = json.loads(place.typed(command, *smaller, "--json").good().out)
    assert shown["status"] == "completed"
    assert shown["folder"] in out
    assert shown["metrics"]["test/loss"] > 0
    kept = (place.folder / shown["folder"] / "checkpoints/best.ckpt").is_file()
    assert kept == ("--train.keep_checkpoints true" in command.text)
