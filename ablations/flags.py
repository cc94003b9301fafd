"""The flags of the commands. Whether a value can be read is checked here, what it means in the command."""

import argparse
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn

CLEANED = ("weights", "checkpoints", "foreign", "leftovers", "trials", "report")
"""Kinds of `ablations.clean`."""

COMPARED = ("same", "tuned", "matched")
"""Comparisons of `ablations.study`."""

MATCHED = ("parameters", "flops", "seconds")
"""Quantities of `ablations.fairness`."""


RESULTS = Path("docs/results")
"""Where records lie, from the root of the checkout."""

NO_COMMAND = "the following arguments are required: COMMAND"
"""What argparse says where only the name of the program was given."""

FIRST = """\
usage: ablations COMMAND ...

Try first:
  ablations list studies   the studies that are shipped
  ablations plan quick     what the smallest would train, and how long it takes
  ablations run quick      train it; ends with the path of its report

All commands: ablations --help    One of them: ablations COMMAND --help
"""


class Parser(argparse.ArgumentParser):
    """One line for a wrong command line, as for every other wrong input; no flag is guessed from its beginning."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "allow_abbrev": False})

    def error(self, message: str) -> NoReturn:
        """Print the line, or without a command what to try first, and leave with status 2."""
        if message == NO_COMMAND:
            self.exit(2, FIRST)
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


def make_parser(functions: Mapping[str, Callable[[Any], int]]) -> Parser:
    """The parser of all commands; each runs the function of its name."""
    parser = Parser(prog="ablations", description="Which part of a Transformer does what, and is that more than noise?")
    parser.add_argument("-V", "--version", action="version", version=version("transformer-ablations"))
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    command = _add(
        commands, "list", functions["list"], "what there is: studies, components, tasks, claims of the lecture"
    )
    command.add_argument("what", nargs="?", choices=["studies", "components", "tasks", "claims"], default="studies")
    _json(command)

    command = _add(commands, "plan", functions["plan"], "the runs of a study, and how long what is missing will take")
    _study(command)
    command.epilog = (
        "Seconds are those of runs that are done, else of two training steps timed here for each shape. Nothing is "
        "written but, where `matched` makes seconds equal, what was timed for that."
    )
    _fair(command)
    command.add_argument(
        "--power",
        nargs="?",
        type=_effect,
        const=0.0,
        metavar="EFFECT",
        help="the noise that runs of the base show, and the seeds that it takes to see an effect",
    )
    command.add_argument("--devices", default="auto", metavar="D", help="as of `run`: auto, cpu, cpu:2, cuda, cuda:0,2")
    command.add_argument("--per-device", type=_positive, default=1, metavar="K", help="runs at a time on each device")
    _json(command)

    command = _add(commands, "tune", functions["tune"], "search the best learning rate of each variant, on validation")
    _study(command)
    command.epilog = "What is searched, and how often, stands under `tune` in the study; the same for all variants."
    _places(command)
    _storage(command)
    command.add_argument("--redo", action="store_true", help="forget what was found, and search again")
    command.set_defaults(shard=(1, 1), tensorboard=False)

    command = _add(commands, "run", functions["run"], "train what is missing of a study, then report")
    _study(command)
    _places(command)
    command.add_argument("--shard", type=_shard, default=(1, 1), metavar="I/N", help="only part I of N (SLURM arrays)")
    command.add_argument("--redo", action="store_true", help="train again what is done already")
    command.add_argument("--tensorboard", action="store_true", help="write the curves for TensorBoard too")
    _fair(command)
    seeds = command.add_mutually_exclusive_group()
    seeds.add_argument("--pilot", type=_positive, metavar="N", help="the base of each experiment alone, with N seeds")
    seeds.add_argument(
        "--until-resolved", action="store_true", help="5 seeds; 10 and 20 where a difference is not clear before"
    )

    _add(
        commands, "train", functions["train"], "train one run from flags (ablations train --help documents every field)"
    )

    command = _add(
        commands, "status", functions["status"], "the runs of a study by state, and how far those at work are"
    )
    _folder(command)
    _json(command)

    command = _add(commands, "clean", functions["clean"], "what of a study takes disk; removes nothing unless told")
    _folder(command)
    command.epilog = "Nothing of a run that is running is ever removed, and no result of a run that the plan names."
    command.add_argument(
        "--remove", type=_kinds, action="extend", default=[], metavar="KIND[,KIND]", help=", ".join([*CLEANED, "all"])
    )
    _json(command)

    command = _add(
        commands,
        "report",
        functions["report"],
        "write the report of a study from what is there, or compare two studies",
    )
    _folder(command)
    command.add_argument("other", nargs="?", metavar="OTHER", help="a study to compare with: its name, file or folder")
    command.add_argument("--watch", action="store_true", help="again whenever a run ends, until the sweep has ended")
    command.add_argument("--open", action="store_true", help="show it in the browser")

    command = _add(
        commands, "record", functions["record"], "keep rows, effects, verdicts and report of a finished study for good"
    )
    _folder(command)
    where = f"where records lie (default: {RESULTS})"
    command.add_argument("--into", type=Path, default=RESULTS, metavar="DIR", help=where)
    command.epilog = (
        "STUDY may be the folder of a record: its tables, figures and page are made again from its rows, in its place."
    )

    command = _add(
        commands, "claims", functions["claims"], "the verdicts of a study that was run on the claims of the lecture"
    )
    _folder(command)
    command.epilog = (
        "Verdicts are computed from the results, as in the report; `ablations list claims` lists the claims."
    )
    _json(command)

    command = _add(
        commands, "explain", functions["explain"], "what the lecture says of a component, with a worked example"
    )
    command.add_argument("component", metavar="COMPONENT", help="a name of `ablations list components`: attention, ...")
    _json(command)

    command = _add(
        commands, "translate", functions["translate"], "translate standard input with a trained run, line by line"
    )
    _run(command)
    command.epilog = (
        "Lines are translated as they arrive, by default as in the run's own test; an empty one stays empty."
    )
    command.add_argument("--beam", type=_positive, metavar="N", help="translations to keep at each step; 1: greedy")
    command.add_argument("--length-penalty", type=float, metavar="X", help="rank by log-probability / tokens ** X")
    command.add_argument("--nbest", type=_positive, metavar="K", help="K lines for each: its number, rank, translation")
    form = command.add_mutually_exclusive_group()
    form.add_argument("--scores", action="store_true", help="put score and log-probability (nats) before the text")
    form.add_argument("--json", action="store_true", help="an object a line: line, source, translations with scores")
    command.add_argument("--threads", type=_positive, default=1, metavar="N", help="cores to use (default: 1)")

    command = _add(
        commands, "attention", functions["attention"], "draw the attention weights of a sentence, of one run or two"
    )
    _run(command)
    command.epilog = "Every layer and head of encoder, decoder and cross-attention. Two runs stand side by side."
    command.add_argument("other", nargs="?", metavar="OTHER", help="another run")
    command.add_argument("sentence", metavar="SENTENCE", help="in quotes; for generated tasks numbers: '3 1 4'")
    command.add_argument("--target", metavar="TEXT", help="translation to look at (default: what the run finds)")
    figure = Path("attention.png")
    command.add_argument(
        "--output", type=Path, default=figure, metavar="FILE", help=f".png, .svg or .pdf (default: {figure})"
    )

    command = _add(commands, "dashboard", functions["dashboard"], "TensorBoard and Optuna's dashboard of a study")
    _folder(command)
    command.epilog = "On this machine alone (127.0.0.1), until Ctrl-C."
    _storage(command)
    command.add_argument(
        "--port", type=_positive, metavar="N", help="the first port to use (default: one that is free)"
    )
    command.add_argument("--open", action="store_true", help="show them in the browser")
    return parser


def _add(commands: Any, name: str, function: Callable[[Any], int], text: str) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(
        name, help=text, description=text[0].upper() + text[1:] + "."
    )
    command.set_defaults(command=function)
    return command


def _json(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="machine-readable, on standard output")


def _study(command: argparse.ArgumentParser) -> None:
    command.add_argument("study", metavar="STUDY", help="name of a shipped study, or a YAML file")
    command.add_argument("--seeds", type=_positive, metavar="N", help="seeds 0 .. N-1 instead of the study's own")
    command.add_argument(
        "--set", action="append", default=[], metavar="PATH=VALUE", help="override a field, such as train.steps=50"
    )
    _output(command)


def _run(command: argparse.ArgumentParser) -> None:
    command.add_argument("run", metavar="RUN", help="folder of a run that kept its weights, or the beginning of its id")
    command.add_argument(
        "--runs", type=Path, default=Path("runs"), metavar="DIR", help="where to look for an id (default: runs)"
    )


def _places(command: argparse.ArgumentParser) -> None:
    """Where the runs go, and what becomes of those that fail."""
    command.add_argument("--devices", default="auto", metavar="D", help="auto, cpu, cpu:2, cuda or cuda:0,2")
    command.add_argument("--per-device", type=_positive, default=1, metavar="K", help="runs at a time on each (1)")
    command.add_argument("--executor", choices=["local", "ray"], default="local", help="this machine, or a cluster")
    command.add_argument("--retries", type=_natural, default=1, metavar="N", help="further tries of a failed run (1)")
    command.add_argument("--timeout", type=_seconds, metavar="S", help="seconds that a run may take")


def _fair(command: argparse.ArgumentParser) -> None:
    """What is compared beside variants with the same settings."""
    command.add_argument(
        "--comparison", type=_comparisons, metavar="KIND[,KIND]", help=f"in place of the study's: {', '.join(COMPARED)}"
    )
    command.add_argument("--match", choices=MATCHED, help="what `matched` makes equal, in place of the study's")
    _storage(command)


def _storage(command: argparse.ArgumentParser) -> None:
    told = "of Optuna, for several machines: postgresql://... (default: a file in the study's folder)"
    command.add_argument("--storage", metavar="URL", help=told)


def _folder(command: argparse.ArgumentParser) -> None:
    command.add_argument("study", metavar="STUDY", help="name of a study that was run, or its YAML file")
    _output(command)


def _output(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--output", type=Path, default=Path("runs"), metavar="DIR", help="where studies lie (default: runs)"
    )


def _positive(text: str) -> int:
    if not _is_number(text) or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: give a whole number of at least 1")
    return int(text)


def _natural(text: str) -> int:
    if not _is_number(text):
        raise argparse.ArgumentTypeError(f"{text!r}: give a whole number, 0 or more")
    return int(text)


def _is_number(text: str) -> bool:
    """Of a length that everything can count to: `isdigit` takes ² for one, and int() has a longest text."""
    return text.isdecimal() and len(text) < 10


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r}: give seconds, above 0")
    return seconds


def _effect(text: str) -> float:
    try:
        return _seconds(text)
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(f"{text!r}: give an effect above 0, in the unit of the metric") from error


def _shard(text: str) -> tuple[int, int]:
    index, _, count = text.partition("/")
    if not (_is_number(index) and _is_number(count) and 1 <= int(index) <= int(count)):
        raise argparse.ArgumentTypeError(f"{text!r}: give I/N with I from 1 to N, such as 3/8")
    return int(index), int(count)


def _comparisons(text: str) -> list[str]:
    names = text.split(",")
    for name in names:
        if name not in COMPARED:
            raise argparse.ArgumentTypeError(f"{name!r}: choose from {', '.join(COMPARED)}")
    return names


def _kinds(text: str) -> list[str]:
    kinds = list(CLEANED) if text == "all" else text.split(",")
    for kind in kinds:
        if kind not in CLEANED:
            raise argparse.ArgumentTypeError(f"{kind!r}: choose from {', '.join([*CLEANED, 'all'])}")
    return kinds
