"""Seconds, memory and page size of the report of a large study.

Run: OMP_NUM_THREADS=1 python tests/benchmarks/report.py [--study FOLDER] [--items N] [--parts | --profile] [--keep DIR]

A study of 1,000 runs (10 experiments, 20 variants, 5 seeds) is made by copying the runs of a real study, or of one made
up that looks like `quick`, with noise. Runs that have left what they made of each test item are copied with it, and
their scores stay as they are, so that the resampling of test items is part of the time; a made-up run has N of them
(1000 sentences by default). Then `ablations report` is run on it in a fresh process: seconds from its start to its end,
the most memory that it held, the size of the page. The goals are 30 s, 1,024 MiB and 5 MB.

--parts: seconds of reading, of the tables, of the files beside the page and of the whole, in one process.
--profile: what takes longest.
--keep: make the study there, and leave it.
"""

import argparse
import csv
import gzip
import io
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # this file is run as a script

from reports.resampling import SCORES  # noqa: E402
from reports.rows import RunRow, StudyRows, read_study  # noqa: E402
from tests.reports.conftest import MadeUpStudy, german  # noqa: E402

EXPERIMENTS, VARIANTS, SEEDS = 10, 20, 5


def main() -> None:
    """Make the study, report it, print what it took."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--study", type=Path, metavar="FOLDER", help="a study that was run, such as runs/quick")
    parser.add_argument("--items", type=int, default=1000, metavar="N", help="test sentences of a made-up run; 0: none")
    parser.add_argument("--parts", action="store_true")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--keep", type=Path, metavar="DIR")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        source = options.study or made_up(Path(temporary) / "source", options.items)
        folder = options.keep or Path(temporary) / "large"
        large(read_study(source), folder)
        if options.parts or options.profile:
            in_parts(folder, profile=options.profile)
        else:
            in_a_fresh_process(folder)


def in_a_fresh_process(folder: Path) -> None:
    """Run the command and print seconds, memory, size."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "ablations", "report", folder.name, "--output", str(folder.parent)]
    subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    size = (folder / "report" / "index.html").stat().st_size / 1e6
    files = sum(path.is_file() for path in (folder / "report").rglob("*"))
    print(f"{seconds:.1f} s, {peak:.0f} MiB, page of {size:.2f} MB, {files} files")


def in_parts(folder: Path, *, profile: bool) -> None:
    """Print the seconds of each part, and what takes longest."""
    import cProfile
    import pstats

    from reports import claims
    from reports.pages import exports, page
    from reports.table import make_tables

    profiler = cProfile.Profile(builtins=False)
    marks = [time.perf_counter()]
    if profile:
        profiler.enable()
    study = read_study(folder)
    marks.append(time.perf_counter())
    tables = make_tables(study)
    marks.append(time.perf_counter())
    exports.write(tables, claims.verdicts(tables), folder / "report")
    marks.append(time.perf_counter())
    page.build(folder)
    profiler.disable()
    marks.append(time.perf_counter())
    for name, seconds in zip(("read", "tables", "files", "all of it"), np.diff(marks), strict=True):
        print(f"{name:10} {seconds:6.2f} s")
    if profile:
        pstats.Stats(profiler).sort_stats("cumulative").print_stats(60)


def large(source: StudyRows, folder: Path) -> None:
    """A study of EXPERIMENTS x VARIANTS x SEEDS runs, each a copy of one of the source's that have completed."""
    done: dict[str, list[RunRow]] = {}
    for row in source.runs:
        if row.state == "completed":
            done.setdefault(row.variant, []).append(row)
    plan = next(iter(source.plan["experiments"].values()))
    variants = [plan["base"], *(variant for variant in done if variant != plan["base"])]
    study: dict[str, Any] = {
        **source.plan,
        "study": "large",
        "seeds": list(range(SEEDS)),
        "experiments": {},
        "runs": [],
    }
    for i in range(EXPERIMENTS):
        chosen = [variants[0], *(variants[1 + j % (len(variants) - 1)] for j in range(VARIANTS - 1))]
        names = [variants[0], *(f"{name}, {j // (len(variants) - 1) + 1}" for j, name in enumerate(chosen[1:]))]
        changes = {name: plan["changes"].get(of, {}) for name, of in zip(names[1:], chosen[1:], strict=True)}
        study["experiments"][f"experiment-{i}"] = {**plan, "variants": names, "changes": changes}
        for name, of in zip(names, chosen, strict=True):
            for seed in range(SEEDS):
                _copy(done[of][seed % len(done[of])], f"experiment-{i}", name, seed, study, folder)
    (folder / "plan.json").write_text(json.dumps(study), encoding="utf-8")


def _copy(row: RunRow, experiment: str, variant: str, seed: int, study: dict[str, Any], folder: Path) -> None:
    number = len(study["runs"])
    rng = np.random.default_rng(number)
    key = {"experiment": experiment, "variant": variant, "seed": seed, "id": f"{number:08x}"}
    place = folder / experiment / f"{number // SEEDS}" / f"seed-{seed}"
    study["runs"].append({**key, "folder": place.relative_to(folder).as_posix()})
    place.mkdir(parents=True)
    assert row.run is not None
    assert row.result is not None
    run = {**row.run, **key, "study": "large", "config": {**row.run["config"], "seed": seed}}
    (place / "run.json").write_text(json.dumps(run), encoding="utf-8")
    items = row.folder / "outputs"
    result = {**row.result, "id": key["id"]}
    if items.is_dir():
        shutil.copytree(items, place / "outputs", copy_function=_link)
    else:
        result["metrics"] = [_noisy(dict(value), rng) for value in row.result["metrics"]]
    (place / "result.json").write_text(json.dumps(result), encoding="utf-8")
    if (row.folder / "metrics.csv").is_file():
        _copy_curve(row.folder / "metrics.csv", place / "metrics.csv", rng)


