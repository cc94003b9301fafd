"""`ablations report --watch`: the report is built anew whenever results have changed, until the sweep has ended."""

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from reports.rows import NOT_RUNS, RowsError, read_plan, read_study

Build = Callable[[Path, int | None], Path]
"""page.build: folder of a study, and seconds after which the page is to load itself anew."""

Signature = tuple[tuple[str, int, int], ...]
"""Path, time of the last change in nanoseconds and size of each file that a report is made from."""

REFRESH = 5
"""Seconds between two looks of the browser at the page."""


def watch(
    study_folder: Path,
    seconds: float = 5.0,
    *,
    busy: Callable[[], bool] = lambda: False,
    build: Build | None = None,
    sleep: Callable[[float], None] = time.sleep,
    shown: Callable[[Path], None] = lambda page: None,
) -> Path:
    """Build the report now and whenever results have changed; gives the page, which then loads itself no more.

    The sweep has ended when no process is at work on it any more, and no planned run is without a result or a process
    was at work before. Files that are half written or gone for a moment are looked at again the next time. One line a
    report on standard error. After Ctrl-C the page is built once more, as after the end, and KeyboardInterrupt goes on.

    Args:
        study_folder: has a plan; RowsError where it has none that can be used.
        seconds: between two looks at the folder.
        busy: whether a sweep is at work in the folder; `reports` knows nothing of processes.
        build: makes the page.
        sleep: waits.
        shown: is told the page as soon as it is there.
    """
    read_plan(study_folder)
    build = build or _page_builder()
    is_shown = False
    try:
        is_shown = _follow(study_folder, seconds, busy=busy, build=build, sleep=sleep, shown=shown)
    finally:
        page = build(study_folder, None)
    if not is_shown:
        shown(page)
    _say(f"the sweep has ended: {_counts(study_folder)}; {page}")
    return page


def _page_builder() -> Build:
    from reports.pages.page import build  # plotting takes a second to load

    return build


def _follow(
    folder: Path,
    seconds: float,
    *,
    busy: Callable[[], bool],
    build: Build,
    sleep: Callable[[float], None],
    shown: Callable[[Path], None],
) -> bool:
    """Build until the sweep has ended; the last page is the caller's to build. Gives whether one has been shown."""
    seen, at_work, is_shown = None, False, False
    while True:
        now_at_work, now = busy(), signature(folder)
        if not now_at_work and (at_work or is_complete(folder)):
            return is_shown
        at_work = now_at_work
        if now != seen:
            try:
                page, seen = build(folder, REFRESH), now
                _say(f"{page}: {_counts(folder)}")
                if not is_shown:
                    shown(page)
                is_shown = True
            except (RowsError, OSError) as error:
                _say(f"not yet: {error}")
        sleep(seconds)


def signature(folder: Path) -> Signature:
    """What changes when there is something new to report: the plan, and the files of runs that have ended."""
    files = [folder / "plan.json"]
    for path in folder.glob("*/*/*/result.json"):
        if path.relative_to(folder).parts[0] not in NOT_RUNS:
            files += [path, path.with_name("metrics.csv")]
    found = []
    for path in files:
        with suppress(OSError):
            state = path.stat()
            found.append((path.relative_to(folder).as_posix(), state.st_mtime_ns, state.st_size))
    return tuple(sorted(found))


def is_complete(folder: Path) -> bool:
    """Whether every planned run has a result, be it that it failed; False while the plan cannot be read."""
    try:
        return read_study(folder).count("missing") == 0
    except (RowsError, OSError):
        return False


def _counts(folder: Path) -> str:
    try:
        study = read_study(folder)
    except (RowsError, OSError):
        return "cannot be read just now"
    states = {row.id: row.state for row in study.runs}  # variants with the same settings share a run
    return f"{sum(state != 'missing' for state in states.values())} of {len(states)} runs have ended"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
