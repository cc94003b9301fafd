"""A made-up study in all comparisons: `slow` needs another learning rate, `small` more parameters."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reports.experiment import Experiment
from reports.fairness import Fair, fair_experiments
from reports.rows import read_study
from reports.table import make_tables
from reports.trials import TrialRow, read_trials, write_trials

CHANGES = {"slow": {"model.norm": "none"}, "small": {"model.n_heads": 1}, "huge": {"model.architecture": "lstm"}}
WHY = "d_ff=1: still 140 % of the base's parameters"

Losses = Mapping[str, Sequence[float]]
SAME: Losses = {
    "base": (1.0, 1.1, 1.2),
    "slow": (1.5, 1.61, 1.7),
    "small": (1.25, 1.36, 1.45),
    "huge": (1.02, 1.09, 1.2),
}
MATCHED: Losses = {"base": (1.0, 1.1, 1.2), "slow": (1.5, 1.61, 1.7), "small": (0.75, 0.86, 0.95)}
TUNED: Losses = {
    "base": (0.9, 1.0, 1.1),
    "slow": (0.91, 0.98, 1.11),
    "small": (1.15, 1.26, 1.35),
    "huge": (0.92, 0.99, 1.1),
}
RATES = {"base": 0.003, "slow": 0.001, "small": 0.003, "huge": 0.009}
"""The best learning rate of each."""
TRIED = (0.0003, 0.001, 0.003, 0.009)


def fair_study(study: Any, comparisons: Sequence[str] = ("matched", "tuned")) -> Path:
    """Write the study with the experiment `e` in these comparisons; gives its folder."""
    study.experiment("e", CHANGES, headline=["loss", "bleu"], marks={"huge": ["leaks_future"]})
    _runs(study, "e", SAME, {})
    if "matched" in comparisons:
        changes = {name: change for name, change in CHANGES.items() if name != "huge"}
        _derive(study, "matched", changes, {"huge": WHY})
        _runs(study, "e (matched)", MATCHED, {"small": {"d_ff": 300}}, section="model")
    if "tuned" in comparisons:
        _derive(study, "tuned", CHANGES, {})
        _runs(study, "e (tuned)", TUNED, {name: {"lr": rate} for name, rate in RATES.items()}, section="train")
        write_trials(study.folder, trials())
    return Path(study.write())


def share_runs(study: Any, origin: str, other: str, variants: Sequence[str]) -> None:
    """Plan runs of one experiment as those of another with the same settings, before they are made."""
    for run in study.plan["runs"]:
        if run["experiment"] == other and run["variant"] in variants:
            same = study.planned(origin, run["variant"], run["seed"])
            run.update({name: same[name] for name in ("id", "folder")})


def unchanged_study(study: Any) -> Path:
    """A study in which matching leaves the base and `slow` as they are; `small` is widened."""
    changes = {name: CHANGES[name] for name in ("slow", "small")}
    study.experiment("e", changes, headline=["loss", "bleu"])
    _runs(study, "e", {name: SAME[name] for name in ("base", *changes)}, {})
    _derive(study, "matched", changes, {})
    share_runs(study, "e", "e (matched)", ["base", "slow"])
    _runs(study, "e (matched)", {"small": MATCHED["small"]}, {"small": {"d_ff": 300}}, section="model")
    return Path(study.write())


def _derive(study: Any, comparison: str, changes: Mapping[str, Any], left_out: Mapping[str, str]) -> None:
    name = f"e ({comparison})"
    facts = {"comparison": comparison, "origin": "e", "left_out": dict(left_out), "family": name}
    study.experiment(name, changes, headline=["loss", "bleu"], **facts)


def _runs(
    study: Any, experiment: str, losses: Losses, settings: Mapping[str, Mapping[str, Any]], section: str = ""
) -> None:
    for variant, values in losses.items():
        for seed, loss in zip(study.seeds, values, strict=False):
            few = 200_000 if variant == "small" and experiment != "e (matched)" else 250_000
            metrics = [("test", "loss", "", loss), ("test", "bleu", "", 50 - 10 * loss)]
            folder = study.run(experiment, variant, seed, metrics, cost={"parameters": few})
            run = json.loads((folder / "run.json").read_text("utf-8"))
            run["config"].setdefault(section or "train", {}).update(settings.get(variant, {}))
            (folder / "run.json").write_text(json.dumps(run), "utf-8")


def trials(path: str = "train.lr") -> list[TrialRow]:
    """Four of each variant: parabolas over the logarithm; of `slow` the largest rate diverges, the next is pruned."""
    found = []
    for variant in TUNED:
        for number, rate in enumerate(TRIED):
            value = round(1 + abs(TRIED.index(RATES[variant]) - number) / 4, 6)
            state: Any = {2: "pruned", 3: "diverged"}.get(number, "completed") if variant == "slow" else "completed"
            known = value if state == "completed" else None
            found.append(TrialRow("e", variant, number, state, known, 2.5, {path: rate}))
    return found


def experiments_of(folder: Path) -> list[Experiment]:
    """Every experiment of a study."""
    tables = make_tables(read_study(folder))
    return [Experiment(tables, name) for name in tables.study.plan["experiments"]]


def fair_of(folder: Path) -> Fair:
    """The one experiment that has comparisons."""
    (found,) = fair_experiments(experiments_of(folder), read_trials(folder))
    return found
