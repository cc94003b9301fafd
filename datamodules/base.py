"""What a task offers to the rest of the suite: TaskData, and the stream of training batches.

A new task is one subclass and one line in the table of datamodules/__init__.py. It declares `Config`, `kind`,
`headline` and `version`, sets `input_sizes` and `output_size`, and defines `training_batch` and `evaluation_batches`;
`prepare` where it has to load anything.

Batches are dicts, whose tensors and lists have a row for each item. Next-token and tagging tasks: inputs (B, T) or
(B, T, F), targets (B, T) with IGNORE where nothing is predicted, real (B, T) where there is padding, distance (B, T)
with NO_DISTANCE where there is none, answer_at (B, T) with the place of the token that holds the answer, NOWHERE where
there is none, coordinate (a string such as "length=48") on the batches of an extra test set. With several answers a
position, targets, distance and answer_at are (B, T, K). Translation tasks: see datamodules/parallel.py.

Where several devices train one run, each makes the whole of a training batch and takes its share of the rows, so that
the batch is the same for any number of devices. Evaluation batches are dealt out whole.

Shapes: B batch, T length, F factors, K answers a position.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Literal, TypeVar, get_args

import lightning as L
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Sampler

from datamodules.errors import DataError, check_integer

Kind = Literal["next-token", "tagging", "translation"]
Held = Literal["validation", "test"]
Batch = dict[str, Any]

IGNORE = -100  # torch's default for targets that count for nothing
NO_DISTANCE = -1
NOWHERE = -1
POSITIONS_A_BATCH = 8192  # of the evaluation of generated sequences: bounds the memory at every length


@dataclass(frozen=True, kw_only=True)
class TaskConfig:
    """Settings that every task has."""

    path_fields: ClassVar[tuple[str, ...]] = ()
    """Fields that only say where the data lies; TaskData.fingerprint stands for them in the identity of a run."""

    data_seed: int = 0
    """Seed of the validation and test items, so that all runs of an experiment answer the same ones."""

    def __post_init__(self) -> None:
        check_integer("data_seed", self.data_seed, 0)


ConfigT = TypeVar("ConfigT", bound=TaskConfig)


class TaskData(L.LightningDataModule, Generic[ConfigT]):
    """Base class of all tasks.

    Args:
        config: the task's own settings, an instance of `Config`.
        seed: seed of the run: training items and their order. Validation and test depend on config.data_seed alone.
        steps: number of training batches; batch i is a pure function of (seed, i).
        batch_size: items of a training batch.
        batch_tokens: if above 0, a training batch holds as many sentences as fit into this number of target tokens
            instead, padding counted (translation tasks only).

    Raises:
        DataError: on a wrong value.
    """

    Config: ClassVar[type[TaskConfig]]
    kind: ClassVar[Kind]
    headline: tuple[str, ...]
    """Metrics to show first. Set by the class; an instance may know better, as `chance` may."""
    version: ClassVar[str]
    """Name of the generator's present output; to be changed whenever the items change."""

    input_sizes: tuple[int, ...]
    """Vocabulary of each input factor (translation: of the source). Translation tasks: known after setup."""
    output_size: int
    """Classes, or target vocabulary. Translation tasks: known after setup."""
    n_answers: int = 1
    """Answers that are asked for at each position (tagging tasks)."""
    shared_vocabulary: bool = False
    start: int | None = None
    end: int | None = None
    units: ClassVar[Mapping[str, str]] = {}
    """What coordinates count in, where it is anything but tokens: {"distance": "words"}."""
    chance: float | None = None
    """Accuracy of guessing; None if the task has no accuracy."""
    notes: tuple[str, ...] = ()
    """What a reader of the log should know of the data, one line each; after setup."""
    rounds: Sequence[range] | None = None
    """Training steps whose batches are handed out at once, as lists; None: batch by batch."""

    def __init__(self, config: ConfigT, *, seed: int, steps: int, batch_size: int, batch_tokens: int = 0) -> None:
        super().__init__()
        check_integer("seed", seed, 0)
        check_integer("steps", steps, 0)
        check_integer("batch_size", batch_size, 1)
        check_integer("batch_tokens", batch_tokens, 0)
        if batch_tokens and self.kind != "translation":
            raise DataError(f"batch_tokens={batch_tokens}: must be 0 for kind {self.kind}, use batch_size")
        self.config = config
        self.seed = seed
        self.steps = steps
        self.batch_size = batch_size
        self.batch_tokens = batch_tokens
        self.splits: tuple[Held, ...] = get_args(Held)
        """Those that are made; a search has none but the validation."""
        self._held: dict[Held, list[list[Batch]]] | None = None

    @classmethod
    def fingerprint(cls, config: ConfigT) -> str:
        """What the data is beyond its configuration: same fingerprint and same configuration, same data.

        Raises:
            DataError: if files are missing or unusable.
        """
        return cls.version

    @abstractmethod
    def training_batch(self, index: int) -> Batch:
        """Batch `index` of the run: a pure function of (seed, index), made without the ones before it."""

    @abstractmethod
    def evaluation_batches(self, split: Held) -> list[list[Batch]]:
        """Batches of a split, one list for each loader: the main set first, then contrastive or extra sets."""

    def prepare(self) -> None:
        """Load what the batches are made from; called once, before any batch is asked for."""

    def held(self, split: Held) -> list[list[Batch]]:
        """The batches of a split, by set, the main one first; after setup."""
        assert self._held is not None, "setup() comes first"
        return self._held[split]

    def references(self) -> dict[str, dict[str, float]]:
        """Levels to hold a result against, by metric and short name: floors, ceilings, oracles; after setup.

        Oracles are scored on the test items themselves.
        """
        return {}

    def detokenise(self, ids: list[int]) -> str:
        """Text of target ids (translation tasks)."""
        raise TypeError(f"{type(self).__name__} has no text: its kind is {self.kind}")

    def setup(self, stage: str | None = None) -> None:
        """Prepare everything, whatever the stage; further calls do nothing.

        Raises:
            DataError: if files are missing or unusable.
        """
        if self._held is None:
            self.prepare()
            self._held = {
                split: self.evaluation_batches(split) if split in self.splits else [] for split in get_args(Held)
            }

    @property
    def longest(self) -> int:
        """Most positions that a model has to take in one sequence; after setup.

        Here those of the evaluation, which for generated tasks has every length that training has.
        """
        return max(batch["inputs"].shape[1] for batch in self._held_batches())

    def _held_batches(self) -> Iterator[Batch]:
        assert self._held is not None, "setup() comes first"
        return (batch for sets in self._held.values() for batches in sets for batch in batches)

    def transfer_batch_to_device(self, batch: Any, device: torch.device, dataloader_idx: int) -> Any:
        """Nothing to move on the CPU, where batches are made; Lightning would look through each one."""
        return batch if device.type == "cpu" else super().transfer_batch_to_device(batch, device, dataloader_idx)

    def train_dataloader(self) -> "BatchLoader":
        """`steps` batches, in order, or the `rounds` of them; this device's share of each batch."""
        rank, ranks = self._seat()
        batches = BatchSet(self.steps, lambda index: share(self.training_batch(index), rank, ranks))
        if self.rounds is None:
            return BatchLoader(batches)
        rounds = self.rounds
        return BatchLoader(BatchSet(len(rounds), lambda index: [batches[step] for step in rounds[index]]))

    def val_dataloader(self) -> list[DataLoader[Batch]]:
        """One loader for each set of the validation split, with this device's batches."""
        return self._loaders("validation")

    def test_dataloader(self) -> list[DataLoader[Batch]]:
        """One loader for each set of the test split, with this device's batches."""
        return self._loaders("test")

    def _loaders(self, split: Held) -> list[DataLoader[Batch]]:
        assert self._held is not None, "setup() comes first"
        hands = [deal(made, *self._seat()) for made in self._held[split]]
        # a loader without a generator of its own moves the global one, and with it the dropout of the training
        return [
            DataLoader(BatchSet(len(hand), hand.__getitem__), batch_size=None, generator=torch.Generator())
            for hand in hands
        ]

    def _seat(self) -> tuple[int, int]:
        """Number of this device among those that train the run, and how many these are."""
        return (self.trainer.global_rank, self.trainer.world_size) if self.trainer else (0, 1)


