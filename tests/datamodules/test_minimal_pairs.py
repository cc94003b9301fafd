"""What of a pair is scored, what is left out, and the batches."""

import numpy as np
import torch

from datamodules.agreement import Pair
from datamodules.minimal_pairs import Encoded, draw, encode_pairs, pair_batches, won_by
from datamodules.units import learn

WORDS = learn("words", "the cat cats dog runs run fast\nthe cat runs\n", 99)
CHARACTERS = learn("characters", "the cat cats dog runs run fast\n", 99)
CAT, RUNS, THE, CATS, DOG, FAST, RUN = range(2, 9)  # by frequency, then the alphabet


def _pair(right: str, wrong: str, *, whole: bool = True, category: str = "verb", distance: int = 1) -> Pair:
    return Pair(right, wrong, distance, category, whole)


def _items(*pairs: Pair) -> list[Encoded]:
    return encode_pairs(pairs, WORDS)[0]


def test_a_sentence_begins_and_ends_with_a_line_end_and_its_beginning_is_shared() -> None:
    (item,) = _items(_pair("the cat runs fast", "the cat run fast"))
    assert item.right.tolist() == [1, THE, CAT, RUNS, FAST, 1]
    assert item.wrong.tolist() == [1, THE, CAT, RUN, FAST, 1]
    assert item.shared == 3


def test_a_prefix_does_not_end() -> None:
    (item,) = _items(_pair("the cat runs ", "the cat run ", whole=False))
    assert item.scored()[0].tolist() == [RUNS]
    assert item.scored()[1].tolist() == [RUN]


def test_pairs_that_differ_in_an_unknown_word_are_left_out_and_counted() -> None:
    pairs = [
        _pair("the cat runs", "the cat run"),
        _pair("the zebra runs", "the zebra run"),  # unknown on both sides alike
        _pair("the cat sings", "the cat run"),
        _pair("the cat runs", "the cat sing"),
        _pair("the cat sings", "the cat sing"),  # the same ids
        _pair("the cat runs sings fast", "the cat run sings fast"),
        _pair("the cat runs ", "the cat runs fast ", whole=False),
    ]
    items, report = encode_pairs(pairs, WORDS)
    assert [item.pair for item in items] == [pairs[0], pairs[1], pairs[5]]
    assert report == (
        "3 of 7 pairs; left out: 3 with an unknown word where the sides differ, 1 with one side within the other"
    )


def test_a_blank_ends_the_last_word_of_a_prefix_in_characters() -> None:
    (item,), _ = encode_pairs([_pair("the cat run ", "the cat runs ", whole=False)], CHARACTERS)
    assert [len(side) for side in item.scored()] == [1, 2]  # a blank; an s and a blank


def test_a_batch_scores_what_follows_the_shared_beginning() -> None:
    pairs = _items(
        _pair("the cat runs fast", "the cat run fast", distance=4), _pair("cats run ", "cats runs ", whole=False)
    )
    (batch,) = pair_batches(pairs, 99)
    ignored = -100
    assert batch["inputs"].tolist() == [[1, CATS, 0, 0, 0], [1, THE, CAT, RUNS, FAST]]
    assert batch["real"].tolist() == [[True] * 2 + [False] * 3, [True] * 5]
    assert batch["targets"].tolist() == [
        [ignored, RUN, ignored, ignored, ignored],
        [ignored, ignored, RUNS, FAST, 1],
    ]
    assert batch["wrong_inputs"].tolist() == [[1, CATS, 0, 0, 0], [1, THE, CAT, RUN, FAST]]
    assert batch["wrong_targets"].tolist() == [
        [ignored, RUNS, ignored, ignored, ignored],
        [ignored, ignored, RUN, FAST, 1],
    ]
    assert torch.equal(batch["wrong_real"], batch["real"])
    assert batch["distance"].tolist() == [1, 4]
    assert batch["category"] == ["verb", "verb"]


def test_batches_hold_no_more_tokens_than_they_may_and_every_pair_once() -> None:
    sentences = ["the " * n + "cat" for n in (7, 1, 3, 5, 2, 4)]
    items = _items(*(_pair(f"{s} runs", f"{s} run", distance=n) for n, s in enumerate(sentences)))
    batches = pair_batches(items, 23)
    assert all(batch["inputs"].numel() <= 23 for batch in batches)
    assert [d for batch in batches for d in batch["distance"].tolist()] == [1, 4, 2, 5, 3, 0]
    assert pair_batches([], 23) == []


def test_pairs_are_drawn_by_category_in_their_order() -> None:
    items = _items(*(_pair("cat runs", "cat run", distance=n, category="ab"[n % 3 == 0]) for n in range(30)))
    drawn = [draw(items, 4, np.random.default_rng(seed)) for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]
    for found in drawn:
        distances = [item.pair.distance for item in found]
        assert distances == sorted(distances)
        assert sorted(item.pair.category for item in found) == ["a"] * 4 + ["b"] * 4
    assert draw(items, None, np.random.default_rng(0)) == items


def test_the_heavier_side_wins_and_an_equal_one_by_half() -> None:
    weights = np.arange(9.0)
    weights[RUN] = weights[DOG]
    items = _items(_pair("cat runs", "cat run"), _pair("cat run", "cat runs"), _pair("cat run", "cat dog"))
    assert list(won_by(weights, items)) == [0.0, 1.0, 0.5]
