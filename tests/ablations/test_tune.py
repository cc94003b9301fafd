"""Every variant is tuned alike, on validation, with seeds of its own; what is killed goes on as if it never was."""

import random
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from ablations import sweep
from ablations import tune as module
from ablations.load import make_study
from ablations.results import Metric, Result, write_result, write_run
from ablations.runner import Executor
from ablations.study import Run, Study
from ablations.sweep import Options, train_missing
from ablations.train import train
from ablations.trials import JOURNAL, open_storage, read_trials
from ablations.tune import best, searches, tune, tuned
from datamodules.base import Batch, Held
from datamodules.order import Order
from models.config import ConfigError
from reports.rows import final_results
from reports.trials import read_trials as read_table
from tests import processes
from tests.ablations.test_runner import Pretence

Loss = Callable[[Run], float | str]


class Made(Pretence):
    """Ends each run with the loss that a function has for it, or with the status that it names."""

    def __init__(self, root: Path, loss: Loss) -> None:
        super().__init__(root)
        self.loss = loss

    def wait(self, seconds: float) -> list[Run]:
        run = self.running.pop(0)
        folder = self.root / run.folder
        folder.mkdir(parents=True, exist_ok=True)
        write_run(run, folder, None)
        made = self.loss(run)
        write_result(run, folder, made_up(made), "", None)
        return [run]


def made_up(made: float | str) -> Result:
    """A result of a validation loss, or of a status; a hopeless one is completed with a reason."""
    if isinstance(made, float):
        return Result("completed", metrics=[Metric("validation", "loss", "", made)], cost={"wall_seconds": 2.0})
    if made == "hopeless":
        return Result("completed", "hopeless: too high", [Metric("validation", "loss", "", 9.0)])
    return Result(made, "why")


@pytest.fixture
def pretended(monkeypatch: pytest.MonkeyPatch) -> list[Made]:
    """Runs are not trained: their loss is the distance of the rate from 0.3, and in the variant from 0.1."""
    made: list[Made] = []

    def make(root: Path, options: Options, commit: str | None) -> Executor:
        made.append(Made(root, made[-1].loss if made else distance))
        return made[-1]

    monkeypatch.setattr(module, "make_executor", make)
    return made


def distance(run: Run) -> float:
    return abs(run.settings.train.lr - (0.3 if run.variant == "base" else 0.1)) + run.seed / 1000


def study_of(tiny: dict[str, Any], **rules: Any) -> Study:
    tiny["tune"] = {"trials": 3, "space": {"train.lr": [0.1, 0.3, 0.7]}, "seeds": [40, 50], **rules}
    return make_study(tiny)


def standing(study: Study, root: Path) -> dict[str, str]:
    """The first letter of the state of each variant's trials."""
    storage = open_storage(root / "tune")
    return {s.variant: "".join(one.state[0] for one in read_trials(storage, s.name)) for s in searches(study)}


def with_loss(pretended: list[Made], root: Path, loss: Loss) -> None:
    """Have the next search find such losses."""
    pretended.append(Made(root, loss))


def test_each_variant_gets_the_same_trials_and_its_own_best(
    tiny: dict[str, Any], tmp_path: Path, pretended: list[Made], capsys: pytest.CaptureFixture[str]
) -> None:
    study = study_of(tiny)
    assert tune(study, tmp_path, Options()) == 0
    assert standing(study, tmp_path) == {"base": "ccc", "position=none": "ccc"}
    assert pretended[0].started.total() == 2 * 3 * 2  # variants, trials, seeds
    (experiment,) = tuned(study, tmp_path)
    assert {name: settings.train.lr for name, settings in experiment.variants.items()} == {
        "base": 0.3,
        "position=none": 0.1,
    }
    assert (experiment.name, experiment.family) == ("copy (tuned)", "copy (tuned)")
    assert (experiment.comparison, experiment.origin, experiment.base) == ("tuned", "copy", "base")
    assert experiment.seeds == study.experiments[0].seeds
    assert experiment.changes == study.experiments[0].changes
    table = read_table(tmp_path)
    assert table is not None
    row = table[(table.variant == "base") & (table.number == 2)].iloc[0]
    assert (row["experiment"], row["state"], row["point"]) == ("copy", "completed", {"train.lr": 0.7})
    assert row["value"] == pytest.approx(0.4 + 0.045)  # mean of both seeds
    assert row["seconds"] == 4.0
    shown = capsys.readouterr().out
    assert "copy        base           lr=0.3" in shown
    assert "0.045" in shown
    assert "lr=0.1 (smallest tried)" in shown
    assert "A best value that is the smallest or largest tried may not be the best there is" in shown
    assert tune(study, tmp_path, Options()) == 0
    again = capsys.readouterr()
    assert again.out == ""  # nothing was searched anew
    assert f"see the report, or {tmp_path / 'tune/trials.csv'}" in again.err


