"""Commands of other programs: make, pip, SLURM, Ray, benchmarks. What would act elsewhere is only asked what it would do."""

import re
import shutil

import pytest
from matplotlib.image import imread

from tests.commands.documented import ROOT, Command, commands, pages
from tests.commands.workplace import Workplace

CI = (ROOT / ".ci/run").read_text(encoding="utf-8")
MEASUREMENTS = ROOT / "docs/measurements.md"


def makes(place: Workplace, command: Command) -> None:
    """What `make TARGET` would do; `make help` lists the targets, CI runs those that test and check."""
    (target,) = command.text.split()[1:]
    recipe = place.shell(f"make --dry-run {target}").good().out
    if target == "help":
        listed = place.shell("make help").good().out
        targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
        assert re.findall(r"^([a-z-]+) ", listed, re.M) == targets
    elif re.match("test|check", target):
        assert f"make {target}\n" in f"{re.sub(' #.*', '', CI)}\n"
    elif typed := re.findall(r"^\.venv/bin/(ablations .*)$", recipe, re.M):
        known = {each.text for page in pages() for each in commands(page)}
        assert [line for line in typed if line not in known] == [], "name the command itself in the docs, and it is run"
    else:
        assert target in ("install", "format", "clean")


def would_install(place: Workplace, command: Command) -> None:
    """pip finds the extra, and everything that it wants is here (the extras are part of `dev`)."""
    offline = "python -m pip install --dry-run --no-index --no-build-isolation"
    ran = place.shell(command.text.replace("pip install", offline)).good()
    assert "Would install transformer-ablations" in ran.out
    assert "does not provide the extra" not in ran.err


def packaged(place: Workplace, command: Command) -> None:
    """CI installs the package of Debian's by the same name."""
    assert re.search(rf"apt-get install .*\b{command.text.split()[-1]}\b", CI)


def hooks(place: Workplace, command: Command) -> None:
    """In a repository of its own the hook is written."""
    (place.folder / "apart").mkdir()
    shutil.copy(ROOT / ".pre-commit-config.yaml", place.folder / "apart")
    program = place.folder / command.text.split()[0]
    place.shell(f"cd apart && git init --quiet && {program} install").good()
    assert (place.folder / "apart/.git/hooks/pre-commit").is_file()


def counts_gpus(place: Workplace, command: Command) -> None:
    """A number is printed; 0 here, where none is to be seen."""
    assert place.shell(command.text).good().out.strip() == "0"


def collects(place: Workplace, command: Command) -> None:
    """The checks for a GPU can be loaded; here they would be skipped."""
    assert place.shell(f"{command.text} --collect-only -q -p no:cacheprovider").status in (0, 5)


def packs(place: Workplace, command: Command) -> None:
    """The table of packed runs, on a CPU, with its smallest numbers."""
    more = [*place.settings("quick")]
    ran = place.shell(f"{command.text} --device cpu --packed 2 --runs 2 {' '.join(more)}").good()
    assert re.match(r"\| 2 \| [\d,]+ \|", ran.last)


def screenshot(place: Workplace, command: Command) -> None:
    """A picture of the page, as wide as it says."""
    if shutil.which("chromium") is None:
        pytest.skip("no chromium")
    place.quick()
    place.shell(f"{command.text} --user-data-dir=profile").good()
    found = re.search(r"--screenshot=(\S+)", command.text)
    width = re.search(r"--window-size=(\d+)", command.text)
    assert found
    assert width
    assert imread(place.folder / found[1]).shape[1] == int(width[1])


# SLURM

SBATCH = (
    'for last; do :; done',
    'case "$*" in',
    '  *--parsable*) bash -n "$last" && echo 71 ;;',
    '  *--dependency=afterany:71*--wrap*) cd "$SLURM_SUBMIT_DIR" && bash -c "$last" ;;',
    "  *) exit 3 ;;",
    "esac",
)  # fmt: skip
"""Stands in for sbatch: looks whether a script can be read and gives its number; runs what is wrapped."""


def script_of_an_array(place: Workplace, command: Command) -> None:
    """Task 3 of the array trains its part of `quick` and no other; without a signal nothing is requeued."""
    small = command.text.replace(
        "ablations run quick", f"ablations run quick --seeds 1 {' '.join(place.settings('quick'))}"
    )
    (place.folder / "sweep.sh").write_text(small, encoding="utf-8")
    place.program("scontrol", "exit 3")
    place.shell("bash sweep.sh", SLURM_SUBMIT_DIR=str(place.folder), SLURM_ARRAY_TASK_ID="3", SLURM_JOB_ID="71").good()
    assert place.states("quick") == {"completed": 1, "waiting": 8}


