"""The commands, nothing else. Whatever is slow to import is imported inside the command that needs it.

Exit status: 0 good, 1 some run failed, 2 wrong input (one line, nothing written), 130 interrupted.
"""

import argparse
import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import fields
from importlib.metadata import version
from io import BufferedReader
from pathlib import Path
from typing import Any, NoReturn, cast

CLEANED = ("weights", "checkpoints", "foreign", "leftovers", "report")  # kinds of ablations.clean
USER_ERRORS = ("ConfigError", "DataError", "RowsError")  # by name: importing the first two imports torch


class Parser(argparse.ArgumentParser):
    """One line for a wrong command line, as for every other wrong input; no flag is guessed from its beginning."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "allow_abbrev": False})

    def error(self, message: str) -> NoReturn:
        """Print the line and leave with status 2."""
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the return value is the exit status."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)  # an end as orderly as after Ctrl-C
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] == ["train"]:
        return _guarded(lambda: train(arguments[1:]))
    options = _parser().parse_args(arguments)
    return _guarded(lambda: options.command(options))


def _guarded(command: Callable[[], int]) -> int:
    """Turn what the user can mend into one line and status 2."""
    try:
        status = command()
        if sys.stdout is not None:
            sys.stdout.flush()  # while a reader who has gone can still be excused
        return status
    except ValueError as error:
        if type(error).__name__ not in USER_ERRORS:
            raise
        print(f"ablations: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader of standard output has gone, as in `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except SystemExit as error:
        if isinstance(error.__context__, BrokenPipeError):  # of which rich makes this, with status 1
            return 0
        raise
    except OSError as error:  # a folder that cannot be written, a full disk
        print(f"ablations: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("ablations: interrupted; the same command (without --redo) goes on from here", file=sys.stderr)
        return 130


def _parser() -> Parser:
    parser = Parser(prog="ablations", description="Which part of a Transformer does what, and is that more than noise?")
    parser.add_argument("-V", "--version", action="version", version=version("transformer-ablations"))
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    command = _add(commands, "list", list_, "what there is: studies, components, tasks, claims of the lecture")
    command.add_argument("what", nargs="?", choices=["studies", "components", "tasks", "claims"], default="studies")
    _json(command)
    command.add_argument("--markdown", action="store_true", help="components as a page for the docs")

    command = _add(commands, "plan", plan, "the runs of a study, and how long what is missing will take")
    _study(command)
    command.epilog = "Seconds are those of runs that are done, else of two training steps timed here for each shape."
    command.add_argument("--devices", default="auto", metavar="D", help="as of `run`: auto, cpu, cpu:2, cuda, cuda:0,2")
    command.add_argument("--per-device", type=_positive, default=1, metavar="K", help="runs at a time on each device")
    _json(command)

    command = _add(commands, "run", run, "train what is missing of a study, then report")
    _study(command)
    command.add_argument("--devices", default="auto", metavar="D", help="auto, cpu, cpu:2, cuda or cuda:0,2")
    command.add_argument("--per-device", type=_positive, default=1, metavar="K", help="runs at a time on each (1)")
    command.add_argument("--executor", choices=["local", "ray"], default="local", help="this machine, or a cluster")
    command.add_argument("--shard", type=_shard, default=(1, 1), metavar="I/N", help="only part I of N (SLURM arrays)")
    command.add_argument("--retries", type=_natural, default=1, metavar="N", help="further tries of a failed run (1)")
    command.add_argument("--timeout", type=_seconds, metavar="S", help="seconds that a run may take")
    command.add_argument("--redo", action="store_true", help="train again what is done already")

    _add(commands, "train", lambda _: 0, "train one run from flags (ablations train --help documents every field)")

    command = _add(commands, "status", status, "the runs of a study by state, and how far those at work are")
    _folder(command)
    _json(command)

    command = _add(commands, "clean", clean, "what of a study takes disk; removes nothing unless told")
    _folder(command)
    command.epilog = "Nothing of a run that is running is ever removed, and no result of a run that the plan names."
    command.add_argument(
        "--remove", type=_kinds, action="extend", default=[], metavar="KIND[,KIND]", help=", ".join([*CLEANED, "all"])
    )
    _json(command)

    command = _add(commands, "report", report, "write the report of a study from what is there, or compare two studies")
    _folder(command)
    command.add_argument("other", nargs="?", metavar="OTHER", help="a study to compare with: its name, file or folder")
    command.add_argument("--watch", action="store_true", help="again whenever a run ends, until the sweep has ended")
    command.add_argument("--open", action="store_true", help="show it in the browser")

    command = _add(commands, "claims", claims, "the verdicts of a study that was run on the claims of the lecture")
    _folder(command)
    command.epilog = (
        "Verdicts are computed from the results, as in the report; `ablations list claims` lists the claims."
    )
    _json(command)

    command = _add(commands, "explain", explain, "what the lecture says of a component, with a worked example")
    command.add_argument("component", metavar="COMPONENT", help="a name of `ablations list components`: attention, ...")
    _json(command)

    command = _add(commands, "translate", translate, "translate standard input with a trained run, line by line")
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

    command = _add(commands, "attention", attention, "draw the attention weights of a sentence, of one run or two")
    _run(command)
    command.epilog = "Every layer and head of encoder, decoder and cross-attention. Two runs stand side by side."
    command.add_argument("other", nargs="?", metavar="OTHER", help="another run")
    command.add_argument("sentence", metavar="SENTENCE", help="in quotes; for generated tasks numbers: '3 1 4'")
    command.add_argument("--target", metavar="TEXT", help="translation to look at (default: what the run finds)")
    figure = Path("attention.png")
    command.add_argument(
        "--output", type=Path, default=figure, metavar="FILE", help=f".png, .svg or .pdf (default: {figure})"
    )
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


def _folder(command: argparse.ArgumentParser) -> None:
    command.add_argument("study", metavar="STUDY", help="name of a study that was run, or its YAML file")
    _output(command)


def _output(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--output", type=Path, default=Path("runs"), metavar="DIR", help="where studies lie (default: runs)"
    )


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: give a whole number of at least 1")
    return int(text)


def _natural(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r}: give a whole number, 0 or more")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r}: give seconds, above 0")
    return seconds


def _shard(text: str) -> tuple[int, int]:
    index, _, count = text.partition("/")
    if not (index.isdigit() and count.isdigit() and 1 <= int(index) <= int(count)):
        raise argparse.ArgumentTypeError(f"{text!r}: give I/N with I from 1 to N, such as 3/8")
    return int(index), int(count)


def _kinds(text: str) -> list[str]:
    kinds = list(CLEANED) if text == "all" else text.split(",")
    for kind in kinds:
        if kind not in CLEANED:
            raise argparse.ArgumentTypeError(f"{kind!r}: choose from {', '.join([*CLEANED, 'all'])}")
    return kinds


def list_(options: argparse.Namespace) -> int:
    """`ablations list`"""
    from ablations import listing

    if options.what == "claims":
        return _list_claims(options)
    if options.what == "studies":
        entries = listing.studies()
    else:
        from ablations import describe

        if options.markdown:
            print(describe.markdown(), end="")
            return 0
        entries = {"components": describe.components, "tasks": describe.tasks}[options.what]()
    if options.json:
        print(json.dumps(entries, indent=2, ensure_ascii=False))
    else:
        listing.show(options.what, entries)
    return 0


def _list_claims(options: argparse.Namespace) -> int:
    from ablations.claims import show_register
    from reports.entries import registered

    entries = registered()
    print(json.dumps(entries, indent=2, ensure_ascii=False)) if options.json else show_register(entries)
    return 0


def plan(options: argparse.Namespace) -> int:
    """`ablations plan`"""
    from ablations.devices import cores_available, parse_devices, visible_gpus
    from ablations.load import load_study
    from ablations.preview import preview, show

    devices = parse_devices(options.devices, visible_gpus(), cores_available())
    study = load_study(options.study, options.set, options.seeds)
    entries = preview(study, options.output / study.folder, devices[0].kind)
    if options.json:
        print(json.dumps(entries, indent=2, ensure_ascii=False))
    else:
        show(study, entries, len(devices) * options.per_device)
    return 0


def run(options: argparse.Namespace) -> int:
    """`ablations run`"""
    from ablations.load import load_study
    from ablations.sweep import Options, sweep

    study = load_study(options.study, options.set, options.seeds)
    chosen = {field.name: getattr(options, field.name) for field in fields(Options)}
    return sweep(study, options.output / study.folder, Options(**chosen))


def train(arguments: Sequence[str]) -> int:
    """`ablations train`"""
    from ablations.single import train_one

    return train_one(arguments)


def status(options: argparse.Namespace) -> int:
    """`ablations status`"""
    from ablations.states import show, states

    found = states(_study_folder(options))
    print(json.dumps(found, indent=2)) if options.json else show(found)
    return 0


def clean(options: argparse.Namespace) -> int:
    """`ablations clean`"""
    from ablations.clean import clean, show

    found = clean(_study_folder(options), options.remove)
    print(json.dumps(found, indent=2, ensure_ascii=False)) if options.json else show(found, options.remove)
    return 0


def report(options: argparse.Namespace) -> int:
    """`ablations report`"""
    import gc

    from reports.rows import RowsError

    if options.watch and options.other is not None:
        raise RowsError("--watch: follows one study; leave out OTHER, or --watch")
    gc.set_threshold(100_000, 20, 50)  # what a report makes stays to its end: looking for garbage takes a tenth of it
    folder = _study_folder(options)
    if options.watch:
        return _watch(folder, show=options.open)
    if options.other is not None:
        from reports.pages.comparison import build_comparison

        page = build_comparison(folder, _study_folder(options, options.other))
    else:
        from reports.pages.page import build

        page = build(folder)
    print(page)
    if options.open:
        _open(page)
    return 0


def _watch(folder: Path, *, show: bool) -> int:
    """Report a study until its sweep has ended; Ctrl-C leaves a last report."""
    from ablations.pace import shards_at_work
    from reports.pages.watch import watch

    try:
        print(watch(folder, busy=lambda: bool(shards_at_work(folder)), shown=_open if show else lambda page: None))
    except KeyboardInterrupt:
        return 130
    return 0


def _open(page: Path) -> None:
    import webbrowser

    webbrowser.open(page.absolute().as_uri())  # links lead from where it is, and not from where a link leads


def claims(options: argparse.Namespace) -> int:
    """`ablations claims`"""
    from ablations.claims import show_verdicts
    from reports.entries import judged

    found = judged(_study_folder(options))
    print(json.dumps(found["verdicts"], indent=2, ensure_ascii=False)) if options.json else show_verdicts(found)
    return 0


def explain(options: argparse.Namespace) -> int:
    """`ablations explain`"""
    from ablations.explain import as_text, explain
    from reports.entries import registered

    found = explain(options.component, registered())
    print(json.dumps(found, indent=2, ensure_ascii=False) if options.json else as_text(found))
    return 0


def translate(options: argparse.Namespace) -> int:
    """`ablations translate`"""
    from ablations.find import find_run
    from reports.rows import RowsError

    if sys.stdin is None or sys.stdout is None:
        raise RowsError("standard input and output: must be open")
    try:
        folder = find_run(options.run, options.runs)
        from ablations.translate import translate_stream

        if sys.stdin.isatty():
            print("a sentence a line; Ctrl-D ends", file=sys.stderr)
        translate_stream(
            folder,
            cast(BufferedReader, sys.stdin.buffer),
            sys.stdout.buffer,
            beam=options.beam,
            length_penalty=options.length_penalty,
            nbest=options.nbest,
            scores=options.scores,
            as_json=options.json,
            threads=options.threads,
        )
    except KeyboardInterrupt:  # by whoever has read enough
        return 130
    return 0


def attention(options: argparse.Namespace) -> int:
    """`ablations attention`"""
    from ablations.find import find_run
    from reports.figures.attention_maps import check_path, save_maps

    check_path(options.output)
    names = [options.run] if options.other is None else [options.run, options.other]
    folders = [find_run(name, options.runs) for name in names]
    from ablations.attention import attention_of_runs

    save_maps(attention_of_runs(folders, options.sentence, options.target), options.output)
    print(options.output)
    return 0


def _study_folder(options: argparse.Namespace, study: str | None = None) -> Path:
    """Folder of a study that was run, the one of the options if no other; a YAML file counts by the name in it.

    A folder with a plan counts as it is: the same study may lie in two places.
    """
    from ablations.listing import folder_name
    from reports.rows import RowsError

    given = name = options.study if study is None else study
    if os.sep in name and (Path(name) / "plan.json").is_file():
        return Path(name)
    if name.endswith((".yaml", ".yml")):
        import yaml

        if not Path(name).is_file():
            raise RowsError(f"study {name!r}: no such file")
        try:
            name = str(yaml.safe_load(Path(name).read_text(encoding="utf-8"))["name"])
        except (yaml.YAMLError, UnicodeDecodeError, KeyError, TypeError) as error:
            raise RowsError(f"study {name!r}: no YAML with the name of a study") from error
    folder: Path = options.output / folder_name(name)
    if not (folder / "plan.json").is_file():
        raise RowsError(f"study {name!r}: nothing in {folder}; run it first: ablations run {given}")
    return folder