def test_tuned_variants_are_as_in_the_study_but_for_the_point(
    tiny: dict[str, Any], tmp_path: Path, pretended: list[Made]
) -> None:
    tiny["experiments"]["copy"]["train"]["keep_checkpoints"] = True
    study = study_of(tiny)
    tune(study, tmp_path, Options())
    (experiment,) = tuned(study, tmp_path)
    tiny["experiments"]["copy"]["train"]["lr"] = 0.3
    assert experiment.variants["base"] == make_study(tiny).experiments[0].variants["base"]


def test_a_second_search_trains_nothing_and_more_trials_extend_the_first(
    tiny: dict[str, Any], tmp_path: Path, pretended: list[Made]
) -> None:
    """HB-30."""
    tune(study_of(tiny, trials=2), tmp_path, Options())
    assert tune(study_of(tiny, trials=2), tmp_path, Options()) == 0
    assert pretended[1].started.total() == 0
    study = study_of(tiny, trials=3)
    with pytest.raises(ConfigError, match=r"4 of 6 trials have ended"):
        tuned(study, tmp_path)
    tune(study, tmp_path, Options())
    assert pretended[2].started.total() == 4
    assert standing(study, tmp_path)["base"] == "ccc"


def test_a_trial_that_fails_is_tried_again_at_the_next_start_and_the_others_are_not(
    tiny: dict[str, Any], tmp_path: Path, pretended: list[Made]
) -> None:
    """HB-29: four points of which one fails at first take five tries."""
    study = study_of(tiny, trials=2, seeds=[40])
    with_loss(
        pretended, tmp_path, lambda run: "failed" if run.settings.train.lr == 0.1 and run.variant == "base" else 1.0
    )
    assert tune(study, tmp_path, Options(retries=0)) == 1
    assert standing(study, tmp_path) == {"base": "wc", "position=none": "cc"}
    with_loss(pretended, tmp_path, distance)
    assert tune(study, tmp_path, Options(retries=0)) == 0
    assert [one.started.total() for one in pretended if one.started] == [4, 1]
    assert standing(study, tmp_path) == {"base": "cc", "position=none": "cc"}


def test_a_run_that_fails_once_is_tried_again_as_any_run(
    tiny: dict[str, Any], tmp_path: Path, pretended: list[Made]
) -> None:
    failures = iter(["failed"])
    with_loss(pretended, tmp_path, lambda run: next(failures, 1.0))
    assert tune(study_of(tiny), tmp_path, Options(retries=1)) == 0
    assert pretended[-1].started.total() == 13


def test_seeds_of_a_failed_trial_that_are_done_are_not_trained_again(
    tiny: dict[str, Any], tmp_path: Path, pretended: list[Made]
) -> None:
    study = study_of(tiny, trials=1)
    with_loss(pretended, tmp_path, lambda run: "failed" if run.seed == 50 else 1.0)
    assert tune(study, tmp_path, Options(retries=0)) == 1
    with_loss(pretended, tmp_path, lambda run: 2.0)
    assert tune(study, tmp_path, Options()) == 0
    assert pretended[-1].started.total() == 2
    table = read_table(tmp_path)
    assert table is not None
    assert table["value"].tolist() == [1.5, 1.5]


def test_diverged_and_hopeless_trials_are_ends_without_a_value(
    tiny: dict[str, Any], tmp_path: Path, pretended: list[Made]
) -> None:
    ends = {(0.1, 40): "diverged", (0.1, 50): "hopeless", (0.3, 50): "hopeless"}
    with_loss(pretended, tmp_path, lambda run: ends.get((run.settings.train.lr, run.seed), 1.0))
    study = study_of(tiny)
    assert tune(study, tmp_path, Options()) == 0
    assert standing(study, tmp_path) == {"base": "dpc", "position=none": "dpc"}
    (experiment,) = tuned(study, tmp_path)
    assert {settings.train.lr for settings in experiment.variants.values()} == {0.7}


