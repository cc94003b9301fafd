"""What one split adds up to, on one device and on two."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch

from ablations.ranks import Place
from models.contrasts import Contrast
from models.evaluation import Answered, Evaluation, key
from models.scores import corpus_bleu
from models.translations import Translation
from tests.together import together

CPU = torch.device("cpu")
SENTENCES = ["the cat sat on the mat", "hello world this is nice", "we like green apples a lot"]
REFERENCES = ["the cat sat on the mat", "hello world this was very nice", "they like red apples a lot"]


def add_loss(evaluation: Evaluation, coordinate: str, losses: list[float]) -> None:
    evaluation.add_loss(coordinate, torch.tensor(losses).sum(), torch.tensor(len(losses)))


def translations(part: slice = slice(None)) -> list[Translation]:
    pairs = zip(REFERENCES[part], SENTENCES[part], strict=True)
    return [Translation("source", reference, sentence, sentence, 1.0, 7) for reference, sentence in pairs]


def contrast(right: float, distance: int, category: str = "noun") -> Contrast:
    """Against -2 nats; right has 3 tokens, wrong 2."""
    return Contrast(distance, category, right, -2.0, 3, 2)


def test_keys() -> None:
    assert key("loss", "") == "loss"
    assert key("loss", "length=48") == "loss@length=48"


def test_a_new_evaluation_has_no_value() -> None:
    evaluation = Evaluation(CPU)
    evaluation.gather()
    assert evaluation.values() == {}
    assert evaluation.scores() == {}
    assert evaluation.items() == {"": 0}


def test_items_are_sentences_or_answers_and_answers_by_distance() -> None:
    evaluation = Evaluation(CPU)
    evaluation.add_answers("", torch.tensor([True, False, True]), torch.tensor([2, 5, 2]))
    evaluation.add_answers("length=48", torch.tensor([True]), None)
    assert evaluation.items() == {"": 3, "distance=2": 2, "distance=5": 1}
    evaluation.add_translations("", translations(slice(2)))
    evaluation.gather()
    assert evaluation.items() == {"": 2, "distance=2": 2, "distance=5": 1}


def test_contrasts_are_items_by_distance_and_category_too() -> None:
    evaluation = Evaluation(CPU)
    evaluation.add_contrasts("", [contrast(-1, 4), contrast(-1, -1, "verb"), contrast(-3, 4)])
    evaluation.add_contrasts("domain=news", [contrast(-1, 9, "adverb")])
    evaluation.gather()
    assert evaluation.items() == {"": 3, "distance=4": 2, "category=noun": 2, "category=verb": 1}
    evaluation.add_translations("", translations(slice(2)))
    evaluation.gather()
    assert evaluation.items()[""] == 2


def test_contrasts_are_counted_together_by_category_and_in_the_main_set_by_distance() -> None:
    """-2.5 loses as a whole and wins by token: 0.83 nats against 1."""
    evaluation = Evaluation(CPU)
    evaluation.add_contrasts("", [contrast(-1, 4), contrast(-2.5, 4)])
    evaluation.add_contrasts("", [contrast(-9, -1, "verb")])
    evaluation.add_contrasts("domain=news", [contrast(-2.5, 4), contrast(-1, 4, "verb")])
    evaluation.add_contrasts("domain=none", [])
    evaluation.gather()
    third = pytest.approx(1 / 3)
    assert evaluation.values() == {
        "accuracy": third,
        "accuracy-per-token": pytest.approx(2 / 3),
        "accuracy@distance=4": 0.5,
        "accuracy@category=noun": 0.5,
        "accuracy-per-token@category=noun": 1.0,
        "accuracy@category=verb": 0.0,
        "accuracy-per-token@category=verb": 0.0,
        "accuracy@domain=news": 0.5,
        "accuracy-per-token@domain=news": 1.0,
    }


def test_losses_weigh_by_token_and_sets_stay_apart() -> None:
    evaluation = Evaluation(CPU)
    add_loss(evaluation, "", [2.0, 2.0, 2.0])
    add_loss(evaluation, "", [])
    add_loss(evaluation, "", [5.0])
    add_loss(evaluation, "length=48", [7.0])
    add_loss(evaluation, "length=96", [])
    assert evaluation.values() == {"loss": 2.75, "loss@length=48": 7.0}


def test_a_loss_that_is_not_a_number_stays_so() -> None:
    evaluation = Evaluation(CPU)
    add_loss(evaluation, "", [2.0, math.nan])
    assert math.isnan(evaluation.values()["loss"])


def test_answers_are_counted_together_and_by_distance_in_the_main_set_alone() -> None:
    evaluation = Evaluation(CPU)
    evaluation.add_answers("", torch.tensor([True, False, True]), torch.tensor([4, 4, -1]))
    evaluation.add_answers("", torch.tensor([True]), None)
    evaluation.add_answers("length=48", torch.tensor([False, False]), torch.tensor([4, 9]))
    assert evaluation.values() == {"accuracy": 0.75, "accuracy@length=48": 0.0, "accuracy@distance=4": 0.5}


@pytest.mark.parametrize("sizes", [[3], [2, 1], [1, 1, 1]])
def test_bleu_is_of_the_corpus_however_it_is_cut(sizes: list[int]) -> None:
    """HB-06."""
    evaluation, at = Evaluation(CPU), 0
    for size in sizes:
        evaluation.add_translations("", translations(slice(at, at + size)))
        at += size
    evaluation.gather()
    assert evaluation.scores()["bleu"].value == pytest.approx(54.09, abs=0.005)


def test_each_set_has_its_own_scores_and_a_set_without_sentences_none() -> None:
    evaluation = Evaluation(CPU)
    evaluation.add_translations("", translations(slice(1)))
    evaluation.add_translations("domain=news", translations())
    evaluation.add_translations("domain=none", [])
    evaluation.gather()
    scores = {name: score.value for name, score in evaluation.scores().items()}
    assert scores["bleu"] == pytest.approx(100)
    assert scores["bleu@domain=news"] == pytest.approx(54.09, abs=0.005)
    assert {name.partition("@")[2] for name in scores} == {"", "domain=news"}
    assert len(scores) == 7 + 8  # one sentence alone has no other to be held against


def test_sequences_stand_in_the_order_of_loaders_and_batches() -> None:
    evaluation = Evaluation(CPU)
    for place, right in [((0, 1), 3), ((0, 0), 2)]:
        evaluation.place = place
        evaluation.add_sequences("", [Answered(right, 5, 0.5)])
    evaluation.gather()
    assert [row.right for row in evaluation.sequences[""]] == [2, 3]


def test_items_stand_in_the_order_of_loaders_and_batches() -> None:
    evaluation = Evaluation(CPU)
    for place, coordinate, distance in [((1, 0), "b", 5), ((0, 1), "a", 3), ((0, 0), "b", 1), ((0, 2), "a", 4)]:
        evaluation.place = place
        evaluation.add_contrasts(coordinate, [contrast(-1, distance), contrast(-3, distance)])
    evaluation.gather()
    found = {at: [item.distance for item in items] for at, items in evaluation.contrasts.items()}
    assert list(found.items()) == [("b", [1, 1, 5, 5]), ("a", [3, 3, 4, 4])]


def device_of_two(place: Place) -> tuple[Any, ...]:
    """Sentences are dealt out in turn; rank 1 alone has an extra set; both see other distances.

    Losses 0 to 4 are dealt out in turn, and ones, three of them on rank 0 and two on rank 1 (HB-09).
    """
    rank, evaluation = place.rank, Evaluation(CPU)
    for number, sentence in enumerate(range(rank, 3, 2)):
        evaluation.place = (0, number)
        evaluation.add_translations("", translations(slice(sentence, sentence + 1)))
        evaluation.place = (1, number)
        evaluation.add_contrasts("domain=news", [contrast(-1 - sentence, 3)])
    for value in range(rank, 5, 2):
        add_loss(evaluation, "", [float(value)])
    add_loss(evaluation, "ones", [1.0] * (3 - rank))
    evaluation.add_answers("", torch.tensor([True, False] if rank == 0 else [True]), torch.full((2 - rank,), 3 + rank))
    if rank == 1:
        add_loss(evaluation, "length=48", [7.0])
        evaluation.add_contrasts("domain=web", [contrast(-9, 3)])
    evaluation.gather()
    scores = {name: score.value for name, score in evaluation.scores().items()}
    order = [t.reference for t in evaluation.translations[""]], [c.right for c in evaluation.contrasts["domain=news"]]
    return evaluation.values(), scores, evaluation.items(), order


def test_two_devices_give_the_numbers_of_one(tmp_path: Path) -> None:
    for values, scores, items, order in together(tmp_path, 2, device_of_two):
        assert values == {
            "loss": 2.0,
            "loss@ones": 1.0,
            "loss@length=48": 7.0,
            "accuracy": pytest.approx(2 / 3),
            "accuracy@distance=3": 0.5,
            "accuracy@distance=4": 1.0,
            "accuracy@domain=news": pytest.approx(1 / 3),
            "accuracy-per-token@domain=news": pytest.approx(2 / 3),
            "accuracy@domain=web": 0.0,
            "accuracy-per-token@domain=web": 0.0,
        }
        assert scores["bleu"] == corpus_bleu(SENTENCES, REFERENCES).value
        assert items == {"": 3, "distance=3": 2, "distance=4": 1}
        assert order == (REFERENCES, [-1.0, -2.0, -3.0])


def device_with_nothing(place: Place) -> tuple[Any, ...]:
    evaluation = Evaluation(CPU)
    evaluation.gather()
    return evaluation.values(), evaluation.items()


def test_two_devices_may_have_nothing(tmp_path: Path) -> None:
    assert together(tmp_path, 2, device_with_nothing) == [({}, {"": 0})] * 2
