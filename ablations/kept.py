"""What lies beside a run's weights: its subword models, so that it translates where its data are not."""

from pathlib import Path
from typing import Any

from datamodules.base import TaskData
from datamodules.parallel import ParallelData
from datamodules.subwords import Subwords

JOINT, SOURCE, TARGET = "subwords.model", "source.model", "target.model"


def keep_subwords(data: TaskData[Any], folder: Path) -> None:
    """Write the subword models of a translation task, as sentencepiece reads them; nothing where it has none."""
    if not isinstance(data, ParallelData) or not isinstance(data.source_vocabulary, Subwords):
        return
    assert isinstance(data.target_vocabulary, Subwords)
    folder.mkdir(parents=True, exist_ok=True)
    if data.shared_vocabulary:
        (folder / JOINT).write_bytes(data.source_vocabulary.model)
    else:
        (folder / SOURCE).write_bytes(data.source_vocabulary.model)
        (folder / TARGET).write_bytes(data.target_vocabulary.model)


def take_subwords(data: ParallelData[Any], folder: Path) -> bool:
    """Give a task the subword models that `keep_subwords` left in a folder; False where there are none."""
    if (folder / JOINT).is_file():
        data.shared_vocabulary = True
        data.source_vocabulary = data.target_vocabulary = Subwords((folder / JOINT).read_bytes())
    elif (folder / SOURCE).is_file() and (folder / TARGET).is_file():
        data.source_vocabulary = Subwords((folder / SOURCE).read_bytes())
        data.target_vocabulary = Subwords((folder / TARGET).read_bytes())
    else:
        return False
    return True