def in_rounds(steps: int, every: int, most: int) -> list[range]:
    """Steps 0 to steps - 1 in rounds of at most `most`: as many between all multiples of `every`, none across one."""
    starts = ((start, first) for start in range(0, steps, every) for first in range(start, start + every, most))
    return [range(first, min(first + most, start + every, steps)) for start, first in starts if first < steps]


Item = TypeVar("Item")


class BatchSet(Dataset[Item]):
    """Map-style set whose item i is batch i, or round i of batches, made when it is asked for."""

    def __init__(self, length: int, make: Callable[[int], Item]) -> None:
        self.length = length
        self.make = make

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Item:
        if not 0 <= index < self.length:
            raise IndexError(index)
        return self.make(index)


class BatchLoader(DataLoader[Any]):
    """Batches, or rounds, in order, without workers; a checkpoint remembers how many are done, from where a resumed run
    goes on.

    Lightning asks a loader for `state_dict` when it saves and gives it back when it resumes, but counts the batches
    itself and so wants the full length from a loader that is part way through.
    """

    def __init__(self, batches: BatchSet[Any]) -> None:
        self._order = _Order(len(batches))
        self._done = 0
        self._resume_at = 0
        super().__init__(batches, batch_size=None, sampler=self._order, num_workers=0, generator=torch.Generator())

    def __iter__(self) -> Iterator[Any]:  # type: ignore[override]  # torch names its own iterator class here
        self._order.first = self._done = self._resume_at
        self._resume_at = 0
        for batch in super().__iter__():
            self._done += 1
            yield batch

    def state_dict(self) -> dict[str, int]:
        """Number of batches handed out."""
        return {"done": self._done}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Begin the next round after the batches that `state` says are done."""
        self._resume_at = state["done"]


class _Order(Sampler[int]):
    """Indices from `first` on; its length is that of a whole round."""

    def __init__(self, length: int) -> None:
        self.length = length
        self.first = 0

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.first, self.length))


def share(batch: Batch, rank: int, ranks: int) -> Batch:
    """The part of a training batch that is one device's: rows rank, rank + ranks, ... of all that has rows.

    A device for which there is no row takes the first, with targets that count for nothing, to keep step with the rest;
    its batch is marked `idle`.
    """
    if ranks == 1:
        return batch
    has_rows = rank < len(batch["targets"])
    rows = slice(rank, None, ranks) if has_rows else slice(1)
    part = {name: value[rows] if isinstance(value, Tensor | list) else value for name, value in batch.items()}
    return part if has_rows else part | {"targets": torch.full_like(batch["targets"][rows], IGNORE), "idle": True}


def deal(batches: list[Batch], rank: int, ranks: int) -> list[Batch]:
    """The evaluation batches of one device: rank, rank + ranks, ...; an empty one where other devices have one more.

    As many for each: lightning would skip the evaluation on a device without batches, and the others wait for its sums.
    """
    longest = -(-len(batches) // ranks)
    hand = batches[rank::ranks]
    return hand + [{}] * (longest - len(hand))


def portions(items: int, length: int) -> list[int]:
    """Sizes of the evaluation batches for `items` sequences of `length` positions."""
    most = max(1, POSITIONS_A_BATCH // length)
    return [min(most, items - first) for first in range(0, items, most)]
