"""Who wins a contrastive pair, and how items are grouped."""

import math

import pytest

from models.contrasts import Contrast, accuracy, accuracy_per_token, by_category, by_distance


def item(
    right: float, wrong: float, tokens: tuple[int, int] = (3, 3), distance: int = -1, category: str = ""
) -> Contrast:
    return Contrast(distance, category, right, wrong, *tokens)


@pytest.mark.parametrize(
    ("contrast", "won", "won_per_token"),
    [
        (item(-5.0, -7.0), True, True),
        (item(-7.0, -5.0), False, False),
        (item(-5.0, -5.0), False, False),  # a tie is lost
        (item(-5.0, -5.00001), False, False),  # as is what rounding makes of one
        (item(-6.0, -5.0, (4, 3)), False, True),  # a word left out: 1.5 nats a token against 1.67
        (item(-5.0, -6.0, (3, 4)), True, False),
        (item(-6.0, -4.5, (4, 3)), False, False),  # a tie by token
        (item(-5.0, -math.inf), True, True),
        (item(-math.inf, -math.inf), False, False),
        (item(math.nan, -5.0), False, False),
    ],
)
def test_the_likelier_side_wins(contrast: Contrast, won: bool, won_per_token: bool) -> None:
    assert (contrast.is_won, contrast.is_won_per_token) == (won, won_per_token)


def test_accuracies_are_shares_of_items_won() -> None:
    items = [item(-5.0, -7.0), item(-7.0, -5.0), item(-6.0, -5.0, (4, 3)), item(-9.0, -5.0)]
    assert (accuracy(items), accuracy_per_token(items)) == (0.25, 0.5)


def test_items_are_grouped_by_distances_that_are_known() -> None:
    items = [item(0, 0, distance=d) for d in (10, 2, -1, 10, 0)]
    assert by_distance(items) == {
        "distance=0": [items[4]],
        "distance=2": [items[1]],
        "distance=10": [items[0], items[3]],
    }
    assert by_distance([]) == {}


def test_items_are_grouped_by_category_where_there_are_several() -> None:
    items = [item(0, 0, category=c) for c in ("verb", "noun", "", "verb")]
    assert by_category(items) == {"category=noun": [items[1]], "category=verb": [items[0], items[3]]}
    assert by_category(items[2:]) == {}
    assert by_category([items[0], items[3]]) == {}
