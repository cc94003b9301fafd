"""Seeds that are added until contrasts are decided: which, when, and after an interruption."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ablations import looks
from ablations.load import make_study
from ablations.looks import first_look, until_resolved, with_seeds
from ablations.plan import write_plan
from ablations.results import Metric, Result, write_result, write_run
from ablations.runner import Outcome
from ablations.study import Run, Study
from ablations.sweep import Options, train_missing
from models.config import ConfigError
from reports.rows import final_results, read_plan, read_study

Loss = Callable[[str, int], float]

EFFECTS = {"base": 0.0, "none": 0.0, "learned": 5.0, "rotary": 1.2}
"""In deviations of the noise: one that is found at once, one that takes ten seeds, and none."""


def noisy(variant: str, seed: int) -> float:
    """Loss of a run. The noise of the differences alternates: its mean over an even number of seeds is 0."""
    noise = 0.0 if variant == "base" else (1.0 if seed % 2 else -1.0)
    return 3.0 + EFFECTS[variant] + noise


class Trainer:
    """In place of `train_missing`: writes the plan, and results with the loss of a function."""

    def __init__(self, loss: Loss = noisy) -> None:
        self.loss = loss
        self.trained: list[list[tuple[str, str, int]]] = []
        self.fails: set[tuple[str, int]] = set()
        self.left = 10**6
        """Runs until somebody interrupts."""

    def __call__(self, study: Study, root: Path, options: Options) -> list[Outcome]:
        write_plan(study, study.runs(), root)
        done = final_results(root)
        self.trained.append([])
        return [self.train(run, root) for run in study.runs() if run.id not in done]

    def train(self, run: Run, root: Path) -> Outcome:
        if not self.left:
            raise KeyboardInterrupt
        self.left -= 1
        self.trained[-1].append((run.experiment, run.variant, run.seed))
        failed = (run.variant, run.seed) in self.fails
        folder = root / run.folder
        folder.mkdir(parents=True, exist_ok=True)
        write_run(run, folder, None)
        metrics = [] if failed else [Metric("test", "loss", "", self.loss(run.variant, run.seed))]
        result = Result("failed" if failed else "completed", metrics=metrics)
        write_result(run, folder, result, "", None)
        return Outcome(run, result.status, None)

    @property
    def numbers(self) -> list[dict[str, int]]:
        """Runs of each variant in each round."""
        rounds = ([variant for _, variant, _ in of] for of in self.trained)
        return [{variant: of.count(variant) for variant in EFFECTS if variant in of} for of in rounds]


@pytest.fixture
def trainer(monkeypatch: pytest.MonkeyPatch) -> Trainer:
    made = Trainer()
    monkeypatch.setattr(looks, "train_missing", made)
    monkeypatch.setattr("reports.pages.page.build", lambda root: root / "index.html")
    return made


def with_variants(tiny: dict[str, Any], *names: str) -> dict[str, Any]:
    """The tiny study with variants named after their positions; the base is none of them."""
    experiment = tiny["experiments"]["copy"]
    experiment.pop("vary", None)
    experiment["variants"] = {name: {"model.position": name} for name in names if name != "base"}
    return tiny


@pytest.fixture
def study(tiny: dict[str, Any]) -> Study:
    return make_study(with_variants(tiny, *EFFECTS))


def seeds(root: Path) -> dict[str, int]:
    """Number of planned seeds of each variant, all of them from 0 on."""
    found: dict[str, list[int]] = {}
    for run in read_plan(root)["runs"]:
        found.setdefault(run["variant"], []).append(run["seed"])
    assert all(of == list(range(len(of))) for of in found.values())
    return {variant: len(of) for variant, of in found.items()}


def test_undecided_contrasts_get_the_seeds_of_the_next_look_and_so_does_their_base(
    study: Study, trainer: Trainer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """At 98.33 % with deviation 1.05: 5 +- 1.9 at 5 seeds, 1.2 +- 1.9 at 5 and 1.2 +- 1.0 at 10, 0 +- 0.6 at 20."""
    assert until_resolved(study, tmp_path, Options()) == 0
    assert trainer.numbers == [
        {"base": 5, "none": 5, "learned": 5, "rotary": 5},
        {"base": 5, "none": 5, "rotary": 5},
        {"base": 10, "none": 10},
    ]
    assert seeds(tmp_path) == {"base": 20, "none": 20, "learned": 5, "rotary": 10}
    told = capsys.readouterr()
    assert told.out == f"{tmp_path / 'index.html'}\n"
    *looked, last = told.err.splitlines()
    assert looked == [
        "1 of 3 contrasts decided; 2 undecided, and the base, get 10 seeds",
        "2 of 3 contrasts decided; 1 undecided, and the base, get 20 seeds",
        "2 of 3 contrasts decided; undecided: copy: none (20 seeds)",
    ]
    assert last.endswith(f" report {tmp_path}/ --open")


def test_the_plan_says_at_which_numbers_it_was_looked(study: Study, trainer: Trainer, tmp_path: Path) -> None:
    until_resolved(study, tmp_path, Options())
    plan = read_plan(tmp_path)
    assert plan["experiments"]["copy"]["looks"] == [5, 10, 20]
    assert plan["seeds"] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("interrupted", [3, 20, 27, 35, 54])
def test_after_an_interruption_it_ends_with_the_same_runs(
    study: Study, trainer: Trainer, tmp_path: Path, interrupted: int
) -> None:
    """55 runs in all, whenever it was stopped, each trained once."""
    trainer.left = interrupted
    with pytest.raises(KeyboardInterrupt):
        until_resolved(study, tmp_path, Options())
    trainer.left = 10**6
    assert until_resolved(study, tmp_path, Options()) == 0
    assert sum(map(len, trainer.trained)) == 55
    assert seeds(tmp_path) == {"base": 20, "none": 20, "learned": 5, "rotary": 10}
    assert until_resolved(study, tmp_path, Options()) == 0
    assert sum(map(len, trainer.trained)) == 55, "nothing is left to train"


def test_a_contrast_with_a_failed_run_waits_until_that_has_succeeded(
    study: Study, trainer: Trainer, tmp_path: Path
) -> None:
    trainer.fails = {("none", 3)}
    assert until_resolved(study, tmp_path, Options()) == 1
    assert seeds(tmp_path) == {"base": 10, "none": 5, "learned": 5, "rotary": 10}
    trainer.fails = set()
    assert until_resolved(study, tmp_path, Options()) == 0
    assert seeds(tmp_path) == {"base": 20, "none": 20, "learned": 5, "rotary": 10}


def test_a_failure_that_is_mended_in_a_later_round_is_none(study: Study, trainer: Trainer, tmp_path: Path) -> None:
    trainer.fails = {("learned", 2)}

    def mended(variant: str, seed: int) -> float:
        trainer.fails.discard(("learned", 2) if (variant, seed) == ("base", 4) else ("", 0))
        return noisy(variant, seed)

    trainer.loss = mended
    assert until_resolved(study, tmp_path, Options()) == 0
    assert read_study(tmp_path).count("completed") == 55


def test_decided_experiments_get_no_more_and_those_of_one_variant_have_no_looks(
    tiny: dict[str, Any], trainer: Trainer, tmp_path: Path
) -> None:
    copy = with_variants(tiny, "none")["experiments"]["copy"]
    other = {**copy, "variants": {"learned": {"model.position": "learned"}}, "train": {**copy["train"], "steps": 7}}
    alone = {"task": copy["task"], "model": copy["model"], "train": {**copy["train"], "steps": 5}}
    tiny["experiments"] |= {"other": other, "alone": alone}
    until_resolved(make_study(tiny), tmp_path, Options())
    found: dict[str, int] = {}
    for run in read_plan(tmp_path)["runs"]:
        found[run["experiment"]] = found.get(run["experiment"], 0) + 1
    assert found == {"copy": 40, "other": 10, "alone": 5}
    looked = {name: plan["looks"] for name, plan in read_plan(tmp_path)["experiments"].items()}
    assert looked == {"copy": [5, 10, 20], "other": [5, 10, 20], "alone": []}


def test_it_ends_at_the_last_look_that_is_given(study: Study, trainer: Trainer, tmp_path: Path) -> None:
    until_resolved(study, tmp_path, Options(), looks=(3, 4))
    assert seeds(tmp_path) == {"base": 4, "none": 4, "learned": 3, "rotary": 4}


def test_seeds_of_a_contrast_are_given_to_its_variant_and_base_alone(study: Study) -> None:
    first = first_look(study)
    more = with_seeds(with_seeds(first, {("copy", "none"): 20}), {("copy", "rotary"): 10})
    (experiment,) = more.experiments
    assert {variant: len(experiment.seeds_of(variant)) for variant in experiment.variants} == {
        "base": 20,
        "none": 20,
        "learned": 5,
        "rotary": 10,
    }
    assert with_seeds(first, {}) == first


@pytest.mark.parametrize(("options", "named"), [({"shard": (1, 2)}, "--shard 1/2"), ({"redo": True}, "--redo")])
def test_what_does_not_go_with_it_is_refused_before_anything_is_written(
    study: Study, trainer: Trainer, tmp_path: Path, options: dict[str, Any], named: str
) -> None:
    with pytest.raises(ConfigError, match=named):
        until_resolved(study, tmp_path, Options(**options))
    assert trainer.trained == []
    assert list(tmp_path.iterdir()) == []


def test_noise_of_the_made_up_losses() -> None:
    """What the other tests rest on: differences of mean 0 and deviation 1.03 at 20 seeds."""
    found = [noisy("none", seed) - noisy("base", seed) for seed in range(20)]
    assert np.mean(found) == 0
    assert np.std(found, ddof=1) == pytest.approx(1.0260, abs=1e-4)


@pytest.mark.slow
def test_runs_that_are_trained_are_looked_at(tiny: dict[str, Any], tmp_path: Path) -> None:
    """No stand-in: two seeds, then three, and a page that is whole."""
    status = until_resolved(make_study(with_variants(tiny, "none")), tmp_path, Options(devices="cpu:1"), looks=(2, 3))
    assert status == 0
    assert seeds(tmp_path) in ({"base": 3, "none": 3}, {"base": 2, "none": 2})  # the losses are not made up
    assert read_study(tmp_path).count("completed") == len(read_plan(tmp_path)["runs"])
    assert json.loads((tmp_path / "plan.json").read_text())["experiments"]["copy"]["looks"] == [2, 3]
    assert (tmp_path / "report" / "index.html").is_file()


def test_seeds_added_by_looking_are_not_taken_for_ones_fixed_beforehand(
    study: Study, trainer: Trainer, tmp_path: Path
) -> None:
    until_resolved(study, tmp_path, Options())
    before = (tmp_path / "plan.json").read_bytes()
    with pytest.raises(ConfigError, match="copy: its seeds were added by looking at results"):
        train_missing(study, tmp_path, Options())
    assert (tmp_path / "plan.json").read_bytes() == before
