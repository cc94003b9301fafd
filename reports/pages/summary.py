"""A study as a whole: how far it has come, what makes it doubtful, what did not complete, its origin."""

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from reports.metrics import facts
from reports.rows import STATES, StudyRows
from reports.wording import times


@dataclass(frozen=True, kw_only=True)
class Unfinished:
    """Planned runs of one variant that have no value, or values fixed beforehand, all for the same reason."""

    experiment: str
    variant: str
    seeds: str
    state: str
    reason: str


def progress(study: StudyRows) -> str:
    """How many runs are planned, and what has become of them."""
    states = ", ".join(f"{study.count(state)} {state}" for state in STATES if study.count(state))
    return f"{times(len(study.runs), 'run')} planned: {states}." if study.runs else "No run is planned."


def warnings(study: StudyRows) -> list[str]:
    """What makes rows doubtful or incomparable."""
    results = [row.result for row in study.runs if row.result]
    commits = {result["commit"] for result in results}
    signatures = {(metric, text) for result in results for metric, text in result["signatures"].items()}
    mixed = sorted(facts(metric).name for metric, n in Counter(metric for metric, _ in signatures).items() if n > 1)
    dirty = any(commit and commit.endswith("-dirty") for commit in commits)
    found = [
        (study.count("conflict"), f"{times(study.count('conflict'), 'run')} with two results: neither is counted."),
        (len(commits) > 1, "Runs come from different commits: what differs may not be the variants alone."),
        (dirty, "Some runs come from a checkout with changes that no commit holds."),
        (mixed, f"{' and '.join(mixed)}: computed in different ways, the numbers cannot be compared."),
    ]
    return [text for holds, text in found if holds]


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
    return f"ablations run {shlex.quote(str(study.folder / 'study.yaml'))}"


def origin(study: StudyRows) -> list[tuple[str, str]]:
    """Where the numbers come from: name and what is known, with numbers of runs where it is not one for all."""
    results = [row.result for row in study.runs if row.result]
    runs = [row.run for row in study.runs if row.run]
    versions = dict.fromkeys(name for result in results for name in result["versions"])
    signatures = dict.fromkeys(metric for result in results for metric in result["signatures"])
    lines = [
        ("Comparison", _tally([run["comparison"] for run in runs])),
        ("Data", _tally([f"{run['experiment']}: {run['config'].get('data', '–')}" for run in runs], counted=False)),
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