def submits(place: Workplace, command: Command) -> None:
    """The array, then the report after it: both lines of the page, with a stand-in for sbatch."""
    page = ROOT / command.place.rpartition(":")[0]
    array = next(each.text for each in commands(page) if each.text.startswith("#!"))
    lines = [each.text for each in commands(page) if "sbatch --" in each.text]
    (place.folder / "sweep.sh").write_text(array, encoding="utf-8")
    place.quick()
    (place.runs / "quick/report/index.html").unlink()
    place.program("sbatch", *SBATCH)
    ran = place.shell("set -e\n" + "\n".join(lines), SLURM_SUBMIT_DIR=str(place.folder)).good()
    assert ran.last == "runs/quick/report/index.html"
    assert (place.runs / "quick/report/index.html").is_file()


# Ray


def on_ray(place: Workplace, command: Command) -> None:
    """A part of the study on a local cluster; where an address is given, on one that is started as the page says."""
    pytest.importorskip("ray")
    study = command.text.split("ablations run ")[1].split()[0]
    more = [*place.settings(study), "--seeds", "1", "--shard", "9/9"]
    ran = place.shell(f"{command.text} {' '.join(more)}", HOME=str(place.folder)).good()
    assert "1 completed" in ran.err
    assert place.states(study)["completed"] == 1


def ray_token(place: Workplace, command: Command) -> None:
    """The token is written where the page says."""
    pytest.importorskip("ray")
    place.shell(command.text, HOME=str(place.folder)).good()
    assert (place.folder / ".ray/auth_token").is_file()


CLUSTER = """
trap 'kill $head $node; wait' EXIT
{token}
chmod 600 $HOME/.ray/auth_token
export RAY_AUTH_MODE=token
{head} --block --port={port} --num-cpus=1 --temp-dir=$HOME/r &
head=$!
until ray status --address=127.0.0.1:{port}; do kill -0 $head && sleep 1; done
{node} --block --num-cpus=1 &
node=$!
{run} {more}
"""


def on_a_cluster(place: Workplace, command: Command) -> None:
    """All lines of the section, in order: token, head, a second node, a part of the study."""
    pytest.importorskip("ray")


# benchmarks


def with_smaller(script: str, **constants: object) -> str:
    """A line that runs a script with other values for its constants."""
    run = "import runpy, sys; del sys.argv[0]; main = runpy.run_path(sys.argv[0])['main']"
    code = f"{run}; main.__globals__.update({constants}); main()"
    return f'python -c "{code}" {script}'


def simulates(place: Workplace, command: Command) -> None:
    """Run as it stands: every line that it prints is in docs/measurements.md."""
    printed = place.shell(command.text).good().out.splitlines()
    page = MEASUREMENTS.read_text(encoding="utf-8").splitlines()
    assert len(printed) > 5
    assert [line for line in printed if line and not line.startswith("| ---") and line not in page] == []


def starts(place: Workplace, command: Command) -> None:
    """A line for each command, each tried once."""
    lines = place.shell(with_smaller(command.text.split()[-1], REPEATS=1)).good().out.splitlines()
    assert len(lines) == 4
    assert all(re.fullmatch(r".+ +\d+\.\d\d s", line) for line in lines)


def measures_the_report(place: Workplace, command: Command) -> None:
    """A study of two experiments, three variants and two seeds, made of the runs of `quick`."""
    place.quick()
    script = command.text.partition("python ")[2]
    ran = place.shell(with_smaller(script, EXPERIMENTS=2, VARIANTS=3, SEEDS=2)).good()
    assert re.fullmatch(r"[\d.]+ s, \d+ MiB, page of [\d.]+ MB, \d+ files", ran.last)


def times_the_runner(place: Workplace, command: Command) -> None:
    """The choices are those of the script; the quickest of them runs once."""
    choices = re.search(r"runner\.py (\S+)", command.text)
    assert choices
    helped = place.shell(f"{command.text.replace(choices[0], 'runner.py --help')}").good().out
    assert f"{{{choices[1].replace('|', ',')}}}" in helped
    ran = place.shell(command.text.replace(choices[0], "runner.py setup --rounds 1")).good()
    assert re.search(r"\d\.\d+ ?\(?", ran.out)


def has_help(place: Workplace, command: Command) -> None:
    """Takes minutes at its smallest, or needs gigabytes of peers: its options are asked for."""
    flags = re.findall(r"--[a-z-]+", command.text)
    bare = re.sub(r" --.*", "", command.text)
    out = place.shell(f"{bare} --help").good().out
    assert all(flag in out for flag in flags)