def test_a_variant_without_a_completed_trial_is_left_out_and_a_base_is_refused(
    tiny: dict[str, Any], tmp_path: Path, pretended: list[Made]
) -> None:
    study = study_of(tiny)
    with_loss(pretended, tmp_path, lambda run: 1.0 if run.variant == "base" else "hopeless")
    tune(study, tmp_path, Options())
    (experiment,) = tuned(study, tmp_path)
    assert list(experiment.variants) == list(experiment.changes) == ["base"]
    assert experiment.left_out == {"position=none": "no trial was completed: 3 pruned"}
    with_loss(pretended, tmp_path, lambda run: "diverged")
    tune(study, tmp_path, Options(redo=True))
    with pytest.raises(ConfigError, match=r"copy, base: no trial was completed: 3 diverged; give tune.space"):
        tuned(study, tmp_path)


def test_a_variant_that_changes_what_is_searched_is_left_out(
    tiny: dict[str, Any], tmp_path: Path, pretended: list[Made]
) -> None:
    tiny["experiments"]["copy"]["vary"]["train.lr"] = [0.2]
    study = study_of(tiny)
    tune(study, tmp_path, Options())
    assert list(standing(study, tmp_path)) == ["base", "position=none"]
    (experiment,) = tuned(study, tmp_path)
    assert experiment.left_out == {"lr=0.2": "changes train.lr itself"}


def test_what_is_equal_goes_to_the_first() -> None:
    assert best([standing_of(0, None), standing_of(1, 2.0), standing_of(2, 1.5), standing_of(3, 1.5)]) == 2
    assert best([standing_of(0, None)]) is None


def standing_of(number: int, value: float | None) -> Any:
    from ablations.trials import Standing

    return Standing(number, "completed", value, None, None)


def test_a_run_that_was_done_when_its_search_was_killed_is_only_told(
    tiny: dict[str, Any], tmp_path: Path, pretended: list[Made]
) -> None:
    study = study_of(tiny, trials=1)
    for run in searches(study)[0].runs[0]:
        (tmp_path / "tune" / run.folder).mkdir(parents=True)
        write_run(run, tmp_path / "tune" / run.folder, None)
        write_result(run, tmp_path / "tune" / run.folder, made_up(0.5), "", None)
    assert tune(study, tmp_path, Options()) == 0
    assert pretended[0].started.total() == 2  # of the other variant
    table = read_table(tmp_path)
    assert table is not None
    assert table["value"].tolist() == [0.5, pytest.approx(0.045)]


def test_redo_forgets_what_was_found(tiny: dict[str, Any], tmp_path: Path, pretended: list[Made]) -> None:
    study = study_of(tiny)
    tune(study, tmp_path, Options())
    with_loss(pretended, tmp_path, lambda run: abs(run.settings.train.lr - 0.7))
    tune(study, tmp_path, Options(redo=True))
    assert pretended[-1].started.total() == 12
    assert tuned(study, tmp_path)[0].variants["base"].train.lr == 0.7


@pytest.mark.parametrize(
    "rules",
    [{"space": {"train.lr": [0.1, 0.3, 0.8]}}, {"seeds": [40, 51]}, {"give_up_above": 0.9}, {"give_up_after": 0.5}],
)
def test_other_rules_are_another_search(
    rules: dict[str, Any], tiny: dict[str, Any], tmp_path: Path, pretended: list[Made]
) -> None:
    tune(study_of(tiny), tmp_path, Options())
    with pytest.raises(ConfigError, match="0 of 6 trials have ended"):
        tuned(study_of(tiny, **rules), tmp_path)
    assert len(tuned(study_of(tiny), tmp_path)) == 1


def test_nothing_is_written_where_there_was_no_search(tiny: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="0 of 6 trials have ended; `ablations tune` or `run` comes first"):
        tuned(study_of(tiny), tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ({"seeds": [1]}, r"tune.seeds=\[1\]: 1 may be reported"),
        ({"seeds": [1000, 19]}, r"tune.seeds=\[1000, 19\]: 19 may be reported"),
        ({"trials": 4}, "tune.trials=4: tune.space has 3 points"),
        ({"space": {"train.lr": [0.1, -1.0, 3.0]}}, r"copy, base: train.lr=-1.0: must be 0 or more"),
        ({"space": {"task.length": [3, 5, 7]}}, "give a field of train or model"),
    ],
)
def test_what_cannot_be_searched_is_refused_before_anything_is_written(
    rules: dict[str, Any], said: str, tiny: dict[str, Any], tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=said):
        tune(study_of(tiny, **rules), tmp_path / "new", Options())
    assert not (tmp_path / "new").exists()


def test_seeds_that_the_study_reports_are_refused(tiny: dict[str, Any], tmp_path: Path) -> None:
    tiny["seeds"] = [33, 50]
    with pytest.raises(ConfigError, match="50 may be reported"):
        searches(study_of(tiny))


