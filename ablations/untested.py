"""Settings of runs that are to choose something, and so must not see the test."""

from typing import Any

from ablations.study import Settings
from datamodules.base import Batch, Held, TaskData


class Untested(Settings):
    """Settings whose data have no test split: it is never made."""

    def data(self, seed: int) -> TaskData[Any]:
        """As of any settings, but what would be the test is empty."""
        data = super().data(seed)
        make = data.evaluation_batches

        def evaluation_batches(split: Held) -> list[list[Batch]]:
            return [] if split == "test" else make(split)

        data.evaluation_batches = evaluation_batches  # type: ignore[method-assign]
        return data


def untested(settings: Settings) -> Untested:
    """The same settings with data that have no test."""
    return Untested(**vars(settings))
