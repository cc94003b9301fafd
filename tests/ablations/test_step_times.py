"""Times of training steps: both take turns on the same batches, and a slower one is slower by as much."""

import time
from typing import Any

import pytest
import torch

from ablations import calibrate, step_times
from ablations.load import make_study
from ablations.step_times import ROUNDS, STEPS, Prepared, step_ratio
from tests.ablations import trained


def prepared(**sections: dict[str, Any]) -> Prepared:
    experiment = {"task": trained.TASK, "model": trained.MODEL, "train": {"steps": 9, "batch_size": 4}, **sections}
    (run,) = make_study({"name": "tiny", "seeds": 1, "experiments": {"e": experiment}}).runs()
    data = run.settings.data(0)
    data.setup()
    return run.settings, data


def test_the_two_take_turns_on_the_same_batches_with_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, list[int], int]] = []

    def noting(module: Any, batches: Any, kind: str) -> float:
        assert kind == "cpu"
        width = module.model.embedding.factors[0].weight.shape[1]
        seen.append((width, [int(batch["targets"].sum()) for batch in batches], torch.get_num_threads()))
        return 1.0

    monkeypatch.setattr(step_times, "seconds_of_steps", noting)
    threads = torch.get_num_threads()
    wide = prepared(model={**trained.MODEL, "d_model": 15})
    assert step_ratio(prepared(), wide, "cpu") == 1
    assert [width for width, *_ in seen] == [12, 15] * ROUNDS
    assert len({tuple(batches) for _, batches, _ in seen}) == 1
    assert len(seen[0][1]) == STEPS + 1
    assert {used for *_, used in seen} == {1}
    assert torch.get_num_threads() == threads


def test_the_ratio_is_that_of_the_middle_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that slows down to a seventh, and one round that is disturbed."""
    times = iter([x for n in range(1, ROUNDS + 1) for x in (n, 3.0 * n if n != 2 else 100.0)])
    monkeypatch.setattr(step_times, "seconds_of_steps", lambda *_: next(times))
    assert step_ratio(prepared(), prepared(), "cpu") == pytest.approx(3.0)


def test_a_step_that_is_slowed_down_takes_as_much_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    timed = calibrate.seconds_of_steps

    def slowed(module: Any, batches: Any, kind: str) -> float:
        began = time.process_time()
        timed(module, batches, kind)
        plain = time.process_time() - began
        while module.model.embedding.factors[0].weight.shape[1] == 15 and time.process_time() - began < 3 * plain:
            pass  # busy: the clock is the process's own
        return time.process_time() - began

    monkeypatch.setattr(step_times, "seconds_of_steps", slowed)
    wide = prepared(model={**trained.MODEL, "d_model": 15})
    assert step_ratio(prepared(), wide, "cpu") == pytest.approx(3.0, rel=0.3)


@pytest.mark.parametrize("precision", ["float32", "bf16-mixed"])
def test_what_is_the_same_takes_the_same(precision: str) -> None:
    half = prepared(train={"steps": 9, "batch_size": 4, "precision": precision})
    assert step_ratio(half, half, "cpu") == pytest.approx(1.0, rel=0.3)
