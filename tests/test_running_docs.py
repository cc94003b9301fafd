"""The pages on running: their commands, their links, and the script for a SLURM array, under bash without SLURM."""

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / f"docs/{name}.md" for name in ("one-machine", "gpus", "slurm", "report")]
STUDY = """
name: tiny
seeds: 8
experiments:
  e:
    task: {name: order, target: previous, length: 5, vocabulary: 7, validation_size: 11, test_size: 13}
    model: {architecture: decoder, d_model: 12, n_layers: 1, n_heads: 3}
    train: {steps: 2500, batch_size: 3, warmup: 2}
"""


def commands(page: Path) -> list[list[str]]:
    """What stands in the page as a command of the suite, in arguments."""
    text = page.read_text(encoding="utf-8")
    found = []
    for line in re.findall(r"^(?:    \S|\.venv).*", text, re.M):
        words = shlex.split(line.replace("'", " "), comments=True)
        if at := [i for i, word in enumerate(words) if word in ("ablations", ".venv/bin/ablations")]:
            found.append(words[at[0] + 1 :])
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_and_files_are_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert (page.parent / target).exists(), target
    for path in re.findall(r"\btests/[\w/.]+\b", text):
        assert (ROOT / path).exists(), path


def job(folder: Path, script: str) -> "subprocess.Popen[str]":
    """The script as task 3 of an array, in a folder that looks like a checkout, with an `scontrol` that only prints."""
    programs = {".venv/bin/ablations": f'exec {sys.executable} -m ablations "$@"', "scontrol": 'echo "scontrol $*"'}
    for name, line in programs.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{line}\n")
        path.chmod(0o755)
    (folder / "study.yaml").write_text(STUDY)
    (folder / "sweep.sh").write_text(script.replace("run quick", "run study.yaml"))
    environment = {
        "PATH": f"{folder}:{os.environ['PATH']}",
        "SLURM_SUBMIT_DIR": str(folder),
        "SLURM_ARRAY_TASK_ID": "3",
        "SLURM_JOB_ID": "71",
        "SLURM_NTASKS": "4",
        "SLURM_PROCID": "2",
    }
    return subprocess.Popen(
        ["bash", "sweep.sh"], cwd=folder, env=os.environ | environment, stdout=subprocess.PIPE, text=True
    )


def ended(process: "subprocess.Popen[str]") -> tuple[int, str]:
    try:
        out, _ = process.communicate(timeout=120)
    finally:
        process.kill()
    return process.returncode, out


def test_the_script_of_an_array_asks_to_be_requeued_and_goes_on(tmp_path: Path) -> None:
    found = re.search(r"```bash\n(.*?)```", PAGES[2].read_text(encoding="utf-8"), re.S)
    assert found is not None
    first = job(tmp_path, found[1])
    end = time.monotonic() + 60
    while not list(tmp_path.glob("runs/tiny/e/base/*/progress.json")):
        assert time.monotonic() < end, "it does not begin"
        time.sleep(0.02)
    first.send_signal(signal.SIGTERM)
    assert ended(first) == (130, "scontrol requeue 71\n")
    assert len(list(tmp_path.glob("runs/tiny/e/base/*/checkpoints/step-*.ckpt"))) == 1
    assert ended(job(tmp_path, found[1])) == (0, "")
    (log,) = tmp_path.glob("runs/tiny/e/base/*/log.txt")
    assert "goes on from step-" in log.read_text()
    assert [path.parent.name.rpartition("-")[0] for path in tmp_path.glob("runs/tiny/*/*/*/result.json")] == ["seed-2"]
