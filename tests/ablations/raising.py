"""Body of a run's process, in the place of ablations.child's, whose last rank raises once in the middle of training."""

from typing import Any

from ablations import child
from models.lit import Module

STEP = 30


def main(job: child.Job) -> None:
    """Train; the first try raises at step 30."""
    original, raised = Module._train_on, job.folder / "raised"

    def train_on(self: Module, batch: Any) -> Any:
        if self.global_step + 1 == STEP and job.place.rank == job.place.ranks - 1 and not raised.exists():
            raised.touch()
            raise ValueError("no more")
        return original(self, batch)

    Module._train_on = train_on  # type: ignore[method-assign]
    child.main(job)
