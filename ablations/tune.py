"""`ablations tune`: the best settings of each variant, searched with the same budget for all, on validation alone.

A trial is a point of the space, tried with the seeds of the search, none of which is reported. Its runs are runs like
any other, below `tune` in the study's folder: they go to the same devices, and on from their checkpoints. Which trials
there are depends on the study alone, and not on who tries them or in which order.
"""

import hashlib
import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, cast

from ablations import screen
from ablations.live import shown
from ablations.plan import write_plan
from ablations.results import current_commit
from ablations.runner import Executor, Outcome, run_all
from ablations.screen import Column
from ablations.space import Point, Space, at_point, make_space, obstacle, without
from ablations.study import Experiment, Run, Settings, Study, Trial
from ablations.sweep import Options, checked, forget, longest_first, make_executor, refuse_other_study, say, sole_sweep
from ablations.untested import untested
from models.config import ConfigError
from reports.rows import COUNTED, SCHEMA, ResultFile, read_result, status
from reports.trials import TrialRow, TrialState, write_trials

if TYPE_CHECKING:  # optuna takes a second to import, and not every command that knows of tuning tunes
    from optuna.storages import BaseStorage

    from ablations.trials import Standing, Trials

FOLDER = "tune"
"""Below the study's: the runs of trials, the journal and trials.csv."""
ENDED = ("completed", "pruned", "diverged")
"""States of trials that are not tried again."""
REPORTED = range(20)
"""Seeds that `run --until-resolved` may come to."""
PAUSE = 2.0  # seconds between two looks at the trials of other workers


@dataclass(frozen=True, kw_only=True)
class Search:
    """The search for the best settings of one variant."""

    study: Study
    experiment: Experiment
    variant: str
    space: Space

    @property
    def name(self) -> str:
        """Of the Optuna study: it ends in a hash of all that decides a trial's value, and tells searches apart."""
        rules = self.study.tune
        deciding = {
            "settings": without(self.settings, list(self.space.axes)),
            "space": self.space.as_list(),
            "seeds": rules.seeds,
            "give_up": [rules.give_up_after, rules.give_up_above],
            "schema": SCHEMA,
        }
        digest = hashlib.sha256(json.dumps(deciding, sort_keys=True).encode()).hexdigest()[:8]
        return f"{self.study.name} / {self.experiment.name} / {self.variant} / {digest}"

    @property
    def settings(self) -> Settings:
        """Of the variant, as the study has them."""
        return self.experiment.variants[self.variant]

    @cached_property
    def points(self) -> list[Point]:
        """By the number of the trial."""
        return self.space.points(self.study.tune.trials)

    def tuned(self, number: int) -> Settings:
        """The variant's settings at a point."""
        return at_point(self.settings, self.points[number], f"{self.experiment.name}, {self.variant}: ")

    @cached_property
    def runs(self) -> list[list[Run]]:
        """By the number of the trial, one for each seed of the search. They have no test, and take no measurements."""
        return [self._runs(number) for number in range(len(self.points))]

    def _runs(self, number: int) -> list[Run]:
        rules = self.study.tune
        settings = self.tuned(number)
        train = replace(settings.train, keep_checkpoints=False)
        return [
            Run(
                study=self.study.name,
                experiment=self.experiment.name,
                variant=self.variant,
                seed=seed,
                settings=untested(replace(settings, train=train, measure=())),
                comparison="tuned",
                trial=Trial(number=number, give_up_after=rules.give_up_after, give_up_above=rules.give_up_above),
            )
            for seed in rules.seeds
        ]


def tune(study: Study, root: Path, options: Options, storage: str | None = None) -> int:
    """Search the best settings of every variant. Returns the exit status: 0, or 1 where some trial has failed.

    Args:
        study: whose experiments are tuned; those that train nothing are passed over.
        root: the study's folder.
        options: where the runs go. `redo` forgets what earlier searches have found.
        storage: Optuna URL, for several machines; None: a journal in the study's folder.

    Raises ConfigError or DataError as `searches` and `ablations.sweep.train_missing` do, before anything is written.
    """
    if options.redo and options.shard != (1, 1):
        raise ConfigError("--redo: a shard would forget what the others are searching; leave out --redo or --shard")
    wanted = searches(study)
    costs = _costs(wanted)
    executor = make_executor(root / FOLDER, options, current_commit())
    _check_storage(storage)
    for run in (search.runs[0][0] for search in wanted):
        executor.check(run)
    with sole_sweep(root, options.shard), _storage_may_fail(storage):
        refuse_other_study(study, root)
        if not (root / "plan.json").is_file():  # by which other commands know the folder
            write_plan(study, study.runs(), root)
        work = _Work(wanted, root, _opened(wanted, root, options, storage), costs)
        searched = work.do(executor, options.retries)
        standings = work.standings()
    write_trials(root, _rows(standings))
    if searched:
        _show(standings)
    left = sum(one.state in ("waiting", "running", "failed") for _, found in standings for one in found)
    if left:
        say(f"{left} trials have not ended; the same command tries them again")
    return 1 if left else 0


