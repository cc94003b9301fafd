"""Trials are claimed by one worker and finished once, whoever dies in between; a broken journal costs nothing whole."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution
from optuna.storages import BaseStorage
from optuna.study import StudyDirection
from optuna.trial import TrialState

from ablations import trials as module
from ablations.space import Interval, Space
from ablations.trials import (
    JOURNAL,
    REVIVER,
    Trials,
    Worker,
    beating,
    cut_torn_line,
    distributions,
    forget,
    is_gone,
    open_storage,
    read_trials,
    worker,
)
from models.config import ConfigError
from tests.ablations import postgres
from tests.processes import ROOT

POINTS = [{"train.lr": lr, "train.schedule": name} for lr in (0.01, 0.1) for name in ("linear", "constant")]
SPACE = Space({"train.lr": (0.01, 0.1), "train.schedule": ("linear", "constant")})
NAME = "study / experiment / variant / 0"

Open = Callable[..., Trials]


@pytest.fixture(params=["journal", "sqlite"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    """Opens the trials as a process of its own would, over and over again, in the same place."""
    storages: list[BaseStorage] = []

    def open_(count: int = 4, silence: float = 120.0, name: str = NAME) -> Trials:
        url = None if request.param == "journal" else f"sqlite:///{tmp_path}/trials.sqlite"
        storages.append(open_storage(tmp_path, url))
        return Trials(storages[-1], name, POINTS[:count], distributions(SPACE), silence)

    yield open_
    for storage in storages:
        if hasattr(storage, "_backend") and hasattr(storage._backend, "engine"):
            storage._backend.engine.dispose()


def states(trials: Trials) -> str:
    """The first letter of each trial's state."""
    return "".join(one.state[0] for one in trials.standing())


def run_by(trials: Trials, number: int, who: Worker, beats: int = 0) -> None:
    """Have another worker run a trial."""
    trial = trials._all()[number]._trial_id
    trials.storage.set_trial_user_attr(trial, who.mark, beats)
    assert trials.storage.set_trial_state_values(trial, TrialState.RUNNING)


