"""`ablations plan --power`: how noisy the study is, by the runs that are there, and how many seeds an effect takes."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ablations import screen
from ablations.listing import Entries
from ablations.plan import as_dict
from ablations.screen import Column
from ablations.study import Run, Study
from models.config import ConfigError, checked_number
from reports.noise import PAIRED, UNPAIRED, noise
from reports.rows import ResultFile, RunRow, StudyRows, final_results

MOST_SEEDS = 20
"""Seeds from 0 below which a pilot is looked for, beside those of the study."""
TOO_MANY = 1000
"""Seeds from which on their exact number is of no use."""


def power(study: Study, root: Path, effect: float | None = None, given: str | None = None) -> Entries:
    """What the runs in `root` say of the study's noise: reports.noise, an entry for each experiment and metric.

    Pilots may be of any planned seed and of any seed below MOST_SEEDS. An experiment whose base has not two seeds yet
    has one entry, with metric None and the `command` that trains pilots of the study, by the name or path `given`.
    Raises ConfigError for an `effect` (in the metric's unit) that is not above 0.
    """
    if effect is not None and checked_number("--power", effect) <= 0:
        raise ConfigError(f"--power {effect}: give an effect above 0, in the unit of the metric")
    planned = {experiment.name: len(experiment.seeds) for experiment in study.experiments}
    known = noise(_pilots(study, root), planned, effect)
    command = f"ablations run {given or study.name} --pilot 3"
    found: Entries = []
    for name in planned:
        entries = [entry for entry in known if entry["experiment"] == name]
        found += entries or [{"experiment": name, "metric": None, "command": command}]
    return found


def _pilots(study: Study, root: Path) -> StudyRows:
    """The study with every run of its variants that is done, whether its seed is planned or not."""
    results = final_results(root)
    experiments = [
        replace(experiment, seeds=tuple({*experiment.seeds, *range(MOST_SEEDS)}), more_seeds={})
        for experiment in study.experiments
    ]
    runs = replace(study, experiments=tuple(experiments)).runs()
    rows = tuple(_row(run, root, results[run.id]) for run in runs if run.id in results)
    plan: Any = as_dict(study, [])
    return StudyRows(folder=root, plan=plan, runs=rows, foreign=0)


def _row(run: Run, root: Path, result: ResultFile) -> RunRow:
    return RunRow(
        experiment=run.experiment,
        variant=run.variant,
        seed=run.seed,
        id=run.id,
        folder=root / run.folder,
        state=result["status"],
        reason=result["reason"],
        run=None,
        result=result,
    )


def show_power(entries: Entries) -> None:
    """Print a line for each variant and metric, what the columns mean, and the command where a pilot is missing."""
    known = [entry for entry in entries if entry["metric"] is not None]
    if known:
        screen.show(_heads(known[0]), [row for entry in known for row in _rows(entry)], grouped=True)
        screen.say()
    for line in [*(_notes(known) if known else []), *_missing(entries)]:
        screen.say(line, hang="  ")


def _heads(entry: Mapping[str, Any]) -> list[Column]:
    wanted = [_wanted(of) for of in entry["variants"][0]["wanted"]]
    ranks = {"base": 5, "noise floor": 4, "sd of diff.": 3, **{name: 1 + (name in wanted[:1]) for name in wanted[:-1]}}
    names = ("experiment", "metric", "base", "noise floor", "variant", "sd of diff.", "seen with", *wanted)
    left = ("experiment", "metric", "variant")
    return [Column(name=name, right=name not in left, rank=ranks.get(name, 0)) for name in names]


def _rows(entry: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """A row for each variant, the noisiest first; what is said of the base stands in all of them."""
    base = (_number(entry["base_mean"]), f"{_number(entry['noise_floor'])} ({entry['base_seeds']})")
    for of in entry["variants"]:
        scatter = f"{_number(of['deviation'])} ({of['seeds']})"
        seen = f"{_number(of['smallest_effect'])} ({entry['planned_seeds']})"
        needed = (_seeds(one["seeds"]) for one in of["wanted"])
        yield (entry["experiment"], entry["metric"], *base, _name(entry, of["variant"]), scatter, seen, *needed)


def _name(entry: Mapping[str, Any], variant: str | None) -> str:
    """A variant, marked where it is the noisiest or the median one of several."""
    if variant is None:
        return "base alone"
    marks = {"largest": 2, "median": 3}  # from so many variants on
    place = next((mark for mark, n in marks.items() if entry[mark] == variant and len(entry["variants"]) >= n), None)
    return f"{variant} ({place})" if place else variant


def _seeds(n: int | None) -> str:
    if n is None:
        return "-"
    return f"{n}" if n < TOO_MANY else f"over {TOO_MANY - 1}"


def _wanted(of: Mapping[str, Any]) -> str:
    """Name of the column of one effect."""
    return f"seeds for {of['effect']:g}" if of["change"] is None else f"seeds for {100 * of['change']:g} %"


def _notes(entries: Entries) -> list[str]:
    """What the numbers mean, and how far to trust them."""
    variants = [of for entry in entries for of in entry["variants"]]
    ratios = [of["deviation_high"] / of["deviation"] for of in variants if of["deviation"]]
    bases = {entry["deviation_basis"] for entry in entries}
    first = _wanted(variants[0]["wanted"][0]).removeprefix("seeds for ")
    found = {
        "Noise floor: deviation of the base over its pilot seeds (their number). Seen with: the smallest effect that "
        "the planned seeds (their number) show four times in five (paired t test, 5 %). "
        f"Seeds for {first}: those that show an effect of {first}{_of_the_base(entries)} as often.": True,
        "Sd of diff.: deviation of variant minus base over the seeds that both have (their number); largest of all "
        "variants, and median: half of them take no more seeds than that one.": PAIRED in bases,
        "Base alone: no variant shares two seeds with it; its own deviation, times sqrt(2).": UNPAIRED in bases,
        f"From so few pilots a deviation may be up to {max(ratios, default=1):.1f} times as large (95 % interval, "
        "normal values); seeds go with its square.": bool(ratios),
        "Noise of seeds alone: where the report's interval is of seeds and items it is wider, by a part that more "
        "seeds do not lessen.": True,
        "-: the pilots do not differ from seed to seed, which says nothing of other seeds.": len(ratios)
        < len(variants),
    }
    return [text for text, applies in found.items() if applies]


def _of_the_base(entries: Entries) -> str:
    return "" if entries[0]["variants"][0]["wanted"][0]["change"] is None else " of the base's value"


def _missing(entries: Entries) -> list[str]:
    """One line for all the experiments without pilots."""
    absent = [entry for entry in entries if entry["metric"] is None]
    if not absent:
        return []
    names = ", ".join(entry["experiment"] for entry in absent)
    return [f"no pilot of two seeds for {names}: {absent[0]['command']}"]


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"
