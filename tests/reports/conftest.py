"""Made-up study folders: written field by field as the schema says, with no help from the reader."""

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Values = list[tuple[str, str, str, float | None]]


class MadeUpStudy:
    """A study's folder in the making: experiments, then runs, then `write()`."""

    def __init__(self, folder: Path, name: str = "made-up", seeds: Sequence[int] = (0, 1, 2)) -> None:
        self.folder = folder
        self.seeds = list(seeds)
        self.plan: dict[str, Any] = {"schema": 1, "study": name, "seeds": self.seeds, "experiments": {}, "runs": []}
        folder.mkdir(parents=True)

    def experiment(
        self,
        name: str,
        changes: Mapping[str, Mapping[str, Any]],
        *,
        base: str = "base",
        kind: str = "translation",
        task: str = "german",
        headline: Sequence[str] = ("loss", "bleu", "accuracy"),
        chance: Mapping[str, float] | None = None,
        design: str = "variants",
        **grid: Any,
    ) -> None:
        """Plan an experiment: a base, and variants with what they change; `grid` holds `grid` and `family`, if any."""
        variants = [base, *changes]
        self.plan["experiments"][name] = {
            "task": task,
            "kind": kind,
            "headline": list(headline),
            "chance": dict({"accuracy": 0.5} if chance is None else chance),
            "base": base,
            "design": design,
            "variants": variants,
            "changes": {variant: dict(change) for variant, change in changes.items()},
            **grid,
        }
        for variant in variants:
            for seed in self.seeds:
                number = len(self.plan["runs"])
                run = {"experiment": name, "variant": variant, "seed": seed, "id": f"{number:08x}"}
                self.plan["runs"].append({**run, "folder": f"e{len(self.plan['experiments'])}/v{number}/seed-{seed}"})

    def planned(self, experiment: str, variant: str, seed: int) -> dict[str, Any]:
        """The plan's entry for a run."""
        key = (experiment, variant, seed)
        found = [r for r in self.plan["runs"] if (r["experiment"], r["variant"], r["seed"]) == key]
        return found[0]

    def run(
        self,
        experiment: str,
        variant: str,
        seed: int,
        values: Values,
        *,
        status: str = "completed",
        reason: str | None = None,
        curve: Sequence[tuple[int, str, float]] = (),
        cost: Mapping[str, Any] | None = None,
        folder: str | None = None,
        **fields: Any,
    ) -> Path:
        """Write what a run leaves behind; `fields` replace those of result.json."""
        planned = self.planned(experiment, variant, seed)
        place = self.folder / (folder or planned["folder"])
        place.mkdir(parents=True)
        changes = self.plan["experiments"][experiment]["changes"].get(variant, {})
        self._write_run(place, planned, resolved(changes))
        with (place / "metrics.csv").open("w", encoding="utf-8", newline="") as file:
            lines = csv.writer(file)
            lines.writerow(["step", "split", "metric", "coordinate", "value"])
            lines.writerows([step, "validation", metric, "", repr(float(value))] for step, metric, value in curve)
        metrics = [{"split": s, "metric": m, "coordinate": c, "value": v} for s, m, c, v in values]
        result = {
            "schema": 1,
            "id": planned["id"],
            "status": status,
            "reason": reason,
            "metrics": metrics,
            "signatures": {"bleu": "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0"},
            "cost": {**COST, **(cost or {})},
            "versions": {"python": "3.11.9", "torch": "2.13.0+cpu", "transformer-ablations": "0.1.0"},
            "commit": "3adf61e154c3fe3fca428ad6bc3818b27a3b8291",
            "host": "bench-1",
            "device": "cpu",
            "started": "2026-01-05T10:00:00+00:00",
            "ended": "2026-01-05T10:00:17+00:00",
        }
        (place / "result.json").write_text(json.dumps({**result, **fields}), encoding="utf-8")
        return place

    def write(self) -> Path:
        """Write the plan; gives the study's folder."""
        (self.folder / "plan.json").write_text(json.dumps(self.plan), encoding="utf-8")
        return self.folder

    def _write_run(self, place: Path, planned: Mapping[str, Any], config: Mapping[str, Any]) -> None:
        run = {
            "schema": 1,
            "id": planned["id"],
            "study": self.plan["study"],
            "experiment": planned["experiment"],
            "variant": planned["variant"],
            "seed": planned["seed"],
            "comparison": "same",
            "config": {**config, "seed": planned["seed"], "data": "9f2c41d0"},
            "signature": f"study:{self.plan['study']}|variant:{planned['variant']}|seed:{planned['seed']}",
        }
        (place / "run.json").write_text(json.dumps(run), encoding="utf-8")


