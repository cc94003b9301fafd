"""A run that is interrupted goes on as one that never was: the same rows, weights, noise and bookkeeping."""

import errno
import io
import json
import os
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ablations import checkpoints
from ablations.checkpoints import Checkpoints, WholeFiles, marks, random_state, saved, set_random_state
from ablations.interruption import Stopped, StopRequest
from ablations.load import make_study
from ablations.results import Result
from ablations.study import Run
from ablations.train import train
from models.lit import Module
from reports.rows import read_metrics

STEPS = 23
ORDER = {"name": "order", "target": "previous", "length": 5, "vocabulary": 7, "validation_size": 11, "test_size": 13}
GERMAN = {"name": "german", "train_size": 40, "validation_size": 5, "test_size": 7, "contrast_size": 7}
KINDS: dict[str, dict[str, Any]] = {
    "tagger": {"task": ORDER, "model": {"architecture": "decoder", "d_model": 12, "n_heads": 3, "dropout": 0.2}},
    "lstm": {"task": ORDER, "model": {"architecture": "lstm", "d_hidden": 13, "d_model": 7, "dropout": 0.2}},
    "batch norm": {"task": ORDER, "model": {"architecture": "encoder", "d_model": 12, "n_heads": 3, "norm": "batch"}},
    "translator": {
        "task": GERMAN,
        "model": {"architecture": "encoder-decoder", "d_model": 12, "n_heads": 3, "dropout": 0.2},
    },
}


class Killed(BaseException):
    """Stands for a SIGKILL: nothing of the run is tidied up."""


def make_run(kind: str = "tagger", **train_settings: Any) -> Run:
    settings = {"steps": STEPS, "batch_size": 3, "warmup": 2, "validate_every": 7, "log_every": 3} | train_settings
    experiment = KINDS[kind] | {"train": settings}
    (run,) = make_study({"name": "tiny", "seeds": [3], "experiments": {"e": experiment}}).runs()
    return run


