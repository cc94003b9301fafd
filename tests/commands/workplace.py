"""Where documented commands are typed: a folder that looks like a checkout, with studies, runs and text in it."""

import contextlib
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from ablations.cli import main
from reports.rows import read_plan
from tests.commands import shrinking
from tests.commands.documented import ROOT, Command, blocks

NOT_LINKED = ("runs", ".git", "docs")
UNTUNED = {"components": ["--comparison", "matched"]}
"""Studies whose search would be long; that of `quick` and of the pages' own studies is made."""
SOURCE = "the child that saw the horses slept .\n\nthe child invited the duck .\nthe horses slept .\n"
"""Four lines, one of them empty."""


@dataclass(frozen=True)
class Ran:
    """What came of a command."""

    status: int
    out: str
    err: str

    def good(self) -> "Ran":
        """Itself, where the exit status is 0."""
        assert self.status == 0, f"status {self.status}\n{self.out}\n{self.err}"
        return self

    @property
    def last(self) -> str:
        """The last line of standard output."""
        return self.out.splitlines()[-1]


class Workplace:
    """A folder with the files of the project and a `runs` of its own; commands are typed in it.

    Args:
        folder: an empty folder.
        trained: a folder with `quick`, after five steps and with its weights; copied when `quick` is asked for.
        corpora: made-up text, laid out as in $ABLATIONS_DATA.
    """

    def __init__(self, folder: Path, trained: Path, corpora: Path) -> None:
        self.folder, self.trained, self.corpora = folder, trained, corpora
        folder.mkdir(parents=True, exist_ok=True)
        for path in ROOT.iterdir():
            if path.name not in NOT_LINKED:
                (folder / path.name).symlink_to(path)
        shutil.copytree(ROOT / "docs", folder / "docs", ignore=shutil.ignore_patterns("results"))
        (folder / "source.txt").write_text(SOURCE, encoding="utf-8")

    @property
    def runs(self) -> Path:
        """Where studies lie."""
        return self.folder / "runs"

    def quick(self, name: str = "quick") -> Path:
        """The trained study, under another name if one is given; it is the reader's own copy."""
        there = self.runs / name
        if not there.exists():
            shutil.copytree(self.trained / "quick", there)
            for file in ("plan.json", "study.yaml"):
                text = (there / file).read_text(encoding="utf-8")
                renamed = re.sub(r'("study": "|^name: )quick', rf"\g<1>{name}", text, flags=re.M)
                (there / file).write_text(renamed, encoding="utf-8")
        return there

    def run_of(self, variant: str = "base") -> str:
        """The id of a run of `quick` that kept its weights."""
        return next(run["id"] for run in read_plan(self.quick())["runs"] if run["variant"] == variant)

    def mine(self, command: Command) -> None:
        """Write mine.yaml as the command's page has it, else the README, with few seeds, steps and trials."""
        page = ROOT / command.place.rpartition(":")[0]
        found = [
            block.text for path in (page, ROOT / "README.md") for block in blocks(path) if block.language == "yaml"
        ]
        text = next(text for text in found if "name: mine" in text)
        (self.folder / "mine.yaml").write_text(small(text), encoding="utf-8")

    def ablations(self, *words: str, stdin: str = "", **environment: str) -> Ran:
        """`ablations WORDS` in this process; a program's exit is its status."""
        streams = io.TextIOWrapper(io.BytesIO(stdin.encode()), "utf-8"), *(_writable() for _ in range(2))
        with pytest.MonkeyPatch.context() as patch, contextlib.ExitStack() as stack:
            patch.chdir(self.folder)
            patch.setattr(sys, "stdin", streams[0])
            for name, value in {"COLUMNS": "200", "CUDA_VISIBLE_DEVICES": "", **environment}.items():
                patch.setenv(name, value)
            stack.enter_context(contextlib.redirect_stdout(streams[1]))
            stack.enter_context(contextlib.redirect_stderr(streams[2]))
            try:
                status = main(list(words))
            except SystemExit as end:
                status = int(end.code or 0)
        return Ran(status, *(_written(stream) for stream in streams[1:]))

    def typed(self, command: Command, *more: str) -> Ran:
        """A command of the suite as it stands, with its placeholders filled in and `more` behind it.

        Settings before it and files that it reads from or writes to are understood.
        """
        words = self.words(command)
        environment = dict(word.split("=", 1) for word in words[: words.index("ablations")])
        given, files = _redirections(words[words.index("ablations") + 1 :])
        stdin = (self.folder / files["<"]).read_text(encoding="utf-8") if "<" in files else ""
        ran = self.ablations(*given, *more, stdin=stdin, **environment)
        if ">" in files:
            (self.folder / files[">"]).write_text(ran.out, encoding="utf-8")
        return ran

    def words(self, command: Command) -> list[str]:
        """The words of a command, each placeholder by what it stands for here."""
        text = command.text.removeprefix(".venv/bin/").replace("path/to", str(self.corpora))
        words = shlex.split(text)
        if "RUN" in words:
            words = [{"RUN": self.run_of(), "OTHER": self.run_of("one head")}.get(word, word) for word in words]
        if "mine.yaml" in words:
            self.mine(command)
        return [{"STUDY": "quick", "COMPONENT": "norm"}.get(word, word) for word in words]

    def part(self, study: str, command: Command | None = None) -> tuple[Ran, list[str]]:
        """`ablations run STUDY` in small, in `runs`; once for all tests. Gives what came of it, and what was added."""
        given = command or Command(f"ablations run {study}", "")
        shared = self.trained / re.sub(r"\W+", "-", given.text)
        with FileLock(f"{shared}.lock"):
            if not (shared / "ran.json").is_file():
                more = [
                    *self.settings(study),
                    "--seeds",
                    "1",
                    *shrinking.shard(study, self.corpora),
                    *UNTUNED.get(study, []),
                ]
                ran = self.typed(given, *more).good()
                shutil.copytree(self.runs / study, shared)
                (shared / "ran.json").write_text(json.dumps([ran.out, ran.err, more]), encoding="utf-8")
        if not (self.runs / study).exists():
            shutil.copytree(shared, self.runs / study)
        out, err, more = json.loads((shared / "ran.json").read_text(encoding="utf-8"))
        return Ran(0, out, err), more

    def settings(self, study: str) -> list[str]:
        """`--set` that make a study small, and lead to the made-up text."""
        return shrinking.settings(study, self.corpora) if (self.folder / study).suffix != ".yaml" else []

    def states(self, study: str) -> dict[str, int]:
        """Runs by state, as `ablations status --json` counts them; states that no run is in are left out."""
        counts = json.loads(self.ablations("status", study, "--json").good().out)["counts"]
        return {state: count for state, count in counts.items() if count}

    def shell(self, script: str, timeout: float = 300, **environment: str) -> Ran:
        """A line for bash, with the programs of .venv first."""
        path = os.pathsep.join([str(self.folder / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]])
        known = os.environ | {"PATH": path, "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"} | environment
        ran = subprocess.run(
            ["bash", "-c", script],
            cwd=self.folder,
            env=known,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        return Ran(ran.returncode, ran.stdout, ran.stderr)

    def program(self, name: str, *lines: str) -> None:
        """Put a script of that name before all other programs."""
        path = self.folder / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join(["#!/bin/bash", *lines, ""]), encoding="utf-8")
        path.chmod(0o755)


