"""What a sweep shows while it runs, on a terminal and elsewhere."""

import io
import os
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from ablations import live
from ablations.live import Watch, shown
from ablations.load import make_study
from ablations.progress import Progress, write_progress
from ablations.results import Result, write_result
from ablations.runner import Outcome
from ablations.study import Run


@pytest.fixture
def runs(tiny: dict[str, Any]) -> list[Run]:
    """Base with seeds 0 and 1, then `position=none` with both."""
    return sorted(make_study(tiny).runs(), key=lambda run: run.variant)


def begin(run: Run, root: Path, step: int = 30, rate: float | None = 1234.5) -> None:
    (root / run.folder).mkdir(parents=True, exist_ok=True)
    write_progress(root / run.folder, Progress(step, 120, 2.5, rate, "cpu", 9.0))


def end(run: Run, root: Path, status: str = "completed", reason: str | None = None, seconds: float = 75.0) -> None:
    (root / run.folder).mkdir(parents=True, exist_ok=True)
    result = Result(status, reason, cost={"wall_seconds": seconds} if status == "completed" else {})
    write_result(run, root / run.folder, result, "2001-01-01T00:00:00+00:00", commit=None)


def costs(runs: list[Run]) -> dict[str, float]:
    return {run.id: 10.0 for run in runs}


