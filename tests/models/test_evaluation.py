"""What one split adds up to, on one device and on two."""

import math
import socket
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch.multiprocessing.spawn import spawn

from models.evaluation import Contrast, Evaluation, key
from models.metrics import corpus_bleu

CPU = torch.device("cpu")
SENTENCES = ["the cat sat on the mat", "hello world this is nice", "we like green apples a lot"]
REFERENCES = ["the cat sat on the mat", "hello world this was very nice", "they like red apples a lot"]


def add_loss(evaluation: Evaluation, coordinate: str, losses: list[float]) -> None:
    evaluation.add_loss(coordinate, torch.tensor(losses).sum(), torch.tensor(len(losses)))


def test_keys() -> None:
    assert key("loss", "") == "loss"
    assert key("loss", "length=48") == "loss@length=48"


def test_a_new_evaluation_has_no_value() -> None:
    evaluation = Evaluation(CPU)
    evaluation.gather()
    assert evaluation.values() == {}
    assert evaluation.bleu() == {}
    assert evaluation.contrasts == []


def test_items_are_sentences_or_answers_and_answers_by_distance() -> None:
    evaluation = Evaluation(CPU)
    assert evaluation.items() == {"": 0}
    evaluation.add_answers("", torch.tensor([True, False, True]), torch.tensor([2, 5, 2]))
    evaluation.add_answers("length=48", torch.tensor([True]), None)
    assert evaluation.items() == {"": 3, "distance=2": 2, "distance=5": 1}
    evaluation.add_translations("", SENTENCES[:2], SENTENCES[:2], REFERENCES[:2])
    assert evaluation.items() == {"": 2, "distance=2": 2, "distance=5": 1}


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
    evaluation, at = Evaluation(CPU), 0
    for size in sizes:
        part = slice(at, at + size)
        evaluation.add_translations("", SENTENCES[part], SENTENCES[part], REFERENCES[part])
        at += size
    assert evaluation.bleu()["bleu"].score == pytest.approx(54.09, abs=0.005)


def test_each_set_has_its_own_bleu_and_a_set_without_sentences_none() -> None:
    evaluation = Evaluation(CPU)
    evaluation.add_translations("", SENTENCES, REFERENCES, REFERENCES)
    evaluation.add_translations("domain=news", SENTENCES, SENTENCES, REFERENCES)
    evaluation.add_translations("domain=none", [], [], [])
    scores = {name: score.score for name, score in evaluation.bleu().items()}
    assert scores == pytest.approx({"bleu": 100.0, "bleu@domain=news": 54.09}, abs=0.005)


def test_unequal_counts_are_refused_at_once() -> None:
    with pytest.raises(ValueError, match="3 hypotheses but 2 references"):
        Evaluation(CPU).add_translations("", SENTENCES, SENTENCES, REFERENCES[:2])
    with pytest.raises(ValueError, match="3 hypotheses but 2 sources"):
        Evaluation(CPU).add_translations("", SENTENCES[:2], SENTENCES, REFERENCES)


def device_of_two(rank: int, port: int, folder: Path) -> None:
    """Rank 0 sees two sentences, rank 1 the third, an extra set and other distances."""
    dist.init_process_group("gloo", f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    evaluation = Evaluation(CPU)
    part = slice(2) if rank == 0 else slice(2, 3)
    add_loss(evaluation, "", [2.0, 2.0, 2.0] if rank == 0 else [5.0])
    evaluation.add_translations("", SENTENCES[part], SENTENCES[part], REFERENCES[part])
    if rank == 0:
        evaluation.add_answers("", torch.tensor([True, False]), torch.tensor([3, 3]))
    else:
        add_loss(evaluation, "length=48", [7.0])
        evaluation.add_answers("", torch.tensor([True]), torch.tensor([8]))
        evaluation.contrasts.append(Contrast(3, "noun", -1.0, -2.0))
    evaluation.gather()
    bleu = evaluation.bleu()["bleu"].score
    torch.save((evaluation.values(), bleu, len(evaluation.contrasts)), folder / f"{rank}.pt")
    dist.destroy_process_group()


def test_two_devices_give_the_numbers_of_one(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    spawn(device_of_two, (port, tmp_path), nprocs=2)  # type: ignore[no-untyped-call]
    whole = corpus_bleu(SENTENCES, REFERENCES)
    assert whole is not None
    for rank in range(2):
        values, bleu, n_contrasts = torch.load(tmp_path / f"{rank}.pt")
        assert values == {
            "loss": 2.75,
            "loss@length=48": 7.0,
            "accuracy": pytest.approx(2 / 3),
            "accuracy@distance=3": 0.5,
            "accuracy@distance=8": 1.0,
        }
        assert bleu == whole.score
        assert n_contrasts == 1
