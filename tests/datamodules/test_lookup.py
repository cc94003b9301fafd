"""The examples of the docstring by hand, a solver that reads the inputs alone, and the ceiling by search."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from datamodules.base import Batch, TaskData
from datamodules.errors import DataError
from datamodules.lookup import LookUp, LookUpConfig, tied_ceiling

Make = Callable[..., TaskData[Any]]
Row = list[list[int]]
NONE, NOWHERE = -100, -1
CYCLES: dict[str, Any] = {"form": "cycles", "names": 10, "cycle": 5, "symbols": 7}
SEVERAL: dict[str, Any] = {"form": "several", "names": 5, "look_ups": 3, "symbols": 7}
PAIRS: dict[str, Any] = {"form": "pairs", "pairs": 5, "n_keys": 11, "symbols": 7}


def _asked(row: Row, config: LookUpConfig) -> list[list[int]]:
    """Names (keys) that each position asks for."""
    match config.form:
        case "pairs":
            return [[] for _ in row[:-1]] + [[row[-1][0]]]
        case "cycles":
            cycles = [list(range(first, first + config.cycle)) for first in range(0, config.names, config.cycle)]
            follows = {name: ring[(ring.index(name) + 1) % config.cycle] for ring in cycles for name in ring}
            return [[follows[name]] for name, _ in row]
        case "several":
            return [names for _, _, *names in row]


def _solve(row: Row, config: LookUpConfig) -> list[list[tuple[int, int, int]]]:
    """Answer, distance and place, for each position and for each name that it asks for."""
    tokens = row[:-1] if config.form == "pairs" else row
    place = {token[0]: there for there, token in enumerate(tokens)}
    assert len(place) == len(tokens)
    return [
        [(row[place[name]][1], abs(place[name] - here), place[name]) for name in names]
        for here, names in enumerate(_asked(row, config))
    ]


def _check(batch: Batch, config: LookUpConfig) -> None:
    nothing = [(NONE, -1, NOWHERE)]
    for number, row in enumerate(batch["inputs"].tolist()):
        solved = [answers or nothing for answers in _solve(row, config)]
        for index, key in enumerate(("targets", "distance", "answer_at")):
            expected = [[answer[index] for answer in answers] for answers in solved]
            found = batch[key][number].tolist()
            assert found == (expected if config.form == "several" else [answer for [answer] in expected])


def _batches(data: TaskData[Any]) -> list[Batch]:
    loaders = [data.train_dataloader(), *data.val_dataloader(), *data.test_dataloader()]
    return [batch for loader in loaders for batch in loader]


def test_the_solver_gives_the_examples_of_the_docstring() -> None:
    assert _solve([[4, 6], [9, 1], [0, 3], [9, 16]], LookUpConfig(pairs=3)) == [[], [], [], [(1, 2, 1)]]
    # names of the docstring's cycle, with a second one so that there are enough sequences
    cycles = LookUpConfig(form="cycles", names=6)
    row = [[2, 5], [0, 7], [1, 5], [3, 2], [5, 8], [4, 9]]
    first = [[(7, 1, 1)], [(5, 1, 2)], [(5, 2, 0)]]
    assert _solve(row, cycles) == [*first, [(9, 2, 5)], [(2, 1, 3)], [(8, 1, 4)]]
    several = LookUpConfig(form="several", names=3)
    assert _solve([[2, 5, 0, 2], [0, 7, 2, 1], [1, 1, 1, 1]], several) == [
        [(7, 1, 1), (5, 0, 0)],
        [(5, 1, 0), (1, 1, 2)],
        [(1, 0, 2), (1, 0, 2)],
    ]


@pytest.mark.parametrize(
    "changes", [{}, PAIRS, {"form": "cycles"}, {"form": "cycles", "names": 24, "cycle": 24}, CYCLES, SEVERAL]
)
def test_a_loop_solves_every_look_up(changes: dict[str, Any]) -> None:
    config = LookUpConfig(**(changes | {"validation_size": 19, "test_size": 23}))
    data = LookUp(config, seed=0, steps=5, batch_size=7)
    data.setup()
    batches = _batches(data)
    assert sum(len(batch["inputs"]) for batch in batches) == 5 * 7 + 19 + 23
    for batch in batches:
        _check(batch, config)
        assert all(value.dtype == torch.int64 for value in batch.values())


@pytest.mark.parametrize(
    ("changes", "length", "input_sizes", "output_size", "n_answers"),
    [
        ({}, 9, (32, 17), 16, 1),
        (PAIRS, 6, (11, 8), 7, 1),
        ({"form": "cycles"}, 12, (12, 12), 12, 1),
        (CYCLES, 10, (10, 7), 7, 1),
        ({"form": "several"}, 12, (12, 12, 12, 12), 12, 2),
        (SEVERAL, 5, (5, 7, 5, 5, 5), 7, 3),
    ],
)
def test_shapes(
    changes: dict[str, Any], length: int, input_sizes: tuple[int, ...], output_size: int, n_answers: int
) -> None:
    data = LookUp(LookUpConfig(**changes), seed=0, steps=1, batch_size=400)
    batch = data.training_batch(0)
    assert (data.input_sizes, data.output_size, data.n_answers) == (input_sizes, output_size, n_answers)
    assert data.chance == 1 / output_size
    assert batch["inputs"].shape == (400, length, len(input_sizes))
    answers = (400, length, n_answers) if n_answers > 1 else (400, length)
    assert {batch[key].shape for key in ("targets", "distance", "answer_at")} == {answers}
    seen = batch["inputs"].reshape(-1, len(input_sizes))
    assert [sorted(set(column.tolist())) for column in seen.T] == [list(range(size)) for size in input_sizes]


def test_only_the_last_token_of_pairs_asks() -> None:
    batch = LookUp(LookUpConfig(**PAIRS), seed=0, steps=1, batch_size=600).training_batch(0)
    assert (batch["inputs"][:, -1, 1] == 7).all()
    assert (batch["inputs"][:, :-1, 1] < 7).all()
    assert (batch["targets"][:, :-1] == NONE).all()
    assert (batch["distance"][:, :-1] == -1).all()
    assert (batch["answer_at"][:, :-1] == NOWHERE).all()
    shares = np.bincount(batch["answer_at"][:, -1].numpy(), minlength=5) / 600
    assert np.abs(shares - 1 / 5).max() < 0.06


@pytest.mark.parametrize("changes", [PAIRS, CYCLES, SEVERAL])
def test_answers_are_equally_likely(changes: dict[str, Any]) -> None:
    targets = LookUp(LookUpConfig(**changes), seed=0, steps=1, batch_size=9000).training_batch(0)["targets"].numpy()
    shares = np.bincount(targets[targets != NONE]) / (targets != NONE).sum()
    assert np.abs(shares - 1 / 7).max() < 0.012


def test_references_of_pairs_are_those_of_counting_values(make: Make) -> None:
    data = make("look-up", **PAIRS, test_size=300)
    chances = []
    for batch in data.test_dataloader()[0]:
        for row, targets in zip(batch["inputs"].tolist(), batch["targets"].tolist(), strict=True):
            counts = Counter(value for _, value in row[:-1])
            best = [value for value, number in counts.items() if number == max(counts.values())]
            chances.append((targets[-1] in best) / len(best))
    assert len(chances) == 300
    found = data.references()
    assert set(found) == {"accuracy", "attention_mass"}
    assert found["accuracy"] == {"values without keys": pytest.approx(np.mean(chances))}
    assert found["attention_mass"] == {"uniform attention": 1 / 6}


def test_references_of_the_other_forms(make: Make) -> None:
    found = make("look-up", form="cycles").references()
    assert found["accuracy"] == {"ceiling of tied scores": pytest.approx(2 / 3 + 1 / 36)}
    assert found["attention_mass"] == {"uniform attention": 1 / 12}
    found = make("look-up", **CYCLES).references()
    assert found["accuracy"] == {"ceiling of tied scores": pytest.approx(4 / 5 + 1 / 35)}
    assert set(make("look-up", form="cycles", cycle=2).references()) == {"attention_mass"}
    assert make("look-up", **SEVERAL).references() == {"attention_mass": {"uniform attention": 1 / 5}}


def test_uniform_attention_has_the_mass_that_the_reference_says(make: Make) -> None:
    """On the one slot that holds the answer, whichever it is, counted on the test items."""
    for changes in (PAIRS, CYCLES, SEVERAL):
        data = make("look-up", **changes)
        batch = next(iter(data.test_dataloader()[0]))
        at = batch["answer_at"][batch["answer_at"] >= 0]
        weights = torch.full((batch["inputs"].shape[1],), 1 / batch["inputs"].shape[1])
        assert weights[at].mean().item() == pytest.approx(data.references()["attention_mass"]["uniform attention"])


def _next(names: int, cycle: int) -> NDArray[np.int64]:
    """The name that follows each name."""
    return np.array([[*range(first + 1, first + cycle), first] for first in range(0, names, cycle)]).flatten()


def _right_by_order(scores: NDArray[np.float64], cycle: int) -> NDArray[np.float64]:
    """Share of names whose largest score is that of the next name: scores (S, N, N) to (S,)."""
    return (scores.argmax(2) == _next(scores.shape[1], cycle)).mean(1)


def _rising(names: int, cycle: int) -> NDArray[np.float64]:
    """Symmetric scores that rise along each cycle, from its first name on: (N, N)."""
    scores = np.full((names, names), -9.0)
    for name, follower in enumerate(_next(names, cycle)):
        scores[name, follower] = scores[follower, name] = name % cycle
    return scores


@pytest.mark.parametrize(("names", "cycle"), [(3, 3), (6, 3), (10, 5), (4, 4), (7, 7)])
def test_symmetric_scores_are_never_right_of_a_whole_cycle(names: int, cycle: int) -> None:
    """Random scores; and those that were found best, changed at random and kept if as good: a climb to the top."""
    rng = np.random.default_rng(names)
    drawn = rng.normal(size=(20_000, names, names))
    assert _right_by_order(drawn + drawn.transpose(0, 2, 1), cycle).max() <= (cycle - 1) / cycle
    best = drawn[0] + drawn[0].T
    for _ in range(400):
        changes = 2 * rng.normal(size=(30, names, names)) * (rng.random((30, names, names)) < 2 / names**2)
        shares = _right_by_order(tried := best + changes + changes.transpose(0, 2, 1), cycle)
        if shares.max() >= _right_by_order(best[None], cycle)[0]:
            best = tried[shares.argmax()]
    assert (cycle - 2) / cycle <= _right_by_order(best[None], cycle)[0] <= (cycle - 1) / cycle
    assert _right_by_order(_rising(names, cycle)[None], cycle)[0] == pytest.approx((cycle - 1) / cycle)
    alone = np.zeros((names, names))
    alone[np.arange(names), _next(names, cycle)] = 1  # not symmetric
    assert _right_by_order(alone[None], cycle)[0] == 1


def test_symmetric_scores_are_enough_for_cycles_of_two() -> None:
    assert _right_by_order(_rising(8, 2)[None] + np.eye(8) * -9, 2)[0] == 1


def _accuracy(scores: NDArray[np.float64], data: TaskData[Any], *, soft: bool) -> float:
    """Of a look-up with these scores: the payload with most weight, or that of the token with most weight."""
    right = []
    for batch in data.test_dataloader()[0]:
        names, payloads = batch["inputs"].numpy().transpose(2, 0, 1)
        weights = np.exp(scores[names[:, :, None], names[:, None, :]])
        if not soft:
            weights = weights == weights.max(2, keepdims=True)
        mass = weights @ np.eye(data.output_size)[payloads]
        right.append(mass.argmax(2) == batch["targets"].numpy())
    return float(np.concatenate(right).mean())


def test_the_ceiling_is_reached_by_order_and_passed_by_sums_of_equal_payloads(make: Make) -> None:
    data = make("look-up", form="cycles", test_size=2000)
    assert tied_ceiling(3, 12) == pytest.approx(0.69444, abs=1e-5)
    rising = _rising(12, 3) + np.where(np.eye(12) > 0, -9, 0)
    assert _accuracy(rising, data, soft=False) == pytest.approx(tied_ceiling(3, 12), abs=0.005)
    # the names that look at a wrong token also see those of the other cycles, whose payloads may outvote it
    voting = np.full((12, 12), -30.0)
    for first in range(0, 12, 3):
        for one, other, score in ((0, 1, 0.0), (1, 2, 0.1), (2, 0, 0.2)):
            voting[first + one, first + other] = voting[first + other, first + one] = score
    wrong = np.arange(0, 12, 3)
    voting[np.ix_(wrong, wrong)] = np.where(np.eye(4) > 0, -30.0, -0.5)
    assert (voting == voting.T).all()
    assert _accuracy(voting, data, soft=False) == pytest.approx(tied_ceiling(3, 12), abs=0.005)
    assert _accuracy(voting, data, soft=True) == pytest.approx(0.753, abs=0.006)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"form": "cycle"}, "form='cycle': choose from pairs, cycles, several"),
        ({"names": 13}, "names=13: has no effect with form=pairs, leave it at 12"),
        ({"cycle": 4}, "cycle=4: has no effect with form=pairs, leave it at 3"),
        ({"look_ups": 3}, "look_ups=3: has no effect with form=pairs, leave it at 2"),
        ({"form": "cycles", "pairs": 4}, "pairs=4: has no effect with form=cycles, leave it at 8"),
        ({"form": "cycles", "n_keys": 4}, "n_keys=4: has no effect with form=cycles, leave it at 32"),
        ({"form": "cycles", "look_ups": 4}, "look_ups=4: has no effect with form=cycles, leave it at 2"),
        ({"form": "several", "cycle": 4}, "cycle=4: has no effect with form=several, leave it at 3"),
        ({"pairs": 1}, "pairs=1: must be an integer of at least 2"),
        ({"pairs": True}, "pairs=True: must be an integer of at least 2"),
        ({"pairs": 33}, "n_keys=32: must be an integer of at least 33"),
        ({"symbols": 1}, "symbols=1: must be an integer of at least 2"),
        ({"form": "cycles", "names": 13}, "names=13: must be a multiple of cycle=3"),
        ({"form": "cycles", "cycle": 1}, "cycle=1: must be an integer of at least 2"),
        ({"form": "several", "look_ups": 1}, "look_ups=1: must be an integer of at least 2"),
        ({"form": "several", "names": 2.0}, "names=2.0: must be an integer of at least 2"),
        ({"validation_size": 0}, "validation_size=0: must be an integer of at least 1"),
        ({"test_size": 0}, "test_size=0: must be an integer of at least 1"),
        (
            {"form": "cycles", "names": 4, "cycle": 4, "symbols": 3},
            "form=cycles: 1944 different sequences are too few for splits that share none, at least 4096 are needed,"
            " with larger names, cycle or symbols",
        ),
        (
            {"form": "pairs", "pairs": 2, "n_keys": 8, "symbols": 6},
            "form=pairs: 4032 different sequences are too few for splits that share none, at least 4096 are needed,"
            " with larger pairs, n_keys or symbols",
        ),
        (
            {"form": "several", "names": 2, "look_ups": 2, "symbols": 11},
            "form=several: 3872 different sequences are too few for splits that share none, at least 4096 are needed,"
            " with larger names, look_ups or symbols",
        ),
    ],
)
def test_wrong_settings_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError) as caught:
        LookUpConfig(**changes)
    assert str(caught.value) == message