def searches(study: Study) -> list[Search]:
    """One for each variant of each experiment that trains, but for those that cannot be (`obstacle`).

    Raises ConfigError for a space that does not fit, for seeds that are reported too and where nothing trains.
    """
    _check_seeds(study)
    found = []
    for experiment in _origins(study):
        space = make_space(study.tune.space, experiment.variants[experiment.base])
        for variant in experiment.variants:
            if obstacle(experiment, variant, space) is None:
                found.append(Search(study=study, experiment=experiment, variant=variant, space=space))
    for search in found:
        _ = search.runs  # refuses a point that a variant cannot have
    if not found:
        raise ConfigError(f"study {study.name!r}: nothing to tune, for it trains nothing")
    return found


def _origins(study: Study) -> list[Experiment]:
    """Experiments that are tuned: those that train."""
    plain = [experiment for experiment in study.experiments if experiment.comparison == "same"]
    return [experiment for experiment in plain if experiment.variants[experiment.base].train.steps]


def _check_seeds(study: Study) -> None:
    reported = {*REPORTED, *study.seeds}
    for experiment in study.experiments:
        reported.update(*(experiment.seeds_of(variant) for variant in experiment.variants))
    if both := sorted(reported.intersection(study.tune.seeds)):
        raise ConfigError(f"tune.seeds={list(study.tune.seeds)}: {both[0]} may be reported; take others, from 20")


class Unsearched(ConfigError):
    """The best settings are asked for, and the search for them has not ended."""


def tuned(study: Study, root: Path, storage: str | None = None) -> list[Experiment]:
    """For each experiment that was tuned, one more whose variants have the best settings that the search found.

    That is the point with the lowest mean validation loss; of equal ones the first. A variant that was not searched, or
    for which no trial was completed, is left out, with the reason.

    Raises Unsearched where a search has not ended, and ConfigError where no trial of a base was completed.
    """
    wanted = {(search.experiment.name, search.variant): search for search in searches(study)}
    standings = _standings(list(wanted.values()), root, storage)
    return [_tuned(experiment, wanted, standings) for experiment in _origins(study)]


def _standings(wanted: Sequence[Search], root: Path, storage: str | None) -> dict[str, list["Standing"]]:
    """The trials of searches that have ended, by the name of the search."""
    from ablations.trials import JOURNAL, open_storage, read_trials

    there = storage is not None or (root / FOLDER / JOURNAL).is_file()
    with _storage_may_fail(storage):
        opened = open_storage(root / FOLDER, storage) if there else None
        found = {search.name: read_trials(opened, search.name) if opened else [] for search in wanted}
    found = {search.name: found[search.name][: len(search.points)] for search in wanted}
    ended = sum(one.state in ENDED for standing in found.values() for one in standing)
    if ended < (trials := sum(len(search.points) for search in wanted)):
        where = f"study {wanted[0].study.name!r}"
        raise Unsearched(f"{where}: {ended} of {trials} trials have ended; `ablations tune` or `run` comes first")
    return found


def _tuned(
    origin: Experiment, wanted: Mapping[tuple[str, str], Search], standings: Mapping[str, list["Standing"]]
) -> Experiment:
    variants, left_out = {}, {}
    for variant in origin.variants:
        search = wanted.get((origin.name, variant))
        found = [] if search is None else standings[search.name]
        number = best(found)
        if search is None:
            left_out[variant] = obstacle(origin, variant, wanted[origin.name, origin.base].space) or ""
        elif number is None:
            left_out[variant] = f"no trial was completed: {_counts(found)}"
        else:
            variants[variant] = search.tuned(number)
    if origin.base not in variants:
        raise ConfigError(f"{origin.name}, {origin.base}: {left_out[origin.base]}; give tune.space other values")
    return replace(
        origin,
        name=f"{origin.name} (tuned)",
        family=f"{origin.family} (tuned)",
        comparison="tuned",
        origin=origin.name,
        variants=variants,
        changes={name: changes for name, changes in origin.changes.items() if name in variants},
        left_out=left_out,
    )


