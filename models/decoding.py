"""What a search for a translation and a model must know of each other; the searches are in greedy.py and beam.py.

Shapes: B batch, N sentences still in the search (N <= B), K hypotheses of each, S source length, V target vocabulary.
"""

from dataclasses import dataclass
from typing import Protocol, Self, TypeVar

from torch import Tensor

from models.config import ConfigError, check_count, checked_number

HIGHEST_PENALTY = 10
"""Far above what is of use: lengths to this power are still numbers."""


@dataclass(frozen=True, kw_only=True)
class DecodeConfig:
    """How a translation is searched for, in validation and test alike. Raises ConfigError on a value out of range."""

    beam: int = 1
    """Hypotheses kept at each step; 1: greedy, the likeliest token again and again."""
    length_penalty: float = 1.0
    """A finished hypothesis scores log-probability / tokens ** length_penalty (0: shorter ones are favoured)."""

    def __post_init__(self) -> None:
        check_count("beam", self.beam)
        object.__setattr__(self, "length_penalty", checked_number("length_penalty", self.length_penalty))
        if not 0 <= self.length_penalty <= HIGHEST_PENALTY:
            raise ConfigError(f"length_penalty={self.length_penalty!r}: must be from 0 to {HIGHEST_PENALTY}")
        default = DecodeConfig.length_penalty
        if self.beam == 1 and self.length_penalty != default:
            raise ConfigError(
                f"length_penalty={self.length_penalty!r}: has no effect with beam=1, leave it at {default}"
            )


@dataclass(frozen=True)
class Hypothesis:
    """A translation, finished by the end token or cut off at the length limit."""

    tokens: list[int]
    """Without start and end."""
    log_probability: float
    """Of all its tokens, the end included, in nats."""
    score: float
    """What it is ranked by: log_probability / number of those tokens ** length_penalty."""


class State(Protocol):
    """What a model keeps between two steps.

    Of each sentence what was read of its source, and of each of its hypotheses (equally many for every sentence, side
    by side) what was written.
    """

    def sentences(self, rows: Tensor) -> Self:
        """Keeps the given sentences (N,) int64, in that order; their hypotheses are left to `hypotheses`."""
        ...

    def hypotheses(self, rows: Tensor) -> Self:
        """Keeps the given hypotheses (N K,) int64, in that order; the same one may be taken several times."""
        ...


StateT = TypeVar("StateT", bound=State)


class Decodable(Protocol[StateT]):
    """A translation model as a search sees it."""

    longest: int | None
    """Most target tokens, the start included, that the model can take; None: no limit."""

    def start(self, source: Tensor, source_real: Tensor | None) -> StateT:
        """Reads the source (B, S); the state has one hypothesis a sentence."""
        ...

    def step(self, tokens: Tensor, state: StateT) -> tuple[Tensor, StateT]:
        """Takes the newest tokens (N K,); gives the logits (N K, V) of the ones after them.

        Of several successors of one state only the newest may be stepped further: it may lie where the others lay.
        """
        ...


def within(max_length: Tensor, model: Decodable[StateT]) -> Tensor:
    """The limits (B,), none above what the model can take."""
    return max_length if model.longest is None else max_length.clamp(max=model.longest)
