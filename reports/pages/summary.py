"""A study as a whole: how far it has come, what makes it doubtful, what did not complete, its origin."""

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from reports.metrics import facts
from reports.rows import COUNTED, STATES, RunRow, StudyRows
from reports.wording import inside, times


@dataclass(frozen=True, kw_only=True)
class Unfinished:
    """Planned runs of one variant that have no value, or values fixed beforehand, all for the same reason."""

    experiment: str
    variant: str
    seeds: str
    state: str
    reason: str


def once(study: StudyRows) -> list[RunRow]:
    """The planned runs of a study, each once: variants and experiments with the same settings share a run."""
    return list({row.id: row for row in reversed(study.runs)}.values())[::-1]


def progress(study: StudyRows) -> str:
    """How many runs are planned, and what has become of them."""
    runs = once(study)
    counts = Counter(row.state for row in runs)
    states = ", ".join(f"{counts[state]} {state}" for state in STATES if counts[state])
    return f"{times(len(runs), 'run')} planned: {states}.{_shared(study, runs)}" if runs else "No run is planned."


def _shared(study: StudyRows, runs: Sequence[RunRow]) -> str:
    if len(runs) == len(study.runs):
        return ""
    return (
        f" They stand for {len(study.runs)} pairs of variant and seed: where settings are the same a run is shared. It "
        "counts once here, and below in each experiment that has it."
    )


def warnings(study: StudyRows) -> list[str]:
    """What makes rows doubtful or incomparable."""
    runs = once(study)
    results = [row.result for row in runs if row.result]
    conflicts = sum(row.state == "conflict" for row in runs)
    commits = {result["commit"] for result in results}
    signatures = {(metric, text) for result in results for metric, text in result["signatures"].items()}
    mixed = sorted(facts(metric).name for metric, n in Counter(metric for metric, _ in signatures).items() if n > 1)
    dirty = any(commit and commit.endswith("-dirty") for commit in commits)
    found = [
        (conflicts, f"{times(conflicts, 'run')} with two results: neither is counted."),
        (len(commits) > 1, "Runs come from different commits: what differs may not be the variants alone."),
        (dirty, "Some runs come from a checkout with changes that no commit holds."),
        (mixed, f"{' and '.join(mixed)}: computed in different ways, the numbers cannot be compared."),
    ]
    return [text for holds, text in found if holds]


SHOWN = 3
"""Files that cannot be read of which all is said; in a study of an older version it may be one for each run."""


def unreadable(problems: Sequence[str]) -> list[str]:
    """What could not be read of runs that count: all of it if that is little, else the first and how many more."""
    more = len(problems) - SHOWN
    return [*problems[:SHOWN], *([f"And {times(more, 'other file')} cannot be read."] if more > 0 else [])]


def foreign(study: StudyRows) -> str:
    """How many other runs lie in the folder; empty without any."""
    are = "is" if study.foreign == 1 else "are"
    of_no_plan = f"{times(study.foreign, 'other run')} in this folder {are} not part of the current plan."
    return of_no_plan if study.foreign else ""


def instead(study: StudyRows, measured: Sequence[str]) -> str:
    """What stands in place of a finding: what was measured (titles of figures), or why nothing can be compared."""
    if not any(row.state in COUNTED for row in study.runs):
        return "Nothing has finished yet."
    if measured:
        return f"Measured{', nothing trained' if trains_nothing(study) else ''}: {', '.join(map(inside, measured))}."
    if all(row.variant == study.plan["experiments"][row.experiment]["base"] for row in study.runs):
        return "Nothing to compare: no experiment has a variant beside its base."
    return "Nothing to compare yet: no variant has finished together with its base."


def trains_nothing(study: StudyRows) -> bool:
    """Whether the runs of a study, as far as they have been started, are measurements of models as they are made."""
    steps = [row.run["config"].get("train", {}).get("steps") for row in study.runs if row.run]
    return bool(steps) and not any(steps)


def unfinished(study: StudyRows) -> list[Unfinished]:
    """Runs that did not complete, grouped; what is wrong comes before what has only not been run."""
    seeds: dict[tuple[str, str, str, str], list[int]] = {}
    for state in ("conflict", "failed", "diverged", "missing"):
        for row in study.runs:
            if row.state == state:
                reason = row.reason or ("not run yet" if state == "missing" else "no reason was recorded")
                seeds.setdefault((row.experiment, row.variant, row.state, reason), []).append(row.seed)
    return [
        Unfinished(experiment=e, variant=v, seeds=", ".join(map(str, numbers)), state=state, reason=reason)
        for (e, v, state, reason), numbers in seeds.items()
    ]


def command(study: StudyRows) -> str:
    """The command that repeats a study."""
    looked = any(plan.get("looks") for plan in study.plan["experiments"].values())
    return f"ablations run {shlex.quote(str(study.folder / 'study.yaml'))}{' --until-resolved' if looked else ''}"


def origin(study: StudyRows) -> list[tuple[str, str]]:
    """Where the numbers come from: name and what is known, with numbers of runs where it is not one for all."""
    results = [row.result for row in once(study) if row.result]
    runs = [(row.experiment, row.run) for row in study.runs if row.run]
    plans = study.plan["experiments"]
    versions = dict.fromkeys(name for result in results for name in result["versions"])
    signatures = dict.fromkeys(metric for result in results for metric in result["signatures"])
    lines = [
        ("Comparison", _tally([plans[name].get("comparison", run["comparison"]) for name, run in runs])),
        ("Data", _tally([f"{name}: {run['config'].get('data', '–')}" for name, run in runs], counted=False)),
        *((facts(m).name, _tally([r["signatures"][m] for r in results if m in r["signatures"]])) for m in signatures),
        ("Commit", _tally([result["commit"] or "not in a checkout" for result in results])),
        ("Hardware", _tally([f"{result['device']} on {result['host']}" for result in results])),
        ("Last run ended", max((result["ended"] for result in results), default="")),
        *((name, _tally([r["versions"][name] for r in results if name in r["versions"]])) for name in versions),
    ]
    return [(name, text) for name, text in lines if text]


def _tally(values: Sequence[str], *, counted: bool = True) -> str:
    found = Counter(values)
    if len(found) == 1 or not counted:
        return ", ".join(found)
    return ", ".join(f"{value} ({times(n, 'run')})" for value, n in found.items())