def best(found: Sequence["Standing"]) -> int | None:
    """Number of the trial with the lowest value, of equal ones the first; None where none was completed."""
    values = [(one.value, one.number) for one in found if one.value is not None]
    return min(values)[1] if values else None


def _counts(found: Sequence["Standing"]) -> str:
    return ", ".join(f"{number} {state}" for state, number in Counter(one.state for one in found).items())


def _costs(wanted: Sequence[Search]) -> dict[str, float]:
    """Operations of each run, by id. Looks at model and data of every point before anything is written."""
    trials = [runs for search in wanted for runs in search.runs]
    known = checked([runs[0] for runs in trials])
    return {run.id: known[runs[0].id] for runs in trials for run in runs}


def _opened(wanted: Sequence[Search], root: Path, options: Options, storage: str | None) -> dict[str, "Trials"]:
    """The trials of each search, by its name; those there are not yet are made."""
    from ablations import trials

    opened: BaseStorage = trials.open_storage(root / FOLDER, storage)
    if options.redo:
        forget({run.id for search in wanted for runs in search.runs for run in runs}, root / FOLDER)
        for search in wanted:
            trials.forget(opened, search.name)
    return {s.name: trials.Trials(opened, s.name, s.points, trials.distributions(s.space)) for s in wanted}


def _check_storage(storage: str | None) -> None:
    """Raises ConfigError for a database that does not answer, before anything is written."""
    from ablations.trials import open_storage

    if storage is not None:
        with _storage_may_fail(storage):
            open_storage(Path(), storage)


@contextmanager
def _storage_may_fail(storage: str | None) -> Iterator[None]:
    """One line for a database that has gone away."""
    from optuna.exceptions import StorageInternalError

    try:
        yield
    except StorageInternalError as error:
        why = " ".join(str(error.__cause__ or error).split())[:200]
        raise ConfigError(f"--storage: does not answer: {why}; the same command goes on from here") from error


class _Work:
    """The part of all searches that this process does."""

    def __init__(
        self, wanted: Sequence[Search], root: Path, trials: Mapping[str, "Trials"], costs: Mapping[str, float]
    ) -> None:
        self.folder, self.trials, self.costs = root / FOLDER, trials, costs
        self.searches = {search.name: search for search in wanted}
        self._waited_for: dict[tuple[str, int], set[str]] = {}
        """Of each trial that is tried here: folders of its runs that have not ended."""

    def do(self, executor: Executor, retries: int) -> bool:
        """Try what is to be tried, until all trials have ended, wherever they are tried. False: there was nothing."""
        from ablations.trials import beating

        missing = self._missing()
        if not missing:
            say(f"nothing to tune: all trials have ended; see the report, or {self.folder / 'trials.csv'}")
            return False
        say(f"{len(missing)} runs of trials to train in {self.folder}")
        with executor as places, beating(list(self.trials.values())):
            try:
                for _ in shown(self._outcomes(places, retries), missing, self.folder, self.costs):
                    pass
            finally:
                for trials in self.trials.values():
                    for number in list(trials.mine):
                        trials.give_back(number, "interrupted")
        return True

    def standings(self) -> list[tuple[Search, list["Standing"]]]:
        """The trials of each search as they stand."""
        return [(search, self.trials[name].standing()) for name, search in self.searches.items()]

    def _missing(self) -> list[Run]:
        """The runs of trials that have not ended, what needs several devices or takes long first."""
        open_ = [
            run
            for search, found in self.standings()
            for one in found
            if one.state in ("waiting", "running")
            for run in search.runs[one.number]
        ]
        return longest_first(open_, self.costs)

    def _outcomes(self, executor: Executor, retries: int) -> Iterator[Outcome]:
        """Every run as it ends. Trials of workers that have died are taken over, those at work waited for."""
        while True:
            for trials in self.trials.values():
                trials.revive()
            for outcome in run_all(self._claimed(), self.folder, executor, retries):
                self._note(outcome)
                yield outcome
            waiting, elsewhere = (any(states) for states in zip(*(t.open() for t in self.trials.values()), strict=True))
            if not waiting and not elsewhere:
                return
            if not waiting:
                time.sleep(PAUSE)

    def _claimed(self) -> Iterator[Run]:
        """Runs of trials that are nobody else's, each claimed when its first run is asked for."""
        places = {(run.experiment, run.variant, cast(Trial, run.trial).number): None for run in self._missing()}
        names = {(search.experiment.name, search.variant): name for name, search in self.searches.items()}
        for experiment, variant, number in places:
            name = names[experiment, variant]
            if self.trials[name].claim(number):
                runs = self.searches[name].runs[number]
                left = [run for run in runs if status(self.folder / run.folder) not in COUNTED]
                self._waited_for[name, number] = {run.folder for run in left}
                if not left:  # the last worker was killed when all that was missing was to say so
                    self._close(name, number)
                yield from left

    def _note(self, outcome: Outcome) -> None:
        if outcome.again:
            return
        for (name, number), folders in list(self._waited_for.items()):
            folders.discard(outcome.run.folder)
            if not folders and number in self.trials[name].mine:
                self._close(name, number)

    def _close(self, name: str, number: int) -> None:
        """Say what a trial has come to, all of whose runs have ended."""
        del self._waited_for[name, number]
        results = [read_result(self.folder / run.folder) for run in self.searches[name].runs[number]]
        ended = [cast(ResultFile, result) for result in results]
        if failed := [result["reason"] for result in ended if result["status"] not in COUNTED]:
            self.trials[name].give_back(number, f"failed: {failed[0]}")
            return
        seconds = sum(result["cost"].get("wall_seconds") or 0.0 for result in ended)
        diverged = [f"diverged: {result['reason']}" for result in ended if result["status"] == "diverged"]
        reasons = [*diverged, *(result["reason"] for result in ended if result["reason"])]
        value = None if reasons else fmean(_loss(result) for result in ended)
        self.trials[name].finish(number, value, round(seconds, 3), reasons[0] if reasons else None)


