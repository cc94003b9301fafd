"""The queue: bounded tries, one outcome for each run, nothing lost, over an executor that only pretends."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import pytest

from ablations.load import make_study
from ablations.results import Result, write_result, write_run
from ablations.runner import run_all
from ablations.study import Run


class Pretence:
    """Ends each run at the next look, as `script` says of its tries in turn; by default it completes."""

    def __init__(self, root: Path, script: dict[str, list[str]] | None = None, workers: int = 2) -> None:
        self.root, self.script, self.workers = root, script or {}, workers
        self.running: list[Run] = []
        self.started: Counter[str] = Counter()
        self.order: list[str] = []
        self.most = 0
        self.stopped = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def check(self, run: Run) -> None:
        pass

    def start(self, run: Run) -> bool:
        if len(self.running) == self.workers:
            return False
        self.running.append(run)
        self.started[run.id] += 1
        self.order.append(run.id)
        self.most = max(self.most, len(self.running))
        return True

    def wait(self, seconds: float) -> list[Run]:
        run = self.running.pop(0)
        tries = self.script.get(run.id, [])
        status = tries.pop(0) if tries else "completed"
        folder = self.root / run.folder
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "result.json").unlink(missing_ok=True)
        if status != "vanished":
            write_run(run, folder, None)
            write_result(run, folder, Result(status, reason="why" if status == "failed" else None), "", None)
        return [run]

    def stop(self) -> None:
        self.stopped = True


@pytest.fixture
def runs(tiny: dict[str, Any]) -> list[Run]:
    return make_study(tiny).runs()


def outcomes(runs: Sequence[Run], executor: Pretence, retries: int = 0) -> list[tuple[str, str, bool]]:
    return [(end.run.id, end.status, end.again) for end in run_all(runs, executor.root, executor, retries)]


def test_each_run_ends_once_in_the_order_given_and_never_more_at_a_time(runs: list[Run], tmp_path: Path) -> None:
    executor = Pretence(tmp_path)
    assert outcomes(runs, executor) == [(run.id, "completed", False) for run in runs]
    assert executor.most == 2
    assert executor.stopped


def test_four_cells_of_which_one_raises_at_first_take_five_tries(runs: list[Run], tmp_path: Path) -> None:
    executor = Pretence(tmp_path, {runs[1].id: ["failed"]})
    ends = outcomes(runs, executor, retries=1)
    assert ends[1] == (runs[1].id, "failed", True)
    assert ends[-1] == (runs[1].id, "completed", False)
    assert Counter(run for run, status, _ in ends if status == "completed") == Counter(run.id for run in runs)
    assert sum(executor.started.values()) == 5
    assert executor.order[-1] == runs[1].id  # after all others


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_a_run_that_fails_for_ever_is_tried_a_bounded_number_of_times(
    retries: int, runs: list[Run], tmp_path: Path
) -> None:
    executor = Pretence(tmp_path, {runs[0].id: ["failed"] * 9})
    ends = outcomes(runs, executor, retries)
    assert executor.started[runs[0].id] == retries + 1
    assert [again for run, _, again in ends if run == runs[0].id] == [True] * retries + [False]
    assert sum(status == "completed" for _, status, _ in ends) == 3


def test_diverged_is_final(runs: list[Run], tmp_path: Path) -> None:
    executor = Pretence(tmp_path, {runs[0].id: ["diverged"]})
    assert outcomes(runs, executor, retries=2)[0] == (runs[0].id, "diverged", False)
    assert executor.started[runs[0].id] == 1


def test_a_run_whose_device_vanished_is_no_try(runs: list[Run], tmp_path: Path) -> None:
    executor = Pretence(tmp_path, {runs[0].id: ["vanished", "vanished"]})
    assert sorted(outcomes(runs, executor)) == sorted((run.id, "completed", False) for run in runs)
    assert executor.started[runs[0].id] == 3


def test_what_runs_is_stopped_when_the_sweep_is_left_early(runs: list[Run], tmp_path: Path) -> None:
    executor = Pretence(tmp_path)
    sweep = run_all(runs, tmp_path, executor)
    next(sweep)
    sweep.close()  # type: ignore[attr-defined]
    assert executor.stopped


def test_a_run_is_taken_when_there_is_a_place_for_it(runs: list[Run], tmp_path: Path) -> None:
    executor, taken = Pretence(tmp_path), list[int]()

    def one_by_one() -> Iterator[Run]:
        for run in runs:
            taken.append(len(executor.running))
            yield run

    assert [end.run.id for end in run_all(one_by_one(), tmp_path, executor)] == ids_of(runs)
    assert taken == [0, 1, 1, 1]


def ids_of(runs: Sequence[Run]) -> list[str]:
    return [run.id for run in runs]


def test_without_runs_nothing_is_waited_for(tmp_path: Path) -> None:
    executor = Pretence(tmp_path)
    assert list(run_all(iter(()), tmp_path, executor)) == []
    assert executor.stopped