def small(text: str) -> str:
    """A study in YAML or Python with five steps, two seeds, two trials; `experiments: ...` gets an experiment."""
    task = "{name: order, target: reverse, length: 5, vocabulary: 7, validation_size: 16, test_size: 24}"
    one = f"{{task: {task}, model: {{architecture: encoder, d_model: 12}}, train: {{steps: 5, warmup: 2, lr: 3e-3}}"
    text = text.replace("experiments: ...", f"experiments: {{one: {one}, vary: {{model.position: [none]}}}}}}")
    for name, number in {"steps": shrinking.STEPS, "seeds": 2, "trials": 2}.items():
        text = re.sub(rf"(\b{name}\b[\"']?\s*[:=]\s*)\d+", rf"\g<1>{number}", text)
    return text


def _redirections(words: list[str]) -> tuple[list[str], Mapping[str, Any]]:
    """The words without `< FILE` and `> FILE`, and the files."""
    files = {word: words[at + 1] for at, word in enumerate(words) if word in ("<", ">")}
    return [word for word in words if word not in files and word not in files.values()], files


def _writable() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)


def _written(stream: io.TextIOWrapper) -> str:
    stream.flush()
    assert isinstance(stream.buffer, io.BytesIO)
    return stream.buffer.getvalue().decode()
