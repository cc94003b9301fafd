"""Time left by hand-computed cases, and what a sweep says of itself."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from filelock import FileLock

from ablations import pace
from ablations.pace import duration, read_sweeps, seconds_left, shard_of, sweep_file, sweep_lock, write_sweep
from ablations.progress import Progress


def at(step: int, steps: int, first: int = 0) -> Progress:
    return Progress(step, steps, None, None, "cpu", 1.0, first)


COSTS = {"a": 60.0, "b": 30.0, "c": 20.0, "d": 10.0}


@pytest.mark.parametrize(
    ("ended", "running", "workers", "left"),
    [
        # b and d: 40 in 8 s; 80 are left, and 60 of them one after the other at half the rate
        ({"b", "d"}, {}, 2, 24.0),
        # one worker; half of a and c: 40 + 30 + 10 in 8 s, 40 are left
        ({"b", "d"}, {"a": at(1, 2), "c": at(1, 2)}, 1, 40 / (80 / 8)),
        # a is half through (30), of which 20 were done before this sweep: 10 + 30 in 8 s; 30 + 20 + 10 are left
        ({"b"}, {"a": at(3, 6, first=2)}, 1, 60 / (40 / 8)),
        # the last run has one worker of two for itself
        ({"b", "c", "d"}, {"a": at(1, 3)}, 2, 40 * 2 / (80 / 8)),
        # more workers than runs do not make the last one slower
        ({"b", "c", "d"}, {"a": at(1, 3)}, 9, 40 * 4 / (80 / 8)),
        ({"a", "b", "c", "d"}, {}, 2, 0.0),
        ({"a", "b", "c", "d"}, {"d": at(1, 2)}, 2, 0.0),
        (set(), {}, 2, None),
        (set(), {"a": at(2, 6, first=2)}, 2, None),
    ],
)
def test_time_left_is_what_is_left_by_the_rate_so_far(
    ended: set[str], running: dict[str, Progress], workers: int, left: float | None
) -> None:
    assert seconds_left(COSTS, ended, running, 8.0, workers) == (None if left is None else pytest.approx(left))


def test_runs_without_predicted_work_count_alike() -> None:
    assert seconds_left({"a": 0.0, "b": 0.0, "c": 0.0}, {"a"}, {}, 5.0, 1) == pytest.approx(10.0)


def test_ids_of_other_sweeps_do_not_count() -> None:
    assert seconds_left({"a": 3.0, "b": 1.0}, {"b", "x"}, {"y": at(1, 2)}, 2.0, 1) == pytest.approx(6.0)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.4, "0 s"),
        (99.4, "99 s"),
        (99.6, "2 min"),
        (5969, "99 min"),
        (5990, "1 h 40 min"),
        (11400, "3 h 10 min"),
        (183600, "2 d 3 h"),
    ],
)
def test_durations_are_for_people(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_only_a_sweep_whose_lock_is_held_is_at_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = {shard: write_sweep(tmp_path, shard, 3, {"a": 1.5}, done=4) for shard in ((1, 3), (2, 3), (3, 3))}
    assert read_sweeps(tmp_path) == []
    with FileLock(sweep_lock(tmp_path, (1, 3))), FileLock(sweep_lock(tmp_path, (3, 3))):
        assert read_sweeps(tmp_path) == [written[1, 3], written[3, 3]]
        sweep_file(tmp_path, (3, 3)).write_text("{")
        assert read_sweeps(tmp_path) == [written[1, 3]]
    assert read_sweeps(tmp_path) == []
    sweep = written[1, 3]
    assert (sweep.shard, sweep.workers, sweep.costs, sweep.done) == ("1/3", 3, {"a": 1.5}, 4)

    class Later(datetime):
        @classmethod
        def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
            return datetime.fromisoformat(sweep.started) + timedelta(seconds=90)

    assert datetime.fromisoformat(sweep.started).tzinfo == UTC
    monkeypatch.setattr(pace, "datetime", Later)
    assert sweep.seconds == 90


def test_shards_are_read_from_names(tmp_path: Path) -> None:
    for shard in ((2, 11), (1, 1)):
        assert shard_of(sweep_lock(tmp_path, shard)) == shard_of(sweep_file(tmp_path, shard)) == shard
    assert shard_of(tmp_path / ".lock-a-2") == (0, 0)
    (tmp_path / ".lock-a-2").touch()
    assert read_sweeps(tmp_path) == []
