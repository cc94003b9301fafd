"""Settings of the base as its runs have resolved them, and where those of every variant lie."""

from urllib.parse import quote

from reports.experiment import Experiment
from reports.plans import describe_value


def base_settings(experiment: Experiment) -> list[tuple[str, str]]:
    """Dotted path and value of each setting of the base, as YAML would have it on one line.

    Those that follow from others are in it. [] before a run of the base has been started.
    """
    return [(path, describe_value(value)) for path, value in experiment.config(experiment.base).items()]


def addresses(experiment: Experiment) -> dict[str, str]:
    """Link from the page to run.json of one run of each variant that has been started, ready for an attribute."""
    started = {row.variant: row.folder for row in reversed(experiment.runs) if row.run}
    root = experiment.tables.study.folder
    return {
        variant: quote(f"../{started[variant].relative_to(root).as_posix()}/run.json")
        for variant in experiment.order
        if variant in started
    }
