"""The commands, nothing else. Whatever is slow to import is imported inside the command that needs it.

Exit status: 0 good, 1 some run failed, 2 wrong input (one line, nothing written), 130 interrupted.
"""

import argparse
import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from ablations.flags import RESULTS, Parser, make_parser

if TYPE_CHECKING:
    from ablations.study import Study
    from ablations.sweep import Options

USER_ERRORS = ("ConfigError", "DataError", "RowsError")  # by name: importing the first two imports torch


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the return value is the exit status."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)  # an end as orderly as after Ctrl-C
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] == ["train"]:
        return _guarded(lambda: train(arguments[1:]))
    options = _parser().parse_args(arguments)
    return _guarded(lambda: options.command(options))


def _parser() -> Parser:
    functions: dict[str, Callable[[Any], int]] = {
        "list": list_,
        "plan": plan,
        "tune": tune,
        "run": run,
        "train": lambda _: 0,  # its flags depend on the task: it has a parser of its own
        "status": status,
        "clean": clean,
        "report": report,
        "record": record,
        "claims": claims,
        "explain": explain,
        "translate": translate,
        "attention": attention,
        "dashboard": dashboard,
    }
    return make_parser(functions)


def _guarded(command: Callable[[], int]) -> int:
    """Turn what the user can mend into one line and status 2."""
    try:
        status = command()
        if sys.stdout is not None:
            sys.stdout.flush()  # while a reader who has gone can still be excused
        return status
    except ValueError as error:
        if not {kind.__name__ for kind in type(error).__mro__} & set(USER_ERRORS):
            raise
        print(f"ablations: {error}", file=sys.stderr)
        return 2
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError) and "can't allocate memory" not in str(error):  # as torch says it
            raise
        print("ablations: out of memory; take smaller models, or smaller batches", file=sys.stderr)
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


def list_(options: argparse.Namespace) -> int:
    """`ablations list`"""
    from ablations import listing

    if options.what == "claims":
        return _list_claims(options)
    if options.what == "studies":
        entries = listing.studies()
    else:
        from ablations import describe

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
    from ablations.comparisons import with_comparisons
    from ablations.devices import cores_available, parse_devices, visible_gpus
    from ablations.preview import preview, show
    from ablations.tune import Unsearched

    if options.power is not None:
        return _power(options)
    devices = parse_devices(options.devices, visible_gpus(), cores_available())
    study = _loaded(options)
    root = options.output / study.folder
    try:
        study = with_comparisons(study, root, devices[0].kind, options.storage)
    except Unsearched as error:
        print(f"{error}; without the search and what comes after it:", file=sys.stderr)
        study = with_comparisons(_without_tuned(study), root, devices[0].kind)
    entries = preview(study, root, devices[0].kind)
    if options.json:
        print(json.dumps(entries, indent=2, ensure_ascii=False))
    else:
        show(study, entries, len(devices) * options.per_device)
    return 0


def _power(options: argparse.Namespace) -> int:
    from ablations.power import power, show_power

    study = _loaded(options)
    entries = power(study, options.output / study.folder, options.power or None, given=options.study)
    print(json.dumps(entries, indent=2, ensure_ascii=False)) if options.json else show_power(entries)
    return 0


def tune(options: argparse.Namespace) -> int:
    """`ablations tune`"""
    from ablations.tune import tune

    study = _loaded(options)
    return tune(study, options.output / study.folder, _sweep_options(options), options.storage)


def run(options: argparse.Namespace) -> int:
    """`ablations run`"""
    from ablations.comparisons import pilot, with_comparisons
    from ablations.looks import until_resolved
    from ablations.sweep import sweep
    from ablations.tune import tune

    study, how = _loaded(options), _sweep_options(options)
    root = options.output / study.folder
    if options.pilot:
        return sweep(pilot(study, options.pilot), root, how, planned=study)
    unsearched = tune(study, root, how, options.storage) if "tuned" in study.comparisons else 0
    if unsearched:  # what does not need it is trained all the same
        study = _without_tuned(study)
    study = with_comparisons(study, root, _kind(options), options.storage)
    return (until_resolved(study, root, how) if options.until_resolved else sweep(study, root, how)) or unsearched


def _without_tuned(study: "Study") -> "Study":
    return replace(study, comparisons=tuple(name for name in study.comparisons if name != "tuned"))


def _loaded(options: argparse.Namespace) -> "Study":
    """The study that the flags describe."""
    from ablations.load import load_study

    comparison, match = getattr(options, "comparison", None), getattr(options, "match", None)
    study = load_study(options.study, options.set, options.seeds, comparison=comparison, match=match)
    _refuse_idle(options, study)
    return study


def _refuse_idle(options: argparse.Namespace, study: "Study") -> None:
    """Flags that would have no effect."""
    from models.config import ConfigError

    given = vars(options)
    searched = "comparison" not in given or "tuned" in study.comparisons  # `tune` has no such flag
    chosen = given.get("pilot") or given.get("until_resolved")
    rules = [
        ("match", "matched" not in study.comparisons, "has no effect without --comparison matched"),
        ("storage", not searched, "has no effect without --comparison tuned"),
        ("comparison", given.get("pilot"), "a pilot is the base as the study has it; leave it out"),
        ("seeds", chosen, "--pilot and --until-resolved choose the seeds; leave it out"),
    ]
    for flag, is_idle, reason in rules:
        if given.get(flag) and is_idle:
            raise ConfigError(f"--{flag}: {reason}")


def _sweep_options(options: argparse.Namespace) -> "Options":
    from ablations.sweep import Options

    return Options(**{field.name: getattr(options, field.name) for field in fields(Options)})


def _kind(options: argparse.Namespace) -> Literal["cpu", "cuda"]:
    """Of the devices that the runs will go to."""
    from ablations.devices import cores_available, parse_devices, visible_gpus

    return parse_devices(options.devices, visible_gpus(), cores_available())[0].kind


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


def record(options: argparse.Namespace) -> int:
    """`ablations record`"""
    from ablations.recording import command_for
    from reports.pages.record import record, renew
    from reports.rows import ARCHIVE

    if (Path(options.study) / ARCHIVE).is_file():
        print(renew(Path(options.study)))
        return 0
    folder = _study_folder(options)
    target = options.into / folder.name
    print(record(folder, target, command_for(folder, target)))
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


def dashboard(options: argparse.Namespace) -> int:
    """`ablations dashboard`"""
    from ablations.dashboard import dashboard

    return dashboard(_study_folder(options), options.storage, options.port, open_browser=options.open)


def _study_folder(options: argparse.Namespace, study: str | None = None) -> Path:
    """Folder of a study that was run, the one of the options if no other; a YAML file counts by the name in it.

    A folder with a plan counts as it is: the same study may lie in two places.
    """
    from ablations.listing import folder_name
    from reports.rows import ARCHIVE, RowsError

    given = name = options.study if study is None else study
    if os.sep in name and (Path(name) / "plan.json").is_file():
        return Path(name)
    if (Path(name) / ARCHIVE).is_file():
        raise RowsError(f"study {name!r}: a record; lay out its {ARCHIVE} first, as docs/results/README.md says")
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
        raise RowsError(f"study {name!r}: nothing in {folder}; run it first: ablations run {given}{_recorded(name)}")
    return folder


def _recorded(name: str) -> str:
    """Where the page of a record of the study lies in this checkout, if there is one."""
    page = RESULTS / name / "index.html"
    return f" (an earlier run of it is published in {page})" if page.is_file() else ""
