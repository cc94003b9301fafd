"""What can only be said of a run once its data have been read: whether model and data go together."""

from collections.abc import Iterable, Iterator
from typing import Any

from ablations.study import Settings
from ablations.train import task_shape
from datamodules.base import TaskData
from models.build import check
from models.config import ConfigError
from models.positions import POSITIONS


def with_data(settings: Iterable[Settings]) -> Iterator[tuple[Settings, TaskData[Any]]]:
    """Each of the settings with its data set up; the same data are set up once.

    Raises DataError for a file that cannot be used and ConfigError for a model that does not suit the data, so that
    either is one error before anything is trained and not one in every run.
    """
    known: dict[Any, TaskData[Any]] = {}
    for one in settings:
        key = (one.task_name, one.task, one.train.batch_size, one.train.batch_tokens)
        if key not in known:
            known[key] = one.data(0)
            known[key].setup()
        check(one.model, task_shape(known[key]))
        _check_length(one, known[key])
        yield one, known[key]


def _check_length(settings: Settings, data: TaskData[Any]) -> None:
    """A learned table has no place for longer sequences, and would say so after the training only."""
    model = settings.model
    if POSITIONS[model.position].takes_length and data.longest > model.max_length:
        raise ConfigError(
            f"model.max_length={model.max_length}: must be at least {data.longest}, the longest sequence of the task"
        )