def test_an_outcome_is_a_line_with_its_seconds(
    runs: list[Run], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    end(runs[0], tmp_path)
    end(runs[1], tmp_path, "failed", "OSError: no space\nmore")
    outcomes = [
        Outcome(runs[0], "completed", None),
        Outcome(runs[1], "failed", "OSError: no space\nmore", again=True),
        Outcome(runs[2], "diverged", "the training loss is not finite at step 3"),
    ]
    assert list(shown(outcomes, runs, tmp_path, costs(runs))) == outcomes
    captured = capsys.readouterr()
    assert captured.out == ""
    first, again, diverged = captured.err.splitlines()
    assert first == "[1/4] copy / base / seed 0: completed, 75 s"
    assert again.startswith("[1/4] copy / base / seed 1: failed, will be tried again (OSError: no space), ")
    assert diverged == "[2/4] copy / position=none / seed 0: diverged (the training loss is not finite at step 3)"


def test_a_failed_run_took_from_its_beginning_to_its_end(runs: list[Run], tmp_path: Path) -> None:
    end(runs[0], tmp_path, "failed")
    path = tmp_path / runs[0].folder / "result.json"
    path.write_text(re.sub(r'"ended": "[^"]+"', '"ended": "2001-01-01T00:00:41+00:00"', path.read_text()))
    assert Watch(runs, tmp_path, {}).end(Outcome(runs[0], "failed", None)).endswith("failed, 41 s")


def test_only_what_runs_of_this_sweep_say_counts(runs: list[Run], tmp_path: Path) -> None:
    begin(runs[0], tmp_path)
    old = time.time() - 5
    os.utime(tmp_path / runs[0].folder / "progress.json", (old, old))  # left by a killed sweep
    watch = Watch(runs, tmp_path, costs(runs))
    assert watch.running() == []
    time.sleep(0.01)  # the clock of files is coarse
    begin(runs[0], tmp_path)
    begin(runs[1], tmp_path, step=60)
    assert [(run, progress.step) for run, progress in watch.running()] == [(runs[0], 30), (runs[1], 60)]
    time.sleep(0.01)
    watch.end(Outcome(runs[0], "failed", None, again=True))
    watch.end(Outcome(runs[1], "completed", None))
    assert watch.running() == []
    time.sleep(0.01)
    begin(runs[0], tmp_path, step=90)
    begin(runs[1], tmp_path)  # a run that has ended is not looked at again
    assert [(run, progress.step) for run, progress in watch.running()] == [(runs[0], 90)]
    assert watch.done == 1


def test_the_time_left_is_that_of_the_pace(runs: list[Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watch = Watch(runs, tmp_path, costs(runs))
    assert watch.left([]) == "time left not known yet"
    time.sleep(0.01)
    begin(runs[0], tmp_path, step=60)
    begin(runs[1], tmp_path, step=60)
    monkeypatch.setattr(Watch, "seconds", 20.0)
    assert watch.left(watch.running()) == "about 60 s left"  # 10 of 40 in 20 s
    watch.end(Outcome(runs[0], "completed", None))
    assert watch.left(watch.running()) == "about 33 s left"  # 15 of 40


def slowly(outcomes: list[Outcome], wait: threading.Event) -> Iterator[Outcome]:
    for outcome in outcomes:
        yield outcome
        wait.wait(5)


def test_elsewhere_a_line_says_now_and_then_that_it_is_alive(
    runs: list[Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(live, "STILL", 0.15)
    alone = threading.active_count()
    lines = shown(slowly([Outcome(runs[0], "completed", None)], threading.Event()), runs, tmp_path, costs(runs))
    assert next(lines).run is runs[0]
    begin(runs[1], tmp_path)
    time.sleep(0.4)
    lines.close()  # type: ignore[attr-defined]
    assert threading.active_count() == alone
    first, *reminders = capsys.readouterr().err.splitlines()
    assert first == "[1/4] copy / base / seed 0: completed"
    assert 1 <= len(reminders) <= 3
    for line in reminders:
        assert line.startswith("1 of 4 runs have ended; at work: copy / base / seed 1 (step 30/120); about ")
    time.sleep(0.3)
    assert capsys.readouterr().err == ""


def test_a_reminder_names_a_few_of_many(runs: list[Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "NAMED", 2)
    watch = Watch(runs, tmp_path, costs(runs))
    time.sleep(0.01)
    for run in runs:
        begin(run, tmp_path)
    assert "copy / base / seed 1 (step 30/120), 2 more; about" in watch.line()


def test_nothing_runs_on_when_the_outcomes_raise(
    runs: list[Run], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def raising() -> Iterator[Outcome]:
        yield Outcome(runs[0], "completed", None)
        raise KeyboardInterrupt

    alone = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        list(shown(raising(), runs, tmp_path, costs(runs)))
    assert threading.active_count() == alone
    assert capsys.readouterr().err.count("\n") == 1


class Terminal(io.StringIO):
    """A terminal that keeps what was written to it."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_of_80_columns_shows_a_bar_and_a_line_for_each_run(
    runs: list[Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal()
    console = Console(file=terminal, force_terminal=True, color_system="standard", width=80, height=9)
    monkeypatch.setattr(live, "_Patient", lambda stderr: console)
    alone = threading.active_count()
    lines = shown(slowly([Outcome(runs[0], "completed", None)], threading.Event()), runs, tmp_path, costs(runs))
    next(lines)
    begin(runs[1], tmp_path)
    begin(runs[2], tmp_path, step=6, rate=None)
    deadline = time.monotonic() + 20
    while "step 6/120" not in terminal.getvalue() and time.monotonic() < deadline:
        time.sleep(0.05)
    lines.close()  # type: ignore[attr-defined]
    while threading.active_count() > alone and time.monotonic() < deadline:
        time.sleep(0.05)  # rich does not wait for its thread
    assert threading.active_count() == alone
    uncoloured = re.sub(r"\x1b\[[0-9;]*m", "", terminal.getvalue())
    plain = [line.rstrip() for line in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "\r", uncoloured).splitlines()]
    assert "[1/4] copy / base / seed 0: completed" in plain
    assert max(map(len, plain)) <= 80
    bar = next(line for line in reversed(plain) if "1/4 runs" in line)
    assert "left" in bar
    assert "━" in bar
    one, two = (next(line for line in reversed(plain) if f"step {step}/120" in line) for step in (30, 6))
    assert one.startswith("copy / base   ")
    assert one.endswith("seed 1  step 30/120  loss 2.500  1,234 tokens/s")
    assert two.startswith("copy / position=none   ")


def test_more_runs_than_lines_leave_the_bar(runs: list[Run], tmp_path: Path) -> None:
    watch = Watch(runs, tmp_path, costs(runs))
    time.sleep(0.01)
    for run in runs:
        begin(run, tmp_path)
    console = Console(file=io.StringIO(), width=80, height=6)
    console.print(live._picture(watch, console.height, console.width))
    drawn = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert drawn[0].startswith("0/4 runs")
    assert [line.split("  ")[0] for line in drawn[1:]] == ["copy / base", "copy / base", "and 2 more"]


def test_on_a_narrow_terminal_the_names_are_whole_and_the_loss_is_left_out(runs: list[Run], tmp_path: Path) -> None:
    watch = Watch(runs, tmp_path, costs(runs))
    time.sleep(0.01)
    begin(runs[2], tmp_path)
    console = Console(file=io.StringIO(), width=60, height=6)
    console.print(live._picture(watch, console.height, console.width))
    (line,) = console.file.getvalue().splitlines()[1:]  # type: ignore[attr-defined]
    assert line.split("  ")[0] == "copy / position=none"
    assert line.rstrip().endswith("step 30/120")