def test_a_study_that_trains_nothing_is_refused(tiny: dict[str, Any]) -> None:
    from models.probes import PROBES

    tiny["experiments"]["copy"]["train"]["steps"] = 0
    tiny["experiments"]["copy"]["measure"] = [next(iter(PROBES))]
    with pytest.raises(ConfigError, match="study 'tiny': nothing to tune"):
        searches(study_of(tiny))


def test_a_storage_elsewhere_holds_the_search(tiny: dict[str, Any], tmp_path: Path, pretended: list[Made]) -> None:
    url = f"sqlite:///{tmp_path}/search.sqlite"
    study = study_of(tiny)
    tune(study, tmp_path / "here", Options(), url)
    assert not (tmp_path / "here/tune" / JOURNAL).exists()
    assert tune(study, tmp_path / "there", Options(), url) == 0
    assert [one.started.total() for one in pretended] == [12, 0]
    assert tuned(study, tmp_path / "there", url)[0].variants["base"].train.lr == 0.3
    here, there = (read_table(tmp_path / name) for name in ("here", "there"))
    assert here is not None
    assert there is not None
    assert here.equals(there)


def test_the_trials_of_another_machine_are_waited_for_and_taken_over_when_it_is_dead(
    tiny: dict[str, Any], tmp_path: Path, pretended: list[Made], monkeypatch: pytest.MonkeyPatch
) -> None:
    from optuna.trial import TrialState

    from ablations import trials

    study = study_of(tiny)
    search = searches(study)[0]
    other = trials.Trials(
        open_storage(tmp_path / "tune"), search.name, search.points, trials.distributions(search.space)
    )
    trial = other._all()[1]._trial_id
    other.storage.set_trial_user_attr(trial, trials.Worker("elsewhere", 1, "1").mark, 0)
    other.storage.set_trial_state_values(trial, TrialState.RUNNING)
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)

    def sleep(seconds: float) -> None:
        nonlocal now
        now += 50.0

    monkeypatch.setattr(time, "sleep", sleep)
    assert tune(study, tmp_path, Options()) == 0
    assert now > trials.SILENCE
    assert standing(study, tmp_path)["base"] == "ccc"


def test_an_interrupt_gives_back_what_was_begun(tiny: dict[str, Any], tmp_path: Path, pretended: list[Made]) -> None:
    def interrupt(run: Run) -> float:
        raise KeyboardInterrupt

    with_loss(pretended, tmp_path, interrupt)
    study = study_of(tiny)
    with pytest.raises(KeyboardInterrupt):
        tune(study, tmp_path, Options())
    assert standing(study, tmp_path) == {"base": "www", "position=none": "www"}


def test_a_trial_is_another_run_than_one_with_its_settings_and_its_rule_counts(tiny: dict[str, Any]) -> None:
    run = searches(study_of(tiny))[0].runs[0][0]
    assert run.trial is not None
    other = searches(study_of(tiny, give_up_after=0.5))[0].runs[0][0]
    plain = Run(study="tiny", experiment="copy", variant="base", seed=40, settings=run.settings)
    assert len({run.id, other.id, plain.id}) == 3


# The rate of base rises to its peak over all steps, that of the variant over eight times as many: it sees an eighth of
# it. With eight times the peak the two are trained alike, step by step.
STEPS = 120
RATE = 0.03
SLOW = {
    "name": "slow",
    "seeds": 3,
    "tune": {"trials": 2, "space": {"train.lr": [RATE, 8 * RATE]}, "seeds": [77]},
    "experiments": {
        "copy": {
            "task": {"name": "order", "target": "previous", "length": 5, "vocabulary": 7, "validation_size": 60},
            "model": {"architecture": "decoder", "d_model": 12, "n_layers": 1, "n_heads": 3},
            "train": {"steps": STEPS, "batch_size": 8, "warmup": STEPS, "schedule": "constant", "lr": RATE},
            "vary": {"train.warmup": [8 * STEPS]},
        }
    },
}


class Here(Pretence):
    """Trains each run in this process."""

    def wait(self, seconds: float) -> list[Run]:
        run = self.running.pop(0)
        train(run, self.root / run.folder)
        return [run]


def losses(study: Study, root: Path, variant: str) -> list[float]:
    """The test loss of each seed; what was equal already is not trained again, and lies where it was."""
    found, done = [], final_results(root)
    for run in study.runs():
        if run.variant == variant:
            values = {(v["split"], v["metric"], v["coordinate"]): v["value"] for v in done[run.id]["metrics"]}
            value = values["test", "loss", ""]
            assert value is not None
            found.append(value)
    return found


