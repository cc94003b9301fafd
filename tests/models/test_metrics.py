"""Streaming metrics against the whole at once, and BLEU against values known to be right."""

import pytest
import torch

from models.metrics import AccuracyByDistance, RunningMean, corpus_bleu

CAT = ["the cat sat on the mat .", "a dog ran in the park today .", "birds fly south in the cold winter ."]
CAT_REFERENCES = ["the cat sat on the mat .", "a dog was running in the park .", "birds go south when winter comes ."]
FOX = "the quick brown fox jumps over the lazy dog ."
SHARDS = ["the cat sat on the mat", "hello world this is nice", "we like green apples a lot"]
SHARD_REFERENCES = ["the cat sat on the mat", "hello world this was very nice", "they like red apples a lot"]


@pytest.mark.parametrize(
    ("hypotheses", "references", "score"),
    [
        (CAT, CAT_REFERENCES, 42.79),
        (CAT[::-1], CAT_REFERENCES[::-1], 42.79),  # the order of the pairs does not matter
        (["the the the cat"], ["the cat sat down here"], 24.88),  # 21.36 the other way round
        ([FOX, ""], [FOX, "hello there my friend ."], 60.65),  # an empty hypothesis counts
        (["", ""], [FOX, FOX], 0.0),
        (["the cat sat there"], ["the cat sat here"], 59.46),
        (["hello world how are you today"], ["hello world how are you this morning"], 64.32),  # 64.96 in pieces
        (["Zhongjian Plaza"], ["Zhongjian Plaza"], 0.0),  # no effective order: two words have no 4-gram
        (SHARDS, SHARD_REFERENCES, 54.09),
    ],
)
def test_bleu_has_the_value_of_sacrebleu(hypotheses: list[str], references: list[str], score: float) -> None:
    bleu = corpus_bleu(hypotheses, references)
    assert bleu is not None
    assert bleu.score == pytest.approx(score, abs=0.005)
    assert bleu.signature.startswith("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:")


def test_no_sentence_has_no_bleu() -> None:
    assert corpus_bleu([], []) is None


@pytest.mark.parametrize(
    ("hypotheses", "references", "message"),
    [
        (CAT, CAT_REFERENCES[:2], "3 hypotheses but 2 references"),
        (CAT[:2], CAT_REFERENCES, "2 hypotheses but 3 references"),
        (CAT[:1], CAT_REFERENCES[0], "not one string"),
        (CAT[0], CAT_REFERENCES[:1], "not one string"),
        (CAT, [[reference] for reference in CAT_REFERENCES], "one string a sentence"),
    ],
)
def test_bleu_refuses_what_would_be_scored_wrongly(hypotheses: list[str], references: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        corpus_bleu(hypotheses, references)


def test_a_mean_weighs_by_count() -> None:
    """Losses 2, 2, 2 and 5 in two batches: 11 / 4, not (2 + 5) / 2."""
    mean = RunningMean()
    mean.update(torch.tensor(6.0), torch.tensor(3))
    mean.update(torch.tensor(0.0), torch.tensor(0))
    mean.update(torch.tensor(5.0), torch.tensor(1))
    assert mean.compute() == 2.75


def test_a_mean_of_nothing_is_none_and_nan_stays() -> None:
    mean = RunningMean()
    mean.update(torch.tensor(0.0), torch.tensor(0))
    assert mean.compute() is None
    mean.update(torch.tensor(torch.nan), torch.tensor(2))
    assert mean.compute() != mean.compute()


def test_a_long_mean_does_not_depend_on_single_precision() -> None:
    mean = RunningMean()
    for _ in range(3):
        mean.update(torch.tensor(2.0**24), torch.tensor(2**24))
        mean.update(torch.tensor(1.0), torch.tensor(1))
    assert mean.compute() == 1.0
    assert mean.total.item() == 3 * (2**24 + 1)


def test_accuracy_by_distance_counts_each_distance_alone() -> None:
    metric = AccuracyByDistance()
    metric.update(torch.tensor([True, False, True, True]), torch.tensor([7, 7, 0, -1]))
    metric.update(torch.tensor([True, True, False]), torch.tensor([7, 2, 2]))
    assert metric.compute() == {0: 1.0, 2: 0.5, 7: pytest.approx(2 / 3)}


def test_accuracy_by_distance_of_two_devices_is_that_of_one() -> None:
    """Devices that saw different distances: their states are of one shape and add up."""
    right, distance = torch.tensor([True, False, True, True, False]), torch.tensor([3, 3, 9, 1, 9])
    parts = [AccuracyByDistance() for _ in range(2)]
    parts[0].update(right[:2], distance[:2])
    parts[1].update(right[2:], distance[2:])
    whole = AccuracyByDistance()
    whole.update(right, distance)
    summed = AccuracyByDistance()
    summed.update(right[:0], distance[:0])
    summed.right += parts[0].right + parts[1].right
    summed.count += parts[0].count + parts[1].count
    assert summed.compute() == whole.compute() == {1: 1.0, 3: 0.5, 9: 0.5}