COST = {
    "parameters": 286976,
    "training_flops": 1.31e12,
    "wall_seconds": 17.25,
    "train_seconds": 14.5,
    "busy_seconds": 13.5,
    "tokens_per_second": 14800.0,
    "peak_memory_mib": 512.0,
}

CONFIG: dict[str, Any] = {
    "task": {"name": "german", "data_seed": 0, "train_sentences": 20000, "max_phrases": 3},
    "model": {
        "architecture": "encoder-decoder",
        "d_model": 64,
        "n_layers": 2,
        "n_heads": 4,
        "position": "sinusoidal",
        "decoder_mask": "causal",
        "scale": "sqrt-head",
        "residual": "add",
        "norm": "layer",
        "feed_forward": "relu",
        "d_ff": 256,
        "initialisation": "xavier",
    },
    "train": {"steps": 250, "batch_size": 64, "lr": 0.003, "warmup": 50},
    "measure": [],
}


def resolved(changes: Mapping[str, Any]) -> dict[str, Any]:
    """CONFIG with dotted paths replaced."""
    config: dict[str, Any] = json.loads(json.dumps(CONFIG))
    for path, value in changes.items():
        section, _, name = path.partition(".")
        config.setdefault(section, {})[name] = value
    return config


GERMAN: dict[str, tuple[dict[str, Any], float, float, float, float]] = {
    # variant: changes, loss, BLEU, accuracy at distance 1 and at distance 17
    "base": ({}, 0.083, 96.0, 1.0, 1.0),
    "no-positions": ({"model.position": "none"}, 0.28, 56.5, 1.0, 0.94),
    "no-mask": ({"model.decoder_mask": "none"}, 0.05, 6.5, 0.95, 0.72),
    "one-head": ({"model.n_heads": 1}, 0.11, 93.5, 1.0, 1.0),
    "no-scale": ({"model.scale": "none"}, 0.295, 78.0, 0.99, 0.96),
    "no-residual": ({"model.residual": "none"}, 2.95, 0.1, 0.74, 0.71),
    "no-norm": ({"model.norm": "none"}, 0.095, 90.0, 1.0, 0.99),
    "no-feed-forward": ({"model.feed_forward": "none"}, 0.265, 81.5, 1.0, 0.99),
    "lstm": ({"model.architecture": "lstm", "model.cross_attention": "none"}, 1.25, 11.5, 1.0, 0.62),
}

DISTANCES = range(1, 18)


def german(study: MadeUpStudy, seeds: Sequence[int], experiment: str = "german") -> None:
    """The quick study on `german`, with numbers like those measured."""
    study.experiment(experiment, {name: row[0] for name, row in GERMAN.items() if name != "base"})
    for position, (variant, (_, loss, bleu, near, far)) in enumerate(GERMAN.items()):
        for seed in seeds:
            rng = np.random.default_rng([seed, position])
            at = {d: near + (far - near) * (d - 1) / 16 + rng.normal(0, 0.02) for d in DISTANCES}
            at = {d: float(np.clip(np.round(value * 60) / 60, 0, 1)) for d, value in at.items()}
            final = loss * float(np.exp(rng.normal(0, 0.06)))
            score = float(np.clip(bleu + rng.normal(0, 1.2), 0, 100))
            values: Values = [
                ("test", "loss", "", final),
                ("test", "bleu", "", score),
                ("test", "accuracy", "", float(np.mean(list(at.values())))),
                *[("test", "accuracy", f"distance={d}", value) for d, value in at.items()],
                ("test", "items", "", 500.0),
                ("validation", "loss", "", final * 1.01),
            ]
            steps = range(25, 251, 25)
            shape = [np.exp(-step / 60) for step in steps]
            curve = [(s, "loss", final + 3.2 * float(e)) for s, e in zip(steps, shape, strict=True)]
            curve += [(s, "bleu", score * float(1 - e)) for s, e in zip(steps, shape, strict=True) if s % 50 == 0]
            cost = {"wall_seconds": 17 + float(rng.random()), "parameters": 286976 - 31000 * (variant in SMALLER)}
            study.run(experiment, variant, seed, values, curve=curve, cost=cost)


SMALLER = ("no-feed-forward", "lstm")

Maker = Callable[..., MadeUpStudy]


@pytest.fixture
def make(tmp_path: Path) -> Maker:
    """Begin a study in a fresh folder."""

    def begin(name: str = "made-up", seeds: Sequence[int] = (0, 1, 2)) -> MadeUpStudy:
        return MadeUpStudy(tmp_path / f"runs-{len(list(tmp_path.iterdir()))}" / "study", name, seeds)

    return begin


@pytest.fixture(scope="session")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a finished study, to be read only: `german`, base and eight variants, three seeds."""
    study = MadeUpStudy(tmp_path_factory.mktemp("runs") / "quick", "quick")
    german(study, study.seeds)
    return study.write()
