"""The commands as a user types them, in this process unless the process itself is the point."""

import contextlib
import io
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from ablations.cli import main
from ablations.components import COMPONENTS, choices
from datamodules import TASKS
from reports.register import read_register
from reports.rows import read_study
from tests.ablations.trained import MODEL as TRANSLATOR
from tests.ablations.trained import trained

ROOT = Path(__file__).parents[2]


def write(plain: Any, folder: Path) -> str:
    path = folder / "study.yaml"
    path.write_text(plain if isinstance(plain, str) else yaml.safe_dump(plain), encoding="utf-8")
    return str(path)


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_help_names_every_command() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "ablations", "--help"], capture_output=True, text=True, check=True, cwd=ROOT
    )
    for command in ("list", "plan", "run", "train", "status", "clean", "report", "claims", "explain"):
        assert f"\n    {command} " in ran.stdout
    for command in ("translate", "attention"):
        assert f"\n    {command} " in ran.stdout


@pytest.fixture
def judged(tmp_path: Path) -> list[str]:
    """Options that lead to a study that was planned and never run, of the name of one with claims."""
    from ablations.load import load_study
    from ablations.plan import write_plan

    study = load_study("quick", [], 2)
    write_plan(study, study.runs(), tmp_path / "runs/quick")
    return ["--output", str(tmp_path / "runs")]