def ended_worker() -> Worker:
    """A process of this host that is no more."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return Worker(worker().host, process.pid, "17")


def test_each_trial_is_claimed_by_one(opened: Open) -> None:
    one, other = opened(), opened()
    assert [one.claim(0), other.claim(0)] == [True, False]
    assert [other.claim(1), one.claim(1)] == [True, False]
    assert states(one) == states(other) == "rrww"
    assert one.open() == other.open() == (True, True)
    assert [sorted(one.mine), sorted(other.mine)] == [[0], [1]]


def test_trials_in_all_and_not_more_at_each_start(opened: Open) -> None:
    """HB-30: "n trials" means n."""
    opened(3)
    opened(3)
    three = opened(3)
    assert len(three._all()) == 3
    for number in range(3):
        assert three.claim(number)
        three.finish(number, float(number), 1.0)
    four = opened(4)
    assert states(four) == "cccw"
    assert four.claim(3)
    assert states(opened(2)) == "cc"
    assert opened(2).open() == (False, False)  # the fourth is none of two


def test_what_is_stored_is_the_point_of_the_number_and_the_value(opened: Open) -> None:
    trials = opened()
    for number in (2, 1):
        trials.claim(number)
    trials.finish(2, 0.7, 3.0)
    trials.finish(1, None, 2.0, "diverged: at step 3")
    found = opened()._all()
    assert found[2].params == POINTS[2]
    assert (found[2].state, found[2].value) == (TrialState.COMPLETE, 0.7)
    assert found[1].params == POINTS[1]
    assert found[1].state == TrialState.PRUNED
    assert opened().standing() == [
        (0, "waiting", None, None, None),
        (1, "diverged", None, 2.0, "diverged: at step 3"),
        (2, "completed", 0.7, 3.0, None),
        (3, "waiting", None, None, None),
    ]


def test_a_hopeless_trial_is_pruned(opened: Open) -> None:
    trials = opened()
    trials.claim(0)
    trials.finish(0, None, 2.0, "hopeless: too high")
    assert states(trials) == "pwww"
    assert not trials.claim(0)


def test_a_trial_that_fails_waits_again_with_its_reason_and_for_the_next_start(opened: Open) -> None:
    """HB-29: a failed point is not taken for a visited one."""
    trials = opened()
    trials.claim(0)
    trials.give_back(0, "failed: no more")
    assert trials.standing()[0] == (0, "waiting", None, None, "failed: no more")
    assert not trials.claim(0)
    assert trials.open() == (True, False)
    later = opened()
    assert later.claim(0)
    later.finish(0, 1.5, 1.0)
    assert later.standing()[0] == (0, "completed", 1.5, 1.0, None)
    assert len(later._all()) == 4


def test_a_trial_whose_worker_has_died_waits_again_under_its_number(opened: Open) -> None:
    trials = opened()
    run_by(trials, 1, ended_worker())
    assert states(trials) == "wrww"
    assert trials.revive() == [1]
    assert states(opened()) == "wwww"
    assert trials.claim(1)
    assert len(trials._all()) == 4


def test_a_trial_whose_worker_is_alive_is_left_to_it(opened: Open) -> None:
    trials = opened(silence=0.0)
    run_by(trials, 1, Worker(worker().host, 1, module._started(1) or ""))
    assert trials.claim(0)
    for _ in range(3):
        assert trials.revive() == []
    assert states(trials) == "rrww"


def test_a_worker_elsewhere_is_dead_when_it_has_been_silent(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    trials = opened()
    who = Worker("elsewhere", os.getpid(), worker().started)
    run_by(trials, 2, who)
    assert trials.revive() == []
    now += 119.0
    assert trials.revive() == []
    trials.storage.set_trial_user_attr(trials._all()[2]._trial_id, who.mark, 1)
    now += 119.0
    assert trials.revive() == []  # heard of it meanwhile
    now += 121.0
    assert trials.revive() == [2]


def test_of_several_who_may_have_a_trial_all_must_be_dead(opened: Open) -> None:
    """One was killed as it claimed it, another has only tried, or the other way round."""
    trials = opened()
    alive = Worker(worker().host, 1, module._started(1) or "")
    run_by(trials, 2, ended_worker())
    trial = trials._all()[2]._trial_id
    trials.storage.set_trial_user_attr(trial, alive.mark, 0)
    assert trials.revive() == []
    trials.storage.set_trial_user_attr(trial, alive.mark, None)  # it has let go
    assert trials.revive() == [2]


def test_a_trial_that_this_process_was_not_given_is_not_held_by_its_mark(opened: Open) -> None:
    trials, other = opened(), opened()
    other.me = Worker("elsewhere", 1, "1")
    assert other.claim(1)
    assert not trials._take(trials._all()[1]._trial_id)
    assert list(module._marks(trials._all()[1])) == [other.me.mark]


@pytest.mark.parametrize("meddling", ["another says so later", "it is claimed again", "it is finished"])
def test_of_several_who_find_a_worker_dead_one_revives_its_trial(
    meddling: str, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    trials, other = opened(), opened()
    run_by(trials, 1, ended_worker())
    trial = trials._all()[1]._trial_id

    def meanwhile(seconds: float) -> None:
        if meddling == "another says so later":
            other.storage.set_trial_user_attr(trial, REVIVER, ["elsewhere", 1, "1"])
            return
        other.storage.set_trial_state_values(trial, TrialState.WAITING)
        assert other.claim(1)
        if meddling == "it is finished":
            other.finish(1, 0.5, 1.0)

    monkeypatch.setattr(time, "sleep", meanwhile)
    assert trials.revive() == []
    assert states(trials)[1] == {"it is finished": "c"}.get(meddling, "r")


def test_one_who_was_about_to_revive_a_trial_and_did_not_is_waited_for_a_while(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    trials = opened()
    run_by(trials, 1, ended_worker())
    trials.storage.set_trial_user_attr(trials._all()[1]._trial_id, REVIVER, ["elsewhere", 1, "1"])
    assert trials.revive() == []
    now += 2.0
    assert trials.revive() == []
    now += 2.0
    assert trials.revive() == [1]


def test_what_another_has_finished_stays_so(opened: Open) -> None:
    one, other = opened(), opened()
    one.claim(0)
    one._wait_again(one.mine[0], "taken for dead")
    assert other.claim(0)
    other.finish(0, 0.5, 1.0)
    one.beat()
    one.finish(0, 0.75, 1.0)
    assert opened().standing()[0] == (0, "completed", 0.5, 1.0, None)


def test_signs_of_life_are_given_until_the_end(opened: Open) -> None:
    trials = opened()
    trials.claim(3)

    def sign() -> Any:
        return module._marks(trials._all()[3])

    first = sign()
    with beating([trials], every=0.01):
        end = time.monotonic() + 30
        while sign() == first:
            assert time.monotonic() < end
            time.sleep(0.01)
    last = sign()
    time.sleep(0.05)
    assert sign() == last
    assert list(last) == [worker().mark]


def test_a_search_is_read_without_being_made_and_can_be_forgotten(opened: Open) -> None:
    storage = opened(name="another").storage
    assert read_trials(storage, NAME) == []
    trials = opened()
    trials.claim(1)
    assert [one.state for one in read_trials(trials.storage, NAME)] == ["waiting", "running", "waiting", "waiting"]
    forget(trials.storage, NAME)
    forget(trials.storage, NAME)
    assert read_trials(trials.storage, NAME) == []
    assert len(read_trials(trials.storage, "another")) == 4


def test_a_process_is_told_from_a_later_one_with_its_number() -> None:
    me = worker()
    assert not is_gone(me)
    assert is_gone(me._replace(started="0"))
    assert is_gone(ended_worker())


def test_a_process_that_was_killed_and_not_taken_note_of_is_gone() -> None:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    who = Worker(worker().host, process.pid, module._started(process.pid) or "")
    assert not is_gone(who)
    process.kill()
    end = time.monotonic() + 30
    while not is_gone(who):
        assert time.monotonic() < end
        time.sleep(0.01)
    process.wait()


@pytest.mark.parametrize("cut", [1, 20, 200])
def test_a_torn_journal_keeps_all_that_is_whole_and_goes_on(cut: int, tmp_path: Path) -> None:
    """HB-30: the last bytes are cut off."""

    def open_() -> Trials:
        return Trials(open_storage(tmp_path), NAME, POINTS, distributions(SPACE))

    trials = open_()
    for number in range(2):
        trials.claim(number)
        trials.finish(number, number / 4, 1.0)
    before = trials.standing()
    trials.claim(2)
    journal = tmp_path / JOURNAL
    os.truncate(journal, journal.stat().st_size - cut)
    later = open_()
    assert later.standing()[:2] == before[:2]
    for number in (2, 3):
        if later._all()[number].state == TrialState.RUNNING:
            later._wait_again(later._all()[number]._trial_id, "")
        assert later.claim(number)
        later.finish(number, number / 4, 1.0)
    assert [one.value for one in open_().standing()] == [0.0, 0.25, 0.5, 0.75]
    assert all(json.loads(line) for line in journal.read_text().splitlines())


@pytest.mark.parametrize(
    ("before", "after"), [(b"", b""), (b"{}", b""), (b"{}\n", b"{}\n"), (b"{}\n{}\n{1", b"{}\n{}\n")]
)
def test_what_follows_the_last_whole_line_is_cut_off(before: bytes, after: bytes, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(before)
    cut_torn_line(tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == after


def test_the_lock_of_a_killed_process_is_free_at_once(tmp_path: Path) -> None:
    """HB-30: a stale lock costs no time."""
    trials = Trials(open_storage(tmp_path), NAME, POINTS, distributions(SPACE))
    code = "import sys, time; from filelock import FileLock; FileLock(sys.argv[1]).acquire(); print(1); time.sleep(600)"
    lock = tmp_path / f".{JOURNAL}.lock"
    holder = subprocess.Popen([sys.executable, "-c", code, str(lock)], stdout=subprocess.PIPE)
    assert holder.stdout is not None
    holder.stdout.readline()
    (tmp_path / f"{JOURNAL}.lock").symlink_to(JOURNAL)  # what Optuna's own kind leaves behind
    holder.kill()
    holder.communicate()
    began = time.monotonic()
    assert trials.claim(0)
    assert time.monotonic() - began < 5


def test_optuna_is_told_of_numbers_on_a_log_scale_and_of_the_rest_as_choices() -> None:
    space = Space({"a": (0.1, 0.5), "b": (0, 3), "c": ([1, 2], None), "d": Interval(0.1, 2.0, whole=False)})
    assert distributions(space) == {
        "a": FloatDistribution(0.1, 0.5, log=True),
        "b": CategoricalDistribution([0, 3]),
        "c": CategoricalDistribution(["[1, 2]", None]),
        "d": FloatDistribution(0.1, 2.0, log=True),
    }


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("trials.db", "an Optuna URL is wanted"),
        ("postgresql://me:secret@127.0.0.1:1/none", "--storage postgresql.*127.0.0.1:1/none: "),
        ("nosuch://me:secret@host/none", "cannot be opened"),
    ],
)
def test_a_storage_that_cannot_be_opened_is_refused_without_its_password(url: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=said) as refusal:
        open_storage(tmp_path, url)
    assert "secret" not in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["journal", "postgresql"])
def test_eight_workers_of_which_one_is_killed_end_each_trial_once(kind: str, tmp_path: Path) -> None:
    """HB-29, HB-30."""
    if kind == "journal":
        eight_workers("", tmp_path)
    else:
        with postgres.server() as url:
            eight_workers(url, tmp_path)


def eight_workers(url: str, folder: Path, count: int = 40) -> None:
    """Start them, kill one in its first trial, and look at what all have done."""
    name = f"study / {folder.name} / {os.getpid()}"

    def start(hang: float) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "tests.ablations.searching", str(folder), url, name, str(count), str(hang)]
        return subprocess.Popen(command, cwd=ROOT)

    victim, *others = [start(hang) for hang in (600.0, *[0.0] * 7)]
    try:
        log = folder / f"{victim.pid}.txt"
        end = time.monotonic() + 240
        while not log.is_file() or not log.read_text().endswith("\n"):
            assert time.monotonic() < end, "it takes too long"
            time.sleep(0.02)
        (folder / "go").touch()
        time.sleep(1)
        victim.send_signal(signal.SIGKILL)
        assert [other.wait(240) for other in others] == [0] * 7
    finally:
        for process in (victim, *others):
            process.kill()
            process.wait()
    (stuck,) = [int(line.split()[1]) for line in log.read_text().splitlines()]
    lines = [line for path in folder.glob("*.txt") if path != log for line in path.read_text().splitlines()]
    assert sorted(int(line.split()[1]) for line in lines if line.startswith("end")) == list(range(count))
    assert sorted(int(line.split()[1]) for line in lines if line.startswith("begin")) == list(range(count))
    assert f"begin {stuck}" in lines
    storage = open_storage(folder, url or None)
    found = read_trials(storage, name)
    assert [(one.number, one.state, one.value) for one in found[:count]] == [
        (number, "completed", number / 2) for number in range(count)
    ]
    assert {one.state for one in found[count:]} <= {"waiting"}
    forget(storage, name)


@pytest.mark.parametrize("line", [b'{"garb', b'{"op_code": 99}', b"\xff\xfe"])
def test_a_journal_damaged_in_its_middle_is_named_in_one_line(line: bytes, tmp_path: Path) -> None:
    storage = open_storage(tmp_path)
    for name in ("one", "two"):
        storage.create_new_study([StudyDirection.MINIMIZE], name)
    journal = tmp_path / JOURNAL
    first, *rest = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join([first, line + b"\n", *rest]))
    with pytest.raises(ConfigError, match="damaged") as caught:
        open_storage(tmp_path)
    assert "\n" not in str(caught.value)
