"""Settings of runs that are to choose something, and so must not see the test."""

from typing import Any

from ablations.study import Settings
from datamodules.base import TaskData


class Untested(Settings):
    """Settings whose data have no test split: it is never made."""

    def data(self, seed: int) -> TaskData[Any]:
        """As of any settings, but what would be the test is empty."""
        data = super().data(seed)
        data.splits = ("validation",)
        return data


def untested(settings: Settings) -> Untested:
    """The same settings with data that have no test."""
    return Untested(**vars(settings))