@pytest.mark.slow
def test_what_is_worse_with_the_same_rate_is_equal_with_its_own_and_tuning_sees_no_test(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for where in (module, sweep):
        monkeypatch.setattr(where, "make_executor", lambda root, options, commit: Here(root))
    study = make_study(SLOW)
    train_missing(study, tmp_path, Options())
    base, slow = (losses(study, tmp_path, name) for name in ("base", f"warmup={8 * STEPS}"))
    same = stats.ttest_rel(slow, base).confidence_interval()
    assert same.low > 0.05  # worse

    make = Order.evaluation_batches

    def refusing(self: Order, split: Held) -> list[list[Batch]]:
        assert split != "test", "the test is touched"
        return make(self, split)

    with monkeypatch.context() as patched:
        patched.setattr(Order, "evaluation_batches", refusing)
        with pytest.raises(AssertionError, match="the test is touched"):
            train(study.runs()[0], tmp_path / "refused")
        assert tune(study, tmp_path, Options()) == 0
    (experiment,) = tuned(study, tmp_path)
    assert [settings.train.lr for settings in experiment.variants.values()] == [RATE, 8 * RATE]
    both = replace(study, experiments=(experiment,))
    train_missing(both, tmp_path, Options())
    base, slow = (losses(both, tmp_path, name) for name in ("base", f"warmup={8 * STEPS}"))
    assert slow == pytest.approx(base, rel=1e-4)  # equal


KILLED = """
name: killed
seeds: 1
tune: {trials: 3, seeds: [70, 71], space: {train.lr: {low: 1.0e-3, high: 1.0}}, give_up_above: 0.98}
experiments:
  tagger:
    task: {name: order, target: previous, length: 5, vocabulary: 7, validation_size: 11, test_size: 13}
    model: {architecture: decoder, d_model: 12, n_layers: 1, n_heads: 3, dropout: 0.2}
    train: {steps: 600, batch_size: 3, warmup: 2, validate_every: 60, checkpoint_steps: 20}
    vary: {model.position: [none]}
"""
KILLS = 10


def found_by(root: Path) -> Any:
    """What a search has come to, but for its times."""
    table = read_table(root / "killed")
    assert table is not None
    table["value"] = table["value"].fillna(-1.0)  # of pruned ones; nothing equals NaN
    return table.drop(columns="seconds").to_dict("records")


def started(study: Path, root: Path) -> "subprocess.Popen[str]":
    return processes.start("tune", str(study), "--output", str(root), "--devices", "cpu:2", quiet=True)


@pytest.mark.slow
def test_killed_ten_times_a_search_ends_as_if_it_never_was(tmp_path: Path) -> None:
    study = tmp_path / "killed.yaml"
    study.write_text(KILLED)
    assert started(study, tmp_path / "whole").wait(300) == 0
    rng, root, kills = random.Random(7), tmp_path / "root", 0
    journal = root / "killed/tune" / JOURNAL
    while kills < KILLS:
        lines = length(journal)
        driver, wanted = started(study, root), lines + rng.randint(1, 4)
        while driver.poll() is None and length(journal) < wanted:
            time.sleep(0.005)
        time.sleep(rng.uniform(0.0, 0.3))
        assert driver.poll() is None, "it was through before its time had come"
        driver.send_signal(signal.SIGKILL)
        driver.wait()
        kills += 1
    assert started(study, root).wait(300) == 0
    assert found_by(root) == found_by(tmp_path / "whole")
    assert {row["state"] for row in found_by(root)} == {"completed", "pruned"}
    loaded = make_study_of(study)
    storage = open_storage(root / "killed/tune")
    for search in searches(loaded):
        assert [one.state for one in read_trials(storage, search.name)] == [
            row["state"] for row in found_by(root) if row["variant"] == search.variant
        ]
    assert len(list((root / "killed/tune").glob("*/*/*/result.json"))) == 2 * 3 * 2


def make_study_of(path: Path) -> Study:
    from ablations.load import load_study

    return load_study(str(path))


def length(journal: Path) -> int:
    """Lines of a journal."""
    return journal.read_bytes().count(b"\n") if journal.is_file() else 0


def test_a_database_that_does_not_answer_is_refused_before_anything_is_written(
    tiny: dict[str, Any], tmp_path: Path
) -> None:
    root = tmp_path / "tiny"
    with pytest.raises(ConfigError, match="--storage"):
        tune(study_of(tiny), root, Options(), f"sqlite:///{tmp_path / 'no/such/folder/x.db'}")
    assert not root.exists()


def test_shards_do_not_forget_what_others_search(tiny: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--redo: a shard would forget"):
        tune(study_of(tiny), tmp_path, Options(redo=True, shard=(1, 2)))
