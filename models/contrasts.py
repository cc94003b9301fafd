"""Contrastive pairs: is the right translation of a source likelier than a wrong one?"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

TIE = 1e-4
"""Nats by which one side must be likelier: less may be rounding, which differs with the padding of either side."""


@dataclass(frozen=True)
class Contrast:
    """One item, with the log-probability (nats, summed, the end included) and the tokens of either translation."""

    distance: int
    """Tokens between the two ends of the dependency; below 0: none is known."""
    category: str
    """Kind of the difference; may be empty."""
    right: float
    wrong: float
    right_tokens: int
    wrong_tokens: int

    @property
    def is_won(self) -> bool:
        """Whether the right translation is likelier as a whole; a tie is lost."""
        return self.right - self.wrong > TIE

    @property
    def is_won_per_token(self) -> bool:
        """Whether it is likelier by the mean over its tokens: a wrong side that leaves words out has fewer of them."""
        return self.right / self.right_tokens - self.wrong / self.wrong_tokens > TIE / self.right_tokens


def accuracy(contrasts: Sequence[Contrast]) -> float:
    """Share of items won, of at least one."""
    return sum(item.is_won for item in contrasts) / len(contrasts)


def accuracy_per_token(contrasts: Sequence[Contrast]) -> float:
    """Share of items won by the mean over tokens, of at least one."""
    return sum(item.is_won_per_token for item in contrasts) / len(contrasts)


def by_distance(contrasts: Iterable[Contrast]) -> dict[str, list[Contrast]]:
    """Items by coordinate, such as `distance=8`, in rising order; without those that have no distance."""
    found: dict[int, list[Contrast]] = {}
    for item in contrasts:
        if item.distance >= 0:
            found.setdefault(item.distance, []).append(item)
    return {f"distance={distance}": found[distance] for distance in sorted(found)}


def by_category(contrasts: Iterable[Contrast]) -> dict[str, list[Contrast]]:
    """Items by coordinate, such as `category=noun`, by name; {} unless there are several categories."""
    found: dict[str, list[Contrast]] = {}
    for item in contrasts:
        if item.category:
            found.setdefault(item.category, []).append(item)
    return {f"category={name}": found[name] for name in sorted(found)} if len(found) > 1 else {}
