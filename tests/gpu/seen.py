"""Body of a run's process, in the place of ablations.child's, that leaves word of the GPUs that it saw."""

import json
from pathlib import Path

import torch

from ablations import child


def main(job: child.Job) -> None:
    """Train, then write the identities of all GPUs that this process can use."""
    child.main(job)
    there = [str(torch.cuda.get_device_properties(number).uuid) for number in range(torch.cuda.device_count())]
    (job.folder / f"gpus-{job.place.rank}.json").write_text(json.dumps(there))


def by(folder: Path, rank: int = 0) -> list[str]:
    """Identities of the GPUs that a rank of a run saw."""
    return json.loads((folder / f"gpus-{rank}.json").read_text())
