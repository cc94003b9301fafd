"""Commands of other programs: make, pip, SLURM, Ray, benchmarks; of what would act elsewhere, what it would do."""

import re
import shutil
import socket
import tempfile

import pytest
from matplotlib.image import imread

from tests.commands.documented import ROOT, Command, commands
from tests.commands.workplace import Workplace

CI = (ROOT / ".ci/run").read_text(encoding="utf-8")
MEASUREMENTS = ROOT / "docs/measurements.md"


def makes(place: Workplace, command: Command) -> None:
    """What `make TARGET` would do; `make help` lists the targets, CI runs those that test and check."""
    target = command.text.split()[1]
    recipe = place.shell(command.text.replace("make", "make --dry-run", 1)).good().out
    if target == "help":
        listed = place.shell("make help").good().out
        targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
        assert re.findall(r"^([a-z-]+) ", listed, re.M) == targets
    elif re.match("test|check", target):
        assert f"make {target}\n" in f"{re.sub(' #.*', '', CI)}\n"
    elif target == "demo":
        assert re.search(r"^\.venv/bin/ablations run quick$", recipe, re.M)  # which is a command of the README
    elif target == "results":
        assert re.search(r"ablations run \S+", recipe)
        assert re.search(r"ablations record \S+", recipe)
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


def tests_a_value(place: Workplace, command: Command) -> None:
    """Tests that know a value of a component by its name, among them those of broken parts."""
    ran = place.shell(f"{command.text.replace('NAME', 'alibi')} --collect-only -q -p no:cacheprovider").good()
    assert {"tests/models/test_positions.py", "tests/models/test_transformer.py"} <= set(
        re.findall(r"^[^:]+", ran.out, re.M)
    )


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


CLUSTER = """
trap 'kill $node; wait $node; kill $head; wait $head' EXIT
mkdir "$HOME" && ray get-auth-token --generate && chmod 600 "$HOME/.ray/auth_token" || exit 3
export RAY_AUTH_MODE=token RAY_worker_niceness=0
{head} --block --num-cpus=1 --temp-dir="$HOME/r" > head.log 2>&1 &
head=$!
until (echo > /dev/tcp/127.0.0.1/{port}) 2> /dev/null; do kill -0 $head && sleep 0.3 || exit 4; done
{node} --block --num-cpus=1 > node.log 2>&1 &
node=$!
{run}
"""
"""Each line stays in the foreground (--block), so that what it starts ends with it. Ray's workers have niceness
15 unless told otherwise, and would wait for all other tests."""


def on_a_cluster(place: Workplace, command: Command) -> None:
    """All lines of the section, in order: token, head, a second node on this machine, a part of the study."""
    pytest.importorskip("ray")
    lines = [each.text for each in commands(ROOT / "docs/cluster.md")]
    head, node, run = (
        next(line for line in lines if line.startswith(begin))
        for begin in ("ray start --head", "ray start --address", "RAY_ADDRESS=")
    )
    port = free_port()
    more = [*place.settings("quick"), "--seeds", "1", "--shard", "9/9"]
    with tempfile.TemporaryDirectory(prefix="ray-") as short:  # sockets have short names
        script = CLUSTER.format(
            head=head, node=node, run=" ".join([run.replace(" lecture ", " quick "), *more]), port=port
        )
        script = script.replace("HEAD:6379", f"127.0.0.1:{port}").replace("--port=6379", f"--port={port}")
        ran = place.shell(script, HOME=f"{short}/h").good()
    assert "1 completed" in ran.err
    assert place.states("quick") == {"completed": 1, "waiting": 8}


def free_port() -> int:
    """A port that nothing listens at, below those that Ray gives to its workers (10000 and above)."""
    for port in range(7300, 9900):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)):
                return port
    raise RuntimeError("no port is free")


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