def kill_after(step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process dies at the end of a step, or of the round that the step is in, after what was to be written then.

    Rounds end after 4, 7, 11, 14, 18, 21 and 23 steps; a validation follows at 7, 14, 21 and 23.
    """
    write = checkpoints.Checkpoints.on_train_batch_end

    def dying(self: Any, trainer: Any, *rest: Any) -> None:
        write(self, trainer, *rest)
        if trainer.global_step >= step:
            raise Killed

    monkeypatch.setattr(checkpoints.Checkpoints, "on_train_batch_end", dying)


def killed(run: Run, folder: Path, step: int, **options: Any) -> None:
    """Train the run until it is killed after a step."""
    with pytest.MonkeyPatch.context() as patch:
        kill_after(step, patch)
        with pytest.raises(Killed):
            train(run, folder, **options)


def interrupted(run: Run, folder: Path, steps: list[int]) -> Result:
    """The run, killed at each of the steps in turn."""
    for step in steps:
        killed(run, folder, step)
    return train(run, folder)


def same(result: Result) -> dict[str, Any]:
    """What does not depend on the clock."""
    counted = {name: result.cost[name] for name in ("parameters", "training_flops")}
    return {"status": result.status, "reason": result.reason, "metrics": result.metrics, **counted}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("steps", [[6], [2, 13, 15], [21]], ids=str)
def test_a_killed_run_ends_as_one_that_never_was(kind: str, steps: list[int], tmp_path: Path) -> None:
    run = make_run(kind, checkpoint_steps=5, keep_checkpoints=True)
    whole = train(run, tmp_path / "whole")
    parts = interrupted(run, tmp_path / "parts", steps)
    assert same(parts) == same(whole)
    for name in ("metrics.csv", "outputs/translations.csv.gz", "outputs/contrasts.csv.gz"):
        files = [tmp_path / folder / name for folder in ("whole", "parts")]
        assert files[0].exists() == files[1].exists() == (name == "metrics.csv" or kind == "translator")
        assert not files[0].exists() or files[0].read_bytes() == files[1].read_bytes()
    weights = [
        torch.load(tmp_path / folder / "checkpoints/best.ckpt", weights_only=True)["state_dict"]
        for folder in ("whole", "parts")
    ]
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])
    assert saved(tmp_path / "parts/checkpoints") == []


def test_it_does_go_on_and_not_begin_anew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    interrupted(make_run(checkpoint_steps=5), tmp_path, [16])
    assert "goes on from step-14.ckpt" in capsys.readouterr().err


def test_rows_written_after_the_checkpoint_are_neither_lost_nor_doubled(tmp_path: Path) -> None:
    run = make_run(checkpoint_steps=5)
    killed(run, tmp_path, 19)
    with (tmp_path / "metrics.csv").open("a") as file:
        file.write("21,train,lo")  # torn
    train(run, tmp_path)
    rows = [row for row in read_metrics(tmp_path) if (row.split, row.metric) == ("train", "loss")]
    assert [row.step for row in rows] == list(range(3, STEPS, 3))
    assert (tmp_path / "metrics.csv").read_text().count("step,split") == 1


def test_short_runs_write_none_and_the_last_two_are_kept(tmp_path: Path) -> None:
    for name, steps, expected in (("by time", 0, []), ("by steps", 4, ["step-18.ckpt", "step-11.ckpt"])):
        killed(make_run(checkpoint_steps=steps), tmp_path / name, 22)
        assert [path.name for path in saved(tmp_path / name / "checkpoints")] == expected


def test_the_clock_decides_too(tmp_path: Path) -> None:
    killed(make_run(checkpoint_seconds=1e-9), tmp_path, 11)
    assert [path.name for path in saved(tmp_path / "checkpoints")] == ["step-11.ckpt", "step-7.ckpt"]


@pytest.mark.parametrize("cut", [1000, 10, None], ids=["shorter by 1 kB", "ten bytes left", "empty"])
def test_a_torn_checkpoint_is_passed_over_with_a_message(
    cut: int | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run(checkpoint_steps=4)
    whole = train(run, tmp_path / "whole")
    folder = tmp_path / "torn"
    killed(run, folder, 17)
    last = folder / "checkpoints/step-18.ckpt"
    os.truncate(last, {1000: last.stat().st_size - 1000, 10: 10, None: 0}[cut])
    parts = train(run, folder)
    said = capsys.readouterr().err
    assert "step-18.ckpt: cannot be read" in said
    assert "goes on from step-11.ckpt" in said
    assert same(parts) == same(whole)


def test_where_both_are_torn_the_run_begins_anew(tmp_path: Path) -> None:
    run = make_run(checkpoint_steps=4)
    whole = train(run, tmp_path / "whole")
    killed(run, tmp_path / "torn", 17)
    for path in saved(tmp_path / "torn/checkpoints"):
        path.write_bytes(b"PK")
    assert same(train(run, tmp_path / "torn")) == same(whole)


def test_what_a_checkpoint_differs_in_is_named_and_it_is_not_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run(checkpoint_steps=4)
    monkeypatch.setattr(checkpoints, "CODE", "a")
    killed(run, tmp_path, 9)
    last = tmp_path / "checkpoints/step-11.ckpt"

    def usable(run: Run) -> Path | None:
        return Checkpoints(tmp_path, run.settings.train, marks(run), StopRequest()).last_usable()

    assert usable(run) == last
    monkeypatch.setattr(checkpoints, "CODE", "b")
    assert usable(run) is None
    assert "step-11.ckpt: not gone on from, code was 'a' and is 'b'" in capsys.readouterr().err
    monkeypatch.setattr(checkpoints, "CODE", "a")
    assert usable(make_run("lstm", checkpoint_steps=4, lr=0.5)) is None
    said = capsys.readouterr().err
    assert "train.lr was 0.003 and is 0.5" in said
    assert "model.architecture was 'decoder' and is 'lstm'" in said
    (tmp_path / "metrics.csv").write_text("")
    assert usable(run) is None
    assert "metrics.csv is shorter than it was then" in capsys.readouterr().err


def test_a_run_that_is_asked_to_stop_writes_a_checkpoint_and_ends(tmp_path: Path) -> None:
    run = make_run()
    whole = train(run, tmp_path / "whole")
    stop = StopRequest()
    stop.made = True  # while it was being set up it would have ended at once
    with pytest.raises(Stopped):
        train(run, tmp_path / "stopped", stop=stop)
    assert [path.name for path in saved(tmp_path / "stopped/checkpoints")] == ["step-4.ckpt"]
    assert not (tmp_path / "stopped/result.json").exists()
    assert same(train(run, tmp_path / "stopped")) == same(whole)


def test_every_checkpoint_is_read_by_the_safe_loader_and_its_marks_are_json(tmp_path: Path) -> None:
    run = make_run("translator", checkpoint_steps=4)
    killed(run, tmp_path, 9)
    state = torch.load(tmp_path / "checkpoints/step-11.ckpt", weights_only=True)
    assert state["global_step"] == 11
    assert json.loads(json.dumps(state["callbacks"]["Checkpoints"]["marks"])) == marks(run)


def test_random_states_of_all_generators_come_back() -> None:
    state = random_state()
    first = (random.random(), float(np.random.rand()), torch.rand(1).item())
    set_random_state(state)
    assert (random.random(), float(np.random.rand()), torch.rand(1).item()) == first
    torch.save(state, buffer := io.BytesIO())
    buffer.seek(0)
    assert torch.load(buffer, weights_only=True)["python"] == state["python"]


def test_the_best_weights_are_kept_where_no_later_validation_is_better(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HB-28: the loss of validation is a tenth of the step, and the run is killed after the first of four."""
    monkeypatch.setattr(Module, "results", lambda self: {"loss": self.global_step / 10})
    run = make_run(checkpoint_steps=2, keep_checkpoints=True)
    whole = train(run, tmp_path / "whole")
    parts = interrupted(run, tmp_path / "parts", [10, 17])
    assert same(parts) == same(whole)
    assert [value.value for value in parts.metrics if value.split == "validation"] == [pytest.approx(0.7)]
    kept = [torch.load(tmp_path / name / "checkpoints/best.ckpt", weights_only=True) for name in ("whole", "parts")]
    assert all(torch.equal(weight, kept[1]["state_dict"][name]) for name, weight in kept[0]["state_dict"].items())


def test_rates_go_on_with_the_next_step_where_the_warm_up_is_the_whole_run(tmp_path: Path) -> None:
    """HB-26: a peak of 2.3 after 23 steps is a tenth of the step's number."""
    run = make_run(warmup=STEPS, lr=2.3, log_every=1, checkpoint_steps=5)
    interrupted(run, tmp_path, [9, 16])
    rates = {row.step: row.value for row in read_metrics(tmp_path) if row.metric == "lr"}
    assert rates == pytest.approx({step: step / 10 for step in range(1, STEPS + 1)})


def test_an_epoch_that_is_interrupted_has_each_sentence_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """HB-24: 8 sentences, 2 a batch, stopped after 2 batches."""
    german = {"task": GERMAN | {"train_size": 8}, "model": KINDS["translator"]["model"]}
    monkeypatch.setitem(KINDS, "eight", german)
    run = make_run("eight", steps=8, batch_size=2, validate_every=8, checkpoint_steps=1, log_every=1)
    seen: list[tuple[int, ...]] = []
    step = Module._train_on

    def train_on(self: Module, batch: Any) -> Any:
        seen.extend(map(tuple, batch["source"].tolist()))
        return step(self, batch)

    monkeypatch.setattr(Module, "_train_on", train_on)
    train(run, tmp_path / "whole")
    whole = seen.copy()
    seen.clear()
    killed(run, tmp_path / "parts", 4)
    del seen[4 * 2 :]
    train(run, tmp_path / "parts")
    assert seen == whole
    assert len(set(whole[:8])) == len(set(whole[8:])) == 8
    assert whole[:8] != whole[8:]


def test_a_run_that_is_validated_after_every_step_has_checkpoints_too(tmp_path: Path) -> None:
    killed(make_run(validate_every=1, checkpoint_steps=5), tmp_path, 16)
    assert saved(tmp_path / "checkpoints")


def test_a_checkpoint_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "step-3.ckpt"
    WholeFiles().save_checkpoint({"a": 1}, path)
    old = path.read_bytes()

    def full(number: int) -> None:
        assert path.read_bytes() == old
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        WholeFiles().save_checkpoint({"a": torch.zeros(1000)}, path)
    assert path.read_bytes() == old
    assert list(tmp_path.iterdir()) == [path]


def test_a_checkpoint_that_cannot_be_written_ends_the_run(tmp_path: Path) -> None:
    """HB-27."""
    (tmp_path / "checkpoints").touch()
    with pytest.raises(FileExistsError):
        train(make_run(checkpoint_steps=5), tmp_path)
    assert not (tmp_path / "result.json").exists()


def test_half_a_run_on_one_device_does_not_go_on_on_two(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They share a folder: the number of devices is not in a run's id."""
    one, two = make_run(checkpoint_steps=4), make_run(checkpoint_steps=4, devices=2)
    assert one.folder == two.folder
    killed(one, tmp_path, 9)
    assert Checkpoints(tmp_path, two.settings.train, marks(two), StopRequest()).last_usable() is None
    assert "step-11.ckpt: not gone on from, train.devices was 1 and is 2" in capsys.readouterr().err


@pytest.mark.parametrize("kept", [False, True])
def test_nothing_of_a_try_that_was_killed_while_it_wrote_stays(kept: bool, tmp_path: Path) -> None:
    run = make_run(checkpoint_steps=5, keep_checkpoints=kept)
    killed(run, tmp_path, 9)
    for name in (".step-14.ckpt.12345", "best.ckpt"):
        (tmp_path / "checkpoints" / name).write_bytes(b"half")
    train(run, tmp_path)
    left = [path.name for path in (tmp_path / "checkpoints").glob("*")]
    assert left == (["best.ckpt"] if kept else [])
    assert not kept or torch.load(tmp_path / "checkpoints/best.ckpt", weights_only=True)["state_dict"]
