"""`ablations record`: keep what a study has come to, small enough to be published."""

from pathlib import Path

from ablations.load import load_study
from ablations.plan import source_text
from ablations.sections import load_yaml, read_yaml
from datamodules.errors import DataError
from models.config import ConfigError
from reports.rows import read_plan


def command_for(folder: Path, target: Path) -> str:
    """The command that trains what lies in a study's folder: by its name where it is the shipped study as it stands.

    Else by the file study.yaml, which is to lie in `target`.
    """
    name = read_plan(folder)["study"]
    try:
        shipped = load_yaml(source_text(load_study(name)), name)
    except (ConfigError, DataError):  # no shipped study, or its data are not here
        shipped = None
    is_shipped = read_yaml(folder / "study.yaml") == shipped
    return f"ablations run {name if is_shipped else (target / 'study.yaml').as_posix()}"