def _loss(result: ResultFile) -> float:
    """The lowest validation loss of a completed run."""
    found = {(value["split"], value["metric"], value["coordinate"]): value["value"] for value in result["metrics"]}
    return cast(float, found["validation", "loss", ""])


def _rows(standings: Sequence[tuple[Search, list["Standing"]]]) -> list[TrialRow]:
    """What trials.csv holds."""
    return [
        TrialRow(
            experiment=search.experiment.name,
            variant=search.variant,
            number=one.number,
            state=cast(TrialState, one.state),
            value=one.value,
            seconds=one.seconds,
            point=search.points[one.number],
        )
        for search, found in standings
        for one in found
    ]


HEADS = (
    Column(name="experiment"),
    Column(name="variant"),
    Column(name="best"),
    Column(name="validation loss", right=True),
    Column(name="trials", rank=1),
)
"""Of the table that `_show` prints."""
SMALLEST, LARGEST = "smallest tried", "largest tried"
AT_AN_END = "A best value that is the smallest or largest tried may not be the best there is: widen tune.space."


def _show(standings: Sequence[tuple[Search, list["Standing"]]]) -> None:
    """Print the best point of each variant, and what it means where that lies at an end of the values tried."""
    rows = [
        (search.experiment.name, search.variant, *_found(search, found), _counts(found)) for search, found in standings
    ]
    screen.say("best settings")
    screen.show(HEADS, rows, grouped=True)
    if any(mark in row[2] for row in rows for mark in (SMALLEST, LARGEST)):
        screen.say(AT_AN_END)


def _found(search: Search, found: Sequence["Standing"]) -> tuple[str, str]:
    """Best point and its loss."""
    number = best(found)
    return ("", "") if number is None else (_text(search.points[number], search.points), f"{found[number].value:.4g}")


def _text(point: Point, points: Sequence[Point]) -> str:
    """The values of a point, marked where they are the smallest or largest of all points."""
    return ", ".join(f"{path.rpartition('.')[2]}={_value(path, point, points)}" for path in point)


def _value(path: str, point: Point, points: Sequence[Point]) -> str:
    value, tried = point[path], {other[path] for other in points}
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    if len(tried) < 3 or any(type(other) not in (int, float) for other in tried):
        return text
    marks = {min(tried): f" ({SMALLEST})", max(tried): f" ({LARGEST})"}
    return text + marks.get(value, "")