@pytest.mark.parametrize(
    "command", ["--help", "list studies", "list claims", "claims quick", "status quick", "report quick"]
)
def test_commands_that_train_nothing_import_no_torch(command: str, judged: list[str]) -> None:
    words = command.split()
    arguments = words + (judged if words[0] in ("claims", "status", "report") else [])
    code = (
        "import sys\nfrom ablations.cli import main\n"
        f"try:\n    status = main({arguments!r})\nexcept SystemExit as end:\n    status = end.code\n"
        "print(status, sorted({'torch', 'lightning', 'torchmetrics'} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert ran.stdout.splitlines()[-1] == "0 []"


@pytest.mark.parametrize(
    "command", ["list claims", "list studies", "list components", "list tasks --json", "explain norm", "claims quick"]
)
def test_a_reader_who_has_gone_is_no_error(command: str, judged: list[str]) -> None:
    words = command.split()
    arguments = words + (judged if words[0] == "claims" else [])
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as gone:
        ran = subprocess.run(
            [sys.executable, "-m", "ablations", *arguments], cwd=ROOT, stdout=gone, stderr=subprocess.PIPE, check=False
        )
    assert (ran.returncode, ran.stderr) == (0, b"")


def test_list_claims_has_all_of_the_register(capsys: pytest.CaptureFixture[str]) -> None:
    register = read_register()
    assert main(["list", "claims", "--json"]) == 0
    entries = json.loads(capsys.readouterr().out)
    assert [entry["id"] for entry in entries] == [claim.id for claim in register]
    assert [entry["conditions"][0]["region"] for entry in entries] == [c.conditions[0].region.text for c in register]
    assert main(["list", "claims"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for claim in register:
        (line,) = (line for line in lines if line.startswith(f"  {claim.id} "))
        assert line.split(maxsplit=2)[1:] == [claim.kind, claim.statement]
    assert lines[-1] == f"{len(register)} claims"


def test_claims_lists_those_of_the_study_run_or_not(judged: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    ours = [claim.id for claim in read_register() if "quick" in claim.studies]
    assert ours
    assert main(["claims", "quick", *judged, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(verdict["id"], verdict["outcome"]) for verdict in found] == [(name, "not run") for name in ours]
    assert all(verdict["reason"] and verdict["conditions"] for verdict in found)
    assert main(["claims", "quick", *judged]) == 0
    shown = capsys.readouterr().out
    assert all(f" {name} " in shown for name in ours)
    assert f"{len(ours)} claims of the lecture put to the test by quick: {len(ours)} not run" in shown
    assert "ablations run lecture-real: " in shown


def test_explain_gives_text_or_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "decoder-mask", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["name"] == "decoder_mask"
    assert len(found["example"]["tables"]) == 4
    assert "mask-softmax" in {claim["id"] for claim in found["claims"]}
    assert main(["explain", "decoder-mask"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("decoder_mask: Position, nonlinearity, masking (21:23)\n")
    assert shown.endswith("Try next: ablations run masking\n")


def test_list_components_names_every_component_and_value(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "components", "--json"]) == 0
    listed = {entry["name"]: entry for entry in json.loads(capsys.readouterr().out)}
    assert list(listed) == [component.name for component in COMPONENTS]
    for component in COMPONENTS:
        values = listed[component.name]["values"]
        if choices(component):
            assert [value["value"] for value in values] == choices(component)
        else:
            assert values.startswith(("any whole number", "any number", "true or false"))


@pytest.mark.parametrize("what", ["studies", "tasks"])
def test_lists_have_a_line_each(what: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", what, "--json"]) == 0
    entries = json.loads(capsys.readouterr().out)
    assert all(entry["description"] for entry in entries)
    assert main(["list", what]) == 0
    shown = capsys.readouterr().out
    assert all(entry["name"] in shown for entry in entries)


def test_train_help_documents_every_field(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    from dataclasses import fields

    from ablations.study import TrainConfig
    from models.config import ModelConfig

    sections = [("model", ModelConfig), ("train", TrainConfig), *(("task", task.Config) for task in TASKS.values())]
    for section, config in sections:
        for field in fields(config):
            flag = f"--{section}.{field.name} "
            assert flag in shown
            documented = shown[shown.rindex(flag) :].split("(type:")[0].split("--")[1]
            assert len(documented.split()) > 2, f"{flag} says nothing"


def test_a_study_from_run_to_report_and_again(
    tiny: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = write(tiny, tmp_path)
    output = ["--output", str(tmp_path / "runs")]
    assert main(["plan", study, *output, "--json"]) == 0
    planned = json.loads(capsys.readouterr().out)
    assert not (tmp_path / "runs").exists()
    assert [run["done"] for run in planned] == [False] * 4
    assert all(run["parameters"] > 0 and run["predicted_flops"] > 0 for run in planned)
    assert all(run["predicted_seconds"] > 0 and run["basis"] == "calibrated" for run in planned)

    assert main(["run", study, *output]) == 0
    page = Path(capsys.readouterr().out.strip())
    assert page.name == "index.html"
    assert "position=none" in page.read_text(encoding="utf-8")
    results = {path: path.stat().st_mtime_ns for path in (tmp_path / "runs").rglob("result.json")}
    assert len(results) == 4

    assert main(["run", study, *output]) == 0
    assert "nothing to train" in capsys.readouterr().err
    assert {path: path.stat().st_mtime_ns for path in results} == results

    for name in ("tiny", study):
        assert main(["status", name, *output, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["counts"]["completed"] == 4
    assert main(["status", "tiny", *output]) == 0
    assert "4 of 4 runs are done" in capsys.readouterr().out
    assert main(["plan", study, *output]) == 0
    assert "0 of 4 runs to train" in capsys.readouterr().out
    for watched in ([], ["--watch"]):
        page.unlink()
        assert main(["report", "tiny", *output, *watched]) == 0
        assert capsys.readouterr().out.strip() == str(page)
        assert page.is_file()
    assert main(["report", "tiny", str(tmp_path / "runs" / "tiny"), *output]) == 0
    compared = Path(capsys.readouterr().out.strip())
    assert compared.name == "versus-tiny.html"
    assert compared.parent == page.parent
    assert main(["clean", "tiny", *output, "--remove", "report", "--remove", "leftovers,weights", "--json"]) == 0
    removed = json.loads(capsys.readouterr().out)["removed"]
    assert [removed[kind]["number"] for kind in ("report", "weights", "checkpoints")] == [1, 0, 0]
    assert not page.exists()
    assert all(path.is_file() for path in results)


def test_variants_called_like_nothing_or_no_are_in_every_file(
    tiny: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """YAML and pandas take these words for something else than text unless told not to."""
    experiment = tiny["experiments"]["copy"]
    del experiment["vary"]
    fields = {"NA": "position", "None": "norm", "no": "residual", "null": "feed_forward"}
    experiment["variants"] = {name: {f"model.{field}": "none"} for name, field in fields.items()}
    names = ["base", *fields]
    output = ["--output", str(tmp_path / "runs")]
    assert main(["run", write(tiny, tmp_path), *output, "--seeds", "1"]) == 0
    root = tmp_path / "runs/tiny"
    plan = json.loads((root / "plan.json").read_text(encoding="utf-8"))
    assert plan["experiments"]["copy"]["variants"] == names
    assert list(plan["experiments"]["copy"]["changes"]) == names
    assert [run["variant"] for run in plan["runs"]] == names
    source = yaml.safe_load((root / "study.yaml").read_text(encoding="utf-8"))
    assert source["experiments"]["copy"]["variants"] == experiment["variants"]
    written = [json.loads(path.read_text(encoding="utf-8"))["variant"] for path in root.rglob("run.json")]
    assert sorted(written) == sorted(names)
    for name in ("runs", "metrics", "curves", "variants", "effects"):
        table = pd.read_csv(root / "report" / f"{name}.csv", keep_default_na=False)
        assert list(table["variant"].unique()) == names[name == "effects" :], name
    capsys.readouterr()
    assert main(["status", "tiny", *output, "--json"]) == 0
    assert [row["variant"] for row in json.loads(capsys.readouterr().out)["runs"]] == names


def test_redo_trains_again_and_gives_the_same_numbers(
    tiny: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = write(tiny, tmp_path)
    command = ["run", study, "--output", str(tmp_path / "runs"), "--seeds", "1"]
    assert main(command) == 0
    before = {row.id: row.result for row in read_study(tmp_path / "runs/tiny").runs}
    written = [path.stat().st_mtime_ns for path in sorted(tmp_path.rglob("result.json"))]
    assert main([*command, "--redo"]) == 0
    after = {row.id: row.result for row in read_study(tmp_path / "runs/tiny").runs}
    rewritten = [path.stat().st_mtime_ns for path in sorted(tmp_path.rglob("result.json"))]
    assert len(before) == len(written) == 2
    assert all(new > old for new, old in zip(rewritten, written, strict=True))
    for run, result in before.items():
        again = after[run]
        assert result is not None
        assert again is not None
        assert again["metrics"] == result["metrics"]


def test_a_failed_run_gives_status_1_and_a_report(
    tiny: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from ablations.load import make_study

    study = write(tiny, tmp_path)
    run = make_study(tiny).runs()[0]
    (tmp_path / "runs/tiny" / run.folder / "metrics.csv").mkdir(parents=True)
    assert main(["run", study, "--output", str(tmp_path / "runs")]) == 1
    captured = capsys.readouterr()
    assert "failed (IsADirectoryError" in captured.err
    assert "IsADirectoryError" in Path(captured.out.strip()).read_text(encoding="utf-8")


def test_train_makes_one_run_from_flags(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = "--task.name order --task.length 5 --task.vocabulary 7 --task.test_size 11 --task.validation_size 11"
    flags += " --model.d_model 12 --model.n_heads 3 --model.n_layers 1 --train.steps 3 --train.batch_size 2 --seed 4"
    command = ["train", *flags.split(), "--output", str(tmp_path), "--json"]
    assert main(command) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["status"] == "completed"
    assert shown["metrics"]["test/loss"] > 0
    assert "seed-4-" in shown["folder"]
    assert main(command) == 0
    assert json.loads(capsys.readouterr().out) == shown
    assert main(command[:-1]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "completed"
    (test,) = (line for line in lines if line.startswith("test: "))
    assert f"loss {shown['metrics']['test/loss']:.4g}" in test
    assert f"the run:    {shown['folder']}" in lines
    assert any("--train.keep_checkpoints true" in line for line in lines)


def test_train_reads_a_file_and_flags_override_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "run.yaml"
    config.write_text(
        "task: {name: order, length: 5, vocabulary: 7, test_size: 11, validation_size: 11}\n"
        "model: {d_model: 12, n_heads: 3}\ntrain: {steps: 2, lr: 3e-3}\nseed: 1\n"
    )
    command = [
        "train",
        "--config",
        str(config),
        "--model.n_heads",
        "2",
        "--train.steps",
        "1",
        "--output",
        str(tmp_path),
        "--json",
    ]
    assert main(command) == 0
    folder = Path(json.loads(capsys.readouterr().out)["folder"])
    written = json.loads((folder / "run.json").read_text())
    assert written["config"]["model"]["n_heads"] == 2
    assert written["config"]["train"]["lr"] == 0.003
    assert written["seed"] == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("task: {name: order}\ntrain: {steps: '2'}", "run.yaml: train.steps='2': expected int"),
        ("task: {name: order, length: '5'}", "run.yaml: task.length='5': expected int"),
        ("task: {name: german}\ndecode: {beam: '5'}", "run.yaml: decode.beam='5': expected int"),
        ("task: {name: order}\nseed: '1'", "run.yaml: seed='1': expected int"),
        ("- order", "run.yaml: expected task, model, train, decode and seed"),
        ("task: {name: \xfc}", "run.yaml: not UTF-8 (byte 13)"),
    ],
)
def test_a_file_for_train_with_a_value_of_another_type_is_refused_in_one_line(
    text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "run.yaml"
    config.write_text(text, encoding="latin-1")
    assert main(["train", "--config", str(config), "--output", str(tmp_path / "runs")]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
    assert not (tmp_path / "runs").exists()


def test_processes_with_other_hash_seeds_get_the_same_id_and_the_same_bits(tmp_path: Path) -> None:
    flags = "--task.name german --task.test_size 7 --task.validation_size 5 --model.architecture encoder-decoder"
    flags += " --model.d_model 12 --model.n_heads 3 --model.n_layers 1 --model.dropout 0.2 --train.steps 4"
    results = []
    for seed in ("1", "2"):
        command = [sys.executable, "-m", "ablations", "train", *flags.split(), "--output", str(tmp_path / seed)]
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
        (row,) = read_study(tmp_path / seed / "train").runs
        assert row.result is not None
        results.append((row.id, row.result["metrics"], (row.folder / "metrics.csv").read_bytes()))
    assert results[0] == results[1]


PAIR = {"name": "translation", "root": "data"}
MODEL = {"architecture": "encoder-decoder"}


def study_text(**changes: Any) -> str:
    spec: dict[str, Any] = {"task": {"name": "order"}, "model": {}, "train": {"steps": 2}}
    spec.update(changes)
    return yaml.safe_dump({"name": "bad", "experiments": {"e": spec}})


BAD_STUDIES = {
    "misspelt field": (study_text(model={"n_head": 2}), "n_head=2: no such field; did you mean 'n_heads'?"),
    "wrong type": (study_text(train={"lr": "fast"}), "train.lr='fast': expected float"),
    "a scheme called no": (
        "name: bad\nexperiments:\n  e:\n    task: {name: order}\n    model: {position: no}\n",
        "model.position=False: expected str",
    ),
    "a variant called no": (
        "name: bad\nexperiments:\n  e:\n    task: {name: order}\n    variants: {no: {model.n_heads: 1}}\n",
        "variant=False: give a name",
    ),
    "unknown value": (study_text(model={"norm": "lair"}), "norm='lair': choose from"),
    "heads that do not divide": (study_text(model={"n_heads": 5}), "d_model=64: must be divisible by n_heads=5"),
    "missing folder": (study_text(task={**PAIR, "root": "nowhere"}, model=MODEL), "nowhere"),
    "unequal files": (study_text(task=PAIR, model=MODEL), "lines"),
    "invalid UTF-8": (study_text(task={**PAIR, "root": "latin"}, model=MODEL), "train.de:2"),
    "empty study": ("name: bad\nexperiments: {}\n", "experiments: empty"),
    "empty file": ("", "expected a mapping"),
    "duplicate variant": (
        "name: bad\nexperiments:\n  e:\n    task: {name: order}\n    variants:\n"
        "      a: {model.n_heads: 1}\n      a: {model.n_heads: 2}\n",
        "study.yaml:7: 'a' stands twice",
    ),
    "variant equal to its base": (study_text(variants={"same": {"model.n_heads": 4}}), "changes nothing in the base"),
    "no study": (None, "neither a file nor a shipped study"),
}


@pytest.mark.parametrize("case", BAD_STUDIES)
@pytest.mark.parametrize("command", ["run", "plan"])
def test_bad_input_gives_one_line_status_2_and_leaves_nothing(
    case: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text, message = BAD_STUDIES[case]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ABLATIONS_CACHE", str(tmp_path / "cache"))
    for root in ("data", "latin"):
        Path(root).mkdir()
        for split in ("train", "val", "test_2016_flickr"):
            for language in ("de", "en"):
                Path(root, f"{split}.{language}").write_text("ein satz\n" * 3, encoding="utf-8")
    Path("data/train.en").write_text("a sentence\n" * 2, encoding="utf-8")
    Path("latin/train.de").write_bytes(b"ein satz\ns\xfc\xdf\nein satz\n")
    if text is not None:
        write(text, tmp_path)
    before = files(tmp_path)
    assert main([command, "study.yaml"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("ablations: ")
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert files(tmp_path) == before
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run"], "the following arguments are required: STUDY"),
        (["run", "quick", "--seeds", "0"], "'0': give a whole number of at least 1"),
        (["run", "quick", "--seeds", "²"], "'²': give a whole number of at least 1"),
        (["run", "quick", "--seeds", "9" * 5000], "9': give a whole number of at least 1"),
        (["run", "quick", "--retries", "²"], "'²': give a whole number, 0 or more"),
        (["run", "quick", "--shard", "²/3"], "'²/3': give I/N"),
        (["walk"], "invalid choice: 'walk'"),
        (["explain"], "the following arguments are required: COMPONENT"),
        (["claims"], "the following arguments are required: STUDY"),
        (["list", "claim"], "invalid choice: 'claim'"),
        (["list", "components", "--jsn"], "unrecognized arguments"),
        (["clean", "quick", "--remove", "weights,weight"], "'weight': choose from weights, checkpoints, foreign,"),
        (["plan", "quick", "--per-device", "0"], "'0': give a whole number of at least 1"),
        (["translate"], "the following arguments are required: RUN"),
        (["translate", "1a2b", "--beam", "0"], "'0': give a whole number of at least 1"),
        (["translate", "1a2b", "--length-penalty", "x"], "invalid float value: 'x'"),
        (["translate", "1a2b", "--scores", "--json"], "not allowed with argument"),
        (["attention", "1a2b"], "the following arguments are required: SENTENCE"),
    ],
)
def test_a_wrong_command_line_gives_one_line_and_status_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    captured = capsys.readouterr().err
    assert message in captured
    assert captured.count("\n") == 1


def test_without_a_command_three_to_try_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main([])
    assert caught.value.code == 2
    lines = capsys.readouterr().err.splitlines()
    tried = [shlex.split(line)[1:3] for line in lines if line.startswith("  ablations ")]
    assert tried == [["list", "studies"], ["plan", "quick"], ["run", "quick"]]
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["status", "nothing"], "run it first: ablations run nothing"),
        (["report", "nothing"], "run it first: ablations run nothing"),
        (["report", "nothing", "other"], "run it first: ablations run nothing"),
        (["report", "nothing", "other", "--watch"], "--watch: follows one study; leave out OTHER, or --watch"),
        (["claims", "nothing"], "study 'nothing': nothing in runs/nothing; run it first: ablations run nothing"),
        (["claims", "nothing", "--json"], "run it first: ablations run nothing"),
        (["explain", "atention"], "component 'atention': did you mean attention, cross_attention?"),
        (["explain", "xyz", "--json"], "component 'xyz': one of architecture, n_layers, "),
        (["clean", "nothing", "--remove", "all"], "run it first: ablations run nothing"),
        (["plan", "order", "--devices", "cpu:0"], "--devices cpu:0: cpu:N wants a number of at least 1"),
        (["status", "no.yaml"], "no such file"),
        (["train"], "task.name=None: choose from"),
        (["train", "--task.name", "ordr"], "task.name='ordr': choose from"),
        (["train", "--task.name", "order", "--model.n_head", "2"], "unrecognized arguments: --model.n_head"),
        (["train", "--task.name", "order", "--model.n_heads", "x"], "model.n_heads"),
        (["train", "--config", "no.yaml"], "no such file"),
        (["train", "--config"], "--config: expected one argument"),
        (["train", "--task.name"], "--task.name: expected one argument"),
        (["train", "--task.name", "order", "--timeout", "0"], "--timeout: no value that it takes; see --help"),
        (["translate", "1a2b"], "run '1a2b': neither a run's folder nor the beginning of the id of a run in runs"),
        (["attention", "1a2b", "a sentence"], "run '1a2b': neither a run's folder"),
        (["attention", "1a2b", "a sentence", "--output", "a.jpg"], "output='a.jpg': the name must end in .png"),
        (["attention", "1a2b", "a sentence", "--output", "no/a.png"], "output='no/a.png': there is no folder no"),
    ],
)
def test_other_wrong_input_gives_one_line_and_status_2(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert not files(tmp_path)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
def test_however_a_sweep_is_ended_it_leaves_no_process_and_no_result(
    number: signal.Signals, tiny: dict[str, Any], tmp_path: Path
) -> None:
    tiny["experiments"]["copy"]["train"]["steps"] = 2_000_000
    study = write(tiny, tmp_path)
    command = [sys.executable, "-m", "ablations", "run", study, "--output", str(tmp_path / "runs")]
    with (tmp_path / "shown.txt").open("w") as shown:
        process = subprocess.Popen(command, cwd=ROOT, start_new_session=True, stderr=shown)
    deadline = time.monotonic() + 90
    while not list((tmp_path / "runs").rglob("metrics.csv")) and time.monotonic() < deadline:
        time.sleep(0.1)
    if number == signal.SIGINT:
        os.killpg(process.pid, number)  # as a terminal does
    else:
        process.send_signal(number)
    deadline = time.monotonic() + 15
    process.wait(timeout=60)
    while (left := alive(process.pid)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not left
    assert not list((tmp_path / "runs").rglob("result.json"))
    if number != signal.SIGKILL:
        assert process.returncode == 130
        last = (tmp_path / "shown.txt").read_text().strip().splitlines()[-1]
        assert last == "ablations: interrupted; the same command (without --redo) goes on from here"


@pytest.fixture(scope="module")
def german(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a trained translator, in a folder of runs of its own."""
    return trained(tmp_path_factory.mktemp("runs"))


class Typed(io.TextIOWrapper):
    """Standard input that holds some lines."""

    def __init__(self, text: str) -> None:
        super().__init__(io.BytesIO(text.encode()), encoding="utf-8")


def test_translate_gives_a_line_for_a_line(
    german: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table = pd.read_csv(german / "outputs/translations.csv.gz", keep_default_na=False)
    text = "\n".join([*table["source"], "", *table["source"]])
    expected = [*table["hypothesis"], "", *table["hypothesis"]]
    identity = json.loads((german / "run.json").read_text(encoding="utf-8"))["id"]
    for command in (["translate", str(german)], ["translate", identity[:5], "--runs", str(german.parents[2])]):
        monkeypatch.setattr(sys, "stdin", Typed(text))
        assert main(command) == 0
        assert capsys.readouterr().out.split("\n") == [*expected, ""]
    monkeypatch.setattr(sys, "stdin", Typed(text))
    assert main(["translate", str(german), "--beam", "3", "--nbest", "2", "--json", "--threads", "1"]) == 0
    objects = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["source"] for one in objects] == text.split("\n")
    assert [len(one["translations"]) for one in objects] == [2 if line else 1 for line in text.split("\n")]


@pytest.mark.parametrize(
    ("options", "text", "message", "lines"),
    [
        (["--nbest", "2"], "the dog slept .\n", "nbest=2: must be at most the beam, which is 1; give --beam 2", 0),
        (["--length-penalty", "0.3"], "the dog slept .\n", "length_penalty=0.3: has no effect with beam=1", 0),
        (["--beam", "2", "--length-penalty", "nan"], "\n", "length_penalty=nan: must be a finite number", 0),
        ([], "the dog slept .\nthe zebra slept .\n", "standard input, line 2: 'zebra' is not in the vocabulary", 1),
    ],
)
def test_translate_refuses_in_one_line(
    options: list[str],
    text: str,
    message: str,
    lines: int,
    german: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "stdin", Typed(text))
    assert main(["translate", str(german), *options]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out.count("\n") == lines


def translating(folder: Path, *options: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "ablations", "translate", str(folder), *options]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=pipe)


@pytest.mark.parametrize("end", ["end of input", "interrupt", "reader gone"])
def test_translations_come_while_the_input_stays_open_and_it_ends_quietly(end: str, german: Path) -> None:
    with translating(german) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        for line in (b"the dog slept .\n", b"\n", b"the cats slept .\n"):
            process.stdin.write(line)
            process.stdin.flush()
            answer = process.stdout.readline()  # never comes if it waits for more
            assert (len(answer) > 1) == (len(line) > 1)
        match end:
            case "end of input":
                process.stdin.close()
            case "interrupt":
                process.send_signal(signal.SIGINT)
            case "reader gone":
                process.stdout.close()
                process.stdin.write(b"the dog slept .\n" * 3)
                process.stdin.close()
        assert process.wait(timeout=60) == (130 if end == "interrupt" else 0)
        assert process.stderr.read() == b""


def test_attention_draws_one_run_or_two(
    german: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    sentence = "the cats slept ."
    assert main(["attention", str(german), sentence]) == 0
    assert capsys.readouterr().out == "attention.png\n"
    assert Path("attention.png").read_bytes().startswith(b"\x89PNG")
    other = trained(tmp_path / "runs", name="other", model={**TRANSLATOR, "n_heads": 1, "n_layers": 1})
    target = ["--target", "die katzen schliefen .", "--output", "two.svg"]
    assert main(["attention", str(german), other.name[-8:], sentence, *target]) == 0
    assert capsys.readouterr().out == "two.svg\n"
    drawn = Path("two.svg").read_text(encoding="utf-8")
    assert drawn.count(">head 1<") == 2
    assert drawn.count(">head 3<") == 1
    assert all(f">{token}<" in drawn for token in ("schliefen", "slept", "&lt;s&gt;", "&lt;/s&gt;"))
    assert all(f"{name}</text>" in drawn for name in (german.name[-8:] + ")", other.name[-8:] + ")"))


def test_attention_refuses_in_one_line(german: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    figure = tmp_path / "figure.png"
    for arguments, message in (
        (["the zebra slept ."], "'zebra' is not in the vocabulary"),
        (["the dog slept .", "--target", "das zebra"], "'zebra' is not in the vocabulary"),
        ([str(german), "the dog slept ."], "named twice"),
        ([""], "'' is not in the vocabulary"),
    ):
        assert main(["attention", str(german), *arguments, "--output", str(figure)]) == 2
        captured = capsys.readouterr()
        assert message in captured.err
        assert captured.err.count("\n") == 1
        assert not figure.exists()


def alive(group: int) -> list[int]:
    """Processes of a group that have not ended (one that has, but that nobody has asked after, does not count)."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, owner = path.read_text().rpartition(")")[2].split()[:3]
            if int(owner) == group and state != "Z":
                found.append(int(path.parent.name))
    return found


@pytest.mark.parametrize(
    ("command", "flags", "said"),
    [
        ("plan", ["--match", "flops"], "--match: has no effect without --comparison matched"),
        ("plan", ["--storage", "sqlite:///x.db"], "--storage: has no effect without --comparison tuned"),
        ("run", ["--pilot", "2", "--comparison", "matched"], "--comparison: a pilot is the base as the study has it"),
        ("run", ["--pilot", "2", "--seeds", "3"], "--seeds: --pilot and --until-resolved choose the seeds"),
        ("run", ["--until-resolved", "--seeds", "3"], "--seeds: --pilot and --until-resolved choose the seeds"),
    ],
)
def test_flags_without_an_effect_are_refused(
    command: str, flags: list[str], said: str, tiny: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, write(tiny, tmp_path), *flags, "--output", str(tmp_path / "runs")]) == 2
    assert capsys.readouterr().err.startswith(f"ablations: {said}")
    assert not (tmp_path / "runs").exists()


def test_a_model_that_no_memory_holds_is_refused_in_one_line(
    tiny: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = write(tiny, tmp_path)
    assert main(["plan", study, "--set", "model.d_model=1200000000000000", "--output", str(tmp_path / "runs")]) == 2
    assert capsys.readouterr().err == "ablations: out of memory; take smaller models, or smaller batches\n"


def test_what_is_tuned_can_be_planned_before_the_search(
    tiny: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = write({**tiny, "comparison": ["tuned"], "tune": {"trials": 3}}, tmp_path)
    assert main(["plan", study, "--output", str(tmp_path / "runs"), "--json"]) == 0
    shown = capsys.readouterr()
    assert {entry["experiment"] for entry in json.loads(shown.out)} == {"copy"}
    assert "0 of 6 trials have ended" in shown.err
    assert not (tmp_path / "runs").exists()


def test_the_folder_of_a_record_is_no_study_and_the_message_says_what_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rows.tar.xz").write_bytes(b"")
    assert main(["report", str(tmp_path)]) == 2
    assert "a record; lay out its rows.tar.xz first" in capsys.readouterr().err
