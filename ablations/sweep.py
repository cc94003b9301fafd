"""`ablations run`: train what is missing, show how far it is, end with the report."""

import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from filelock import FileLock, Timeout
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from ablations.checks import with_data
from ablations.plan import write_plan
from ablations.results import current_commit
from ablations.runner import Outcome, is_final, run_all, workers_available
from ablations.study import Run, Study
from models.config import ConfigError
from reports.rows import read_result


def sweep(study: Study, root: Path, *, workers: int | None = None, redo: bool = False) -> int:
    """Run a study in `root` and report it. Returns the exit status: 0, or 1 where some run failed.

    Raises ConfigError or DataError as `train_missing` does.
    """
    outcomes = train_missing(study, root, workers=workers, redo=redo)
    from reports.page import build  # plotting is not needed before

    page = build(root)
    counts = ", ".join(f"{n} {status}" for status, n in Counter(outcome.status for outcome in outcomes).items())
    _say(f"{counts or 'nothing to train: all runs are done'}; report:")
    print(page)
    return 1 if any(outcome.status == "failed" for outcome in outcomes) else 0


def train_missing(study: Study, root: Path, *, workers: int | None = None, redo: bool = False) -> list[Outcome]:
    """Train what is not done yet (with `redo` everything); what is done is not touched.

    Raises ConfigError where a model does not suit its data, where `root` cannot be written and where another sweep is
    at work in it; DataError where data cannot be read. Nothing is written then.
    """
    runs = study.runs()
    _check(run for run in runs if redo or not is_final(root / run.folder))
    try:
        root.mkdir(parents=True, exist_ok=True)
        with FileLock(root / ".lock", timeout=0):
            write_plan(study, runs, root)
            done = [] if redo else [run for run in runs if is_final(root / run.folder)]
            _say_other_code(done, root)
            folders = {run.folder for run in done}
            missing = [run for run in runs if run.folder not in folders]
            return _train(missing, len(runs), root, workers or workers_available())
    except Timeout as error:
        raise ConfigError(f"another sweep is at work in {root}; wait for it or choose another --output") from error
    except (FileExistsError, NotADirectoryError, PermissionError) as error:
        raise ConfigError(f"--output: {error.filename}: {error.strerror}") from error


def _say_other_code(done: Iterable[Run], root: Path) -> None:
    """The id of a run does not hold the code: say where results come from other code than is here now."""
    results = (read_result(root / run.folder) for run in done)
    commits = Counter(result["commit"] for result in results if result)
    here = current_commit()
    others = sum(n for commit, n in commits.items() if commit != here or str(commit).endswith("-dirty"))
    if others:
        _say(f"{others} of the runs that are done come from other code or from changed files; --redo trains them again")


def _check(runs: Iterable[Run]) -> None:
    """Look at model and data of each variant before anything is written."""
    variants = {(run.experiment, run.variant): run.settings for run in runs}
    notes = {note: None for _, data in with_data(variants.values()) for note in data.notes}  # each once, in order
    for note in notes:
        if note.startswith("warning:"):
            _say(note)


def _train(missing: list[Run], planned: int, root: Path, workers: int) -> list[Outcome]:
    if not missing:
        return []
    _say(f"{len(missing)} of {planned} runs to train, {min(workers, len(missing))} at a time, in {root}")
    return list(_shown(run_all(missing, root, workers), len(missing)))


def _shown(outcomes: Iterable[Outcome], total: int) -> Iterable[Outcome]:
    """Pass outcomes on, showing a bar with the time left on a terminal and plain lines elsewhere."""
    console = Console(stderr=True)
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        bar = progress.add_task("runs", total=total)
        for done, outcome in enumerate(outcomes, start=1):
            progress.advance(bar)
            console.print(f"[{done}/{total}] {_line(outcome)}", markup=False, highlight=False, soft_wrap=True)
            yield outcome


def _line(outcome: Outcome) -> str:
    run = outcome.run
    reason = f" ({outcome.reason.splitlines()[0]})" if outcome.reason else ""
    return f"{run.experiment} / {run.variant} / seed {run.seed}: {outcome.status}{reason}"


def _say(text: str) -> None:
    print(text, file=sys.stderr)