def _link(source: str, target: str) -> None:
    os.link(source, target) if os.stat(source).st_dev == os.stat(Path(target).parent).st_dev else shutil.copy(
        source, target
    )


def _noisy(value: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    if value["metric"] == "items" or value["value"] is None:
        return value
    limit = 1.0 if value["metric"].startswith("accuracy") else float("inf")
    return {**value, "value": min(limit, value["value"] * float(np.exp(rng.normal(0, 0.02))))}


def _copy_curve(source: Path, target: Path, rng: np.random.Generator) -> None:
    with source.open(encoding="utf-8", newline="") as file:
        header, *rows = list(csv.reader(file))
    noise = np.exp(rng.normal(0, 0.02, len(rows)))
    with target.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(header)
        lines.writerows([*row[:-1], repr(float(row[-1]) * float(x))] for row, x in zip(rows, noise, strict=True))


def made_up(folder: Path, items: int) -> Path:
    """A study like `quick`, with `items` test sentences and half as many contrastive pairs to each run."""
    study = MadeUpStudy(folder, "quick")
    german(study, study.seeds)
    study.write()
    for row in read_study(folder).runs if items else ():
        rng = np.random.default_rng([row.seed, len(row.variant)])
        scores = {**_sentences(row.folder, items, rng), **_pairs(row.folder, items // 2, rng)}
        result = json.loads((row.folder / "result.json").read_text(encoding="utf-8"))
        kept = [v for v in result["metrics"] if v["split"] != "test" or (v["metric"], v["coordinate"]) not in scores]
        new = [{"split": "test", "metric": m, "coordinate": c, "value": value} for (m, c), value in scores.items()]
        result["metrics"] = [*new, *kept]
        (row.folder / "result.json").write_text(json.dumps(result), encoding="utf-8")
    return folder


Scores = dict[tuple[str, str], float]
"""Metric and coordinate to value."""


def _sentences(folder: Path, n: int, rng: np.random.Generator) -> Scores:
    """outputs/translations.csv.gz of one run; gives the scores that follow from it."""
    words = np.array([f"word{i}" for i in range(500)])
    texts = [" ".join(row) for row in words[np.random.default_rng(n).integers(0, len(words), (n, 12))]]
    correct = [rng.binomial(12 - k, 0.8 ** (k + 1), n) for k in range(4)]
    bleu = np.stack([np.full(n, 12), np.full(n, 12), *correct, *(np.full(n, 12 - k) for k in range(4))], axis=1)
    chrf = np.repeat(60 - np.arange(6), 3)[None].repeat(n, 0)  # hypothesis, reference, correct of each order
    chrf[:, 2::3] = rng.binomial(chrf[:, ::3], 0.7)
    tokens, nats = np.full(n, 13), rng.gamma(2.0, 1.0, n)
    counts = np.concatenate([tokens[:, None], bleu, chrf], axis=1).tolist()
    names = ["tokens", *(f"bleu_{i}" for i in range(10)), *(f"chrf_{i}" for i in range(18))]
    rows = [["", text, text, text, repr(float(x)), *row] for text, x, row in zip(texts, nats, counts, strict=True)]
    header = ["set", "source", "reference", "hypothesis", "nats", *names]
    _pack(folder / "outputs" / "translations.csv.gz", [header, *rows])
    sums = {"bleu": bleu.sum(0).astype(float), "chrf": chrf.sum(0).astype(float)}
    by_name = {(metric, ""): float(SCORES[metric](total)) for metric, total in sums.items()}
    return {("loss", ""): float(nats.sum() / tokens.sum()), **by_name}


def _pairs(folder: Path, n: int, rng: np.random.Generator) -> Scores:
    """outputs/contrasts.csv.gz of one run; gives the accuracies that follow from it."""
    distance, won = 1 + np.arange(n) % 17, rng.random(n) < 0.9
    rows = [["", d, "", 1.0 if right else -1.0, 0.0] for d, right in zip(distance.tolist(), won.tolist(), strict=True)]
    _pack(folder / "outputs" / "contrasts.csv.gz", [["set", "distance", "category", "right", "wrong"], *rows])
    groups = {d: won[distance == d] for d in range(1, min(n, 17) + 1)}
    at = {("accuracy", f"distance={d}"): float(group.mean()) for d, group in groups.items()}
    items = {("items", f"distance={d}"): float(len(group)) for d, group in groups.items()}
    return {("accuracy", ""): float(won.mean()), **at, **items}


def _pack(path: Path, rows: Sequence[Sequence[Any]]) -> None:
    path.parent.mkdir(exist_ok=True)
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    path.write_bytes(gzip.compress(text.getvalue().encode(), mtime=0))


if __name__ == "__main__":
    main()
